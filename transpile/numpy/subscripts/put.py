"""Functions that assign to their argument (put, place, putmask, copyto, put_along_axis), and those
that remove or insert elements (delete, insert, resize).

The first need a traced array to assign to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.indices.requirements import is_at_most, require_index
from transpile.ir.indices.row_major import product
from transpile.ir.types import BOOL, INT64
from transpile.numpy.core import elementwise
from transpile.numpy.core.promotion import (
    EXPORTS,
    Array,
    NumpyErrors,
    as_array,
    axis_of,
    broadcast_to,
    concatenate_along,
    convert,
    dispatching,
    fill,
    has_tracer,
    implements,
    reshape_to,
    shape_of,
    slice_axis,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import (
    dimension_value,
    element_of,
    offset_of,
    require_indices,
)
from transpile.numpy.core.scans import cumsum
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.shapes import ravel, shape_argument
from transpile.numpy.manipulation.transposes import moveaxis
from transpile.numpy.subscripts.advanced import iota_of
from transpile.numpy.subscripts.basic import content, get_item, set_item
from transpile.numpy.subscripts.take import along, as_indices, bounded, take, traced
from transpile.primitives import axes as primitives
from transpile.primitives.elementwise import copy as primitive_copy
from transpile.primitives.indexing import FILL, scatter
from transpile.trace.trace import bind
from transpile.trace.tracer import FUNCTIONS, Tracer


def _in_place(function: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function that changes its first argument; NumPy is not asked for its words, as it
    would say that the stand-in of a traced array is read-only."""

    def decorate(implementation: Callable[..., None]) -> Callable[..., None]:
        FUNCTIONS[function] = implementation
        EXPORTS[function.__name__] = dispatching(function, implementation)
        return implementation

    return decorate


def _cycled(values: Any, count: Index) -> Any:
    """The values repeated cyclically to a vector of this length."""
    flat = ravel(traced(values))
    size = flat.shape[0]
    if size in (1, count):
        return broadcast_to(flat, (count,))
    numbers = bind(primitives.iota, shape=(count,), dimension=0, dtype=INT64)
    period = size if isinstance(size, int) else call(np.maximum, dimension_value(size), 1)
    return take(flat, call(np.remainder, numbers, period))


def _if_there_are(values: Any, changed: Any, elements: Any) -> Any:
    """The changed elements, unless the values to assign turn out to be none."""
    size = as_array(values).size
    if is_at_most(1, size):
        return changed
    return elementwise.where(call(np.greater, dimension_value(size), 0), changed, elements)


def _elements(a: Tracer) -> Any:
    """The elements in row-major order, of a copy: how the array lies in memory does not show."""
    return ravel(bind(primitive_copy, a))


@_in_place(np.put)
def put(a: Array, ind: Array, v: Array, mode: str = "raise") -> None:
    """Assign values, repeated cyclically, to the elements at positions of the flattened array.

    A traced index out of range assigns nothing in the mode `raise`, where NumPy raises IndexError.
    """
    flat = reshape_to(traced(ind), (as_array(ind).size,)) if has_tracer(ind) else None
    indices = as_indices(np.ravel(ind) if flat is None else flat, "safe")
    count = indices.shape[0]
    if count == 0 or as_array(v).size == 0:
        return
    indices = bounded(indices, a.size, mode)
    values = convert(_cycled(v, count), a.dtype)
    elements = _elements(a)
    changed = _if_there_are(v, set_item(elements, indices, values), elements)
    a[...] = reshape_to(changed, a.shape)


