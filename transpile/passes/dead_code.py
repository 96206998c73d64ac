"""Eliminate dead code: equations that no output and no effect depends on, and results of loops and
branches that nothing reads, with what only they need."""

from __future__ import annotations

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_DEAD_CODE
from transpile.ir.graph import Graph
from transpile.ir.graph_rewrite import live_equations
from transpile.machine import USUAL, Machine


@contract(provides=(NO_DEAD_CODE,))
def eliminate_dead_code(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Keep the live equations alone."""
    return graph.with_parts(live_equations(graph.equations, graph.outputs), graph.outputs)
