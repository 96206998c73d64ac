"""Vectorise over the outer loop of nests whose rows are shorter than a vector.

A softmax over ten classes would fill vectors badly and reduce across lanes for every row. Instead
lanes are rows: a strip of rows is transposed into a local array, the nest is strip-mined and
interchanged as in `vectorize_columns`, and results are transposed back (Nuzman and Zaks, Outer-loop
vectorization, 2008):

    for row: for column: acc += x[row][column]
    for strip: for column: for row in strip: acc[row - first] += x_strip[column][row - first]

Legal if rows are independent and a buffer that is both read and written is only accessed in the row
of the iteration. In the row blocks of a fused product, which threads share, each block is one such
loop.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterator
from typing import cast

from transpile.analysis.cost_model import trips
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, STACK_BOUNDED
from transpile.ir.dims import Dim, Index, Shape, Symbol, is_within, symbols_of
from transpile.ir.indices.estimates import estimate, is_of_sizes
from transpile.ir.indices.row_major import blocks_of, limit_of_blocks, product
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
from transpile.schedule.lanes.outer.turner import Turner
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, STACK_BOUNDED))
def vectorize_outer(program: Program, options: Options) -> Program:
    """The program with nests over short rows vectorised over rows."""
    names = Names(names_in(program))

    def vectorized(kernel: Kernel) -> Kernel:
        strips = _Strips(program, kernel, names, options.machine)
        return changed(kernel, body=same(kernel.body, tuple(map(strips.statement, kernel.body))))

    return map_kernels(program, vectorized)


@dataclass(frozen=True)
class _Transposed:
    """A transposed copy: of the rows of a buffer along `axis`, where their subscript is `row`."""

    name: str
    axis: int
    row: Index


class _Strips:
    """Vectorises the nests of a kernel."""

    def __init__(self, program: Program, kernel: Kernel, names: Names, machine: Machine) -> None:
        local = {s.buffer.name: s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)}
        self.buffers = ChainMap(local, cast("dict[str, Buffer]", seen_by(program, kernel)))
        self.changed = {name for s in walk(kernel.body) for name in written(s)}
        self.names = names
        self.machine = machine

    def statement(self, statement: Statement, in_product: bool = False) -> Statement:
        """The statement with its outermost eligible nests vectorised over rows; those of a row
        block of a product, which threads share, where the block is a strip."""
        if isinstance(statement, For) and not statement.ordered:
            is_worth_it = _has_short_rows(statement, in_product, self.machine)
            strips = _strip(statement, self) if is_worth_it else None
            if strips is not None or not any(isinstance(s, Call) for s in statement.body):
                return statement if strips is None else strips
            in_product = True
        return with_bodies(statement, lambda b: tuple(self.statement(s, in_product) for s in b))

    def transposed(self, name: str, index: Shape, row: Symbol) -> _Transposed | None:
        """The transposed copy for an access whose stride from row to row is one short row; None if
        it needs none."""
        axes = [a for a, i in enumerate(index) if row in symbols_of(i)]
        if len(axes) != 1 or axes[0] == len(index) - 1:
            return None
        shape = self.buffers[name].shape
        length = product((*shape[: axes[0]], *shape[axes[0] + 1 :]))
        is_short = isinstance(length, int) and length <= self.machine.longest_short_row
        is_plain = row not in symbols_of(index[axes[0]] - Dim.of(row))
        return _Transposed(name, axes[0], index[axes[0]]) if is_short and is_plain else None

    def copied(self, name: str, index: Shape, row: Symbol, nests: list[For]) -> _Transposed | None:
        """The transposed copy for a load, if whole rows may be copied before the nests.

        A load under a guard (of padding or concatenation) may have subscripts out of bounds: then
        rows that do not exist would be copied. Of a buffer that is written, other iterations of
        enclosing loops may write other parts concurrently: then the nests must cover whole rows.
        """
        side = self.transposed(name, index, row)
        if side is None or not is_within(side.row, self.buffers[name].shape[side.axis]):
            return None
        if name not in self.changed:
            return side
        inner = {s.symbol for s in nests}
        is_whole = all(
            a == side.axis or inner.issuperset(symbols_of(i)) for a, i in enumerate(index)
        )
        return side if is_whole else None


def _has_short_rows(loop: For, in_product: bool, machine: Machine) -> bool:
    """True if the loop is over independent rows and computes scalars of each, of few elements."""
    if not is_of_sizes(loop.extent) or loop.limit is not None:
        return False
    rows, strip = estimate(loop.extent), machine.row_strips[0]
    fewest = min(machine.row_strips) if in_product else machine.fewest_short_rows
    if rows < fewest or not is_independent(loop):
        return False
    inside = list(walk(loop.body))
    if any(isinstance(s, If | While | Call | Swap) for s in inside):
        return False
    nests = [s for s in loop.body if isinstance(s, For)]
    # A subscript that is computed is that of the statements behind it, in the same loop of a strip.
    behind = loop.body[loop.body.index(nests[-1]) :] if nests else ()
    if any(isinstance(s, Declare) and s.symbol is not None and s not in behind for s in inside):
        return False
    if not any(isinstance(s, Declare) for s in loop.body):
        return False
    is_shared = not any(_reads_rows(s, loop.symbol) for s in nests)
    if not nests or (_is_one_sum(nests) and not is_shared):
        return False
    longest = machine.longest_shared_row if is_shared else machine.longest_short_row
    if not in_product and rows < strip * machine.fewest_row_strips:
        if not _combines_lanes_often(nests):
            return False
        longest = min(longest, machine.longest_row_of_few)
    return all(_is_short(s, loop.symbol, longest) for s in nests)


def _reads_rows(nest: For, row: Symbol) -> bool:
    """True if a nest accesses elements of the row: what all rows share is the same for all lanes
    where these are rows, and is in the way nowhere else."""
    inner = {s.symbol for s in walk((nest,)) if isinstance(s, For)}
    for statement in walk((nest,)):
        for _, subscripts in accesses(statement):
            symbols = frozenset[Symbol]().union(*map(symbols_of, subscripts))
            if row in symbols and not inner.isdisjoint(symbols):
                return True
    return False


def _is_one_sum(nests: list[For]) -> bool:
    """True if the nests are one plain reduction without stores, which compilers vectorise well
    within rows."""
    inside = list(walk(tuple(nests)))
    updates = [s for s in inside if isinstance(s, Update)]
    stores = any(isinstance(s, Store) for s in inside)
    return len(nests) == 1 and bool(updates) and all(map(_adds, updates)) and not stores


def _combines_lanes_often(nests: list[For]) -> bool:
    """True if rows are reduced by what compilers have no fast combination of lanes for, or several
    times: then a few rows, too, are worth their transposed copies."""
    totals = [s for s in walk(tuple(nests)) if isinstance(s, Update)]
    return len(totals) > 1 or not all(map(_adds, totals))


def _adds(update: Update) -> bool:
    """True if an update is a sum or an `any`/`all`: reductions that compilers vectorise best."""
    primitive = update.primitive
    if primitive is None or primitive.chooses:
        return False
    return primitive.may_combine(update.target.dtype)


def _is_short(nest: For, row: Symbol, longest: int) -> bool:
    """True if a nest has few iterations, the same number for each row."""
    loops = [s for s in walk((nest,)) if isinstance(s, For)]
    ends = [i for s in loops for i in (s.start, s.stop, s.limit) if i is not None]
    return (
        not any(row in symbols_of(i) for i in ends)
        and not any(s.ordered for s in loops)
        and math.prod(map(trips, loops)) <= longest
    )


def _strip(loop: For, kernel: _Strips) -> For | None:
    """The loop over strips of rows; None if the copies were too large, or the dependences of
    `_keeps_rows` are violated."""
    rows = loop.extent
    if not _keeps_rows(loop, kernel):
        return None
    machine = kernel.machine
    width = _width(rows, machine)
    names = kernel.names.inner()
    strips = blocks_of(rows, width)
    strip = Symbol(names.new("strip"), 0, strips)
    first = Dim.of(strip) * width + loop.start
    interchanged = list(Turner(loop, first, width).body(loop.body))
    body = tuple(_TransposedCopies(kernel, loop, first, width, names).body(interchanged))
    size = product(())
    for statement in walk(body):
        if isinstance(statement, Alloc):
            size = size + statement.buffer.size_in_bytes
    if not isinstance(size, int) or size > machine.row_strip_bytes:
        return None
    return For(strip, strips, body)


def _width(rows: Index, machine: Machine) -> int:
    """How many rows go together: all of few, or a number that leaves none over."""
    if isinstance(rows, int) and rows <= max(machine.row_strips):
        return rows
    return next((w for w in machine.row_strips if rows % w == 0), machine.row_strips[0])


def _keeps_rows(loop: For, kernel: _Strips) -> bool:
    """True if every buffer that is read and written is read first, and accessed through one
    transposed copy of the iteration's own row."""
    nests = [s for s in walk(loop.body) if isinstance(s, For)]
    own = {s.buffer.name for s in walk(loop.body) if isinstance(s, Alloc)}
    changed = {name for s in walk(loop.body) for name in written(s)} - own
    shared = changed & {load.buffer for s in walk(loop.body) for load in loads(s)}
    rows: dict[str, set[_Transposed | None]] = {name: set() for name in shared}
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
    return all(len(copies) == 1 and None not in copies for copies in rows.values())


