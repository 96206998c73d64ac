"""Sums of float64 that are rounded once.

Each number is added to an integer as wide as all doubles, in digits of 32 bits with room for
carries: no order of additions changes it. After U. Kulisch and W. Miranker, Computer arithmetic in
theory and practice, 1981.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile import lax
from transpile.functional.custom import custom_jvp

_DIGIT = 32  # bits
_MASK = 2**_DIGIT - 1
_BELOW = 3  # digits that are 0, so that there are some below the highest one
_DIGITS = _BELOW + 69  # 2**-1074 to 2**1024, and the carries of 2**30 numbers
_LOWEST = -1074 - _DIGIT * _BELOW  # the power of two of the lowest bit


@custom_jvp
def exact_sum(x: Any) -> Any:
    """The sum of the elements of a vector of float64, correctly rounded, as `math.fsum` has it: NaN
    for infinities of both signs, infinite where the sum is too large. Fewer than 2**30 elements."""
    digits = lax.fori_loop(0, _DIGITS - 1, _carry, _digits(x))
    is_negative = digits[-1] < 0
    digits = lax.fori_loop(0, _DIGITS - 1, _carry, np.where(is_negative, -digits, digits))
    size = _rounded(digits)
    result = np.where(is_negative, -size, size)
    return np.where(np.all(np.isfinite(x)), result, np.sum(x))


@exact_sum.defjvp
def _derivative(primals: Any, tangents: Any) -> Any:
    return exact_sum(*primals), np.sum(tangents[0])


def _digits(x: Any) -> Any:
    """The digits of the sum, before carries: those of each number have its sign."""
    bits = x.view(np.int64)
    exponent, fraction = (bits >> 52) & 0x7FF, bits & (2**52 - 1)
    significand = np.where(exponent > 0, fraction | 2**52, fraction)
    place = np.maximum(exponent - 1, 0) + _DIGIT * _BELOW
    at, shift = place // _DIGIT, place % _DIGIT
    sign = np.where(bits < 0, -1, 1)
    low, high = (significand & _MASK) << shift, (significand >> _DIGIT) << shift
    parts = (low & _MASK, (low >> _DIGIT) + (high & _MASK), high >> _DIGIT)
    digits = lax.full((_DIGITS,), 0, np.int64)
    for position, part in enumerate(parts):
        digits = digits.at[at + position].add(sign * part)
    return digits


def _carry(k: Any, digits: Any) -> Any:
    carry = digits[k] >> _DIGIT
    return digits.at[k].set(digits[k] & _MASK).at[k + 1].add(carry)


def _rounded(digits: Any) -> Any:
    """The number that has these digits. Of its bits from the highest one on, 62 are an integer,
    whose last one says, too, whether anything is below: its conversion rounds as that of all
    would."""
    top = np.max(np.where(digits > 0, np.arange(_DIGITS), _BELOW - 1))
    first, second, third = digits[top], digits[top - 1], digits[top - 2]
    shift = _DIGIT - np.frexp(first.astype(np.float64))[1]
    shifted = second << shift
    below = third & ((1 << (_DIGIT + 2 - shift)) - 1)
    is_rest = ((shifted & 3) | below) != 0
    is_rest = is_rest | np.any((digits > 0) & (np.arange(_DIGITS) < top - 2))
    whole = (first << (_DIGIT - 2 + shift)) | (shifted >> 2) | (third >> (_DIGIT + 2 - shift))
    power = _DIGIT + 2 - shift + _DIGIT * (top - 2) + _LOWEST
    number = np.ldexp((whole | is_rest).astype(np.float64), power.astype(np.int32))
    return np.where(first > 0, number, 0.0)