@_in_place(np.place)
def place(arr: Array, mask: Array, vals: Array) -> None:
    """Assign the n-th value to the n-th element where the mask holds; fewer values repeat
    cyclically.

    Raises ValueError where mask and array differ in size, and for no values.
    """
    marks = ravel(convert(traced(mask), BOOL))
    if marks.shape[0] != arr.size:
        raise located(ValueError, "place: mask and data must be the same size")
    values = ravel(traced(vals))
    if values.shape[0] == 0:
        if isinstance(mask, Tracer) or np.any(mask):
            raise located(ValueError, "Cannot insert from an empty array!")
        return
    if not is_at_most(values.shape[0], 1):
        number = call(np.subtract, cumsum(marks), 1)
        values = take(values, np.remainder(number, values.shape[0]))
    chosen = convert(values, arr.dtype)
    arr[...] = elementwise.where(marks, chosen, _elements(arr)).reshape(arr.shape)


@_in_place(np.putmask)
def putmask(a: Array, /, mask: Array, values: Array) -> None:
    """Assign to each element where the mask holds the value at the same position, of values
    repeated cyclically.

    Raises ValueError where mask and array differ in size.
    """
    marks = ravel(convert(traced(mask), BOOL))
    if marks.shape[0] != a.size:
        raise located(ValueError, "putmask: mask and data must be the same size")
    if as_array(values).size == 0:
        return
    chosen = convert(_cycled(values, a.size), a.dtype)
    elements = _elements(a)
    changed = _if_there_are(values, elementwise.where(marks, chosen, elements), elements)
    a[...] = changed.reshape(a.shape)


@_in_place(np.copyto)
def copyto(dst: Array, src: Array, casting: Any = "same_kind", where: Array = True) -> None:
    """Assign `src`, broadcast to the array, to the elements where the mask `where` holds.

    Raises TypeError for a destination that is not traced, and for a cast that `casting` forbids.
    """
    if not isinstance(dst, Tracer):
        raise located(
            TypeError,
            "numpy.copyto changes its first argument, which is not traced, though others are",
        )
    source = as_array(src)
    weak = type(src) in (bool, int, float, complex)
    if not weak and not np.can_cast(source.dtype, dst.dtype, casting):
        raise located(
            TypeError,
            f"Cannot cast array data from {source.dtype!r} to {dst.dtype!r} according to the rule "
            f"'{casting}'",
        )
    values = content(src, dst.dtype, dst.shape)
    if where is True:
        dst[...] = values
        return
    marks = as_array(where)
    if marks.dtype != BOOL:
        raise located(
            TypeError,
            f"Cannot cast array data from {marks.dtype!r} to dtype('bool') according to the rule "
            "'safe'",
        )
    dst[...] = elementwise.where(broadcast_to(traced(marks), dst.shape), values, dst)


@_in_place(np.put_along_axis)
def put_along_axis(arr: Array, indices: Array, values: Array, axis: Any) -> None:
    """Assign values to the elements at indices along one axis, the inverse of `take_along_axis`.

    A traced index out of range assigns nothing.
    """
    x, grid = along(traced(arr), as_array(indices), axis)
    updates = content(values, x.dtype, shape_of(grid[0]))
    params = {"mode": FILL, "combine": "set", "unique": False}
    changed = bind(scatter, x, updates, *grid, axes=tuple(range(x.ndim)), **params)
    arr[...] = reshape_to(changed, arr.shape)


# ------------------------------------------------------------------------- other lengths


def _flat_axis(arr: Array, axis: Any) -> tuple[Any, int]:
    """The array and the axis, or the flattened array and its axis where there is none."""
    x = traced(arr)
    if axis is None:
        return (ravel(x) if x.ndim != 1 else x), 0
    return x, axis_of(axis, x.ndim)


