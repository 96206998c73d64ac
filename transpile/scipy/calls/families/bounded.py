"""Continuous distributions on intervals, and those of angles and slopes.

Densities, moments and entropies: N. Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate
Distributions, 1994 and 1995.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.scipy.calls.families.row import Row

__all__ = ["BOUNDED"]

_PI = math.pi
_REALS = (-np.inf, np.inf)

UNIFORM = Row(
    support=(0.0, 1.0),
    logpdf=lambda y: 0 * y,
    cdf=lambda y: y,
    sf=lambda y: 1 - y,
    ppf=lambda q: q,
    mean=0.5,
    var=1 / 12,
    skewness=0.0,
    kurtosis=-1.2,
    entropy=0.0,
)


def _or_one(x: Any) -> Any:
    return np.where(np.equal(x, 0), 1, x)


def _triang_logpdf(y: Any, c: Any) -> Any:
    rising = (y < c) | np.equal(c, 1)
    return math.log(2) + np.log(np.where(rising, y, 1 - y)) - np.log(np.where(rising, c, 1 - c))


def _triang_cdf(y: Any, c: Any) -> Any:
    """The distribution function of the triangular distribution up to its mode, 1 beyond."""
    return np.where(y < c, np.square(y) / _or_one(c), 1 - np.square(1 - y) / _or_one(1 - c))


TRIANG = Row(
    shapes=("c",),
    support=(0.0, 1.0),
    valid=lambda c: (c >= 0) & (c <= 1),
    logpdf=_triang_logpdf,
    cdf=_triang_cdf,
    sf=lambda y, c: _triang_cdf(1 - y, 1 - c),
    ppf=lambda q, c: np.where(q < c, np.sqrt(c * q), 1 - np.sqrt((1 - c) * (1 - q))),
    mean=lambda c: (c + 1) / 3,
    var=lambda c: (1 - c + c * c) / 18,
    skewness=lambda c: (
        math.sqrt(2) * (2 * c - 1) * (c + 1) * (c - 2) / (5 * np.power(1 - c + c * c, 1.5))
    ),
    kurtosis=-0.6,
    entropy=0.5 - math.log(2),
)

ARCSINE = Row(
    support=(0.0, 1.0),
    logpdf=lambda y: -math.log(_PI) - (np.log(y) + np.log1p(-y)) / 2,
    cdf=lambda y: 2 / _PI * np.arctan2(np.sqrt(y), np.sqrt(1 - y)),
    sf=lambda y: 2 / _PI * np.arctan2(np.sqrt(1 - y), np.sqrt(y)),
    ppf=lambda q: np.square(np.sin(_PI / 2 * q)),
    isf=lambda q: np.square(np.cos(_PI / 2 * q)),
    mean=0.5,
    var=0.125,
    skewness=0.0,
    kurtosis=-1.5,
    entropy=math.log(_PI / 4),
)

ANGLIT = Row(
    support=(-_PI / 4, _PI / 4),
    logpdf=lambda y: np.log(np.cos(2 * y)),
    cdf=lambda y: np.square(np.sin(y + _PI / 4)),
    sf=lambda y: np.square(np.cos(y + _PI / 4)),
    ppf=lambda q: np.arcsin(np.sqrt(q)) - _PI / 4,
    mean=0.0,
    var=_PI**2 / 16 - 0.5,
    skewness=0.0,
    entropy=1 - math.log(2),
)

TRUNCEXPON = Row(
    shapes=("b",),
    support=(0.0, lambda b: b),
    logpdf=lambda y, b: -y - np.log(-np.expm1(-b)),
    cdf=lambda y, b: np.expm1(-y) / np.expm1(-b),
    sf=lambda y, b: np.exp(-y) * np.expm1(y - b) / np.expm1(-b),
    ppf=lambda q, b: -np.log1p(q * np.expm1(-b)),
    mean=lambda b: 1 - b / np.expm1(b),
)

LOGUNIFORM = Row(
    shapes=("a", "b"),
    support=(lambda a, b: a + 0 * b, lambda a, b: b + 0 * a),
    valid=lambda a, b: (a > 0) & (b > a),
    logpdf=lambda y, a, b: -np.log(y) - np.log(np.log(b / a)),
    cdf=lambda y, a, b: np.log(y / a) / np.log(b / a),
    sf=lambda y, a, b: np.log(b / y) / np.log(b / a),
    ppf=lambda q, a, b: a * np.power(b / a, q),
    mean=lambda a, b: (b - a) / np.log(b / a),
    var=lambda a, b: (b * b - a * a) / (2 * np.log(b / a)) - np.square((b - a) / np.log(b / a)),
    entropy=lambda a, b: np.log(a * b) / 2 + np.log(np.log(b / a)),
)

CAUCHY = Row(
    support=_REALS,
    logpdf=lambda y: -math.log(_PI) - np.log1p(np.square(y)),
    cdf=lambda y: np.arctan2(1, -y) / _PI,
    sf=lambda y: np.arctan2(1, y) / _PI,
    ppf=lambda q: -1 / np.tan(_PI * q),
    isf=lambda q: 1 / np.tan(_PI * q),
    mean=np.nan,
    var=np.nan,
    skewness=np.nan,
    kurtosis=np.nan,
    entropy=math.log(4 * _PI),
)

HALFCAUCHY = Row(
    logpdf=lambda y: math.log(2 / _PI) - np.log1p(np.square(y)),
    cdf=lambda y: 2 / _PI * np.arctan(y),
    sf=lambda y: 2 / _PI * np.arctan2(1, y),
    ppf=lambda q: np.tan(_PI / 2 * q),
    isf=lambda q: 1 / np.tan(_PI / 2 * q),
    mean=np.inf,
    var=np.inf,
    skewness=np.nan,
    kurtosis=np.nan,
    entropy=math.log(2 * _PI),
)

HYPSECANT = Row(
    support=_REALS,
    logpdf=lambda y: -np.abs(y) + math.log(2 / _PI) - np.log1p(np.exp(-2 * np.abs(y))),
    cdf=lambda y: 2 / _PI * np.arctan(np.exp(y)),
    sf=lambda y: 2 / _PI * np.arctan(np.exp(-y)),
    ppf=lambda q: np.log(np.tan(_PI / 2 * q)),
    isf=lambda q: -np.log(np.tan(_PI / 2 * q)),
    mean=0.0,
    var=_PI**2 / 4,
    skewness=0.0,
    kurtosis=2.0,
    entropy=math.log(2 * _PI),
)


def _half(y: Any) -> Any:
    return np.exp(-np.abs(y)) / 2


LAPLACE = Row(
    support=_REALS,
    logpdf=lambda y: -math.log(2) - np.abs(y),
    cdf=lambda y: np.where(y > 0, 1 - _half(y), _half(y)),
    sf=lambda y: np.where(y > 0, _half(y), 1 - _half(y)),
    ppf=lambda q: np.where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q)),
    isf=lambda q: np.where(q > 0.5, np.log(2 * (1 - q)), -np.log(2 * q)),
    mean=0.0,
    var=2.0,
    skewness=0.0,
    kurtosis=3.0,
    entropy=1 + math.log(2),
)

BOUNDED = {
    "anglit": ANGLIT,
    "arcsine": ARCSINE,
    "cauchy": CAUCHY,
    "halfcauchy": HALFCAUCHY,
    "hypsecant": HYPSECANT,
    "laplace": LAPLACE,
    "loguniform": LOGUNIFORM,
    "reciprocal": LOGUNIFORM,
    "triang": TRIANG,
    "truncexpon": TRUNCEXPON,
    "uniform": UNIFORM,
}
