"""Searches in sorted arrays: searchsorted, digitize, interp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, bounds
from transpile.ir.indices.requirements import may_be_0, require
from transpile.ir.types import COMPLEX128, FLOAT64, INT64, kind_letter
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    convert,
    error,
    fill,
    implements,
    result_dtype,
    strengthen,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import dimension_value
from transpile.numpy.core.ufuncs import call
from transpile.numpy.loops import repeated
from transpile.numpy.order.sorting import argsort_along, reverse
from transpile.primitives import elementwise as primitives
from transpile.primitives.indexing import CLIP, PROMISED, gather
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer, add_method

# In arrays of more elements a search is a loop, not a chain of choices.
_LONGEST_CHAIN = 256
# In vector lanes, all elements are compared sooner than a few of them are gathered.
_LONGEST_COUNTED = 128


def take(x: Any, indices: Any, mode: str = PROMISED) -> Any:
    """The elements of an array along its first axis, at indices of any shape."""
    return bind(gather, x, convert(indices, INT64), axes=(0,), mode=mode)


def take_or_zeros(x: Any, indices: Any) -> Any:
    """`take`; zeros where the axis has no element, as a runtime size may turn out."""
    size = x.shape[0]
    if not may_be_0(size):
        return take(x, indices)
    is_there = call(np.greater, dimension_value(size), 0)
    return np.where(is_there, take(x, indices, CLIP), fill(0, (), x.dtype))


def sorts_before(x: Any, y: Any) -> Any:
    """Whether x precedes y in sorted arrays of one dtype: NaN follows all numbers."""
    kind = kind_letter(x.dtype)
    if kind == "f":
        return (x < y) | (np.isnan(y) & ~np.isnan(x))
    if kind != "c":
        return x < y
    a, b, c, d = np.real(x), np.imag(x), np.real(y), np.imag(y)
    has_imag, other_nan = ~np.isnan(b), np.isnan(d)
    equal = (a == c) | (np.isnan(a) & np.isnan(c))
    either = np.where(equal, (b < d) | (other_nan & has_imag), np.isnan(c) & ~np.isnan(a))
    either = np.where(a > c, other_nan & has_imag, either)
    return np.where(a < c, has_imag | other_nan, either)


@implements(np.searchsorted)
def searchsorted(a: Array, v: Array, side: Any = "left", sorter: Any = None) -> Any:
    """The positions at which values would be inserted into a sorted vector, in front of equal
    elements, or behind them for side="right".

    A binary search whose number of steps is known while tracing; int64. NaN follows all numbers.
    With traced `sorter`, indices out of range are clipped. Raises ValueError unless `a` is a
    vector.
    """
    x, values = as_array(a), as_array(v)
    _check_search(x, side, sorter)
    (n,) = x.shape
    if sorter is not None:
        x = take(x, as_array(sorter), CLIP)
    if n == 0 or values.size == 0:
        return fill(0, values.shape, INT64)
    dtype = result_dtype(*(fill(0, (), t.dtype) for t in (x, values)))
    return count_before(convert(x, dtype), convert(values, dtype), str(side) in ("right", "r", "R"))


def _check_search(x: Any, side: Any, sorter: Any) -> None:
    if x.ndim != 1:
        raise located(ValueError, "object of too small depth for desired array")
    stand_in, order = np.arange(2), None
    if sorter is not None:
        given = as_array(sorter)
        shape = given.shape
        if any(isinstance(d, Dim) for d in (*x.shape, *shape)):
            if shape != x.shape:
                raise located(ValueError, "sorter.size must equal len(a)")
            shape = (2,)
        else:
            stand_in = np.arange(x.shape[0])
        order = np.zeros(shape, given.dtype)
    try:
        np.searchsorted(stand_in, 0, side=side, sorter=order)
    except (ValueError, TypeError) as problem:
        raise error(type(problem), str(problem)) from None


def count_before(x: Any, values: Any, inclusive: bool) -> Any:
    """The number of elements of a sorted array that precede each value, those equal to it included
    or not. The array is not empty, or has a runtime size."""
    if kind_letter(x.dtype) != "f":
        return _count(x, values, inclusive)
    # No comparison with a NaN holds: elements that are NaN are behind all, and for values that are
    # it is asked once, not at each step.
    numbers: Any = x.shape[0]
    if not inclusive and (isinstance(x, Tracer) or np.isnan(x).any()):
        numbers = np.sum(~np.isnan(x), dtype=INT64)
    elif isinstance(numbers, Dim):
        numbers = _size(numbers)
    return np.where(np.isnan(values), numbers, _count(x, values, inclusive))


def _count(x: Any, values: Any, inclusive: bool) -> Any:
    """The same; values that are NaN have any number."""
    shape, size = tuple(values.shape), x.shape[0]

    def precedes(element: Any, values: Any) -> Any:
        if kind_letter(x.dtype) == "c":
            before = sorts_before
            return ~before(values, element) if inclusive else before(element, values)
        return element <= values if inclusive else element < values

    def is_before(x: Any, values: Any, place: Any) -> Any:
        return precedes(take(x, place, PROMISED), values)

    if not isinstance(size, Dim) and size <= _LONGEST_COUNTED and x.dtype.kind != "c":
        narrow = np.dtype(f"u{x.dtype.itemsize}")
        return convert(np.sum(precedes(x, values[..., None]), axis=-1, dtype=narrow), INT64)
    count = fill(0, shape, INT64)
    if isinstance(size, Dim) or size > _LONGEST_CHAIN:
        return _count_in_loop(x, values, count, is_before)
    left = size
    while left > 1:
        half = left // 2
        count = np.where(is_before(x, values, count + (half - 1)), count + half, count)
        left -= half
    return np.where(is_before(x, values, count), count + 1, count)


def _count_in_loop(x: Any, values: Any, count: Any, is_before: Callable[..., Any]) -> Any:
    """The same by a loop that halves what is left, which is as much for all values: those of a
    block are looked up together."""

    def is_left(x: Any, values: Any, left: Any, count: Any) -> list[Any]:
        return [call(np.greater, left, 0)]

    def halved(x: Any, values: Any, left: Any, count: Any) -> list[Any]:
        half = (left + 1) // 2
        further = np.where(is_before(x, values, count + (half - 1)), count + half, count)
        return [left - half, further]

    return repeated(is_left, halved, (x, values), (_size(x.shape[0]), count))[1]


def _may_be_one(size: Index) -> bool:
    low = bounds(size)[0]
    return isinstance(size, Dim) and (low is None or low <= 1)


def _size(size: Index) -> Any:
    return strengthen(convert(as_array(dimension_value(size)), INT64))


def _searchsorted_method(a: Tracer, v: Array, side: Any = "left", sorter: Any = None) -> Any:
    """The positions at which values would be inserted into this sorted vector; see
    `numpy.searchsorted`."""
    return np.searchsorted(a, v, side, sorter)


add_method("searchsorted", _searchsorted_method)


@implements(np.digitize)
def digitize(x: Array, bins: Array, right: Any = False) -> Any:
    """The number of the bin of each value: i with bins[i-1] <= x < bins[i], or with the right edge
    included.

    Bins may increase or decrease; that traced ones do is not checked. Raises ValueError for known
    bins that do neither, and TypeError for complex numbers.
    """
    values, edges = as_array(x), as_array(bins)
    if values.dtype.kind == "c":
        raise located(TypeError, "x may not be complex")
    if edges.dtype.kind == "c":
        raise located(TypeError, "bins may not be complex")
    if not isinstance(edges, Tracer):
        steps = np.diff(edges) if edges.ndim == 1 else np.zeros(1)
        if not (np.all(steps >= 0) or np.all(steps <= 0)):
            raise located(ValueError, "bins must be monotonically increasing or decreasing")
    if edges.ndim != 1:
        raise located(ValueError, "object of too small depth for desired array")
    side = "left" if right else "right"
    if edges.shape[0] == 0:
        return fill(0, values.shape, INT64)
    rising = searchsorted(edges, values, side)
    if not isinstance(edges, Tracer) and edges[0] <= edges[-1]:
        return rising
    backwards = edges[::-1] if not isinstance(edges, Tracer) else reverse(edges, 0)
    falling = edges.shape[0] - searchsorted(backwards, values, side)
    if not isinstance(edges, Tracer):
        return falling
    first, last = (take_or_zeros(e, 0) for e in (edges, backwards))
    return np.where(sorts_before(last, first), falling, rising)


# --------------------------------------------------------------------------------- interpolation


@implements(np.interp)
def interp(
    x: Array, xp: Array, fp: Array, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """The piecewise linear interpolant of the points (xp, fp), evaluated at x: float64, or
    complex128 for complex fp.

    xp must increase, which is not checked. Beyond the ends the result is `left` and `right`, by
    default the first and last fp; `period` makes the function periodic. Raises ValueError for no
    points and for unequal lengths.
    """
    dtype = COMPLEX128 if as_array(fp).dtype.kind == "c" else FLOAT64
    for complex_ in (v.dtype for v in map(as_array, (x, xp)) if v.dtype.kind == "c"):
        raise located(
            TypeError,
            f"Cannot cast array data from {complex_!r} to {FLOAT64!r} according to the rule 'safe'",
        )
    where, points = convert(as_array(x), FLOAT64), convert(as_array(xp), FLOAT64)
    heights = convert(as_array(fp), dtype)
    _check_interp(as_array(xp), as_array(fp), period)
    if period is not None:
        where, points, heights = _periodic(where, points, heights, np.abs(period))
        left = right = None
    first, last = heights[0], heights[-1]
    below = first if left is None else convert(as_array(left), dtype)
    above = last if right is None else convert(as_array(right), dtype)
    if points.shape[0] == 1:
        return np.where(where < points[0], below, np.where(where > points[0], above, first))
    inside = _interpolate(where, points, heights)
    result = np.where(where < points[0], below, np.where(where > points[-1], above, inside))
    is_lost = np.isnan(where)
    if _may_be_one(points.shape[0]):  # of a single point NumPy does not ask
        is_lost = is_lost & (_size(points.shape[0]) > 1)
    return np.where(is_lost, convert(where, dtype), result)


def _check_interp(xp: Any, fp: Any, period: Any) -> None:
    if period is not None:
        if np.ndim(period) == 0 and not isinstance(period, Tracer) and period == 0:
            raise located(ValueError, "period must be a non-zero value")
        if xp.ndim != 1 or fp.ndim != 1:
            raise located(ValueError, "Data points must be 1-D sequences")
        if xp.shape[0] != fp.shape[0]:
            raise located(ValueError, "fp and xp are not of the same length.")
    if xp.ndim != 1 or fp.ndim != 1:
        raise located(ValueError, "object too deep for desired array")
    empty = "array of sample points is empty"
    if xp.shape[0] == 0:
        raise located(ValueError, empty)
    require(1, xp.shape[0], "an interpolation", empty)
    if xp.shape != fp.shape:
        raise located(ValueError, "fp and xp are not of the same length.")


def _periodic(x: Any, points: Any, heights: Any, period: Any) -> tuple[Any, Any, Any]:
    """The points of one period in ascending order, with a neighbour at each end."""
    x, points = x % period, points % period
    order = argsort_along(0, points)
    points, heights = take(points, order), take(heights, order)
    points = np.concatenate((points[-1:] - period, points, points[0:1] + period))
    return x, points, np.concatenate((heights[-1:], heights, heights[0:1]))


def _interpolate(x: Any, points: Any, heights: Any) -> Any:
    """On the line through the two points around x; at the last point its height. A runtime size may
    be one point, which is then both."""
    last = points.shape[0] - 1
    left = np.maximum(np.minimum(count_before(points, x, inclusive=True) - 1, last - 1), 0)
    right = np.minimum(left + 1, last) if _may_be_one(points.shape[0]) else left + 1
    ends = take(points, left), take(points, right)
    start, end = take(heights, left), take(heights, right)
    if heights.dtype.kind != "c":
        return _on_line(x, ends, start, end)
    parts = [_on_line(x, ends, part(start), part(end)) for part in (np.real, np.imag)]
    return bind(primitives.make_complex, *parts)


def _on_line(x: Any, ends: tuple[Any, Any], start: Any, end: Any) -> Any:
    """Computed from the left point; where that gives NaN, as it does beside infinities, from the
    right one, and between two equal heights these. At a point it is its height, with the slope of
    the line."""
    low, high = ends
    is_step = low == high
    slope = np.where(is_step, 0.0, (end - start) / np.where(is_step, 1.0, high - low))
    from_start = slope * (x - low) + start
    from_end = slope * (x - high) + end
    other = np.where(np.isnan(from_end) & (start == end), start, from_end)
    line = np.where(np.isnan(from_start) | (x == high), other, from_start)
    height = np.where(x == high, end, start)
    is_lost = ~np.isfinite(line) | ((height == 0) & np.signbit(height))
    return np.where(((x == low) | (x == high)) & is_lost, height, line)
