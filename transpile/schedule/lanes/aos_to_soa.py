"""Transpose arrays of structures whose columns vector loops read many times.

Points are rows of two or three coordinates. Lanes over points then load with a stride, which takes
several loads and shuffles, and an all-pairs loop repeats them for every point. A copy in the layout
of a structure of arrays, made once before the loops, is read contiguously:

    for i: for j: ... points[j, 0] - points[i, 0] ... points[j, 1] - points[i, 1] ...
    for c: for j: columns[c, j] = points[j, c];  for i: for j: ... columns[0, j] - points[i, 0] ...

Only arrays that the loops do not write, with rows of at most `longest_short_row` elements, read at
least `reads_worth_a_copy` times.
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


# A buffer, and the axis that the lanes of a loop run along.
Rows = tuple[str, int]


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
        changing = {name for s in walk((statement,)) for name in written(s)}
        read: dict[Rows, int] = {}
        for loop, times in _innermost(statement, 1, self.machine):
            for load in (load for s in loop.body for load in loads(s)):
                axis = self._axis(load, loop.symbol)
                if axis is not None and load.buffer not in changing:
                    rows = load.buffer, axis
                    read[rows] = read.get(rows, 0) + times
        worth = self.machine.reads_worth_a_copy
        return [rows for rows, times in read.items() if times >= worth * self._size(rows[0])]

    def _size(self, name: str) -> int:
        """The number of elements of an array, at most."""
        return math.prod(_at_most(extent, self.machine) for extent in self.buffers[name].shape)

    def _axis(self, load: Load, lane: Symbol) -> int | None:
        """The axis that the lanes of a load run along, with stride one row; None if they are
        contiguous already, or rows are long."""
        axes = [a for a, i in enumerate(load.index) if lane in symbols_of(i)]
        if load.buffer not in self.buffers or len(axes) != 1 or axes[0] == len(load.index) - 1:
            return None
        width = product(self.buffers[load.buffer].shape[axes[0] + 1 :])
        is_short = isinstance(width, int) and 1 < width <= self.machine.longest_short_row
        is_next = lane not in symbols_of(load.index[axes[0]] - Dim.of(lane))
        return axes[0] if is_short and is_next else None

    def _new_copy(self, name: str, axis: int) -> Buffer:
        rows = self.buffers[name]
        copy = Buffer(
            self.names.new(f"{name}_columns"), _with_axis_last(rows.shape, axis), rows.dtype
        )
        self.copies.append(copy)
        return copy

    def _copy(self, name: str, axis: int, columns: Buffer) -> Statement:
        """The loops that transpose an array into its copy."""
        names = self.names.inner()
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
            axis = self._axis(expr, statement.symbol)
            if axis is None or (expr.buffer, axis) not in copies:
                return expr
            copy = copies[expr.buffer, axis]
            return Load(copy.name, _with_axis_last(expr.index, axis), expr.dtype)

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


def _with_axis_last(index: Shape, axis: int) -> Shape:
    """Subscripts or extents with those of an axis moved to the end."""
    return (*index[:axis], *index[axis + 1 :], index[axis])
