"""What rules work with: the graphs of computations, and the attributes of an instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.errors import HloError
from transpile.hlo.module import Computation, Instruction
from transpile.ir.graph import Atom, Const, Graph
from transpile.primitives.rules import apply
from transpile.trace.trace import the_trace
from transpile.trace.tracer import Tracer
from transpile.transforms.closed import Closed
from transpile.util.frozen_records import dataclass

Rule = Callable[..., Any]  # (Call, *operands) -> a value, or a list of them for a tuple
Rules = dict[str, Rule]


@dataclass(frozen=True, eq=False)
class Call:
    """An instruction that is being translated, and the graphs of the computations so far."""

    instruction: Instruction
    graphs: dict[Computation, Graph]

    def fail(self, message: str) -> HloError:
        """The error about the instruction; the caller knows where it stands."""
        return HloError(f"{self.instruction.opcode}: {message}")

    def get(self, name: str, kind: type, default: Any = None) -> Any:
        """An attribute of a kind."""
        value = self.instruction.attributes.get(name, default)
        if not isinstance(value, kind):
            raise self.fail(f"it has no attribute {name}" if value is None else f"{name}={value}?")
        return value

    def axes(self, name: str) -> tuple[int, ...]:
        """An attribute that is a list of integers; empty if it is not there."""
        value = self.get(name, tuple, ())
        if not all(type(v) is int for v in value):
            raise self.fail(f"{name} is no list of integers")
        return tuple(value)

    def graph(self, computation: Any) -> Graph:
        """The graph of a computation that is called."""
        if not isinstance(computation, Computation):
            raise self.fail("it calls no computation")
        return self.graphs[computation]

    def function(self, name: str = "to_apply") -> Closed:
        """The computation of an attribute as a function that gives a list."""
        return Closed(self.graph(self.instruction.attributes.get(name)))


def flat(values: Sequence[Any]) -> list[Any]:
    """The arrays of values, of which some are lists: tuples of HLO."""
    stack, found = list(values)[::-1], []
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += value[::-1]
        else:
            found.append(value)
    return found


def producer(value: Any, *names: str) -> Any:
    """The equation that gives a traced value, if it applies one of these primitives."""
    if not isinstance(value, Tracer):
        return None
    equation = the_trace().producers.get(value.variable)
    return equation if equation is not None and equation.primitive.name in names else None


def value_of(atom: Atom) -> Any:
    """What a rule is given for an operand of an equation of the trace under way."""
    return atom.value if isinstance(atom, Const) else Tracer(the_trace(), atom)


def known(value: Any) -> Any:
    """The value of a constant scalar, or None."""
    if isinstance(value, Const):
        value = value.value
    if isinstance(value, np.ndarray | np.generic) and np.ndim(value) == 0:
        return np.asarray(value)[()]
    return None


def literal(array: Any) -> Any:
    """A constant of a module; one number for all elements stays one number."""
    if array.ndim and array.size > 1 and not any(array.strides):
        first = array[(0,) * array.ndim]
        return apply("broadcast_in_dim", Const(first), shape=array.shape, broadcast_dimensions=())
    return np.asarray(array)
