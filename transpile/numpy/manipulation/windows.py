"""Windows that slide over axes: numpy.lib.stride_tricks.sliding_window_view."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.indices.requirements import is_at_most, require
from transpile.ir.types import INT64
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    axis_of,
    implements,
    index_of,
    transpose_to,
    unsupported,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.views import read_only_view
from transpile.primitives import axes as primitives
from transpile.primitives.indexing import PROMISED, gather
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Array,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Any:
    """The windows of this shape at all positions along these axes, by default along all.

    The axes of a window are the last ones of the result.

    Windows are subscripts of the array, and take no memory where they are read in place. An
    assignment into the result changes no other element, and not the array. Raises ValueError for
    windows that do not fit, and UnsupportedError for `writeable=True`: a traced array has no memory
    that two arrays could share.
    """
    if writeable:
        raise unsupported(
            "sliding_window_view(writeable=True) of a traced array: its windows share no memory. "
            "Assign to the array before its windows are taken, or add what the windows hold with "
            "numpy.add.at"
        )
    array = as_array(x)
    several = isinstance(window_shape, (tuple, list, np.ndarray))
    window = tuple(map(index_of, window_shape if several else (window_shape,)))
    given = (
        range(array.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else [axis]
    )
    axes = [axis_of(a, array.ndim) for a in given]
    if len(window) != len(axes):
        raise located(ValueError, "Must provide matching length window_shape and axis")
    for number, length in zip(axes, window, strict=True):
        array = _windows(array, number, length)
    result = read_only_view(array, x)
    if isinstance(x, Tracer) and isinstance(result, Tracer):
        result.owner.layouts.strided[result.original] = x, lambda s: (*s, *(s[a] for a in axes))
    return result


def _windows(x: Any, axis: int, length: int) -> Any:
    """The windows of one length along one axis, as a new last axis."""
    size = x.shape[axis]
    if length < 0:
        raise located(ValueError, "`window_shape` cannot contain negative values")
    text = "window shape cannot be larger than input array shape"
    if is_at_most(size + 1, length):
        raise located(ValueError, text)
    require(length, size, f"a window of {length} elements of an axis of {size}", text)
    shape = (size - length + 1, length)
    start, further = (
        bind(primitives.iota, shape=shape, dimension=d, dtype=INT64) for d in range(2)
    )
    taken = bind(gather, x, call(np.add, start, further), axes=(axis,), mode=PROMISED)
    if isinstance(x, Tracer):
        taken.owner.picked[taken.original] = None  # a view
    others = range(2, taken.ndim)  # the other axes of x, behind those of the indices
    return transpose_to(taken, [*others[:axis], 0, *others[axis:], 1])
