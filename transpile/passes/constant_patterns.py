"""Formulas: a constant array of equal numbers is one number, one that counts is a counter, and a
triangle or a diagonal is a comparison of two counters.

`np.zeros(n)`, `np.arange(n)` and `np.tri(n)` in a traced function are arrays, whose elements a
program would read from a table; as a number and as indices of loops they cost nothing, subscripts
made of them are known to be in range, and loops are cut where such a comparison changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Atom, Const, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, INT64
from transpile.machine import USUAL, Machine
from transpile.primitives import axes, elementwise


def formulas(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph with formulas for such constants."""
    known: dict[Const, Atom] = {}

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        inputs = tuple(_formula(builder, a, known) for a in equation.inputs)
        if inputs == equation.inputs:
            return None
        row, params, outputs = equation.primitive, equation.params, equation.outputs
        builder.add(Equation(row, inputs, params, outputs, equation.source))
        return outputs

    return rewrite(graph, rule, machine)


def _formula(builder: Builder, atom: Atom, known: dict[Const, Atom]) -> Atom:
    if not isinstance(atom, Const) or atom.value.size < builder.machine.shortest_table:
        return atom
    if atom not in known:
        rules = (_uniform, _counting, _triangle, _diagonal)
        found = (made for rule in rules if (made := rule(builder, atom)) is not None)
        known[atom] = next(found, atom)
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


def _triangle(builder: Builder, const: Const) -> Atom | None:
    """One number below a diagonal, and on it, and another one above it."""
    value = const.value
    if value.ndim != 2 or value[-1, 0] == value[0, -1]:
        return None
    inside, outside = value[-1, 0], value[0, -1]
    in_row, in_column = np.flatnonzero(value[0] != outside), np.flatnonzero(value[:, 0] != outside)
    offset = int(in_row[-1]) if len(in_row) else -int(in_column[0])
    return _chosen(builder, const, "less_equal", offset, inside, outside)


def _diagonal(builder: Builder, const: Const) -> Atom | None:
    """One number on a diagonal, and another one elsewhere."""
    value = const.value
    if value.ndim != 2 or min(value.shape) < 2:
        return None
    other = value[0, -1] if value[0, 1] != value[0, -1] else value[0, 1]
    places = np.argwhere(value != other)
    if not len(places):
        return None
    row, column = (int(k) for k in places[0])
    return _chosen(builder, const, "equal", column - row, value[row, column], other)


def _chosen(
    builder: Builder, const: Const, test: str, offset: int, inside: Any, outside: Any
) -> Atom | None:
    """`inside` where `column - row TEST offset` holds, and `outside` elsewhere; None if the array
    is something else."""
    rows, columns = np.ogrid[: const.value.shape[0], : const.value.shape[1]]
    holds = getattr(np, test)(columns - rows, offset)
    expected = np.where(holds, inside, outside).astype(const.value.dtype)
    if expected.tobytes() != const.value.tobytes():
        return None
    shape = const.value.shape
    row, column = (builder.apply(axes.iota, shape=shape, dimension=d, dtype=INT64) for d in (0, 1))
    limit = builder.apply(elementwise.add, row, Const(np.int64(offset))) if offset else row
    mask = builder.apply(TABLE[test], column, limit)
    if const.value.dtype == BOOL and inside and not outside:
        return mask
    return builder.apply(elementwise.select, mask, Const(inside), Const(outside))
