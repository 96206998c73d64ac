"""The normal distribution of vectors, as in `jax.scipy.stats.multivariate_normal`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.ir.types import broadcast_shapes
from transpile.numpy import linalg
from transpile.numpy.core.promotion import error as located
from transpile.scipy.linalg import solve_triangular
from transpile.scipy.sized_arrays import broadcast_to
from transpile.scipy.special.operands import Array, promoted, public


@public
def logpdf(x: Array, mean: Array, cov: Array, allow_singular: None = None) -> Any:
    """The logarithm of the density of the normal distribution of vectors, by a Cholesky factor of
    the covariance.

    x      vectors along the last axis; mean a vector, or vectors, or one number
    cov    matrices, or one number: that times the identity

    A covariance that is not positive definite gives NaN. Raises ValueError for shapes that do not
    fit, NotImplementedError for `allow_singular`.
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    y, center, spread = promoted("multivariate_normal.logpdf", x, mean, cov)
    if not np.shape(center):
        return -0.5 * (np.square(y - center) / spread + math.log(2 * math.pi) + np.log(spread))
    n = center.shape[-1]
    if not np.shape(spread):
        distance = np.sum(np.square(y - center), axis=-1) / spread
        return -0.5 * (distance + n * (math.log(2 * math.pi) + np.log(spread)))
    if spread.ndim < 2 or spread.shape[-2:] != (n, n):
        raise located(ValueError, "multivariate_normal.logpdf got incompatible shapes")
    factor = linalg.cholesky(spread)
    moved = y - center
    head = broadcast_shapes([moved.shape[:-1], spread.shape[:-2]])
    moved = broadcast_to(moved, (*head, n))[..., None]
    scaled = solve_triangular(broadcast_to(factor, (*head, n, n)), moved, lower=True)[..., 0]
    size = np.sum(np.log(np.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    return -0.5 * np.sum(np.square(scaled), axis=-1) - 0.5 * n * math.log(2 * math.pi) - size


@public
def pdf(x: Array, mean: Array, cov: Array) -> Any:
    """The density of the normal distribution of vectors, exp of `logpdf`."""
    return np.exp(logpdf(x, mean, cov))
