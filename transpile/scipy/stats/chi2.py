"""The chi-squared distribution, as in `jax.scipy.stats.chi2`: gamma of shape df / 2."""

from __future__ import annotations

from typing import Any

from transpile.scipy.special.operands import Array, promoted, public
from transpile.scipy.stats import gamma


@public
def logpdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density."""
    value, degrees, start, size = promoted("chi2.logpdf", x, df, loc, scale)
    return gamma.logpdf(value, 0.5 * degrees, start, 2 * size)


@public
def pdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density."""
    value, degrees, start, size = promoted("chi2.pdf", x, df, loc, scale)
    return gamma.pdf(value, 0.5 * degrees, start, 2 * size)


@public
def cdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function."""
    value, degrees, start, size = promoted("chi2.cdf", x, df, loc, scale)
    return gamma.cdf(value, 0.5 * degrees, start, 2 * size)


@public
def logcdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the distribution function."""
    value, degrees, start, size = promoted("chi2.logcdf", x, df, loc, scale)
    return gamma.logcdf(value, 0.5 * degrees, start, 2 * size)


@public
def sf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """1 - cdf, without cancellation."""
    value, degrees, start, size = promoted("chi2.sf", x, df, loc, scale)
    return gamma.sf(value, 0.5 * degrees, start, 2 * size)


@public
def logsf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of sf."""
    value, degrees, start, size = promoted("chi2.logsf", x, df, loc, scale)
    return gamma.logsf(value, 0.5 * degrees, start, 2 * size)
