"""The normal distribution, as in `jax.scipy.stats.norm`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density."""
    y, mean, size = promoted("norm.logpdf", x, loc, scale)
    square = np.square((y - mean) / size)
    return -0.5 * square - (np.log(size) + 0.5 * math.log(2 * math.pi))


@public
def pdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density."""
    return np.exp(logpdf(x, loc, scale))


@public
def cdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function."""
    y, mean, size = promoted("norm.cdf", x, loc, scale)
    return special.ndtr((y - mean) / size)


@public
def logcdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the distribution function."""
    y, mean, size = promoted("norm.logcdf", x, loc, scale)
    return special.log_ndtr((y - mean) / size)


@public
def sf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """1 - cdf, without cancellation."""
    y, mean, size = promoted("norm.sf", x, loc, scale)
    return special.ndtr((mean - y) / size)


@public
def logsf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of sf."""
    y, mean, size = promoted("norm.logsf", x, loc, scale)
    return special.log_ndtr((mean - y) / size)


@public
def ppf(q: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The inverse of cdf."""
    p, mean, size = promoted("norm.ppf", q, loc, scale)
    return special.ndtri(p) * size + mean


@public
def isf(q: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The inverse of sf."""
    p, mean, size = promoted("norm.isf", q, loc, scale)
    return mean - special.ndtri(p) * size
