"""The truncated normal distribution, as in `jax.scipy.stats.truncnorm`: the standard normal one
between a and b, shifted by loc and scaled.

What a and b leave of the normal distribution is computed as a logarithm, in the tail where both
have one sign, so that truncation far from the mean loses nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.nn import log1mexp
from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public
from transpile.scipy.stats import norm


def _log_mass(a: Any, b: Any) -> Any:
    """log P(a < Z < b) for a standard normal Z and a < b."""
    is_right = a > 0
    low, high = np.where(is_right, -b, a), np.where(is_right, -a, b)
    is_tail = high <= 0
    is_bounded = is_tail & (low > -np.inf)
    upper = special.log_ndtr(np.where(is_tail, high, 0))
    lower = special.log_ndtr(np.where(is_bounded, low, -1))
    share = log1mexp(np.where(is_bounded, upper - lower, 1))
    in_tail = upper + np.where(is_bounded, share, 0)
    around_zero = np.log1p(-special.ndtr(low) - special.ndtr(-high))
    return np.where(is_tail, in_tail, around_zero)


def _moved(name: str, x: Array, a: Array, b: Array, loc: Array, scale: Array) -> list[Any]:
    """The standardised value, the bounds, and the scale."""
    value, low, high, center, size = promoted(f"truncnorm.{name}", x, a, b, loc, scale)
    return [(value - center) / size, low, high, size]


def _log_cdf(z: Any, low: Any, high: Any) -> Any:
    """log P(Z <= z) under truncation to [low, high]: where it is nearly 0, by log P(Z > z)."""
    valid = (low < high) & ~np.isnan(z)
    inside = (z > low) & (z < high) & valid
    a, b = np.where(valid, low, -1), np.where(valid, high, 1)
    whole = _log_mass(a, b)
    below = _log_mass(a, np.where(inside, z, b)) - whole
    above = _log_mass(np.where(inside, z, a), b) - whole
    value = np.where(below > -0.1, np.log1p(-np.exp(above)), below)
    value = np.where(z >= high, 0, np.where(z <= low, -np.inf, value))
    return np.where(valid, value, np.nan)


@public
def logpdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the truncated normal distribution between loc + a scale and
    loc + b scale.

    -inf outside, NaN unless a < b and scale is positive.
    """
    z, low, high, size = _moved("logpdf", x, a, b, loc, scale)
    density = norm.logpdf(z) - np.log(size) - _log_mass(low, high)
    density = np.where((z < low) | (z > high), -np.inf, density)
    return np.where((low < high) & (size > 0), density, np.nan)


@public
def pdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the truncated normal distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, a, b, loc, scale))


@public
def logcdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`, which does not underflow: 0 from the upper bound on, -inf up to the
    lower one."""
    z, low, high, size = _moved("logcdf", x, a, b, loc, scale)
    return np.where(size > 0, _log_cdf(z, low, high), np.nan)


@public
def cdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the truncated normal distribution, exp of `logcdf`."""
    return np.exp(logcdf(x, a, b, loc, scale))


@public
def logsf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`, which does not underflow: that of `cdf` for the reflected
    distribution."""
    z, low, high, size = _moved("logsf", x, a, b, loc, scale)
    return np.where(size > 0, _log_cdf(-z, -high, -low), np.nan)


@public
def sf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the truncated normal distribution, exp of `logsf`."""
    return np.exp(logsf(x, a, b, loc, scale))
