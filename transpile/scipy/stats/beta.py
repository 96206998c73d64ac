"""The beta distribution, as in `jax.scipy.stats.beta`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of shapes a and b."""
    value, p, q, start, size = promoted("beta.logpdf", x, a, b, loc, scale)
    y = (value - start) / size
    density = special.xlogy(p - 1, y) + special.xlog1py(q - 1, -y)
    density = density - special.betaln(p, q) - np.log(size)
    density = np.where((value > start + size) | (value < start), -np.inf, density)
    return np.where((p <= 0) | (q <= 0) | (size <= 0), np.nan, density)


@public
def pdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density."""
    return np.exp(logpdf(x, a, b, loc, scale))


@public
def cdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function."""
    value, p, q, start, size = promoted("beta.cdf", x, a, b, loc, scale)
    return special.betainc(p, q, np.clip((value - start) / size, 0, 1))


@public
def logcdf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the distribution function."""
    return np.log(cdf(x, a, b, loc, scale))


@public
def sf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """1 - cdf, without cancellation."""
    value, p, q, start, size = promoted("beta.sf", x, a, b, loc, scale)
    return special.betainc(q, p, 1 - np.clip((value - start) / size, 0, 1))


@public
def logsf(x: Array, a: Array, b: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of sf."""
    return np.log(sf(x, a, b, loc, scale))
