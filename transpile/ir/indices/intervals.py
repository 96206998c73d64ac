"""The intervals of integer results, from those of their operands: interval arithmetic (Moore 1966).

Each rule gives the least and the largest result before it wraps around, or None where it knows
nothing. Truth values are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

Interval = tuple[int, int]
_MOST_BITS = 63  # of what is shifted out of an int64, nothing is left


@lru_cache(maxsize=64)
def full(dtype: np.dtype[Any]) -> Interval:
    """All values of an integer dtype, or of truth."""
    if dtype.kind == "b":
        return 0, 1
    found = np.iinfo(dtype)
    return int(found.min), int(found.max)


def is_integer(dtype: np.dtype[Any]) -> bool:
    """True for the dtypes that have intervals."""
    return dtype.kind in "biu"


def meet(x: Interval, y: Interval) -> Interval | None:
    """What is in both; None if nothing is."""
    low, high = max(x[0], y[0]), min(x[1], y[1])
    return (low, high) if low <= high else None


def hull(x: Interval, y: Interval) -> Interval:
    """The smallest interval with both."""
    return min(x[0], y[0]), max(x[1], y[1])


def is_inside(x: Interval, y: Interval) -> bool:
    """True if the first interval is in the second."""
    return y[0] <= x[0] and x[1] <= y[1]


def _of_corners(function: Callable[[int, int], int], x: Interval, y: Interval) -> Interval:
    """The interval of a function that is monotone in each of its operands."""
    values = [function(a, b) for a, b in product(x, y)]
    return min(values), max(values)


def add(x: Interval, y: Interval) -> Interval:
    """Of a sum."""
    return x[0] + y[0], x[1] + y[1]


def subtract(x: Interval, y: Interval) -> Interval:
    """Of a difference."""
    return x[0] - y[1], x[1] - y[0]


def multiply(x: Interval, y: Interval) -> Interval:
    """Of a product."""
    return _of_corners(lambda a, b: a * b, x, y)


def negative(x: Interval) -> Interval:
    """Of a negation."""
    return -x[1], -x[0]


def absolute(x: Interval) -> Interval:
    """Of a magnitude."""
    return max(x[0], -x[1], 0), max(x[1], -x[0])


def square(x: Interval) -> Interval:
    """Of a square."""
    return absolute(x)[0] ** 2, absolute(x)[1] ** 2


def sign(x: Interval) -> Interval:
    """Of a sign."""
    return (x[0] > 0) - (x[0] < 0), (x[1] > 0) - (x[1] < 0)


def maximum(x: Interval, y: Interval) -> Interval:
    """Of the larger operand."""
    return max(x[0], y[0]), max(x[1], y[1])


def minimum(x: Interval, y: Interval) -> Interval:
    """Of the smaller operand."""
    return min(x[0], y[0]), min(x[1], y[1])


def floor_divide(x: Interval, y: Interval) -> Interval | None:
    """Of a quotient that is rounded down, by divisors of one sign."""
    return None if y[0] <= 0 <= y[1] else _of_corners(lambda a, b: a // b, x, y)


def remainder(x: Interval, y: Interval) -> Interval | None:
    """Of a remainder with the sign of the divisor, by divisors of one sign."""
    if y[0] > 0:
        if x[0] < 0:
            return 0, y[1] - 1
        return x if x[1] < y[0] else (0, min(y[1] - 1, x[1]))
    return (y[0] + 1, 0) if y[1] < 0 else None


def bitwise_and(x: Interval, y: Interval) -> Interval | None:
    """Of a conjunction of bits, of which one operand has no sign bit, or is a mask."""
    for mask, other in ((x, y), (y, x)):
        if mask[0] >= -1 and mask[1] <= 0:
            return min(other[0], 0), max(other[1], 0)
    if x[0] < 0 and y[0] < 0:
        return None
    return 0, min(z[1] for z in (x, y) if z[0] >= 0)


def bitwise_or(x: Interval, y: Interval) -> Interval | None:
    """Of a disjunction of bits without sign bits."""
    if x[0] < 0 or y[0] < 0:
        return None
    return max(x[0], y[0]), (1 << max(x[1], y[1]).bit_length()) - 1


def bitwise_xor(x: Interval, y: Interval) -> Interval | None:
    """Of an exclusive disjunction of bits without sign bits."""
    found = bitwise_or(x, y)
    return found and (0, found[1])


def left_shift(x: Interval, y: Interval) -> Interval | None:
    """Of a shift to the left."""
    if y[0] < 0 or y[1] > _MOST_BITS:
        return None
    return _of_corners(lambda a, b: a << b, x, y)


def right_shift(x: Interval, y: Interval) -> Interval | None:
    """Of a shift to the right."""
    if y[0] < 0 or y[1] > _MOST_BITS:
        return None
    return _of_corners(lambda a, b: a >> b, x, y)


def subscript(x: Interval, y: Interval) -> Interval | None:
    """Of the place of an element among at least one."""
    return (max(min(x[0], y[0] - 1), 0) if x[0] >= 0 else 0, y[1] - 1) if y[0] > 0 else None


def checked_subscript(x: Interval, y: Interval) -> Interval | None:
    """Of the place of an element, or -1, among at least one."""
    return (-1, y[1] - 1) if y[0] > 0 else None


def cell(x: Interval, n: Interval, m: Interval) -> Interval | None:
    """Of the number of a cell in a row that is the place of an element among at least one."""
    return (0, n[1] * m[1] - 1) if n[0] > 0 and m[0] > 0 else None


def _truth(x: Interval) -> Interval:
    return not (x[0] <= 0 <= x[1]), x != (0, 0)


def logical_and(x: Interval, y: Interval) -> Interval:
    """Of a conjunction."""
    return minimum(_truth(x), _truth(y))


def logical_or(x: Interval, y: Interval) -> Interval:
    """Of a disjunction."""
    return maximum(_truth(x), _truth(y))


def logical_not(x: Interval) -> Interval:
    """Of a negation of a truth value."""
    low, high = _truth(x)
    return not high, not low


def same(x: Interval) -> Interval:
    """Of a conversion between integers."""
    return x
