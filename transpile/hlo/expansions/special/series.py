"""What expansions of special functions share: polynomials, interpolation, repeated steps, products
in two parts.

Single precision is computed in double precision, as in C. So all functions here are of float64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.hlo.expansions.loops import while_loop
from transpile.ir.types import FLOAT64
from transpile.primitives.reference.extended_precision import LONG, PI
from transpile.primitives.rules import apply

# The upper half of the bits of a float64: what is left of the mantissa has 26 bits.
_HALF = 0xFFFF_FFFF_F800_0000


def in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of float64 arrays as one of floats, whose result has the first operand's dtype."""

    @functools.wraps(function)
    def expansion(*operands: Any) -> Any:
        return function(*(x.astype(FLOAT64) for x in operands)).astype(operands[0].dtype)

    return expansion


def polynomial(coefficients: Sequence[Any], x: Any) -> Any:
    """The sum of c[k] x^k, of float64."""
    total: Any = float(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x + float(c)
    return total


def interpolated(
    function: Callable[[Any], Any], low: float, high: float, count: int, x: Any
) -> Any:
    """A function of long doubles, which the module has by a name, for x in [low, high]: its
    polynomial through `count` Chebyshev points, by Clenshaw's recurrence (DLMF 3.11.15)."""
    first, *rest = _coefficients(function, low, high, count)
    t = (x - (low + high) / 2) * (2 / (high - low))
    after: Any = 0.0
    here: Any = rest[-1]
    for c in reversed(rest[:-1]):
        after, here = here, 2 * t * here - after + c
    return t * here - after + first


@functools.cache
def _coefficients(
    function: Callable[[Any], Any], low: float, high: float, count: int
) -> tuple[float, ...]:
    """Of Chebyshev polynomials (DLMF 3.11.11)."""
    angles = PI * (np.arange(count, dtype=LONG) + LONG(0.5)) / count
    with np.errstate(all="ignore"):  # of elements that the reference does not choose
        values = function((LONG(low) + high) / 2 + (LONG(high) - low) / 2 * np.cos(angles))
    sums = [(values * np.cos(k * angles)).sum() * 2 / count for k in range(count)]
    return (float(sums[0] / 2), *map(float, sums[1:]))


def repeated(count: int, step: Callable[..., Sequence[Any]], state: Sequence[Any]) -> list[Any]:
    """The state after steps 1, 2, ..., count; a step is given its number, as a float64."""

    def numbered(n: Any, *values: Any) -> list[Any]:
        return [n + 1, *step(n, *values)]

    return while_loop(lambda n, *_: n <= count, numbered, [np.ones(()), *state])[1:]


def until_done(limit: int, step: Callable[..., Sequence[Any]], state: Sequence[Any]) -> list[Any]:
    """Steps 1, 2, ... until the first part of the state, which elements go on, is all false. There
    is one at least, and at most `limit`."""

    def numbered(n: Any, *values: Any) -> list[Any]:
        return [n + 1, *step(n, *values)]

    def goes_on(n: Any, going: Any, *_: Any) -> Any:
        return np.any(going) & (n <= limit)

    return while_loop(goes_on, numbered, [np.ones(()), *state])[1:]


def halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of half the bits whose sum is x."""
    high = apply("float_from_bits", apply("bits", x) & np.uint64(_HALF), dtype=FLOAT64)
    return high, x - high


def product_error(x: Any, y: Any, product: Any) -> Any:
    """x y - product, where the product is rounded (T. Dekker, Numerische Mathematik 18, 1971)."""
    (a, b), (c, d) = halves(x), halves(y)
    return ((a * c - product) + a * d + b * c) + b * d
