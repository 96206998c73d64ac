"""Tests of hypotheses, correlations and the straight line through points: a statistic, and how
probable one as far out is.

Student's t and the correlation coefficient have their tails by the regularised incomplete beta
function (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1 and 26.5.3). NaNs reach
the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from transpile.functional.custom.marks import stop_gradient
from transpile.ir.dims import Dim
from transpile.ir.indices.requirements import require
from transpile.nn.operands import public
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import unsupported
from transpile.scipy import special
from transpile.scipy.special.operands import Array
from transpile.scipy.stats.order_statistics import rankdata
from transpile.scipy.stats.samples.axes import Axis, kept, rows_of
from transpile.scipy.stats.samples.moments import kurtosis, skew

__all__ = [
    "chisquare",
    "f_oneway",
    "jarque_bera",
    "linregress",
    "pearsonr",
    "spearmanr",
    "ttest_1samp",
    "ttest_ind",
    "ttest_rel",
]

_TINY = 1.0e-20


class TestResult(NamedTuple):
    """A statistic and its p-value."""

    statistic: Any
    pvalue: Any


class LinregressResult(NamedTuple):
    """The line y = slope x + intercept, the correlation, the p-value of a slope of 0, and the
    standard error of the slope."""

    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


def _probability(statistic: Any, tail: Callable[[Any], Any], alternative: str) -> Any:
    """The p-value of a statistic with a symmetric distribution, of which `tail` is that of both
    sides beyond |t|."""
    outside = tail(np.abs(statistic))
    if alternative == "two-sided":
        return outside
    if alternative == "greater":
        is_beyond = statistic > 0
    elif alternative == "less":
        is_beyond = statistic < 0
    else:
        raise located(ValueError, "`alternative` must be 'less', 'greater', or 'two-sided'.")
    return np.where(is_beyond, outside / 2, 1 - outside / 2)


def _student(degrees: Any) -> Callable[[Any], Any]:
    """Both tails of Student's t distribution."""
    return lambda t: special.betainc(degrees / 2, 0.5, degrees / (degrees + np.square(t)))


def _mean_and_variance(x: Any) -> tuple[Any, Any]:
    return np.mean(x, axis=-1), np.var(x, axis=-1, ddof=1)


def _result(t: Any, degrees: Any, alternative: str, a: Array, axis: Any, keep: bool) -> TestResult:
    p = _probability(t, _student(degrees), alternative)
    return TestResult(*(kept(value, a, axis, keep) for value in (t, p)))


@public
def ttest_1samp(
    a: Array,
    popmean: Array,
    axis: Axis = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    *,
    keepdims: bool = False,
) -> TestResult:
    """Student's t test that the mean of a sample is `popmean`."""
    x = rows_of("ttest_1samp", a, axis, nan_policy)
    mean, variance = _mean_and_variance(x)
    n = x.shape[-1]
    t = (mean - popmean) / np.sqrt(variance / n)
    return _result(t, n - 1.0, alternative, a, axis, keepdims)


@public
def ttest_rel(
    a: Array,
    b: Array,
    axis: Axis = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    *,
    keepdims: bool = False,
) -> TestResult:
    """Student's t test that the means of two samples of pairs are equal."""
    x = rows_of("ttest_rel", a, axis, nan_policy) - rows_of("ttest_rel", b, axis)
    mean, variance = _mean_and_variance(x)
    n = x.shape[-1]
    return _result(mean / np.sqrt(variance / n), n - 1.0, alternative, a, axis, keepdims)


@public
def ttest_ind(
    a: Array,
    b: Array,
    *,
    axis: Axis = 0,
    equal_var: bool = True,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    keepdims: bool = False,
) -> TestResult:
    """Student's t test that the means of two samples are equal; Welch's where their variances may
    differ."""
    x, y = rows_of("ttest_ind", a, axis, nan_policy), rows_of("ttest_ind", b, axis)
    (mean, variance), (other, spread) = _mean_and_variance(x), _mean_and_variance(y)
    n, k = x.shape[-1], y.shape[-1]
    if equal_var:
        degrees: Any = n + k - 2.0
        pooled = ((n - 1) * variance + (k - 1) * spread) / degrees
        size = np.sqrt(pooled * (1.0 / n + 1.0 / k))
    else:
        first, second = variance / n, spread / k
        size = np.sqrt(first + second)
        degrees = (first + second) ** 2 / (first**2 / (n - 1) + second**2 / (k - 1))
    return _result((mean - other) / size, degrees, alternative, a, axis, keepdims)


def _deviations(x: Any) -> Any:
    return x - np.mean(x, axis=-1, keepdims=True)


def _direction(x: Any) -> Any:
    """The deviations, of length 1; NaN where all elements are equal. Their squares neither overflow
    nor vanish: they are divided by the largest one, on which the result does not depend."""
    u = _deviations(x)
    u = u / stop_gradient(np.max(np.abs(u), axis=-1, keepdims=True))
    length = np.sqrt(np.sum(u * u, axis=-1, keepdims=True))
    is_constant = np.max(x, axis=-1, keepdims=True) == np.min(x, axis=-1, keepdims=True)
    return u / np.where(is_constant, np.nan, length)


def _correlation(x: Any, y: Any) -> Any:
    return np.clip(np.sum(_direction(x) * _direction(y), axis=-1), -1, 1)


