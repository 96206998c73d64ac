"""Tangles: where a chain of views is cut, because its subscripts would grow without bounds.

Each reshape that does not come apart again puts all subscripts so far into a quotient and into a
remainder: after n of them the text is 2**n times as long, and so is the time to compute it.
"""

from __future__ import annotations

from transpile.ir.graph import Graph, Var
from transpile.primitives.axes import reshape

# A chain of more reshapes than this is cut: 64 times the text is as much as it may grow.
MOST_RESHAPES = 6


def tangled(graph: Graph) -> set[Var]:
    """The reshaped values that are put into memory."""
    depths: dict[Var, int] = {}
    cut: set[Var] = set()
    for equation in graph.equations:
        depth = max((depths.get(a, 0) for a in equation.inputs if isinstance(a, Var)), default=0)
        if equation.primitive is reshape:
            before, after = (
                [d for d in v.type.shape if d != 1] for v in (equation.inputs[0], equation.output)
            )
            depth += before != after and min(len(before), len(after)) > 0
            if depth > MOST_RESHAPES:
                cut.add(equation.output)
                depth = 0
        elif equation.primitive.kind in ("reduce", "scan", "contract", "routine"):
            depth = 0
        depths.update(dict.fromkeys(equation.outputs, depth))
    return cut
