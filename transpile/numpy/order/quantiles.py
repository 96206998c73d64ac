"""Order statistics: median, quantile, percentile, and those that ignore NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Shape
from transpile.ir.indices.lengths import index_error
from transpile.ir.indices.requirements import may_be_0, require
from transpile.ir.indices.row_major import product
from transpile.ir.types import FLOAT64, INT64, kind_letter
from transpile.numpy.core.promotion import (
    NOTHING,
    Array,
    as_array,
    axes_of,
    broadcast_in_dim,
    concatenate_along,
    convert,
    error,
    fill,
    implements,
    is_empty,
    refuse,
    reshape_to,
    slice_axis,
    transpose_to,
)
from transpile.numpy.core.reductions import is_given
from transpile.numpy.core.runtime_sizes import dimension_value
from transpile.numpy.order.sorting import argsort_along, sort_along
from transpile.primitives.indexing import CLIP, gather
from transpile.primitives.sorting import along_axis
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer

# ------------------------------------------------------------------------------------------ rows


class _Rows:
    """An array as rows: the axes to reduce over are one, the last."""

    def __init__(self, a: Array, axis: Any) -> None:
        self.whole = as_array(a)
        self.axes = axes_of(axis, self.whole.ndim)
        self.rest = tuple(k for k in range(self.whole.ndim) if k not in self.axes)
        self.x = self.of(self.whole)
        self.count: Any = self.x.shape[-1]

    def of(self, value: Any) -> Any:
        """An array of the same shape in the same form."""
        shape = value.shape
        ordered = transpose_to(value, (*self.rest, *sorted(self.axes)))
        length = product(shape[a] for a in self.axes)
        return reshape_to(ordered, (*(shape[a] for a in self.rest), length))

    @property
    def is_floating(self) -> bool:
        """Whether there may be a NaN."""
        return bool(kind_letter(self.x.dtype) in "fc")

    def finished(self, result: Any, keepdims: Any) -> Any:
        """A result whose last axes are those of the rows, with axes of size 1 if they are kept."""
        if not is_given(keepdims) or not keepdims:
            return result
        lead: Shape = result.shape[: result.ndim - len(self.rest)]
        kept = tuple(1 if k in self.axes else d for k, d in enumerate(self.whole.shape))
        axes = [*range(len(lead)), *(len(lead) + k for k in self.rest)]
        return broadcast_in_dim(result, (*lead, *kept), axes)


def _last(x: Any) -> Any:
    """The last element of each row: of sorted ones the NaN, if there is one."""
    n = x.shape[-1]
    return reshape_to(slice_axis(x, x.ndim - 1, n - 1, n), x.shape[:-1])


def _readable(x: Any) -> Any:
    """Rows, with a NaN behind their elements where there may be none, so that there is one to
    read."""
    if not may_be_0(x.shape[-1]):
        return x
    x = x if kind_letter(x.dtype) in "fc" else convert(x, FLOAT64)
    return concatenate_along([x, fill(np.nan, (*x.shape[:-1], 1), x.dtype)], x.ndim - 1)


def _counts(x: Any) -> Any:
    """How many elements of each row are no NaN."""
    return np.sum(~np.isnan(x), axis=-1)


def _at(x: Any, positions: Any, is_by_row: bool) -> Any:
    """The elements of rows at positions (q...), or at each row's own ones (q..., rows...); the
    result is (q..., rows...)."""
    positions = convert(as_array(positions), INT64)
    if not is_by_row:
        return bind(gather, x, positions, axes=(x.ndim - 1,), mode=CLIP)
    ndim = x.ndim - 1  # the positions' own axes go last, and are one there
    lead, shape = positions.shape[: positions.ndim - ndim], tuple(x.shape[:-1])
    rank = len(lead)
    last = transpose_to(positions, (*range(rank, rank + ndim), *range(rank)))
    taken = along_axis(x, reshape_to(last, (*shape, product(lead))), ndim)
    taken = reshape_to(taken, (*shape, *lead))
    return transpose_to(taken, (*range(ndim, ndim + rank), *range(ndim)))


# ---------------------------------------------------------------------------------------- median

_LONG_ROW = 512  # shorter ones of many are sorted as fast


@implements(np.median)
def median(
    a: Array,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: Any = False,
) -> Any:
    """The median along axes, in float64 for integers: of an even number of elements the mean of the
    two in the middle.

    By a sort. NaN where an element is NaN, and for no elements; without NumPy's warnings.
    """
    refuse("median", out=out)
    rows = _Rows(a, axis)
    half = rows.count // 2
    ordered = sort_along(rows.x, rows.x.ndim - 1)
    if rows.count == 0 or is_empty(rows.x.shape):
        return rows.finished(np.mean(rows.x, axis=-1), keepdims)
    if may_be_0(rows.count):
        return rows.finished(_median_or_nan(ordered, rows.count), keepdims)
    middle = slice_axis(ordered, ordered.ndim - 1, half - 1 + rows.count % 2, half + 1)
    result = np.mean(middle, axis=-1)
    if rows.is_floating:
        last = _last(ordered)
        result = np.where(np.isnan(last), last, result)
    return rows.finished(result, keepdims)


def _median_or_nan(ordered: Any, count: Any) -> Any:
    """The medians of sorted rows that may have no elements."""
    n = dimension_value(count)
    places = np.stack([np.maximum((n - 1) // 2, 0), n // 2, np.maximum(n - 1, 0)])
    low, high, last = _at(_readable(ordered), places, False)
    result = np.where(n % 2 == 1, low, np.mean(np.stack((low, high)), axis=0))
    return np.where(np.isnan(last), last, result)


@implements(np.nanmedian)
def nanmedian(
    a: Array,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: Any = NOTHING,
) -> Any:
    """The median along axes of the elements that are not NaN; NaN where none is left."""
    refuse("nanmedian", out=out)
    rows = _Rows(a, axis)
    if is_empty(rows.whole.shape):
        return np.nanmean(rows.whole, axis, keepdims=keepdims)
    if not rows.is_floating:
        return median(a, axis, keepdims=keepdims)
    counts = _counts(rows.x)
    if isinstance(rows.count, int) and (rows.count > _LONG_ROW or rows.x.ndim == 1):
        low, high = _middle_of_filled(rows.x)
    else:
        ordered = _readable(sort_along(rows.x, rows.x.ndim - 1))
        last = rows.count - (not may_be_0(rows.count))  # what is read behind no elements is a NaN
        middle = [np.maximum((counts - 1) // 2, 0), np.minimum(counts // 2, last)]
        low, high = (_at(ordered, p, True) for p in middle)
    only = low + 0  # a mean of one is a sum, which starts at 0.0
    result = np.where(counts % 2 == 1, only, np.mean(np.stack((low, high)), axis=0))
    nothing = np.nan if may_be_0(rows.count) else _last(rows.x)
    return rows.finished(np.where(counts == 0, nothing, result), keepdims)


def _middle_of_filled(x: Any) -> tuple[Any, Any]:
    """The elements in the middle of those of each row that are no NaN.

    Every other NaN counts as the largest number, the rest as the smallest. That moves the middle by
    one at most, so that the ranks are known, and no row has to be sorted as a whole.
    """
    n, axis = x.shape[-1], x.ndim - 1
    is_missing = np.isnan(x)
    is_odd = np.logical_xor.accumulate(is_missing, axis=axis)
    largest = x.dtype.type(complex(np.inf, np.inf) if kind_letter(x.dtype) == "c" else np.inf)
    filled = np.where(is_missing, np.where(is_odd, largest, -largest), x)
    ordered = sort_along(filled, axis)
    ranks = max(n // 2 - 1, 0), (n - 1) // 2, n // 2
    below, first, second = (
        reshape_to(slice_axis(ordered, axis, k, k + 1), x.shape[:-1]) for k in ranks
    )
    has_odd = _last(is_odd)
    return np.where(has_odd, below, first), np.where(has_odd, first, second)


# ------------------------------------------------------------------------------------- quantiles

_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
_ROUNDED: dict[str, Any] = {"lower": np.floor, "higher": np.ceil, "nearest": np.around}
_DISCRETE = ("inverted_cdf", "closest_observation")
_METHODS = {"averaged_inverted_cdf", "midpoint", "linear", *_CONTINUOUS, *_ROUNDED, *_DISCRETE}


def _virtual_index(n: Any, q: Any, method: str) -> Any:
    """Where the quantile stands among n sorted elements, a whole number or between two: R. Hyndman
    and Y. Fan, "Sample quantiles in statistical packages", 1996."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    if method in _ROUNDED:
        return convert(_ROUNDED[method]((n - 1) * q), INT64)
    if method == "midpoint":
        return 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    if method == "averaged_inverted_cdf":
        return (n * q) - 1
    if method in _DISCRETE:
        index = n * q - 1 if method == "inverted_cdf" else (n * q) - 1 - 0.5
        below = np.floor(index)
        stays = index - below == 0
        if method == "closest_observation":
            stays = stays & (np.floor(index) % 2 == 1)
        return np.maximum(convert(np.where(stays, below, below + 1), INT64), 0)
    return (n - 1) * q