@implements(np.delete)
def delete(arr: Array, obj: Any, axis: Any = None) -> Any:
    """The array without the elements at positions along an axis, or of the flattened array.

    Traced indices out of range delete nothing.
    """
    x, number = _flat_axis(arr, axis)
    size = x.shape[number]
    obj = as_array(obj) if isinstance(obj, list | tuple) and has_tracer(obj) else obj
    if isinstance(obj, Tracer):
        if obj.size != 1 or obj.dtype == BOOL:
            kept = _not_deleted(obj, size)
            return get_item(x, (*[slice(None)] * number, kept))
        index = reshape_to(as_indices(obj), ())
        require_indices(index, number, size)
        index = elementwise.where(call(np.less, index, 0), call(np.add, index, size), index)
        count = bind(primitives.iota, shape=(size - 1,), dimension=0, dtype=INT64)
        kept = call(np.add, count, convert(call(np.greater_equal, count, index), INT64))
        return take(x, kept, number)
    if isinstance(size, Dim):
        if isinstance(obj, Dim) or not (np.ndim(obj) or isinstance(obj, slice)):
            return _without_one(x, offset_of(obj), number)
        kept = _not_deleted(obj if isinstance(obj, slice) else traced(obj), size)
        return get_item(x, (*[slice(None)] * number, kept))
    return take(x, np.delete(np.arange(size), obj), number)


def _without_one(x: Any, place: Index, axis: int) -> Any:
    """The array without what is at one place, counted from the end where it is negative."""
    size = x.shape[axis]
    given, place = place, element_of(place, size)
    require_index(given, axis, size, place)
    ends = (0, place), (place + 1, size)
    return concatenate_along([slice_axis(x, axis, *end) for end in ends], axis)


def _not_deleted(obj: Any, size: Any) -> Any:
    """The mask of the elements that indices, a slice, or a mask, leave."""
    if isinstance(obj, slice) or obj.dtype != BOOL:
        every = fill(True, (size,), BOOL)
        return set_item(every, obj if isinstance(obj, slice) else ravel(obj), np.False_)
    if obj.shape != (size,):
        raise located(
            ValueError,
            "boolean array argument obj to delete must be one dimensional and match the axis "
            f"length of {size}",
        )
    return call(np.logical_not, obj)


def _check_positions(obj: Any, size: Index) -> None:
    """Raise NumPy's error for positions that it does not insert at."""
    with NumpyErrors():
        if not has_tracer(obj) and not isinstance(obj, Dim) and isinstance(size, int):
            np.insert(np.zeros(size, np.int8), obj, 0)
        elif isinstance(obj, Tracer | np.ndarray) and obj.dtype.kind == "u" and obj.size != 1:
            places = np.zeros(1, obj.dtype)
            places += np.arange(1)  # as NumPy counts what stands before


@implements(np.insert)
def insert(arr: Array, obj: Any, values: Array, axis: Any = None) -> Any:
    """The array with values in front of positions along an axis, or of the flattened array, cast to
    its dtype.

    Positions refer to the array as it was. Raises IndexError for a known position out of range.
    """
    x, number = _flat_axis(arr, axis)
    size = x.shape[number]
    if not has_tracer(values):  # a Python int that is too large is an error
        with NumpyErrors(), np.errstate(all="ignore"):
            values = np.array(values, x.dtype)
    added = convert(traced(values), x.dtype)
    _check_positions(obj, size)
    obj = as_array(obj) if isinstance(obj, list | tuple) and has_tracer(obj) else obj
    if isinstance(obj, Tracer) and obj.ndim and obj.dtype == BOOL:
        (obj,) = np.nonzero(obj)
    if added.ndim < x.ndim:
        added = reshape_to(added, (*[1] * (x.ndim - added.ndim), *added.shape))
    is_one = isinstance(obj, Dim) or (
        not isinstance(obj, slice | list | tuple | range) and as_array(obj).ndim == 0
    )
    if is_one:
        added = moveaxis(added, 0, number)
    elif not isinstance(obj, Tracer) and isinstance(size, Dim):
        selects = isinstance(obj, slice) or np.asarray(obj).dtype == BOOL
        obj = get_item(iota_of(size), (obj,)) if selects else traced(np.asarray(obj))
    elif not isinstance(obj, Tracer):
        obj = np.arange(size)[obj] if isinstance(obj, slice) else np.asarray(obj)
        obj = np.flatnonzero(obj) if obj.dtype == BOOL else obj
        obj = obj.astype(INT64)
    # One position takes all values, as NumPy has it.
    count = added.shape[number] if is_one or as_array(obj).size == 1 else as_array(obj).size
    shape = (*x.shape[:number], count, *x.shape[number + 1 :])
    added = broadcast_to(added, shape)
    if is_one and not isinstance(obj, Tracer):
        index = offset_of(obj)
        is_known = isinstance(size, int) and isinstance(index, int)
        start = element_of(index, size, size + 1)
        if not is_known:
            require_index(index, number, size if is_at_most(index, -1) else size + 1, start)
        elif not -size <= index <= size:
            raise located(
                IndexError,
                f"index {index} is out of bounds for axis {number} with size {size}",
            )
        parts = [slice_axis(x, number, 0, start), added, slice_axis(x, number, start, size)]
        return concatenate_along(parts, number)
    whole = concatenate_along([x, added], number)
    if not isinstance(obj, Tracer):
        return take(whole, np.insert(np.arange(size), obj, size + np.arange(count)), number)
    indices = reshape_to(as_indices(obj), (obj.size,))
    if indices.shape[0] == 1:  # NumPy looks at no others
        require_indices(indices, number, size, behind=1)
    return take(whole, _order_with(indices, size, count), number)


