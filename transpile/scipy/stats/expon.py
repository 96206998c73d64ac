"""The exponential distribution, as in `jax.scipy.stats.expon`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the exponential distribution with mean scale, starting at
    loc.

    -inf below loc.
    """
    y, start, size = promoted("expon.logpdf", x, loc, scale)
    return np.where(y < start, -np.inf, (start - y) / size - np.log(size))


@public
def pdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the exponential distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, loc, scale))


@public
def cdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the exponential distribution, by expm1, without cancellation
    near loc; 0 below."""
    y, start, size = promoted("expon.cdf", x, loc, scale)
    return np.where(y < start, 0, -np.expm1((start - y) / size))


@public
def logcdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`, log1p of -`sf`."""
    return np.log1p(-sf(x, loc, scale))


@public
def sf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the exponential distribution, exp(-(x - loc) / scale); 1 below
    loc."""
    return np.exp(logsf(x, loc, scale))


@public
def logsf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`, -(x - loc) / scale; 0 below loc."""
    y, start, size = promoted("expon.sf", x, loc, scale)
    return np.where(y < start, 0, (start - y) / size)


@public
def ppf(q: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The quantile of the exponential distribution for the probability q, by log1p; NaN outside [0,
    1]."""
    p, start, size = promoted("expon.ppf", q, loc, scale)
    return np.where((p >= 0) & (p <= 1), start - size * np.log1p(-p), np.nan)