def _weight(index: Any, below: Any, method: str) -> Any:
    """The weight of the upper one of two neighbours."""
    gamma = index - below
    if method == "averaged_inverted_cdf":
        gamma = np.where(gamma == 0, 0.5, 1.0)
    elif method == "midpoint":
        gamma = np.where(index % 1 == 0, 0.0, 0.5)
    return convert(as_array(gamma), index.dtype)


def _between(a: Any, b: Any, t: Any) -> Any:
    """Linear interpolation from a to b at t, computed from the nearer end."""
    step = b - a
    return np.where(t >= 0.5, b - step * (1 - t), a + step * t)


def _of_sorted(rows: _Rows, x: Any, n: Any, q: Any, method: str, is_weak: bool) -> Any:
    """The quantiles (q..., rows...) of sorted rows, of which the first n elements count."""
    is_by_row = not isinstance(n, int | Dim)
    n = dimension_value(n) if isinstance(n, Dim) else n
    ndim = x.ndim - 1
    if is_by_row:
        q = reshape_to(q, (*q.shape, *(1 for _ in range(ndim))))
        n = convert(n, q.dtype) if q.dtype.kind == "f" else n
    index = as_array(_virtual_index(n, q, method))
    if (
        method in _DISCRETE
        or method in _ROUNDED
        or (method == "linear" and index.dtype.kind == "i")
    ):
        return _at(x, index, is_by_row)
    below = np.floor(index)
    above = below + 1
    is_end, is_start = index >= n - 1, index < 0
    last = n - 1
    low = np.where(is_end, last, np.where(is_start, 0, below))
    high = np.where(is_end, last, np.where(is_start, 0, above))
    # NumPy writes the last position as -1, and that is what the weight is computed with.
    gamma = _weight(index, np.where(is_end, -1, np.where(is_start, 0, below)), method)
    if not is_by_row:
        gamma = reshape_to(gamma, (*gamma.shape, *(1 for _ in range(ndim))))
    if is_weak:
        gamma = convert(gamma, x.dtype if kind_letter(x.dtype) == "f" else FLOAT64)
    return _between(_at(x, low, is_by_row), _at(x, high, is_by_row), gamma)


