"""The parts of floats, through their bits: sign, exponent, mantissa, the next float.

A float is sign, exponent and mantissa from the highest bit down; a zero exponent is that of
subnormal numbers, whose mantissa has no leading one (IEEE 754-2019, 3.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.ir.types import is_bfloat16
from transpile.primitives.rules import apply


def _widths(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The bits of the mantissa, and the bias of the exponent."""
    if is_bfloat16(dtype):
        return 7, 127
    info = np.finfo(dtype)
    return info.nmant, info.maxexp - 1


def _unsigned(x: Any, value: int) -> Any:
    return np.asarray(value, f"u{x.dtype.itemsize}")


def _sign_mask(x: Any) -> Any:
    return _unsigned(x, 1 << (8 * x.dtype.itemsize - 1))


def _from_bits(bits: Any, dtype: np.dtype[Any]) -> Any:
    return apply("float_from_bits", bits, dtype=dtype)


def signbit(x: Any) -> Any:
    """The highest bit."""
    return (apply("bits", x) & _sign_mask(x)) != 0


def copysign(x: Any, y: Any) -> Any:
    """The bits of x below the highest one, which is that of y."""
    mask = _sign_mask(x)
    return _from_bits((apply("bits", x) & ~mask) | (apply("bits", y) & mask), x.dtype)


def isnan(x: Any) -> Any:
    """A NaN is not equal to itself."""
    if x.dtype.kind == "c":
        return np.isnan(np.real(x)) | np.isnan(np.imag(x))
    return x != x


def isinf(x: Any) -> Any:
    """|x| is infinite."""
    if x.dtype.kind == "c":
        return np.isinf(np.real(x)) | np.isinf(np.imag(x))
    return np.absolute(x) == np.asarray(np.inf, x.dtype)


def isfinite(x: Any) -> Any:
    """Both parts of a complex number are."""
    return np.isfinite(np.real(x)) & np.isfinite(np.imag(x))


def nextafter(x: Any, y: Any) -> Any:
    """The bits, as an integer, one up or down; from zero the least subnormal number."""
    bits, mask = apply("bits", x), _sign_mask(x)
    one = _unsigned(x, 1)
    is_away = (x < y) == (x > 0)
    moved = np.where(is_away, bits + one, bits - one)
    least = (apply("bits", y) & mask) | one
    moved = _from_bits(np.where(x == 0, least, moved), x.dtype)
    result = np.where(x == y, y, moved)
    return np.where(np.isnan(x) | np.isnan(y), x + y, result)


def spacing(x: Any) -> Any:
    """The distance to the next float away from zero; in NumPy's float16 to the next greater one."""
    bits, one = apply("bits", x), _unsigned(x, 1)
    following = bits + one
    if x.dtype == np.float16:
        following = np.where(x == 0, one, np.where(x < 0, bits - one, following))
    beyond = _from_bits(following, x.dtype)
    return np.where(np.isfinite(x), beyond - x, np.asarray(np.nan, x.dtype))


def _normalised(x: Any) -> tuple[Any, Any]:
    """The number times a power of two that makes it a normal one, and that power."""
    mantissa, bias = _widths(x.dtype)
    least = np.asarray(2.0 ** (1 - bias), x.dtype)
    is_small = np.absolute(x) < least
    scale = np.asarray(2.0 ** (mantissa + 2), x.dtype)
    power = np.where(is_small, np.int32(mantissa + 2), np.int32(0))
    return np.where(is_small, x * scale, x), power


def _has_parts(x: Any) -> Any:
    return np.isfinite(x) & (x != 0)


def exponent(x: Any) -> Any:
    """e of x = m 2^e with 1/2 <= |m| < 1; of zero, infinity and NaN 0."""
    mantissa, bias = _widths(x.dtype)
    normal, power = _normalised(x)
    field = (apply("bits", normal) & ~_sign_mask(x)) >> _unsigned(x, mantissa)
    found = field.astype(np.int32) - np.int32(bias - 1) - power
    return np.where(_has_parts(x), found, np.int32(0))


def mantissa(x: Any) -> Any:
    """m of x = m 2^e with 1/2 <= |m| < 1; x of zero, infinity and NaN."""
    width, bias = _widths(x.dtype)
    normal, _ = _normalised(x)
    kept = _sign_mask(x) | _unsigned(x, (1 << width) - 1)
    half = _unsigned(x, (bias - 1) << width)
    return np.where(_has_parts(x), _from_bits((apply("bits", normal) & kept) | half, x.dtype), x)


def ldexp(x: Any, power: Any) -> Any:
    """x 2^power in three steps, whose factors are all normal numbers."""
    width, bias = _widths(x.dtype)
    # Beyond three times the range of exponents all results are zero or infinite.
    power = np.clip(power.astype(np.int32), -3 * bias, 3 * bias)
    for left in (3, 2, 1):
        part = power if left == 1 else apply("quotient", power, np.int32(left))
        field = (part + np.int32(bias)).astype(f"u{x.dtype.itemsize}")
        x = x * _from_bits(field << _unsigned(x, width), x.dtype)
        power = power - part
    return x


def order_key(x: Any) -> Any:
    """The magnitude with the sign; the largest integer for NaNs."""
    signed = np.dtype(f"i{x.dtype.itemsize}")
    magnitude = (apply("bits", x) & ~_sign_mask(x)).astype(signed)
    number = np.where(signbit(x), -magnitude, magnitude)
    return np.where(isnan(x), np.asarray(np.iinfo(signed).max, signed), number)


def trunc(x: Any) -> Any:
    """Rounded towards zero."""
    return np.where(x < 0, np.ceil(x), np.floor(x))


EXPANSIONS: Rules = {
    "copysign": copysign,
    "exponent": exponent,
    "isfinite": isfinite,
    "isinf": isinf,
    "isnan": isnan,
    "ldexp": ldexp,
    "mantissa": mantissa,
    "nextafter": nextafter,
    "order_key": order_key,
    "rint": lambda x: apply("complex", np.rint(np.real(x)), np.rint(np.imag(x))),
    "signbit": signbit,
    "spacing": spacing,
    "trunc": trunc,
}
