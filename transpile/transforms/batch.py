"""Batch a graph (`vmap`): add a leading axis to every value that depends on a mapped input.

    z = dot(w, x), x mapped   ->   z[b] = dot(w, x[b]) as one contraction over an array of batches

Other values keep their shapes. The batching rules of the primitives take and return values with the
mapped axis in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.errors import InternalError
from transpile.ir.graph import Equation, Graph, Var, axis_names
from transpile.ir.primitive import Axis
from transpile.trace.trace import the_trace
from transpile.transforms.closed import Closed, Environment, operand, rewritten


def batch(closed: Closed, axis: Axis, batched: Sequence[bool]) -> tuple[Closed, list[bool]]:
    """The graph on arrays of examples along the new axis 0 of the batched inputs, and which of its
    results are batched."""
    captured = len(closed.captured)
    inputs = [
        Var(v.type.with_shape((axis.size, *v.type.shape)), v.name) if is_batched else v
        for v, is_batched in zip(closed.inputs, batched, strict=True)
    ]
    flags: list[bool] = []

    def on_arrays(*values: Any) -> list[Any]:
        results, are_batched = spread(
            closed.graph, axis, values, [False] * captured + list(batched)
        )
        flags[:] = are_batched
        return results

    return rewritten(on_arrays, closed, inputs), flags


def spread(
    graph: Graph, axis: Axis, inputs: Sequence[Any], batched: Sequence[bool]
) -> tuple[list[Any], list[bool]]:
    """Append a batched graph to the active trace; returns its results, and which are batched."""
    trace = the_trace()
    values = Environment(trace, graph.inputs, inputs)
    mapped = {v for v, is_batched in zip(graph.inputs, batched, strict=True) if is_batched}
    with np.errstate(all="ignore"):
        for equation in graph.equations:
            given = [values[a] for a in equation.inputs]
            flags = [a in mapped for a in equation.inputs]
            if not any(flags) and not _is_over(axis, equation):
                values.define(equation.outputs, trace.copy(equation, given))
                continue
            with trace.at(equation.source):
                results, are_batched = _apply_rule(equation, axis, flags, given)
            for var, value, is_batched in zip(equation.outputs, results, are_batched, strict=True):
                _check(value, var, equation, axis, is_batched)
            values.define(equation.outputs, results)
            mapped.update(v for v, f in zip(equation.outputs, are_batched, strict=True) if f)
    return [values[a] for a in graph.outputs], [a in mapped for a in graph.outputs]


def _is_over(axis: Axis, equation: Equation) -> bool:
    """True if an equation is, or has, a collective over the mapped axis."""
    return axis.name is not None and axis.name in axis_names(equation)


def _apply_rule(
    equation: Equation, axis: Axis, batched: Sequence[bool], given: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[bool]]:
    primitive = equation.primitive
    if primitive.batch is None:
        raise NotImplementedError(
            f"{equation.source}: Batching rule for '{primitive.name}' not implemented"
        )
    operands = [operand(v) for v in given]
    results, flags = primitive.batch(axis, batched, *operands, **equation.params)
    if primitive.has_graphs or len(equation.outputs) != 1:
        return results, flags
    return [results], [flags]


def _check(value: Any, var: Var, equation: Equation, axis: Axis, is_batched: bool) -> None:
    shape = (axis.size, *var.type.shape) if is_batched else var.type.shape
    if tuple(value.shape) != shape or value.dtype != var.type.dtype:
        raise InternalError(
            f"the batching of {equation.primitive.name} gives {value!r} for a batch of "
            f"{axis.size} {var.type}"
        )
