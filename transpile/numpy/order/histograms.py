"""Counts and histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.indices.requirements import may_be_0, require
from transpile.ir.indices.row_major import product
from transpile.ir.types import COMPLEX128, FLOAT32, FLOAT64, INT64
from transpile.numpy.core.creation import linspace
from transpile.numpy.core.extensions import accepts_more
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    as_operand,
    convert,
    fill,
    has_tracer,
    implements,
    reshape_to,
    result_dtype,
    slice_axis,
    unsupported,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import dimension_value, exact, extent_of
from transpile.numpy.core.scans import added_at
from transpile.numpy.core.ufuncs import call
from transpile.numpy.order.searching import searchsorted, take, take_or_zeros
from transpile.numpy.subscripts.bounds import fail_outside
from transpile.primitives.indexing import CLIP, PROMISED
from transpile.trace.lengths import measured, none_of
from transpile.trace.tracer import Tracer

# Three roundings of single precision are less than a sixtieth of a bin, of so many.
_MOST_SINGLE_BINS = 1 << 16


@accepts_more("length")
@implements(np.bincount)
def bincount(x: Array, /, weights: Any = None, minlength: Any = 0, *, length: Any = None) -> Any:
    """The number of occurrences of each value 0, 1, ... in a vector of integers, as int64; or the
    sum of its weights, as float64.

    `length` is the number of bins: larger values are ignored, negative ones count as 0, as in JAX.
    A `minlength` above 0 is the number of bins of traced values. Without both the program finds how
    many there are. Raises ValueError for negative values then, and for those that need more bins
    than `minlength`, which NumPy would make; TypeError for weights that float64 does not hold.
    """
    numbers = as_array(x)
    minlength = extent_of(exact(minlength))
    if numbers.ndim != 1 or numbers.dtype.kind not in "biu" or minlength < 0:
        raise located(ValueError, "bincount takes one axis of whole numbers")
    if weights is not None and as_array(weights).shape != numbers.shape:
        raise located(ValueError, "The weights and list don't have the same length.")
    if numbers.size and weights is not None and not np.can_cast(as_array(weights).dtype, FLOAT64):
        raise located(TypeError, "bincount takes weights that float64 holds")
    if length is not None:
        length = extent_of(length)
    elif not isinstance(numbers, Tracer):
        length = _bins(numbers, minlength)
    elif minlength:
        length = minlength
        _check_bins(convert(numbers, INT64), length)
    else:
        length = _bins_of_values(convert(numbers, INT64))
    bins = np.maximum(convert(numbers, INT64), 0)
    dtype = INT64 if weights is None or numbers.size == 0 else FLOAT64
    return added_at(bins, None if weights is None else as_array(weights), length, dtype)


def _bins(numbers: Any, minlength: int) -> int:
    """How many bins there are for known values."""
    if numbers.size and numbers.min() < 0:
        raise located(ValueError, "'list' argument must have no negative elements")
    return max(minlength, int(numbers.max()) + 1 if numbers.size else 0)


def _check_bins(numbers: Any, length: Any) -> None:
    """End the program where values have no bin."""
    if 0 in numbers.shape:
        return
    count = as_operand(length) if isinstance(length, Dim) else np.int64(length)
    known = "{}" if isinstance(length, Dim) else length
    text = (
        f"bincount has no bin for {{}} with a minlength of {known}, where NumPy's result is "
        "longer: without a minlength the program finds the length; length= ignores larger values"
    )
    outside = np.logical_or(numbers < 0, numbers >= count)
    fail_outside(numbers, outside, ValueError, text, *[count] * isinstance(length, Dim))


_TOO_MANY = 1 << 62


def _bins_of_values(numbers: Any) -> Any:
    """How many bins there are for values that the program finds."""
    greatest = np.minimum(np.max(numbers, initial=-1), _TOO_MANY)  # one more is a number, too
    bins = measured(greatest + 1)
    none_of(call(np.less, numbers, 0), "'list' argument must have no negative elements")
    return bins


# ----------------------------------------------------------------------------------------- edges


def _flat(a: Array, weights: Any) -> tuple[Any, Any]:
    x = as_array(a)
    if x.dtype.kind == "b":
        x = convert(x, np.dtype("uint8"))
    if weights is not None:
        weights = as_array(weights)
        if weights.shape != x.shape:
            raise located(ValueError, "weights should have the same shape as a.")
        weights = reshape_to(weights, (product(x.shape),))
    return reshape_to(x, (product(x.shape),)), weights


def _outer_edges(x: Any, range: Any) -> tuple[Any, Any]:
    """The first and the last edge, which have to be finite: the program tests traced ones."""
    if range is not None:
        first, last = range
    elif x.size == 0:
        first, last = 0, 1
    elif may_be_0(x.size):
        first, last = _ends_or_unit(x)
    else:
        first, last = np.min(x), np.max(x)
    if has_tracer((first, last)):
        first, last = as_array(first), as_array(last)
        if first.dtype.kind in "iu" or last.dtype.kind in "iu":
            first, last = convert(first, FLOAT64), convert(last, FLOAT64)
        _check_range(first, last, "autodetected" if range is None else "supplied")
        is_point = first == last
        return np.where(is_point, first - 0.5, first), np.where(is_point, last + 0.5, last)
    if range is not None and first > last:
        raise located(ValueError, "max must be larger than min in range parameter.")
    if not (np.isfinite(first) and np.isfinite(last)):
        origin = "supplied" if range is not None else "autodetected"
        raise located(ValueError, f"{origin} range of [{first}, {last}] is not finite")
    return (first - 0.5, last + 0.5) if first == last else (first, last)


def _ends_or_unit(x: Any) -> tuple[Any, Any]:
    """The least and the greatest element; 0 and 1 where the array turns out to have none."""
    is_there = call(np.greater, dimension_value(x.size), 0)
    other = take_or_zeros(x, 0)
    ends = np.min(x, initial=other), np.max(x, initial=other)
    return tuple(np.where(is_there, end, fill(unit, (), x.dtype)) for unit, end in enumerate(ends))


def _check_range(first: Any, last: Any, origin: str) -> None:
    """End the program where no bins lie between two traced edges."""
    text = "max must be larger than min in range parameter."
    fail_outside(first, call(np.greater, first, last), ValueError, text)
    are_finite = call(np.logical_and, call(np.isfinite, first), call(np.isfinite, last))
    text = f"{origin} range of [{{}}, {{}}] is not finite"
    fail_outside(first, call(np.logical_not, are_finite), ValueError, text, last)


def _check_edges(edges: Any, falls: Any, text: str) -> None:
    """Raise ValueError, in a trace or in the program, where an edge falls behind the one before."""
    if isinstance(edges, Tracer):
        fail_outside(edges[1:], falls, ValueError, text)
    elif falls.any():
        raise located(ValueError, text)


def _bin_edges(x: Any, bins: Any, range: Any, weights: Any) -> tuple[Any, Any]:
    """The edges, and where the bins are equally wide the first and last one and the number."""
    if isinstance(bins, str):
        if weights is not None:
            raise located(
                TypeError,
                "Automated estimation of the number of bins is not supported for weighted data",
            )
        if isinstance(x, Tracer) or has_tracer(range):
            raise unsupported(
                f"numpy.histogram with bins={bins!r} chooses the number of bins by the values of "
                "a traced array; give the number or the edges"
            )
        bins = len(np.histogram_bin_edges(x, bins, range)) - 1
    if np.ndim(bins) == 1:
        edges = as_array(bins)
        require(1, edges.shape[0], "a histogram", "`bins` has no edges")
        falls = edges[:-1] > edges[1:]
        _check_edges(edges, falls, "`bins` must increase monotonically, when an array")
        return edges, None
    if np.ndim(bins) > 1:
        raise located(ValueError, "`bins` must be 1d, when an array")
    count = extent_of(bins)
    if count < 1:
        raise located(ValueError, "`bins` must be positive, when an integer")
    first, last = _outer_edges(x, range)
    if has_tracer((first, last)):
        dtype = np.result_type(as_array(first).dtype, as_array(last).dtype, x.dtype)
    else:
        dtype = np.result_type(first, last, x.dtype)
    dtype = np.result_type(dtype, float) if dtype.kind in "iu" else dtype
    spaced = linspace if isinstance(count, Dim) else np.linspace
    edges = spaced(first, last, count + 1, endpoint=True, dtype=dtype)
    text = f"Too many bins for data range. Cannot create {count} finite-sized bins."
    _check_edges(edges, edges[:-1] >= edges[1:], text)
    return edges, (first, last, count)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Array, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins that `histogram` uses with the same arguments."""
    x, weights = _flat(a, weights)
    return _bin_edges(x, bins, range, weights)[0]


