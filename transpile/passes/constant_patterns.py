"""Replace constant arrays with a pattern by the equations that generate it: splats, arithmetic
sequences, triangular and diagonal masks.

`np.zeros(n)`, `np.arange(n)` and `np.tri(n)` in a traced function are arrays, which a program would
read from memory. As a scalar, an iota, and a comparison of two iotas they are computed from loop
indices; range analysis then bounds subscripts made of them, and index-set splitting removes the
comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_CALLS, NO_COMMON_SUBEXPRESSIONS
from transpile.ir.graph import Atom, Const, Equation, Graph
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, INT64
from transpile.machine import USUAL, Machine
from transpile.primitives import axes, elementwise
from transpile.util.frozen_records import replace


# A callee's constants are the graph's own only once its call is inlined.
@contract(requires=(NO_CALLS,), destroys=(NO_COMMON_SUBEXPRESSIONS,))
def replace_constant_patterns(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Generate the constants that have a pattern and as many elements as `Machine` asks for."""
    known: dict[Const, Atom] = {}

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        inputs = tuple(_pattern(builder, a, known) for a in equation.inputs)
        if inputs == equation.inputs:
            return None
        builder.add(replace(equation, inputs=inputs))
        return equation.outputs

    return rewrite(graph, rule, machine)


def _pattern(builder: Builder, atom: Atom, known: dict[Const, Atom]) -> Atom:
    if not isinstance(atom, Const) or atom.value.size < builder.machine.shortest_table:
        return atom
    if atom not in known:
        rules = (_splat, _arithmetic_sequence, _triangular, _diagonal)
        generated = (value for rule in rules if (value := rule(builder, atom)) is not None)
        known[atom] = next(generated, atom)
    return known[atom]


def _splat(builder: Builder, const: Const) -> Atom | None:
    """The scalar that every element equals, to the bit."""
    first = const.value.reshape(-1)[:1]
    bits = const.value.reshape(-1).view(np.uint8).reshape(const.value.size, -1)
    if not (bits == first.view(np.uint8)).all():
        return None
    number = Const(first[0])
    return builder.apply(
        axes.broadcast_in_dim, number, shape=const.value.shape, broadcast_dimensions=()
    )


def _arithmetic_sequence(builder: Builder, const: Const) -> Atom | None:
    """start + step * iota, for integers."""
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


def _triangular(builder: Builder, const: Const) -> Atom | None:
    """One number on and below a diagonal, another one above it, as `np.tri` has it."""
    value = const.value
    if value.ndim != 2 or value[-1, 0] == value[0, -1]:
        return None
    inside, outside = value[-1, 0], value[0, -1]
    in_row, in_column = np.flatnonzero(value[0] != outside), np.flatnonzero(value[:, 0] != outside)
    offset = int(in_row[-1]) if len(in_row) else -int(in_column[0])
    return _masked(builder, const, "less_equal", offset, inside, outside)


def _diagonal(builder: Builder, const: Const) -> Atom | None:
    """One number on a diagonal, another one elsewhere, as `np.eye` has it."""
    value = const.value
    if value.ndim != 2 or min(value.shape) < 2:
        return None
    other = value[0, -1] if value[0, 1] != value[0, -1] else value[0, 1]
    subscripts = np.argwhere(value != other)
    if not len(subscripts):
        return None
    row, column = (int(k) for k in subscripts[0])
    return _masked(builder, const, "equal", column - row, value[row, column], other)


def _masked(
    builder: Builder, const: Const, comparison: str, offset: int, inside: Any, outside: Any
) -> Atom | None:
    """`inside` where `column - row COMPARISON offset` holds, `outside` elsewhere; None if that is
    not the constant."""
    rows, columns = np.ogrid[: const.value.shape[0], : const.value.shape[1]]
    is_inside = getattr(np, comparison)(columns - rows, offset)
    expected = np.where(is_inside, inside, outside).astype(const.value.dtype)
    if expected.tobytes() != const.value.tobytes():
        return None
    shape = const.value.shape
    row, column = (builder.apply(axes.iota, shape=shape, dimension=d, dtype=INT64) for d in (0, 1))
    limit = builder.apply(elementwise.add, row, Const(np.int64(offset))) if offset else row
    mask = builder.apply(TABLE[comparison], column, limit)
    if const.value.dtype == BOOL and inside and not outside:
        return mask
    return builder.apply(elementwise.select, mask, Const(inside), Const(outside))