def _check_quantiles(rows: _Rows, q: Any, method: str, percent: bool) -> None:
    if rows.x.dtype.kind == "c":
        raise error(TypeError, "a must be an array of real numbers")
    if not isinstance(q, Tracer) and not (np.all(q >= 0) and np.all(q <= 1)):
        names = "Percentiles must be in the range [0, 100]"
        raise error(ValueError, names if percent else "Quantiles must be in the range [0, 1]")
    if method not in _METHODS:
        raise error(ValueError, f"{method!r} is not a valid method.")
    if q.ndim > 2:
        raise error(ValueError, "q must be a scalar or 1d")


def _weights_of(rows: _Rows, weights: Any, axis: Any, method: str) -> Any:
    """Weights as rows, one for each element."""
    if method != "inverted_cdf":
        text = f"Only method 'inverted_cdf' supports weights. Got: {method}."
        raise error(ValueError, text)
    w, shape = as_array(weights), rows.whole.shape
    if w.shape != shape:
        if axis is None:
            text = "Axis must be specified when shapes of a and weights differ."
            raise error(TypeError, text)
        if w.shape != tuple(shape[k] for k in rows.axes):
            raise error(
                ValueError,
                "Shape of weights must be consistent with shape of a along specified axis.",
            )
        order = sorted(range(len(rows.axes)), key=rows.axes.__getitem__)
        w = broadcast_in_dim(transpose_to(w, order), shape, sorted(rows.axes))
    if not isinstance(w, Tracer) and np.any(w < 0):
        raise error(ValueError, "Weights must be non-negative.")
    return rows.of(w)


