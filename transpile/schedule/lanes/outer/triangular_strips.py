"""Strips of columns with rows whose number depends on the column.

A row has the columns of the strip that have as many rows (M. Wolfe, Advanced loop interchanging,
1986). Those that all columns of a strip have come first, or last: they are loops like those of a
rectangle, which later passes unroll and jam, and what is left is less than a strip:

    for i: for j in 0..n - i: acc += x[j] * x[i + j]
    for strip:
        for j in 0..n - last: for i in first..last + 1: acc[i - first] += x[j] * x[i + j]
        for j in n - last..n - first: for i in first..n - j: acc[i - first] += x[j] * x[i + j]
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.ir.dims import Dim, Index, Symbol, bounds, substitute, without_facts
from transpile.ir.loop_ir import Alloc, Apply, Declare, For, IndexValue, Statement
from transpile.ir.loop_rewrite import substitute_index
from transpile.ir.types import INT64
from transpile.schedule.lanes.outer.turner import Turner, names_of
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace


class StripNames:
    """Names in strips: of their number, their last column, and a row's first one and end."""

    def __init__(self, names: Names) -> None:
        self.strip, self.last = names.new("strip"), names.new("last")
        self.begin, self.end = names.new("begin"), names.new("end")


def counted_to(rows: For, stop: Index) -> For:
    """The rows up to another end."""
    counter = replace(rows.symbol, extent=stop)
    body = tuple(substitute_index(s, rows.symbol, Dim.of(counter)) for s in rows.body)
    return replace(rows, symbol=counter, stop=stop, body=body)


def from_zero(rows: For) -> For:
    """The rows, counted from 0."""
    counter = Symbol(rows.symbol.name, 0, rows.extent)
    row = Dim.of(counter) + rows.start
    body = tuple(substitute_index(s, rows.symbol, row) for s in rows.body)
    return replace(rows, symbol=counter, start=0, stop=rows.extent, body=body)


def triangle_of(rows: For, column: Symbol, own: set[Symbol]) -> tuple[int, Index] | None:
    """(c, q) of rows from 0 to c * column + q, where c is 1 or -1; None for others."""
    first, rest = (substitute(rows.stop, {column: k}) for k in (1, 0))
    weight = first - rest
    if weight not in (1, -1) or Dim.of(column) * weight + rest != rows.stop:
        return None
    is_plain = rows.start == 0 and rows.limit is None and own.isdisjoint(names_of((rest,)))
    is_innermost = not any(isinstance(s, For | Alloc) for s in rows.body)
    return (int(weight), rest) if is_plain and is_innermost else None


class TriangularTurner(Turner):
    """The same, for rows whose number depends on the column."""

    def __init__(self, loop: For, first: Index, width: int, names: StripNames) -> None:
        super().__init__(loop, first, width)
        self.names = names
        self._last: Declare | None = None

    def before(self) -> tuple[Declare, ...]:
        """What is declared before the loops of a strip."""
        return () if self._last is None else (self._last,)

    def rows_of(self, rows: For) -> Iterator[Statement]:
        """A loop over rows, with a loop over those columns of the strip that have such a row."""
        triangle = triangle_of(rows, self.loop.symbol, {self.loop.symbol})
        if triangle is None:
            yield from super().rows_of(rows)
            return
        weight, rest = triangle
        last = self._last_column()
        if weight == 1:
            shared, end = self.first + rest, last + rest
        else:
            shared, end = rest - last, rest - self.first
        least = bounds(shared)[0]
        has_shared = least is not None and least >= 0
        if has_shared:
            every = counted_to(rows, shared)
            yield replace(every, body=(self._columns(every.body),))
        some = counted_to(rows, end)
        yield replace(some, start=shared if has_shared else 0, body=self._some(some, weight, rest))

    def _some(self, rows: For, weight: int, rest: Index) -> tuple[Declare, For]:
        """The columns of the strip that have such a row, and their first one or their end."""
        columns, row = self._columns(rows.body), Dim.of(rows.symbol)
        if weight == 1:
            name, op = self.names.begin, "maximum"
            declared, edge = self._extreme(name, op, self.first, row - rest + 1)
            return declared, replace(columns, start=edge)
        end = self.loop.stop if self.limit is None else self.limit
        declared, edge = self._extreme(self.names.end, "minimum", end, rest - row)
        return declared, replace(columns, limit=edge)

    def _last_column(self) -> Index:
        """The last column of the strip."""
        last = self.first + self.width - 1
        if self.limit is None:
            return last
        self._last, column = self._extreme(self.names.last, "minimum", last, self.limit - 1)
        return column

    def _extreme(self, name: str, op: str, one: Index, other: Index) -> tuple[Declare, Index]:
        """The smaller or the larger one of two numbers of columns: its declaration, and itself."""
        value = Apply(op, (IndexValue(one), IndexValue(other)), INT64)
        symbol = Symbol(name, 0, self.loop.stop + 1)
        beyond = Dim.of(symbol) - without_facts(one)
        if op == "maximum" and isinstance(beyond, Dim):  # no row has more than a strip's columns
            symbol = replace(symbol, facts=(beyond,))
        return Declare(name, value, symbol=symbol), Dim.of(symbol)
