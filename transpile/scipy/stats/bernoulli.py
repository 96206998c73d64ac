"""The Bernoulli distribution, as in `jax.scipy.stats.bernoulli`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpmf(k: Array, p: Array, loc: Array = 0) -> Any:
    """The logarithm of the probability of k - loc: log(p) for 1, log(1 - p) for 0, -inf outside [0,
    1]."""
    count, chance, start = promoted("bernoulli.logpmf", k, p, loc)
    n = count - start
    value = special.xlogy(n, chance) + special.xlog1py(1 - n, -chance)
    return np.where((n < 0) | (n > 1), -np.inf, value)


@public
def pmf(k: Array, p: Array, loc: Array = 0) -> Any:
    """The probability of k - loc: p for 1, 1 - p for 0, and 0 outside [0, 1]; exp of `logpmf`."""
    return np.exp(logpmf(k, p, loc))


@public
def cdf(k: Array, p: Array) -> Any:
    """The distribution function of the Bernoulli distribution, P(K <= k); NaN where p is no
    probability."""
    count, chance = promoted("bernoulli.cdf", k, p)
    value = np.where(count < 0, 0, np.where(count < 1, 1 - chance, 1))
    known = (chance >= 0) & (chance <= 1) & ~np.isnan(count)
    return np.where(known, value, np.nan)


@public
def ppf(q: Array, p: Array) -> Any:
    """The quantile of the Bernoulli distribution for the probability q, 0 or 1; NaN where q or p is
    no probability."""
    part, chance = promoted("bernoulli.ppf", q, p)
    known = (chance >= 0) & (chance <= 1) & (part >= 0) & (part <= 1)
    return np.where(known, np.where(part <= 1 - chance, 0.0, 1.0), np.nan).astype(part.dtype)
