"""The negative binomial distribution, as in `jax.scipy.stats.nbinom`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpmf(k: Array, n: Array, p: Array, loc: Array = 0) -> Any:
    """The logarithm of the probability of k - loc failures before the n-th success of probability
    p; n need not be whole.

    -inf below loc, NaN unless n is positive and 0 < p <= 1. Between the whole numbers it is the
    formula's value, as in JAX, where SciPy has -inf.
    """
    count, total, chance, start = promoted("nbinom.logpmf", k, n, p, loc)
    below = count < start
    y = np.where(below, 0, count - start)
    ways = -special.betaln(total, y + 1) - np.log(total + y)
    value = ways + special.xlogy(total, chance) + special.xlog1py(y, -chance)
    value = np.where(below, -np.inf, value)
    return np.where((total > 0) & (chance > 0) & (chance <= 1), value, np.nan)


@public
def pmf(k: Array, n: Array, p: Array, loc: Array = 0) -> Any:
    """The probability of k - loc failures before the n-th success of probability p, exp of
    `logpmf`."""
    return np.exp(logpmf(k, n, p, loc))
