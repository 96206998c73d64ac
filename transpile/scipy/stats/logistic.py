"""The logistic distribution, as in `jax.scipy.stats.logistic`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The logarithm of the density of the logistic distribution with mean loc and scale.

    By logaddexp, without overflow in the tails.
    """
    y, mean, size = promoted("logistic.logpdf", x, loc, scale)
    half = (y - mean) / (2 * size)
    return -2 * np.logaddexp(half, -half) - np.log(size)


@public
def pdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The density of the logistic distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, loc, scale))


@public
def cdf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The distribution function of the logistic distribution, `special.expit`."""
    y, mean, size = promoted("logistic.cdf", x, loc, scale)
    return special.expit((y - mean) / size)


@public
def sf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The survival function of the logistic distribution, P(X > x), without cancellation in the
    upper tail."""
    y, mean, size = promoted("logistic.sf", x, loc, scale)
    return special.expit((mean - y) / size)


@public
def ppf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The quantile of the logistic distribution for the probability x, the inverse of `cdf`:
    `special.logit`."""
    p, mean, size = promoted("logistic.ppf", x, loc, scale)
    return special.logit(p) * size + mean


@public
def isf(x: Array, loc: Array = 0, scale: Array = 1) -> Any:
    """The upper quantile of the logistic distribution for the probability x, the inverse of
    `sf`."""
    p, mean, size = promoted("logistic.isf", x, loc, scale)
    return mean - special.logit(p) * size
