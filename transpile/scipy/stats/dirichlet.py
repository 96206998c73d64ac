"""The Dirichlet distribution, as in `jax.scipy.stats.dirichlet`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.numpy.core.promotion import error as located
from transpile.scipy import special
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, alpha: Array) -> Any:
    """The logarithm of the density of the Dirichlet distribution.

    x      points of the simplex along the first axis; the last coordinate may be omitted
    alpha  a vector of concentrations

    -inf off the simplex, to 1e-6. Raises ValueError for more than one axis of alpha, and for
    another number of coordinates.
    """
    y, weights = promoted("dirichlet.logpdf", x, alpha)
    if weights.ndim != 1:
        text = f"`alpha` must be one-dimensional; got alpha.shape={tuple(weights.shape)}"
        raise located(ValueError, text)
    n = weights.shape[0]
    if y.shape[0] not in (n, n - 1):
        raise located(
            ValueError,
            "`x` must have either the same number of entries as `alpha` or one entry fewer; got "
            f"x.shape={tuple(y.shape)}, alpha.shape={tuple(weights.shape)}",
        )
    if y.shape[0] != n:
        y = np.concatenate([y, 1 - np.sum(y, axis=0, keepdims=True)], axis=0)
    inside = np.all(y > 0, axis=0) & (np.absolute(np.sum(y, axis=0) - 1) < 1e-6)
    factor = np.sum(special.gammaln(weights)) - special.gammaln(np.sum(weights))
    power = np.reshape(weights - 1, (n, *(1,) * (y.ndim - 1)))
    return np.where(inside, np.sum(special.xlogy(power, y), axis=0) - factor, -np.inf)


@public
def pdf(x: Array, alpha: Array) -> Any:
    """The density of the Dirichlet distribution, exp of `logpdf`."""
    return np.exp(logpdf(x, alpha))
