"""The Pareto distribution, as in `jax.scipy.stats.pareto`: P(X > x) = ((x - loc) / scale)^-b above
loc + scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.nn import log1mexp
from transpile.scipy.special.operands import Array, promoted, public


def _logarithm(
    name: str, x: Array, b: Array, loc: Array, scale: Array
) -> tuple[Any, Any, Any, Any]:
    """Whether x is in the support, log((x - loc) / scale), or 0 outside it, the shape, which is NaN
    for invalid parameters, and the scale."""
    value, shape, start, size = promoted(f"pareto.{name}", x, b, loc, scale)
    below = value < start + size
    quotient = np.where(below, 1, (value - start) / size)
    return ~below, np.log(quotient), np.where((shape > 0) & (size > 0), shape, np.nan), size


@public
def logpdf(x: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the Pareto distribution of the shape b.

    -inf below loc + scale, NaN unless b and scale are positive.
    """
    inside, y, shape, size = _logarithm("logpdf", x, b, loc, scale)
    density = np.log(shape / size) - (shape + 1) * y
    return np.where(inside | np.isnan(density), density, -np.inf)


@public
def pdf(x: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the Pareto distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, b, loc, scale))


@public
def cdf(x: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the Pareto distribution, by expm1, so that it does not cancel
    near loc + scale; 0 below."""
    _, y, shape, _ = _logarithm("cdf", x, b, loc, scale)
    return -np.expm1(-shape * y)


@public
def logcdf(x: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`, by log1p or expm1; -inf up to loc + scale."""
    _, y, shape, _ = _logarithm("logcdf", x, b, loc, scale)
    return log1mexp(shape * y)


@public
def logsf(x: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`, which does not underflow; 0 below loc + scale."""
    _, y, shape, _ = _logarithm("logsf", x, b, loc, scale)
    return -shape * y


@public
def sf(x: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the Pareto distribution, P(X > x); 1 below loc + scale."""
    return np.exp(logsf(x, b, loc, scale))


@public
def ppf(q: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The quantile of the Pareto distribution for the probability q, the inverse of `cdf`; NaN
    outside [0, 1]."""
    chance, shape, start, size = promoted("pareto.ppf", q, b, loc, scale)
    value = start + size * np.exp(-np.log1p(-chance) / shape)
    valid = (chance >= 0) & (shape > 0) & (size > 0)
    return np.where(valid, value, np.nan)
