"""Student's t distribution, as in `jax.scipy.stats.t`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of Student's t distribution with df degrees of freedom, shifted
    by loc and scaled."""
    value, degrees, mean, size = promoted("t.logpdf", x, df, loc, scale)
    y = (value - mean) / size
    half = 0.5 * degrees
    factor = special.gammaln(half + 0.5) - special.gammaln(half)
    factor = factor - 0.5 * np.log(degrees * math.pi) - np.log(size)
    return factor - (half + 0.5) * np.log1p(np.square(y) / degrees)


@public
def pdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of Student's t distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, df, loc, scale))


@public
def cdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of Student's t distribution, P(X <= x): `special.stdtr`."""
    value, degrees, mean, size = promoted("t.cdf", x, df, loc, scale)
    return special.stdtr(degrees, (value - mean) / size)


@public
def sf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of Student's t distribution, P(X > x), without cancellation."""
    value, degrees, mean, size = promoted("t.sf", x, df, loc, scale)
    return special.stdtr(degrees, (mean - value) / size)


@public
def logcdf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`: -inf where that underflows."""
    return np.log(cdf(x, df, loc, scale))


@public
def logsf(x: Array, df: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`: -inf where that underflows."""
    return np.log(sf(x, df, loc, scale))
