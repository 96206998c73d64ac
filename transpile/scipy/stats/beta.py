"""The beta distribution, as in `jax.scipy.stats.beta`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the beta distribution of shapes a and b, on [loc, loc +
    scale].

    -inf outside the interval, NaN unless a, b and scale are positive.
    """
    value, p, q, start, size = promoted("beta.logpdf", x, a, b, loc, scale)
    y = (value - start) / size
    density = special.xlogy(p - 1, y) + special.xlog1py(q - 1, -y)
    density = density - special.betaln(p, q) - np.log(size)
    density = np.where((value > start + size) | (value < start), -np.inf, density)
    return np.where((p <= 0) | (q <= 0) | (size <= 0), np.nan, density)


@public
def pdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the beta distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, a, b, loc, scale))


@public
def cdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the beta distribution, the regularised incomplete beta function
    of (x - loc) / scale."""
    value, p, q, start, size = promoted("beta.cdf", x, a, b, loc, scale)
    return special.betainc(p, q, np.clip((value - start) / size, 0, 1))


@public
def logcdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `cdf`: -inf where that underflows."""
    return np.log(cdf(x, a, b, loc, scale))


@public
def sf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the beta distribution, P(X > x), as the distribution function of 1 -
    X."""
    value, p, q, start, size = promoted("beta.sf", x, a, b, loc, scale)
    return special.betainc(q, p, 1 - np.clip((value - start) / size, 0, 1))


@public
def logsf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of `sf`: -inf where that underflows."""
    return np.log(sf(x, a, b, loc, scale))
