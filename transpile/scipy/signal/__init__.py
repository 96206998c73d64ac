"""`scipy.signal` for traced functions, the functions of `jax.scipy.signal` and more: convolutions,
trends, spectra, filters, other sampling rates, and waves."""

from transpile.scipy.signal.convolutions import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
)
from transpile.scipy.signal.filters import lfilter, sosfilt
from transpile.scipy.signal.resampling import upfirdn
from transpile.scipy.signal.smoothing import medfilt, medfilt2d, savgol_filter
from transpile.scipy.signal.spectra import csd, istft, spectrogram, stft, welch
from transpile.scipy.signal.trends import detrend
from transpile.scipy.signal.waves import sawtooth, square

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "lfilter",
    "medfilt",
    "medfilt2d",
    "savgol_filter",
    "sawtooth",
    "sosfilt",
    "spectrogram",
    "square",
    "stft",
    "upfirdn",
    "welch",
]
