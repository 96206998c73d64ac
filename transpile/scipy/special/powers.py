"""Exponentials, logarithms, angles in degrees, losses and inverses of Box-Cox transforms, as in
`scipy.special`: those that are a line of NumPy, or one with care where terms cancel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.scipy.special.operands import Array, promoted, public, real

__all__ = [
    "cbrt",
    "cosdg",
    "cosm1",
    "exp2",
    "exp10",
    "expm1",
    "exprel",
    "huber",
    "inv_boxcox",
    "inv_boxcox1p",
    "log1p",
    "log_expit",
    "pseudo_huber",
    "radian",
    "sindg",
    "tandg",
]


@public
def cbrt(x: Array) -> Any:
    """The cube root of each element, real for negative ones."""
    return np.cbrt(*real("cbrt", x))


@public
def exp2(x: Array) -> Any:
    """2 to the power x."""
    return np.exp2(*real("exp2", x))


@public
def exp10(x: Array) -> Any:
    """10 to the power x."""
    (value,) = real("exp10", x)
    return np.power(value.dtype.type(10), value)


@public
def expm1(x: Array) -> Any:
    """exp(x) - 1, without cancellation."""
    return np.expm1(*promoted("expm1", x))


@public
def log1p(x: Array) -> Any:
    """log(1 + x), without cancellation."""
    return np.log1p(*promoted("log1p", x))


@public
def exprel(x: Array) -> Any:
    """(exp(x) - 1) / x, 1 at 0."""
    (value,) = real("exprel", x)
    small = np.abs(value) < np.finfo(value.dtype).eps / 2
    other = np.where(small, 1, value)
    result = np.where(small, 1 + value / 2, np.expm1(other) / other)
    return np.where(np.equal(value, np.inf), value, result)


@public
def cosm1(x: Array) -> Any:
    """cos(x) - 1 = -2 sin(x / 2)^2, without cancellation."""
    (value,) = real("cosm1", x)
    return -2 * np.square(np.sin(value / 2))


@public
def log_expit(x: Array) -> Any:
    """log(expit(x)), which does not underflow."""
    (value,) = real("log_expit", x)
    return np.minimum(value, 0) - np.log1p(np.exp(-np.abs(value)))


def _quarters(x: Any) -> tuple[Any, Any]:
    """The nearest multiple of 90 degrees modulo 4, and the rest in radians."""
    turn = np.fmod(x, 360)
    quarter = np.round(turn / 90)
    return np.remainder(quarter, 4), (turn - 90 * quarter) * (math.pi / 180)


def _of_quarters(x: Any, shift: int) -> Any:
    quarter, angle = _quarters(x)
    quarter = np.remainder(quarter + shift, 4)
    sine, cosine = np.sin(angle), np.cos(angle)
    value = np.where(np.equal(np.remainder(quarter, 2), 0), sine, cosine)
    return np.where(quarter >= 2, -value, value)


@public
def sindg(x: Array) -> Any:
    """The sine of an angle in degrees, exact at multiples of 90."""
    (value,) = real("sindg", x)
    return _of_quarters(value, 0)


@public
def cosdg(x: Array) -> Any:
    """The cosine of an angle in degrees, exact at multiples of 90."""
    (value,) = real("cosdg", x)
    return _of_quarters(value, 1)


@public
def tandg(x: Array) -> Any:
    """The tangent of an angle in degrees; infinite at odd multiples of 90."""
    (value,) = real("tandg", x)
    quarter, angle = _quarters(value)
    tangent = np.tan(angle)
    is_odd = np.not_equal(np.remainder(quarter, 2), 0)
    upright = np.where(np.equal(tangent, 0), np.inf, -1 / tangent)
    return np.where(is_odd, upright, tangent)


@public
def radian(d: Array, m: Array, s: Array) -> Any:
    """The angle of d degrees, m minutes and s seconds in radians."""
    degrees, minutes, seconds = real("radian", d, m, s)
    return (degrees + minutes / 60 + seconds / 3600) * (math.pi / 180)


@public
def huber(delta: Array, r: Array) -> Any:
    """Huber's loss: r^2 / 2 for |r| <= delta, delta (|r| - delta / 2) beyond; infinite for negative
    delta."""
    limit, rest = real("huber", delta, r)
    size = np.abs(rest)
    loss = np.where(size <= limit, np.square(rest) / 2, limit * (size - limit / 2))
    return np.where(limit < 0, np.inf, loss)


@public
def pseudo_huber(delta: Array, r: Array) -> Any:
    """The smooth delta^2 (sqrt(1 + (r / delta)^2) - 1); infinite for negative delta, 0 for delta or
    r of 0."""
    limit, rest = real("pseudo_huber", delta, r)
    is_zero = np.equal(limit, 0) | np.equal(rest, 0)
    square = np.square(rest / np.where(is_zero, 1, limit))
    root = np.sqrt(1 + square)
    loss = np.where(is_zero, 0, np.square(limit) * square / (1 + root))
    return np.where(limit < 0, np.inf, loss)


@public
def inv_boxcox(y: Array, lmbda: Array) -> Any:
    """The inverse of `boxcox`: (1 + lmbda y)^(1 / lmbda), exp(y) for lmbda = 0."""
    return inv_boxcox1p(y, lmbda) + 1


@public
def inv_boxcox1p(y: Array, lmbda: Array) -> Any:
    """The inverse of `boxcox1p`: (1 + lmbda y)^(1 / lmbda) - 1, exp(y) - 1 for lmbda = 0."""
    value, power = real("inv_boxcox1p", y, lmbda)
    is_zero = np.equal(power, 0)
    divisor = np.where(is_zero, 1, power)
    return np.expm1(np.where(is_zero, value, np.log1p(divisor * value) / divisor))
