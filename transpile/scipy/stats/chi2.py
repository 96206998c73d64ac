"""The chi-squared distribution, as in `jax.scipy.stats.chi2`: gamma of shape df / 2."""

from __future__ import annotations

from typing import Any

from transpile.scipy.special.operands import Array, promoted, public
from transpile.scipy.stats import gamma


@public
def logpdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the chi-squared distribution with df degrees of freedom,
    shifted by loc and scaled.

    That of the gamma distribution of shape df / 2 and scale 2 scale; -inf below loc.
    """
    value, degrees, start, size = promoted("chi2.logpdf", x, df, loc, scale)
    return gamma.logpdf(value, 0.5 * degrees, start, 2 * size)


@public
def pdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the chi-squared distribution, exp of `logpdf`."""
    value, degrees, start, size = promoted("chi2.pdf", x, df, loc, scale)
    return gamma.pdf(value, 0.5 * degrees, start, 2 * size)


@public
def cdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the chi-squared distribution, a regularised lower incomplete
    gamma function; 0 below loc."""
    value, degrees, start, size = promoted("chi2.cdf", x, df, loc, scale)
    return gamma.cdf(value, 0.5 * degrees, start, 2 * size)


@public
def logcdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`: -inf where that underflows."""
    value, degrees, start, size = promoted("chi2.logcdf", x, df, loc, scale)
    return gamma.logcdf(value, 0.5 * degrees, start, 2 * size)


@public
def sf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the chi-squared distribution, a regularised upper incomplete gamma
    function; 1 below loc."""
    value, degrees, start, size = promoted("chi2.sf", x, df, loc, scale)
    return gamma.sf(value, 0.5 * degrees, start, 2 * size)


@public
def logsf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`: -inf where that underflows."""
    value, degrees, start, size = promoted("chi2.logsf", x, df, loc, scale)
    return gamma.logsf(value, 0.5 * degrees, start, 2 * size)
