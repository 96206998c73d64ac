"""Dead code: drop every equation whose results nothing reads, and those results of loops and
branches, with all that they alone need."""

from __future__ import annotations

from dataclasses import replace

from transpile.graph import Atom, Equation, Graph, has_effect


def dead_code(graph: Graph) -> Graph:
    """The graph without what no output and no effect depends on."""
    read: set[Atom] = set(graph.outputs)
    kept: list[Equation] = []
    for equation in reversed(graph.equations):
        flags = [v in read for v in equation.outputs]
        if any(flags) or has_effect(equation):
            if equation.primitive.narrow is not None:
                equation = equation.primitive.narrow(equation, flags)
            kept.append(equation)
            read.update(equation.inputs)
    return replace(graph, equations=tuple(reversed(kept)))
