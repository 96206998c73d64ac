"""Dead code: drop every equation whose results nothing reads."""

from __future__ import annotations

from dataclasses import replace

from transpile.graph import Equation, Graph, Var


def dead_code(graph: Graph) -> Graph:
    """The graph without equations that no output depends on."""
    live = {a for a in graph.outputs if isinstance(a, Var)}
    kept: list[Equation] = []
    for equation in reversed(graph.equations):
        if live.isdisjoint(equation.outputs):
            continue
        kept.append(equation)
        live.update(a for a in equation.inputs if isinstance(a, Var))
    return replace(graph, equations=tuple(reversed(kept)))
