"""The Laplace distribution, as in `jax.scipy.stats.laplace`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the Laplace distribution with mean loc and mean deviation
    scale."""
    y, mean, size = promoted("laplace.logpdf", x, loc, scale)
    return -(np.absolute(y - mean) / size + np.log(2 * size))


@public
def pdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the Laplace distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, loc, scale))


@public
def cdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the Laplace distribution, without cancellation in the lower
    tail."""
    y, mean, size = promoted("laplace.cdf", x, loc, scale)
    distance = (y - mean) / size
    tail = 0.5 * np.exp(-np.absolute(distance))
    return np.where(distance <= 0, tail, 1 - tail)
