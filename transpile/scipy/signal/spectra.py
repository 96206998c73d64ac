"""Spectra of signals in windows: `csd`, `welch`, `stft` and its inverse.

A signal is cut into segments that overlap, each is detrended, multiplied with a window and Fourier
transformed (P. Welch, The Use of Fast Fourier Transform for the Estimation of Power Spectra, 1967).
The inverse adds the segments up where they were (D. Griffin and J. Lim, Signal Estimation from
Modified Short-Time Fourier Transform, 1984).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.indices.lengths import most_of
from transpile.ir.indices.requirements import require
from transpile.ir.source_info import user_source
from transpile.ir.types import kind_letter
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import larger_of, offset_of
from transpile.scipy.signal.segments import (
    added_up,
    detrended,
    extended,
    segments,
    window_of,
    window_of_segments,
)
from transpile.scipy.sized_arrays import arange, broadcast_to
from transpile.scipy.special.operands import Array, promoted, public

__all__ = ["csd", "istft", "spectrogram", "stft", "welch"]


@public
def csd(
    x: Array,
    y: Array | None,
    fs: Array = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """The cross power spectral density of two signals along an axis by Welch's method: frequencies
    and densities. Without y that of x with itself.

    fs        the sampling frequency
    window    "hann", "hamming", "blackman", "bartlett" or "boxcar", periodic, or an array
    nperseg   the length of segments: that of the window, or of the signal
    noverlap  how far segments overlap, half their length by default
    nfft      the length of the transforms, at least `nperseg`
    detrend   a type of `detrend`, a function of the segments, or False
    return_onesided  for real signals the frequencies from 0 on, with doubled densities
    scaling   "density" in units² / Hz, or "spectrum" in units²
    average   of the segments: "mean", or "median" over its bias

    The shorter signal is filled up with zeros. Warns of complex signals with `return_onesided`, and
    of segments longer than the signal, as JAX does. Raises ValueError for other arguments.
    """
    freqs, _, spectra = _spectra(
        "csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
    )
    if average not in ("mean", "median"):
        raise located(ValueError, f'average must be "median" or "mean", got {average}')
    return freqs, np.moveaxis(_averaged(spectra, average), -1, axis)


@public
def welch(
    x: Array,
    fs: Array = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """The power spectral density of a signal along an axis by Welch's method: frequencies and
    densities. Arguments and errors are those of `csd`."""
    freqs, density = csd(
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        average,
    )
    return freqs, np.real(density)


@public
def stft(
    x: Array,
    fs: Array = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """The short-time Fourier transform of a signal along an axis: frequencies, times of the middles
    of segments, and the transforms, whose last axis is time and where frequency takes the signal's.

    boundary  what the signal is extended with by half a segment at both ends: "zeros", "even",
              "odd", "constant", or None for nothing
    padded    fill the last segment up with zeros

    Other arguments and errors are those of `csd`.
    """
    freqs, times, spectra = _spectra(
        "stft",
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        "spectrum",
        axis,
        boundary,
        padded,
        is_power=False,
    )
    place = axis if axis >= 0 else np.ndim(x) + axis
    return freqs, times, np.moveaxis(spectra, -2, place)


@public
def spectrogram(
    x: Array,
    fs: Array = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> tuple[Any, Any, Any]:
    """The spectra of consecutive segments of a signal along an axis: frequencies, times of the
    middles of segments, and the spectra, whose last axis is time and where frequency takes the
    signal's.

    mode  "psd" for power densities, "complex" for transforms, "magnitude", "angle", or "phase" for
          angles that are unwrapped along the frequencies

    Other arguments and errors are those of `csd`; ValueError for other modes.
    """
    known = ("psd", "complex", "magnitude", "angle", "phase")
    if mode not in known:
        raise located(ValueError, f"unknown value for mode {mode}, must be one of {list(known)}")
    freqs, times, spectra = _spectra(
        "spectrogram",
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        is_power=mode == "psd",
    )
    if mode == "magnitude":
        spectra = np.abs(spectra)
    elif mode in ("angle", "phase"):
        spectra = np.angle(spectra)
        if mode == "phase":
            spectra = np.unwrap(spectra, axis=-2)
    place = axis if axis >= 0 else np.ndim(x) + axis
    return freqs, times, np.moveaxis(spectra, -2, place)


def _spectra(
    name: str,
    x: Array,
    y: Array | None,
    fs: Array,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    boundary: str | None = None,
    padded: bool = False,
    is_power: bool = True,
) -> tuple[Any, Any, Any]:
    """Frequencies, times, and the spectra (..., frequencies, times)."""
    signals = [
        np.moveaxis(v, axis, -1) for v in promoted(name, *(v for v in (x, y) if v is not None))
    ]
    signals = _equally_long(signals)
    win, length = window_of_segments(window, nperseg, signals[0].shape[-1], signals[0].dtype)
    points, step = _lengths(length, noverlap, nfft)
    largest = most_of(length)
    known = (largest, _lengths(largest, noverlap, nfft)[1]) if isinstance(largest, int) else None
    signals = [extended(v, length // 2, boundary) for v in signals]
    if padded:
        missing = -(signals[0].shape[-1] - length) % step % length
        signals = [_filled(v, v.shape[-1] + missing) for v in signals]
    is_complex = kind_letter(signals[0].dtype) == "c"
    if return_onesided and is_complex:
        warnings.warn(
            f"{user_source()}: Input data is complex, switching to return_onesided=False",
            stacklevel=2,
        )
    is_onesided = return_onesided and not is_complex
    transforms = [
        _transformed(
            detrended(segments(v, length, step, known), detrend) * win, points, is_onesided
        )
        for v in signals
    ]
    spectra = transforms[0]
    scale = _scale(win, fs, scaling)
    if is_power:
        spectra = np.conj(spectra) * transforms[-1] * scale
        spectra = np.real(spectra) if y is None else spectra
        if is_onesided:  # each stands for its mirror image, but those at both ends
            number = arange(spectra.shape[-1])
            is_own = np.equal(number, 0) | np.equal(2 * number, points)
            spectra = spectra * np.where(is_own, 1, 2).astype(win.dtype)
    else:
        spectra = spectra * np.sqrt(scale)
    kind = signals[0].real.dtype
    freqs = _frequencies(points, is_onesided).astype(kind) * fs
    middles = arange(spectra.shape[-2]) * step + (0 if boundary is not None else length / 2)
    return freqs, middles.astype(kind) / fs, np.swapaxes(spectra, -1, -2)


def _frequencies(points: Index, is_onesided: bool) -> Any:
    if not isinstance(points, Dim):
        return (np.fft.rfftfreq if is_onesided else np.fft.fftfreq)(points)
    if is_onesided:
        return arange(points // 2 + 1) / points
    number = arange(points)
    return np.where(2 * number < points, number, number - points) / points


def _equally_long(signals: list[Any]) -> list[Any]:
    size = functools.reduce(larger_of, (v.shape[-1] for v in signals))
    return [_filled(v, size) for v in signals]


def _filled(x: Any, size: Index) -> Any:
    """Signals with zeros behind them."""
    missing = size - x.shape[-1]
    return x if missing == 0 else np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])


def _lengths(length: Index, noverlap: Index | None, nfft: Index | None) -> tuple[Any, Any]:
    """The length of transforms, and the distance of segments."""
    points = length if nfft is None else offset_of(nfft)
    overlap = length // 2 if noverlap is None else offset_of(noverlap)
    if isinstance(points - length, Dim):
        require(length, points, "a transform of a segment")
    elif points < length:
        raise located(ValueError, "nfft must be greater than or equal to nperseg.")
    if isinstance(length - overlap, Dim):
        require(overlap + 1, length, "segments that overlap", "noverlap must be less than nperseg.")
    elif overlap >= length:
        raise located(ValueError, "noverlap must be less than nperseg.")
    return points, length - overlap


def _transformed(rows: Any, points: Any, is_onesided: bool) -> Any:
    transform: Callable[..., Any] = np.fft.rfft if is_onesided else np.fft.fft
    return transform(rows, points)


def _scale(window: Any, fs: Any, scaling: str) -> Any:
    if scaling == "density":
        return 1 / (fs * np.sum(np.square(window)))
    if scaling == "spectrum":
        return 1 / np.square(np.sum(window))
    raise located(ValueError, f"Unknown scaling: {scaling}")


def _averaged(spectra: Any, average: str) -> Any:
    """The mean over the segments, or the median over its bias for powers of noise."""
    count = spectra.shape[-1]
    if average == "mean" or count == 1:
        return np.mean(spectra, axis=-1)
    even = 2.0 * (arange((count - 1) // 2) + 1)
    bias: Any = 1 + np.sum(1 / (even + 1) - 1 / even)
    bias = bias.astype(spectra.real.dtype) if isinstance(count, Dim) else float(bias)
    if kind_letter(spectra.dtype) == "c":
        parts = np.real(spectra), np.imag(spectra)
        return (np.median(parts[0], axis=-1) + 1j * np.median(parts[1], axis=-1)) / bias
    return np.median(spectra, axis=-1) / bias


@public
def istft(
    Zxx: Array,
    fs: Array = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """The signal of a short-time Fourier transform: times and values, time as the last axis or as
    `time_axis`.

    boundary  the transform was extended at both ends, which is cut off

    Other arguments are those of `stft`. Raises ValueError for less than two axes and for lengths
    that do not fit.
    """
    (z,) = promoted("istft", Zxx)
    if np.ndim(z) < 2:
        raise located(ValueError, "Input stft must be at least 2d!")
    frequency, time = freq_axis % z.ndim, time_axis % z.ndim
    if frequency == time:
        raise located(ValueError, "Must specify differing time and frequency axes!")
    z = np.moveaxis(z, (time, frequency), (-2, -1))
    usual = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    length = usual if nperseg is None else offset_of(nperseg)
    if isinstance(length, Dim):
        require(1, length, "a segment")
    elif length < 1:
        raise located(ValueError, "nperseg must be a positive integer")
    if nfft is None:
        points = usual + (1 if input_onesided and length == usual + 1 else 0)
    else:
        points = offset_of(nfft)
    if isinstance(points - length, Dim):
        require(length, points, "a segment of a transform")
    elif points < length:
        raise located(ValueError, f"FFT length ({points}) must be longer than nperseg ({length}).")
    _, step = _lengths(length, noverlap, None)
    parts = (np.fft.irfft if input_onesided else np.fft.ifft)(z, points)[..., :length]
    win = window_of(window, length, parts.real.dtype)
    x = added_up(parts * (win * np.sum(win)), step)
    norm = added_up(broadcast_to(np.square(win), (z.shape[-2], length)), step)
    if boundary:
        inner = slice(length // 2, x.shape[-1] - length // 2)
        x, norm = x[..., inner], norm[inner]
    x = x / np.where(norm > 1e-10, norm, 1)
    times = arange(x.shape[-1]).astype(x.real.dtype) / fs
    if x.ndim > 1:
        x = np.moveaxis(x, -1, time - (frequency < time))
    return times, x
