"""Divisions as NumPy rounds them, extremes that leave NaN out, order of complex numbers, logic of
numbers, divisors, order statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.loops import while_loop
from transpile.primitives.rules import apply


def _is_integer(x: Any) -> bool:
    return x.dtype.kind in "iu"


def _truncated_remainder(x: Any, y: Any) -> Any:
    """x - trunc(x / y) y of integers; of a zero divisor 0."""
    one = np.ones((), y.dtype)
    safe = np.where(y == 0, one, y)
    return x - apply("quotient", x, safe) * safe


def fmod(x: Any, y: Any) -> Any:
    """Integers: the remainder that has the sign of x."""
    return _truncated_remainder(x, y)


def remainder(x: Any, y: Any) -> Any:
    """The remainder that has the sign of y."""
    if x.dtype.kind == "u":
        return _truncated_remainder(x, y)
    rest = apply("fmod", x, y)
    moved = np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)
    return moved if _is_integer(x) else np.where(rest == 0, np.copysign(rest, y), moved)


def floor_divide(x: Any, y: Any) -> Any:
    """The quotient rounded down; of integers and a zero divisor 0, of floats x / 0."""
    if _is_integer(x):
        safe = np.where(y == 0, np.ones((), y.dtype), y)
        whole = apply("quotient", x, safe)
        if x.dtype.kind == "i":
            is_below = (whole * safe != x) & ((x < 0) != (safe < 0))
            whole = whole - is_below.astype(x.dtype)
        return np.where(y == 0, np.zeros((), x.dtype), whole)
    rest = np.fmod(x, y)
    whole = (x - rest) / y
    whole = np.where((rest != 0) & ((rest < 0) != (y < 0)), whole - 1, whole)
    down = np.floor(whole)
    down = np.where(whole - down > 0.5, down + 1, down)
    down = np.where(whole == 0, np.copysign(np.zeros((), x.dtype), x / y), down)
    return np.where(y == 0, x / y, down)


def reciprocal(x: Any) -> Any:
    """1 / x; of an integer zero what NumPy makes of an infinity: 0, or the least signed integer."""
    one = np.ones((), x.dtype)
    if not _is_integer(x):
        return one / x
    has_least = x.dtype.kind == "i" and x.dtype.itemsize >= 4
    of_zero = np.iinfo(x.dtype).min if has_least else 0
    return np.where(x == 0, np.asarray(of_zero, x.dtype), apply("quotient", one, x))


def power(x: Any, y: Any) -> Any:
    """Integers: by repeated squaring, modulo the size of the dtype."""
    unsigned = np.dtype(f"u{y.dtype.itemsize}")
    one = np.ones((), unsigned)

    def step(result: Any, factor: Any, rest: Any) -> list[Any]:
        is_odd = (rest & one) != 0
        return [np.where(is_odd, result * factor, result), factor * factor, rest >> one]

    state = [np.ones_like(x), x, y.astype(unsigned)]
    return while_loop(lambda *s: np.any(s[2] != 0), step, state)[0]


def sign(x: Any) -> Any:
    """Of unsigned integers 0 or 1, of complex numbers x / |x|."""
    if x.dtype.kind == "u":
        return (x != 0).astype(x.dtype)
    # Of the number over its larger part, whose absolute value neither overflows nor vanishes.
    large = np.maximum(np.absolute(np.real(x)), np.absolute(np.imag(x)))
    a, b = np.real(x) / large, np.imag(x) / large
    is_infinite = np.isinf(large)
    a, b = (
        np.where(is_infinite, np.isinf(part(x)) * np.sign(part(x)), scaled)
        for part, scaled in ((np.real, a), (np.imag, b))
    )
    size = np.where(is_infinite & (a * b != 0), np.nan, np.sqrt(a * a + b * b))
    return np.where(x == 0, np.zeros((), x.dtype), apply("complex", a / size, b / size))


def less(x: Any, y: Any) -> Any:
    """Complex numbers by their real parts, then by their imaginary ones."""
    a, b, c, d = np.real(x), np.imag(x), np.real(y), np.imag(y)
    is_before = (a < c) & ~np.isnan(b) & ~np.isnan(d)
    return is_before | ((a == c) & (b < d))


def less_equal(x: Any, y: Any) -> Any:
    """As `less`, or equal."""
    a, b, c, d = np.real(x), np.imag(x), np.real(y), np.imag(y)
    is_before = (a < c) & ~np.isnan(b) & ~np.isnan(d)
    return is_before | ((a == c) & (b <= d))


def _extreme(beyond: Any) -> Any:
    def extreme(x: Any, y: Any) -> Any:
        """Complex numbers; NaN is the extreme."""
        return np.where(beyond(x, y) | np.isnan(x), x, y)

    return extreme


def _unless_nan(name: str) -> Any:
    def extreme(x: Any, y: Any) -> Any:
        """The extreme of what is not NaN."""
        both = apply(name, x, y)
        if x.dtype.kind in "biu":
            return both
        return np.where(np.isnan(x), y, np.where(np.isnan(y), x, both))

    return extreme


def _of_truths(name: str) -> Any:
    def logical(*operands: Any) -> Any:
        """The logic of whether numbers are not zero."""
        return apply(name, *[x != 0 for x in operands])

    return logical


def gcd(x: Any, y: Any) -> Any:
    """Euclid's algorithm."""
    dtype, unsigned = x.dtype, np.dtype(f"u{x.dtype.itemsize}")
    if dtype.kind == "i":  # the size of the least integer is an unsigned one
        x, y = (np.absolute(v).astype(unsigned) for v in (x, y))

    def step(a: Any, b: Any) -> list[Any]:
        is_done = b == 0
        return [np.where(is_done, a, b), np.where(is_done, b, _truncated_remainder(a, b))]

    return while_loop(lambda _, b: np.any(b != 0), step, [x, y])[0].astype(dtype)