# ------------------------------------------------------------------------------------ histograms


def _equal_bins(x: Any, edges: Any, first: Any, last: Any, count: Any) -> Any:
    """The bin of each element by its distance from the first edge, put right where rounding took
    it over an edge; `count` where it is in none."""
    edge = _edge_of(edges, first, last, count)
    inside = (x >= first) & (x <= last)
    values = convert(x, edges.dtype)
    is_small = isinstance(count, int) and count < np.iinfo(np.int32).max
    numbers = np.dtype(np.int32) if is_small else INT64
    bin = convert(_distance(values, edges, first, last, count), numbers)
    bin = np.minimum(bin, count - 1)
    bin = bin - convert(values < edge(bin), numbers)
    is_next = (values >= edge(bin + 1)) & (bin != count - 1)
    return np.where(inside, np.maximum(bin + convert(is_next, numbers), 0), count)


def _distance(values: Any, edges: Any, first: Any, last: Any, count: Any) -> Any:
    """How far the values lie from the first edge, in bins, to less than a bin.

    NumPy divides in double precision. Where the edges are known floats of single precision, far
    enough from each other, a multiplication in single precision is off by less than a tenth of a
    bin, and what is put right afterwards is the same.
    """
    width = np.subtract(last, first)
    if not isinstance(edges, Tracer) and edges.dtype == FLOAT32 and count <= _MOST_SINGLE_BINS:
        scale = count / float(width)
        apart = np.diff(edges.astype(FLOAT64)).min()
        is_far = apart >= 8 * np.spacing(np.abs(edges).max())
        if is_far and 2.0**-60 < scale < 2.0**60:
            return (values - first) * np.float32(scale)
    return (values - first) / width * count


