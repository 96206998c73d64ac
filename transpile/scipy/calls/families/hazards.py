"""Continuous distributions whose tail, or distribution function, is exp of an elementary function
that has an inverse.

Densities, moments and entropies: N. Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate
Distributions, 1994 and 1995.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.nn import log1mexp
from transpile.scipy.calls.families.row import Row, central, mirrored, vanishing
from transpile.scipy.special.elementary import xlogy
from transpile.scipy.special.gammas import beta, gamma

__all__ = ["HAZARDS"]

_GAMMA = 0.57721566490153286061  # Euler's constant
_ZETA3 = 1.20205690315959428540


def _above(limit: float, shape: Any, value: Any) -> Any:
    """A moment that is infinite up to a limit of the shape."""
    return np.where(shape > limit, value, np.inf)


WEIBULL = Row(
    shapes=("c",),
    logpdf=lambda y, c: np.log(c) + xlogy(c - 1, y) - y**c,
    logsf=lambda y, c: -(y**c),
    ilogsf=lambda h, c: (-h) ** (1 / c),
    entropy=lambda c: 1 + _GAMMA * (1 - 1 / c) - np.log(c),
    **central(lambda k, c: gamma(1 + k / c)),
)

EXPONWEIB = Row(
    shapes=("a", "c"),
    logpdf=lambda y, a, c: (
        np.log(a) + np.log(c) + xlogy(a - 1, -np.expm1(-(y**c))) - y**c + xlogy(c - 1, y)
    ),
    logcdf=lambda y, a, c: a * log1mexp(y**c),
    ilogcdf=lambda h, a, c: (-log1mexp(-h / a)) ** (1 / c),
)

RAYLEIGH = Row(
    logpdf=lambda y: np.log(y) - np.square(y) / 2,
    logsf=lambda y: -np.square(y) / 2,
    ilogsf=lambda h: np.sqrt(-2 * h),
    mean=math.sqrt(math.pi / 2),
    var=2 - math.pi / 2,
    skewness=2 * math.sqrt(math.pi) * (math.pi - 3) / (4 - math.pi) ** 1.5,
    kurtosis=-(6 * math.pi**2 - 24 * math.pi + 16) / (4 - math.pi) ** 2,
    entropy=1 - math.log(2) / 2 + _GAMMA / 2,
)

EXPON = Row(
    logpdf=lambda y: -y,
    logsf=lambda y: -y,
    ilogsf=lambda h: -h,
    mean=1.0,
    var=1.0,
    skewness=2.0,
    kurtosis=6.0,
    entropy=1.0,
)

PARETO = Row(
    shapes=("b",),
    support=(1.0, np.inf),
    logpdf=lambda y, b: np.log(b) - (b + 1) * np.log(y),
    logsf=lambda y, b: -b * np.log(y),
    ilogsf=lambda h, b: np.exp(-h / b),
    mean=lambda b: _above(1, b, b / (b - 1)),
    var=lambda b: _above(2, b, b / (np.square(b - 1) * (b - 2))),
    entropy=lambda b: 1 + 1 / b - np.log(b),
)

LOMAX = Row(
    shapes=("c",),
    logpdf=lambda y, c: np.log(c) - (c + 1) * np.log1p(y),
    logsf=lambda y, c: -c * np.log1p(y),
    ilogsf=lambda h, c: np.expm1(-h / c),
    mean=lambda c: _above(1, c, 1 / (c - 1)),
    var=lambda c: _above(2, c, c / (np.square(c - 1) * (c - 2))),
    entropy=lambda c: 1 + 1 / c - np.log(c),
)


def _or_one(c: Any) -> Any:
    return np.where(np.equal(c, 0), 1, c)


def _box(y: Any, c: Any) -> Any:
    """log(1 + c y) / c, y for c = 0."""
    return np.where(np.equal(c, 0), y, np.log1p(c * y) / _or_one(c))


def _unbox(h: Any, c: Any) -> Any:
    """The inverse of `_box`."""
    return np.where(np.equal(c, 0), h, np.expm1(c * h) / _or_one(c))


def _end(c: Any) -> Any:
    """Where 1 + c y is 0."""
    return -1 / _or_one(c)


GENPARETO = Row(
    shapes=("c",),
    support=(0.0, lambda c: np.where(c < 0, _end(c), np.inf)),
    valid=np.isfinite,
    logpdf=lambda y, c: np.where(np.equal(c, -1), 0, -(c + 1) * _box(y, c)),
    logsf=lambda y, c: -_box(y, c),
    ilogsf=lambda h, c: _unbox(-h, c),
    mean=lambda c: np.where(c < 1, 1 / (1 - c), np.inf),
    var=lambda c: np.where(
        c < 0.5, 1 / (np.square(1 - c) * (1 - 2 * c)), np.where(c < 1, np.inf, np.nan)
    ),
    entropy=lambda c: 1 + c,
)


def _gumbel_logpdf(t: Any, weight: Any) -> Any:
    """-weight t - exp(-t), whose second term is the greater one towards -inf."""
    far = np.equal(t, -np.inf)
    t = np.where(far, 0, t)
    return np.where(far, -np.inf, -weight * t - np.exp(-t))


GUMBEL_R = Row(
    support=(-np.inf, np.inf),
    logpdf=lambda y: -y - np.exp(-y),
    logcdf=lambda y: -np.exp(-y),
    ilogcdf=lambda h: -np.log(-h),
    mean=_GAMMA,
    var=math.pi**2 / 6,
    skewness=12 * math.sqrt(6) * _ZETA3 / math.pi**3,
    kurtosis=12 / 5,
    entropy=_GAMMA + 1,
)

GENEXTREME = Row(
    shapes=("c",),
    support=(
        lambda c: np.where(c < 0, -_end(c), -np.inf),
        lambda c: np.where(c > 0, -_end(c), np.inf),
    ),
    valid=np.isfinite,
    logpdf=lambda y, c: _gumbel_logpdf(_box(y, -c), 1 - c),
    logcdf=lambda y, c: -np.exp(-_box(y, -c)),
    ilogcdf=lambda h, c: _unbox(-np.log(-h), -c),
    mean=lambda c: np.where(
        np.equal(c, 0), _GAMMA, np.where(c > -1, (1 - gamma(1 + c)) / _or_one(c), np.inf)
    ),
    entropy=lambda c: _GAMMA * (1 - c) + 1,
)

INVWEIBULL = Row(
    shapes=("c",),
    logpdf=vanishing(lambda y, c: np.log(c) - (c + 1) * np.log(y) - y ** (-c)),
    logcdf=lambda y, c: -(y ** (-c)),
    ilogcdf=lambda h, c: (-h) ** (-1 / c),
    mean=lambda c: _above(1, c, gamma(1 - 1 / c)),
    var=lambda c: _above(2, c, gamma(1 - 2 / c) - np.square(gamma(1 - 1 / c))),
    entropy=lambda c: 1 + _GAMMA + _GAMMA / c - np.log(c),
)


def _angle(k: int, c: Any) -> Any:
    """The k-th moment of the log-logistic distribution."""
    return (k * math.pi / c) / np.sin(k * math.pi / c)


FISK = Row(
    shapes=("c",),
    logpdf=lambda y, c: np.log(c) + xlogy(c - 1, y) - 2 * np.log1p(y**c),
    logsf=lambda y, c: -np.log1p(y**c),
    ilogsf=lambda h, c: np.expm1(-h) ** (1 / c),
    mean=lambda c: np.where(c > 1, _angle(1, c), np.nan),
    var=lambda c: np.where(c > 2, _angle(2, c) - np.square(_angle(1, c)), np.nan),
    entropy=lambda c: 2 - np.log(c),
)

BURR12 = Row(
    shapes=("c", "d"),
    logpdf=lambda y, c, d: np.log(c) + np.log(d) + xlogy(c - 1, y) - (d + 1) * np.log1p(y**c),
    logsf=lambda y, c, d: -d * np.log1p(y**c),
    ilogsf=lambda h, c, d: np.expm1(-h / d) ** (1 / c),
    mean=lambda c, d: np.where(c * d > 1, d * beta(d - 1 / c, 1 + 1 / c), np.nan),
)

BURR = Row(
    shapes=("c", "d"),
    logpdf=lambda y, c, d: np.log(c) + np.log(d) + xlogy(c * d - 1, y) - (d + 1) * np.log1p(y**c),
    logcdf=lambda y, c, d: -d * np.log1p(y ** (-c)),
    ilogcdf=lambda h, c, d: np.expm1(-h / d) ** (-1 / c),
)

GOMPERTZ = Row(
    shapes=("c",),
    logpdf=lambda y, c: np.log(c) + y - c * np.expm1(y),
    logsf=lambda y, c: -c * np.expm1(y),
    ilogsf=lambda h, c: np.log1p(-h / c),
)

EXPONPOW = Row(
    shapes=("b",),
    logpdf=lambda y, b: np.log(b) + xlogy(b - 1, y) + y**b - np.expm1(y**b),
    logsf=lambda y, b: -np.expm1(y**b),
    ilogsf=lambda h, b: np.log1p(-h) ** (1 / b),
)

HALFLOGISTIC = Row(
    logpdf=lambda y: math.log(2) - y - 2 * np.log1p(np.exp(-y)),
    cdf=lambda y: np.tanh(y / 2),
    sf=lambda y: 2 * np.exp(-y) / (1 + np.exp(-y)),
    ppf=lambda q: 2 * np.arctanh(q),
    isf=lambda q: np.log(2 - q) - np.log(q),
    mean=math.log(4),
    var=math.pi**2 / 3 - math.log(4) ** 2,
    entropy=2 - math.log(2),
)

POWERLAW = Row(
    shapes=("a",),
    support=(0.0, 1.0),
    # At 0 SciPy has 0 where the density is infinite.
    logpdf=lambda y, a: np.where(np.equal(y, 0) & (a < 1), -np.inf, np.log(a) + xlogy(a - 1, y)),
    logcdf=lambda y, a: a * np.log(y),
    ilogcdf=lambda h, a: np.exp(h / a),
    mean=lambda a: a / (a + 1),
    var=lambda a: a / ((a + 2) * np.square(a + 1)),
    skewness=lambda a: 2 * (1 - a) / (a + 3) * np.sqrt((a + 2) / a),
    entropy=lambda a: 1 - 1 / a - np.log(a),
)

LOGISTIC = Row(
    support=(-np.inf, np.inf),
    logpdf=lambda y: -np.abs(y) - 2 * np.log1p(np.exp(-np.abs(y))),
    logcdf=lambda y: np.minimum(y, 0) - np.log1p(np.exp(-np.abs(y))),
    logsf=lambda y: np.minimum(-y, 0) - np.log1p(np.exp(-np.abs(y))),
    cdf=lambda y: 1 / (1 + np.exp(-y)),
    sf=lambda y: 1 / (1 + np.exp(y)),
    ppf=lambda q: np.log(q) - np.log1p(-q),
    isf=lambda q: np.log1p(-q) - np.log(q),
    mean=0.0,
    var=math.pi**2 / 3,
    skewness=0.0,
    kurtosis=1.2,
    entropy=2.0,
)

HAZARDS = {
    "burr": BURR,
    "burr12": BURR12,
    "expon": EXPON,
    "exponpow": EXPONPOW,
    "exponweib": EXPONWEIB,
    "fisk": FISK,
    "genextreme": GENEXTREME,
    "genpareto": GENPARETO,
    "gompertz": GOMPERTZ,
    "gumbel_l": mirrored(GUMBEL_R),
    "gumbel_r": GUMBEL_R,
    "halflogistic": HALFLOGISTIC,
    "invweibull": INVWEIBULL,
    "logistic": LOGISTIC,
    "lomax": LOMAX,
    "pareto": PARETO,
    "powerlaw": POWERLAW,
    "rayleigh": RAYLEIGH,
    "weibull_max": mirrored(WEIBULL),
    "weibull_min": WEIBULL,
}
