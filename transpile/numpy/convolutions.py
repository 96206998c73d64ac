"""`numpy.convolve` and `numpy.correlate`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from transpile.graph import Const
from transpile.numpy.operands import (
    Array,
    as_array,
    broadcast_in_dim,
    convert,
    implements,
    index_of,
    reshape_to,
    result_dtype,
    slice_axis,
)
from transpile.numpy.operands import error as located
from transpile.numpy.shapes import flip
from transpile.numpy.ufuncs import call
from transpile.primitives import axes as rows
from transpile.primitives import elementwise, reductions
from transpile.primitives.indexing import PROMISED, gather
from transpile.trace import bind
from transpile.types import BOOL, INT64

# Up to as many terms are written out; more are a sum over windows.
WRITTEN_OUT = 16
_MODES = ("valid", "same", "full")


def _mode(mode: Any) -> str:
    if isinstance(mode, str):
        if mode not in _MODES:
            raise located(
                ValueError, f"mode must be one of 'valid', 'same', or 'full' (got '{mode}')"
            )
        return mode
    number = index_of(mode)
    if not 0 <= number < len(_MODES):
        raise located(ValueError, f"mode must be 0, 1 or 2, not {number}")
    return _MODES[number]


def _vectors(a: Array, v: Array) -> tuple[Any, Any]:
    """Both as one-dimensional arrays of their common dtype."""
    x, y = as_array(a), as_array(v)
    x, y = (reshape_to(z, (1,)) if z.ndim == 0 else z for z in (x, y))
    for z in (x, y):
        if z.ndim > 1:
            raise located(ValueError, "object too deep for desired array")
    for z, name in ((x, "a"), (y, "v")):
        if z.shape[0] == 0:
            raise located(ValueError, f"{name} cannot be empty")
    dtype = result_dtype(x, y)
    return convert(x, dtype), convert(y, dtype)


@implements(np.convolve)
def convolve(a: Array, v: Array, mode: Any = "full") -> Any:
    """`numpy.convolve`."""
    x, y = _vectors(a, v)
    if y.shape[0] > x.shape[0]:
        x, y = y, x
    return _correlated(x, flip(y), _mode(mode))


@implements(np.correlate)
def correlate(a: Array, v: Array, mode: Any = "valid") -> Any:
    """`numpy.correlate`: the second argument conjugated."""
    x, y = _vectors(a, v)
    y = call(np.conjugate, y) if y.dtype.kind == "c" else y
    if y.shape[0] > x.shape[0]:
        return flip(_correlated(y, x, _mode(mode)))
    return _correlated(x, y, _mode(mode))


def _correlated(x: Any, y: Any, mode: str) -> Any:
    """The inner products of y with the windows of x, which is not shorter."""
    count = y.shape[0]
    low, high = {
        "valid": (0, 0),
        "same": (count // 2, count - count // 2 - 1),
        "full": (count - 1, count - 1),
    }[mode]
    if low or high:
        x = bind(rows.pad, x, Const(np.zeros((), x.dtype)), padding=((low, high, 0),))
    total = x.shape[0] - count + 1
    if count > WRITTEN_OUT and x.dtype != BOOL:
        weights = broadcast_in_dim(y, (total, count), (1,))
        products = bind(elementwise.multiply, _windows(x, count, total), weights)
        return bind(reductions.reduce_sum, products, axes=(1,))
    terms = [
        call(np.multiply, slice_axis(x, 0, k, k + total), slice_axis(y, 0, k, k + 1))
        for k in range(count)
    ]
    return functools.reduce(lambda p, q: call(np.add, p, q), terms)


def _windows(x: Any, count: int, total: int) -> Any:
    """The array [i, j] -> x[i + j], of shape (total, count), which is nowhere stored."""
    first, second = (
        bind(rows.iota, shape=(total, count), dimension=d, dtype=INT64) for d in (0, 1)
    )
    return bind(gather, x, bind(elementwise.add, first, second), axes=(0,), mode=PROMISED)
