"""The binomial distribution, as in `jax.scipy.stats.binom`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpmf(k: Array, n: Array, p: Array, loc: Array = 0) -> Any:
    """The logarithm of the probability of k - loc successes in n trials of probability p each; -inf
    outside 0 ... n."""
    count, total, chance, start = promoted("binom.logpmf", k, n, p, loc)
    y = count - start
    inside = (y >= 0) & (y < total + 1)
    y = np.where(inside, y, 0)
    ways = special.gammaln(total + 1) - special.gammaln(y + 1) - special.gammaln(total - y + 1)
    value = ways + special.xlogy(y, chance) + special.xlog1py(total - y, -chance)
    return np.where(inside, value, -np.inf)


@public
def pmf(k: Array, n: Array, p: Array, loc: Array = 0) -> Any:
    """The probability of k - loc successes in n trials of probability p each, exp of `logpmf`, so
    about as exact as `gammaln`."""
    return np.exp(logpmf(k, n, p, loc))


@public
def cdf(k: Array, n: Array, p: Array, loc: Array = 0) -> Any:
    """The distribution function of the binomial distribution, P(X <= k)."""
    count, trials, share, start = promoted("binom.cdf", k, n, p, loc)
    whole = np.clip(np.floor(count - start), 0, trials)
    return np.where(count < start, 0, special.bdtr(whole, trials, share))


@public
def sf(k: Array, n: Array, p: Array, loc: Array = 0) -> Any:
    """The survival function of the binomial distribution, P(X > k), without cancellation."""
    count, trials, share, start = promoted("binom.sf", k, n, p, loc)
    return special.bdtrc(np.minimum(np.floor(count - start), trials), trials, share)
