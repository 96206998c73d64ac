"""The exponential distribution, as in `jax.scipy.stats.expon`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density."""
    y, start, size = promoted("expon.logpdf", x, loc, scale)
    return np.where(y < start, -np.inf, (start - y) / size - np.log(size))


@public
def pdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density."""
    return np.exp(logpdf(x, loc, scale))


@public
def cdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function."""
    y, start, size = promoted("expon.cdf", x, loc, scale)
    return np.where(y < start, 0, -np.expm1((start - y) / size))


@public
def logcdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the distribution function."""
    return np.log1p(-sf(x, loc, scale))


@public
def sf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """1 - cdf, without cancellation."""
    return np.exp(logsf(x, loc, scale))


@public
def logsf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of sf."""
    y, start, size = promoted("expon.sf", x, loc, scale)
    return np.where(y < start, 0, (start - y) / size)


@public
def ppf(q: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The inverse of cdf; NaN outside of [0, 1]."""
    p, start, size = promoted("expon.ppf", q, loc, scale)
    return np.where((p >= 0) & (p <= 1), start - size * np.log1p(-p), np.nan)
