"""Signals smoothed: medians of windows, and polynomials through them."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from transpile.ir.source_info import user_source
from transpile.ir.types import FLOAT32, FLOAT64, kind_letter
from transpile.numpy.core.promotion import as_array, convert
from transpile.numpy.core.promotion import error as located
from transpile.scipy.ndimage.correlations import convolve1d
from transpile.scipy.ndimage.edges import for_each, known
from transpile.scipy.ndimage.ranks import rank_filter
from transpile.scipy.special.operands import Array, public

__all__ = ["medfilt", "medfilt2d", "savgol_filter"]


@public
def medfilt(volume: Array, kernel_size: Any = None) -> Any:
    """The median of windows of odd sizes, one for all axes or one for each, 3 by default, with
    zeros beyond the edges. Raises ValueError for even sizes and for dtypes that are no integers or
    floats, and warns of windows that are larger than the array."""
    x = np.atleast_1d(as_array(volume))
    if kind_letter(x.dtype) not in "iu" and x.dtype not in (FLOAT32, FLOAT64):
        raise located(ValueError, f"dtype={x.dtype} is not supported by medfilt")
    sizes = for_each(3 if kernel_size is None else known("kernel_size", kernel_size), np.ndim(x))
    if any(n % 2 != 1 for n in sizes):
        raise located(ValueError, "Each element of kernel_size should be odd.")
    extents = np.shape(x)
    if any(isinstance(m, int) and n > m for n, m in zip(sizes, extents, strict=True)):
        warnings.warn(
            f"{user_source()}: kernel_size exceeds volume extent: the volume will be zero-padded.",
            stacklevel=2,
        )
    return rank_filter(x, math.prod(map(int, sizes)) // 2, size=sizes, mode="constant")


@public
def medfilt2d(input: Array, kernel_size: Any = 3) -> Any:
    """The median of windows of a matrix, as `medfilt` has it. Raises ValueError for other than two
    axes, too."""
    if np.ndim(input) != 2:
        raise located(ValueError, "object of too small depth for desired array")
    return medfilt(input, kernel_size)


@public
def savgol_filter(
    x: Array,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: Any = 0.0,
) -> Any:
    """The value, or a derivative, in the middle of the polynomial of an order that fits a window
    best, along an axis (A. Savitzky and M. J. E. Golay, Smoothing and Differentiation of Data,
    1964).

    mode   at the ends: "interp" for the values of the polynomial of the last whole window, or a
           mode of `scipy.ndimage`, "mirror", "constant", "nearest" or "wrap"
    delta  the distance of the samples

    The dtype is float32 for float32, else float64. Raises ValueError for other modes, for an order
    that is not less than the window's length, and for "interp" with a window longer than the axis.
    """
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise located(
            ValueError, "mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'."
        )
    if polyorder >= window_length:
        raise located(ValueError, "polyorder must be less than window_length.")
    values = as_array(x)
    values = values if values.dtype in (FLOAT32, FLOAT64) else convert(values, FLOAT64)
    half, is_odd = divmod(window_length, 2)
    middle = half if is_odd else half - 0.5
    places = np.arange(window_length)
    weights = _weights(places - middle, [0.0], polyorder, deriv, delta)[0]
    if mode != "interp":
        return convolve1d(values, weights[::-1], axis, mode=mode, cval=cval)
    size = np.shape(values)[axis]
    if window_length > size:
        raise located(
            ValueError,
            "If mode is 'interp', window_length must be less than or equal to the size of x.",
        )
    inner = convolve1d(values, weights[::-1], axis, mode="constant")
    inner = np.moveaxis(inner, axis, 0)
    rows = np.moveaxis(values, axis, 0)
    ends = [
        _weights(places, places[part], polyorder, deriv, delta)
        for part in (slice(None, half), slice(window_length - half, None))
    ]
    first = convert(np.tensordot(ends[0], rows[:window_length], 1), values.dtype)
    last = convert(np.tensordot(ends[1], rows[size - window_length :], 1), values.dtype)
    return np.moveaxis(np.concatenate([first, inner[half : size - half], last]), 0, axis)


def _weights(places: Any, wanted: Any, order: int, deriv: int, delta: float) -> Any:
    """For each wanted point a row of weights: the derivative there of the polynomial of least
    squares through values at known places is their product with it."""
    if deriv > order:
        return np.zeros((len(wanted), len(places)))
    scale = max(float(np.abs(places).max()), 1.0)
    powers = np.arange(order + 1)
    fit = np.linalg.pinv((np.asarray(places, float) / scale)[:, None] ** powers)
    factors = np.array([math.perm(k, deriv) for k in range(order + 1)], float)
    points = np.asarray(wanted, float)[:, None] / scale
    slopes = factors * np.where(powers < deriv, 0.0, points ** np.maximum(powers - deriv, 0))
    return slopes @ fit / (scale * delta) ** deriv
