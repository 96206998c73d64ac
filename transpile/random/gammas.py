"""Samples of the gamma distribution, and what is made of them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.indices.row_major import product
from transpile.numpy.core.promotion import NumpyErrors, broadcast_to, reshape_to
from transpile.numpy.core.promotion import error as located
from transpile.primitives.random import random_gamma, random_loggamma
from transpile.random.arguments import (
    canonical_shape,
    check_safe,
    own_dtype,
    own_parameter,
    parameter,
    sample_shape,
)
from transpile.random.bits import DType, split, split_keys
from transpile.random.evaluation import sampled
from transpile.random.gamma_rejection import samples
from transpile.random.inverses import waiting
from transpile.random.key_arrays import KeyArray
from transpile.random.keys import key_bits
from transpile.random.normals import standard
from transpile.random.uniforms import signs
from transpile.trace.trace import bind


def gamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Samples of the gamma distribution of shape a, with density x^(a - 1) exp(-x) / Gamma(a).

    G. Marsaglia and W. Tsang, A Simple Method for Generating Gamma Variables, 2000. Differentiable
    in a, implicitly, at equal probability. Raises ValueError where a does not broadcast to `shape`.
    """
    return _gamma("gamma", False, key, a, shape, dtype)


def loggamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Logarithms of samples of `gamma`, which stay finite where those underflow for small a."""
    return _gamma("loggamma", True, key, a, shape, dtype)


def _gamma(name: str, is_log: bool, key: Any, a: Any, shape: Any, dtype: Any) -> Any:
    data, _ = key_bits(name, key)
    chosen = own_dtype("gamma", dtype, float)
    sizes = sample_shape("gamma", None if shape is None else canonical_shape(shape), a)
    return sampled(drawn, data, parameter(a, chosen), shape=sizes, is_log=is_log)


def drawn(key: Any, a: Any, shape: Shape, is_log: bool = False) -> Any:
    """Samples of the gamma distribution or their logarithms, in a trace: each has its own key."""
    keys = split_keys(key, (product(shape),))
    if isinstance(keys, KeyArray):
        flat = reshape_to(broadcast_to(a, shape), (product(shape),))
        return reshape_to(samples(flat, keys, is_log), shape)
    keys = reshape_to(keys, shape)
    row = random_loggamma if is_log else random_gamma
    return bind(row, broadcast_to(a, shape), keys)


# ----------------------------------------------------------------------------- made of two samples


def beta(
    key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Samples of the beta distribution of shapes a and b: x / (x + y) for two gamma samples, from
    their logarithms.

    Raises ValueError for parameters that do not broadcast to `shape`, TypePromotionError where they
    lose precision in the dtype; so do `t`, `chisquare` and `f`.
    """
    return _safely("beta", _beta, key, (a, b), shape, dtype)


def _safely(
    name: str, sampler: Any, key: Any, parameters: tuple[Any, ...], shape: Any, dtype: Any
) -> Any:
    """Samples of a distribution whose parameters fit into the dtype."""
    data, _ = key_bits(name, key)
    chosen = own_dtype(name, dtype, float)
    check_safe(name, chosen, *parameters)
    sizes = sample_shape(name, shape, *parameters)
    given = [parameter(p, chosen) for p in parameters]
    return sampled(sampler, data, *given, shape=sizes, dtype=chosen)


def _beta(key: Any, a: Any, b: Any, shape: Shape, dtype: DType) -> Any:
    """From logarithms, as the ratio of samples that may both be too small."""
    first, second = (drawn(k, x, shape, True) for k, x in zip(split(key), (a, b), strict=True))
    largest = np.maximum(first, second)
    first, second = np.exp(first - largest), np.exp(second - largest)
    return first / (first + second)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Samples of Student's t distribution with `df` degrees of freedom: a normal one over the root
    of a gamma one."""
    return _safely("t", _t, key, (df,), shape, dtype)


def _t(key: Any, df: Any, shape: Shape, dtype: DType) -> Any:
    first, second = split(key)
    half = df / dtype.type(2)
    return standard(first, shape, dtype) * np.sqrt(half / drawn(second, half, shape))


def chisquare(
    key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Samples of the chi-squared distribution with `df` degrees of freedom: twice a gamma one of
    shape df / 2."""
    return _safely("chisquare", _chisquare, key, (df,), shape, dtype)


def _chisquare(key: Any, df: Any, shape: Shape, dtype: DType) -> Any:
    two = dtype.type(2)
    return np.exp(drawn(key, df / two, shape, True)) * two


def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Samples of the F distribution: the ratio of two samples of `chisquare`, each divided by its
    degrees of freedom."""
    return _safely("f", _f, key, (dfnum, dfden), shape, dtype)


def _f(key: Any, dfnum: Any, dfden: Any, shape: Shape, dtype: DType) -> Any:
    below, above = split(key)
    numerator = _chisquare(above, dfnum, shape, dtype) / dfnum
    return numerator / (_chisquare(below, dfden, shape, dtype) / dfden)


# ---------------------------------------------------------------------------- simplices and balls


def dirichlet(
    key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Samples of the Dirichlet distribution: positive vectors with sum 1, along the last axis,
    which is that of `alpha`.

    Gamma samples divided by their sum, from their logarithms. Raises ValueError for a scalar
    `alpha`.
    """
    data, _ = key_bits("dirichlet", key)
    chosen = own_dtype("dirichlet", dtype, float)
    if np.ndim(alpha) < 1:
        raise located(
            ValueError, f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {np.ndim(alpha)}"
        )
    head, size = np.shape(alpha)[:-1], np.shape(alpha)[-1]
    wanted = head if shape is None else canonical_shape(shape)
    sizes = sample_shape("dirichlet", wanted, np.broadcast_to(np.empty(()), head))
    return sampled(_dirichlet, data, parameter(alpha, chosen), shape=(*sizes, size))


def _dirichlet(key: Any, alpha: Any, shape: Shape) -> Any:
    logarithms = drawn(key, alpha, shape, True)
    weights = np.exp(logarithms - np.max(logarithms, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True)


def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Samples with the density exp(-|x|^p), up to a factor: signed powers of gamma samples."""
    sizes = canonical_shape(shape)
    data, _ = key_bits("generalized_normal", key)
    chosen = own_dtype("gamma", dtype, float)
    return sampled(_generalized, data, own_parameter(p, chosen), shape=sizes, dtype=chosen)


def _generalized(key: Any, p: Any, shape: Shape, dtype: DType) -> Any:
    first, second = split(key)
    exponent = 1 / p
    magnitude = drawn(first, parameter(exponent, dtype), shape)
    return signs(second, shape, dtype) * np.power(magnitude, exponent)


def ball(
    key: Any,
    d: int,
    p: Any = 2,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Uniform points of the unit ball of the p-norm in d dimensions, along a new last axis.

    F. Barthe, O. Guédon, S. Mendelson and A. Naor, A Probabilistic Approach to the Geometry of the
    l_p^n-Ball, 2005.
    """
    sizes = canonical_shape(shape)
    data, _ = key_bits("ball", key)
    chosen = own_dtype("gamma", dtype, float)
    with NumpyErrors():
        count = operator.index(d)
    given = own_parameter(p, chosen)
    return sampled(_ball, data, given, count=count, shape=sizes, dtype=chosen)


def _ball(key: Any, p: Any, count: int, shape: Shape, dtype: DType) -> Any:
    first, second = split(key)
    point = _generalized(first, p, (*shape, count), dtype)
    total = np.sum(np.power(np.abs(point), p), axis=-1) + waiting(second, shape, dtype)
    return point / np.power(total, 1 / p)[..., None]
