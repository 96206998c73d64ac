"""Vectorise reductions over a leading axis: strip-mine the columns, then interchange.

`for column: for row: acc += x[row][column]` strides through memory. A strip of columns with an
accumulator for each, its rows in order, reads contiguous memory, and the columns of a strip are
lanes:

    for strip: for row: for column in strip: acc[column - first] += x[row][column]

Loop distribution makes the interchange legal: statements before and after the inner loop get loops
over the strip of their own, and scalars that live across them are expanded into local arrays
(scalar expansion). Each accumulator sees its operands in the same order. Strips run in parallel.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.analysis.cost_model import trips
from transpile.ir.calls import Call
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import (
    BOUNDS_RESOLVED,
    DIAGONALS_RESOLVED,
    NO_LANES,
    OF_LOOPS,
    STACK_BOUNDED,
)
from transpile.ir.dims import Dim, Index, Shape, Symbol
from transpile.ir.indices.row_major import blocks_of, limit_of_blocks, product
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
    While,
)
from transpile.ir.loop_rewrite import (
    accesses,
    declared_names,
    is_independent,
    map_bodies,
    map_expr,
    map_statement,
    names_in,
    parts,
    walk,
    with_bodies,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace


# Choices at borders and diagonals would keep the columns of a strip out of lanes.
@contract(
    requires=(NO_LANES, BOUNDS_RESOLVED, DIAGONALS_RESOLVED),
    destroys=(*OF_LOOPS, STACK_BOUNDED),
)
def vectorize_columns(program: Program, options: Options) -> Program:
    """The program with nests over columns strip-mined and interchanged."""
    machine = options.machine
    name = Names(names_in(program)).new("strip")
    return map_bodies(program, lambda body: tuple(_statement(s, name, machine) for s in body))


def _statement(statement: Statement, name: str, machine: Machine) -> Statement:
    if isinstance(statement, For) and (not statement.ordered or statement.independent):
        is_column_nest = is_independent(_without_sums(statement)) and _reads_columns(
            statement, machine
        )
        strips = _strip_mined(statement, name, machine) if is_column_nest else None
        if strips is not None:
            return strips
    return with_bodies(statement, lambda body: tuple(_statement(s, name, machine) for s in body))


def _without_sums(loop: For) -> For:
    """The loop without the accumulators, declared outside, of values of whole columns: what is
    accumulated of a strip's columns comes in the same order."""
    own = declared_names(loop.body)
    sums = [
        s
        for s in loop.body
        if isinstance(s, Update) and isinstance(s.target, Ref) and s.target.name not in own
    ]
    rest = tuple(s for s in loop.body if s not in sums)
    names = [s.target.name for s in sums if isinstance(s.target, Ref)]
    read = {p.name for s in (*walk(rest), *sums) for p in parts(s) if isinstance(p, Ref)}
    return replace(loop, body=rest) if read.isdisjoint(names) else loop


def _reads_columns(loop: For, machine: Machine) -> bool:
    """True if more accesses are contiguous, in either direction, along this loop than along
    innermost ones, weighed by trip counts. Beside the columns of a matrix, an operand that all
    columns share (the vector of a product) does not count; nor does one that is read once for each
    column, or by a loop whose iterations wait for one another."""
    if loop.start != 0 or loop.limit is not None or trips(loop) < machine.fewest_columns:
        return False
    along_columns = along_rows = shared = 0
    has_matrix = False
    own = {s.symbol for s in walk(loop.body) if isinstance(s, Declare)} | {loop.symbol}
    for inner in walk(loop.body):
        if isinstance(inner, (Call, If, While)):
            return False
        if isinstance(inner, For) and not own.isdisjoint(_ends_of(inner)):
            return False  # a triangular domain: the bounds of rows depend on the column
        if isinstance(inner, For) and not any(isinstance(s, For) for s in inner.body):
            is_chain = _is_chain(inner)
            for statement in inner.body:
                for _, index in accesses(statement):
                    names = names_of(index)
                    if index and inner.symbol in names:
                        is_along_columns = last_axis_stride(index, loop.symbol) in (1, -1)
                        is_along_rows = last_axis_stride(index, inner.symbol) in (1, -1)
                        is_shared = is_along_rows and loop.symbol not in names
                        along_columns += is_along_columns * trips(inner)
                        along_rows += (is_along_rows and not is_chain) * trips(inner)
                        shared += is_shared * trips(inner)
                        has_matrix |= is_along_columns
    return along_columns > along_rows - (shared if has_matrix else 0)


def _ends_of(loop: For) -> set[Symbol]:
    """The symbols in the bounds of a loop."""
    return names_of((loop.start, loop.stop, 0 if loop.limit is None else loop.limit))


def _is_chain(loop: For) -> bool:
    """True if iterations of a user's loop wait for one another: a sum in the order of Python."""
    own = declared_names(loop.body)
    return loop.ordered and any(
        isinstance(s, Update)
        and isinstance(s.target, Ref)
        and s.target.name not in own
        and s.primitive is not None
        and not s.primitive.may_reorder(s.target.dtype)
        for s in loop.body
    )


def names_of(index: Shape) -> set[Symbol]:
    """The symbols in a subscript."""
    return {symbol for i in index if isinstance(i, Dim) for symbol in i.symbols()}


def last_axis_stride(index: Shape, symbol: Symbol) -> Index | None:
    """The stride of an access along the last axis as a symbol increases by one; None when the
    symbol is in an earlier subscript."""
    if any(isinstance(i, Dim) and symbol in i.symbols() for i in index[:-1]):
        return None
    last = index[-1]
    return dict(last.terms).get((symbol,), 0) if isinstance(last, Dim) else 0


def _strip_mined(loop: For, name: str, machine: Machine) -> For | None:
    """The loop over strips; None if the expanded local arrays would be too large."""
    lanes, strip = machine.lanes, machine.strip
    columns = trips(loop)
    share = -(-columns // (machine.fewest_strips * lanes)) * lanes
    wide = min(strip, columns, share)
    local = [s.buffer for s in walk(loop.body) if isinstance(s, Alloc)]
    width = next((w for w in (wide, min(wide, strip // 2)) if _fit(local, w, machine)), None)
    if width is None:
        return None
    strips = blocks_of(loop.stop, width)
    number = Symbol(name, 0, strips)
    first = Dim.of(number) * width if strips != 1 else 0
    turner = Turner(loop, first, width)
    body = tuple(turner.body(loop.body))
    return For(number, strips, body)


def _fit(local: list[Buffer], width: int, machine: Machine) -> bool:
    """True if local arrays that are expanded by the width of a strip stay in a core's cache."""
    sizes = [product(b.shape) * b.dtype.itemsize * width for b in local]
    return all(isinstance(size, int) and size <= machine.row_bytes for size in sizes)


class Turner:
    """Distributes and interchanges a loop over columns or rows, for `width` of its iterations from
    `first` on."""

    def __init__(self, loop: For, first: Index, width: int) -> None:
        self.loop = loop
        self.first = first
        self.width = width
        self.lane = Dim.of(loop.symbol) - first
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
                yield replace(statement, body=tuple(self.body(statement.body)))
            else:
                run.append(statement)
        yield from self._strip(run, [])

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
        body = tuple(self._scalar_statement(s) for s in run)
        yield For(
            self.loop.symbol,
            self.first + self.width,
            body,
            start=self.first,
            limit=limit_of_blocks(self.loop.stop, self.loop.extent, self.width),
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
