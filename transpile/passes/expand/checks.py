"""Refuse the checks that `checkify` has not made values of; those for debugging are removed."""

from __future__ import annotations

from transpile.ir.contracts import contract
from transpile.ir.graph import Graph
from transpile.machine import USUAL, Machine
from transpile.primitives.effects.checks import check, refuse_check


@contract()
def refuse_checks(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph without checks for debugging. Raises ValueError for others."""
    if check not in graph.primitives:
        return graph
    kept = [e for e in graph.equations if e.primitive is not check]
    if any(e.primitive is check and not e.params["debug"] for e in graph.equations):
        refuse_check()
    return graph.with_parts(kept, graph.outputs)
