"""Filters that change the sampling rate by a rational factor."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from transpile.ir.types import FLOAT64, kind_letter
from transpile.lax.indexed.convolution import conv_general_dilated
from transpile.numpy.core.promotion import as_array, convert, result_dtype
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import larger_of
from transpile.scipy.sized_arrays import arange
from transpile.scipy.special.operands import Array, public

__all__ = ["upfirdn"]

# By mode: the mode of `np.pad`, and whether values are mirrored about those at the ends.
_PADDING: Mapping[str, tuple[Any, bool]] = {
    "antireflect": ("reflect", True),
    "antisymmetric": ("symmetric", False),
    "edge": ("edge", False),
    "reflect": ("reflect", False),
    "symmetric": ("symmetric", False),
    "wrap": ("wrap", False),
}
_MODES = (*_PADDING, "constant", "line", "smooth")


@public
def upfirdn(
    h: Array,
    x: Array,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: Any = 0,
) -> Any:
    """A signal with `up - 1` zeros behind each sample, convolved with a vector, of which each
    `down`-th element is kept.

    mode  what lies beyond the ends of the signal: "constant", `cval`; "edge", "wrap", "symmetric",
          "reflect", as `np.pad` has them; "antisymmetric", the signal backwards with the other
          sign; "antireflect", mirrored in its ends; "line" and "smooth", the lines through both
          ends, and through two samples at each

    Every `up` elements of the result have the same filters, one each: they are the channels of one
    convolution. Raises ValueError for a filter that is no vector, factors below 1 and other modes.
    """
    filter_, values = as_array(h), as_array(x)
    up, down = operator.index(up), operator.index(down)
    if np.ndim(filter_) != 1 or not np.size(filter_):
        raise located(ValueError, "h must be 1-D with non-zero length")
    if up < 1 or down < 1:
        raise located(ValueError, "Both up and down must be >= 1")
    if mode not in _MODES:
        raise located(ValueError, f"Unknown mode {mode!r}")
    dtype = result_dtype(filter_, values)
    dtype = dtype if kind_letter(dtype) in "fc" else FLOAT64
    rows = np.moveaxis(convert(values, dtype), axis, -1)
    size, length = np.shape(rows)[-1], np.size(filter_)
    count = ((size - 1) * up + length - 1) // down + 1
    taps, blocks = -(-length // up), -(-count // up)
    phases = np.pad(convert(filter_, dtype), (0, taps * up - length)).reshape(taps, up)[::-1]
    width = taps + (up - 1) * down // up
    channels = [
        np.pad(phases[:, k * down % up], (k * down // up, width - taps - k * down // up))
        for k in range(up)
    ]
    needed = (blocks - 1) * down + width  # of samples, where the first has taps - 1 before it
    after = larger_of(needed - (taps - 1) - size, 0)
    long = _extended(rows, taps - 1, after, mode, cval)[..., :needed]
    flat = np.reshape(long, (-1, 1, needed))
    result = conv_general_dilated(flat, np.stack(channels)[:, None], (down,), "VALID")
    result = np.reshape(np.swapaxes(result, 1, 2), (*np.shape(rows)[:-1], blocks * up))
    return np.moveaxis(result[..., :count], -1, axis)


def _extended(rows: Any, before: Any, after: Any, mode: str, cval: Any) -> Any:
    """Signals continued to both sides."""
    widths = [(0, 0)] * (np.ndim(rows) - 1) + [(before, after)]
    if mode == "constant":
        return np.pad(rows, widths, constant_values=cval)
    size = np.shape(rows)[-1]
    if mode in ("line", "smooth"):
        return _on_lines(rows, before, after, 1 if mode == "smooth" else size - 1)
    name, is_odd = _PADDING[mode]
    if is_odd:
        return np.pad(rows, widths, name, reflect_type="odd")
    long = np.pad(rows, widths, name)
    if mode != "antisymmetric":
        return long
    turn = arange(-before, size + after) // size % 2
    return long * (1 - 2 * turn).astype(long.dtype)


def _on_lines(rows: Any, before: int, after: int, apart: int) -> Any:
    """Signals continued by the lines through the values at their ends and those so far apart."""
    first, last = rows[..., :1], rows[..., -1:]
    if np.shape(rows)[-1] == 1:
        slopes = (0 * first, 0 * first)
    else:
        slopes = (
            (rows[..., apart : apart + 1] - first) / apart,
            (last - rows[..., -1 - apart :][..., :1]) / apart,
        )
    left = first + slopes[0] * arange(-before, 0).astype(rows.dtype)
    right = last + slopes[1] * arange(1, after + 1).astype(rows.dtype)
    return np.concatenate([left, rows, right], axis=-1)
