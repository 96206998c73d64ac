"""Build the tiles of an interchanged elementwise loop: all its iterations for the elements of one
tile.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.ir.dims import Dim, Index, Symbol, bounds, floor_divide, modulo, substitute
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
from transpile.schedule.domain.index_set_split import unique_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace

Body = tuple[Statement, ...]


@dataclass(frozen=True)
class Tiles:
    """The plan of an interchange.

    elementwise  the loop
    before       the statements before it that stay
    first        initial values of arrays, by name; other arrays are loaded
    unneeded     the arrays that nothing reads after the loop
    moved        the declarations of scalars that the iterations update
    width        the elements of a tile
    """

    elementwise: Elementwise
    buffers: Mapping[str, Buffer]
    before: list[Statement]
    first: Mapping[str, Expr]
    unneeded: set[str]
    moved: tuple[Declare, ...]
    names: Names
    width: int

    def statements(self) -> Body:
        """The loop over whole tiles and the remainder tile; one tile if the axis is short."""
        length = self.elementwise.extents[-1]
        most = bounds(length)[1]
        if most is not None and most <= 2 * self.width:
            return self._around(self._tile(0, length, most))
        count, rest = floor_divide(length, self.width), modulo(length, self.width)
        inner = self.elementwise.symbols[-1]
        tile = Symbol(self.names.new(f"{inner.name}_tile"), 0, count)
        body: Body = (
            For(tile, count, self._tile(Dim.of(tile) * self.width, self.width, self.width)),
        )
        if rest != 0:
            most = rest if isinstance(rest, int) else self.width - 1
            body += self._tile(count * self.width, rest, most)
        return self._around(unique_names(body, self.names))

    def _around(self, body: Body) -> Body:
        """The statements inside the loops over all axes but the last."""
        outer = zip(self.elementwise.symbols[:-1], self.elementwise.extents[:-1], strict=True)
        for symbol, extent in reversed(list(outer)):
            body = (For(symbol, extent, body),)
        return body

    def _tile(self, offset: Index, width: Index, most: int) -> Body:
        """Load a tile of `most` or fewer elements into local arrays, run all iterations on it,
        store what is needed later."""
        elementwise = self.elementwise
        local = {
            name: Buffer(self._local_name(name), (most,), self.buffers[name].dtype)
            for name in (*elementwise.state, *elementwise.scratch)
        }
        lane = Symbol(elementwise.symbols[-1].name, 0, width)
        lanes = _Lanes(elementwise.symbols[-1], lane, offset, local)
        begin: list[Statement] = []
        end: list[Statement] = []
        for name, index in elementwise.state.items():
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
            with_bodies(elementwise.loop, lanes.body),
            *([For(lane, width, tuple(end))] if end else []),
        )

    def _local_name(self, name: str) -> str:
        """The name of a local array: that of the buffer where it replaces that."""
        return name if name in self.unneeded else self.names.new(name)


@dataclass(frozen=True)
class _Lanes:
    """Rewrites statements on an axis to statements on a tile of it.

    local   the local array of each buffer
    """

    symbol: Symbol
    lane: Symbol
    offset: Index
    local: Mapping[str, Buffer]

    def body(self, body: Body) -> Body:
        """The statements of the loop with its nests restricted to the tile."""
        return tuple(
            replace(s, symbol=self.lane, stop=self.lane.extent or 0, body=self._in_tile(s.body))
            if isinstance(s, For)
            else s
            for s in body
        )

    def index(self, index: Index) -> Index:
        """A subscript in terms of the index in the tile."""
        return substitute(index, {self.symbol: Dim.of(self.lane) + self.offset})

    def expression(self, expr: Expr, local: Mapping[str, Buffer]) -> Expr:
        """An expression with loads of buffers replaced by loads of their local arrays."""
        (declaration,) = self._with(local, (Declare("", expr),))
        assert isinstance(declaration, Declare)
        return declaration.value

    def _in_tile(self, statements: Body) -> Body:
        return self._with(self.local, statements)

    def _with(self, local: Mapping[str, Buffer], statements: Body) -> Body:
        position = (Dim.of(self.lane),)

        def on_expr(expr: Expr) -> Expr:
            if isinstance(expr, Load) and expr.buffer in local:
                return Load(local[expr.buffer].name, position, expr.dtype)
            return expr

        result: list[Statement] = []
        for statement in statements:
            mapped = map_statement(statement, on_expr, self.index)
            if isinstance(mapped, Store) and mapped.buffer in local:
                mapped = Store(local[mapped.buffer].name, position, mapped.value)
            result.append(mapped)
        return tuple(result)
