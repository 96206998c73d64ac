"""Derivatives of elementwise rows that take more than one line.

A rule is (tangent, result, *operands) -> its operand's share of the result's tangent. Where the
derivative does not exist, or is not finite, the numbers are JAX's. Constants have the tangent's
dtype, or are Python's, which take that of what stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.primitive import Linear
from transpile.ir.types import kind_letter
from transpile.primitives.rules import Rule, apply, is_scalar_constant

Comparison = Callable[[Any, Any], Any]


def zero(t: Any) -> Any:
    """The scalar 0 of a tracer's dtype."""
    return np.zeros((), t.dtype)


def nonzero(x: Any) -> Any:
    """The value, or 1 where it is 0: to divide by, and to take the logarithm of."""
    return np.where(np.equal(x, 0), 1, x)


def not_infinite(x: Any) -> Any:
    """The value, or 0 where it is +inf: the difference of two of them is a number."""
    return np.where(np.equal(x, np.inf), 0, x)


def _plus_where(condition: Any, t: Any) -> Any:
    """t where the condition holds, else -t."""
    return t * np.where(condition, t.dtype.type(1), t.dtype.type(-1))


# ------------------------------------------------------------------------- magnitude and signs


def absolute(t: Any, out: Any, x: Any) -> Any:
    """Of a real number its sign, which is 1 at 0; of a complex one the direction, 0 at 0."""
    if kind_letter(x.dtype) == "f":
        return _plus_where(x >= 0, t)
    size = nonzero(out)
    return np.real(t) * (np.real(x) / size) + np.imag(t) * (np.imag(x) / size)


def sign(t: Any, out: Any, x: Any) -> Any:
    """Flat for real numbers; a complex sign turns with the share of t that is across it."""
    if kind_letter(x.dtype) == "f":
        return None
    return np.imag(np.conjugate(out) * t) * (1j * out / nonzero(np.absolute(x)))


def copysign(t: Any, out: Any, x: Any, y: Any) -> Any:
    """The sign of x times the sign of y."""
    return _plus_where(np.not_equal(x >= 0, np.signbit(y)), t)


def hypot(t: Any, out: Any, x: Any) -> Any:
    """x / out; 1/2 at the origin and 0 at infinity."""
    special = np.logical_or(np.equal(out, 0), np.equal(out, np.inf))
    numerator = np.where(np.equal(out, 0), 0.5, np.where(np.equal(out, np.inf), 0.0, x))
    return t * (numerator / np.where(special, 1.0, out))


# ------------------------------------------------------------------------------------- choices


def chosen_where(is_better: Comparison) -> Rule:
    """Of the greater or lesser of two, one operand's share: half of it between equals, and none
    where one is a NaN."""

    def rule(t: Any, out: Any, x: Any, y: Any) -> Any:
        number = t.dtype.type
        half = np.where(np.equal(x, y), number(0.5), number(0))
        return t * np.where(is_better(x, y), number(1), half)

    return rule


def chosen_unless_nan(is_better: Comparison) -> tuple[Rule, Rule]:
    """Of the greater or lesser of two that is no NaN, the shares; all is the second's between
    equals."""

    def is_first(x: Any, y: Any) -> Any:
        return np.logical_or(is_better(x, y), np.isnan(y))

    return (
        lambda t, out, x, y: np.where(is_first(x, y), t, 0),
        lambda t, out, x, y: np.where(is_first(x, y), 0, t),
    )


def select(tangents: Sequence[Any], out: Any, test: Any, *_: Any) -> Any:
    """A choice between the tangents."""
    return apply("select", test, *[zero(out) if t is None else t for t in tangents[1:]])


def select_transpose(ct: Any, test: Any, x: Any, y: Any) -> list[Any]:
    """The cotangent where the operand was chosen."""
    return [
        None,
        apply("select", test, ct, zero(ct)) if isinstance(x, Linear) else None,
        apply("select", test, zero(ct), ct) if isinstance(y, Linear) else None,
    ]


# ------------------------------------------------------------------------- complex and converted


def complex_(tangents: Sequence[Any], out: Any, *_: Any) -> Any:
    """Its parts are the tangents."""
    part = out.dtype.type(0).real
    return apply("complex", *[part if t is None else t for t in tangents])


def complex_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    """The real part, and minus the imaginary one: as Re(ct t), not its conjugate, is kept."""
    return [
        np.real(ct) if isinstance(x, Linear) else None,
        -np.imag(ct) if isinstance(y, Linear) else None,
    ]


def convert(t: Any, dtype: np.dtype[Any]) -> Any:
    """A tangent or cotangent in another dtype; a real one has the real part."""
    part = np.real(t) if t.dtype.kind == "c" and kind_letter(dtype) == "f" else t
    return apply("convert_element_type", part, dtype=dtype)


# -------------------------------------------------------------------------- elementary functions


def circle(x: Any) -> Any:
    """sqrt(1 - x**2), exact to rounding near -1 and 1, too."""
    return np.sqrt((1 - x) * (1 + x))


def hyperbola(x: Any) -> Any:
    """sqrt(x**2 - 1); for complex numbers the branch that belongs to arccosh."""
    if x.dtype.kind == "c":
        return np.sqrt(x - 1) * np.sqrt(x + 1)
    return np.sqrt((x - 1) * (x + 1))


def power_base(t: Any, out: Any, x: Any, y: Any) -> Any:
    """y x**(y - 1). Where y is known to be 0 the power is flat, at 0 and NaN, too."""
    if is_scalar_constant(y):
        exponent = y.item().real if y.imag == 0 else y.item()
        if exponent == 0:
            return None
        return t if exponent == 1 else t * (exponent * x ** (exponent - 1))
    below = np.where(y == 0, 1, y - 1) if isinstance(y, np.ndarray) else y - 1
    return t * (y * np.power(x, below))


def power_exponent(t: Any, out: Any, x: Any, y: Any) -> Any:
    """log(x) x**y, and 0 where x is 0."""
    return t * (np.log(nonzero(x)) * out)
