"""Normal samples, and the distributions that are made of them without rejection."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.types import real_dtype
from transpile.numpy.core.promotion import NumpyErrors, cast
from transpile.numpy.core.promotion import error as located
from transpile.primitives.rules import apply
from transpile.random.arguments import (
    canonical_shape,
    check_safe,
    inexact,
    joint_shape,
    own_dtype,
    own_parameter,
    parameter,
    sample_shape,
)
from transpile.random.bits import DType, split, unit_floats
from transpile.random.evaluation import sampled
from transpile.random.keys import key_bits
from transpile.random.uniforms import between, open_uniform, signs

ONE = np.float32(1)


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard normal samples: mean 0, variance 1; complex ones have variance 1/2 in each part.

    sqrt(2) erf_inv of uniform floats from (-1, 1). Raises ValueError for other dtypes than floats
    and complex numbers.
    """
    data, _ = key_bits("normal", key)
    sizes = canonical_shape(shape)
    return sampled(standard, data, shape=sizes, dtype=own_dtype("normal", dtype, float, "fc"))


def standard(key: Any, shape: Shape, dtype: DType) -> Any:
    """Normal samples by the inverse of the distribution function, in a trace."""
    if dtype.kind == "c":
        parts = [standard(k, shape, real_dtype(dtype)) for k in split(key)]
        return apply("complex", *parts) / cast(math.sqrt(2), dtype)[()]
    return cast(math.sqrt(2), dtype)[()] * apply("erf_inv", _symmetric(key, shape, dtype))


def _symmetric(key: Any, shape: Shape, dtype: DType) -> Any:
    """Uniform samples from (-1, 1)."""
    low = np.nextafter(cast(-1.0, dtype), cast(0.0, dtype))
    return open_uniform(key, low[()], shape, dtype)


