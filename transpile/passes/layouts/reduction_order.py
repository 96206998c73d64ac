"""Reduce arrays in the order in which they lie in memory.

    reduce_sum(sin(transpose(x)))   ->   reduce_sum(transpose(sin(transpose(x))))

A reduction may take its axes in any order. Where its operand is computed from transposes, it takes
them in that of memory: `sink_transposes` then cancels the two transposes. An operand that is
also read in row-major order stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS
from transpile.ir.graph import Atom, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.primitive import Order, inverse
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import transpose
from transpile.primitives.memory_orders import order_of_result, orders_of


@contract(destroys=(NO_COMMON_SUBEXPRESSIONS,))
def reduce_in_memory_order(graph: Graph, _: Machine = USUAL) -> Graph:
    """Let reductions read what is computed from transposes in the order of memory."""
    if transpose not in graph.primitives:
        return graph
    known = orders_of(graph, {})
    chosen = _chosen(graph, known)

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        order = chosen.get(equation.outputs[0]) if equation.outputs else None
        if order is None:
            return None
        axes = equation.params["axes"]
        moved = builder.apply(transpose, equation.inputs[0], permutation=order)
        inner = tuple(n for n, axis in enumerate(order) if axis in axes)
        result = builder.apply(equation.primitive, moved, axes=inner)
        back = inverse(order_of_result(equation, order))
        return [builder.apply(transpose, result, permutation=back)]

    return rewrite(graph, rule)


def _chosen(graph: Graph, known: Mapping[Atom, Order | None]) -> dict[Atom, Order]:
    """The results of reductions that take another order of axes, and that of their operands."""
    kept: set[Atom] = set(graph.outputs)  # values that are read in row-major order
    for equation in reversed(graph.equations):
        if equation.primitive is transpose:  # a view: whatever reads it, reads memory
            kept.discard(equation.output)
        for atom in equation.inputs:
            order = known.get(atom)
            if order and not _follows(equation, order, known, kept):
                kept.add(atom)
    operands = {e.output: e.inputs[0] for e in graph.equations if e.primitive.kind == "reduce"}
    orders = {result: known.get(x) for result, x in operands.items() if x not in kept}
    return {result: order for result, order in orders.items() if order}


def _follows(
    equation: Equation, order: Order, known: Mapping[Atom, Order | None], kept: set[Atom]
) -> bool:
    """True if an equation reads an operand that lies in this order in that order."""
    if equation.primitive is transpose:
        return bool(equation.params["permutation"] == order)
    if equation.primitive.kind == "elementwise":
        return known.get(equation.output) == order and equation.output not in kept
    return equation.primitive.kind == "reduce"
