"""Uniform samples, and those that a comparison or a remainder makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.types import INT64, finfo, kind_letter
from transpile.numpy.core.promotion import as_array, broadcast_to, cast, convert
from transpile.numpy.core.promotion import error as located
from transpile.random.arguments import canonical_shape, own_dtype, parameter, sample_shape
from transpile.random.bits import DType, bits_64, bits_of, split, unit_floats
from transpile.random.evaluation import sampled
from transpile.random.keys import key_bits
from transpile.trace.tracer import Tracer

INT32 = np.dtype("int32")


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Unsigned integers of uniformly distributed bits, uint64 by default."""
    data, _ = key_bits("bits", key)
    chosen = own_dtype("bits", np.uint64 if dtype is None else dtype, int, "u")
    return sampled(bits_of, data, shape=canonical_shape(shape), width=8 * chosen.itemsize)


# ------------------------------------------------------------------------------------------ floats


def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Uniform floats from [minval, maxval), which broadcast to `shape`.

    m random bits beside the exponent of 1, for floats with an m-bit mantissa: multiples of 2**-m
    before scaling. Where rounding would reach maxval it may be returned. Raises ValueError for
    other dtypes than floats, and TypeError for bounds that do not broadcast.
    """
    data, _ = key_bits("uniform", key)
    chosen = own_dtype("uniform", dtype, float)
    sizes = canonical_shape(shape)
    are_python = type(minval) in (int, float) and type(maxval) in (int, float)
    if are_python and (minval, maxval) == (0, 1):
        return sampled(unit_floats, data, shape=sizes, dtype=chosen)
    low, high = (parameter(x, chosen) for x in (minval, maxval))
    return sampled(between, data, low, high, shape=sizes, dtype=chosen)


def between(key: Any, low: Any, high: Any, shape: Shape, dtype: DType) -> Any:
    """Floats from [low, high), which are of the dtype, in a trace."""
    if len({(), shape, *(tuple(x.shape) for x in (low, high))}) > 2:
        _check_bounds(shape, low, high)
    samples = unit_floats(key, shape, dtype) * (high - low) + low
    is_known = not isinstance(low, Tracer) and not isinstance(high, Tracer)
    if is_known and np.all(low <= high) and np.all(np.isfinite(high - low)):
        return samples  # rounding is monotonic
    return np.maximum(low, samples)


def _check_bounds(shape: Shape, *bounds: Any) -> None:
    for bound in bounds:
        own = tuple(bound.shape)
        aligned = (1,) * (len(shape) - len(own)) + own
        fits = len(aligned) == len(shape) and all(
            a in (1, b) for a, b in zip(aligned, shape, strict=True)
        )
        if not fits:
            raise located(
                TypeError, f"mul got incompatible shapes for broadcasting: {shape}, {own}."
            )


def open_uniform(key: Any, low: float, shape: Shape, dtype: DType) -> Any:
    """Floats from [low, 1), in a trace."""
    return between(key, cast(low, dtype)[()], cast(1.0, dtype)[()], shape, dtype)


# ---------------------------------------------------------------------------------------- integers


def randint(
    key: Any,
    shape: Any,
    minval: Any,
    maxval: Any,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Uniform integers from [minval, maxval), which broadcast to `shape`; minval where that is
    empty.

    Twice as many bits as the dtype has, modulo the size of the range, so that the bias is below
    2**-width. int64 by default; bounds beyond the dtype are clipped. Raises TypeError for other
    dtypes than integers.
    """
    data, _ = key_bits("randint", key)
    chosen = np.dtype(int) if dtype is None else _int_dtype(dtype)
    sizes = canonical_shape(shape)
    low, high = _integers(minval), _integers(maxval)
    inner = chosen
    if chosen.itemsize < 4:  # more bits than asked for: the remainder is nearer to uniform
        inner = INT32
        info: Any = np.iinfo(chosen)
        low = np.clip(convert(low, INT32), info.min, info.max)
        high = np.clip(convert(high, INT32), info.min, info.max + 1)
    sample_shape("randint", sizes, low, high)
    return sampled(_randint, data, low, high, shape=sizes, inner=inner, dtype=chosen)


