"""The gamma function, its logarithm, digamma and polygamma, and Hurwitz' zeta function."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from transpile.primitives.reference.extended_precision import (
    EULER,
    HALF_LOG_TWO_PI,
    LONG,
    PI,
    bernoulli_numbers,
    long_of,
    polynomial,
    sine_of_turns,
    where_true,
    wide,
)

# The zero of the digamma function, in two parts.
ROOT, ROOT_REST = LONG(1.4616321449683622), LONG("9.54999542996569771518e-17")
_LARGE = 10  # from here on the asymptotic series give every digit of a long double
_TERMS = 16


# ----------------------------------------------------------------------------------- log gamma


@wide
def lgamma(x: Any) -> Any:
    """The logarithm of |gamma(x)|; infinite at zero and the negative integers."""
    return log_gamma(x)


def log_gamma(x: Any) -> Any:
    """log |gamma| of a vector of long doubles (DLMF 5.5.3 for negative ones)."""
    regular = log_gamma_of_positive(np.where(x < 0, 1 - x, x))
    sine = np.abs(sine_of_turns(x))
    reflected = np.where(sine > 0, np.log(PI / sine) - regular, np.inf)
    result = np.where(x < 0, reflected, regular)
    return np.where(np.isneginf(x), np.inf, result)


def log_gamma_of_positive(y: Any) -> Any:
    """By the recurrence from [3/2, 5/2), or from Stirling's series (DLMF 5.11.1)."""
    result = np.copy(y)
    where_true(y < _LARGE, _log_gamma_by_recurrence, result, y)
    where_true(y >= _LARGE, _stirling, result, y)
    return result


def stirling_tail(y: Any) -> Any:
    """What Stirling's formula leaves of log gamma(y), for large y."""
    weights = [
        long_of(b / (2 * k * (2 * k - 1))) for k, b in enumerate(bernoulli_numbers(_TERMS), 1)
    ]
    return polynomial(weights, 1 / np.square(y)) / y


def _stirling(y: Any) -> Any:
    return (y - 0.5) * (np.log(y) - 1) + (stirling_tail(y) + (HALF_LOG_TWO_PI - LONG(0.5)))


def _log_gamma_by_recurrence(y: Any) -> Any:
    r, product = np.copy(y), np.ones_like(y)
    for _ in range(_LARGE):
        above = r >= 2.5
        r = np.where(above, r - 1, r)
        product = np.where(above, product * r, product)
    below = y < 1.5
    product = np.where(below, np.abs(np.where(y < 0.5, y * (y + 1), y)), product)
    z = np.where(y < 0.5, y, np.where(below, y - 1, r - 2))
    return z * polynomial(around_two(), z) + np.log(product) * np.where(below, -1, 1)


@functools.cache
def around_two() -> tuple[Any, ...]:
    """Of log gamma(2 + z) / z by powers of z: 1 - euler, then (-1)^k (zeta(k) - 1) / k."""
    orders = np.arange(2, 48, dtype=LONG)
    rest = zeta_of_positive(orders, np.full(orders.shape, LONG(2))) / orders
    return (1 - EULER, *(v if k % 2 == 0 else -v for k, v in enumerate(rest)))


def log_gamma_above_one(a: Any) -> Any:
    """log gamma(1 + a) for 0 <= a <= 1, to relative precision."""
    z = np.where(a < 0.5, a, a - 1)
    regular = z * polynomial(around_two(), z)
    return np.where(a < 0.5, regular - np.log1p(a), regular)


@wide
def gamma(x: Any) -> Any:
    """The gamma function; NaN at the negative integers, infinite of the sign of x at zero."""
    regular = np.exp(log_gamma_of_positive(np.abs(x)))
    sine = sine_of_turns(x) * np.where(np.fmod(np.rint(x), 2) == 0, 1, -1)
    product = x * sine
    reflected = np.where(sine == 0, np.nan, -PI / product / regular)
    return np.where(x < 0, reflected, np.where(x == 0, 1 / x, regular))


# ------------------------------------------------------------------------ digamma and polygamma


@wide
def digamma(x: Any) -> Any:
    """The derivative of log gamma; NaN at zero and the negative integers."""
    return psi(x)


def psi(x: Any) -> Any:
    """digamma of a vector of long doubles (DLMF 5.5.4 for negative ones)."""
    regular = _psi_of_positive(np.where(x < 0, 1 - x, x))
    turns = x - np.rint(x)
    reflected = np.where(turns == 0, np.nan, regular - PI / np.tan(PI * turns))
    return np.where(x == 0, np.nan, np.where(x < 0, reflected, regular))


