"""Split a long reduction of short vectors into a scalar reduction for each component.

`x.sum(axis=0)` of shape (n, 3) accumulates into an array of three elements; as three reductions of
x[:, 0], x[:, 1] and x[:, 2] it is one fused loop with three accumulators in registers, which shares
what the components have in common. Where there are more columns behind the axis of the sum, as in
`x.sum(axis=0)` of shape (n, m, 3), all of them are lanes, and read in the order of memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS, NO_COMPOSITES
from transpile.ir.graph import Atom, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.machine import USUAL, Machine
from transpile.primitives import axes


# A sum of complex numbers becomes two first.
@contract(requires=(NO_COMPOSITES,), destroys=(NO_COMMON_SUBEXPRESSIONS,))
def scalarize_reductions(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Split the reductions that `Machine` says are worth it, and concatenate their results."""
    if not any(primitive.kind == "reduce" for primitive in graph.primitives):
        return graph
    return rewrite(graph, _rule, machine)


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    if equation.primitive.kind != "reduce":
        return None
    (x,) = equation.inputs
    reduced: tuple[int, ...] = equation.params["axes"]
    last = x.type.ndim - 1
    count, length = x.type.shape[last], product(x.type.shape[a] for a in reduced)
    if last in reduced or not isinstance(count, int):
        return None
    machine = builder.machine
    behind = product(x.type.shape[a] for a in range(max(reduced, default=last) + 1, last + 1))
    if estimate(behind) > machine.most_components:
        return None  # which are enough columns to fill vector lanes
    if (
        not 2 <= count <= machine.most_components
        or estimate(length) < machine.shortest_component_sum
    ):
        return None
    shape = equation.output.type.shape
    totals: list[Atom] = []
    name, builder.name = builder.name, ""
    for component in range(count):
        start = (0,) * last + (component,)
        limit = (*x.type.shape[:last], component + 1)
        column = builder.apply(axes.slice_, x, start=start, limit=limit, strides=(1,) * (last + 1))
        flat = builder.apply(axes.reshape, column, shape=x.type.shape[:last])
        total = builder.apply(equation.primitive, flat, axes=reduced)
        totals.append(builder.apply(axes.reshape, total, shape=(*shape[:-1], 1)))
    builder.name = name
    return [builder.apply(axes.concatenate, *totals, dimension=len(shape) - 1)]