def _order_with(indices: Any, size: Index, count: Index) -> Any:
    """Where the elements of a result come from: those of the array, and in front of the ones at
    `indices` the added ones."""
    indices = elementwise.where(call(np.less, indices, 0), call(np.add, indices, size), indices)
    if indices.shape[0] == 1 and count != 1:
        indices = broadcast_to(indices, (count,))
    before = call(np.less, indices[None, :], indices[:, None])
    numbers = bind(primitives.iota, shape=(count, count), dimension=0, dtype=INT64)
    others = bind(primitives.iota, shape=(count, count), dimension=1, dtype=INT64)
    equal = call(np.equal, indices[None, :], indices[:, None])
    earlier = call(np.logical_and, equal, call(np.less, others, numbers))
    rank = call(np.logical_or, before, earlier).sum(axis=1)
    targets = call(np.add, indices, rank)
    is_new = set_item(fill(False, (size + count,), BOOL), targets, True)
    old = call(np.subtract, cumsum(call(np.logical_not, is_new)), 1)
    new = call(np.add, bind(primitives.iota, shape=(count,), dimension=0, dtype=INT64), size)
    return set_item(elementwise.where(is_new, 0, old), targets, new)


@implements(np.resize)
def resize(a: Array, new_shape: Any) -> Any:
    """The elements in row-major order in a new shape, repeated cyclically until it is full."""
    shape = shape_argument(new_shape)
    if any(d < 0 for d in shape):
        raise located(ValueError, "all elements of `new_shape` must be non-negative")
    flat = ravel(traced(a))
    size, wanted = flat.shape[0], product(shape)
    if size == 0 or wanted == 0:
        return fill(0, shape, flat.dtype)
    if not is_at_most(1, size):
        return reshape_to(_cyclic(flat, wanted), shape)
    if isinstance(size, int) and isinstance(wanted, int):
        copies, rest = divmod(wanted, size)
        parts = [_repeated(flat, copies), slice_axis(flat, 0, 0, rest)]
        return reshape_to(concatenate_along(parts, 0), shape)
    return reshape_to(slice_axis(_repeated(flat, -(-wanted // size)), 0, 0, wanted), shape)


def _cyclic(flat: Any, wanted: Index) -> Any:
    """So many elements of an array that may have none, cyclically; zeros where it has none."""
    size = flat.shape[0]
    with_zero = concatenate_along([flat, fill(0, (1,), flat.dtype)], 0)
    period = call(np.maximum, dimension_value(size), 1)
    numbers = bind(primitives.iota, shape=(wanted,), dimension=0, dtype=INT64)
    return take(with_zero, call(np.remainder, numbers, period), 0, mode="clip")


def _repeated(flat: Any, copies: Index) -> Any:
    """The elements so many times, one copy behind the other."""
    size = flat.shape[0]
    return reshape_to(broadcast_to(flat, (copies, size)), (copies * size,))
