"""Dead code: drop every equation whose results nothing reads."""

from __future__ import annotations

from dataclasses import replace

from transpile.graph import Graph, live_equations


def dead_code(graph: Graph) -> Graph:
    """The graph without equations that no output depends on."""
    return replace(graph, equations=live_equations(graph.equations, graph.outputs))
