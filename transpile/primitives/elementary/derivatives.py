"""JVP rules of elementary functions that take more than one line.

A rule is (tangent, result, *operands) -> the operand's term of the result's tangent. Where the
derivative does not exist, or is not finite, the values are JAX's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.primitives.elementwise.derivatives import nonzero
from transpile.primitives.rules import is_scalar_constant


def not_infinite(x: Any) -> Any:
    """The value, or 0 where it is +inf, so that the difference of two is no NaN."""
    return np.where(np.equal(x, np.inf), 0, x)


def hypot(t: Any, out: Any, x: Any) -> Any:
    """x / out; 1/2 at the origin and 0 at infinity."""
    special = np.logical_or(np.equal(out, 0), np.equal(out, np.inf))
    numerator = np.where(np.equal(out, 0), 0.5, np.where(np.equal(out, np.inf), 0.0, x))
    return t * (numerator / np.where(special, 1.0, out))


def circle(x: Any) -> Any:
    """sqrt(1 - x**2) without cancellation near -1 and 1."""
    return np.sqrt((1 - x) * (1 + x))


def hyperbola(x: Any) -> Any:
    """sqrt(x**2 - 1) on the branch of arccosh."""
    if x.dtype.kind == "c":
        return np.sqrt(x - 1) * np.sqrt(x + 1)
    return np.sqrt((x - 1) * (x + 1))


def power_base(t: Any, out: Any, x: Any, y: Any) -> Any:
    """y x**(y - 1); zero for a known y = 0, also at x = 0 and NaN."""
    if is_scalar_constant(y):
        exponent = y.item().real if y.imag == 0 else y.item()
        if exponent == 0:
            return None
        return t if exponent == 1 else t * (exponent * x ** (exponent - 1))
    if not isinstance(y, np.ndarray):
        return t * (y * np.power(x, y - 1))
    is_zero = np.equal(y, 0)
    return t * np.where(is_zero, 0, y * np.power(x, np.where(is_zero, 1, y - 1)))


def power_exponent(t: Any, out: Any, x: Any, y: Any) -> Any:
    """log(x) x**y, and 0 where x is 0."""
    return t * (np.log(nonzero(x)) * out)
