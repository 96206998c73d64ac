"""Discrete distributions.

Masses, moments and entropies: N. Johnson, A. Kemp, S. Kotz, Univariate Discrete Distributions,
2005.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy.calls.families.row import Row
from transpile.scipy.special.elementary import entr, xlog1py, xlogy
from transpile.scipy.special.gammas import betainc, betaln, gammainc, gammaincc, gammaln, zeta

__all__ = ["COUNTS"]


def _is_chance(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


def _is_whole(n: Any) -> Any:
    return np.equal(n, np.round(n))


def _log_ways(n: Any, k: Any) -> Any:
    """log of the number of choices of k things among n."""
    return -np.log(n + 1) - betaln(n - k + 1, k + 1)


BERNOULLI = Row(
    is_discrete=True,
    shapes=("p",),
    support=(0.0, 1.0),
    valid=_is_chance,
    logpdf=lambda k, p: np.log(np.where(k > 0, p, 1 - p)),
    cdf=lambda k, p: np.where(k >= 1, 1, 1 - p),
    sf=lambda k, p: np.where(k >= 1, 0, p),
    mean=lambda p: p,
    var=lambda p: p * (1 - p),
    skewness=lambda p: (1 - 2 * p) / np.sqrt(p * (1 - p)),
    kurtosis=lambda p: (1 - 6 * p * (1 - p)) / (p * (1 - p)),
    entropy=lambda p: entr(p) + entr(1 - p),
)

BINOM = Row(
    is_discrete=True,
    shapes=("n", "p"),
    support=(0.0, lambda n, p: n + 0 * p),
    valid=lambda n, p: (n >= 0) & _is_whole(n) & _is_chance(p),
    logpdf=lambda k, n, p: _log_ways(n, k) + xlogy(k, p) + xlog1py(n - k, -p),
    cdf=lambda k, n, p: betainc(_or_one(n - k), k + 1, 1 - p),
    sf=lambda k, n, p: betainc(k + 1, _or_one(n - k), p),
    mean=lambda n, p: n * p,
    var=lambda n, p: n * p * (1 - p),
    skewness=lambda n, p: (1 - 2 * p) / np.sqrt(n * p * (1 - p)),
    kurtosis=lambda n, p: (1 - 6 * p * (1 - p)) / (n * p * (1 - p)),
)


def _or_one(n: Any) -> Any:
    return np.where(n > 0, n, 1)


POISSON = Row(
    is_discrete=True,
    shapes=("mu",),
    valid=lambda mu: mu >= 0,
    logpdf=lambda k, mu: xlogy(k, mu) - mu - gammaln(k + 1),
    cdf=lambda k, mu: np.where(np.equal(mu, 0), 1, gammaincc(k + 1, mu)),
    sf=lambda k, mu: gammainc(k + 1, mu),
    mean=lambda mu: mu,
    var=lambda mu: mu,
    skewness=lambda mu: 1 / np.sqrt(mu),
    kurtosis=lambda mu: 1 / mu,
)

GEOM = Row(
    is_discrete=True,
    shapes=("p",),
    support=(1.0, np.inf),
    valid=lambda p: (p > 0) & (p <= 1),
    logpdf=lambda k, p: xlog1py(k - 1, -p) + np.log(p),
    logsf=lambda k, p: k * np.log1p(-p),
    mean=lambda p: 1 / p,
    var=lambda p: (1 - p) / np.square(p),
    skewness=lambda p: (2 - p) / np.sqrt(1 - p),
    kurtosis=lambda p: (p * p - 6 * p + 6) / (1 - p),
    entropy=lambda p: (entr(p) + entr(1 - p)) / p,
)

NBINOM = Row(
    is_discrete=True,
    shapes=("n", "p"),
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    logpdf=lambda k, n, p: -betaln(n, k + 1) - np.log(n + k) + xlogy(n, p) + xlog1py(k, -p),
    cdf=lambda k, n, p: betainc(n, k + 1, p),
    sf=lambda k, n, p: betainc(k + 1, n, 1 - p),
    mean=lambda n, p: n * (1 - p) / p,
    var=lambda n, p: n * (1 - p) / np.square(p),
    skewness=lambda n, p: (2 - p) / np.sqrt(n * (1 - p)),
    kurtosis=lambda n, p: 6 / n + np.square(p) / (n * (1 - p)),
)

BETABINOM = Row(
    is_discrete=True,
    shapes=("n", "a", "b"),
    support=(0.0, lambda n, a, b: n + 0 * (a + b)),
    valid=lambda n, a, b: (n >= 0) & _is_whole(n) & (a > 0) & (b > 0),
    logpdf=lambda k, n, a, b: _log_ways(n, k) + betaln(k + a, n - k + b) - betaln(a, b),
    mean=lambda n, a, b: n * a / (a + b),
    var=lambda n, a, b: n * a * b * (a + b + n) / (np.square(a + b) * (a + b + 1)),
)

HYPERGEOM = Row(
    is_discrete=True,
    shapes=("M", "n", "N"),
    support=(
        lambda total, good, drawn: np.maximum(drawn - (total - good), 0),
        lambda total, good, drawn: np.minimum(good, drawn) + 0 * total,
    ),
    valid=lambda total, good, drawn: (
        (total >= 0)
        & (good >= 0)
        & (drawn >= 0)
        & (good <= total)
        & (drawn <= total)
        & _is_whole(total)
        & _is_whole(good)
        & _is_whole(drawn)
    ),
    logpdf=lambda k, total, good, drawn: (
        _log_ways(good, k) + _log_ways(total - good, drawn - k) - _log_ways(total, drawn)
    ),
    mean=lambda total, good, drawn: drawn * good / total,
    var=lambda total, good, drawn: (
        drawn * good * (total - good) * (total - drawn) / (np.square(total) * (total - 1))
    ),
)

ZIPF = Row(
    is_discrete=True,
    shapes=("a",),
    support=(1.0, np.inf),
    valid=lambda a: a > 1,
    logpdf=lambda k, a: -a * np.log(k) - np.log(zeta(a, 1)),
    cdf=lambda k, a: 1 - zeta(a, k + 1) / zeta(a, 1),
    sf=lambda k, a: zeta(a, k + 1) / zeta(a, 1),
    mean=lambda a: np.where(a > 2, zeta(np.maximum(a, 2.0) - 1, 1) / zeta(a, 1), np.inf),
)

LOGSER = Row(
    is_discrete=True,
    shapes=("p",),
    support=(1.0, np.inf),
    valid=lambda p: (p > 0) & (p < 1),
    logpdf=lambda k, p: xlogy(k, p) - np.log(k) - np.log(-np.log1p(-p)),
    mean=lambda p: p / ((p - 1) * np.log1p(-p)),
)

RANDINT = Row(
    is_discrete=True,
    shapes=("low", "high"),
    support=(lambda low, high: low + 0 * high, lambda low, high: high - 1 + 0 * low),
    valid=lambda low, high: (high > low) & _is_whole(low) & _is_whole(high),
    logpdf=lambda k, low, high: -np.log(high - low) + 0 * k,
    cdf=lambda k, low, high: (k - low + 1) / (high - low),
    sf=lambda k, low, high: (high - 1 - k) / (high - low),
    mean=lambda low, high: (low + high - 1) / 2,
    var=lambda low, high: (np.square(high - low) - 1) / 12,
    skewness=0.0,
    entropy=lambda low, high: np.log(high - low),
)

PLANCK = Row(
    is_discrete=True,
    shapes=("lambda_",),
    logpdf=lambda k, rate: np.log(-np.expm1(-rate)) - rate * k,
    logsf=lambda k, rate: -rate * (k + 1),
    mean=lambda rate: 1 / np.expm1(rate),
    var=lambda rate: np.exp(-rate) / np.square(np.expm1(-rate)),
    skewness=lambda rate: 2 * np.cosh(rate / 2),
    kurtosis=lambda rate: 4 + 2 * np.cosh(rate),
)

COUNTS = {
    "bernoulli": BERNOULLI,
    "betabinom": BETABINOM,
    "binom": BINOM,
    "geom": GEOM,
    "hypergeom": HYPERGEOM,
    "logser": LOGSER,
    "nbinom": NBINOM,
    "planck": PLANCK,
    "poisson": POISSON,
    "randint": RANDINT,
    "zipf": ZIPF,
}
