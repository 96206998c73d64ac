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
from transpile.primitives.rules import Rule, apply

Comparison = Callable[[Any, Any], Any]


def zero(t: Any) -> Any:
    """The scalar 0 of a tracer's dtype."""
    return np.zeros((), t.dtype)


def nonzero(x: Any) -> Any:
    """The value, or 1 where it is 0: to divide by, and to take the logarithm of."""
    return np.where(np.equal(x, 0), 1, x)


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
