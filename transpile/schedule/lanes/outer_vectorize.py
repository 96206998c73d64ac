"""Short rows: loops over rows too short for vectors go over many rows at a time.

A softmax over ten classes would use vectors for ten elements, and put sums together across lanes
for each row. Where the rows are short, the lanes are rows instead: a strip of rows is copied on its
side, the nest over a row is turned inside out (as for columns), and what it makes is copied back:
`for strip: for column: for row in strip: acc[row - first] += x_strip[column][row - first]`.
Rows that a product makes block by block are walked so in each block.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterator
from typing import cast

from transpile.analysis.cost_model import trips
from transpile.ir.calls import Call
from transpile.ir.dims import Dim, Index, Shape, Symbol, is_within, product, symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Program,
    Statement,
    Store,
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    accesses,
    is_independent,
    loads,
    map_kernels,
    map_statement,
    names_in,
    seen_by,
    walk,
    with_bodies,
    written,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.column_reductions import Turner
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same


def short_rows(program: Program, options: Options) -> Program:
    """The program with such nests turned inside out."""
    names = Names(names_in(program))

    def turned(kernel: Kernel) -> Kernel:
        strips = _Strips(program, kernel, names, options.machine)
        return changed(kernel, body=same(kernel.body, tuple(map(strips.statement, kernel.body))))

    return map_kernels(program, turned)


@dataclass(frozen=True)
class _Side:
    """What is copied on its side: the rows of a buffer along an axis, `row` being the subscript."""

    name: str
    axis: int
    row: Index


class _Strips:
    """Turns the nests of a kernel."""

    def __init__(self, program: Program, kernel: Kernel, names: Names, machine: Machine) -> None:
        local = {s.buffer.name: s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)}
        self.buffers = ChainMap(local, cast("dict[str, Buffer]", seen_by(program, kernel)))
        self.changed = {name for s in walk(kernel.body) for name in written(s)}
        self.names = names
        self.machine = machine

    def statement(self, statement: Statement, fewest: int | None = None) -> Statement:
        """The statement with the outermost nests in it turned that can be, of so many rows."""
        machine = self.machine
        fewest = machine.row_strips[0] * machine.fewest_row_strips if fewest is None else fewest
        if isinstance(statement, For) and not statement.ordered:
            is_worth_it = _has_short_rows(statement, fewest, machine)
            turned = _strip(statement, self) if is_worth_it else None
            if turned is not None or not any(isinstance(s, Call) for s in statement.body):
                return statement if turned is None else turned
            fewest = min(machine.row_strips)  # the blocks of a product, which threads share out
        return with_bodies(statement, lambda b: tuple(self.statement(s, fewest) for s in b))

    def on_side(self, name: str, index: Shape, row: Symbol) -> _Side | None:
        """How an access goes from row to row, if that strides through memory and the rows are
        short: then a strip is copied on its side."""
        axes = [a for a, i in enumerate(index) if row in symbols_of(i)]
        if len(axes) != 1 or axes[0] == len(index) - 1:
            return None
        shape = self.buffers[name].shape
        length = product((*shape[: axes[0]], *shape[axes[0] + 1 :]))
        is_short = isinstance(length, int) and length <= self.machine.longest_short_row
        is_plain = row not in symbols_of(index[axes[0]] - Dim.of(row))
        return _Side(name, axes[0], index[axes[0]]) if is_short and is_plain else None

    def copied(self, name: str, index: Shape, row: Symbol, nests: list[For]) -> _Side | None:
        """How an access goes from row to row, if whole rows may be copied before the nests.

        A read under a condition (of what was padded or joined) may have subscripts outside of the
        array elsewhere: rows that do not exist are not copied. Of what changes, others may be at
        work on what belongs to other iterations of outer loops.
        """
        side = self.on_side(name, index, row)
        if side is None or not is_within(side.row, self.buffers[name].shape[side.axis]):
            return None
        if name not in self.changed:
            return side
        inner = {s.symbol for s in nests}
        is_whole = all(
            a == side.axis or inner.issuperset(symbols_of(i)) for a, i in enumerate(index)
        )
        return side if is_whole else None


def _has_short_rows(loop: For, fewest: int, machine: Machine) -> bool:
    """Tell whether a loop over independent rows computes numbers of each row, of few elements."""
    if not isinstance(loop.extent, int) or loop.limit is not None:
        return False
    if loop.extent < fewest or not is_independent(loop):
        return False
    inside = list(walk(loop.body))
    if any(isinstance(s, If | While | Call | Swap) for s in inside):
        return False
    if any(isinstance(s, Declare) and s.symbol is not None for s in inside):
        return False
    if not any(isinstance(s, Declare) for s in loop.body):
        return False
    nests = [s for s in loop.body if isinstance(s, For)]
    if not nests or _is_one_sum(nests):
        return False
    return all(_is_short(s, loop.symbol, machine) for s in nests)


def _is_one_sum(nests: list[For]) -> bool:
    """Tell whether all there is to do is to add, or to find one that is true: compilers make good
    use of vectors for that even in short rows."""
    inside = list(walk(tuple(nests)))
    updates = [s for s in inside if isinstance(s, Update)]
    stores = any(isinstance(s, Store) for s in inside)
    return len(nests) == 1 and bool(updates) and all(map(_adds, updates)) and not stores


def _adds(update: Update) -> bool:
    row = update.primitive
    return row is not None and row.may_combine(update.target.dtype) and not row.chooses


def _is_short(nest: For, row: Symbol, machine: Machine) -> bool:
    """Tell whether a nest goes over a few elements, the same ones in each row."""
    loops = [s for s in walk((nest,)) if isinstance(s, For)]
    ends = [i for s in loops for i in (s.start, s.stop, s.limit) if i is not None]
    return (
        not any(row in symbols_of(i) for i in ends)
        and not any(s.ordered for s in loops)
        and math.prod(map(trips, loops)) <= machine.longest_short_row
    )


def _strip(loop: For, kernel: _Strips) -> For | None:
    """The loop over strips of rows; None where their arrays would be too large, or what is written
    is also read, and not only in the row that is written."""
    rows = loop.extent
    if not isinstance(rows, int) or not _keeps_rows(loop, kernel):
        return None
    machine = kernel.machine
    width = next((w for w in machine.row_strips if rows % w == 0), machine.row_strips[0])
    names = kernel.names.inner()
    strip = Symbol(names.new("strip"), 0, -(-rows // width))
    first = Dim.of(strip) * width + loop.start
    turned = list(Turner(loop, first, width).body(loop.body))
    body = tuple(_Sides(kernel, loop, first, width, names).body(turned))
    size = product(())
    for statement in walk(body):
        if isinstance(statement, Alloc):
            size = size + statement.buffer.size_in_bytes
    if not isinstance(size, int) or size > machine.row_strip_bytes:
        return None
    return For(strip, -(-rows // width), body)


def _keeps_rows(loop: For, kernel: _Strips) -> bool:
    """Tell whether what is written and also read is read first, and all of it in nests over the
    row that is written, of which there may be a copy."""
    nests = [s for s in walk(loop.body) if isinstance(s, For)]
    own = {s.buffer.name for s in walk(loop.body) if isinstance(s, Alloc)}
    changed = {name for s in walk(loop.body) for name in written(s)} - own
    shared = changed & {load.buffer for s in walk(loop.body) for load in loads(s)}
    rows: dict[str, set[_Side | None]] = {name: set() for name in shared}
    outside = [s for s in loop.body if not isinstance(s, For)]
    if any(name in shared for s in outside for name, _ in accesses(s)):
        return False
    seen: set[str] = set()
    for statement in walk(loop.body):
        if isinstance(statement, Update) and not shared.isdisjoint(written(statement)):
            return False
        seen |= {load.buffer for load in loads(statement)}
        if not seen.issuperset(shared.intersection(written(statement))):
            return False
        for name, index in accesses(statement):
            if name in shared:
                rows[name].add(kernel.copied(name, index, loop.symbol, nests))
    return all(len(found) == 1 and None not in found for found in rows.values())


class _Sides:
    """Copies what a strip reads, and what it makes, between memory and arrays on their sides."""

    def __init__(self, kernel: _Strips, loop: For, first: Index, width: int, names: Names) -> None:
        self.kernel = kernel
        self.row = loop.symbol
        self.width = width
        self.names = names
        self.first = first
        is_whole = isinstance(loop.extent, int) and loop.extent % width == 0
        self.limit = None if is_whole else loop.stop
        self.nests = [s for s in walk(loop.body) if isinstance(s, For)]
        self.copies: dict[_Side, Buffer] = {}
        self.read: dict[_Side, None] = {}

    def body(self, statements: list[Statement]) -> Iterator[Statement]:
        """The statements with those copies around them."""
        rest: list[Statement] = []
        for statement in statements:
            found: list[tuple[tuple[For, ...], Store]] = []
            rest.append(self._inside(statement, (), found))
            rest += [self._back(loops, store) for loops, store in found]
        yield from map(Alloc, self.copies.values())
        for side in self.read:
            yield self._copy(side)
        yield from rest

    def _inside(
        self,
        statement: Statement,
        loops: tuple[For, ...],
        found: list[tuple[tuple[For, ...], Store]],
    ) -> Statement:
        if isinstance(statement, For):
            around = loops if statement.symbol == self.row else (*loops, statement)
            body = tuple(self._inside(s, around, found) for s in statement.body)
            return replace(statement, body=body)
        if loops:
            statement = map_statement(statement, self._load, lambda i: i)
        if isinstance(statement, Store) and loops:
            side = self.kernel.on_side(statement.buffer, statement.index, self.row)
            if side is not None:
                copy = self._buffer(side)
                found.append((loops, statement))
                return Store(copy.name, self._turned(statement.index, side.axis), statement.value)
        return statement

    def _load(self, expr: Expr) -> Expr:
        if not isinstance(expr, Load):
            return expr
        side = self.kernel.copied(expr.buffer, expr.index, self.row, self.nests)
        if side is None:
            return expr
        self.read[side] = None
        return Load(self._buffer(side).name, self._turned(expr.index, side.axis), expr.dtype)

    def _buffer(self, side: _Side) -> Buffer:
        if side not in self.copies:
            buffer, axis = self.kernel.buffers[side.name], side.axis
            shape = (*buffer.shape[:axis], *buffer.shape[axis + 1 :], self.width)
            self.copies[side] = Buffer(self.names.new(f"{side.name}_strip"), shape, buffer.dtype)
        return self.copies[side]

    def _turned(self, index: Shape, axis: int) -> Shape:
        return (*index[:axis], *index[axis + 1 :], Dim.of(self.row) - self.first)

    def _copy(self, side: _Side) -> Statement:
        """The rows of a strip, on their side."""
        copy, names = self._buffer(side), self.names.inner()
        inner = [Symbol(names.new("column"), 0, extent) for extent in copy.shape[:-1]]
        index: list[Index] = [Dim.of(s) for s in inner]
        index.insert(side.axis, side.row)
        load = Load(side.name, tuple(index), copy.dtype)
        body: Statement = Store(copy.name, self._turned(load.index, side.axis), load)
        for symbol in reversed(inner):
            body = For(symbol, symbol.extent or 0, (body,))
        return self._rows(body)

    def _back(self, loops: tuple[For, ...], store: Store) -> Statement:
        """What a nest has made, in its place."""
        side = self.kernel.on_side(store.buffer, store.index, self.row)
        if side is None:
            return store
        copy = self._buffer(side)
        load = Load(copy.name, self._turned(store.index, side.axis), copy.dtype)
        body: Statement = replace(store, value=load)
        for loop in reversed(loops):
            body = replace(loop, body=(body,))
        return self._rows(body)

    def _rows(self, body: Statement) -> Statement:
        return For(self.row, self.first + self.width, (body,), start=self.first, limit=self.limit)
