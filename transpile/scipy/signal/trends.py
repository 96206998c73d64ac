"""`detrend`: signals without their means, or without straight lines fitted to them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.indices.requirements import require
from transpile.numpy.core.promotion import error as located
from transpile.scipy.sized_arrays import arange, unless_single
from transpile.scipy.special.operands import Array, promoted, public

__all__ = ["detrend"]


@public
def detrend(
    data: Array,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray[Any, Any] = 0,
    overwrite_data: None = None,
) -> Any:
    """The data along an axis less their mean ("constant") or the straight line of least squares
    ("linear").

    bp  where one line ends and the next one begins

    Integers become float64. Raises ValueError for another type and for indices out of range,
    NotImplementedError for `overwrite_data`.
    """
    if overwrite_data is not None:
        raise located(NotImplementedError, "overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise located(ValueError, "Trend type must be 'linear' or 'constant'.")
    (x,) = promoted("detrend", data)
    if type == "constant":
        return x - np.mean(x, axis=axis, keepdims=True)
    rows = np.moveaxis(x, axis, -1)
    size = rows.shape[-1]
    inner = sorted({0, *map(int, np.atleast_1d(bp))})
    if isinstance(size, Dim):
        require(inner[-1] + 1, size, "a trend with breakpoints")
    elif inner[-1] == size:
        inner.pop()
    if inner[0] < 0 or not (isinstance(size, Dim) or inner[-1] < size):
        raise located(
            ValueError,
            "Breakpoints must be non-negative and less than length of data along given axis.",
        )
    parts = [_without_line(rows[..., a:b]) for a, b in itertools.pairwise([*inner, size])]
    return np.moveaxis(parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1), -1, axis)


def _without_line(rows: Any) -> Any:
    """Rows less their lines: about the middle a line's height and slope are two means."""
    size = rows.shape[-1]
    flat = rows - np.mean(rows, axis=-1, keepdims=True)
    if size == 1:
        return flat
    distance = (arange(size) - (size - 1) / 2).astype(rows.real.dtype)
    square = unless_single(size, np.sum(np.square(distance)), distance.dtype.type(1))
    slope = np.sum(flat * distance, axis=-1, keepdims=True) / square
    return flat - slope * distance
