"""`scipy.signal` for traced functions, as in `jax.scipy.signal`: convolutions, trends, spectra."""

from transpile.scipy.signal.convolutions import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
)
from transpile.scipy.signal.spectra import csd, istft, stft, welch
from transpile.scipy.signal.trends import detrend

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