def _edge_of(edges: Any, first: Any, last: Any, count: Any) -> Callable[[Any], Any]:
    """The function from numbers of edges to edges: the arithmetic that made them, where it gives
    the same bits, in the narrowest floats that do, as reading them takes longer."""

    def arithmetic(dtype: Any) -> Callable[[Any], Any]:
        step = dtype.type(np.subtract(last, first, dtype=FLOAT64) / count)
        start = dtype.type(first)
        return lambda k: convert(convert(k, dtype) * step + start, edges.dtype)

    if not isinstance(edges, Tracer) and edges.dtype in (FLOAT32, FLOAT64):
        for dtype in (FLOAT32, FLOAT64):
            if np.array_equal(arithmetic(dtype)(np.arange(count + 1)), edges):
                return arithmetic(dtype)
    return lambda k: take(edges, k, CLIP)


def _between_edges(x: Any, edges: Any) -> Any:
    """The bin of each element; the last one includes its right edge. Elements outside get a number
    beyond the last bin."""
    count = edges.shape[0] - 1
    bin = searchsorted(edges, x, "right") - 1
    bin = np.where(x == edges[-1], count - 1, bin)
    return np.where((bin < 0) | np.isnan(x), count, bin)


def _accumulator(weights: Any) -> Any:
    if weights is None:
        return INT64
    return COMPLEX128 if weights.dtype.kind == "c" else FLOAT64


