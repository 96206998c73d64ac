"""The regularized incomplete beta function I_x(a, b)."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.primitives.reference.extended_precision import EPSILON, LONGEST, PI, where_true, wide
from transpile.primitives.reference.gamma import log_gamma_of_positive, stirling_tail
from transpile.primitives.reference.incomplete_gamma import log1p_rest

_LARGE = 10


@wide
def betainc(a: Any, b: Any, x: Any) -> Any:
    """I_x(a, b); where a is 0 or b infinite all is at zero, and the other way round at one."""
    result = np.full_like(x, np.nan)
    allowed = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1)
    at_zero, at_one = (a == 0) | np.isposinf(b), (b == 0) | np.isposinf(a)
    plain = allowed & ~at_zero & ~at_one & (x > 0) & (x < 1)
    left = x < (a + 1) / (a + b + 2)
    where_true(plain & left, _left, result, a, b, x)
    where_true(plain & ~left, _right, result, a, b, x)
    known = allowed & ~plain & ~(at_zero & at_one)
    result[known] = np.where((x == 0) | (at_one & (x < 1)), 0, 1)[known]
    return result


def _left(a: Any, b: Any, x: Any) -> Any:
    return _over(_factor(a, b, x), _fraction(a, b, x, 1 - x, -_distance(a, b, x)))


def _right(a: Any, b: Any, x: Any) -> Any:
    rest = _distance(a, b, x)
    return np.maximum(0, 1 - _over(_factor(a, b, x), _fraction(b, a, 1 - x, x, rest)))


def _distance(a: Any, b: Any, x: Any) -> Any:
    """(a + b) x - a. Near one, where 1 - x is exact, not from the sum, which would lose a small b;
    near zero not from 1 - x, which would lose a tiny x."""
    total = a + b
    lost = np.where(a > b, b - (total - a), a - (total - b))
    return np.where(x < 0.5, (x * total - a) + x * lost, b * x - a * (1 - x))


def _over(factor: Any, fraction: Any) -> Any:
    return np.where(factor == 0, 0, factor / fraction)


def _factor(a: Any, b: Any, x: Any) -> Any:
    """x^a (1 - x)^b / B(a, b)."""
    result = np.copy(x)
    small_a, small_b = a < _LARGE, b < _LARGE

    def lopsided(a: Any, b: Any, x: Any) -> Any:
        return _lopsided(a, b, x, b * np.log1p(-x))

    def mirrored(a: Any, b: Any, x: Any) -> Any:
        return _lopsided(b, a, 1 - x, a * np.log(x))

    where_true(small_a & small_b, _small, result, a, b, x)
    where_true(small_a & ~small_b, lopsided, result, a, b, x)
    where_true(~small_a & small_b, mirrored, result, a, b, x)
    where_true(~small_a & ~small_b, _large, result, a, b, x)
    return result


def _small(a: Any, b: Any, x: Any) -> Any:
    less, more = np.minimum(a, b), np.maximum(a, b)
    rest = log_gamma_of_positive(a + b + 1)
    rest = rest - log_gamma_of_positive(a + 1) - log_gamma_of_positive(b + 1)
    return np.power(x, a) * (less / (1 + less / more) * np.exp(rest + b * np.log1p(-x)))


def _lopsided(a: Any, b: Any, x: Any, logarithm: Any) -> Any:
    rest = stirling_tail(a + b) - stirling_tail(b) - log_gamma_of_positive(a + 1)
    ratio = (a + b - 0.5) * np.log1p(a / b) - a + rest
    half = np.exp(logarithm / 2)
    return np.power(x * b, a) * half * (half * (a * np.exp(ratio)))


def _large(a: Any, b: Any, x: Any) -> Any:
    total = a + b
    distance = _distance(a, b, x)
    over, under = distance / a, -distance / b
    first = np.where(np.abs(over) < 0.4, log1p_rest(over), np.log(x * (total / a)) - over)
    second = np.where(np.abs(under) < 0.4, log1p_rest(under), np.log((1 - x) * (total / b)) - under)
    rest = stirling_tail(total) - stirling_tail(a) - stirling_tail(b)
    return np.exp(a * first + b * second + rest) * np.sqrt(a * (b / total) / (2 * PI))


def _fraction(a: Any, b: Any, x: Any, y: Any, rest: Any) -> Any:
    """The continued fraction (DLMF 8.17.22), its even part, by Lentz's method; an element stays as
    it is when it has converged. y is 1 - x, and rest a - (a + b) x."""
    result = a / (a + 1) * (rest + 1)
    c, d, running = np.copy(result), np.zeros_like(x), np.arange(len(x))
    for n in range(1, LONGEST):
        twice = a + 2 * n
        across = n * (b - n) * x / (twice - 1)
        over = (a + (n - 1)) * (a + b + (n - 1)) / (twice - 1) * x * across
        under = n + across + (a + n) / (twice + 1) * (rest + 1 + n * (1 + y))
        d, c = 1 / (under + over * d), under + over / c
        result[running] *= c * d
        going = np.abs(c * d - 1) > 2 * EPSILON
        if not going.all():
            a, b, x, y, rest, c, d, running = (v[going] for v in (a, b, x, y, rest, c, d, running))
        if len(running) == 0:
            break
    return result
