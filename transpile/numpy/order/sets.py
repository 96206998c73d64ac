"""Sets: unique and its kin, unions, intersections, differences, membership.

How many elements such a result has depends on values. `size=` gives another number, as in JAX: more
are cut off, and fewer are followed by fill values.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from transpile.ir.indices.requirements import may_be_0
from transpile.ir.types import BOOL, INT64, kind_letter
from transpile.numpy.core.extensions import accepts_more
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    as_operand,
    broadcast_to,
    concatenate_along,
    convert,
    error,
    fill,
    implements,
    reshape_to,
    result_dtype,
    transpose_to,
)
from transpile.numpy.core.promotion import axis_of as checked_axis
from transpile.numpy.core.runtime_sizes import dimension_value, extent_of
from transpile.numpy.order.searching import count_before, take, take_or_zeros
from transpile.numpy.order.sorting import argsort_along, iota, sort_along
from transpile.numpy.subscripts.advanced import positions_of
from transpile.primitives.indexing import FILL, scatter
from transpile.trace.trace import bind

_FEW_TESTS = 32  # so many comparisons of a vector take no longer than searches of its elements

# --------------------------------------------------------------------------------- known lengths


def length_of(size: Any) -> Any:
    """The number of elements asked for; None where it is that which the values give."""
    if size is None:
        return None
    number = extent_of(size)
    if number < 0:
        raise error(ValueError, f"size must not be negative, but is {number}")
    return number


def numbered(mask: Any, size: Any, otherwise: Any) -> Any:
    """The positions of the true elements of a mask along one axis: the first `size` of them, then
    `otherwise`."""
    count = mask.shape[0]
    start = broadcast_to(dimension_value(otherwise), (size,))
    if size == 0 or count == 0:
        return start
    position = np.where(mask, np.cumsum(mask) - 1, size)
    params = {"axes": (0,), "mode": FILL, "combine": "set", "unique": True}
    return bind(scatter, start, iota((count,), 0), position, **params)


def chosen(x: Any, mask: Any, size: Any, fill_value: Any, default: Any = None) -> Any:
    """The elements along the first axis where a mask holds; or the first `size` of them, then the
    fill value: by default, as in JAX, the first element where the mask holds."""
    if size is None:
        return take(x, positions_of(mask)[0])
    positions = numbered(mask, size, mask.shape[0])
    there = positions < mask.shape[0]
    if mask.shape[0] == 0:
        return fill(fill_value or 0, (size, *x.shape[1:]), x.dtype)
    if fill_value is None and default is None:
        return take_or_zeros(x, np.where(there, positions, _first_true(mask)))
    other = convert(as_array(default if fill_value is None else fill_value), x.dtype)
    there = reshape_to(there, (size, *(1 for _ in x.shape[1:])))
    inside = np.where(reshape_to(there, (size,)), positions, 0)
    return np.where(there, take_or_zeros(x, inside), other)


def _first_true(mask: Any) -> Any:
    """The position of the first true element, 0 where there is none."""
    if not may_be_0(mask.shape[0]):
        return np.argmax(mask)
    found = np.argmax(concatenate_along([mask, fill(True, (1,), BOOL)], 0))
    return _inside(found, mask.shape[0])


def _flat(x: Any) -> Any:
    x = as_array(x)
    return reshape_to(x, (x.size,))


# ----------------------------------------------------------------------------------------- unique


def _differs(x: Any, y: Any, equal_nan: bool) -> Any:
    if kind_letter(x.dtype) not in "fc" or not equal_nan:
        return x != y
    return (x != y) & ~(np.isnan(x) & np.isnan(y))


class _Groups:
    """The rows of an array in order, and where among them other ones begin.

    x           (n, columns)
    order       (n,) the positions of the sorted rows
    is_first    (n,) whether a sorted row differs from the one before it
    """

    def __init__(self, x: Any, equal_nan: bool, need_order: bool) -> None:
        count, columns = x.shape
        self.x, self.count = x, count
        keys = [x[:, c] for c in range(columns)]
        self.order: Any = None
        if columns == 1 and not need_order:
            self.sorted = sort_along(x, 0)
        else:
            self.order = argsort_along(0, *keys) if keys else iota((count,), 0)
            self.sorted = take(x, self.order) if columns and count else x
        if count == 0:
            self.is_first: Any = fill(False, (0,), BOOL)
            return
        if may_be_0(count):
            place = iota((count,), 0)
            before = take(self.sorted, np.maximum(place - 1, 0))
            changed = np.any(_differs(self.sorted, before, equal_nan), axis=1)
            self.is_first = (place == 0) | changed
            return
        changed = _differs(self.sorted[1:], self.sorted[:-1], equal_nan)
        start = fill(True, (1,), BOOL)
        self.is_first = concatenate_along([start, np.any(changed, axis=1)], 0)

    def starts(self, size: Any) -> Any:
        """Where the groups begin among the sorted rows, and the end of the last one, `size` numbers
        if that is given."""
        if size is None:
            (found,) = positions_of(self.is_first)
            end = convert(as_operand(self.count), INT64)
            return concatenate_along([found, broadcast_to(end, (1,))], 0)
        return numbered(self.is_first, size, self.count)

    def inverse(self) -> Any:
        """For each row of x the number of its group."""
        if self.count == 0:
            return fill(0, (0,), INT64)
        params = {"axes": (0,), "mode": FILL, "combine": "set", "unique": True}
        start = fill(0, (self.count,), INT64)
        return bind(scatter, start, np.cumsum(self.is_first) - 1, self.order, **params)


@accepts_more("size", "fill_value")
@implements(np.unique)
def unique(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements in ascending order, or the distinct slices along an axis; by a sort.

    Optional results are int64: the index of each one's first occurrence, the inverse indices, the
    counts. `size` gives another number: more are cut off, and fewer are filled with `fill_value`,
    by default the first one, with a count of 0.
    """
    array = as_array(ar)
    if axis is not None and array.ndim == 1:
        checked_axis(axis, 1)
        axis = None  # rows of one element are those elements
    if axis is None:
        x, front = _flat(array), (array.size,)
        rest: tuple[Any, ...] = ()
    else:
        axis = checked_axis(axis, array.ndim)
        order = (axis, *(a for a in range(array.ndim) if a != axis))
        x = transpose_to(array, order)
        front, rest = x.shape[:1], x.shape[1:]
    length = length_of(size)
    columns = int(np.prod(rest, dtype=int))
    with_order = return_index or return_inverse
    # A row with a NaN equals no other one in NumPy.
    groups = _Groups(reshape_to(x, (*front, columns)), equal_nan and axis is None, with_order)
    if length is None and groups.count == 0:
        length = 0
    starts = groups.starts(None if length is None else length + 1)
    first = starts[:-1] if length is None else _inside(starts[:-1], groups.count)
    if length is None:
        results = [reshape_to(take(groups.sorted, first), (*first.shape, *rest))]
    else:
        results = [_values(groups, starts, length, fill_value, rest)]
    if axis is not None:
        back = [0] * array.ndim
        for position, a in enumerate(order):
            back[a] = position
        results = [transpose_to(results[0], back)]
    if return_index:
        # A runtime size that may be 0 is no 0 here.
        none = groups.count == 0
        results.append(fill(0, first.shape, INT64) if none else take_or_zeros(groups.order, first))
    if return_inverse:
        inverse = groups.inverse()
        results.append(reshape_to(inverse, array.shape) if axis is None else inverse)
    if return_counts:
        results.append(starts[1:] - starts[:-1])
    return tuple(results) if len(results) > 1 else results[0]


