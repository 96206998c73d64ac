"""Placeholders for values where a user's rule runs: zeros without values, current tracers for those
of a trace that has ended, and pytrees without their traced leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from transpile import tree
from transpile.functional.flatten_fun import is_inexact, value_type, zero
from transpile.ir.types import FLOAT0, ArrayType
from transpile.primitives.rules import broadcast
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.trace import constant
from transpile.trace.tracer import Tracer
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class SymbolicZero:
    """A tangent or cotangent that is zero for certain: a type without values."""

    type: ArrayType

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape."""
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of tangents of the type: float0 for integers and bools."""
        return self.type.dtype if is_inexact(self.type) else FLOAT0

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.type.ndim

    @property
    def size(self) -> Any:
        """The number of elements."""
        return self.type.size

    @staticmethod
    def from_primal_value(value: Any) -> SymbolicZero:
        """The zero tangent of a value."""
        return SymbolicZero(value_type(value).strong)

    def __repr__(self) -> str:
        return "SymbolicZero"


@dataclass
class CustomVJPPrimal:
    """What a forward rule with `symbolic_zeros` gets for a leaf: its value, and whether somebody
    asks for its derivative."""

    value: Any
    perturbed: bool


class _Hole:
    """The placeholder of a traced leaf."""


_HOLE = _Hole()


@dataclass(frozen=True, eq=False)
class Parts:
    """A pytree without its traced leaves; everything else in it stays the same object."""

    structure: tree.TreeDef
    leaves: tuple[Any, ...]

    @staticmethod
    def of(value: Any) -> tuple[list[Tracer], Parts]:
        """The traced leaves of a pytree, and the rest of it."""
        leaves, structure = flatten_arrays(value)
        rest = tuple(_HOLE if isinstance(x, Tracer) else x for x in leaves)
        return [x for x in leaves if isinstance(x, Tracer)], Parts(structure, rest)

    def join(self, values: Sequence[Any]) -> Any:
        """The pytree with these values for its traced leaves."""
        given = iter(values)
        return self.structure.unflatten(next(given) if x is _HOLE else x for x in self.leaves)


@contextmanager
def standing_in(captured: Sequence[Tracer], values: Sequence[Any]) -> Iterator[None]:
    """While a rule runs, the tracers that the function closed over are the equation's operands.

    A user's rule closes over the same tracers as the function. The trace that they belong to has
    ended, and what they stand for has gone through transformations as operands of the equation.
    """
    before = [(t.owner, t.variable) for t in captured]
    now = [traced(x, t.type) for x, t in zip(values, captured, strict=True)]
    for tracer, value in zip(captured, now, strict=True):
        tracer.owner, tracer.variable = value.owner, value.variable
    try:
        yield
    finally:
        for tracer, (owner, variable) in zip(captured, before, strict=True):
            tracer.owner, tracer.variable = owner, variable


def traced(value: Any, kind: ArrayType) -> Tracer:
    """A tracer of its own for a value of a type, which may be a constant.

    One of a Python number promotes like a Python number.
    """
    if isinstance(value, Tracer):
        return Tracer(value.owner, value.variable)
    filled: Tracer = broadcast(
        constant(np.asarray(value, kind.dtype)), kind.shape, range(kind.ndim)
    )
    filled.variable.type = kind
    return filled


def zero_like(value: Any) -> Any:
    """The zero tangent of a value."""
    return zero(value_type(value).strong)


def is_symbolic_zero(value: Any) -> bool:
    """Tell whether a tangent or cotangent is known to be zero."""
    if isinstance(value, Tracer):
        return False
    return isinstance(value, SymbolicZero) or value.dtype == FLOAT0 or not np.any(value)
