"""The Poisson distribution, as in `jax.scipy.stats.poisson`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpmf(k: Array, mu: Array, loc: Array = 0) -> Any:
    """The logarithm of the probability of the count k - loc for the mean mu; -inf for negative
    counts and fractions."""
    count, mean, start = promoted("poisson.logpmf", k, mu, loc)
    n = count - start
    inside = (n >= 0) & np.equal(np.rint(count), count)
    n = np.where(inside, n, 0)
    return np.where(inside, special.xlogy(n, mean) - special.gammaln(n + 1) - mean, -np.inf)


@public
def pmf(k: Array, mu: Array, loc: Array = 0) -> Any:
    """The probability of the count k - loc for the mean mu, exp of `logpmf`."""
    return np.exp(logpmf(k, mu, loc))


@public
def cdf(k: Array, mu: Array, loc: Array = 0) -> Any:
    """The distribution function of the Poisson distribution, P(K <= k), a regularised upper
    incomplete gamma function."""
    count, mean, start = promoted("poisson.cdf", k, mu, loc)
    n = count - start
    inside = n >= 0
    below = special.gammaincc(np.floor(1 + np.where(inside, n, 0)), mean)
    return np.where(inside, below, 0)


@public
def entropy(mu: Array, loc: Array = 0) -> Any:
    """The entropy of the Poisson distribution in nats: summed over counts below 250 for mu < 100,
    by the series in 1 / mu beyond."""
    mean, start = promoted("poisson.entropy", mu, loc)
    mean, _ = np.broadcast_arrays(mean, start)
    small = np.where(mean < 100, mean, 1)
    share = special.entr(pmf(np.arange(250.0), small[..., None]))
    summed = np.sum(share, axis=-1).astype(mean.dtype)
    large = np.where(mean < 100, 100, mean)
    series = 0.5 * np.log(2 * math.pi * math.e * large) - 1 / (12 * large)
    nats = np.where(mean < 100, summed, series - 1 / (24 * np.square(large)))
    return np.where(np.equal(mean, 0), 0, nats).astype(mean.dtype)