def _inside(positions: Any, count: Any) -> Any:
    """Positions, 0 for those behind the end."""
    return np.where(positions < count, positions, 0)


def _values(groups: _Groups, starts: Any, length: Any, fill_value: Any, rest: Any) -> Any:
    if groups.count == 0 or length == 0:
        value = 0 if fill_value is None else fill_value
        return broadcast_to(convert(as_array(value), groups.x.dtype), (length, *rest)) + fill(
            0, (length, *rest), groups.x.dtype
        )
    there = starts[:-1] < groups.count
    values = take_or_zeros(groups.sorted, np.where(there, starts[:-1], 0))
    if fill_value is not None:
        there = reshape_to(there, (length, 1))
        values = np.where(there, values, convert(as_array(fill_value), values.dtype))
    return reshape_to(values, (length, *rest))


@accepts_more("size", "fill_value")
@implements(np.unique_all)
def unique_all(x: Array, /, *, size: Any = None, fill_value: Any = None) -> Any:
    """The distinct elements as by `unique`, with indices, inverse indices and counts, as a named
    tuple; every NaN is distinct."""
    parts = unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    return type(np.unique_all(np.ones(1)))(*parts)


@accepts_more("size", "fill_value")
@implements(np.unique_counts)
def unique_counts(x: Array, /, *, size: Any = None, fill_value: Any = None) -> Any:
    """The distinct elements as by `unique`, and their counts, as a named tuple; every NaN is
    distinct."""
    parts = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return type(np.unique_counts(np.ones(1)))(*parts)


