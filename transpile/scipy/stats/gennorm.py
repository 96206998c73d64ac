"""The generalized normal distribution, as in `jax.scipy.stats.gennorm`: density proportional to
exp(-|x|^beta), Laplace's for beta = 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, beta: Array) -> Any:
    """The logarithm of the density of the generalized normal distribution of the shape beta; NaN
    unless beta is positive."""
    value, shape = promoted("gennorm.logpdf", x, beta)
    density = np.log(0.5 * shape) - special.gammaln(1 / shape) - np.abs(value) ** shape
    return np.where(shape > 0, density, np.nan)


@public
def cdf(x: Array, beta: Array) -> Any:
    """The distribution function of the generalized normal distribution, by the regularised upper
    incomplete gamma function, so that the lower tail does not cancel."""
    value, shape = promoted("gennorm.cdf", x, beta)
    tail = 0.5 * special.gammaincc(1 / shape, np.abs(value) ** shape)
    return np.where(shape > 0, np.where(value > 0, 1 - tail, tail), np.nan)


@public
def pdf(x: Array, beta: Array) -> Any:
    """The density of the generalized normal distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, beta))
