"""Transpose a graph that is linear in some inputs: pull cotangents of results back to those inputs.

    y = 3.0 * x   ->   cx = 3.0 * cy

Equations that do not depend on the linear inputs are computed forwards; the others are visited in
reverse, with the transpose rules of their primitives. Cotangents of several uses are added. As in
forward mode, symbolic zeros are None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.errors import InternalError
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.primitive import Linear
from transpile.trace.trace import the_trace
from transpile.trace.tracer import Tracer
from transpile.transforms.closed import (
    Closed,
    Environment,
    derivative_name,
    name_after,
    operand,
    rewritten,
)
from transpile.transforms.linearize import partition


def transpose(
    closed: Closed,
    linear: Sequence[bool],
    given: Sequence[bool],
    known: Sequence[Any] | None = None,
) -> tuple[Closed, list[bool]]:
    """The graph of (inputs that are not linear, the given cotangents of results) -> cotangents of
    the linear inputs, and which of them it has; the others are zero."""
    inputs = closed.inputs
    fixed = [v for v, is_linear in zip(inputs, linear, strict=True) if not is_linear]
    results = [a for a, is_given in zip(closed.graph.outputs, given, strict=True) if is_given]
    names = [
        Var(a.type.strong, derivative_name(a.name) if isinstance(a, Var) else "") for a in results
    ]
    captured = len(closed.captured)
    flags: list[bool] = []

    def backwards(*values: Any) -> list[Any]:
        known = iter(values[: captured + len(fixed)])
        operands = [next(known) for _ in range(captured)]
        operands += [
            Linear(v.type) if f else next(known) for v, f in zip(inputs, linear, strict=True)
        ]
        rest = iter(values[captured + len(fixed) :])
        cotangents = [next(rest) if g else None for g in given]
        found = pull(closed.graph, operands, cotangents)[captured:]
        found = [c for c, is_linear in zip(found, linear, strict=True) if is_linear]
        flags[:] = [c is not None for c in found]
        return [c for c in found if c is not None]

    return rewritten(backwards, closed, (*fixed, *names), known), flags


def pull(graph: Graph, operands: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """The cotangents of the inputs that `operands` gives as Linear, None for the others and for
    zeros; in the trace under way."""
    trace = the_trace()
    linear = [v for v, x in zip(graph.inputs, operands, strict=True) if isinstance(x, Linear)]
    known = [
        (v, x) for v, x in zip(graph.inputs, operands, strict=True) if not isinstance(x, Linear)
    ]
    values = Environment(trace, [v for v, _ in known], [x for _, x in known])
    forwards, backwards = partition(graph, linear, eager=False)
    for equation in forwards:
        inputs = [values[a] for a in equation.inputs]
        values.define(equation.outputs, trace.copy(equation, inputs))
    sums = _Sums()
    with trace.at(graph.source), np.errstate(all="ignore"):
        for atom, cotangent in zip(graph.outputs, cotangents, strict=True):
            sums.add(atom, cotangent)
        for equation in reversed(backwards):
            arrived = [sums.take(v) for v in equation.outputs]
            if any(c is not None for c in arrived):
                with trace.at(equation.source):
                    found = _apply_rule(equation, values, arrived)
                    for atom, cotangent in zip(equation.inputs, found, strict=True):
                        if atom not in values:
                            sums.add(atom, cotangent)
    return [sums.take(v) for v in graph.inputs]


class _Sums:
    """The cotangents so far: a value that is used twice gets the sum of two."""

    def __init__(self) -> None:
        self._sums: dict[Atom, Any] = {}

    def add(self, atom: Atom, cotangent: Any) -> None:
        """Accumulate a cotangent."""
        if cotangent is None or not isinstance(atom, Var):
            return
        if not isinstance(cotangent, Tracer) or cotangent.type.strong != atom.type.strong:
            raise InternalError(f"{cotangent!r} is no cotangent of a {atom.type}")
        earlier = self._sums.get(atom)
        self._sums[atom] = cotangent if earlier is None else added(earlier, cotangent)
        name_after(self._sums[atom], derivative_name(atom.name.removeprefix("d")))

    def take(self, var: Var) -> Any:
        """Remove and return the accumulated cotangent."""
        return self._sums.pop(var, None)


def added(x: Any, y: Any) -> Any:
    """The sum of two traced values. One of them may be few elements among zeros: then only these
    are added to the other one."""
    for total, part in ((x, y), (y, x)):
        equation = part.owner.producers.get(part.variable) if isinstance(part, Tracer) else None
        if equation is not None and equation.primitive.accumulate is not None:
            operands = [
                operand(a) if isinstance(a, Const) else Tracer(part.owner, a)
                for a in equation.inputs
            ]
            result = equation.primitive.accumulate(total, *operands, **equation.params)
            if result is not None:
                return result
    return x + y


def _apply_rule(equation: Equation, values: Environment, cotangents: list[Any]) -> Sequence[Any]:
    primitive = equation.primitive
    if primitive.transpose is None:
        raise NotImplementedError(
            f"{equation.source}: Transpose rule (for reverse-mode differentiation) for "
            f"'{primitive.name}' not implemented"
        )
    operands = [operand(values[a]) if a in values else Linear(a.type) for a in equation.inputs]
    given = cotangents[0] if len(cotangents) == 1 and not primitive.has_graphs else cotangents
    found: Sequence[Any] = primitive.transpose(given, *operands, **equation.params)
    return found
