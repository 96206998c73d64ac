"""Nests over the elements of a matrix, or of a batch of them, that lies in memory row by row: in
which iteration an element is, by its row and its column."""

from __future__ import annotations

from transpile.ir.dims import Dim, Index, Symbol, is_within, substitute
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import Declare, For, Statement, Store
from transpile.ir.loop_rewrite import substitute_index
from transpile.targets.cuda.mapping.launches import may_be_spread
from transpile.targets.cuda.mapping.team import rectangular
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Nest:
    """A nest each of whose iterations has an element of a matrix of so many columns: its loops with
    the distances of these elements, and its body, which declares and stores."""

    loop: For
    columns: Index
    steps: tuple[tuple[For, Index], ...]
    body: tuple[Statement, ...]

    def body_at(self, row: Symbol, column: Symbol) -> tuple[Statement, ...]:
        """The statements of the iteration that has the element in a row and a column."""
        body = self.body
        for loop, step in self.steps:
            place = self._iteration(Dim.of(row), Dim.of(column), loop, step)
            body = tuple(substitute_index(s, loop.symbol, place) for s in body)
        return body

    def _iteration(self, row: Dim, column: Dim, loop: For, step: Index) -> Index:
        if loop.extent == 1:
            return 0
        columns = self.columns
        is_known = isinstance(columns, int) and isinstance(step, int)
        if step == columns or (is_known and step >= columns and step % columns == 0):
            found = row if step == columns else row // (step // columns)
        elif is_known and isinstance(loop.extent, int) and step * loop.extent <= columns:
            found = column if step == 1 else column // step
        else:  # along all of the matrix
            found = row * columns + column
        return found if is_within(found, loop.extent) else found % loop.extent

    def goes_down(self) -> bool:
        """True if it stores neighbours where the matrix has them below each other."""
        index = next(s.index for s in self.body if isinstance(s, Store))
        return any(
            factor(index[-1], loop.symbol) == 1 and _is_down(step, self.columns)
            for loop, step in self.steps
            if loop.extent != 1
        )


def _is_down(step: Index, columns: Index) -> bool:
    return isinstance(step, int) and isinstance(columns, int) and step >= columns > 1


def nest_of(loop: Statement) -> tuple[tuple[For, ...], tuple[Statement, ...]] | None:
    """The loops of a nest of independent iterations that only declare and store, and its body; None
    for others."""
    if not (isinstance(loop, For) and may_be_spread(loop)):
        return None
    loops, inner = rectangular(loop, may_be_spread)
    plain = all(isinstance(s, Store) or (isinstance(s, Declare) and s.constant) for s in inner)
    if not plain or any(f.start != 0 or f.limit is not None for f in loops):
        return None
    return loops, inner


def over_matrix(
    loops: tuple[For, ...],
    body: tuple[Statement, ...],
    index: Index,
    rows: Index,
    columns: Index,
) -> Nest | None:
    """The nest whose iterations have the elements at an index; None if these are not all elements
    of so many rows and columns, one each, or if a loop goes along parts of several rows."""
    steps = tuple((f, factor(index, f.symbol)) for f in loops)
    if index != sum((Dim.of(f.symbol) * step for f, step in steps), 0):
        return None
    total: Index = 1
    wide = [(f, step) for f, step in steps if f.extent != 1]
    for loop, step in sorted(wide, key=lambda pair: _size(pair[1])):
        if step != total:
            return None
        total = total * loop.extent
    if total != product((rows, columns)) or not all(_is_apart(columns, *pair) for pair in wide):
        return None
    return Nest(loops[0], columns, steps, body)


def _is_apart(columns: Index, loop: For, step: Index) -> bool:
    """True if a loop goes along a row, or from row to row, or is the only one."""
    if step == 1 and not isinstance(columns, int):
        return True
    if not (isinstance(columns, int) and isinstance(step, int)):
        return step == columns
    if step >= columns:
        return step % columns == 0
    if isinstance(loop.extent, int) and step * loop.extent <= columns:
        return columns % (step * loop.extent) == 0
    return step == 1


def _size(step: Index) -> int:
    return step if isinstance(step, int) else 1 << 62


def factor(index: Index, symbol: Symbol) -> Index:
    """What a symbol is multiplied with in an index that is linear in it."""
    return substitute(index, {symbol: 1}) - substitute(index, {symbol: 0})