@accepts_more("size", "fill_value")
@implements(np.unique_inverse)
def unique_inverse(x: Array, /, *, size: Any = None, fill_value: Any = None) -> Any:
    """The distinct elements as by `unique`, and the inverse indices, as a named tuple; every NaN is
    distinct."""
    parts = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return type(np.unique_inverse(np.ones(1)))(*parts)


@accepts_more("size", "fill_value")
@implements(np.unique_values)
def unique_values(x: Array, /, *, size: Any = None, fill_value: Any = None) -> Any:
    """The distinct elements as by `unique`, in ascending order; every NaN is distinct."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# ------------------------------------------------------------------------------------ two arrays


def _pair(x: Array, y: Array) -> tuple[Any, Any]:
    """Both as flat arrays of one dtype."""
    parts = [_flat(x), _flat(y)]
    dtype = result_dtype(*parts)
    return convert(parts[0], dtype), convert(parts[1], dtype)


@accepts_more("size", "fill_value")
@implements(np.union1d)
def union1d(ar1: Array, ar2: Array, *, size: Any = None, fill_value: Any = None) -> Any:
    """The distinct elements of both arrays, flattened, in ascending order; `size` is as for
    `unique`."""
    return unique(concatenate_along(_pair(ar1, ar2), 0), size=size, fill_value=fill_value)


def _known_distinct(x: Any, assume_unique: bool, need_order: bool = False) -> tuple[Any, Any]:
    """The elements in order with the mask of those that are the first of their kind, and where
    they stood, if that is needed."""
    groups = _Groups(reshape_to(x, (x.size, 1)), True, need_order)
    mask = fill(True, (x.size,), BOOL) if assume_unique else groups.is_first
    return reshape_to(groups.sorted, (x.size,)), (mask, groups.order)


@accepts_more("size", "fill_value")
@implements(np.intersect1d)
def intersect1d(
    ar1: Array,
    ar2: Array,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements that are in both arrays, flattened, in ascending order; optionally
    their indices in each.

    `size` gives another length: what is missing is `fill_value`, by default the first element, and
    an index one beyond the array.
    """
    length = length_of(size)
    x, y = _pair(ar1, ar2)
    left, (mask, order) = _known_distinct(x, assume_unique, return_indices)
    if not x.size or not y.size:
        empty = fill(0 if fill_value is None else fill_value, (length or 0,), x.dtype)
        nowhere = [fill(v.size, (length or 0,), INT64) for v in (x, y)]
        return (empty, *nowhere) if return_indices else empty
    right, (_, other_order) = _known_distinct(y, assume_unique, return_indices)
    position = count_before(right, left, inclusive=False)
    inside = np.where(position < y.size, position, y.size - 1)
    is_common = (position < y.size) & (take_or_zeros(right, inside) == left)
    common = mask & is_common
    if length is not None and fill_value is None and may_be_0(y.size):
        nothing = fill(0, (), x.dtype)  # of an empty array the result is 0, as of a known one
        start = take_or_zeros(left, _first_true(common))
        fill_value = np.where(dimension_value(y.size) > 0, start, nothing)
    result = chosen(left, common, length, fill_value)
    if not return_indices:
        return result
    first = chosen(order, common, length, x.size)
    second = chosen(take_or_zeros(other_order, inside), common, length, y.size)
    return result, first, second


