"""The gamma distribution, as in `jax.scipy.stats.gamma`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, a: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the gamma distribution of shape a, starting at loc and
    scaled.

    -inf below loc.
    """
    value, shape, start, size = promoted("gamma.logpdf", x, a, loc, scale)
    inside = value >= start
    y = np.where(inside, (value - start) / size, 1)
    density = special.xlogy(shape - 1, y) - y - (special.gammaln(shape) + np.log(size))
    return np.where(inside, density, -np.inf)


@public
def pdf(x: Array, a: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the gamma distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, a, loc, scale))


@public
def cdf(x: Array, a: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the gamma distribution, the regularised lower incomplete gamma
    function; 0 below loc."""
    value, shape, start, size = promoted("gamma.cdf", x, a, loc, scale)
    return special.gammainc(shape, np.maximum((value - start) / size, 0))


@public
def logcdf(x: Array, a: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`: -inf where that underflows."""
    return np.log(cdf(x, a, loc, scale))


@public
def sf(x: Array, a: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the gamma distribution, the regularised upper incomplete gamma
    function; 1 below loc."""
    value, shape, start, size = promoted("gamma.sf", x, a, loc, scale)
    return special.gammaincc(shape, np.maximum((value - start) / size, 0))


@public
def logsf(x: Array, a: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`: -inf where that underflows."""
    return np.log(sf(x, a, loc, scale))
