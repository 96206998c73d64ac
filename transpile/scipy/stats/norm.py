"""The normal distribution, as in `jax.scipy.stats.norm`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the normal distribution with mean loc and standard deviation
    scale."""
    y, mean, size = promoted("norm.logpdf", x, loc, scale)
    square = np.square((y - mean) / size)
    return -0.5 * square - (np.log(size) + 0.5 * math.log(2 * math.pi))


@public
def pdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the normal distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, loc, scale))


@public
def cdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the normal distribution, P(X <= x): `special.ndtr`."""
    y, mean, size = promoted("norm.cdf", x, loc, scale)
    return special.ndtr((y - mean) / size)


@public
def logcdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`, which does not underflow: `special.log_ndtr`."""
    y, mean, size = promoted("norm.logcdf", x, loc, scale)
    return special.log_ndtr((y - mean) / size)


@public
def sf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the normal distribution, P(X > x), without cancellation in the upper
    tail."""
    y, mean, size = promoted("norm.sf", x, loc, scale)
    return special.ndtr((mean - y) / size)


@public
def logsf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`, which does not underflow: `special.log_ndtr`."""
    y, mean, size = promoted("norm.logsf", x, loc, scale)
    return special.log_ndtr((mean - y) / size)


@public
def ppf(q: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The quantile of the normal distribution for the probability q, the inverse of `cdf`; NaN
    outside [0, 1]."""
    p, mean, size = promoted("norm.ppf", q, loc, scale)
    return special.ndtri(p) * size + mean


@public
def isf(q: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The upper quantile of the normal distribution for the probability q, the inverse of `sf`; NaN
    outside [0, 1]."""
    p, mean, size = promoted("norm.isf", q, loc, scale)
    return mean - special.ndtri(p) * size
