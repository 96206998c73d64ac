"""Samples by the inverse of a distribution function, each from one uniform number (or two, for
`gumbel`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.types import FLOAT32, finfo
from transpile.numpy.core.promotion import cast, convert
from transpile.numpy.core.promotion import error as located
from transpile.primitives.rules import apply
from transpile.random.arguments import (
    canonical_shape,
    check_safe,
    inexact,
    own_dtype,
    own_parameter,
    parameter,
    sample_shape,
)
from transpile.random.bits import DType, bits_of, unit_floats
from transpile.random.evaluation import sampled
from transpile.random.keys import key_bits
from transpile.random.uniforms import open_uniform

UINT32 = np.dtype("uint32")
Sampler = Callable[..., Any]


def _without_parameters(name: str, sampler: Sampler, key: Any, shape: Any, dtype: Any) -> Any:
    data, _ = key_bits(name, key)
    chosen = own_dtype(name, dtype, float)
    return sampled(sampler, data, shape=canonical_shape(shape), dtype=chosen)


def _with_parameters(
    name: str, sampler: Sampler, key: Any, parameters: tuple[Any, ...], shape: Any, dtype: Any
) -> Any:
    data, _ = key_bits(name, key)
    chosen = own_dtype(name, dtype, float)
    sizes = sample_shape(name, shape, *parameters)
    check_safe(name, chosen, *parameters)
    given = [parameter(p, chosen) for p in parameters]
    return sampled(sampler, data, *given, shape=sizes, dtype=chosen)


# ------------------------------------------------------------------------------ without parameters


def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Samples of the exponential distribution of rate 1: -log1p(-u) for a uniform u."""
    return _without_parameters("exponential", waiting, key, shape, dtype)


def waiting(key: Any, shape: Shape, dtype: DType) -> Any:
    """Exponential samples, in a trace."""
    return -np.log1p(-unit_floats(key, shape, dtype))


def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Samples of the standard Cauchy distribution: tan(pi (u - 1/2)) for a uniform u."""
    return _without_parameters("cauchy", _cauchy, key, shape, dtype)


def _cauchy(key: Any, shape: Shape, dtype: DType) -> Any:
    u = open_uniform(key, float(finfo(dtype).eps), shape, dtype)
    return np.tan(cast(math.pi, dtype)[()] * (u - cast(0.5, dtype)[()]))


def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Samples of the standard Laplace distribution, with density exp(-|x|) / 2."""
    return _without_parameters("laplace", _laplace, key, shape, dtype)


def _laplace(key: Any, shape: Shape, dtype: DType) -> Any:
    u = open_uniform(key, float(finfo(dtype).epsneg) - 1.0, shape, dtype)
    return np.sign(u) * np.log1p(-np.abs(u))


def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Samples of the standard logistic distribution: log(u / (1 - u)) for a uniform u."""
    return _without_parameters("logistic", _logistic, key, shape, dtype)


def _logistic(key: Any, shape: Shape, dtype: DType) -> Any:
    u = open_uniform(key, float(finfo(dtype).tiny), shape, dtype)
    return np.log(u) - np.log1p(-u)


# ------------------------------------------------------------------------------------------ gumbel


def gumbel(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Samples of the standard Gumbel distribution, with distribution function exp(-exp(-x)):
    -log(-log(u)).

    mode  "low", the default, takes the bits of one number. "high" takes twice as many, which
          matters for large samples; "highest" is the same but for float32, where it takes 64 bits

    Raises ValueError for another mode.
    """
    data, _ = key_bits("gumbel", key)
    chosen = own_dtype("gumbel", dtype, float)
    sizes = canonical_shape(shape)
    return sampled(extremes, data, shape=sizes, dtype=chosen, mode=gumbel_mode(mode))


def gumbel_mode(mode: str | None) -> str:
    """The mode, which is one of three; None is "low"."""
    if mode not in (None, "highest", "high", "low"):
        raise located(ValueError, f"Must provide valid mode for gumbel got: {mode}")
    return mode or "low"


def extremes(key: Any, shape: Shape, dtype: DType, mode: str) -> Any:
    """Gumbel's samples, in a trace."""
    if mode == "low":
        return -np.log(-np.log(open_uniform(key, float(finfo(dtype).tiny), shape, dtype)))
    if mode == "highest" and dtype == FLOAT32:
        return _finest_extremes(key, shape)
    info = finfo(dtype)
    high, low = unit_floats(key, (2, *shape), dtype)
    half = cast(0.5, dtype)[()]
    more = high + cast(2.0**-info.nmant, dtype)[()] * low + cast(float(info.tiny), dtype)[()]
    return -np.log(-np.log1p(-np.where(high >= half, high, more)))


