"""Tell whether two graphs compute the same function in the same way: by value numbering.

Values get numbers by what they are: an input, a constant, a primitive of values. The operands of
commutative primitives are sorted. A table that is shared makes equal values of several graphs equal
numbers. Nothing is known beyond that: x + x is not 2 x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile.ir.graph import UNKNOWN_SOURCE, Const, Graph, Var
from transpile.ir.types import ArrayType
from transpile.passes.dead_code import eliminate_dead_code
from transpile.passes.simplify import simplify
from transpile.transforms.closed import close

Table = dict[Any, int]


def numbers(graph: Graph, table: Table) -> list[int]:
    """The numbers of a graph's outputs."""
    known: dict[Any, int] = {}

    def number(key: Any) -> int:
        return table.setdefault(key, len(table))

    def of(atom: Any) -> int:
        if isinstance(atom, Const):
            return number(("constant", str(atom.type.strong), atom.digest))
        return known[atom]

    for position, var in enumerate(graph.inputs):
        known[var] = number(("input", position, str(var.type.strong)))
    for equation in graph.equations:
        operands = [of(a) for a in equation.inputs]
        if equation.primitive.commutative:
            operands.sort()
        params = repr(sorted(equation.params.items(), key=lambda item: item[0]))
        for k, var in enumerate(equation.outputs):
            known[var] = number((equation.primitive.name, params, *operands, k))
    return [of(a) for a in graph.outputs]


def simplified(graph: Graph) -> Graph:
    """The graph with constants folded, and without what nothing reads."""
    return eliminate_dead_code(simplify(graph))


def is_same(
    graph: Graph, function: Callable[..., Sequence[Any]], types: Sequence[ArrayType]
) -> bool:
    """True if the graph is what the function is traced to, for arguments of these types."""
    if [v.type.strong for v in graph.inputs] != [t.strong for t in types]:
        return False
    inputs = [Var(t.strong) for t in types]
    template = simplified(close(function, inputs, name="template", source=UNKNOWN_SOURCE).graph)
    table: Table = {}
    return numbers(graph, table) == numbers(template, table)
