"""The gamma function, its logarithm, digamma and polygamma, and Hurwitz' zeta function.

The methods are those of the helpers in C; polynomials go through values of the reference.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.special.series import (
    in_double,
    interpolated,
    polynomial,
    repeated,
)
from transpile.primitives.reference import gamma as reference
from transpile.primitives.reference.extended_precision import LONG, bernoulli_numbers
from transpile.primitives.reference.extended_precision import polynomial as long_polynomial

_LARGE = 8.0  # from here on asymptotic series
_TERMS = 14
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def _lowered(y: Any, top: float) -> tuple[Any, Any]:
    """y - n below `top`, and the product of (y - 1) ... (y - n)."""
    product = np.ones_like(y)
    for _ in range(6):
        is_above = y >= top
        y = np.where(is_above, y - 1, y)
        product = np.where(is_above, product * y, product)
    return y, product


def _sine_of_turns(x: Any) -> Any:
    """sin(pi x), of the sign that it has nearest to the integer."""
    return np.sin(math.pi * (x - np.rint(x)))


# ----------------------------------------------------------------------------------- log gamma


def _around_two(z: Any) -> Any:
    return long_polynomial(reference.around_two(), z)


def log_gamma_over_distance(z: Any) -> Any:
    """log gamma(2 + z) / z for |z| <= 1/2."""
    return interpolated(_around_two, -0.5, 0.5, 22, z)


def log_gamma_above_one(a: Any) -> Any:
    """log gamma(1 + a) for 0 <= a <= 1, to relative precision."""
    z = np.where(a < 0.5, a, a - 1)
    regular = z * log_gamma_over_distance(z)
    return np.where(a < 0.5, regular - np.log1p(a), regular)


def stirling_tail(y: Any) -> Any:
    """What Stirling's formula leaves of log gamma(y), for y >= 8 (DLMF 5.11.1)."""
    numbers = enumerate(bernoulli_numbers(_TERMS), 1)
    weights = [float(b / (2 * k * (2 * k - 1))) for k, b in numbers]
    inverse = 1 / y
    return polynomial(weights, inverse * inverse) * inverse


def log_gamma_of_positive(y: Any) -> Any:
    """By the recurrence from 2 + z, |z| <= 1/2, or from Stirling's series."""
    r, product = _lowered(y, 2.5)
    is_below = y < 1.5
    product = np.where(is_below, np.where(y < 0.5, y * (y + 1), y), product)
    z = np.where(y < 0.5, y, np.where(is_below, y - 1, r - 2))
    logarithm = np.log(product)
    near = z * log_gamma_over_distance(z) + np.where(is_below, -logarithm, logarithm)
    large = np.maximum(y, _LARGE)
    rest = stirling_tail(large) + (_HALF_LOG_TWO_PI - 0.5)
    return np.where(y < _LARGE, near, (large - 0.5) * (np.log(large) - 1) + rest)


@in_double
def lgamma(x: Any) -> Any:
    """log |gamma(x)|, for negative x by reflection (DLMF 5.5.3)."""
    regular = log_gamma_of_positive(np.where(x < 0, 1 - x, x))
    sine = np.absolute(_sine_of_turns(x))
    reflected = np.where(sine > 0, -np.log(sine / math.pi) - regular, np.inf)
    return np.where(x < 0, reflected, regular)


# --------------------------------------------------------------------------------------- gamma


def _gamma_around_two(z: Any) -> Any:
    return np.exp(reference.log_gamma_of_positive(2 + z))


@in_double
def gamma(x: Any) -> Any:
    """The gamma function, for negative x by reflection."""
    y = np.absolute(x)
    r, product = _lowered(y, 2.5)
    z = np.where(y < 0.5, y, np.where(y < 1.5, y - 1, r - 2))
    p = interpolated(_gamma_around_two, -0.5, 0.5, 26, z)
    near = np.where(y < 1.5, p / np.where(y < 0.5, y * (y + 1), y), p * product)
    # From Stirling's formula; the power is two equal factors, which do not overflow.
    b = np.clip(y, _LARGE, 200)
    half, decay = np.power(b, b / 2), np.exp(-b)
    root = np.sqrt(2 * math.pi / b) * np.exp(stirling_tail(b))
    large = np.where(y > 172, np.inf, half * (decay * root * half))
    regular = np.where(y < _LARGE, near, large)
    inverse = 1 / half * (1 / (decay * root) / half) / y
    of_near = 1 / np.where(y < 0.5, p / (y + 1), y * near)
    inverse = np.where(y < _LARGE, of_near, inverse)
    is_even = np.remainder(np.rint(x), 2) == 0
    sine = _sine_of_turns(x) * np.where(is_even, 1.0, -1.0)
    reflected = np.where(sine == 0, np.nan, math.pi / sine * inverse)
    result = np.where(x < 0, reflected, np.where(x == 0, 1 / x, regular))
    return np.where(np.isnan(x), x, result)


# ----------------------------------------------------------------------- digamma and polygamma

_ROOT, _ROOT_REST = float(reference.ROOT), float(reference.ROOT_REST)


def _psi_over_distance(r: Any) -> Any:
    return reference.psi(r) / ((r - LONG(reference.ROOT)) - reference.ROOT_REST)


