"""Index-set splitting at ends that are known when the program runs: what is read by a moved
subscript, as in `numpy.roll(x, k)` and in updates of a slice whose place is computed.

    for i in 0..n: out[i] = 0 <= k + i < n ? x[k + i] : x[k + i - n]

    end = clip(n - k, 0, n)
    for i in 0..end: out[i] = x[k + i]
    for i in end..n: out[i] = x[k + i - n]

The test is one of integers of 64 bits, of which a vector has an eighth of the bytes that it chooses
between; copies have none. A long loop is split in blocks, which threads share.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Dim, Index, Symbol, bounds, symbols_of
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    IndexValue,
    Literal,
    Program,
    Statement,
    Store,
    Within,
)
from transpile.ir.loop_rewrite import (
    map_bodies,
    map_statement,
    names_in,
    parts,
    with_bodies,
    written,
)
from transpile.ir.types import INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.cleanup.licm import Invariant
from transpile.schedule.strip_mine import block_of
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace

Body = tuple[Statement, ...]


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, SUBEXPRESSIONS_SHARED))
def split_rotations(program: Program, options: Options) -> Program:
    """The program with such loops in parts."""
    names, machine = Names(names_in(program)), options.machine

    def within(body: Body, *, is_inside: bool) -> Body:
        return tuple(part for s in body for part in of(s, is_inside))

    def of(statement: Statement, is_inside: bool) -> Iterator[Statement]:
        found = _Rotation.of(statement, machine) if isinstance(statement, For) else None
        if found is None:
            inside = is_inside or isinstance(statement, For)
            yield with_bodies(statement, lambda body: within(body, is_inside=inside))
        else:
            yield from found.statements(names, machine, in_blocks=not is_inside)

    return map_bodies(program, lambda body: within(body, is_inside=False))


@dataclass(frozen=True)
class _Rotation:
    """A loop of stores that choose by where a subscript lies that moves with it.

    given   its first statements, which are the same in all iterations
    loop    the loop of the other ones
    where   the condition
    """

    given: Body
    loop: For
    where: Within

    @staticmethod
    def of(loop: For, machine: Machine) -> _Rotation | None:
        """The loop as one; None if it is none, or a short one."""
        extent = loop.extent
        if loop.ordered or loop.limit is not None or not isinstance(loop.start, int):
            return None
        if not isinstance(extent, int) or extent < machine.shortest_rotation:
            return None
        if not all(isinstance(s, Store | Declare) for s in loop.body):
            return None
        conditions = list(dict.fromkeys(c for s in loop.body for c in _conditions(s, loop.symbol)))
        if len(conditions) != 1 or 2 * len(loop.body) > machine.most_versioned_statements:
            return None
        invariant = Invariant(loop)
        count = 0
        while isinstance(s := loop.body[count], Declare) and s.constant and _is_same(s, invariant):
            count += 1
        (where,) = conditions
        given, rest = loop.body[:count], loop.body[count:]
        own = {s.symbol for s in rest if isinstance(s, Declare)} | {loop.symbol}
        offset = where.index - Dim.of(loop.symbol)
        ends = (where.low, where.high, offset)
        if isinstance(offset, int) or not own.isdisjoint(s for e in ends for s in symbols_of(e)):
            return None
        return _Rotation(given, replace(loop, body=rest), where)

    def statements(self, names: Names, machine: Machine, *, in_blocks: bool) -> Iterator[Statement]:
        """The parts, in blocks where the loop is long and may be."""
        loop = self.loop
        itemsize = max(part.dtype.itemsize for s in loop.body for part in parts(s))
        size = machine.l1_bytes // 4 // itemsize
        extent = loop.extent
        assert isinstance(extent, int)
        yield from self.given
        if not in_blocks or extent < 2 * size:
            yield from self._parts(loop, names)
            return
        count = blocks_of(extent, size)
        block = Symbol(names.new("block"), 0, count)
        part = block_of(loop, loop.start + Dim.of(block) * size, size)
        yield For(block, count, tuple(self._parts(part, names)))

    def _parts(self, loop: For, names: Names) -> Iterator[Statement]:
        """The iterations in which the condition holds, and those before and behind them."""
        offset = self.where.index - Dim.of(loop.symbol)
        least, most = (
            bounds(self.where.index - self.where.low),
            bounds(self.where.index - self.where.high),
        )
        first: Index = loop.start
        pieces = [(self.where.low, False)] if least[0] is None or least[0] < 0 else []
        pieces += [(self.where.high, True)] if most[1] is None or most[1] >= 0 else []
        for end, holds in pieces:
            place = self._place(end - offset, loop)
            symbol = Symbol(names.new("end"), 0, self.loop.stop + 1)
            yield Declare(symbol.name, place, symbol=symbol)
            yield replace(
                loop, start=first, stop=Dim.of(symbol), limit=None, body=self._body(holds)
            )
            first = Dim.of(symbol)
        holds = not pieces or not pieces[-1][1]
        yield replace(loop, start=first, body=self._body(holds))

    def _place(self, end: Index, loop: For) -> Expr:
        """Where the condition changes, in the range of a loop."""
        high = _at(loop.stop)
        if loop.limit is not None:
            high = Apply("minimum", (high, _at(loop.limit)), INT64)
        return Apply("minimum", (Apply("maximum", (_at(end), _at(loop.start)), INT64), high), INT64)

    def _body(self, holds: bool) -> Body:
        """The statements where the condition is known."""

        def chosen(expr: Expr) -> Expr:
            match expr:
                case Apply(op="select", args=(where, x, y)) if where == self.where:
                    return x if holds else y
                case _:
                    return expr

        return tuple(map_statement(s, chosen) for s in self.loop.body)


def _conditions(statement: Statement, symbol: Symbol) -> Iterator[Within]:
    """Where the subscripts lie that a statement asks about and that move with a loop."""
    for part in parts(statement):
        if isinstance(part, Within) and symbol in symbols_of(part.index):
            yield part


def _is_same(statement: Declare, invariant: Invariant) -> bool:
    """True for a value that is the same in all iterations, and is there without them."""
    return invariant.has(statement.value) and not written(statement)


def _at(index: Index) -> Expr:
    return Literal(np.int64(index), INT64) if isinstance(index, int) else IndexValue(index)
