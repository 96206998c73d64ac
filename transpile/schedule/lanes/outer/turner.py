"""Distribute and interchange a loop over columns or rows: what it does to a strip of them.

Loop distribution makes the interchange legal: statements before and after the inner loop get loops
over the strip of their own, and scalars that live across them are expanded into local arrays
(scalar expansion).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transpile.ir.dims import Dim, Index, Shape, Symbol
from transpile.ir.indices.row_major import limit_of_blocks
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Load,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import map_expr, map_statement, walk
from transpile.util.frozen_records import replace


class Turner:
    """Distributes and interchanges a loop over columns or rows, for `width` of its iterations from
    `first` on."""

    def __init__(self, loop: For, first: Index, width: int) -> None:
        self.loop = loop
        self.first = first
        self.width = width
        self.lane = Dim.of(loop.symbol) - first
        self.limit = limit_of_blocks(loop.stop, loop.extent, width)
        self.widened: dict[str, Buffer] = {}
        self.rows: dict[str, Buffer] = {}

    def body(self, statements: tuple[Statement, ...]) -> Iterator[Statement]:
        """The statements, with a loop over the strip around each run of statements that are not
        loops, and inside each loop."""
        run: list[Statement] = []
        rest = list(statements)
        for position, statement in enumerate(rest):
            if isinstance(statement, Alloc):
                wide = replace(statement.buffer, shape=(*statement.buffer.shape, self.width))
                self.rows[wide.name] = wide
                yield Alloc(wide)
            elif isinstance(statement, For):
                yield from self._strip(run, rest[position:])
                run = []
                yield from self.rows_of(statement)
            else:
                run.append(statement)
        yield from self._strip(run, [])

    def rows_of(self, rows: For) -> Iterator[Statement]:
        """A loop over rows, with a loop over the strip inside."""
        yield replace(rows, body=tuple(self.body(rows.body)))

    def _strip(self, run: list[Statement], later: list[Statement]) -> Iterator[Statement]:
        """The loop over the strip for a run of statements. Scalars of it that `later` statements
        use are expanded into local arrays."""
        if not run:
            return
        needed = {name for s in walk(tuple(later)) for name in _names(s)}
        for statement in run:
            if isinstance(statement, Declare) and statement.name in needed:
                buffer = Buffer(statement.name, (self.width,), statement.dtype)
                self.widened[statement.name] = buffer
                yield Alloc(buffer)
        yield self._columns(run)

    def _columns(self, run: Iterable[Statement]) -> For:
        """The loop over the strip for statements of a column."""
        return For(
            self.loop.symbol,
            self.first + self.width,
            tuple(self._scalar_statement(s) for s in run),
            start=self.first,
            limit=self.limit,
        )

    def _scalar_statement(self, statement: Statement) -> Statement:
        if isinstance(statement, Declare) and statement.name in self.widened:
            statement = Store(statement.name, (self.lane,), statement.value)
        statement = map_statement(statement, self._expr)
        if isinstance(statement, Store) and statement.buffer in self.rows:
            return replace(statement, index=(*statement.index, self.lane))
        return statement

    def _expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Ref) and expr.name in self.widened:
            return Load(expr.name, (self.lane,), expr.dtype)
        if (
            isinstance(expr, Load)
            and expr.buffer in self.rows
            and len(expr.index) < len(self.rows[expr.buffer].shape)
        ):
            return replace(expr, index=(*expr.index, self.lane))
        return expr


def _names(statement: Statement) -> Iterator[str]:
    """The scalars that a statement itself reads or updates."""
    names: list[str] = []

    def note(expr: Expr) -> Expr:
        if isinstance(expr, Ref):
            names.append(expr.name)
        return expr

    if not isinstance(statement, (For, If)):
        map_statement(statement, lambda e: map_expr(e, note))
    if isinstance(statement, Update) and isinstance(statement.target, Ref):
        names.append(statement.target.name)
    yield from names


def names_of(index: Shape) -> set[Symbol]:
    """The symbols in a subscript."""
    return {symbol for i in index if isinstance(i, Dim) for symbol in i.symbols()}
