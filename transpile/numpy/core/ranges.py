"""Sequences of numbers, and the grids and joins that are written with brackets."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.numpy.core.creation import arange, indices, linspace, makes
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    broadcast_in_dim,
    convert,
    dtype_argument,
    has_tracer,
    implements,
    index_of,
    result_dtype,
    slice_axis,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.joins import concatenate
from transpile.numpy.manipulation.shapes import expand_dims
from transpile.numpy.manipulation.transposes import moveaxis
from transpile.trace.tracer import Tracer


@implements(np.logspace)
def logspace(
    start: Array,
    stop: Array,
    num: Any = 50,
    endpoint: bool = True,
    base: Array = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Samples `base ** linspace(start, stop, num)`; an array of bases broadcasts against the
    bounds, and the new axis stands at `axis`."""
    base = base if isinstance(base, float | int) else as_array(base)
    if getattr(base, "ndim", 0):
        values = [as_array(v) for v in (start, stop, base)]
        ndim = max(v.ndim for v in values)
        start, stop, base = (
            broadcast_in_dim(v, (*[1] * (ndim - v.ndim), *v.shape), range(ndim - v.ndim, ndim))
            for v in values
        )
        base = expand_dims(base, axis)
    result = call(np.power, base, linspace(start, stop, num, endpoint, axis=axis))
    return result if dtype is None else convert(result, dtype_argument(dtype))


@implements(np.geomspace)
def geomspace(
    start: Array,
    stop: Array,
    num: Any = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """A geometric sequence from start to stop: `num` samples with equal ratios, both ends exact.

    Computed through base-10 logarithms. Raises ValueError for a known bound that is zero; a traced
    one gives NaN.
    """
    number = num if isinstance(num, Dim) else index_of(num)
    first, last = as_array(start), as_array(stop)
    for bound in (first, last):
        if not isinstance(bound, Tracer) and np.any(bound == 0):
            raise located(ValueError, "Geometric sequence cannot include zero")
    computed = result_dtype(first, last, 1.0, np.zeros((), dtype or np.float64))
    wanted = computed if dtype is None else dtype_argument(dtype)
    first, last = convert(first, computed), convert(last, computed)
    sign = call(np.sign, first)
    first, last = call(np.divide, first, sign), call(np.divide, last, sign)
    bounds = [call(np.log10, v) for v in (first, last)]
    result = logspace(bounds[0], bounds[1], number, endpoint, 10.0, computed)
    result = _with_ends(result, first, last if endpoint else None)
    result = call(np.multiply, result, sign)
    return convert(moveaxis(result, 0, axis) if axis != 0 else result, wanted)


def _with_ends(x: Any, first: Any, last: Any) -> Any:
    """The sequence with exact ends: powers of logarithms are rounded."""
    size, shape = x.shape[0], x.shape[1:]
    if isinstance(size, Dim):
        count = arange(size).reshape(size, *[1] * len(shape))
        x = x if last is None else np.where(count == size - 1, last, x)
        return np.where(count == 0, first, x)
    if size == 0:
        return x
    ends = [
        None if v is None else broadcast_in_dim(v, (1, *shape), _behind(v, len(shape)))
        for v in (first, last if size > 1 else None)
    ]
    parts = [ends[0], slice_axis(x, 0, 1, size if ends[1] is None else size - 1), ends[1]]
    return concatenate([p for p in parts if p is not None], 0)


def _behind(x: Any, ndim: int) -> range:
    """The axes of an array behind a new one, aligned at the end."""
    return range(1 + ndim - x.ndim, 1 + ndim)


@makes(np.diag_indices)
def diag_indices(n: Any, ndim: Any = 2) -> Any:
    """The subscripts of the main diagonal of an array of `ndim` axes of n elements each."""
    return (arange(n),) * ndim


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    """The subscripts of the main diagonal of an array, whose axes are equally long; known while
    tracing, unless they have a runtime size.

    Raises ValueError for less than two axes and for unequal ones.
    """
    shape = as_array(arr).shape
    if not any(isinstance(size, Dim) for size in shape):
        return np.diag_indices_from(np.broadcast_to(np.int8(0), shape))
    if len(shape) < 2:
        raise located(ValueError, "input array must be at least 2-d")
    if len(set(shape)) > 1:
        raise located(ValueError, "All dimensions of input must be of equal length")
    return diag_indices(shape[0], len(shape))


@makes(np.fromfunction)
def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """What a function gives for the subscripts of an array of this shape, which may have runtime
    sizes; it is called once, with an array for each axis."""
    return function(*indices(shape, dtype), **kwargs)


# --------------------------------------------------------------------------------------- brackets


class Joined:
    """The object behind `r_` and `c_`: slices, numbers and arrays in brackets, joined along an
    axis.

    A slice `a:b:s` is a range, and `a:b:nj` has n samples up to b, as in NumPy; a first string
    "axis,ndmin,first" overrides the defaults. Raises ValueError for other strings.
    """

    def __init__(self, plain: Any, axis: int, ndmin: int, moved: int) -> None:
        self.plain = plain
        self.axis, self.ndmin, self.moved = axis, ndmin, moved

    def __getitem__(self, key: Any) -> Any:
        """The parts in the brackets, concatenated in the dtype that they promote to."""
        if not has_tracer(key):
            return self.plain[key]
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, moved = self.axis, self.ndmin, self.moved
        if isinstance(parts[0], str):
            axis, ndmin, moved = self._directive(parts.pop(0))
        arrays = [self._part(p, ndmin, moved) for p in parts]
        # Numbers are weak, as they were before they became arrays.
        kinds = [p if _is_scalar(p) else a for p, a in zip(parts, arrays, strict=True)]
        dtype = result_dtype(*kinds)
        return concatenate([convert(a, dtype) for a in arrays], axis)

    def _directive(self, text: str) -> tuple[int, int, int]:
        try:
            numbers = [int(n) for n in text.split(",")]
        except ValueError:
            raise located(ValueError, f"unknown special directive {text!r}") from None
        axis, ndmin, moved = (*numbers, *(self.axis, self.ndmin, self.moved)[len(numbers) :])
        return axis, ndmin, moved

    def _part(self, part: Any, ndmin: int, moved: int) -> Any:
        x = as_array(self.plain[part]) if isinstance(part, slice) else as_array(part)
        missing = ndmin - x.ndim if not isinstance(part, slice) else ndmin - 1
        if isinstance(part, slice):
            x = as_array(np.asarray(x).reshape(-1))
        if missing <= 0:
            return x
        ndim = x.ndim + missing
        first = moved if moved >= 0 else missing + 1 + moved
        axes = range(first, first + x.ndim)
        shape = [1] * ndim
        for axis, size in zip(axes, x.shape, strict=True):
            shape[axis] = size
        return broadcast_in_dim(x, tuple(shape), axes)


def _is_scalar(part: Any) -> bool:
    return not isinstance(part, slice) and as_array(part).ndim == 0


r_ = Joined(np.r_, 0, 1, -1)
c_ = Joined(np.c_, -1, 2, 0)
