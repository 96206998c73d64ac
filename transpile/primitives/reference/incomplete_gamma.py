"""The regularized incomplete gamma functions P and Q, and their derivatives in the parameter.

D is x^a exp(-x) / gamma(a + 1). The regions are those of runtime_c/special/igamma.h.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np

from transpile.primitives.reference.errors import scaled_erfc
from transpile.primitives.reference.extended_precision import (
    EPSILON,
    LONG,
    LONGEST,
    PI,
    bernoulli_numbers,
    long_of,
    polynomial,
    where_true,
    wide,
)
from transpile.primitives.reference.gamma import (
    log_gamma_above_one,
    log_gamma_of_positive,
    psi,
    stirling_tail,
)

_UNIFORM = 2500  # from here on Temme's expansion, of which this many terms are kept
_ROWS, _COLUMNS = 6, 32


@wide
def igamma(a: Any, x: Any) -> Any:
    """P(a, x)."""
    return _tail(a, x, False)


@wide
def igammac(a: Any, x: Any) -> Any:
    """Q(a, x) = 1 - P(a, x)."""
    return _tail(a, x, True)


@wide
def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) in a."""
    result = np.zeros_like(x)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    where_true(inside, lambda a, x: _times(_factor(a, x), _slope(a, x)), result, a, x)
    result[~((a > 0) & (x >= 0))] = np.nan
    return result


def _times(factor: Any, slope: Any) -> Any:
    return np.where(factor > 0, factor * slope, 0)


@wide
def random_gamma_grad(a: Any, x: Any) -> Any:
    """The derivative in a of a sample of the gamma distribution that keeps P(a, x)."""
    result = np.zeros_like(x)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    where_true(inside, lambda a, x: -x * (_slope(a, x) / a), result, a, x)
    result[np.isposinf(x) & (a > 0) & np.isfinite(a)] = np.inf
    result[~((a > 0) & (x >= 0))] = np.nan
    return result


def _tail(a: Any, x: Any, upper: bool) -> Any:
    result = np.full_like(x, np.nan)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    large = inside & (a >= _UNIFORM)
    near = inside & ~large & ((x < a + 1) | (x < 1.5))
    far = inside & ~large & ~near
    small = near & (a < 1) if upper else np.zeros_like(near)
    where_true(large, lambda a, x: _uniform(a, x, upper), result, a, x)
    where_true(near & ~small, lambda a, x: _lower(a, x, upper), result, a, x)
    where_true(small, _small_upper, result, a, x)
    where_true(far, lambda a, x: _upper(a, x, upper), result, a, x)
    zero, infinite = (1, 0) if upper else (0, 1)
    result[(a >= 0) & (x == 0) & (a != 0)] = zero
    result[np.isposinf(a) & (x >= 0) & np.isfinite(x)] = zero
    result[((a == 0) & (x > 0)) | ((a >= 0) & np.isposinf(x))] = infinite
    return result


# --------------------------------------------------------------------------- factor and series


def log1p_rest(m: Any) -> Any:
    """log(1 + m) - m, to relative precision: with s = m / (2 + m) the logarithm is 2 artanh(s)."""
    s = m / (2 + m)
    square = np.square(s)
    near = s * (2 * square * polynomial([LONG(1) / (2 * k + 3) for k in range(32)], square) - m)
    return np.where(np.abs(m) < 0.6, near, np.log1p(m) - m)


def _factor(a: Any, x: Any) -> Any:
    result = np.copy(x)

    def plain(a: Any, x: Any) -> Any:
        half = np.exp(-x / 2)
        return np.power(x, a) * half * (half * np.exp(-log_gamma_of_positive(a + 1)))

    def large(a: Any, x: Any) -> Any:
        m = (x - a) / a
        rest = np.where(np.abs(m) < 0.4, log1p_rest(m), np.log(x / a) - m)
        return np.exp(a * rest - stirling_tail(a)) / np.sqrt(2 * PI * a)

    where_true(a < 10, plain, result, a, x)
    where_true(a >= 10, large, result, a, x)
    return result


def _series(a: Any, x: Any) -> tuple[Any, Any]:
    """The sum of x^n / ((a + 1) ... (a + n)), and its derivative in a (DLMF 8.7.1)."""
    term = total = np.ones_like(x)
    rate = change = np.zeros_like(x)
    for n in range(1, LONGEST):
        term = term * (x / (a + n))
        rate = rate - 1 / (a + n)
        total, change = total + term, change + term * rate
        if np.all((term < EPSILON * total) & (term * rate >= EPSILON * change)):
            break
    return total, change


def _lower(a: Any, x: Any, upper: bool) -> Any:
    lower = _factor(a, x) * _series(a, x)[0]
    return 1 - lower if upper else lower


def _small_upper(a: Any, x: Any) -> Any:
    """Q for a < 1 and x < 2: of the two parts of 1 - P neither is near 1."""
    term, total = np.ones_like(x), np.zeros_like(x)
    for n in range(1, 60):
        term = term * (-x / n)
        total = total + term / (a + n)
    power = np.expm1(a * np.log(x) - log_gamma_above_one(a))
    return -power - (power + 1) * a * total


