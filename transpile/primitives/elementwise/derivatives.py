"""JVP and transpose rules of elementwise primitives that take more than one line.

A JVP rule is (tangent, result, *operands) -> the operand's term of the result's tangent. Where the
derivative does not exist, or is not finite, the values are JAX's. Constants have the tangent's
dtype, or are Python scalars, which are weakly typed.
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
    """The scalar 0 of a value's dtype."""
    return np.zeros((), t.dtype)


def nonzero(x: Any) -> Any:
    """The value, or 1 where it is 0: a safe divisor, and a safe argument of a logarithm."""
    return np.where(np.equal(x, 0), 1, x)


def _plus_where(condition: Any, t: Any) -> Any:
    """t where the condition holds, else -t."""
    return t * np.where(condition, t.dtype.type(1), t.dtype.type(-1))


# ------------------------------------------------------------------------- magnitude and signs


def absolute(t: Any, out: Any, x: Any) -> Any:
    """sign(x) t for real numbers, with the sign 1 at 0; Re(conj(x) t) / |x| for complex ones, and 0
    at 0."""
    if kind_letter(x.dtype) == "f":
        return _plus_where(x >= 0, t)
    size = nonzero(out)
    return np.real(t) * (np.real(x) / size) + np.imag(t) * (np.imag(x) / size)


def sign(t: Any, out: Any, x: Any) -> Any:
    """Zero for real numbers; a complex sign rotates with the component of t perpendicular to it."""
    if kind_letter(x.dtype) == "f":
        return None
    return np.imag(np.conjugate(out) * t) * (1j * out / nonzero(np.absolute(x)))


def copysign(t: Any, out: Any, x: Any, y: Any) -> Any:
    """The sign of x times the sign of y."""
    return _plus_where(np.not_equal(x >= 0, np.signbit(y)), t)


# ------------------------------------------------------------------------------------ selection


def chosen_where(is_better: Comparison) -> Rule:
    """The rule of maximum and minimum for one operand: half of the tangent for equal operands, none
    where one is a NaN."""

    def rule(t: Any, out: Any, x: Any, y: Any) -> Any:
        number = t.dtype.type
        half = np.where(np.equal(x, y), number(0.5), number(0))
        return t * np.where(is_better(x, y), number(1), half)

    return rule


def chosen_unless_nan(is_better: Comparison) -> tuple[Rule, Rule]:
    """The rules of fmax and fmin; for equal operands the second one has the tangent."""

    def is_first(x: Any, y: Any) -> Any:
        return np.logical_or(is_better(x, y), np.isnan(y))

    return (
        lambda t, out, x, y: np.where(is_first(x, y), t, 0),
        lambda t, out, x, y: np.where(is_first(x, y), 0, t),
    )


def select(tangents: Sequence[Any], out: Any, test: Any, *_: Any) -> Any:
    """The selection of the tangents."""
    return apply("select", test, *[zero(out) if t is None else t for t in tangents[1:]])


def select_transpose(ct: Any, test: Any, x: Any, y: Any) -> list[Any]:
    """The cotangent where the operand was selected, zero elsewhere."""
    return [
        None,
        apply("select", test, ct, zero(ct)) if isinstance(x, Linear) else None,
        apply("select", test, zero(ct), ct) if isinstance(y, Linear) else None,
    ]


# ----------------------------------------------------------------------- complex numbers and casts


def complex_(tangents: Sequence[Any], out: Any, *_: Any) -> Any:
    """The complex number of the tangents."""
    part = out.dtype.type(0).real
    return apply("complex", *[part if t is None else t for t in tangents])


def complex_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    """The real part, and minus the imaginary part: the pairing is Re(ct t), not Re(conj(ct) t)."""
    return [
        np.real(ct) if isinstance(x, Linear) else None,
        -np.imag(ct) if isinstance(y, Linear) else None,
    ]


def convert(t: Any, dtype: np.dtype[Any]) -> Any:
    """A tangent or cotangent converted to a dtype; to a real one, its real part."""
    part = np.real(t) if t.dtype.kind == "c" and kind_letter(dtype) == "f" else t
    return apply("convert_element_type", part, dtype=dtype)
