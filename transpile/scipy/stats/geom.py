"""The geometric distribution, as in `jax.scipy.stats.geom`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpmf(k: Array, p: Array, loc: Array = 0) -> Any:
    """The logarithm of the probability of k trials."""
    count, chance, start = promoted("geom.logpmf", k, p, loc)
    n = count - start
    return np.where(n <= 0, -np.inf, special.xlog1py(n - 1, -chance) + np.log(chance))


@public
def pmf(k: Array, p: Array, loc: Array = 0) -> Any:
    """The probability of k trials."""
    return np.exp(logpmf(k, p, loc))
