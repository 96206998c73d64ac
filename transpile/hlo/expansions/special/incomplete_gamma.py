"""The regularized incomplete gamma functions P and Q, and their derivatives in the parameter.

The methods and the regions are those of runtime_c/special/igamma.h. All elements go through the
loops of all regions; those of other regions have operands there for which loops end at once.
D is x^a exp(-x) / gamma(a + 1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.special.errors import erfcx_of_positive
from transpile.hlo.expansions.special.gamma import (
    log_gamma_above_one,
    log_gamma_of_positive,
    psi_of_positive,
    stirling_tail,
)
from transpile.hlo.expansions.special.series import in_double, polynomial, repeated, until_done
from transpile.primitives.reference.incomplete_gamma import temme_coefficients

_UNIFORM = 2500.0  # from here on Temme's expansion, of which this many terms are kept
_ROWS, _COLUMNS = 5, 26
_LARGE = 8.0
_LONGEST = 20000
_HUGE = 2.0**200  # from here on a continued fraction is its first term
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_EPSILON = 2.0**-52


@in_double
def igamma(a: Any, x: Any) -> Any:
    """P(a, x)."""
    return _tail(a, x, upper=False)


@in_double
def igammac(a: Any, x: Any) -> Any:
    """Q(a, x) = 1 - P(a, x)."""
    return _tail(a, x, upper=True)


@in_double
def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) in a."""
    inside = _inside(a, x)
    a_in, x_in = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    factor = _factor(a_in, x_in)
    slope, divisor = _slope(a_in, x_in)
    slope = np.where(factor > 0, factor * (slope / divisor), 0.0)
    return np.where((a > 0) & (x >= 0), np.where(inside, slope, 0.0), np.nan)


@in_double
def random_gamma_grad(a: Any, x: Any) -> Any:
    """The derivative in a of a sample of the gamma distribution that keeps P(a, x)."""
    inside = _inside(a, x)
    a_in, x_in = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    slope, divisor = _slope(a_in, x_in)
    # In the order in which nothing over- or underflows.
    ratio = x_in / a_in
    is_normal = (ratio > 2.0**-1000) & (ratio < np.inf) & (divisor == 1)
    moved = -np.where(is_normal, ratio * slope, x_in / divisor * (slope / a_in))
    outside = np.where((x == np.inf) & (a < np.inf), np.inf, 0.0)
    return np.where((a > 0) & (x >= 0), np.where(inside, moved, outside), np.nan)


def _inside(a: Any, x: Any) -> Any:
    return (a > 0) & (x > 0) & (a < np.inf) & (x < np.inf)


def _tail(a: Any, x: Any, upper: bool) -> Any:
    inside = _inside(a, x)
    is_large = inside & (a >= _UNIFORM)
    is_near = inside & ~is_large & ((x < a + 1) | (x < 1.5))
    is_far = inside & ~is_large & ~is_near
    factor = _factor(np.where(inside, a, 1.0), np.where(inside, x, 1.0))
    lower = factor * _series(np.where(is_near, a, 1.0), np.where(is_near, x, 2.0**-60))[0]
    result = 1 - lower if upper else lower
    if upper:
        is_small = is_near & (a < 1)
        small = _small_upper(np.where(is_small, a, 0.5), np.where(is_small, x, 1.0))
        result = np.where(is_small, small, result)
    is_work = is_far & (factor > 0)
    fraction = _fraction(np.where(is_work, a, 1.0), np.where(is_work, x, _HUGE))[0]
    higher = np.where(factor > 0, factor * (a / fraction), 0.0)
    result = np.where(is_far, higher if upper else 1 - higher, result)
    uniform = _uniform(np.where(is_large, a, _UNIFORM), np.where(is_large, x, _UNIFORM), upper)
    result = np.where(is_large, uniform, result)
    zero, infinite = (1.0, 0.0) if upper else (0.0, 1.0)
    at_edge = np.where((x == 0) | (a == np.inf), zero, np.nan)
    at_edge = np.where((x == np.inf) | ((a == 0) & (x > 0)), infinite, at_edge)
    is_nothing = ~((a >= 0) & (x >= 0)) | ((a == 0) & (x == 0))
    return np.where(is_nothing, np.nan, np.where(inside, result, at_edge))


# ---------------------------------------------------------------------------- factor and series


def log1p_rest(m: Any) -> Any:
    """log(1 + m) - m for -0.6 <= m <= 1.6, to relative precision: with s = m / (2 + m) the
    logarithm is 2 artanh(s)."""
    s = m / (2 + m)
    square = s * s
    return s * (2 * square * polynomial([1 / (2 * k + 3) for k in range(26)], square) - m)


def _factor(a: Any, x: Any) -> Any:
    """D, from Stirling's series for large a, so that large terms do not cancel."""
    small, near = np.minimum(a, _LARGE), np.minimum(x, 1500)
    half = np.exp(-near / 2)
    plain = np.power(near, small) * half * (half * np.exp(-log_gamma_of_positive(small + 1)))
    large = np.maximum(a, _LARGE)
    m = (x - large) / large
    rest = np.where(np.absolute(m) < 0.4, log1p_rest(np.clip(m, -0.4, 0.4)), np.log(x / large) - m)
    far = np.exp(large * rest - stirling_tail(large)) / (_ROOT_TWO_PI * np.sqrt(large))
    return np.where(a < _LARGE, plain, far)