class _TransposedCopies:
    """Inserts the copies of a strip: from memory into transposed arrays before the nests, and back
    after."""

    def __init__(self, kernel: _Strips, loop: For, first: Index, width: int, names: Names) -> None:
        self.kernel = kernel
        self.row = loop.symbol
        self.width = width
        self.names = names
        self.first = first
        self.limit = limit_of_blocks(loop.stop, loop.extent, width)
        self.nests = [s for s in walk(loop.body) if isinstance(s, For)]
        self.copies: dict[_Transposed, Buffer] = {}
        self.read: dict[_Transposed, None] = {}

    def body(self, statements: list[Statement]) -> Iterator[Statement]:
        """The statements between those copies."""
        rest: list[Statement] = []
        for statement in statements:
            stores: list[tuple[tuple[For, ...], Store]] = []
            rest.append(self._inside(statement, (), stores))
            rest += [self._copy_back(loops, store) for loops, store in stores]
        yield from map(Alloc, self.copies.values())
        for side in self.read:
            yield self._copy(side)
        yield from rest

    def _inside(
        self,
        statement: Statement,
        loops: tuple[For, ...],
        stores: list[tuple[tuple[For, ...], Store]],
    ) -> Statement:
        if isinstance(statement, For):
            around = loops if statement.symbol == self.row else (*loops, statement)
            body = tuple(self._inside(s, around, stores) for s in statement.body)
            return replace(statement, body=body)
        if loops:
            statement = map_statement(statement, self._load, lambda i: i)
        if isinstance(statement, Store) and loops:
            side = self.kernel.transposed(statement.buffer, statement.index, self.row)
            if side is not None:
                copy = self._buffer(side)
                stores.append((loops, statement))
                return Store(
                    copy.name, self._transposed_index(statement.index, side.axis), statement.value
                )
        return statement

    def _load(self, expr: Expr) -> Expr:
        if not isinstance(expr, Load):
            return expr
        side = self.kernel.copied(expr.buffer, expr.index, self.row, self.nests)
        if side is None:
            return expr
        self.read[side] = None
        return Load(
            self._buffer(side).name, self._transposed_index(expr.index, side.axis), expr.dtype
        )

    def _buffer(self, side: _Transposed) -> Buffer:
        if side not in self.copies:
            buffer, axis = self.kernel.buffers[side.name], side.axis
            shape = (*buffer.shape[:axis], *buffer.shape[axis + 1 :], self.width)
            self.copies[side] = Buffer(self.names.new(f"{side.name}_strip"), shape, buffer.dtype)
        return self.copies[side]

    def _transposed_index(self, index: Shape, axis: int) -> Shape:
        return (*index[:axis], *index[axis + 1 :], Dim.of(self.row) - self.first)

    def _copy(self, side: _Transposed) -> Statement:
        """The loops that transpose a strip of rows into its copy."""
        copy, names = self._buffer(side), self.names.inner()
        inner = [Symbol(names.new("column"), 0, extent) for extent in copy.shape[:-1]]
        index: list[Index] = [Dim.of(s) for s in inner]
        index.insert(side.axis, side.row)
        load = Load(side.name, tuple(index), copy.dtype)
        body: Statement = Store(copy.name, self._transposed_index(load.index, side.axis), load)
        for symbol in reversed(inner):
            body = For(symbol, symbol.extent or 0, (body,))
        return self._rows(body)

    def _copy_back(self, loops: tuple[For, ...], store: Store) -> Statement:
        """The loops that transpose what a nest stored back to memory."""
        side = self.kernel.transposed(store.buffer, store.index, self.row)
        if side is None:
            return store
        copy = self._buffer(side)
        load = Load(copy.name, self._transposed_index(store.index, side.axis), copy.dtype)
        body: Statement = replace(store, value=load)
        for loop in reversed(loops):
            body = replace(loop, body=(body,))
        return self._rows(body)

    def _rows(self, body: Statement) -> Statement:
        return For(self.row, self.first + self.width, (body,), start=self.first, limit=self.limit)
