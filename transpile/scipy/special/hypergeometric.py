"""The hypergeometric functions 1F1 and 2F1, and their derivatives in all arguments.

Series are summed until no term changes a sum, by a loop whose length is known when it runs, at most
100,000 terms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import lax
from transpile.functional.custom import custom_jvp
from transpile.ir.types import finfo
from transpile.scipy.special.operands import Array, applied, public, real

_LONGEST = 100_000


def _summed(ratio: Callable[[Any], Any], weight: Callable[[Any], Any] | None, like: Any) -> Any:
    """The sum of terms from 1 on, each of which is the last one times ratio(k), k = 0, 1, ...; or
    that of terms times what weight(k) adds up to before them."""
    eps = float(finfo(like.dtype).eps) / 4
    one = np.ones_like(like)
    zero = np.zeros_like(like)

    def going(state: Any) -> Any:
        k, term, total, _, share = state
        size = np.maximum(np.absolute(share), np.absolute(term) if weight is None else 0)
        active = (size > eps * np.absolute(total)) & np.isfinite(total)
        return np.any(active) & (k < _LONGEST)

    def step(state: Any) -> Any:
        k, term, total, factor, _ = state
        n = k.astype(like.dtype)
        if weight is not None:
            factor = factor + weight(n)
        term = term * ratio(n)
        share = term if weight is None else term * factor
        return k + 1, term, total + share, factor, share

    start = one if weight is None else zero
    state = (np.zeros((), np.int64), one, start, zero, one)
    # Two steps at least: a first term may be 0 where later ones are not.
    state = step(step(state))
    return lax.while_loop(going, step, state)[2]


def _broadcast(*operands: Any) -> list[Any]:
    return list(np.broadcast_arrays(*operands))


# ----------------------------------------------------------------------------------------- 1F1


@public
def hyp1f1(a: Array, b: Array, x: Array) -> Any:
    """Kummer's confluent hypergeometric function 1F1(a; b; x), of real numbers.

    Its series after Kummer's transformation (DLMF 13.2.39), and the asymptotic series from |x| =
    100 on (DLMF 13.7.1).
    """
    return _hyp1f1(*_broadcast(*real("hyp1f1", a, b, x)))


@custom_jvp
def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """By its series, after Kummer's transformation where that avoids signs that change (DLMF
    13.2.39); from x = 100 on by its asymptotic series (DLMF 13.7.1)."""
    turned = (x < 0) & (a > 0)
    first = np.where(turned, b - a, a)
    size = np.where(turned, -x, x)
    large = size >= 100
    z = np.where(large, 1, size)
    near = _summed(lambda k: (first + k) / (b + k) * (z / (k + 1)), None, x)
    result = np.where(large, _asymptotic(first, b, np.where(large, size, 100)), near)
    result = np.where(turned, np.exp(x) * result, result)
    result = np.where(np.equal(a, 0), 1, np.where(np.equal(a, b), np.exp(x), result))
    # A pole, but where a negative whole number a, no less than b, ends the series before it.
    is_pole = _is_pole(b)
    ends = is_pole & _is_pole(a) & (a < 0) & (b <= a)
    terms = np.where(ends, -a, 0)
    polynomial = _polynomial(np.where(ends, a, -1), np.where(ends, b, -1), x, terms)
    result = np.where(ends, polynomial, np.where(is_pole, np.inf, result))
    return np.where(np.isnan(a) | np.isnan(b) | np.isnan(x), np.nan, result)


def _is_pole(b: Any) -> Any:
    return (b <= 0) & np.equal(b, np.floor(b))


def _polynomial(a: Any, b: Any, x: Any, degree: Any) -> Any:
    """The series up to a power of x, for a and b that are negative whole numbers."""
    return _summed(
        lambda k: np.where(k < degree, (a + k) / np.where(k < degree, b + k, 1) * (x / (k + 1)), 0),
        None,
        x,
    )


def _asymptotic(a: Any, b: Any, x: Any) -> Any:
    term = total = np.ones_like(x)
    for k in range(60):
        ratio = (b - a + k) * (1 - a + k) / ((k + 1) * x)
        term = np.where(np.absolute(ratio) < 1, term * ratio, 0)
        total = total + term
    factor = applied("gamma", b) / applied("gamma", a)
    return factor * np.exp(x) * np.power(x, a - b) * total


def _hyp1f1_in_a(a: Any, b: Any, x: Any) -> Any:
    return _summed(lambda k: (a + k) / (b + k) * (x / (k + 1)), lambda k: 1 / (a + k), x)


def _hyp1f1_in_b(a: Any, b: Any, x: Any) -> Any:
    return _summed(lambda k: (a + k) / (b + k) * (x / (k + 1)), lambda k: -1 / (b + k), x)


_hyp1f1.defjvps(
    lambda t, out, a, b, x: t * _hyp1f1_in_a(a, b, x),
    lambda t, out, a, b, x: t * _hyp1f1_in_b(a, b, x),
    lambda t, out, a, b, x: t * (a / b * _hyp1f1(a + 1, b + 1, x)),
)


# ----------------------------------------------------------------------------------------- 2F1


@public
def hyp2f1(a: Array, b: Array, c: Array, x: Array) -> Any:
    """Gauss's hypergeometric function 2F1(a, b; c; x), of real numbers; inf for x > 1, unless it is
    a polynomial.

    Its series up to 0.9, series of 1 - x beyond (DLMF 15.8.4), and of x / (x - 1) for negative x
    (DLMF 15.8.1). Near 1 convergence is slow where c - a - b is nearly an integer.
    """
    return _hyp2f1(*_broadcast(*real("hyp2f1", a, b, c, x)))


@custom_jvp
def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """By its series up to 0.9, those of 1 - x beyond (DLMF 15.8.4), and for negative x that of
    x / (x - 1) (DLMF 15.8.1)."""
    whole = _is_whole_below(a) | _is_whole_below(b)
    left = (x < 0) & ~whole
    z = np.where(left, x / (x - 1), x)
    second = np.where(left, c - b, b)
    d = c - a - second
    near_one = (z > 0.9) & (z < 1) & ~whole & (np.absolute(d - np.rint(d)) > 0.05)
    plain = np.where(near_one | (~whole & (z >= 1)), 0, z)
    result = _gauss_series(a, second, c, plain)
    result = np.where(near_one, _about_one(a, second, c, np.where(near_one, z, 0.95)), result)
    result = np.where(np.equal(z, 1) & ~whole, _at_one(a, second, c), result)
    same = np.equal(a, c) & _is_whole_below(c) & (x <= 1)  # SciPy's limit, DLMF 15.4.6
    power = np.power(np.where(left | same, 1 - x, 1), np.where(same, -b, -a))
    result = np.where(left, power * result, result)
    result = np.where((x > 1) & ~whole, np.inf, result)
    ends = (_is_whole_below(a) & (a > c)) | (_is_whole_below(b) & (b >= c))  # before the pole
    result = np.where(_is_whole_below(c) & ~ends, np.inf, result)
    trivial = np.equal(x, 0) | (np.equal(a, 0) & ~same) | np.equal(b, 0)
    return np.where(trivial, 1, np.where(same, power, result))


def _is_whole_below(a: Any) -> Any:
    return (a <= 0) & np.equal(a, np.rint(a))


def _gauss_series(a: Any, b: Any, c: Any, x: Any) -> Any:
    def ratio(k: Any) -> Any:
        divisor = np.where(np.equal(c + k, 0), 1, c + k)  # behind the end of a polynomial
        return (a + k) * (b + k) / divisor * (x / (k + 1))

    return _summed(ratio, None, x)


def _about_one(a: Any, b: Any, c: Any, x: Any) -> Any:
    d, y = c - a - b, 1 - x
    first = _ratio((c, d), (c - a, c - b)) * _gauss_series(a, b, 1 - d, y)
    second = _ratio((c, -d), (a, b)) * _gauss_series(c - a, c - b, 1 + d, y)
    return first + np.power(y, d) * second


def _at_one(a: Any, b: Any, c: Any) -> Any:
    d = c - a - b
    return np.where(d > 0, _ratio((c, d), (c - a, c - b)), np.inf)


def _ratio(over: Any, under: Any) -> Any:
    """Of products of gamma functions; one over that of a pole is 0."""
    result: Any = 1.0
    for x in over:
        result = result * applied("gamma", x)
    for x in under:
        pole = _is_whole_below(x)
        result = result * np.where(pole, 0, 1 / applied("gamma", np.where(pole, 1, x)))
    return result


def _gauss_derivative(weight: Callable[[Any], Any], a: Any, b: Any, c: Any, x: Any) -> Any:
    return _summed(lambda k: (a + k) * (b + k) / (c + k) * (x / (k + 1)), weight, x)


_hyp2f1.defjvps(
    lambda t, out, a, b, c, x: t * _gauss_derivative(lambda k: 1 / (a + k), a, b, c, x),
    lambda t, out, a, b, c, x: t * _gauss_derivative(lambda k: 1 / (b + k), a, b, c, x),
    lambda t, out, a, b, c, x: t * _gauss_derivative(lambda k: -1 / (c + k), a, b, c, x),
    lambda t, out, a, b, c, x: t * (a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x)),
)
