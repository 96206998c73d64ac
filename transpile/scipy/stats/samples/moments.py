"""Moments, means and spreads of samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.types import INT64
from transpile.nn.operands import public
from transpile.numpy.core.promotion import convert
from transpile.numpy.core.promotion import error as located
from transpile.scipy import special
from transpile.scipy.special.operands import Array
from transpile.scipy.stats.samples.axes import Axis, kept, rows_of
from transpile.trace.lengths import measured

__all__ = [
    "describe",
    "entropy",
    "gmean",
    "gstd",
    "gzscore",
    "hmean",
    "iqr",
    "kurtosis",
    "median_abs_deviation",
    "moment",
    "pmean",
    "skew",
    "trim_mean",
    "variation",
    "zmap",
    "zscore",
]

# The third quartile of the normal distribution: what makes a spread a standard deviation.
_QUARTILE = 0.6744897501960817


def _central(x: Any, order: int) -> Any:
    """The central moment of rows."""
    return np.mean((x - np.mean(x, axis=-1, keepdims=True)) ** order, axis=-1)


def _standardised(x: Any, order: int) -> tuple[Any, Any]:
    """A central moment over the power of the variance, NaN where that is rounding alone; and the
    number of elements."""
    mean, square = np.mean(x, axis=-1), _central(x, 2)
    is_constant = square <= (np.finfo(x.dtype).eps * mean) ** 2
    power = np.where(is_constant, np.nan, square) ** (order / 2)
    return (_central(x, order) / power).astype(x.dtype), x.shape[-1]


@public
def moment(
    a: Array,
    order: int = 1,
    axis: Axis = 0,
    nan_policy: str = "propagate",
    *,
    center: Array | None = None,
    keepdims: bool = False,
) -> Any:
    """The moment of an order (an int) about the mean or about `center`, along an axis."""
    x = rows_of("moment", a, axis, nan_policy)
    middle = np.mean(x, axis=-1, keepdims=True) if center is None else center
    return kept(np.mean((x - middle) ** order, axis=-1), a, axis, keepdims)


def _of_more(least: int, n: Index, corrected: Any, result: Any) -> Any:
    """What is corrected for samples of more elements than that, of which others are left as they
    are."""
    if not isinstance(n, Dim):
        return corrected
    return np.where(np.greater(n.as_value(), least), corrected, result).astype(result.dtype)


@public
def skew(
    a: Array,
    axis: Axis = 0,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The skewness m3 / m2^1.5 of central moments, corrected for the size of the sample unless
    `bias`; NaN of equal elements."""
    x = rows_of("skew", a, axis, nan_policy)
    result, n = _standardised(x, 3)
    if not bias and (isinstance(n, Dim) or n > 2):
        corrected = result * (np.sqrt(n * (n - 1.0)) / (n - 2.0)).astype(x.dtype)
        result = _of_more(2, n, corrected, result)
    return kept(result, a, axis, keepdims)


