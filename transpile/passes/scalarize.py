"""Components: a long reduction of short vectors becomes one reduction for each component.

Summing (n, 3) over n as one array needs an array of accumulators or three passes; as three sums it
is one loop with three scalars, which share whatever the components have in common.
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.ir.dims import product
from transpile.ir.graph import Atom, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.machine import USUAL, Machine
from transpile.primitives import axes


def components(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph with such reductions taken apart and their results joined."""
    if not any(row.kind == "reduce" for row in graph.primitives):
        return graph
    return rewrite(graph, _rule, machine)


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    if equation.primitive.kind != "reduce":
        return None
    (x,) = equation.inputs
    over: tuple[int, ...] = equation.params["axes"]
    last = x.type.ndim - 1
    count, length = x.type.shape[last], product(x.type.shape[a] for a in over)
    if last in over or not isinstance(count, int) or not isinstance(length, int):
        return None
    machine = builder.machine
    if not 2 <= count <= machine.most_components or length < machine.shortest_component_sum:
        return None
    shape = equation.output.type.shape
    parts: list[Atom] = []
    name, builder.name = builder.name, ""
    for component in range(count):
        start = (0,) * last + (component,)
        limit = (*x.type.shape[:last], component + 1)
        part = builder.apply(axes.slice_, x, start=start, limit=limit, strides=(1,) * (last + 1))
        flat = builder.apply(axes.reshape, part, shape=x.type.shape[:last])
        total = builder.apply(equation.primitive, flat, axes=over)
        parts.append(builder.apply(axes.reshape, total, shape=(*shape[:-1], 1)))
    builder.name = name
    return [builder.apply(axes.concatenate, *parts, dimension=len(shape) - 1)]