def _psi_of_positive(y: Any) -> Any:
    r, total = np.copy(y), np.zeros_like(y)
    for _ in range(_LARGE):
        below = r < _LARGE
        total = np.where(below, total - 1 / r, total)
        r = np.where(below, r + 1, r)
    weights = [long_of(b / (2 * k)) for k, b in enumerate(bernoulli_numbers(_TERMS), 1)]
    square = 1 / np.square(r)
    result = np.log(r) - (0.5 / r + square * polynomial(weights, square)) + total
    h = (y - ROOT) - ROOT_REST
    where_true(np.abs(h) < 0.25, lambda h: h * polynomial(_around_root(), h), result, h)
    return np.where(np.isposinf(y), np.inf, result)


@functools.cache
def _around_root() -> tuple[Any, ...]:
    """Of psi(root + h) / h by powers of h: (-1)^k zeta(k + 2, root) (DLMF 5.15.1)."""
    orders = np.arange(2, 30, dtype=LONG)
    values = zeta_of_positive(orders, np.full(orders.shape, ROOT))
    return tuple(v if k % 2 == 0 else -v for k, v in enumerate(values))


@wide
def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma (DLMF 25.11.12); NaN where n is not 0, 1, 2, ..."""
    order = np.where((n >= 0) & (n <= 1e6) & (np.floor(n) == n), n, 0)
    factorial = np.exp(log_gamma_of_positive(order + 1))
    for k in range(31):  # these exactly
        factorial = np.where(order == k, LONG(math.factorial(k)), factorial)
    factorial = np.where((order > 170) & (x < 0), np.nan, factorial)
    result = np.where(order % 2 == 0, -1, 1) * factorial * _zeta(order + 1, x)
    huge = np.isinf(factorial) & (x > 0) & np.isfinite(x)
    where_true(huge, _polygamma_of_high_order, result, order, x)
    result = np.where(np.isposinf(x), np.where(order % 2 == 0, -0.0, 0.0), result)
    where_true(order == 0, psi, result, x)
    return np.where(order == n, result, np.nan)


def _polygamma_of_high_order(n: Any, x: Any) -> Any:
    """For n in the thousands: the first terms of the series, in logarithms."""
    total = np.log(sum(np.power(1 + k / x, -n - 1) for k in range(400)))
    size = np.exp(log_gamma_of_positive(n + 1) - (n + 1) * np.log(x) + total)
    return np.where(n % 2 == 0, -size, size)


# ---------------------------------------------------------------------------------------- zeta


@wide
def zeta(s: Any, q: Any) -> Any:
    """Hurwitz' zeta function for s > 1. At zero and the negative integers it is infinite where s is
    even, and NaN otherwise; between them only whole s have a value."""
    return _zeta(s, q)


def _zeta(s: Any, q: Any) -> Any:
    result = np.full_like(q, np.nan)
    where_true((s > 1) & (q > 0), zeta_of_positive, result, s, q)
    whole, even = np.floor(s) == s, np.fmod(s, 2) == 0
    pole = (np.floor(q) == q) & (q <= 0)
    where_true((s > 1) & (q < 0) & ~pole & whole, _zeta_of_negative, result, s, q)
    result[(s > 1) & pole & even] = np.inf
    result[(s == 1) & ~np.isnan(q)] = np.inf
    return result


def zeta_of_positive(s: Any, q: Any) -> Any:
    """By Euler-Maclaurin summation (DLMF 2.10(i)) after 16 terms of the series."""
    count = 16
    total = np.zeros_like(q)
    for k in range(count):
        total = total + np.power(q + k, -s)
    a = q + count
    power = np.power(a, 1 - s)
    term = power / a
    rest = power / (s - 1) + term / 2
    factor = s / a
    for k, b in enumerate(bernoulli_numbers(12), 1):
        weight = b
        for j in range(2, 2 * k + 1):
            weight /= j
        rest = rest + long_of(weight) * term * factor
        factor = factor * ((s + (2 * k - 1)) / a) * ((s + 2 * k) / a)
    return total + np.where(power > 0, rest, 0)


def _zeta_of_negative(s: Any, q: Any) -> Any:
    """The terms below zero are those of two series of positive arguments."""
    below = zeta_of_positive(s, np.ceil(q) - q) - zeta_of_positive(s, 1 - q)
    return zeta_of_positive(s, q - np.floor(q)) + np.where(np.fmod(s, 2) == 0, below, -below)
