"""Functions of `scipy.signal` with SciPy's meaning, where that of the counterparts here is JAX's:
windows by any name, segments of 256 samples by default, integers that stay integers, and edges of
matrices."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.indices.requirements import is_open
from transpile.ir.source_info import user_source
from transpile.ir.types import FLOAT64, kind_letter
from transpile.numpy.core.promotion import as_array, convert, result_dtype, unsupported
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import larger_of, smaller_of
from transpile.numpy.subscripts.bounds import fail_outside
from transpile.scipy.signal import convolutions, spectra
from transpile.scipy.signal.segments import window_of
from transpile.scipy.sized_arrays import arange, unless_single

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "lfilter_zi",
    "spectrogram",
    "stft",
    "welch",
]

_SEGMENT = 256
_CLOSE = 1e-8  # of a zero to the conjugate of another one
_EDGES: Mapping[str, Any] = {
    "fill": "constant",
    "symm": "symmetric",
    "symmetric": "symmetric",
    "wrap": "wrap",
}


def _window(window: Any, nperseg: Any, size: Index) -> tuple[Any, Any]:
    """The window as an array, and the length of segments, None where the window has it."""
    if np.ndim(window) == 1 and not isinstance(window, str | tuple):
        return window, nperseg
    length = _SEGMENT if nperseg is None else nperseg
    if is_open(length, size):
        length = smaller_of(length, size)
    elif length > size:
        warnings.warn(
            f"{user_source()}: nperseg = {length} is greater than input length = {size}, using "
            f"nperseg = {size}",
            stacklevel=2,
        )
        length = size
    if isinstance(length, Dim):
        return _window_of_a_runtime_length(window, length), None
    return sys.modules["scipy.signal"].get_window(window, length), None


def _window_of_a_runtime_length(window: Any, length: Any) -> Any:
    match window:
        case str():
            return window_of(window.removesuffix("_periodic"), length, FLOAT64)
        case ("tukey" | "tukey_periodic", float() | int() as share) if 0 < share < 1:
            number, width = arange(length), share * length / 2
            flank = np.minimum(number, length - number)
            slope = 0.5 - 0.5 * np.cos(2 * math.pi / share * flank / length)
            return unless_single(length, np.where(flank <= width, slope, 1), np.ones(1))
    raise unsupported(
        f"the window {window!r} of a signal that may be shorter than it: declare its least length"
    )


def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, **keywords: Any
) -> Any:
    """`scipy.signal.csd`."""
    axis = keywords.get("axis", -1)
    size = larger_of(np.shape(x)[axis], np.shape(y)[axis])
    window, nperseg = _window(window, nperseg, size)
    return spectra.csd(x, None if y is x else y, fs, window, nperseg, **keywords)


def welch(x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, **keywords: Any) -> Any:
    """`scipy.signal.welch`."""
    window, nperseg = _window(window, nperseg, np.shape(x)[keywords.get("axis", -1)])
    return spectra.welch(x, fs, window, nperseg, **keywords)


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    *,
    scaling: str = "spectrum",
    **keywords: Any,
) -> Any:
    """`scipy.signal.stft`."""
    if scaling not in ("spectrum", "psd"):
        raise located(ValueError, f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    window, nperseg = _window(window, nperseg, np.shape(x)[keywords.get("axis", -1)])
    nperseg = np.shape(window)[0] if nperseg is None else nperseg
    freqs, times, transforms = spectra.stft(x, fs, window, nperseg, **keywords)
    if scaling == "psd":
        factor = np.sum(window) / np.sqrt(fs * np.sum(np.square(window)))
        transforms = convert(transforms * factor, transforms.dtype)
    return freqs, times, transforms


def spectrogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: Any = None,
    noverlap: Any = None,
    **keywords: Any,
) -> Any:
    """`scipy.signal.spectrogram`."""
    window, nperseg = _window(window, nperseg, np.shape(x)[keywords.get("axis", -1)])
    length = np.shape(window)[0] if nperseg is None else nperseg
    noverlap = length // 8 if noverlap is None else noverlap
    return spectra.spectrogram(x, fs, window, nperseg, noverlap, **keywords)


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """`scipy.signal.convolve`."""
    return _whole(convolutions.convolve(in1, in2, mode, method), in1, in2)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """`scipy.signal.correlate`."""
    return _whole(convolutions.correlate(in1, in2, mode, method), in1, in2)


def _whole(result: Any, *operands: Any) -> Any:
    """A result of integers in their dtype. The sums are those of double precision."""
    dtype = result_dtype(*map(as_array, operands))
    if kind_letter(dtype) not in "iu":
        return result
    return convert(np.rint(result), dtype)


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """`scipy.signal.convolve2d`."""
    return _of_matrices(convolutions.convolve2d, in1, in2, mode, boundary, fillvalue)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """`scipy.signal.correlate2d`."""
    return _of_matrices(convolutions.correlate2d, in1, in2, mode, boundary, fillvalue)


def _of_matrices(ours: Any, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    """With edges of another kind than zeros the matrix is extended by them: the result is what the
    second one overlaps wholly there."""
    if boundary not in _EDGES:
        raise located(
            ValueError,
            "Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or "
            "'symm').",
        )
    is_filled = _EDGES[boundary] == "constant"
    if mode == "valid" or (is_filled and isinstance(fillvalue, int | float) and fillvalue == 0):
        return _whole(ours(in1, in2, mode), in1, in2)
    x, y = as_array(in1), as_array(in2)
    if np.ndim(x) != 2 or np.ndim(y) != 2:
        raise located(ValueError, f"{ours.__name__} inputs must both be 2-D arrays")
    if ours is convolutions.correlate2d:
        y = np.flip(np.conj(y))
    widths = [(n - 1, n - 1) for n in np.shape(y)]
    if mode == "same":  # the middle of the full result, for even sizes one of the two
        further = ours is convolutions.correlate2d
        before = [n // 2 if further else (n - 1) // 2 for n in np.shape(y)]
        widths = [(n - 1 - b, b) for n, b in zip(np.shape(y), before, strict=True)]
    if is_filled:
        long = np.pad(x, widths, constant_values=fillvalue)
    else:
        long = np.pad(x, widths, _EDGES[boundary])
    return _whole(convolutions.convolve2d(long, y, "valid"), in1, in2)


def poly(seq_of_zeros: Any, *, xp: Any) -> Any:
    """The coefficients of a polynomial of these zeros, as `zpk2tf` and designs of filters have
    them: real, and the call raises ValueError where complex zeros are no conjugate pairs."""
    zeros = np.atleast_1d(as_array(seq_of_zeros))
    total = as_array(np.poly(zeros)).astype(zeros.dtype)
    if zeros.dtype.kind != "c":
        return total
    parts = np.sort(np.imag(zeros))
    apart = np.absolute(parts + parts[::-1]) > _CLOSE * np.max(np.absolute(zeros), initial=0)
    text = "complex zeros of a filter are conjugate pairs where they are traced"
    fail_outside(zeros, apart, ValueError, text)
    return np.real(total)


def lfilter_zi(b: Any, a: Any) -> Any:
    """`scipy.signal.lfilter_zi`: the state in which `lfilter` answers a step with a constant.
    Unlike SciPy's it does not drop leading zeros of `a`: the call raises ValueError."""
    one, other = (np.atleast_1d(as_array(v)) for v in (b, a))
    for name, values in (("Numerator b", one), ("Denominator a", other)):
        if values.ndim != 1:
            raise located(ValueError, f"{name} must be 1-D.")
    if max(one.shape[0], other.shape[0]) < 2:
        text = "The length of `a` along the last axis must be at least 2."
        raise located(ValueError, text)
    first = as_array(other[0])
    fail_outside(first, np.equal(first, 0), ValueError, "the first coefficient of a is 0")
    length = max(one.shape[0], other.shape[0])
    one, other = (np.pad(v / first, (0, length - v.shape[0])) for v in (one, other))
    steps = one[1:] - other[1:] * one[0]
    gain = np.sum(steps) / np.sum(other)
    sums = np.cumsum(steps)
    return np.cumsum(other)[:-1] * gain - np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])
