"""The beta-binomial distribution, as in `jax.scipy.stats.betabinom`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpmf(k: Array, n: Array, a: Array, b: Array, loc: Array = 0) -> Any:
    """The logarithm of the probability of floor(k) - loc successes in n trials, whose probability
    has the beta distribution of a and b.

    -inf outside 0 ... n; NaN for a negative n, and unless a and b are positive.
    """
    count, total, p, q, start = promoted("betabinom.logpmf", k, n, a, b, loc)
    y = np.floor(count) - start
    outside = (y < 0) | (y > total)
    y = np.where(outside, 0, y)
    failures = total - y
    ways = -np.log1p(total) - special.betaln(failures + 1, y + 1)
    value = ways + special.betaln(y + p, failures + q) - special.betaln(p, q)
    value = np.where(outside, -np.inf, value)
    return np.where((total < 0) | (p <= 0) | (q <= 0), np.nan, value)


@public
def pmf(k: Array, n: Array, a: Array, b: Array, loc: Array = 0) -> Any:
    """The probability of floor(k) - loc successes in n trials of the beta-binomial distribution,
    exp of `logpmf`."""
    return np.exp(logpmf(k, n, a, b, loc))