def _weighted(rows: _Rows, q: Any, weights: Any, leave_out: bool) -> Any:
    """The quantiles (q..., rows...) where the weights, added up, reach each q."""
    axis = rows.x.ndim - 1
    order = argsort_along(axis, rows.x)
    x, w = along_axis(rows.x, order, axis), along_axis(weights, order, axis)
    w = convert(w, FLOAT64)
    last = rows.count - 1
    if leave_out:
        w = np.where(np.isnan(x), 0.0, w)
        last = np.maximum(_counts(x) - 1, 0)
    total = np.cumsum(w, axis=-1)
    share = total / _last(total)[..., None]
    if q.dtype.kind == "f":
        share = convert(share, q.dtype)
    share = np.where(share == 0, -1, share)
    wanted = reshape_to(q, (*q.shape, *(1 for _ in range(axis + 1))))
    position = np.minimum(np.sum(share < wanted, axis=-1), last)
    result = _at(x, position, True)
    if rows.is_floating:
        end = _last(x)
        if leave_out:
            return np.where(_counts(x) == 0, np.nan, result)
        result = np.where(np.isnan(end), end, result)
    return result


def _quantile(
    a: Array, q: Any, axis: Any, method: str, keepdims: Any, weights: Any, percent: bool, skip: bool
) -> Any:
    """Of the elements, or (`skip`) of those that are no NaN."""
    is_weak = type(q) in (int, float)
    rows = _Rows(a, axis)
    q = as_array(q)
    q = np.true_divide(q, 100) if percent else q
    q = q if isinstance(q, Tracer) else np.asarray(q)
    _check_quantiles(rows, q, method, percent)
    skip = skip and rows.is_floating
    if weights is not None:
        w = _weights_of(rows, weights, axis, method)
    if rows.count == 0:
        raise error(IndexError, "a quantile of no elements")
    if weights is not None:
        return rows.finished(_weighted(rows, q, w, skip), keepdims)
    ordered = sort_along(rows.x, rows.x.ndim - 1)
    if not skip:
        words = index_error("a quantile of no elements")
        require(1, rows.count, f"a quantile of {rows.count} elements", words)
    if skip:
        counts, ordered = _counts(ordered), _readable(ordered)
        result = _of_sorted(rows, ordered, np.maximum(counts, 1), q, method, is_weak)
        return rows.finished(np.where(counts == 0, np.nan, result), keepdims)
    result = _of_sorted(rows, ordered, rows.count, q, method, is_weak)
    if rows.is_floating:
        last = _last(ordered)
        result = np.where(np.isnan(last), last, result)
    return rows.finished(result, keepdims)


@implements(np.quantile)
def quantile(
    a: Array,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """The q-quantiles along axes, one for each element of q, along new axes in front; by a sort.

    All methods of NumPy; nine are the types of R. Hyndman and Y. Fan, Sample Quantiles in
    Statistical Packages, 1996, of which "linear" is type 7. Weights need the method "inverted_cdf".
    NaN where an element is NaN. Raises ValueError for a known q outside [0, 1], which a traced one
    is not checked for, and for an unknown method; TypeError for complex numbers; IndexError for no
    elements.
    """
    refuse("quantile", out=out)
    return _quantile(a, q, axis, method, keepdims, weights, percent=False, skip=False)


@implements(np.percentile)
def percentile(
    a: Array,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """The q-th percentiles along axes; as `quantile` with q / 100."""
    refuse("percentile", out=out)
    return _quantile(a, q, axis, method, keepdims, weights, percent=True, skip=False)


@implements(np.nanquantile)
def nanquantile(
    a: Array,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NOTHING,
    *,
    weights: Any = None,
) -> Any:
    """The q-quantiles along axes of the elements that are not NaN; NaN where none is left;
    otherwise as `quantile`."""
    refuse("nanquantile", out=out)
    if is_empty(as_array(a).shape):
        return np.nanmean(a, axis, keepdims=keepdims)
    return _quantile(a, q, axis, method, keepdims, weights, percent=False, skip=True)


@implements(np.nanpercentile)
def nanpercentile(
    a: Array,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NOTHING,
    *,
    weights: Any = None,
) -> Any:
    """The q-th percentiles along axes of the elements that are not NaN; as `nanquantile` with q /
    100."""
    refuse("nanpercentile", out=out)
    if is_empty(as_array(a).shape):
        return np.nanmean(a, axis, keepdims=keepdims)
    return _quantile(a, q, axis, method, keepdims, weights, percent=True, skip=True)
