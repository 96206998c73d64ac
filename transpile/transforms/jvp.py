"""Differentiate a graph in forward mode: push tangents alongside the primal values.

    y = sin(x)   ->   y = sin(x); dy = cos(x) * dx

The JVP rules of the primitives compute tangents. Symbolic zeros are None, so that no equation is
made for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.errors import InternalError
from transpile.ir.graph import Equation, Graph, Var
from transpile.ir.types import is_bfloat16
from transpile.trace.trace import Trace, the_trace
from transpile.trace.tracer import Tracer
from transpile.transforms.closed import (
    Closed,
    Environment,
    derivative_name,
    name_after,
    operand,
    rewritten,
    tangent_type,
)

Tangents = list[Any]


def jvp(
    closed: Closed, active: Sequence[bool], known: Sequence[Any] | None = None
) -> tuple[Closed, list[bool]]:
    """The graph of (inputs, tangents of the active inputs) -> (results, tangents), and which of
    the results have a tangent in it; those of the others are zero."""
    inputs = closed.inputs
    moving = [v for v, is_active in zip(inputs, active, strict=True) if is_active]
    names = [Var(v.type.strong, derivative_name(v.name)) for v in moving]
    captured = len(closed.captured)
    flags: list[bool] = []

    def both(*values: Any) -> list[Any]:
        primals = values[: captured + len(inputs)]
        given = iter(values[captured + len(inputs) :])
        tangents = [None] * captured + [next(given) if a else None for a in active]
        results, moved = push(closed.graph, primals, tangents)
        flags[:] = [t is not None for t in moved]
        return results + [t for t in moved if t is not None]

    return rewritten(both, closed, (*inputs, *names), known), flags


def push(
    graph: Graph, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], Tangents]:
    """Append a graph and its tangents to the active trace; returns results and tangents."""
    trace = the_trace()
    values = Environment(trace, graph.inputs, primals)
    moved: dict[Any, Any] = {
        v: t for v, t in zip(graph.inputs, tangents, strict=True) if t is not None
    }
    with np.errstate(all="ignore"):  # rules compute with constants, too
        for equation in graph.equations:
            given = [moved.get(a) for a in equation.inputs]
            inputs = [values[a] for a in equation.inputs]
            if all(t is None for t in given) or not any(
                tangent_type(v.type) for v in equation.outputs
            ):
                values.define(equation.outputs, trace.copy(equation, inputs))
                continue
            with trace.at(equation.source):
                results, changes = _apply_rule(trace, equation, inputs, given)
            values.define(equation.outputs, results)
            for var, change in zip(equation.outputs, changes, strict=True):
                if change is not None:
                    moved[var] = _checked(change, var, equation)
                    name_after(change, derivative_name(var.name))
    return [values[a] for a in graph.outputs], [moved.get(a) for a in graph.outputs]


def _apply_rule(
    trace: Trace, equation: Equation, inputs: Sequence[Any], tangents: Tangents
) -> tuple[Sequence[Any], Sequence[Any]]:
    primitive = equation.primitive
    if primitive.jvp is None:
        raise NotImplementedError(
            f"{equation.source}: Differentiation rule for '{primitive.name}' not implemented"
        )
    operands = [operand(v) for v in inputs]
    if primitive.has_graphs:
        results, changes = primitive.jvp(tangents, *operands, **equation.params)
        return results, changes
    if primitive.jvp_gives_result:
        result, change = primitive.jvp(tangents, *operands, **equation.params)
        return [result], [change]
    results = trace.copy(equation, inputs)
    if len(results) == 1:
        return results, [primitive.jvp(tangents, results[0], *operands, **equation.params)]
    return results, primitive.jvp(tangents, results, *operands, **equation.params)


def _checked(tangent: Any, var: Var, equation: Equation) -> Any:
    """The tangent, which must be a tracer of its value's type.

    Beside a Python float a bfloat16 is a float32: what rules compute with one is rounded.
    """
    dtype = var.type.dtype
    if is_bfloat16(dtype) and getattr(tangent, "dtype", dtype) != dtype:
        tangent = tangent.astype(dtype)
    if not isinstance(tangent, Tracer) or tangent.type.strong != var.type.strong:
        raise InternalError(
            f"the derivative of {equation.primitive.name} gives {tangent!r} as the tangent of a "
            f"{var.type}"
        )
    return tangent
