"""The regularized incomplete beta function I_x(a, b), by the methods of special/betainc.h."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.special.gamma import log_gamma_of_positive, stirling_tail
from transpile.hlo.expansions.special.incomplete_gamma import log1p_rest
from transpile.hlo.expansions.special.series import in_double, product_error, until_done

_LARGE = 8.0
_LONGEST = 20000
_TINY = 2.0**-960


@in_double
def betainc(a: Any, b: Any, x: Any) -> Any:
    """I_x(a, b); where a is 0 or b infinite all is at zero, and the other way round at one."""
    is_allowed = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1)
    at_zero, at_one = (a == 0) | (b == np.inf), (b == 0) | (a == np.inf)
    is_tiny = is_allowed & (a + b < _TINY)
    is_plain = is_allowed & ~at_zero & ~at_one & ~is_tiny & (x > 0) & (x < 1)
    inner = _inside(*(np.where(is_plain, v, 0.5) for v in (a, b, x)))
    known = np.where((x == 0) | (at_one & (x < 1)), 0.0, 1.0)
    known = np.where(at_zero & at_one, np.nan, known)
    split = 1 / (1 + a / np.where(b > 0, b, 1.0))
    known = np.where(is_tiny & (x > 0) & (x < 1) & ~at_zero & ~at_one, split, known)
    return np.where(is_allowed, np.where(is_plain, inner, known), np.nan)


def _inside(a: Any, b: Any, x: Any) -> Any:
    """For positive finite a and b, and 0 < x < 1: the smaller tail is computed."""
    y = 1 - x
    distance = _distance(a, b, x)
    factor = _factor(a, b, x, distance)
    left = x < (a + 1) / (a + b + 2)
    is_work = factor > 0

    def chosen(one: Any, other: Any) -> Any:
        return np.where(is_work, np.where(left, one, other), 0.5)

    rest = np.where(is_work, np.where(left, -distance, distance), 0.0)
    tail = factor / _fraction(chosen(a, b), chosen(b, a), chosen(x, y), chosen(y, x), rest)
    tail = np.where(is_work, tail, 0.0)
    return np.where(left, tail, np.maximum(0, 1 - tail))


def _distance(a: Any, b: Any, x: Any) -> Any:
    """(a + b) x - a, with the sum and the product as two numbers each."""
    total = a + b
    lost = np.where(a > b, b - (total - a), a - (total - b))
    product = x * total
    # Numbers near the largest one have no halves.
    error = np.where(total < 2.0**990, product_error(x, total, product), 0.0)
    return (product - a) + (error + x * lost)


def _factor(a: Any, b: Any, x: Any, distance: Any) -> Any:
    """x^a (1 - x)^b / B(a, b); large terms do not cancel."""
    is_a, is_b = a < _LARGE, b < _LARGE
    few_a, few_b = np.minimum(a, _LARGE), np.minimum(b, _LARGE)
    many_a, many_b = np.maximum(a, _LARGE), np.maximum(b, _LARGE)
    plain = _small(few_a, few_b, x)
    first = _lopsided(few_a, many_b, x, many_b * np.log1p(-x))
    second = _lopsided(few_b, many_a, 1 - x, many_a * np.log(x))
    large = _large(many_a, many_b, x, distance)
    return np.where(is_a, np.where(is_b, plain, first), np.where(is_b, second, large))


def _small(a: Any, b: Any, x: Any) -> Any:
    less, more = np.minimum(a, b), np.maximum(a, b)
    rest = log_gamma_of_positive(a + b + 1)
    rest = rest - log_gamma_of_positive(a + 1) - log_gamma_of_positive(b + 1)
    return np.power(x, a) * (less / (1 + less / more) * np.exp(rest + b * np.log1p(-x)))


def _lopsided(a: Any, b: Any, x: Any, logarithm: Any) -> Any:
    """For a < 8 <= b."""
    rest = stirling_tail(a + b) - stirling_tail(b) - log_gamma_of_positive(a + 1)
    ratio = (a + b - 0.5) * np.log1p(a / b) - a + rest
    half = np.exp(logarithm / 2)
    product = np.power(x * b, a) * half * (half * (a * np.exp(ratio)))
    return np.where(half > 0, product, 0.0)


def _large(a: Any, b: Any, x: Any, distance: Any) -> Any:
    """For a and b from 8 on."""
    total = a + b
    over, under = distance / a, -distance / b
    first = _exponent(over, x * (total / a))
    second = _exponent(under, (1 - x) * (total / b))
    rest = stirling_tail(total) - stirling_tail(a) - stirling_tail(b)
    return np.exp(a * first + b * second + rest) * np.sqrt(a / (2 * math.pi) * (b / total))


def _exponent(m: Any, ratio: Any) -> Any:
    near = log1p_rest(np.clip(m, -0.4, 0.4))
    return np.where(np.absolute(m) < 0.4, near, np.log(ratio) - m)


def _fraction(a: Any, b: Any, x: Any, y: Any, rest: Any) -> Any:
    """The continued fraction, the even part of DLMF 8.17.22 in the form of A. DiDonato and A.
    Morris (ACM Transactions on Mathematical Software 18, 1992), by Lentz's method; an element stays
    once it has converged. y is 1 - x, and rest a - (a + b) x."""

    def step(n: Any, *state: Any) -> list[Any]:
        going, c, d, f, a, b, x, y, rest = state
        twice = a + 2 * n
        across = n * ((b - n) * x) / (twice - 1)
        over = (a + (n - 1)) / (twice - 1) * ((a + b + (n - 1)) * x) * across
        under = n + across + (a + n) / (twice + 1) * (rest + 1 + n * (1 + y))
        d = 1 / (under + over * d)
        c = under + over / c
        moved = c * d
        f = np.where(going, f * moved, f)
        going = going & ~(np.absolute(moved - 1) < 2.0**-52)
        return [going, c, d, f, a, b, x, y, rest]

    start = a / (a + 1) * (rest + 1)
    state = [x == x, start, np.zeros_like(x), start, a, b, x, y, rest]
    return until_done(_LONGEST, step, state)[3]


EXPANSIONS: Rules = {"betainc": betainc}
