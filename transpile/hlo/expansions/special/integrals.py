"""The exponential, sine and cosine integrals, Fresnel's integrals, and the dilogarithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.special.series import (
    in_double,
    polynomial,
    product_error,
    repeated,
)
from transpile.ir.types import FLOAT64
from transpile.primitives.reference import integrals
from transpile.primitives.reference.extended_precision import bernoulli_numbers
from transpile.primitives.rules import apply

_EULER = float(np.euler_gamma)


@in_double
def expn(n: Any, x: Any) -> Any:
    """The integral of exp(-x t) / t^n from 1 on; NaN for negative x or n, and n not whole."""
    result = np.where(n == 0, np.exp(-x) / x, _expn(n, x))
    at_zero = np.where(n < 2, np.inf, 1 / (n - 1))
    result = np.where(x == 0, at_zero, np.where(x == np.inf, 0.0, result))
    is_allowed = (n >= 0) & (x >= 0) & (np.floor(n) == n) & (n < np.inf)
    return np.where(is_allowed, result, np.nan)


def _expn(n: Any, x: Any) -> Any:
    """For n >= 1 and x > 0."""
    series = _expn_series(n, np.minimum(x, 1))
    return np.where(x <= 1, series, _expn_fraction(n, np.clip(x, 1, 1000)))


def _expn_series(n: Any, x: Any) -> Any:
    """The power series (DLMF 8.19.8), for x <= 1."""

    def step(k: Any, power: Any, total: Any, psi: Any, n: Any, x: Any) -> list[Any]:
        distance = n - k
        is_here = distance == 0
        share = np.where(is_here, psi - np.log(x), 1 / np.where(is_here, 1.0, distance))
        return [power * (-x / k), total + power * share, psi + 1 / k, n, x]

    zero = np.zeros_like(x)
    return repeated(25, step, [zero + 1, zero, zero - _EULER, n, x])[1]


def _expn_fraction(n: Any, x: Any) -> Any:
    """A continued fraction from its end (DLMF 8.19.17), for x >= 1."""
    count = 120

    def step(j: Any, tail: Any, n: Any, x: Any) -> list[Any]:
        k = count + 1 - j
        return [-k * ((n + (k - 1)) / (x + n + 2 * k + tail)), n, x]

    tail = repeated(count, step, [np.zeros_like(x), n, x])[0]
    return np.exp(-x) / (x + n + tail)


# ------------------------------------------------------------------------------------------- Ei

_ROOT, _ROOT_REST = float(integrals.ROOT), float(integrals.ROOT_REST)


@in_double
def expi(x: Any) -> Any:
    """The exponential integral Ei: -E_1(-x) for negative x, and near its zero the difference of the
    series to that at the zero."""
    size = np.absolute(x)
    one = np.ones_like(x)
    negative = np.where(size == np.inf, 0.0, -_expn(one, np.where(size > 0, size, one)))
    distance = (x - _ROOT) - _ROOT_REST
    is_near = np.absolute(distance) < 0.125
    at_root = _expi_at_root(np.where(is_near, x, _ROOT), np.where(is_near, distance, 0.0))
    inside = np.where(is_near, at_root, _expi_series(np.clip(x, 0.125, 40)))
    inside = np.where((x > 0) & (x < 0.125), _expi_series(np.clip(x, 0, 0.125)), inside)
    result = np.where(x > 40, _expi_asymptotic(np.maximum(x, 40)), inside)
    result = np.where(x < 0, negative, result)
    return np.where(x == 0, -np.inf, np.where(np.isnan(x), x, result))


def _expi_series(x: Any) -> Any:
    """The power series (DLMF 6.6.2)."""

    def step(k: Any, term: Any, total: Any, x: Any) -> list[Any]:
        term = term * (x / k)
        return [term, total + term / k, x]

    zero = np.zeros_like(x)
    return _EULER + np.log(x) + repeated(150, step, [zero + 1, zero, x])[1]


def _expi_at_root(x: Any, distance: Any) -> Any:
    def step(k: Any, inner: Any, weight: Any, power: Any, total: Any, x: Any) -> list[Any]:
        weight, power = weight / k, power * _ROOT
        return [x * inner + power, weight, power, total + inner * weight / k, x]

    zero = np.zeros_like(x)
    total = repeated(25, step, [zero + 1, zero + 1, zero + 1, zero, x])[3]
    return np.log1p(distance / _ROOT) + distance * total


def _expi_asymptotic(x: Any) -> Any:
    """For large x (DLMF 6.12.2), up to the smallest term."""

    def step(k: Any, term: Any, total: Any, x: Any) -> list[Any]:
        return [term * (k / x), total + term, x]

    zero = np.zeros_like(x)
    total = repeated(40, step, [zero + 1, zero, x])[1]
    half = np.exp(x / 2)
    return np.where(x == np.inf, x, half / x * total * half)


# ---------------------------------------------------------------------------- sine and cosine

_NEAR, _FAR = 4.0, 2.0**60


@in_double
def sine_integral(x: Any) -> Any:
    """The sine integral Si, up to 4 by its power series (DLMF 6.6.5)."""
    size = np.absolute(x)
    near = np.minimum(size, _NEAR)
    weights = [(-1) ** k / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(22)]
    series = near * polynomial(weights, near * near)
    far = math.pi / 2 + np.imag(_exponential_integral(np.clip(size, _NEAR, _FAR)))
    far = np.where(size > _FAR, math.pi / 2, far)
    return np.where(np.isnan(x), x, np.copysign(np.where(size <= _NEAR, series, far), x))


@in_double
def cosine_integral(x: Any) -> Any:
    """The cosine integral Ci, for negative x that of |x|; up to 4 by its power series (6.6.6)."""
    size = np.absolute(x)
    near = np.minimum(size, _NEAR)
    weights = [0.0, *((-1) ** k / (2 * k * math.factorial(2 * k)) for k in range(1, 22))]
    series = _EULER + np.log(near) + polynomial(weights, near * near)
    far = -np.real(_exponential_integral(np.clip(size, _NEAR, _FAR)))
    finite = np.minimum(size, float(np.finfo(FLOAT64).max))
    far = np.where(size > _FAR, np.sin(finite) / finite, far)
    far = np.where(size == np.inf, 0.0, far)
    result = np.where(size <= _NEAR, series, far)
    return np.where(np.isnan(x) | (x == -np.inf), np.nan, result)


def _exponential_integral(x: Any) -> Any:
    """E_1(i x) for x >= 4, by a continued fraction from its end (DLMF 6.9.1)."""
    count = 100

    def step(j: Any, tail: Any, z: Any) -> list[Any]:
        k = count + 1 - j
        return [-k * k / (2 * k + 1 + z + tail), z]

    z = apply("complex", np.zeros_like(x), x)
    tail = repeated(count, step, [np.zeros_like(z), z])[0]
    return apply("complex", np.cos(x), -np.sin(x)) / (1 + z + tail)


# -------------------------------------------------------------------------- Fresnel's integrals

_EDGE = 1.6


@in_double
def fresnel_sine(x: Any) -> Any:
    """Fresnel's integral S, of sin(pi t^2 / 2), up to 1.6 by its power series (DLMF 7.6.6)."""
    return _fresnel(x, 1, np.imag)