def _fraction(a: Any, x: Any) -> tuple[Any, Any]:
    """The continued fraction of the upper tail (DLMF 8.9.2), and the derivative of its logarithm
    in a, by Lentz's method."""
    b = x + 1 - a
    c, f, d = b, b, np.zeros_like(b)
    c_slope, d_slope, change = np.full_like(b, -1), np.zeros_like(b), -1 / b
    for n in range(1, LONGEST):
        over = n * (a - n)
        b = b + 2
        c_slope = -1 + (n - over * c_slope / c) / c
        c = b + over / c
        d_slope = -1 + n * d + over * d_slope
        d = 1 / (b + over * d)
        d_slope = d_slope * -np.square(d)
        step = c_slope / c + d_slope / d
        change, f = change + step, f * c * d
        done = np.abs(c * d - 1) <= 2 * EPSILON
        if np.all(done & (np.abs(step) <= 2 * EPSILON * np.abs(change))):
            break
    return f, change


def _upper(a: Any, x: Any, upper: bool) -> Any:
    upper_part = _factor(a, x) * a / _fraction(a, x)[0]
    return upper_part if upper else 1 - upper_part


def _slope(a: Any, x: Any) -> Any:
    """The derivative of P in a, over D."""
    result = np.copy(x)
    uniform = (a >= _UNIFORM) & (np.abs(x - a) < 0.6 * a)
    near = ~uniform & ((x < a + 1) | (x < 1.5))

    def by_series(a: Any, x: Any) -> Any:
        total, change = _series(a, x)
        return (np.log(x) - psi(a + 1)) * total + change

    def by_fraction(a: Any, x: Any) -> Any:
        fraction, change = _fraction(a, x)
        return -(a * (np.log(x) - psi(a + 1) - change) + 1) / fraction

    where_true(uniform, _uniform_slope, result, a, x)
    where_true(near, by_series, result, a, x)
    where_true(~uniform & ~near, by_fraction, result, a, x)
    return result


# ------------------------------------------------------------------------- Temme's expansion


@functools.cache
def temme_coefficients() -> tuple[tuple[Any, ...], ...]:
    """c_k(eta) by powers of eta (N. Temme, SIAM Journal on Mathematical Analysis 10, 1979; DLMF
    8.12.10), from fractions."""
    count = _COLUMNS + 2 * _ROWS + 4
    mu = [Fraction(0), Fraction(1)]  # x / a - 1 by powers of eta
    for n in range(2, count + 1):
        inner = sum((mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n)), Fraction(0))
        mu.append((mu[n - 1] - inner) / (n + 1))
    inverse = [Fraction(1)]  # eta / mu
    for n in range(1, count):
        inverse.append(-sum((mu[j + 1] * inverse[n - j] for j in range(1, n + 1)), Fraction(0)))
    numbers = bernoulli_numbers(_ROWS)
    stirling = {2 * k - 1: b / (2 * k * (2 * k - 1)) for k, b in enumerate(numbers, 1)}
    g = [Fraction(1)]  # the coefficients of gamma(a) over Stirling's formula
    for n in range(1, _ROWS):
        g.append(sum((j * v * g[n - j] for j, v in stirling.items() if j <= n), Fraction(0)) / n)
    rows = [inverse[1:]]
    for k in range(1, _ROWS):
        last, sign = rows[-1], (-1) ** k * g[k]
        rows.append([(n + 2) * last[n + 2] + sign * inverse[n + 1] for n in range(len(last) - 2)])
    return tuple(tuple(long_of(v) for v in row[:_COLUMNS]) for row in rows)


def _eta(m: Any) -> tuple[Any, Any]:
    phi = -log1p_rest(m)
    return phi, np.copysign(np.sqrt(2 * phi), m)


def _uniform(a: Any, x: Any, upper: bool) -> Any:
    m = (x - a) / a
    inside = np.abs(m + 0.19) < 0.79
    phi, eta = _eta(np.where(inside, m, 0))
    total = polynomial([polynomial(row, eta) for row in temme_coefficients()], 1 / a)
    total = total / np.sqrt(2 * PI * a)
    half = scaled_erfc(np.sqrt(a * phi)) / 2
    tail = np.exp(-a * phi) * np.where(m > 0, half + total, half - total)
    tail = np.where(inside, tail, 0)
    return np.where((m > 0) == upper, tail, 1 - tail)


def _uniform_slope(a: Any, x: Any) -> Any:
    m = (x - a) / a
    _, eta = _eta(m)
    ratio = np.where(m == 0, 1, m / eta)
    total = change = np.zeros_like(x)
    power = np.ones_like(x)
    for k, row in enumerate(temme_coefficients()):
        derivative = polynomial([n * c for n, c in enumerate(row)][1:], eta)
        value = polynomial(row, eta)
        total = total + value * power
        change = change - power / a * (derivative * ratio + k * value)
        power = power / a
    slope = eta / 2 - ratio - total * (np.log1p(m) - 1 / (2 * a)) - change
    return slope * np.exp(stirling_tail(a))