def _series(a: Any, x: Any) -> list[Any]:
    """The sum of x^n / ((a + 1) ... (a + n)), and its derivative in a (DLMF 8.7.1)."""

    def step(n: Any, *state: Any) -> list[Any]:
        _, term, total, rate, change, a, x = state
        term, rate = term * (x / (a + n)), rate - 1 / (a + n)
        total, change = total + term, change + term * rate
        is_small = (term < 2.0**-55 * total) & (term * rate >= 2.0**-55 * change)
        return [~is_small, term, total, rate, change, a, x]

    zero, one = np.zeros_like(a), np.ones_like(a)
    done = until_done(_LONGEST, step, [x == x, one, one, zero, zero, a, x])
    return [done[2], done[4]]


def _fraction(a: Any, x: Any) -> list[Any]:
    """The continued fraction of the upper tail (DLMF 8.9.2), and the derivative of its logarithm in
    a, by Lentz's method (Applied Optics 15, 1976); an element stays once it has converged."""

    def step(n: Any, *state: Any) -> list[Any]:
        going, b, c, d, c_slope, d_slope, f, change, a = state
        over, b = n * (a - n), b + 2
        c_slope = -1 + (n - over * c_slope / c) / c
        c = b + over / c
        d_slope = -1 + n * d + over * d_slope
        d = 1 / (b + over * d)
        d_slope = d_slope * (-d * d)
        moved = c_slope / c + d_slope / d
        f = np.where(going, f * (c * d), f)
        change = np.where(going, change + moved, change)
        is_done = np.absolute(c * d - 1) < _EPSILON
        is_done = is_done & (np.absolute(moved) <= _EPSILON * np.absolute(change))
        return [going & ~is_done, b, c, d, c_slope, d_slope, f, change, a]

    b, zero = x + 1 - a, np.zeros_like(a)
    start = [x < _HUGE, b, b, zero, zero - 1, zero, b, -1 / b, a]
    done = until_done(_LONGEST, step, start)
    return [done[6], done[7]]


def _small_upper(a: Any, x: Any) -> Any:
    """Q for a < 1 and x < 2: of the two parts of 1 - P neither is near 1."""

    def step(n: Any, term: Any, total: Any, a: Any, x: Any) -> list[Any]:
        term = term * (-x / n)
        return [term, total + term / (a + n), a, x]

    total = repeated(40, step, [np.ones_like(a), np.zeros_like(a), a, x])[1]
    power = np.expm1(a * np.log(x) - log_gamma_above_one(a))
    return -power - (power + 1) * a * total


def _slope(a: Any, x: Any) -> tuple[Any, Any]:
    """The derivative of P in a, over D, for positive finite a and x: a number and its divisor,
    which is 1 for x below 1.5. The quotient may underflow where x times it does not."""
    is_uniform = (a >= _UNIFORM) & (np.absolute(x - a) < 0.6 * a)
    is_near = ~is_uniform & ((x < a + 1) | (x < 1.5))
    is_far = ~is_uniform & ~is_near
    rate = np.log(x) - psi_of_positive(a + 1)
    total, change = _series(np.where(is_near, a, 1.0), np.where(is_near, x, 2.0**-60))
    by_series = rate * total + change
    fraction, change = _fraction(np.where(is_far, a, 1.0), np.where(is_far, x, _HUGE))
    by_fraction = -(a * (rate - change) + 1)
    at = np.where(is_uniform, a, _UNIFORM), np.where(is_uniform, x, _UNIFORM)
    result = np.where(is_near, by_series, by_fraction)
    result = np.where(is_uniform, _uniform_slope(*at), result)
    return result, np.where(is_far, fraction, 1.0)


# -------------------------------------------------------------------------- Temme's expansion


def _rows() -> list[list[float]]:
    """c_k(eta) by powers of eta (N. Temme, SIAM Journal on Mathematical Analysis 10, 1979; DLMF
    8.12.10)."""
    return [[float(c) for c in row[:_COLUMNS]] for row in temme_coefficients()[:_ROWS]]


def _eta(m: Any) -> tuple[Any, Any]:
    phi = -log1p_rest(m)
    return phi, np.copysign(np.sqrt(2 * phi), m)


def _uniform(a: Any, x: Any, upper: bool) -> Any:
    """P or Q for large a: half of erfcx and a correction, times exp(-a eta^2 / 2) (DLMF 8.12.3)."""
    m = (x - a) / a
    inside = np.absolute(m + 0.19) < 0.79
    phi, eta = _eta(np.where(inside, m, 0.0))
    total: Any = 0.0
    for row in reversed(_rows()):
        total = total / a + polynomial(row, eta)
    total = total / (_ROOT_TWO_PI * np.sqrt(a))
    half = erfcx_of_positive(np.sqrt(a * phi)) / 2
    tail = np.exp(-a * phi) * np.where(m > 0, half + total, half - total)
    tail = np.where(inside, tail, 0.0)
    return np.where(m > 0, tail, 1 - tail) if upper else np.where(m > 0, 1 - tail, tail)


def _uniform_slope(a: Any, x: Any) -> Any:
    """The derivative of P in a by the same expansion, over D."""
    m = (x - a) / a
    _, eta = _eta(m)
    ratio = np.where(m == 0, 1.0, m / eta)
    total = change = np.zeros_like(x)
    power = np.ones_like(x)
    for k, row in enumerate(_rows()):
        value = polynomial(row, eta)
        derivative = polynomial([n * c for n, c in enumerate(row)][1:], eta)
        total = total + value * power
        change = change - power / a * (derivative * ratio + k * value)
        power = power / a
    slope = eta / 2 - ratio - total * (np.log1p(m) - 1 / (2 * a)) - change
    return slope * np.exp(stirling_tail(a))


EXPANSIONS: Rules = {
    "igamma": igamma,
    "igamma_grad_a": igamma_grad_a,
    "igammac": igammac,
    "random_gamma_grad": random_gamma_grad,
}