def lcm(x: Any, y: Any) -> Any:
    """|x| / gcd |y|; 0 of zeros."""
    if x.dtype.kind == "i":
        x, y = np.absolute(x), np.absolute(y)
    divisor = apply("gcd", x, y)
    safe = np.where(divisor == 0, np.ones((), x.dtype), divisor)
    return apply("quotient", x, safe) * y


def multiply_modulo(x: Any, y: Any, z: Any) -> Any:
    """By doubling, as no product has twice the bits: below 2**63 a sum of two fits."""
    dtype, unsigned = x.dtype, np.dtype(f"u{x.dtype.itemsize}")
    size = np.absolute(z).astype(unsigned)

    def step(total: Any, double: Any, left: Any, size: Any) -> list[Any]:
        one = np.ones((), unsigned)
        total = np.where((left & one) != 0, _truncated_remainder(total + double, size), total)
        double = _truncated_remainder(double + double, size)
        return [total, double, apply("right_shift", left, one), size]

    is_negative = (x < 0) != (y < 0)
    x, y = (_truncated_remainder(np.absolute(v).astype(unsigned), size) for v in (x, y))
    x, y, size = np.broadcast_arrays(x, y, size)
    begin = [np.zeros_like(x), x, y, size]
    rest = while_loop(lambda _, __, left, ___: np.any(left != 0), step, begin)[0].astype(dtype)
    rest = np.where(is_negative, -rest, rest)
    rest = np.where((rest != 0) & ((rest < 0) != (z < 0)), rest + z, rest)
    return np.where(z == 0, np.zeros_like(rest), rest)


def subscript(x: Any, y: Any) -> Any:
    """From the end where it is negative, and the nearest place that is there."""
    zero = np.zeros((), x.dtype)
    return np.minimum(np.maximum(np.where(x < zero, x + y, x), zero), y - np.ones((), y.dtype))


def checked_subscript(x: Any, y: Any) -> Any:
    """From the end where it is negative, and -1 where there is none."""
    zero, none = np.zeros((), x.dtype), np.full((), -1, x.dtype)
    place = np.where(x < zero, x + y, x)
    return np.where((place >= zero) & (place < y), place, none)


def cell(x: Any, n: Any, m: Any) -> Any:
    """Row x // m, as a subscript among n, and column x % m, in one number."""
    return subscript(floor_divide(x, m), n) * m + remainder(x, m)


def order_statistics(x: Any, *, axis: int, ranks: tuple[int, ...]) -> Any:
    """The elements at those positions of the sorted rows."""
    return np.take(apply("sort", x, axis=axis), np.array(ranks), axis)


EXPANSIONS: Rules = {
    "absolute": np.copy,
    "cell": cell,
    "checked_subscript": checked_subscript,
    "conjugate": lambda x: (
        apply("complex", np.real(x), -np.imag(x)) if x.dtype.kind == "c" else np.copy(x)
    ),
    "floor_divide": floor_divide,
    "fmax": _unless_nan("maximum"),
    "fmin": _unless_nan("minimum"),
    "fmod": fmod,
    "gcd": gcd,
    "greater": lambda x, y: np.less(y, x),
    "greater_equal": lambda x, y: np.less_equal(y, x),
    "heaviside": lambda x, y: np.where(
        np.isnan(x), x, np.where(x == 0, y, (x > 0).astype(x.dtype))
    ),
    "lcm": lcm,
    "multiply_modulo": multiply_modulo,
    "less": less,
    "less_equal": less_equal,
    "logical_and": _of_truths("logical_and"),
    "logical_not": _of_truths("logical_not"),
    "logical_or": _of_truths("logical_or"),
    "logical_xor": _of_truths("logical_xor"),
    "maximum": _extreme(np.greater_equal),
    "minimum": _extreme(np.less_equal),
    "order_statistics": order_statistics,
    "power": power,
    "reciprocal": reciprocal,
    "remainder": remainder,
    "sign": sign,
    "square": lambda x: x * x,
    "subscript": subscript,
}