@accepts_more("size", "fill_value")
@implements(np.setdiff1d)
def setdiff1d(
    ar1: Array,
    ar2: Array,
    assume_unique: bool = False,
    *,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements of the first array, flattened, that are not in the second, in ascending
    order.

    `size` gives another length: what is missing is `fill_value`, 0 by default.
    """
    length = length_of(size)
    x = _flat(ar1)
    if not x.size:
        return fill(0 if fill_value is None else fill_value, (length or 0,), x.dtype)
    if assume_unique:
        return chosen(x, ~isin(x, ar2), length, fill_value, 0)
    values, (mask, _) = _known_distinct(x, False)
    return chosen(values, mask & ~isin(values, ar2), length, fill_value, 0)


@accepts_more("size", "fill_value")
@implements(np.setxor1d)
def setxor1d(
    ar1: Array,
    ar2: Array,
    assume_unique: bool = False,
    *,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements that are in one of the arrays only, flattened, in ascending order;
    `size` is as for `unique`."""
    length = length_of(size)
    x, y = _pair(ar1, ar2)
    if not x.size + y.size:
        return fill(0 if fill_value is None else fill_value, (length or 0,), x.dtype)
    if length is None:
        return _alone(*(v if assume_unique else unique(v) for v in (x, y)))
    pairs = []
    for mine, other in ((x, y), (y, x)):
        values, (mask, _) = _known_distinct(mine, assume_unique)
        pairs.append((values, mask & ~isin(values, other)))
    values = concatenate_along([v for v, _ in pairs], 0)
    mask = concatenate_along([m for _, m in pairs], 0)
    order = argsort_along(0, values)
    return chosen(take(values, order), take(mask, order), length, fill_value)


def _alone(x: Any, y: Any) -> Any:
    """The elements of two arrays, in ascending order, that equal none of their neighbours."""
    values = sort_along(concatenate_along([x, y], 0), 0)
    (count,) = values.shape
    place, last = iota((count,), 0), as_operand(count) - 1
    is_first = (place == 0) | (values != take(values, np.maximum(place - 1, 0)))
    is_last = (place == last) | (values != take(values, np.minimum(place + 1, last)))
    return chosen(values, is_first & is_last, None, None)


# ------------------------------------------------------------------------------------- membership


@implements(np.isin)
def isin(
    element: Array,
    test_elements: Array,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    """Whether each element of the first array is among those of the second: by comparing it with
    each of a few, by a binary search in more after sorting.

    `kind` and `assume_unique` change nothing. NaN is in no array. Raises ValueError for an unknown
    kind.
    """
    if kind not in (None, "sort", "table"):
        raise error(ValueError, f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    x, tests = as_array(element), _flat(test_elements)
    dtype = result_dtype(*(fill(0, (), v.dtype) for v in (x, tests)))
    if not tests.size or not x.size:
        return fill(invert, x.shape, BOOL)
    if isinstance(tests.size, int) and tests.size <= _FEW_TESTS:
        x, tests = convert(x, dtype), convert(tests, dtype)
        is_member = reduce(np.logical_or, (x == tests[k] for k in range(tests.size)))
        return ~is_member if invert else is_member
    x, ordered = convert(x, dtype), sort_along(convert(tests, dtype), 0)
    position = count_before(ordered, x, inclusive=False)
    inside = np.where(position < tests.size, position, tests.size - 1)
    is_member = take_or_zeros(ordered, inside) == x
    if may_be_0(tests.size):
        is_member = is_member & (position < tests.size)
    return ~is_member if invert else is_member