@public
def kurtosis(
    a: Array,
    axis: Axis = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The kurtosis m4 / m2^2 of central moments, less 3 if `fisher`, corrected for the size of the
    sample unless `bias`; NaN of equal elements."""
    x = rows_of("kurtosis", a, axis, nan_policy)
    result, n = _standardised(x, 4)
    if not bias and (isinstance(n, Dim) or n > 3):
        corrected = ((n * n - 1.0) * result - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0)) + 3
        result = _of_more(3, n, corrected, result)
    return kept(result - 3 if fisher else result, a, axis, keepdims)


@public
def variation(
    a: Array,
    axis: Axis = 0,
    nan_policy: str = "propagate",
    ddof: int = 0,
    *,
    keepdims: bool = False,
) -> Any:
    """The coefficient of variation: the standard deviation over the mean."""
    x = rows_of("variation", a, axis, nan_policy)
    return kept(np.std(x, axis=-1, ddof=ddof) / np.mean(x, axis=-1), a, axis, keepdims)


@public
def zscore(a: Array, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """The elements less their mean, over their standard deviation, along an axis: `zmap` of a
    sample to itself. NaN where the elements are equal but for rounding."""
    mean, size = _mean_and_size(rows_of("zscore", a, axis, nan_policy), axis, ddof)
    least = np.abs(mean) * np.finfo(size.dtype).eps
    return (a - mean) / np.where(size <= least, np.nan, size).astype(size.dtype)


@public
def zmap(
    scores: Array,
    compare: Array,
    axis: Axis = 0,
    ddof: int = 0,
    nan_policy: str = "propagate",
) -> Any:
    """The scores less the mean of a sample, over its standard deviation."""
    mean, size = _mean_and_size(rows_of("zmap", compare, axis, nan_policy), axis, ddof)
    return (scores - mean) / size


def _mean_and_size(rows: Any, axis: Axis, ddof: int) -> tuple[Any, Any]:
    """The mean and the standard deviation of a sample, whose axes stay with length 1."""
    mean, size = np.mean(rows, axis=-1), np.std(rows, axis=-1, ddof=ddof)
    if axis is None:
        return mean, size
    return np.expand_dims(mean, axis), np.expand_dims(size, axis)


@public
def gzscore(a: Array, *, axis: Axis = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """The `zscore` of the logarithms."""
    return zscore(np.log(a), axis, ddof, nan_policy)


@public
def gstd(
    a: Array,
    axis: Axis = 0,
    ddof: int = 1,
    *,
    keepdims: bool = False,
    nan_policy: str = "propagate",
) -> Any:
    """The geometric standard deviation, exp of that of the logarithms."""
    x = rows_of("gstd", a, axis, nan_policy)
    return kept(np.exp(np.std(np.log(x), axis=-1, ddof=ddof)), a, axis, keepdims)


def _mean(x: Any, weights: Array | None, axis: Axis) -> Any:
    if weights is None:
        return np.mean(x, axis=-1)
    w = rows_of("mean", weights, axis if np.ndim(weights) > 1 else 0)
    return np.sum(x * w, axis=-1) / np.sum(w, axis=-1)


@public
def gmean(
    a: Array,
    axis: Axis = 0,
    dtype: Any = None,
    weights: Array | None = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The geometric mean, exp of the mean of the logarithms, with weights or without."""
    x = rows_of("gmean", a if dtype is None else np.astype(a, dtype), axis, nan_policy)
    return kept(np.exp(_mean(np.log(x), weights, axis)), a, axis, keepdims)


@public
def hmean(
    a: Array,
    axis: Axis = 0,
    dtype: Any = None,
    *,
    weights: Array | None = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The harmonic mean, with weights or without: NaN where an element is negative."""
    x = rows_of("hmean", a if dtype is None else np.astype(a, dtype), axis, nan_policy)
    positive = np.where(x < 0, np.nan, x).astype(x.dtype)
    return kept(1 / _mean(1 / positive, weights, axis), a, axis, keepdims)


@public
def pmean(
    a: Array,
    p: float,
    *,
    axis: Axis = 0,
    dtype: Any = None,
    weights: Array | None = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The mean of p-th powers, as its p-th root; the geometric mean for p = 0, a known number. NaN
    where an element is negative."""
    if p == 0:
        return gmean(a, axis, dtype, weights, nan_policy=nan_policy, keepdims=keepdims)
    x = rows_of("pmean", a if dtype is None else np.astype(a, dtype), axis, nan_policy)
    positive = np.where(x < 0, np.nan, x).astype(x.dtype)
    return kept(_mean(positive**p, weights, axis) ** (1 / p), a, axis, keepdims)


@public
def entropy(
    pk: Array,
    qk: Array | None = None,
    base: float | None = None,
    axis: Axis = 0,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The entropy of a distribution, which is made to sum to 1, or with `qk` its relative entropy
    to that one; in units of log(base)."""
    p = rows_of("entropy", pk, axis, nan_policy)
    p = p / np.sum(p, axis=-1, keepdims=True)
    if qk is None:
        terms = special.entr(p)
    else:
        q = rows_of("entropy", qk, axis, nan_policy)
        terms = special.rel_entr(p, q / np.sum(q, axis=-1, keepdims=True))
    result = np.sum(terms, axis=-1)
    return kept(result if base is None else result / np.log(base), pk, axis, keepdims)


@public
def iqr(
    x: Array,
    axis: Axis = None,
    rng: tuple[float, float] = (25, 75),
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    interpolation: Any = "linear",
    keepdims: bool = False,
) -> Any:
    """The distance of two percentiles, the quartiles by default, over `scale`: "normal" makes it
    the standard deviation of a normal distribution."""
    rows = rows_of("iqr", x, axis, nan_policy)
    if len(rng) != 2:
        raise located(TypeError, "`rng` must be a two element sequence.")
    if not 0 <= min(rng) <= max(rng) <= 100:
        raise located(ValueError, "Elements of `rng` must be in the range [0, 100].")
    ends = np.array([min(rng) / 100, max(rng) / 100], rows.dtype)
    low, high = np.quantile(rows, ends, axis=-1, method=interpolation)
    spread = high - low
    unit = 2 * _QUARTILE if isinstance(scale, str) and scale.lower() == "normal" else scale
    return kept(spread if unit == 1.0 else spread / unit, x, axis, keepdims)


@public
def median_abs_deviation(
    x: Array,
    axis: Axis = 0,
    center: Callable[..., Any] | None = None,
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The median of the distances from the median, or from center(x, axis=-1), over `scale`, of
    which "normal" is that of `iqr`."""
    rows = rows_of("median_abs_deviation", x, axis, nan_policy)
    middle = (center or np.median)(rows, axis=-1)
    spread = np.median(np.abs(rows - np.expand_dims(middle, -1)), axis=-1)
    unit = _QUARTILE if isinstance(scale, str) and scale.lower() == "normal" else scale
    return kept(spread / unit, x, axis, keepdims)


@public
def trim_mean(
    a: Array,
    proportiontocut: float,
    axis: Axis = 0,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The mean without a share, a known number, of the least and of the greatest elements."""
    x = rows_of("trim_mean", a, axis, nan_policy)
    size, cut = x.shape[-1], _part(proportiontocut, x.shape[-1])
    return kept(np.mean(np.sort(x, axis=-1)[..., cut : size - cut], axis=-1), a, axis, keepdims)


def _part(share: float, size: Index) -> Index:
    """A share of a size, rounded down."""
    if not isinstance(size, Dim):
        return int(share * size)
    return measured(convert(np.trunc(share * size.as_value()), INT64), size)


class DescribeResult(NamedTuple):
    """Statistics of a sample along an axis: `minmax` is a pair of the least and the greatest."""

    nobs: Any
    minmax: tuple[Any, Any]
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


@public
def describe(
    a: Array,
    axis: Axis = 0,
    ddof: int = 1,
    bias: bool = True,
    nan_policy: str = "propagate",
) -> DescribeResult:
    """The number of elements, extremes, mean, variance, skewness and kurtosis along an axis."""
    x = rows_of("describe", a, axis, nan_policy)
    return DescribeResult(
        x.shape[-1],
        (np.min(a, axis=axis), np.max(a, axis=axis)),
        np.mean(x, axis=-1),
        np.var(x, axis=-1, ddof=ddof),
        skew(a, axis, bias),
        kurtosis(a, axis, True, bias),
    )
