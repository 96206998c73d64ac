"""Helpers of reference implementations: long doubles and constants in them, evaluation under masks,
polynomials, Bernoulli numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from transpile.ir.types import is_bfloat16

LONG = np.longdouble
PI = LONG("3.14159265358979323846264338327950288")
EULER = LONG("0.57721566490153286060651209008240243")
HALF_LOG_TWO_PI = LONG("0.91893853320467274178032973640561764")
SQRT_PI = LONG("1.77245385090551602729816748334114518")
EPSILON = np.finfo(LONG).eps
LONGEST = 20000  # the most iterations of a series or continued fraction


def wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of vectors of long doubles as one of floats of any dtype, which are broadcast; the
    result has their dtype. NumPy's warnings are off."""

    @functools.wraps(function)
    def meaning(*operands: Any) -> Any:
        arrays = np.broadcast_arrays(*operands)
        dtype, shape = arrays[0].dtype, arrays[0].shape
        with np.errstate(all="ignore"):
            vectors = [_in_long(a).ravel() for a in arrays]
            result = function(*vectors).reshape(shape)
            if is_bfloat16(dtype):
                result = result.astype(np.float32)
            return result.astype(dtype)

    return meaning


def _in_long(x: Any) -> Any:
    return (x.astype(np.float32) if is_bfloat16(x.dtype) else x).astype(LONG)


def where_true(mask: Any, function: Callable[..., Any], into: Any, *vectors: Any) -> None:
    """Store the values of a function where a mask is set, and evaluate it only there."""
    if mask.any():
        into[mask] = function(*(v[mask] for v in vectors))


def polynomial(coefficients: Any, x: Any) -> Any:
    """The sum of c[k] x^k."""
    total = np.zeros_like(x)
    for c in reversed(list(coefficients)):
        total = total * x + c
    return total


@functools.cache
def bernoulli_numbers(count: int) -> tuple[Fraction, ...]:
    """B_2, B_4, ..., B_(2 count) (DLMF 24.5.3)."""
    numbers = [Fraction(1)]
    for n in range(1, 2 * count + 1):
        total = sum((comb(n + 1, k) * numbers[k] for k in range(n)), Fraction(0))
        numbers.append(-total / (n + 1))
    return tuple(numbers[2::2])


def long_of(value: Fraction) -> Any:
    """A fraction rounded to a long double, to within an ulp."""
    shift = 80 - value.numerator.bit_length() + value.denominator.bit_length()
    whole = round(value * Fraction(2) ** shift)
    high, low = divmod(abs(whole), 2**40)
    return np.ldexp(LONG(high) * LONG(2**40) + LONG(low), -shift) * (-1 if value < 0 else 1)


def sine_of_turns(x: Any) -> Any:
    """sin(pi x), up to its sign."""
    return np.sin(PI * (x - np.rint(x)))
