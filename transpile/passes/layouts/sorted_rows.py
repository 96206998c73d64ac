"""Sort along rows in memory.

    sort[axis=0](x)   ->   transpose(sort[axis=1](transpose(x)))

A long line whose elements lie far apart is sorted slower than it is transposed twice: each of its
elements is in a cache line of its own. Short lines are sorted side by side, in lanes of vectors,
and stay as they are. What is a transpose already loses it: arguments in Fortran's order, sorted
along columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS
from transpile.ir.graph import Atom, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.primitive import Order, inverse
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import transpose


@contract(destroys=(NO_COMMON_SUBEXPRESSIONS,))
def sort_along_rows(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Let sorts of long lines along other axes than the last one sort rows of a transpose."""
    if not any(_is_along_columns(equation, machine) for equation in graph.equations):
        return graph

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        if not _is_along_columns(equation, machine):
            return None
        axis, last = equation.params["axis"], equation.inputs[0].type.ndim - 1
        order = (*(a for a in range(last + 1) if a != axis), axis)
        rows = [_transposed(builder, atom, order) for atom in equation.inputs]
        result = builder.apply(equation.primitive, *rows, axis=last)
        return [builder.apply(transpose, result, permutation=inverse(order))]

    return rewrite(graph, rule)


def _is_along_columns(equation: Equation, machine: Machine) -> bool:
    """True for a whole sort of long lines whose elements do not lie side by side."""
    if equation.primitive.kind != "sort" or set(equation.params) != {"axis"}:
        return False
    axis, shape = equation.params["axis"], equation.inputs[0].type.shape
    is_long = isinstance(shape[axis], int) and shape[axis] > machine.lines_in_lanes
    return is_long and any(size != 1 for size in shape[axis + 1 :])


def _transposed(builder: Builder, atom: Atom, order: Order) -> Atom:
    """A value with its axes in another order: of a transpose what that is of, where they cancel."""
    producer = builder.producer(atom, transpose)
    if producer is not None:
        composed = tuple(producer.params["permutation"][a] for a in order)
        if composed == tuple(range(len(order))):
            return producer.inputs[0]
    return builder.apply(transpose, atom, permutation=order)