def psi_of_positive(y: Any) -> Any:
    """digamma by its recurrence from [1, 2] (DLMF 5.5.2), where its zero is; from 8 on by its
    asymptotic series (DLMF 5.11.2)."""
    r, total = y, np.zeros_like(y)
    for _ in range(6):
        is_above = r >= 2
        r = np.where(is_above, r - 1, r)
        total = np.where(is_above, total + 1 / r, total)
    r = np.where(y < 1, y + 1, r)
    total = np.where(y < 1, -1 / y, total)
    near = ((r - _ROOT) - _ROOT_REST) * interpolated(_psi_over_distance, 1, 2, 26, r) + total
    large = np.maximum(y, _LARGE)
    weights = [float(b / (2 * k)) for k, b in enumerate(bernoulli_numbers(_TERMS), 1)]
    inverse = 1 / large
    square = inverse * inverse
    far = np.log(large) - (0.5 * inverse + square * polynomial(weights, square))
    return np.where(y < _LARGE, near, far)


@in_double
def digamma(x: Any) -> Any:
    """The derivative of log gamma, for negative x by reflection (DLMF 5.5.4)."""
    regular = psi_of_positive(np.where(x < 0, 1 - x, x))
    turns = x - np.rint(x)
    reflected = np.where(turns == 0, np.nan, regular - math.pi / np.tan(math.pi * turns))
    return np.where(x == 0, np.nan, np.where(x < 0, reflected, regular))


@in_double
def polygamma(n: Any, x: Any) -> Any:
    """(-1)^(n + 1) n! zeta(n + 1, x) (DLMF 25.11.12), in logarithms where a factor over- or
    underflows."""
    is_order = (n >= 0) & (n <= 1e6) & (np.floor(n) == n)
    order = np.where(is_order, n, 0.0)
    s = np.where(order == 0, 2.0, order + 1)
    rest = _zeta(s, x)
    size = np.where(x == np.inf, 0.0, gamma(s) * rest)
    inner = (x > 0) & (x < np.inf)
    y = np.where(inner, x, 1.0)
    logarithm = log_gamma_of_positive(s) - s * np.log(y) + np.log(_scaled_zeta(s, y))
    is_extreme = inner & ((order > 170) | (rest < 2.0**-1000))
    size = np.where(is_extreme, np.exp(logarithm), size)
    signed = np.where(np.remainder(order, 2) == 0, -size, size)
    is_known = is_order & ~((order > 170) & (x < 0))
    return np.where(is_known, np.where(order == 0, digamma(x), signed), np.nan)


# ---------------------------------------------------------------------------------------- zeta


@in_double
def zeta(s: Any, q: Any) -> Any:
    """Hurwitz' zeta function, the sum of (q + k)^-s, for s > 1."""
    return _zeta(s, q)


def _zeta(s: Any, q: Any) -> Any:
    """For negative q the terms below zero are those of two series of positive arguments."""
    is_even, is_whole = np.remainder(s, 2) == 0, np.floor(q) == q
    regular = _zeta_of_positive(s, np.where(q > 0, q, q - np.floor(q)))
    below = _zeta_of_positive(s, np.ceil(q) - q) - _zeta_of_positive(s, 1 - q)
    negative = regular + np.where(is_even, below, -below)
    negative = np.where(np.floor(s) == s, negative, np.nan)
    negative = np.where(is_whole, np.where(is_even, np.inf, np.nan), negative)
    result = np.where(q > 0, regular, negative)
    outside = np.where(s == 1, np.inf, np.nan)
    result = np.where(s > 1, result, outside)
    return np.where(np.isnan(s) | np.isnan(q), s + q, result)


def _zeta_of_positive(s: Any, q: Any) -> Any:
    """By Euler-Maclaurin summation (DLMF 2.10(i)) after ten terms of the series."""
    count = 10
    total = np.power(q, -s)
    for k in range(1, count):
        total = total + np.power(q + k, -s)
    a = q + count
    power = np.power(a, 1 - s)
    term = power / a
    rest, factor = np.zeros_like(q), s / a
    for k, b in enumerate(bernoulli_numbers(12), 1):
        rest = rest + float(b / math.factorial(2 * k)) * term * factor
        factor = factor * ((s + (2 * k - 1)) / a) * ((s + 2 * k) / a)
    rest = rest + 0.5 * term + power / (s - 1)
    return total + np.where(power > 0, rest, 0.0)


def _scaled_zeta(s: Any, q: Any) -> Any:
    """q^s zeta(s, q) for s >= 2 and q > 0, by the same method after 40 terms."""
    count = 40

    def step(n: Any, total: Any, s: Any, q: Any) -> list[Any]:
        return [total + np.power(1 + (n - 1) / q, -s), s, q]

    total = repeated(count, step, [np.zeros_like(q), s, q])[0]
    a = q + count
    power, r = np.power(a / q, -s), s / a
    second = 1 - (s + 1) / a * ((s + 2) / a) / 60
    rest = power * (a / (s - 1) + 0.5 + r / 12 * second)
    return total + np.where(power > 0, rest, 0.0)


EXPANSIONS: Rules = {
    "digamma": digamma,
    "gamma": gamma,
    "lgamma": lgamma,
    "polygamma": polygamma,
    "zeta": zeta,
}