@public
def pearsonr(x: Array, y: Array, *, alternative: str = "two-sided", axis: Axis = 0) -> TestResult:
    """Pearson's coefficient of correlation, and its p-value for normal, uncorrelated samples."""
    rank = max(np.ndim(x), np.ndim(y))
    pair = [np.reshape(z, (1,) * (rank - np.ndim(z)) + np.shape(z)) for z in (x, y)]
    u, v = (rows_of("pearsonr", z, axis) for z in pair)
    n = u.shape[-1]
    if n != v.shape[-1]:
        raise located(ValueError, "`x` and `y` must have the same length along `axis`.")
    if not isinstance(n, Dim) and n < 2:
        raise located(ValueError, "`x` and `y` must have length at least 2.")
    r = _correlation(u, v)
    if n == 2:
        return TestResult(np.round(r), r * 0 + 1)
    half = n / 2 - 1
    p = _probability(r, lambda s: 2 * special.betainc(half, half, (1 - s) / 2), alternative)
    if isinstance(n, Dim):
        is_pair = np.equal(n.as_value(), 2)
        return TestResult(np.where(is_pair, np.round(r), r), np.where(is_pair, r * 0 + 1, p))
    return TestResult(r, p)


@public
def spearmanr(
    a: Array,
    b: Array | None = None,
    axis: Axis = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
) -> TestResult:
    """Spearman's coefficient of correlation, Pearson's of ranks, of two samples (n,).

    UnsupportedError for matrices of more samples.
    """
    if b is None or np.ndim(a) != 1 or np.ndim(b) != 1:
        raise unsupported("scipy.stats.spearmanr of other than two vectors")
    x, y = rows_of("spearmanr", a, axis, nan_policy), rows_of("spearmanr", b, axis)
    r, degrees = _correlation(rankdata(x), rankdata(y)), x.shape[-1] - 2.0
    t = r * np.sqrt(np.maximum(degrees / ((r + 1.0) * (1.0 - r)), 0))
    return TestResult(r, _probability(t, _student(degrees), alternative))


@public
def linregress(
    x: Array, y: Array, alternative: str = "two-sided", *, axis: Axis = 0
) -> LinregressResult:
    """The straight line of least squares through points, at least three, along an axis."""
    u, v = rows_of("linregress", x, axis), rows_of("linregress", y, axis)
    n = u.shape[-1]
    if isinstance(n, Dim):
        require(3, n, "a straight line with its errors")
    elif n < 3:
        raise unsupported("scipy.stats.linregress of fewer than three traced points")
    du, dv = _deviations(u), _deviations(v)
    xx, yy, xy = (np.mean(p, axis=-1) for p in (du * du, dv * dv, du * dv))
    undefined = np.where(xy == 0, np.nan, 0)
    r = np.clip(np.where((xx == 0) | (yy == 0), undefined, xy / np.sqrt(xx * yy)), -1, 1)
    slope = xy / xx
    t = r * np.sqrt((n - 2) / ((1.0 - r + _TINY) * (1.0 + r + _TINY)))
    return LinregressResult(
        slope,
        np.mean(v, axis=-1) - slope * np.mean(u, axis=-1),
        r,
        _probability(t, _student(n - 2.0), alternative),
        np.sqrt((1 - r**2) * yy / xx / (n - 2)),
    )


@public
def f_oneway(*samples: Array, axis: Axis = 0, nan_policy: str = "propagate") -> TestResult:
    """The analysis of variance of at least two samples: whether their means are equal."""
    rows = [rows_of("f_oneway", s, axis, nan_policy) for s in samples]
    if len(rows) < 2:
        raise located(TypeError, "at least two inputs are required; got 1.")
    whole = np.concatenate(rows, axis=-1)
    total, groups = whole.shape[-1], len(rows)
    mean = np.mean(whole, axis=-1)
    between = sum(r.shape[-1] * (np.mean(r, axis=-1) - mean) ** 2 for r in rows)
    within = sum(np.sum(_deviations(r) ** 2, axis=-1) for r in rows)
    between_degrees, degrees = groups - 1.0, 1.0 * (total - groups)
    f = (between / between_degrees) / (within / degrees)
    share = degrees / (degrees + between_degrees * f)
    return TestResult(f, special.betainc(degrees / 2, between_degrees / 2, share))


@public
def chisquare(
    f_obs: Array, f_exp: Array | None = None, ddof: int = 0, axis: Axis = 0
) -> TestResult:
    """The chi-squared test that counts have the frequencies `f_exp`, equal ones by default. That
    both have the same sum is not checked."""
    counts = rows_of("chisquare", f_obs, axis)
    mean = np.mean(counts, axis=-1, keepdims=True)
    expected = mean if f_exp is None else rows_of("chisquare", f_exp, axis)
    statistic = np.sum((counts - expected) ** 2 / expected, axis=-1)
    degrees = counts.shape[-1] - 1.0 - ddof
    return TestResult(statistic, special.gammaincc(degrees / 2, statistic / 2))


@public
def jarque_bera(x: Array, *, axis: Axis = None) -> TestResult:
    """The Jarque-Bera test that a sample is normal, by its skewness and kurtosis."""
    n = rows_of("jarque_bera", x, axis).shape[-1]
    statistic = n / 6 * (skew(x, axis) ** 2 + kurtosis(x, axis) ** 2 / 4)
    return TestResult(statistic, np.exp(-statistic / 2))
