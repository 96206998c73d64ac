"""The geometric distribution, as in `jax.scipy.stats.geom`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpmf(k: Array, p: Array, loc: Array = 0) -> Any:
    """The logarithm of the probability that the first success is in trial k - loc, for a
    probability p; -inf for trials before the first."""
    count, chance, start = promoted("geom.logpmf", k, p, loc)
    n = count - start
    return np.where(n <= 0, -np.inf, special.xlog1py(n - 1, -chance) + np.log(chance))


@public
def pmf(k: Array, p: Array, loc: Array = 0) -> Any:
    """The probability that the first success is in trial k - loc, for a probability p each; exp of
    `logpmf`."""
    return np.exp(logpmf(k, p, loc))
