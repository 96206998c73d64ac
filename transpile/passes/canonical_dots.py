"""Canonicalise contractions into batched matrix products, whose operands have one stride for rows
and one for columns.

A contraction over axes that are not adjacent, or are interleaved with free ones, gets transposed
operands: batch, rows, contracted and batch, contracted, columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import CANONICAL_DOTS, NO_COMMON_SUBEXPRESSIONS, NO_COMPOSITES
from transpile.ir.graph import Atom, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import transpose
from transpile.primitives.dot import dot_general, free_axes


# Some composites, convolutions among them, become contractions.
@contract(
    requires=(NO_COMPOSITES,),
    provides=(CANONICAL_DOTS,),
    destroys=(NO_COMMON_SUBEXPRESSIONS,),
)
def canonicalize_dots(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Transpose the operands of contractions whose contracted or free axes are not adjacent."""
    return rewrite(graph, _rule) if dot_general in graph.primitives else graph


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    if equation.primitive is not dot_general:
        return None
    x, y = equation.inputs
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    fx, fy = free_axes(x.type.ndim, cx, bx), free_axes(y.type.ndim, cy, by)
    if all(map(_are_adjacent, (cx, cy, fx, fy))):
        return None
    x = builder.apply(transpose, x, permutation=(*bx, *fx, *cx))
    y = builder.apply(transpose, y, permutation=(*by, *cy, *fy))
    batch = tuple(range(len(bx)))
    contracted_x = tuple(range(len(bx) + len(fx), x.type.ndim))
    contracted_y = tuple(range(len(by), len(by) + len(cy)))
    numbers = ((contracted_x, contracted_y), (batch, batch))
    params = {**equation.params, "dimension_numbers": numbers}
    return [builder.apply(dot_general, x, y, **params)]


def _are_adjacent(axes: tuple[int, ...]) -> bool:
    return all(b == a + 1 for a, b in pairwise(axes))
