"""numpy.i0, the Bessel function, by Chebyshev series, and numpy.sinc with its derivatives."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from transpile.ir.types import FLOAT64
from transpile.numpy.core.elementwise import where
from transpile.numpy.core.promotion import Array, as_array, convert, implements
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.ufuncs import call
from transpile.numpy.linalg.common import with_derivative

_TERMS = 20  # of a series up to 1, of which the last is below 1/20!

# The coefficients, computed with mpmath (40 digits): `_SMALL` are those of exp(-x) I0(x) for
# x = 4 (t + 1), up to 8; `_LARGE` those of exp(-x) sqrt(x) I0(x) for x = 16 / (t + 1), from 8 on.
# The first that is left out is below 2^-58 of the sum.
_SMALL = (
    0.33839763720473803,
    -0.3046826723431984,
    0.17162090152220877,
    -0.09490109704804764,
    0.04930528423967071,
    -0.02373741480589947,
    0.010546460394594998,
    -0.004324309995050576,
    0.0016394756169413357,
    -0.0005763755745385824,
    0.00018850288509584165,
    -5.754195010082104e-05,
    1.6448448070728896e-05,
    -4.4167383584587505e-06,
    1.1173875391201037e-06,
    -2.670793853940612e-07,
    6.046995022541919e-08,
    -1.300025009986248e-08,
    2.6598237246823866e-09,
    -5.189795601635263e-10,
    9.675809035373237e-11,
    -1.726826291441556e-11,
    2.95505266312964e-12,
    -4.856446783111929e-13,
    7.676185498604936e-14,
    -1.1685332877993451e-14,
    1.715391285555133e-15,
    -2.431279846547955e-16,
    3.3307945188222384e-17,
    -4.4153416464793395e-18,
)
_LARGE = (
    0.4022452055070544,
    0.0033691164782556943,
    6.889758346916825e-05,
    2.8913705208347567e-06,
    2.0489185894690638e-07,
    2.266668990498178e-08,
    3.3962320257083865e-09,
    4.94060238822497e-10,
    1.1889147107846439e-11,
    -3.1499165279632416e-11,
    -1.3215811840447713e-11,
    -1.7941785315068062e-12,
    7.180124451383666e-13,
    3.8527783827421426e-13,
    1.54008621752141e-14,
    -4.150569347287222e-14,
    -9.554846698828307e-15,
    3.8116806693526224e-15,
    1.7725601330565263e-15,
    -3.425485619677219e-16,
    -2.8276239805165836e-16,
    3.461222867697461e-17,
    4.46562142029676e-17,
    -4.830504485944182e-18,
    -7.233180487874754e-18,
)


@implements(np.i0)
def i0(x: Array) -> Any:
    """The modified Bessel function of the first kind of order 0, in the dtype of floats and float64
    for integers.

    Chebyshev series up to 8 and beyond, summed by C. Clenshaw's recurrence (A Note on the Summation
    of Chebyshev Series, 1955). Raises TypeError for complex numbers.
    """
    value = as_array(x)
    if value.dtype.kind == "c":
        raise located(TypeError, "i0 not supported for complex values")
    if value.dtype.kind != "f":
        value = convert(value, FLOAT64)
    size = call(np.absolute, value)
    is_small = call(np.less_equal, size, 8.0)
    near = _chebyshev(call(np.subtract, call(np.divide, size, 4.0), 1.0), _SMALL)
    # Not the size itself, whose zero would make the derivative of what is not chosen NaN.
    far_size = where(is_small, size.dtype.type(8), size)
    far = _chebyshev(call(np.subtract, call(np.divide, 16.0, far_size), 1.0), _LARGE)
    scaled = where(is_small, near, call(np.divide, far, call(np.sqrt, far_size)))
    return call(np.multiply, call(np.exp, size), scaled)


def _chebyshev(t: Any, coefficients: tuple[float, ...]) -> Any:
    """The sum of c[k] T_k(t), by Clenshaw's recurrence."""
    before = after = np.zeros((), t.dtype)
    twice = call(np.multiply, 2.0, t)
    for c in coefficients[:0:-1]:
        step = call(np.multiply, twice, before)
        before, after = call(np.add, call(np.subtract, step, after), t.dtype.type(c)), before
    last = call(np.subtract, call(np.multiply, t, before), after)
    return call(np.add, last, t.dtype.type(coefficients[0]))


@implements(np.sinc)
def sinc(x: Array) -> Any:
    """The normalised sinc function sin(pi x) / (pi x), 1 at 0, with derivatives of all orders."""
    return _sinc(call(np.multiply, np.pi, as_array(x)), 0)


def _sinc(t: Any, order: int) -> Any:
    """The derivative of an order of sin(t) / t."""
    value = functools.partial(_sinc_value, order=order)
    rule = functools.partial(_sinc_rule, order=order)
    (result,) = with_derivative("sinc", value, rule, t)
    return result


def _sinc_rule(operands: Any, tangents: Any, *, order: int) -> tuple[list[Any], list[Any]]:
    moved = None if tangents[0] is None else tangents[0] * _sinc(operands[0], order + 1)
    return [_sinc(operands[0], order)], [moved]


def _sinc_value(t: Any, *, order: int) -> list[Any]:
    """The integral over 0 < s < 1 of s^k cos(t s + k pi / 2), for the order k. For t up to 1 its
    Taylor series; else by t S(k) = sin(t + k pi / 2) - k S(k - 1), whose rounding grows for small
    t."""
    # Small enough for a quotient of 1. A float16 is 0 where float64 is still 1e-20.
    small = np.finfo(t.dtype).eps if t.dtype.kind == "f" else 1.0e-20
    safe = where(call(np.equal, t, 0), t.dtype.type(small), t)
    total = call(np.divide, call(np.sin, safe), safe)
    for k in range(1, order + 1):
        wave = call((np.sin, np.cos)[k % 2], safe)
        wave = call(np.negative, wave) if k % 4 > 1 else wave
        total = call(np.divide, call(np.subtract, wave, call(np.multiply, float(k), total)), safe)
    if order == 0:
        return [total]
    is_near = call(np.less_equal, call(np.absolute, t), 1.0)
    near = where(is_near, t, t.dtype.type(0))
    series: Any = t.dtype.type(0)
    for j in reversed(range(_TERMS)):
        sign = (1.0, 0.0, -1.0, 0.0)[(j + order) % 4]
        term = t.dtype.type(sign / (math.factorial(j) * (order + j + 1)))
        series = call(np.add, call(np.multiply, series, near), term)
    return [where(is_near, series, total)]
