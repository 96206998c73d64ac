"""`trim_zeros`, whose result has a length that depends on values."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.indices.requirements import may_be_0
from transpile.ir.types import INT64
from transpile.numpy.core.elementwise import where
from transpile.numpy.core.extensions import accepts_more
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    as_operand,
    axes_of,
    broadcast_in_dim,
    convert,
    implements,
    transpose_to,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import any as any_of
from transpile.numpy.core.reductions import argmax
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.transposes import flip
from transpile.numpy.order.sets import length_of
from transpile.numpy.subscripts.basic import get_item
from transpile.primitives import axes as primitives
from transpile.primitives.indexing import CLIP, gather
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer
from transpile.trace.views.memory import may_share


@accepts_more("size")
@implements(np.trim_zeros)
def trim_zeros(filt: Array, trim: str = "fb", axis: Any = None, *, size: Any = None) -> Any:
    """The array without the zeros at its front ("f") and back ("b") along axes.

    `size` gives another length of each trimmed axis, one number or one for each: what is missing at
    the end are zeros, what is too long is cut off.
    """
    x = as_array(filt)
    sides = trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise located(ValueError, f"unexpected character(s) in `trim`: {trim!r}")
    axes = axes_of(axis, x.ndim)
    given = size if isinstance(size, tuple | list) else (size,) * len(axes)
    if len(given) != len(axes):
        raise located(ValueError, f"size has {len(given)} lengths for {len(axes)} axes")
    lengths = [length_of(length) for length in given]
    marks = call(np.not_equal, x, 0)
    bounds = [_bounds(any_of(marks, tuple(set(range(x.ndim)) - {a})), sides) for a in axes]
    for a, length, (first, stop) in zip(axes, lengths, bounds, strict=True):
        x = _cut(x, a, length, first, stop)
    if size is None and isinstance(filt, Tracer) and isinstance(x, Tracer):
        why = "as NumPy's trim_zeros gives a view, which values choose"
        may_share(x.owner, x.owner.root_of(filt.original), x.original, why)
    return x


def _bounds(marks: Any, sides: str) -> tuple[Any, Any]:
    """Where what is kept of an axis begins, and where it ends."""
    size = marks.shape[0]
    if size == 0:
        return np.int64(0), np.int64(0)
    if may_be_0(size):
        return _bounds_of_any(marks, sides)
    first = argmax(marks) if "f" in sides else np.int64(0)
    stop = convert(as_operand(size), INT64)
    if "b" in sides:
        stop = call(np.subtract, stop, argmax(flip(marks)))
    return first, where(any_of(marks), stop, np.int64(0))


def _bounds_of_any(marks: Any, sides: str) -> tuple[Any, Any]:
    """The same of an axis that may have no elements."""
    size = convert(as_operand(marks.shape[0]), INT64)
    place = bind(primitives.iota, shape=marks.shape, dimension=0, dtype=INT64)
    first = np.min(where(marks, place, size), initial=size) if "f" in sides else np.int64(0)
    last = np.max(where(marks, place + 1, 0), initial=0)
    return first, last if "b" in sides else where(last > 0, size, 0)


def _cut(x: Any, axis: int, length: Any, first: Any, stop: Any) -> Any:
    """The elements from `first` up to `stop` along an axis, and zeros up to a given length."""
    if length is None:
        every = bind(primitives.iota, shape=(x.shape[axis],), dimension=0, dtype=INT64)
        inside = call(np.logical_and, call(np.greater_equal, every, first), every < stop)
        return get_item(x, (*[slice(None)] * axis, inside))
    positions = bind(primitives.iota, shape=(length,), dimension=0, dtype=INT64)
    positions = call(np.add, positions, first)
    taken = bind(gather, x, positions, axes=(axis,), mode=CLIP)
    order = [*range(1, axis + 1), 0, *range(axis + 1, x.ndim)]
    inside = broadcast_in_dim(
        call(np.less, positions, stop), (length, *[1] * (x.ndim - axis - 1)), (0,)
    )
    return where(inside, transpose_to(taken, order), np.zeros((), x.dtype))