@in_double
def fresnel_cosine(x: Any) -> Any:
    """Fresnel's integral C, of cos(pi t^2 / 2), up to 1.6 by its power series (DLMF 7.6.4)."""
    return _fresnel(x, 0, np.real)


def _fresnel(x: Any, first: int, part: Any) -> Any:
    """The series has the powers first, first + 2, ... of q = pi x^2 / 2."""
    size = np.absolute(x)
    near = np.minimum(size, _EDGE)
    q = math.pi / 2 * near * near
    orders = [2 * k + first for k in range(22)]
    weights = [(-1) ** k / ((2 * n + 1) * math.factorial(n)) for k, n in enumerate(orders)]
    series = near * polynomial(weights, q * q) * (q if first else 1.0)
    far = part(_fresnel_far(np.clip(size, _EDGE, 2.0**52)))
    far = np.where(size > 2.0**52, 0.5, far)
    result = np.where(size <= _EDGE, series, far)
    return np.where(np.isnan(x), x, np.copysign(result, x))


def _fresnel_far(x: Any) -> Any:
    """C + i S by a continued fraction of erfc at a complex number, from its end (DLMF 7.9.2)."""
    count = 100

    def step(j: Any, tail: Any, z: Any) -> list[Any]:
        k = count + 1 - j
        return [(1 - 2 * k) * (2 * k) / (4 * k + 1 + z + tail), z]

    square = x * x
    z = apply("complex", np.zeros_like(x), -math.pi * square)
    tail = repeated(count, step, [np.zeros_like(z), z])[0]
    quarters = (square - 4 * np.rint(square / 4)) + product_error(x, x, square)
    angle = math.pi / 2 * quarters
    turned = apply("complex", np.cos(angle), np.sin(angle))
    return (0.5 + 0.5j) - turned * x / (1 + z + tail)


# ---------------------------------------------------------------------------------- dilogarithm


@in_double
def spence(x: Any) -> Any:
    """The dilogarithm of 1 - x, brought to [1/2, 2] by those of 1 - x and 1 / x (DLMF 25.12.6,
    25.12.4)."""
    y = np.where(x > 2, 1 / x, x)
    is_below = y < 0.5
    logarithm = np.log(x) * np.where(x > 2, -1.0, 1.0)
    other = np.log1p(np.where(is_below, -y, 0.0))
    series = _dilogarithm(np.where(is_below, -other, -logarithm))
    product = np.where(y == 0, 0.0, logarithm * other)
    inner = np.where(is_below, math.pi**2 / 6 - product - series, series)
    result = np.where(x > 2, -0.5 * logarithm * logarithm - inner, inner)
    return np.where(x < 0, np.nan, np.where(x == np.inf, -np.inf, result))


def _dilogarithm(w: Any) -> Any:
    """Li2(1 - exp(-w)): the integral of t / (exp(t) - 1) (DLMF 24.2.1)."""
    weights = [float(b / math.factorial(2 * k + 1)) for k, b in enumerate(bernoulli_numbers(12), 1)]
    square = w * w
    return w * (1 + w * (w * polynomial(weights, square) - 0.25))


EXPANSIONS: Rules = {
    "cosine_integral": cosine_integral,
    "expi": expi,
    "expn": expn,
    "fresnel_cosine": fresnel_cosine,
    "fresnel_sine": fresnel_sine,
    "sine_integral": sine_integral,
    "spence": spence,
}
