"""The Cauchy distribution, as in `jax.scipy.stats.cauchy`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the Cauchy distribution with median loc and half width
    scale."""
    y, mean, size = promoted("cauchy.logpdf", x, loc, scale)
    return -np.log1p(np.square((y - mean) / size)) - np.log(math.pi * size)


@public
def pdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the Cauchy distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, loc, scale))


@public
def cdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the Cauchy distribution, by atan2, so that the lower tail does
    not cancel."""
    y, mean, size = promoted("cauchy.cdf", x, loc, scale)
    return np.arctan2(np.ones_like(y), (mean - y) / size) / math.pi


@public
def logcdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`: -inf where that underflows."""
    return np.log(cdf(x, loc, scale))


@public
def sf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the Cauchy distribution, by atan2, so that the upper tail does not
    cancel."""
    y, mean, size = promoted("cauchy.sf", x, loc, scale)
    return np.arctan2(np.ones_like(y), (y - mean) / size) / math.pi


@public
def logsf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`: -inf where that underflows."""
    return np.log(sf(x, loc, scale))


@public
def ppf(q: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The quantile of the Cauchy distribution for the probability q, the inverse of `cdf`."""
    p, mean, size = promoted("cauchy.ppf", q, loc, scale)
    return np.tan(math.pi * (p - 0.5)) * size + mean


@public
def isf(q: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The upper quantile of the Cauchy distribution for the probability q, the inverse of `sf`."""
    p, mean, size = promoted("cauchy.isf", q, loc, scale)
    return np.tan(math.pi * (0.5 - p)) * size + mean
