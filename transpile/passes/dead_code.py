"""Dead code: drop every equation whose results nothing reads, and those results of loops and
branches, with all that they alone need."""

from __future__ import annotations

from transpile.ir.graph import Graph, live_equations
from transpile.machine import USUAL, Machine


def dead_code(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph without what no output and no effect depends on."""
    return graph.with_parts(live_equations(graph.equations, graph.outputs), graph.outputs)