@implements(np.histogram)
def histogram(
    a: Array, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """The number of elements in each bin, and the edges of the bins; the last bin includes its
    right edge.

    Bins are a number of equally wide ones over `range`, by default from the least to the largest
    element, or edges in ascending order. Counts are int64,
    weighted ones of the weights' dtype, and densities float64. Raises UnsupportedError for a rule
    such as "auto" on traced values, and ValueError for edges out of order, no bins and a range that
    is not finite; of traced ones the program raises it.
    """
    x, weights = _flat(a, weights)
    edges, uniform = _bin_edges(x, bins, range, weights)
    count = edges.shape[0] - 1
    if isinstance(count, int) and count < 0:
        raise located(ValueError, "`bins` has no edges")
    if x.size == 0 or count == 0:
        numbers = fill(count, x.shape, INT64)
    elif uniform is None:
        dtype = result_dtype(*(fill(0, (), v.dtype) for v in (x, edges)))
        numbers = _between_edges(convert(x, dtype), convert(edges, dtype))
    else:
        numbers = _equal_bins(x, edges, *uniform)
    # Those in no bin are counted too, in one more at the end.
    totals = added_at(numbers, weights, count + 1, _accumulator(weights), PROMISED)
    totals = slice_axis(totals, 0, 0, count)
    if weights is not None:
        totals = convert(totals, weights.dtype)
    if density:
        return totals / convert(np.diff(edges), FLOAT64) / np.sum(totals), edges
    return totals, edges


def _columns(sample: Any) -> list[Any]:
    """The coordinates of the points: columns of an (N, D) array, or a sequence of D arrays."""
    if hasattr(sample, "shape") and len(sample.shape) == 2:
        array = as_array(sample)
        return [array[:, k] for k in range(array.shape[1])]
    if hasattr(sample, "shape"):
        return [as_array(sample)] if len(sample.shape) == 1 else _mismatched()
    columns = [as_array(column) for column in sample]
    dtype = result_dtype(*(fill(0, (), column.dtype) for column in columns))
    return [convert(column, dtype) for column in columns]


def _mismatched() -> Any:
    raise located(ValueError, "the sample of a histogram is an (N, D) array or D arrays")


def _edges_of(column: Any, bins: Any, range: Any, number: int) -> Any:
    if np.ndim(bins) == 1:
        edges = as_array(bins)
        text = f"`bins[{number}]` must be monotonically increasing, when an array"
        _check_edges(edges, edges[:-1] > edges[1:], text)
        return edges
    if np.ndim(bins) > 1:
        raise located(ValueError, f"`bins[{number}]` must be a scalar or 1d array")
    if not isinstance(bins, Tracer) and bins < 1:
        raise located(ValueError, f"`bins[{number}]` must be positive, when an integer")
    first, last = _outer_edges(column, range)
    count = extent_of(bins)
    return (linspace if isinstance(count, Dim) else np.linspace)(first, last, count + 1)


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """The number of points in each cell of a grid over D coordinates, as float64, and the edges
    along each of them.

    `sample` is an (N, D) array or D vectors. Otherwise as `histogram`, without rules for the number
    of bins.
    """
    columns = _columns(sample)
    rank = len(columns)
    if any(c.ndim != 1 or c.shape != columns[0].shape for c in columns):
        raise located(ValueError, "the columns of a histogram's sample have one length")
    each = [bins] * rank if _length(bins) is None else list(bins)
    if len(each) != rank:
        raise located(
            ValueError,
            "The dimension of bins must be equal to the dimension of the sample x.",
        )
    ranges = [None] * rank if range is None else list(range)
    if len(ranges) != rank:
        raise located(ValueError, "range argument must have one entry per dimension")
    edges = [_edges_of(*v) for v in zip(columns, each, ranges, _naturals(rank), strict=True)]
    counts = [e.shape[0] - 1 for e in edges]
    total: Any = product(counts)
    cell: Any = 0
    outside: Any = False
    for column, edge, count in zip(columns, edges, counts, strict=True):
        dtype = result_dtype(*(fill(0, (), v.dtype) for v in (column, edge)))
        own = _between_edges(convert(column, dtype), convert(edge, dtype))
        cell, outside = cell * count + own, outside | (own >= count)
    values = None if weights is None else as_array(weights)
    totals = added_at(np.where(outside, total, cell), values, total, _accumulator(values))
    totals = reshape_to(convert(totals, FLOAT64), tuple(counts))
    if density:
        scale = np.sum(totals)
        for axis, edge in enumerate(edges):
            widths = reshape_to(
                np.diff(edge), [counts[axis] if k == axis else 1 for k in _naturals(rank)]
            )
            totals = totals / widths
        totals = totals / scale
    return totals, edges


def _length(bins: Any) -> int | None:
    """The length of a sequence or array; None for a number."""
    if isinstance(bins, Sequence):
        return len(bins)
    shape = np.shape(bins)
    return int(shape[0]) if shape else None


def _naturals(count: int) -> list[int]:
    """The numbers 0 ... count - 1 (`range` is an argument here)."""
    return list(map(int, np.arange(count)))


@implements(np.histogram2d)
def histogram2d(
    x: Array,
    y: Array,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    """The number of points (x, y) in each cell of a grid, as float64, and the edges along both; as
    `histogramdd`."""
    columns = [as_array(x), as_array(y)]
    if columns[0].shape[:1] != columns[1].shape[:1]:
        raise located(ValueError, "x and y must have the same length.")
    if _length(bins) not in (None, 1, 2):
        bins = [as_array(bins)] * 2
    totals, edges = histogramdd(columns, bins, range, density, weights)
    return totals, edges[0], edges[1]
