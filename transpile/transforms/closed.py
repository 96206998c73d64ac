"""Closed graphs: a graph together with the values of outer traces that it captures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile.ir.graph import Atom, Const, Graph, Source, Var
from transpile.ir.types import ArrayType, kind_letter
from transpile.trace.lengths import with_own_lengths
from transpile.trace.trace import Trace, current_trace, trace_nested
from transpile.trace.tracer import UNKNOWN, Tracer
from transpile.transforms.interpret import interpret
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True, eq=False)
class Closed:
    """A graph and the values of its leading inputs; a call gives it the values of the others.

    Called inside a trace, its equations become part of that trace; elsewhere NumPy computes them.
    """

    graph: Graph
    captured: tuple[Any, ...] = ()

    @property
    def inputs(self) -> tuple[Var, ...]:
        """The inputs that are not captured."""
        return self.graph.inputs[len(self.captured) :]

    def __call__(self, *values: Any) -> list[Any]:
        """The results for these values."""
        return apply(self.graph, (*self.captured, *values))


def close(
    function: Callable[..., Sequence[Any]],
    inputs: Sequence[Var],
    *,
    name: str,
    source: Source,
    known: Sequence[Any] | None = None,
) -> Closed:
    """The closed graph of `function(*tracers)`, whose arguments are like these Vars. `known` are
    their values, UNKNOWN where Python may not ask for one."""
    graph, captured, _ = trace_nested(
        lambda *tracers: (function(*tracers), None),
        [v.type for v in inputs],
        [v.name for v in inputs],
        name=name,
        source=source,
        known=known,
    )
    return Closed(graph, tuple(captured))


def rewritten(
    function: Callable[..., Sequence[Any]],
    closed: Closed,
    inputs: Sequence[Var],
    known: Sequence[Any] | None = None,
) -> Closed:
    """The closed graph of a transformation of `closed`: of `function(*captured, *tracers)`, whose
    further arguments are like `inputs`; `known` are the values of the first of these, for the
    rules that users wrote in Python."""
    captured = closed.graph.inputs[: len(closed.captured)]
    if known is not None:
        rest = len(inputs) - len(known)
        known = (*closed.captured, *known, *[UNKNOWN] * rest)
    transformed = close(
        function,
        (*captured, *inputs),
        name=closed.graph.name,
        source=closed.graph.source,
        known=known,
    )
    return Closed(transformed.graph, (*transformed.captured, *closed.captured))


def apply(graph: Graph, values: Sequence[Any]) -> list[Any]:
    """Apply a graph: append its equations to the active trace, or evaluate it without one."""
    trace = current_trace()
    if trace is None:
        return interpret(graph, values)
    graph = with_own_lengths(trace, graph)
    environment = Environment(trace, graph.inputs, values)
    for equation in graph.equations:
        results = trace.copy(equation, [environment[a] for a in equation.inputs])
        environment.define(equation.outputs, results)
    return [operand(environment[a]) for a in graph.outputs]


class Environment:
    """The values, in the active trace, of the atoms of the graph being transformed."""

    def __init__(self, trace: Trace, inputs: Sequence[Var], values: Sequence[Any]) -> None:
        self.trace = trace
        self._values: dict[Var, Any] = dict(zip(inputs, values, strict=True))

    def __getitem__(self, atom: Atom) -> Any:
        return atom if isinstance(atom, Const) else self._values[atom]

    def __contains__(self, atom: Atom) -> bool:
        return isinstance(atom, Const) or atom in self._values

    def define(self, outputs: Sequence[Var], values: Sequence[Any]) -> None:
        """Bind the outputs of an equation to values, which take over their names."""
        for var, value in zip(outputs, values, strict=True):
            self._values[var] = value
            name_after(value, var.name)


def operand(value: Any) -> Any:
    """The value that a rule is given: a tracer, or the NumPy value of a constant."""
    return value.value[()] if isinstance(value, Const) else value


def name_after(value: Any, name: str) -> None:
    """Give a traced value that has no name this one."""
    if isinstance(value, Tracer) and not value.variable.name:
        value.variable.name = name


def derivative_name(name: str) -> str:
    """The name of the tangent or cotangent of a value: `dx` for `x`."""
    return f"d{name}" if name else ""


def tangent_type(kind: ArrayType) -> ArrayType | None:
    """The type of the tangents of values of a type; None where there are none (integers, bools)."""
    return kind.strong if kind_letter(kind.dtype) in "fc" else None
