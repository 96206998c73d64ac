"""Convolutions and correlations of arrays of any number of axes, directly or by Fourier
transforms."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.indices.requirements import is_open
from transpile.ir.types import kind_letter
from transpile.lax.indexed.convolution import conv_general_dilated
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import larger_of, smaller_of
from transpile.scipy.special.operands import Array, promoted, public

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

_MODES = ("full", "same", "valid")


@public
def convolve(
    in1: Array, in2: Array, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The convolution of two arrays of as many axes.

    mode    "full" for all sums, "same" for the middle ones, as many as `in1` has elements, "valid"
            for those in which both overlap wholly
    method  "fft" for Fourier transforms, "direct", or "auto", the same as "direct"

    Integers become float64; `precision` changes nothing. Raises ValueError for other modes and
    methods, for empty arrays, and in the modes "same" and "valid" unless one array is at least as
    large as the other along every axis.
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    if method not in ("direct", "auto"):
        raise located(ValueError, f"Got method={method!r}; expected 'auto', 'fft', or 'direct'.")
    x, y = promoted("convolve", in1, in2)
    return _direct(x, y, mode)


@public
def convolve2d(
    in1: Array,
    in2: Array,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Any:
    """The convolution of two matrices, as `convolve` has it.

    Raises NotImplementedError for boundaries of anything but zeros, ValueError for other than two
    axes.
    """
    x, y = _matrices("convolve2d", in1, in2, boundary, fillvalue)
    return _direct(x, y, mode)


@public
def correlate(
    in1: Array, in2: Array, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The cross-correlation of two arrays of as many axes: the convolution with the second one
    backwards and conjugated. Arguments and errors are those of `convolve`."""
    x, y = promoted("correlate", in1, in2)
    return convolve(x, np.flip(np.conj(y)), mode, method, precision)


