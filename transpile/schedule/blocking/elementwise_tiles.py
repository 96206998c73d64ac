"""Element tiles: all iterations of an elementwise loop for the elements of one tile, in local
arrays, and the loops over all tiles."""

from __future__ import annotations

from collections.abc import Mapping

from transpile.ir.dims import Dim, Index, Symbol, substitute
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    Expr,
    For,
    Load,
    Statement,
    Store,
)
from transpile.ir.loop_rewrite import map_statement, with_bodies
from transpile.schedule.blocking.elementwise_regions import Elementwise
from transpile.schedule.domain.index_set_split import distinct
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace

Body = tuple[Statement, ...]


@dataclass(frozen=True)
class Tiles:
    """How a loop becomes loops over tiles.

    before     what stands before it now
    first      what its arrays begin with; the memory of the others has that
    unneeded   the arrays that nobody asks for when the loop has ended
    moved      the declarations of the numbers that its iterations change
    width      the elements of a tile
    """

    found: Elementwise
    buffers: Mapping[str, Buffer]
    before: list[Statement]
    first: Mapping[str, Expr]
    unneeded: set[str]
    moved: tuple[Declare, ...]
    names: Names
    width: int

    def statements(self) -> Body:
        """The loops: over whole tiles, and over what is left."""
        length = self.found.extents[-1]
        if length <= 2 * self.width:
            return self._around(self._tile(0, length))
        count, rest = divmod(length, self.width)
        inner = self.found.symbols[-1]
        tile = Symbol(self.names.new(f"{inner.name}_tile"), 0, count)
        body: Body = (For(tile, count, self._tile(Dim.of(tile) * self.width, self.width)),)
        if rest:
            body += self._tile(count * self.width, rest)
        return self._around(distinct(body, self.names))

    def _around(self, body: Body) -> Body:
        """The statements in the loops over all axes but the last one."""
        outer = zip(self.found.symbols[:-1], self.found.extents[:-1], strict=True)
        for symbol, extent in reversed(list(outer)):
            body = (For(symbol, extent, body),)
        return body

    def _tile(self, offset: Index, width: int) -> Body:
        """All iterations for the elements from an offset on."""
        found = self.found
        local = {
            name: Buffer(self._local_name(name), (width,), self.buffers[name].dtype)
            for name in (*found.state, *found.scratch)
        }
        lane = Symbol(found.symbols[-1].name, 0, width)
        lanes = _Lanes(found.symbols[-1], lane, offset, local)
        begin: list[Statement] = []
        end: list[Statement] = []
        for name, index in found.state.items():
            buffer = local[name]
            element = Load(buffer.name, (Dim.of(lane),), buffer.dtype)
            value = self.first.get(name, Load(name, index, buffer.dtype))
            begin.append(Store(element.buffer, element.index, lanes.expression(value, {})))
            if name not in self.unneeded:
                end.append(Store(name, tuple(map(lanes.index, index)), element))
        return (
            *map(Alloc, local.values()),
            For(lane, width, tuple(begin)),
            *self.moved,
            with_bodies(found.loop, lanes.body),
            *([For(lane, width, tuple(end))] if end else []),
        )

    def _local_name(self, name: str) -> str:
        """That of the array, if there is no such array any more."""
        return name if name in self.unneeded else self.names.new(name)


@dataclass(frozen=True)
class _Lanes:
    """Statements about the elements of an axis become statements about those of a tile.

    local   the local arrays that stand for buffers
    """

    symbol: Symbol
    lane: Symbol
    offset: Index
    local: Mapping[str, Buffer]

    def body(self, body: Body) -> Body:
        """The statements of the loop, its nests over the tile only."""
        return tuple(
            replace(s, symbol=self.lane, stop=self.lane.extent or 0, body=self._steps(s.body))
            if isinstance(s, For)
            else s
            for s in body
        )

    def index(self, index: Index) -> Index:
        """A subscript in terms of the place in the tile."""
        return substitute(index, {self.symbol: Dim.of(self.lane) + self.offset})

    def expression(self, expr: Expr, local: Mapping[str, Buffer]) -> Expr:
        """An expression that reads local arrays where they stand for buffers."""
        (step,) = self._with(local, (Declare("", expr),))
        assert isinstance(step, Declare)
        return step.value

    def _steps(self, steps: Body) -> Body:
        return self._with(self.local, steps)

    def _with(self, local: Mapping[str, Buffer], steps: Body) -> Body:
        here = (Dim.of(self.lane),)

        def on_expr(expr: Expr) -> Expr:
            if isinstance(expr, Load) and expr.buffer in local:
                return Load(local[expr.buffer].name, here, expr.dtype)
            return expr

        result: list[Statement] = []
        for step in steps:
            mapped = map_statement(step, on_expr, self.index)
            if isinstance(mapped, Store) and mapped.buffer in local:
                mapped = Store(local[mapped.buffer].name, here, mapped.value)
            result.append(mapped)
        return tuple(result)