def _int_dtype(dtype: Any) -> DType:
    wanted = own_dtype("randint", dtype, int, "biufc")
    if wanted.kind not in "iu":
        raise located(TypeError, f"randint only accepts integer dtypes, got {wanted}")
    return wanted


def _integers(value: Any) -> Any:
    value = as_array(value)
    return value if value.dtype.kind in "iu" else convert(value, INT64)


def _randint(key: Any, low: Any, high: Any, shape: Shape, inner: DType, dtype: DType) -> Any:
    """Twice as many bits as the dtype has, modulo the number of integers in the range."""
    unsigned = np.dtype(f"u{inner.itemsize}")
    width = 8 * inner.itemsize
    is_beyond = np.greater(high, _clipped_limit(inner, high.dtype))
    low, high = _clipped(low, inner), _clipped(high, inner)
    is_empty = high <= low
    span = np.where(is_empty, unsigned.type(1), convert(high - low, unsigned))
    span = np.where(np.logical_and(is_beyond, np.logical_not(is_empty)), span + one(unsigned), span)
    upper, lower = (bits_of(k, shape, width) for k in split(key))
    factor = _modulo(unsigned.type(2 ** (width // 2)), span)
    factor = _modulo(factor * factor, span)
    span, factor = (broadcast_to(as_array(x), shape) for x in (span, factor))
    offsets = _modulo(_modulo(upper, span) * factor + _modulo(lower, span), span)
    return convert(low + convert(offsets, inner), dtype)


def one(dtype: DType) -> Any:
    """The number one of a dtype."""
    return dtype.type(1)


def _clipped_limit(inner: DType, dtype: DType) -> Any:
    """The largest integer of a dtype, or of the other if that is less."""
    return dtype.type(min(np.iinfo(inner).max, np.iinfo(dtype).max))


def _clipped(value: Any, dtype: DType) -> Any:
    """Integers in a dtype, the nearest ones of it."""
    info: Any = np.iinfo(dtype)
    own: Any = np.iinfo(value.dtype)
    low, high = max(info.min, own.min), min(info.max, own.max)
    return convert(np.clip(value, value.dtype.type(low), value.dtype.type(high)), dtype)


def _modulo(x: Any, span: Any) -> Any:
    """The remainder; x where the span is 0, which stands for all integers of the dtype."""
    is_all = np.equal(span, 0)
    return np.where(is_all, x, np.remainder(x, np.where(is_all, one(span.dtype), span)))


# ------------------------------------------------------------------------------------ two outcomes


def bernoulli(
    key: Any,
    p: Any = 0.5,
    shape: Any = None,
    mode: str = "low",
    *,
    out_sharding: Any = None,
) -> Any:
    """True with probability p, as bools of the shape of p by default.

    Uniform floats below p. `mode="high"` takes twice as many bits, for small p. Raises TypeError
    unless p is a float, ValueError for another mode.
    """
    sizes = None if shape is None else canonical_shape(shape)
    if mode not in ("high", "low"):
        raise located(ValueError, f"got {mode=}, expected 'high' or 'low'")
    data, _ = key_bits("bernoulli", key)
    chance = as_array(p)
    if kind_letter(chance.dtype) != "f":
        raise located(
            TypeError,
            f"bernoulli probability `p` must have a floating dtype, got {chance.dtype}.",
        )
    sizes = sample_shape("bernoulli", sizes, chance)
    return sampled(_bernoulli, data, chance, shape=sizes, is_fine=mode == "high")


def _bernoulli(key: Any, p: Any, shape: Shape, is_fine: bool) -> Any:
    if not is_fine:
        return np.less(unit_floats(key, shape, p.dtype), p)
    coarse, fine = unit_floats(key, (2, *shape), p.dtype)
    return np.less(fine * p.dtype.type(2.0 ** -finfo(p.dtype).nmant), p - coarse)


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """1 or -1 with equal probability, int64 by default."""
    data, _ = key_bits("rademacher", key)
    chosen = own_dtype("rademacher", dtype, int, "biufc")
    return sampled(signs, data, shape=canonical_shape(shape), dtype=chosen)


def signs(key: Any, shape: Shape, dtype: DType) -> Any:
    """1 or -1 with equal chances, in a trace."""
    is_positive = np.less(bits_64(key, shape), np.uint64(2**63))
    return np.where(is_positive, cast(1, dtype), cast(-1, dtype))