def lognormal(
    key: Any,
    sigma: Any = ONE,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Log-normal samples: exp(sigma z) for a standard normal z.

    Raises ValueError where sigma does not broadcast to `shape`, TypePromotionError where it loses
    precision in the dtype.
    """
    data, _ = key_bits("lognormal", key)
    chosen = own_dtype("lognormal", dtype, float, "fc")
    sizes = sample_shape("lognormal", shape, sigma)
    check_safe("lognormal", chosen, sigma)
    return sampled(_lognormal, data, parameter(sigma, chosen), shape=sizes, dtype=chosen)


def _lognormal(key: Any, sigma: Any, shape: Shape, dtype: DType) -> Any:
    return np.exp(standard(key, shape, dtype) * sigma)


def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Standard normal samples conditioned to lie in (lower, upper), which broadcast to `shape`.

    By the inverse of the distribution function, so far in the tails, where that is flat, the
    samples are coarse.
    """
    sizes = None if shape is None else canonical_shape(shape)
    data, _ = key_bits("truncated_normal", key)
    chosen = own_dtype("truncated_normal", dtype, float)
    sizes = sample_shape("truncated_normal", sizes, lower, upper)
    low, high = (parameter(x, chosen) for x in (lower, upper))
    return sampled(_truncated, data, low, high, shape=sizes, dtype=chosen)


def _truncated(key: Any, lower: Any, upper: Any, shape: Shape, dtype: DType) -> Any:
    root = cast(math.sqrt(2), dtype)[()]
    low, high = (_erf(x / root) for x in (lower, upper))
    samples = root * apply("erf_inv", between(key, low, high, shape, dtype))
    inf = dtype.type(math.inf)
    first = np.nextafter(_constant(lower), inf)
    last = np.nextafter(_constant(upper), -inf)
    return np.minimum(np.maximum(samples, first), last)


def _erf(x: Any) -> Any:
    return apply("erf", x)


def _constant(x: Any) -> Any:
    """The value, which has no derivative."""
    return apply("stop_gradient", x)


# ------------------------------------------------------------------------------------- of vectors


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Normal vectors with a mean (..., n) and covariance (..., n, n): mean + R z for a root R R^T
    of the covariance.

    R is by `method` the Cholesky factor, or comes from eigenvalues ("eigh") or singular values
    ("svd"). A covariance that is not positive definite gives NaN. Raises ValueError for another
    method and for shapes that do not fit.
    """
    data, _ = key_bits("multivariate_normal", key)
    center, matrix = inexact(mean, cov)
    if method not in ("svd", "eigh", "cholesky"):
        raise located(ValueError, "method must be one of {'svd', 'eigh', 'cholesky'}")
    chosen = own_dtype("multivariate_normal", center.dtype if dtype is None else dtype, float)
    sizes = None if shape is None else canonical_shape(shape)
    _check_system(center, matrix)
    heads = center.shape[:-1], matrix.shape[:-2]
    if sizes is None:
        sizes = joint_shape(*heads)
    else:
        sample_shape("normal", sizes, *(np.broadcast_to(np.empty(()), h) for h in heads))
    return sampled(_vectors, data, center, matrix, shape=sizes, dtype=chosen, method=method)


def _check_system(mean: Any, cov: Any) -> None:
    for name, x, least in (("mean", mean, 1), ("cov", cov, 2)):
        if x.ndim < least:
            raise located(
                ValueError,
                f"multivariate_normal requires {name}.ndim >= {least}, got {name}.ndim == {x.ndim}",
            )
    n = mean.shape[-1]
    if tuple(cov.shape[-2:]) != (n, n):
        raise located(
            ValueError,
            f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got cov.shape "
            f"== {cov.shape}.",
        )


def _vectors(key: Any, mean: Any, cov: Any, shape: Shape, dtype: DType, method: str) -> Any:
    linalg: Any = np.linalg
    if method == "svd":
        vectors, values, _ = linalg.svd(cov)
        root = vectors * np.sqrt(values[..., None, :])
    elif method == "eigh":
        values, vectors = linalg.eigh(cov)
        root = vectors * np.sqrt(values[..., None, :])
    else:
        root = linalg.cholesky((cov + np.matrix_transpose(cov)) / 2)
    samples = standard(key, (*shape, mean.shape[-1]), dtype)
    return mean + np.matmul(root, samples[..., None])[..., 0]


def orthogonal(
    key: Any,
    n: int,
    shape: Any = (),
    dtype: Any = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Orthogonal n x n matrices, uniform by Haar's measure; with m, n x m matrices with orthonormal
    rows or columns.

    Q of the QR factors of normal matrices, with R's diagonal made positive (F. Mezzadri, How to
    Generate Random Matrices from the Classical Compact Groups, 2007). Unitary for complex dtypes.
    """
    sizes = canonical_shape(shape)
    data, _ = key_bits("orthogonal", key)
    chosen = own_dtype("normal", dtype, float, "fc")
    with NumpyErrors():
        rows, columns = operator.index(n), operator.index(n if m is None else m)
    return sampled(_orthogonal, data, rows=rows, columns=columns, shape=sizes, dtype=chosen)


def _orthogonal(key: Any, rows: int, columns: int, shape: Shape, dtype: DType) -> Any:
    z = standard(key, (*shape, max(rows, columns), min(rows, columns)), dtype)
    linalg: Any = np.linalg
    q, r = linalg.qr(z)
    x = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
    return np.matrix_transpose(x) if rows < columns else x


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Samples of the Maxwell distribution: the lengths of standard normal vectors in three
    dimensions."""
    data, _ = key_bits("maxwell", key)
    chosen = own_dtype("maxwell", dtype, float)
    return sampled(lengths, data, shape=canonical_shape(shape), dtype=chosen)


def lengths(key: Any, shape: Shape, dtype: DType) -> Any:
    """The lengths of normal vectors in space, in a trace."""
    return np.sqrt(np.sum(np.square(standard(key, (*shape, 3), dtype)), axis=-1))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Samples of `maxwell` with random signs, times `scale`, plus `loc`, whose shape comes after
    `shape`."""
    data, _ = key_bits("double_sided_maxwell", key)
    chosen = own_dtype("double_sided_maxwell", dtype, float)
    own = joint_shape(tuple(np.shape(loc)), tuple(np.shape(scale)))
    sizes = (*(canonical_shape(shape) or own), *own)
    center, factor = (own_parameter(x, chosen) for x in (loc, scale))
    return sampled(_double_sided, data, center, factor, shape=sizes, dtype=chosen)


def _double_sided(key: Any, loc: Any, scale: Any, shape: Shape, dtype: DType) -> Any:
    first, second = split(key)
    return signs(second, shape, dtype) * lengths(first, shape, dtype) * scale + loc


def wald(
    key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Samples of the inverse Gaussian distribution with a mean and scale 1.

    A transformation with two roots (J. Michael, W. Schucany and R. Haas, 1976). Errors as those of
    `lognormal`.
    """
    data, _ = key_bits("wald", key)
    chosen = own_dtype("wald", dtype, float)
    sizes = sample_shape("wald", shape, mean)
    check_safe("wald", chosen, mean)
    return sampled(_wald, data, parameter(mean, chosen), shape=sizes, dtype=chosen)


def _wald(key: Any, mean: Any, shape: Shape, dtype: DType) -> Any:
    """Michael, Schucany, Haas, "Generating random variates using transformations with multiple
    roots" (1976)."""
    first, second = split(key)
    y = np.square(standard(first, shape, dtype))
    root = np.sqrt(4 * mean * y + np.square(mean) * np.square(y))
    x = mean + np.square(mean) * y / 2 - mean / 2 * root
    is_first = np.less_equal(unit_floats(second, shape, dtype), mean / (mean + x))
    return np.where(is_first, x, np.square(mean) / x)
