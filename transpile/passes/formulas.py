"""Formulas: a constant array of equal numbers is one number, and one that counts is a counter.

`np.zeros(n)` and `np.arange(n)` in a traced function are arrays, whose elements a program would
read from a table; as a number and as the index of a loop they cost nothing, and subscripts made of
them are known to be in range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.graph import Atom, Const, Equation, Graph
from transpile.passes.rewrite import Builder, rewrite
from transpile.primitives import axes, elementwise
from transpile.types import INT64

# A table of less than this is as good as a formula.
SHORTEST = 4


def formulas(graph: Graph) -> Graph:
    """The graph with formulas for such constants."""
    known: dict[Const, Atom] = {}

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        inputs = tuple(_formula(builder, a, known) for a in equation.inputs)
        if inputs == equation.inputs:
            return None
        row, params, outputs = equation.primitive, equation.params, equation.outputs
        builder.add(Equation(row, inputs, params, outputs, equation.source))
        return outputs

    return rewrite(graph, rule)


def _formula(builder: Builder, atom: Atom, known: dict[Const, Atom]) -> Atom:
    if not isinstance(atom, Const) or atom.value.size < SHORTEST:
        return atom
    if atom not in known:
        found = _uniform(builder, atom)
        known[atom] = found if found is not None else _counting(builder, atom) or atom
    return known[atom]


def _uniform(builder: Builder, const: Const) -> Atom | None:
    first = const.value.reshape(-1)[:1]
    bits = const.value.reshape(-1).view(np.uint8).reshape(const.value.size, -1)
    if not (bits == first.view(np.uint8)).all():
        return None
    number = Const(first[0])
    return builder.apply(
        axes.broadcast_in_dim, number, shape=const.value.shape, broadcast_dimensions=()
    )


def _counting(builder: Builder, const: Const) -> Atom | None:
    """start + step * (0, 1, 2, ...), for integers."""
    value: np.ndarray[Any, Any] = const.value
    if value.ndim != 1 or value.dtype.kind not in "iu":
        return None
    start, step = int(value[0]), int(value[1]) - int(value[0])
    last = start + step * (value.size - 1)
    if last != int(value[-1]) or not (np.diff(value.astype(np.object_)) == step).all():
        return None
    if max(abs(start), abs(last)) >= 1 << 62:
        return None
    result: Atom = builder.apply(axes.iota, shape=value.shape, dimension=0, dtype=INT64)
    if step != 1:
        result = builder.apply(elementwise.multiply, result, Const(np.int64(step)))
    if start:
        result = builder.apply(elementwise.add, result, Const(np.int64(start)))
    if value.dtype != INT64:
        result = builder.apply(elementwise.convert, result, dtype=value.dtype)
    return result
