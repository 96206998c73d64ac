"""The multinomial distribution, as in `jax.scipy.stats.multinomial`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import kind_letter
from transpile.nn.operands import array_dtype
from transpile.scipy import special
from transpile.scipy.special.operands import Array, located, promoted, public, real


@public
def logpmf(x: Array, n: Array, p: Array) -> Any:
    """The logarithm of the probability of the counts x, along the last axis, in n trials with
    outcomes of the probabilities p.

    -inf where the counts do not add up to n or one is negative; leading axes broadcast, as in
    SciPy, where JAX adds up the counts of all rows. The probabilities are taken as they are. Raises
    ValueError for counts that are no integers.
    """
    counts = x if hasattr(x, "dtype") else np.asarray(x)
    if kind_letter(array_dtype(counts)) not in "iub":
        raise located(ValueError, f"x and n must be of integer type; got x.dtype={counts.dtype}")
    (chance,) = real("multinomial.logpmf", p)
    k, total = promoted("multinomial.logpmf", counts, n, chance)[:2]
    terms = special.xlogy(k, chance) - special.gammaln(k + 1)
    value = special.gammaln(total + 1) + np.sum(terms, axis=-1)
    fits = (np.sum(k, axis=-1) == total) & np.all(k >= 0, axis=-1)
    return np.where(fits, value, -np.inf)


@public
def pmf(x: Array, n: Array, p: Array) -> Any:
    """The probability of the counts x in n trials of the multinomial distribution, exp of
    `logpmf`."""
    return np.exp(logpmf(x, n, p))
