"""Separated columns: short rows of which a loop in lanes reads one number each, many times, are
copied into an array for each column before the loops.

Points are rows of two or three numbers. A loop over all pairs of them reads the first numbers of
many rows into the lanes of a vector, which has to be put together from several, for each point once
more:

    for i: for j: ... points[j, 0] - points[i, 0] ... points[j, 1] - points[i, 1] ...
    for c: for j: columns[c, j] = points[j, c];  for i: for j: ... columns[0, j] - points[i, 0] ...
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from transpile.analysis.cost_model import UNBOUNDED
from transpile.ir.dims import Dim, Index, Shape, Symbol, bounds, product, symbols_of
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


def separated_columns(program: Program, options: Options) -> Program:
    """The program with such columns in arrays of their own."""
    separator = _Separator(program, options.machine)
    kernels = tuple(map(separator.kernel, program.kernels))
    temporaries = (*program.temporaries, *separator.made)
    return replace(program, kernels=kernels, temporaries=temporaries) if separator.made else program


# The name of an array, and the axis along which lanes go.
Rows = tuple[str, int]


class _Separator:
    """Goes over kernels, the outermost loops first, and makes memory for columns."""

    def __init__(self, program: Program, machine: Machine) -> None:
        self.program = program
        self.machine = machine
        self.names = Names(names_in(program))
        self.buffers: Mapping[str, Buffer] = {}
        self.made: list[Buffer] = []

    def kernel(self, kernel: Kernel) -> Kernel:
        """A kernel that reads columns where it would put them together many times."""
        self.buffers = seen_by(self.program, kernel)
        return replace(kernel, body=self._sequence(kernel.body))

    def _sequence(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, For):
                copies = {rows: self._place(*rows) for rows in self._worth_it(statement)}
                found += [self._copy(*rows, copy) for rows, copy in copies.items()]
                statement = self._reading(statement, copies)
            if is_sequence(statement):
                statement = with_bodies(statement, self._sequence)
            found.append(statement)
        return tuple(found)

    def _worth_it(self, statement: For) -> list[Rows]:
        """The rows that are read so often in a loop which leaves them as they are."""
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
        """The elements of an array, at most."""
        return math.prod(_usual(extent, self.machine) for extent in self.buffers[name].shape)

    def _axis(self, load: Load, lane: Symbol) -> int | None:
        """The axis along which lanes step from one short row to the next."""
        axes = [a for a, i in enumerate(load.index) if lane in symbols_of(i)]
        if load.buffer not in self.buffers or len(axes) != 1 or axes[0] == len(load.index) - 1:
            return None
        width = product(self.buffers[load.buffer].shape[axes[0] + 1 :])
        is_short = isinstance(width, int) and 1 < width <= self.machine.longest_short_row
        is_next = lane not in symbols_of(load.index[axes[0]] - Dim.of(lane))
        return axes[0] if is_short and is_next else None

    def _place(self, name: str, axis: int) -> Buffer:
        rows = self.buffers[name]
        place = Buffer(self.names.new(f"{name}_columns"), _last(rows.shape, axis), rows.dtype)
        self.made.append(place)
        return place

    def _copy(self, name: str, axis: int, columns: Buffer) -> Statement:
        """What puts rows there, column by column."""
        names = self.names.inner()
        symbols = [
            Symbol(names.new("row" if a == axis else "column"), 0, extent)
            for a, extent in enumerate(self.buffers[name].shape)
        ]
        index = tuple(map(Dim.of, symbols))
        value = Load(name, index, columns.dtype)
        body: Statement = Store(columns.name, _last(index, axis), value)
        for symbol in reversed((*symbols[:axis], *symbols[axis + 1 :], symbols[axis])):
            body = For(symbol, self.buffers[name].shape[symbols.index(symbol)], (body,))
        return body

    def _reading(self, statement: For, copies: Mapping[Rows, Buffer]) -> Statement:
        """The loop with innermost loops that read columns."""
        if not copies:
            return statement
        if not _is_innermost(statement):
            return with_bodies(
                statement,
                lambda body: tuple(
                    self._reading(s, copies) if isinstance(s, For) else s for s in body
                ),
            )

        def column(expr: Expr) -> Expr:
            if not isinstance(expr, Load):
                return expr
            axis = self._axis(expr, statement.symbol)
            if axis is None or (expr.buffer, axis) not in copies:
                return expr
            place = copies[expr.buffer, axis]
            return Load(place.name, _last(expr.index, axis), expr.dtype)

        return map_statement(statement, column, lambda index: index)


def _innermost(loop: For, times: int, machine: Machine) -> Iterator[tuple[For, int]]:
    """The loops in a loop that may run in lanes, and how often each of their bodies runs."""
    times *= _usual(loop.extent, machine)
    if _is_innermost(loop):
        if _usual(loop.extent, machine) >= machine.shortest_reading_columns:
            yield loop, times
        return
    for statement in loop.body:
        if isinstance(statement, For):
            yield from _innermost(statement, times, machine)


def _is_innermost(loop: For) -> bool:
    is_free = not loop.ordered or loop.independent
    return is_free and all(isinstance(s, Declare | Update | Store) for s in loop.body)


def _usual(extent: Index, machine: Machine) -> int:
    """A number of iterations or elements, at most."""
    high = bounds(extent)[1]
    return max(high, 0) if high is not None and high < UNBOUNDED // 2 else machine.usual_extent


def _last(index: Shape, axis: int) -> Shape:
    """Subscripts or extents with one of them last."""
    return (*index[:axis], *index[axis + 1 :], index[axis])