def _finest_extremes(key: Any, shape: Shape) -> Any:
    """From 64 bits as a fraction of fixed point: of x or 1 - x the one that is below 1/2, so that
    rounding to float32 costs nothing where it matters."""
    upper, lower = bits_of(key, (2, *shape), 32)
    is_small = upper < np.uint32(2**31)
    fraction = convert(upper, np.dtype("uint64")) << np.uint64(32)
    fraction = fraction | convert(lower, np.dtype("uint64"))
    near = _fraction_float(np.where(is_small, fraction, np.negative(fraction)))
    return np.where(is_small, -np.log(-np.log1p(-near)), -np.log(-np.log(near)))


def _fraction_float(fraction: Any) -> Any:
    """fraction / 2**64 in float32, rounded towards zero."""
    zeros = apply("count_leading_zeros", fraction)
    mantissa = convert((fraction << zeros) >> np.uint64(40), UINT32) & np.uint32(2**23 - 1)
    exponent = convert(np.uint64(126) - zeros, UINT32) << np.uint32(23)
    return apply("float_from_bits", exponent & np.uint32(0x3F800000) | mantissa, dtype=FLOAT32)


# --------------------------------------------------------------------------------- with parameters


def pareto(
    key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Samples of the Pareto distribution of shape b, with density b / x^(b + 1) for x >= 1.

    Raises ValueError for parameters that do not broadcast to `shape`, TypePromotionError where they
    lose precision in the dtype; so do `rayleigh` and `triangular`.
    """
    return _with_parameters("pareto", _pareto, key, (b,), shape, dtype)


def _pareto(key: Any, b: Any, shape: Shape, dtype: DType) -> Any:
    return np.exp(waiting(key, shape, dtype) / b)


def rayleigh(
    key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Samples of the Rayleigh distribution: the length of a vector of two standard normal
    components, times `scale`."""
    return _with_parameters("rayleigh", _rayleigh, key, (scale,), shape, dtype)


def _rayleigh(key: Any, scale: Any, shape: Shape, dtype: DType) -> Any:
    return scale * np.sqrt(np.log(unit_floats(key, shape, dtype)) * cast(-2.0, dtype)[()])


def triangular(
    key: Any,
    left: Any,
    mode: Any,
    right: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Samples of the triangular distribution, whose density rises from `left` to `mode` and falls
    to `right`."""
    return _with_parameters("triangular", _triangular, key, (left, mode, right), shape, dtype)


def _triangular(key: Any, left: Any, mode: Any, right: Any, shape: Shape, dtype: DType) -> Any:
    u = unit_floats(key, shape, dtype)
    rising = left + np.sqrt(u * (right - left) * (mode - left))
    falling = right - np.sqrt((1 - u) * (right - left) * (right - mode))
    return np.where(u < (mode - left) / (right - left), rising, falling)


def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Any:
    """Samples of the Weibull distribution, with distribution function 1 - exp(-(x /
    scale)^concentration).

    The parameters broadcast with the samples, and may make them of a larger shape or dtype.
    """
    data, _ = key_bits("weibull_min", key)
    chosen = own_dtype("weibull_min", dtype, float)
    given = [own_parameter(x, chosen) for x in (scale, concentration)]
    return sampled(_weibull, data, *given, shape=canonical_shape(shape), dtype=chosen)


def _weibull(key: Any, scale: Any, concentration: Any, shape: Shape, dtype: DType) -> Any:
    return np.power(waiting(key, shape, dtype), 1.0 / concentration) * scale


def geometric(
    key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Samples of the geometric distribution: the number of trials up to the first success, of
    probability p; int64 by default.

    Raises ValueError for other dtypes than integers.
    """
    data, _ = key_bits("geometric", key)
    chosen = own_dtype("geometric", dtype, int, "iu")
    sizes = sample_shape("geometric", shape, p)
    (chance,) = inexact(p)
    return sampled(_geometric, data, chance, shape=sizes, dtype=chosen)


def _geometric(key: Any, p: Any, shape: Shape, dtype: DType) -> Any:
    u = unit_floats(key, shape, p.dtype)
    log = np.log(np.where(np.equal(u, 0), p.dtype.type(1), u))
    return convert(np.floor(log / np.log1p(-p)) + 1, dtype)
