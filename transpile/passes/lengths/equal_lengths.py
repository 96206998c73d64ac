"""Lengths that equal equations find are one: those of a gradient in a traced function, whose trace
has a mask of its own that equals one outside of it.

    compact[length=u] m p; compact[length=u2] m p; require[u <= u2]  ->  compact[length=u] m p

Values of both lengths then need no checks where they meet, and what is equal is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS, NO_DEAD_CODE, OWN_OUTPUTS
from transpile.ir.dims import Dim, Index, Symbol
from transpile.ir.graph import Atom, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite, with_lengths
from transpile.ir.indices.lengths import Length, lengths_in, room_of
from transpile.ir.indices.requirements import is_at_most
from transpile.machine import USUAL, Machine
from transpile.passes.cse import eliminate_common_subexpressions


@contract(provides=(NO_COMMON_SUBEXPRESSIONS,), destroys=(NO_DEAD_CODE, OWN_OUTPUTS))
def unify_lengths(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph in which equal equations find one length. Those in the shapes of results, whose
    names a caller has, stay."""
    first: dict[Any, Length] = {}
    kept = {*lengths_in(a.type.shape for a in graph.outputs)}
    values: dict[Symbol, Index] = {}
    for equation in graph.equations:
        if equation.primitive.kind != "length":
            continue
        found = equation.params["length"]
        known = first.setdefault((equation.primitive, equation.inputs), found)
        if known is not found and found not in kept and room_of(found) is None:
            values[found] = Dim.of(known)
    if not values:
        return graph
    graph = eliminate_common_subexpressions(with_lengths(graph, values), machine)

    def rule(_: Builder, equation: Equation) -> Sequence[Atom] | None:
        params = equation.params
        is_required = equation.primitive.kind == "requirement"
        return [] if is_required and is_at_most(params["smaller"], params["larger"]) else None

    return rewrite(graph, rule, machine)
