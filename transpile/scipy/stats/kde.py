"""`gaussian_kde`, as in `jax.scipy.stats`: a density estimated from points by Gaussian kernels.

The kernels are whitened by a Cholesky factor of the inverse covariance, so that a value is a sum of
exp(-|difference|² / 2) (D. Scott, Multivariate Density Estimation, 1992). Calls outside of traces
are compiled: a value is then a loop over the points, and needs no table of all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import tree_util
from transpile.ir.dims import Dim
from transpile.ir.indices.requirements import require
from transpile.ir.types import kind_letter
from transpile.nn.operands import array_dtype, operand
from transpile.numpy.core.promotion import error as located
from transpile.random import choice, split
from transpile.random import multivariate_normal as normal_vectors
from transpile.random.evaluation import sampled
from transpile.scipy import special
from transpile.scipy.linalg import cho_factor, cho_solve
from transpile.scipy.sized_arrays import full
from transpile.scipy.special.operands import Array, promoted

__all__ = ["gaussian_kde"]


@tree_util.register_pytree_node_class
class gaussian_kde:
    """A density estimated from points with weights, by a Gaussian kernel around each.

    dataset    points in the columns, (d, n), or a vector of numbers
    bw_method  the factor that scales the covariance of the points to that of a kernel: "scott",
               the default, "silverman", a number, or a function of the estimate that gives one
    weights    of the points, equal by default; they are divided by their sum

    `neff` is the effective number of points, `covariance` that of a kernel, `inv_cov` its inverse.
    A pytree of these arrays. Raises ValueError for shapes that do not fit and other methods,
    NotImplementedError for complex points.
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(
        self,
        dataset: Array,
        bw_method: str | float | Callable[[gaussian_kde], Any] | None = None,
        weights: Array | None = None,
    ) -> None:
        points = np.atleast_2d(operand("gaussian_kde", dataset))
        _refuse_complex(points, "data")
        if isinstance(points.size, Dim):
            require(2, points.size, "a density")
        elif not points.size > 1:
            raise located(ValueError, "`dataset` input should have multiple elements.")
        n = points.shape[1]
        if weights is None:
            (self.dataset,) = promoted("gaussian_kde", points)
            self.weights = full(n, 1 / n, self.dataset.dtype)
        else:
            self.dataset, given = promoted("gaussian_kde", points, weights)
            given = np.atleast_1d(given)
            if given.ndim != 1:
                raise located(ValueError, "`weights` input should be one-dimensional.")
            if len(given) != n:
                raise located(ValueError, "`weights` input should be of length n")
            self.weights = given / np.sum(given)
        self.neff = 1 / np.sum(np.square(self.weights))
        factor = self._factor("scott" if bw_method is None else bw_method)
        spread = np.atleast_2d(np.cov(self.dataset, rowvar=True, bias=False, aweights=self.weights))
        self.covariance = spread * factor**2
        self.inv_cov = np.linalg.inv(spread) / factor**2

    def _factor(self, method: Any) -> Any:
        if isinstance(method, str):
            if method == "scott":
                return self.neff ** (-1 / (self.d + 4))
            if method == "silverman":
                return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        elif callable(method):
            return method(self)
        elif np.ndim(method) == 0:
            return method
        raise located(
            ValueError, "`bw_method` should be 'scott', 'silverman', a scalar, or a callable."
        )

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """The arrays of the estimate, for pytrees."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: tuple[Any, ...]) -> gaussian_kde:
        """The estimate of the arrays of `tree_flatten`."""
        estimate = cls.__new__(cls)
        for name, value in zip(_FIELDS, children, strict=True):
            setattr(estimate, name, value)
        return estimate

    @property
    def d(self) -> Any:
        """The number of coordinates of a point."""
        return self.dataset.shape[0]

    @property
    def n(self) -> Any:
        """The number of points."""
        return self.dataset.shape[1]

    def evaluate(self, points: Array) -> Any:
        """The density at points, the columns of an array (d, m): m values.

        Raises ValueError for points of another dimension.
        """
        return self._evaluated(points, is_log=False)

    def __call__(self, points: Array) -> Any:
        """The density at points, as `evaluate` has it."""
        return self.evaluate(points)

    def pdf(self, x: Array) -> Any:
        """The density at points, as `evaluate` has it."""
        return self.evaluate(x)

    def logpdf(self, x: Array) -> Any:
        """The logarithm of the density at points, which does not underflow far from the data."""
        return self._evaluated(x, is_log=True)

    def _evaluated(self, points: Array, is_log: bool) -> Any:
        x = np.atleast_2d(operand("gaussian_kde.evaluate", points))
        _refuse_complex(x, "coordinates")
        if x.shape[0] != self.d:
            if x.shape != (1, self.d):
                raise located(
                    ValueError,
                    f"points have dimension {x.shape[0]}, dataset has dimension {self.d}",
                )
            x = np.reshape(x, (self.d, 1))
        operands = promoted("gaussian_kde", x, self.dataset, self.weights, self.inv_cov)
        return sampled(_kernel_sums, *operands, is_log=is_log)

    def integrate_gaussian(self, mean: Array, cov: Array) -> Any:
        """The integral of the density times the normal density with a mean (d,) and a covariance
        (d, d); ValueError for other shapes."""
        center = np.atleast_1d(np.squeeze(operand("integrate_gaussian", mean)))
        spread = np.atleast_2d(operand("integrate_gaussian", cov))
        if center.shape != (self.d,):
            raise located(ValueError, f"mean does not have dimension {self.d}")
        if spread.shape != (self.d, self.d):
            raise located(ValueError, f"covariance does not have dimension {self.d}")
        return self._convolved(self.covariance + spread, center[:, None], np.ones(1))

    def integrate_box_1d(self, low: Array, high: Array) -> Any:
        """The integral of a one-dimensional density from one number to another; ValueError for
        others."""
        if self.d != 1:
            raise located(ValueError, "integrate_box_1d() only handles 1D pdfs")
        if np.ndim(low) or np.ndim(high):
            raise located(
                ValueError, "the limits of integration in integrate_box_1d must be scalars"
            )
        points, width = self.dataset[0], np.sqrt(self.covariance[0, 0])
        shares = special.ndtr((high - points) / width) - special.ndtr((low - points) / width)
        return np.sum(self.weights * shares)

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the product of two estimates; ValueError for ones of other dimensions."""
        if other.d != self.d:
            raise located(ValueError, "KDEs are not the same dimensionality")
        return self._convolved(self.covariance + other.covariance, other.dataset, other.weights)

    def _convolved(self, spread: Any, centers: Any, weights: Any) -> Any:
        """The sum of normal densities of a covariance at the differences of two sets of points."""
        factor = cho_factor(spread)
        root = np.prod(np.diagonal(factor[0])) * (2 * math.pi) ** (self.d / 2)
        moved = self.dataset[:, :, None] - centers[:, None, :]
        flat = np.reshape(moved, (self.d, -1))
        distance = np.sum(flat * cho_solve(factor, flat), axis=0)
        values = np.reshape(np.exp(-0.5 * distance), moved.shape[1:])
        return np.sum(values * self.weights[:, None] * weights[None, :]) / root

    def resample(self, key: Any, shape: int | tuple[int, ...] = ()) -> Any:
        """Points drawn from the density with a key of `random`, (d, *shape): a point of the data,
        moved by the kernel. The same points as JAX's."""
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        of_index, of_kernel = split(key)
        index = choice(of_index, self.n, shape=sizes, p=self.weights)
        center = np.zeros(self.d, array_dtype(self.covariance))
        moves = normal_vectors(
            of_kernel, center, self.covariance, shape=sizes, dtype=self.dataset.dtype
        )
        return self.dataset[:, index] + np.moveaxis(moves, -1, 0)

    def integrate_box(
        self, low_bounds: Array, high_bounds: Array, maxpts: int | None = None
    ) -> Any:
        """The integral over a box is not implemented: raises NotImplementedError."""
        raise located(
            NotImplementedError,
            "only 1D box integrations are supported; use `integrate_box_1d`",
        )

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """The bandwidth cannot be changed: raises NotImplementedError. Make another estimate."""
        raise located(
            NotImplementedError,
            "dynamically changing the bandwidth method is not supported",
        )


_FIELDS = ("neff", "dataset", "weights", "covariance", "inv_cov")


def _refuse_complex(points: Any, what: str) -> None:
    if kind_letter(array_dtype(points)) == "c":
        raise located(NotImplementedError, f"gaussian_kde does not support complex {what}")


def _kernel_sums(x: Any, points: Any, weights: Any, precision: Any, is_log: bool) -> Any:
    """The density, or its logarithm, at the columns of x."""
    d = points.shape[0]
    root = np.linalg.cholesky(precision)
    log_norm = np.sum(np.log(np.diagonal(root))) - 0.5 * d * math.log(2 * math.pi)
    here, there = x.T @ root, points.T @ root
    distance = np.sum(np.square(here[:, None, :] - there[None, :, :]), axis=-1)
    if is_log:
        return special.logsumexp(np.log(weights) - 0.5 * distance, axis=-1) + log_norm
    return np.sum(weights * np.exp(-0.5 * distance), axis=-1) * np.exp(log_norm)
