"""Dead code: drop every equation whose results nothing reads, and those results of loops and
branches, with all that they alone need."""

from __future__ import annotations

from dataclasses import replace

from transpile.graph import Atom, Equation, Graph


def dead_code(graph: Graph) -> Graph:
    """The graph without equations, and results of loops, that no output depends on."""
    read: set[Atom] = set(graph.outputs)
    kept: list[Equation] = []
    for equation in reversed(graph.equations):
        flags = [v in read for v in equation.outputs]
        if any(flags):
            if equation.primitive.narrow is not None:
                equation = equation.primitive.narrow(equation, flags)
            kept.append(equation)
            read.update(equation.inputs)
    return replace(graph, equations=tuple(reversed(kept)))
