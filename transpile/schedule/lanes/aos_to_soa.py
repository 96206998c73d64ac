"""Transpose arrays of structures whose columns vector loops read many times.

Points are rows of two or three coordinates. Lanes over points then load with a stride, which takes
several loads and shuffles, and an all-pairs loop repeats them for every point. A copy in the layout
of a structure of arrays, made once before the loops, is read contiguously:

    for i: for j: ... points[j, 0] - points[i, 0] ... points[j, 1] - points[i, 1] ...
    for c: for j: columns[c, j] = points[j, c];  for i: for j: ... columns[0, j] - points[i, 0] ...

Only arrays that the loops do not write, with rows of at most `longest_short_row` elements, read at
least `reads_worth_a_copy` times. Of longer rows a column that is the same in all iterations is
copied alone:

    for i: for j: out[i] += a[i, j] * b[j, 0]
    for j: column[j] = b[j, 0];  for i: for j: out[i] += a[i, j] * column[j]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from transpile.analysis.cost_model import UNBOUNDED
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, OF_TEMPORARIES
from transpile.ir.dims import Dim, Index, Shape, Symbol, bounds, symbols_of
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import (
    Buffer,
    Declare,
    Expr,
    For,
    Kernel,
    Load,
    Program,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import (
    is_sequence,
    loads,
    map_statement,
    names_in,
    seen_by,
    walk,
    with_bodies,
    written,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, *OF_TEMPORARIES))
def aos_to_soa(program: Program, options: Options) -> Program:
    """The program with vector loops over transposed copies of short rows."""
    transposer = _Transposer(program, options.machine)
    kernels = tuple(map(transposer.kernel, program.kernels))
    temporaries = (*program.temporaries, *transposer.copies)
    return (
        replace(program, kernels=kernels, temporaries=temporaries) if transposer.copies else program
    )


# A buffer, the axis that the lanes of a loop run along, and the other subscripts (0 for that axis):
# none where all columns are copied.
Rows = tuple[str, int, Shape]


class _Transposer:
    """Transposes for the outermost loops that pay, and adds the copies to the temporaries."""

    def __init__(self, program: Program, machine: Machine) -> None:
        self.program = program
        self.machine = machine
        self.names = Names(names_in(program))
        self.buffers: Mapping[str, Buffer] = {}
        self.copies: list[Buffer] = []

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel with such loads from transposed copies."""
        self.buffers = seen_by(self.program, kernel)
        return replace(kernel, body=self._sequence(kernel.body))

    def _sequence(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        for statement in body:
            if isinstance(statement, For):
                copies = {
                    rows: self._new_copy(*rows) for rows in self._arrays_worth_a_copy(statement)
                }
                statements += [self._copy(*rows, copy) for rows, copy in copies.items()]
                statement = self._with_copies(statement, copies)
            if is_sequence(statement):
                statement = with_bodies(statement, self._sequence)
            statements.append(statement)
        return tuple(statements)

    def _arrays_worth_a_copy(self, statement: For) -> list[Rows]:
        """The arrays that the loop leaves unchanged and loads with a lane stride often enough to
        transpose them."""
        inside = list(walk((statement,)))
        changing = {name for s in inside for name in written(s)}
        symbols = {s.symbol for s in inside if isinstance(s, For | Declare)}
        read: dict[Rows, int] = {}
        for loop, times in _innermost(statement, 1, self.machine):
            for load in (load for s in loop.body for load in loads(s)):
                rows = self._rows(load, loop.symbol)
                is_fixed = rows is not None and symbols.isdisjoint(_symbols(rows[2]))
                if rows is not None and is_fixed and load.buffer not in changing:
                    read[rows] = read.get(rows, 0) + times
        worth = self.machine.reads_worth_a_copy
        return [rows for rows, times in read.items() if times >= worth * self._size(*rows)]

    def _size(self, name: str, axis: int, others: Shape) -> int:
        """The number of elements of a copy, at most."""
        shape = self.buffers[name].shape
        copied = (shape[axis],) if others else shape
        return math.prod(_at_most(extent, self.machine) for extent in copied)

    def _rows(self, load: Load, lane: Symbol) -> Rows | None:
        """What the lanes of a load run along, with stride one row; None if they are contiguous
        already."""
        axes = [a for a, i in enumerate(load.index) if lane in symbols_of(i)]
        if load.buffer not in self.buffers or len(axes) != 1 or axes[0] == len(load.index) - 1:
            return None
        axis = axes[0]
        width = product(self.buffers[load.buffer].shape[axis + 1 :])
        if width == 1 or lane in symbols_of(load.index[axis] - Dim.of(lane)):
            return None
        if isinstance(width, int) and width <= self.machine.longest_short_row:
            return load.buffer, axis, ()
        return load.buffer, axis, (*load.index[:axis], 0, *load.index[axis + 1 :])

    def _new_copy(self, name: str, axis: int, others: Shape) -> Buffer:
        rows = self.buffers[name]
        shape = (rows.shape[axis],) if others else _with_axis_last(rows.shape, axis)
        copy = Buffer(self.names.new(f"{name}_column{'' if others else 's'}"), shape, rows.dtype)
        self.copies.append(copy)
        return copy

    def _copy(self, name: str, axis: int, others: Shape, columns: Buffer) -> Statement:
        """The loops that transpose an array into its copy."""
        names = self.names.inner()
        if others:
            row = Symbol(names.new("row"), 0, columns.shape[0])
            place = Dim.of(row)
            column = Load(name, (*others[:axis], place, *others[axis + 1 :]), columns.dtype)
            return For(row, columns.shape[0], (Store(columns.name, (place,), column),))
        symbols = [
            Symbol(names.new("row" if a == axis else "column"), 0, extent)
            for a, extent in enumerate(self.buffers[name].shape)
        ]
        index = tuple(map(Dim.of, symbols))
        value = Load(name, index, columns.dtype)
        body: Statement = Store(columns.name, _with_axis_last(index, axis), value)
        for symbol in reversed((*symbols[:axis], *symbols[axis + 1 :], symbols[axis])):
            body = For(symbol, self.buffers[name].shape[symbols.index(symbol)], (body,))
        return body

    def _with_copies(self, statement: For, copies: Mapping[Rows, Buffer]) -> Statement:
        """The loop, whose innermost loops load from copies instead of with a stride."""
        if not copies:
            return statement
        if not _is_innermost(statement):
            return with_bodies(
                statement,
                lambda body: tuple(
                    self._with_copies(s, copies) if isinstance(s, For) else s for s in body
                ),
            )

        def column(expr: Expr) -> Expr:
            if not isinstance(expr, Load):
                return expr
            rows = self._rows(expr, statement.symbol)
            if rows is None or rows not in copies:
                return expr
            _, axis, others = rows
            index = (expr.index[axis],) if others else _with_axis_last(expr.index, axis)
            return Load(copies[rows].name, index, expr.dtype)

        return map_statement(statement, column, lambda index: index)


def _innermost(loop: For, times: int, machine: Machine) -> Iterator[tuple[For, int]]:
    """The innermost loops that may be vectorised, each with the trip count of the nest around."""
    times *= _at_most(loop.extent, machine)
    if _is_innermost(loop):
        if _at_most(loop.extent, machine) >= machine.shortest_reading_columns:
            yield loop, times
        return
    for statement in loop.body:
        if isinstance(statement, For):
            yield from _innermost(statement, times, machine)


def _is_innermost(loop: For) -> bool:
    """True if the loop may be vectorised and holds only scalar statements."""
    is_free = not loop.ordered or loop.independent
    return is_free and all(isinstance(s, Declare | Update | Store) for s in loop.body)


def _at_most(extent: Index, machine: Machine) -> int:
    """An upper bound of an extent; the usual one where none is known."""
    high = bounds(extent)[1]
    return max(high, 0) if high is not None and high < UNBOUNDED // 2 else machine.usual_extent


def _symbols(subscripts: Shape) -> frozenset[Symbol]:
    return frozenset[Symbol]().union(*map(symbols_of, subscripts))


def _with_axis_last(index: Shape, axis: int) -> Shape:
    """Subscripts or extents with those of an axis moved to the end."""
    return (*index[:axis], *index[axis + 1 :], index[axis])