@public
def correlate2d(
    in1: Array,
    in2: Array,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Any:
    """The cross-correlation of two matrices, as `correlate` has it, but as in SciPy and JAX: for
    "same" and an even size of the second one the middle is one element further on, and for "valid"
    and a larger second one the result is conjugated. Errors are those of `convolve2d`."""
    x, y = _matrices("correlate2d", in1, in2, boundary, fillvalue)
    if mode == "same":
        return np.flip(_direct(np.flip(x), np.conj(y), mode))
    result = _direct(x, np.flip(np.conj(y)), mode)
    if mode != "valid" or kind_letter(result.dtype) != "c":
        return result
    is_smaller = any(m < n for m, n in zip(np.shape(x), np.shape(y), strict=True))
    return np.conj(result) if is_smaller else result


def _matrices(
    name: str, in1: Array, in2: Array, boundary: str, fillvalue: float
) -> tuple[Any, Any]:
    if boundary != "fill" or fillvalue != 0:
        raise located(NotImplementedError, f"{name}() only supports boundary='fill', fillvalue=0")
    x, y = promoted(name, in1, in2)
    if np.ndim(x) != 2 or np.ndim(y) != 2:
        raise located(ValueError, f"{name}() only supports 2-dimensional inputs.")
    return x, y


def _check(x: Any, y: Any, mode: str) -> None:
    if mode not in _MODES:
        raise located(ValueError, "mode must be one of ['full', 'same', 'valid']")
    if np.ndim(x) != np.ndim(y):
        raise located(ValueError, "in1 and in2 must have the same number of dimensions")
    if 0 in np.shape(x) or 0 in np.shape(y):
        raise located(
            ValueError,
            "zero-size arrays not supported in convolutions, got shapes "
            f"{np.shape(x)} and {np.shape(y)}.",
        )


def _in_order(x: Any, y: Any) -> tuple[Any, Any]:
    """The array that is at least as large along every axis first; else ValueError."""
    pairs = list(zip(np.shape(x), np.shape(y), strict=True))
    if all(m >= n for m, n in pairs):
        return x, y
    if all(m <= n for m, n in pairs):
        return y, x
    raise located(ValueError, "One input must be smaller than the other in every dimension.")


def _direct(x: Any, y: Any, mode: str) -> Any:
    """By sums of products. A convolution commutes, so the larger array is the picture, and the
    smaller one the window."""
    _check(x, y, mode)
    if not np.ndim(x):
        return x * y
    wanted = np.shape(x)
    pairs = list(zip(np.shape(x), np.shape(y), strict=True))
    if any(is_open(m, n) for m, n in pairs):
        return _of_open_order(x, y, pairs, mode)
    picture, window = _in_order(x, y)
    sizes = np.shape(window)
    if mode == "valid":
        padding = [(0, 0)] * len(sizes)
    else:
        padding = [(n - 1, n - 1) for n in sizes]
    if mode == "same":
        before = [
            (m + n - 1 - w) // 2 for m, n, w in zip(np.shape(picture), sizes, wanted, strict=True)
        ]
        padding = [
            (n - 1 - b, w + b - m)
            for m, n, w, b in zip(np.shape(picture), sizes, wanted, before, strict=True)
        ]
    return conv_general_dilated(
        picture[None, None], np.flip(window)[None, None], (1,) * len(sizes), padding
    )[0, 0]


def _of_open_order(x: Any, y: Any, pairs: list[tuple[Any, Any]], mode: str) -> Any:
    """The same where the program knows which array is larger: it is so along every axis where all
    pairs of sizes are one, or one pair is open along the others."""
    if mode == "same":
        padding = [(n - 1 - (n - 1) // 2, (n - 1) // 2) for _, n in pairs]
    else:
        padding = [(n - 1, n - 1) for _, n in pairs]
    strides = (1,) * len(pairs)
    whole = conv_general_dilated(x[None, None], np.flip(y)[None, None], strides, padding)[0, 0]
    if mode != "valid":
        return whole
    if len({pair for pair in pairs if pair[0] != pair[1]}) > 1:
        _in_order(x, y)  # an error
    parts = ((smaller_of(m, n) - 1, larger_of(m, n)) for m, n in pairs)
    return whole[tuple(slice(start, stop) for start, stop in parts)]


@public
def fftconvolve(
    in1: Array, in2: Array, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Any:
    """The convolution of two arrays by Fourier transforms, along some axes, all by default.

    The other axes broadcast. Modes and dtypes are those of `convolve`; lengths are those of the
    full result, rounded up to products of 2, 3 and 5. Raises ValueError for other modes, arrays of
    different numbers of axes, and, for "valid", unless one array is at least as large as the other
    along each of the axes.
    """
    x, y = promoted("fftconvolve", in1, in2)
    if np.ndim(x) != np.ndim(y):
        raise located(ValueError, "in1 and in2 should have the same dimensionality")
    if mode not in _MODES:
        raise located(ValueError, "mode must be one of ['same', 'full', 'valid']")
    along = _canonical(axes, np.ndim(x))
    sizes = {a: (np.shape(x)[a], np.shape(y)[a]) for a in along}
    for axis in set(range(np.ndim(x))) - {*along}:
        pair = np.shape(x)[axis], np.shape(y)[axis]
        if pair[0] != pair[1] and 1 not in pair:
            raise located(
                ValueError,
                f"mapped axes must have same shape; got in1.shape={np.shape(x)!r} "
                f"in2.shape={np.shape(y)!r} axes={axes!r}",
            )
    if mode == "valid" and _have_no_order(list(sizes.values())):
        raise located(
            ValueError,
            "For 'valid' mode, One input must be at least as large as the other in every "
            "dimension.",
        )
    if 0 in np.shape(x) or 0 in np.shape(y):
        return np.zeros((0,) * np.ndim(x), x.dtype)
    result = _product_of_spectra(x, y, sizes)
    kept = [slice(None)] * np.ndim(x)
    for axis, (m, n) in sizes.items():
        size = m if mode == "same" else m + n - 1
        if mode == "valid":
            size = larger_of(m, n) - smaller_of(m, n) + 1
        start = (m + n - 1 - size) // 2 if mode == "same" else smaller_of(m, n) - 1
        start = 0 if mode == "full" else start
        kept[axis] = slice(start, start + size)
    return result[tuple(kept)]


def _have_no_order(pairs: list[tuple[Index, Index]]) -> bool:
    """True if one array is larger along an axis, and the other one along another."""
    if len(set(pairs)) == 1:
        return False
    return not all(m >= n for m, n in pairs) and any(m > n for m, n in pairs)


def _canonical(axes: int | Sequence[int] | None, ndim: int) -> list[int]:
    if axes is None:
        return list(range(ndim))
    return [operator.index(a) % ndim for a in np.atleast_1d(axes)]


def _product_of_spectra(x: Any, y: Any, sizes: dict[int, tuple[int, int]]) -> Any:
    """The full convolution, with zeros behind it."""
    along = [a for a, (m, n) in sizes.items() if m != 1 and n != 1]
    if not along:
        return x * y
    lengths = [_smooth(sum(sizes[a]) - 1) for a in along]
    if kind_letter(x.dtype) == "c":
        spectrum = np.fft.fftn(x, lengths, axes=along) * np.fft.fftn(y, lengths, axes=along)
        return np.fft.ifftn(spectrum, lengths, axes=along)
    spectrum = np.fft.rfftn(x, lengths, axes=along) * np.fft.rfftn(y, lengths, axes=along)
    return np.fft.irfftn(spectrum, lengths, axes=along).astype(x.dtype)


def _smooth(size: Any) -> Any:
    """The least product of powers of 2, 3 and 5 from a size on, whose transforms are quick; of a
    runtime size itself."""
    if isinstance(size, Dim):
        return size
    best = 1 << max(size - 1, 0).bit_length()
    five = 1
    while five < best:
        odd = five
        while odd < best:
            twos = odd << max(-(-size // odd) - 1, 0).bit_length()
            best = min(best, twos)
            odd *= 3
        five *= 5
    return best
