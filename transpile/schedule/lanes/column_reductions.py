"""Columns: reductions along a leading axis walk memory in its order, a strip of columns at a time.

The nest `for column: for row: acc += x[row][column]` strides through memory. Each thread takes a
strip of columns instead, keeps an accumulator for each of them, and goes through the rows once:
`for strip: for row: for column in strip: acc[column - first] += x[row][column]`. What stands in the
nest before and after the inner loop becomes a loop over the strip as well, scalars become small
arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.analysis.cost_model import trips
from transpile.ir.calls import Call
from transpile.ir.dims import Dim, Index, Shape, Symbol, product
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import (
    accesses,
    is_independent,
    map_bodies,
    map_expr,
    map_statement,
    names_in,
    walk,
    with_bodies,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace


def columns(program: Program, options: Options) -> Program:
    """The program with such nests turned inside out."""
    machine = options.machine
    name = Names(names_in(program)).new("strip")
    return map_bodies(program, lambda body: tuple(_statement(s, name, machine) for s in body))


def _statement(statement: Statement, name: str, machine: Machine) -> Statement:
    if isinstance(statement, For) and not statement.ordered:
        turns = is_independent(statement) and _walks_columns(statement, machine)
        turned = _turn(statement, name, machine) if turns else None
        if turned is not None:
            return turned
    return with_bodies(statement, lambda body: tuple(_statement(s, name, machine) for s in body))


def _walks_columns(loop: For, machine: Machine) -> bool:
    """Tell whether this loop steps along the last axis while the innermost ones do not. Beside the
    columns of a matrix, what is read for all columns alike (the vector that it multiplies) does not
    count. Each access counts as often as its loop runs."""
    if not isinstance(loop.stop, int) or loop.start != 0 or loop.limit is not None:
        return False
    if loop.stop < machine.fewest_columns:
        return False
    along_columns = along_rows = shared = 0
    has_matrix = False
    for inner in walk(loop.body):
        if isinstance(inner, (Call, If)):
            return False
        if isinstance(inner, For) and loop.symbol in names_of((inner.start, inner.stop)):
            return False  # it begins or ends elsewhere for another column
        if isinstance(inner, For) and not any(isinstance(s, For) for s in inner.body):
            for statement in inner.body:
                for _, index in accesses(statement):
                    if index:
                        names = names_of(index)
                        is_along_columns = step(index, loop.symbol) == 1
                        is_along_rows = step(index, inner.symbol) == 1
                        is_shared = is_along_rows and loop.symbol not in names
                        along_columns += is_along_columns * trips(inner)
                        along_rows += is_along_rows * trips(inner)
                        shared += is_shared * trips(inner)
                        has_matrix |= is_along_columns and inner.symbol in names
    return along_columns > along_rows - (shared if has_matrix else 0)


def names_of(index: Shape) -> set[Symbol]:
    """The symbols of an index."""
    return {symbol for i in index if isinstance(i, Dim) for symbol in i.symbols()}


def step(index: Shape, symbol: Symbol) -> Index | None:
    """How far an access moves within the last axis as a symbol goes up by one; None when an earlier
    axis moves."""
    if any(isinstance(i, Dim) and symbol in i.symbols() for i in index[:-1]):
        return None
    last = index[-1]
    return dict(last.terms).get((symbol,), 0) if isinstance(last, Dim) else 0


def _turn(loop: For, name: str, machine: Machine) -> For | None:
    if not isinstance(loop.stop, int):
        return None
    lanes, strip = machine.lanes, machine.strip
    share = -(-loop.stop // (machine.fewest_strips * lanes)) * lanes
    wide = min(strip, loop.stop, share)
    local = [s.buffer for s in walk(loop.body) if isinstance(s, Alloc)]
    width = next((w for w in (wide, min(wide, strip // 2)) if _fit(local, w, machine)), None)
    if width is None:
        return None
    strips = -(-loop.stop // width)
    number = Symbol(name, 0, strips)
    first = Dim.of(number) * width if strips > 1 else 0
    turner = Turner(loop, first, width)
    body = tuple(turner.body(loop.body))
    return For(number, strips, body)


def _fit(local: list[Buffer], width: int, machine: Machine) -> bool:
    """Tell whether local arrays stay small with a place for each column of a strip."""
    sizes = [product(b.shape) * b.dtype.itemsize * width for b in local]
    return all(isinstance(size, int) and size <= machine.row_bytes for size in sizes)


class Turner:
    """Rewrites the body of a loop, over columns or rows, for a strip of its iterations: `width` of
    them from `first` on."""

    def __init__(self, loop: For, first: Index, width: int) -> None:
        self.loop = loop
        self.first = first
        self.width = width
        self.lane = Dim.of(loop.symbol) - first
        self.widened: dict[str, Buffer] = {}
        self.rows: dict[str, Buffer] = {}

    def body(self, statements: tuple[Statement, ...]) -> Iterator[Statement]:
        """The statements, runs of scalar ones inside a loop over the strip."""
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
                yield replace(statement, body=tuple(self.body(statement.body)))
            else:
                run.append(statement)
        yield from self._strip(run, [])

    def _strip(self, run: list[Statement], later: list[Statement]) -> Iterator[Statement]:
        """The loop over the strip for a run of statements; scalars that are read later, or updated,
        become arrays first."""
        if not run:
            return
        needed = {name for s in walk(tuple(later)) for name in _names(s)}
        for statement in run:
            if isinstance(statement, Declare) and statement.name in needed:
                buffer = Buffer(statement.name, (self.width,), statement.dtype)
                self.widened[statement.name] = buffer
                yield Alloc(buffer)
        body = tuple(self._scalar_statement(s) for s in run)
        ragged = isinstance(self.loop.extent, int) and self.loop.extent % self.width != 0
        yield For(
            self.loop.symbol,
            self.first + self.width,
            body,
            start=self.first,
            limit=self.loop.stop if ragged else None,
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
    found: list[str] = []

    def note(expr: Expr) -> Expr:
        if isinstance(expr, Ref):
            found.append(expr.name)
        return expr

    if not isinstance(statement, (For, If)):
        map_statement(statement, lambda e: map_expr(e, note))
    if isinstance(statement, Update) and isinstance(statement.target, Ref):
        found.append(statement.target.name)
    yield from found
