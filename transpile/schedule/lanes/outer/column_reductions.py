"""Vectorise reductions over a leading axis: strip-mine the columns, then interchange.

`for column: for row: acc += x[row][column]` strides through memory. A strip of columns with an
accumulator for each, its rows in order, reads contiguous memory, and the columns of a strip are
lanes:

    for strip: for row: for column in strip: acc[column - first] += x[row][column]

Loop distribution makes the interchange legal: statements before and after the inner loop get loops
over the strip of their own, and scalars that live across them are expanded into local arrays
(scalar expansion). Each accumulator sees its operands in the same order. Strips run in parallel.
A loop around the nest that reads the same columns in each iteration, as that over the rows of a
product does, finds those of a narrow strip in the cache.

Where the number of rows depends on the column, a row has the columns of the strip that have as many
rows (M. Wolfe, Advanced loop interchanging, 1986):

    for i: for j in 0..n - i: acc += x[j] * x[i + j]
    for strip: for j in 0..n - first: for i in first..min(first + width, n - j): acc[...] += ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

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
from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute, without_facts
from transpile.ir.indices.row_major import blocks_of, limit_of_blocks, product, row_major, step_of
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
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
    loads,
    map_expr,
    map_kernels,
    map_statement,
    names_in,
    parts,
    seen_by,
    substitute_index,
    symbols_read,
    walk,
    with_bodies,
)
from transpile.ir.types import INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same


# Choices at borders and diagonals would keep the columns of a strip out of lanes.
@contract(
    requires=(NO_LANES, BOUNDS_RESOLVED, DIAGONALS_RESOLVED),
    destroys=(*OF_LOOPS, STACK_BOUNDED),
)
def vectorize_columns(program: Program, options: Options) -> Program:
    """The program with nests over columns strip-mined and interchanged."""
    names = _StripNames(Names(names_in(program)))

    def on_kernel(kernel: Kernel) -> Kernel:
        memory = _Memory(seen_by(program, kernel), options.machine)
        body = tuple(_statement(s, names, memory) for s in kernel.body)
        return changed(kernel, body=same(kernel.body, body))

    return map_kernels(program, on_kernel)


@dataclass(frozen=True)
class _Memory:
    """The arrays of a kernel, and the machine whose memory they are in."""

    buffers: Mapping[str, Buffer]
    machine: Machine

    def is_along(self, name: str, index: Shape, symbol: Symbol, other: Symbol) -> bool:
        """True if elements are side by side as a symbol increases by one, in either direction, or
        lie in one line of the cache, and farther apart as the other symbol increases."""
        if last_axis_stride(index, symbol) in (1, -1):
            return True
        if name not in self.buffers:
            return False
        buffer = self.buffers[name]
        place = row_major(index, buffer.shape)
        apart, rows = (step_of(place, s) for s in (symbol, other))
        if not isinstance(apart, int) or apart == 0 or rows == 0:
            return False
        is_near = abs(apart) * buffer.dtype.itemsize < self.machine.cache_line_bytes
        return is_near and not (isinstance(rows, int) and abs(rows) <= abs(apart))


class _StripNames:
    """Names in strips: of their number, their last column, and a row's first one and end."""

    def __init__(self, names: Names) -> None:
        self.strip, self.last = names.new("strip"), names.new("last")
        self.begin, self.end = names.new("begin"), names.new("end")


def _statement(
    statement: Statement, names: _StripNames, memory: _Memory, around: Symbol | None = None
) -> Statement:
    """A statement in the loop of the index `around`, with strips in the place of columns."""
    machine = memory.machine
    if isinstance(statement, For) and (not statement.ordered or statement.independent):
        loop = _with_plain_ends(statement)
        is_column_nest = is_independent(_without_sums(loop)) and _reads_columns(loop, memory)
        widest = machine.strip if around is None else _widest_strip(loop, around, machine)
        strips = _strip_mined(loop, names, machine, widest) if is_column_nest else None
        if strips is not None:
            return strips
    around = statement.symbol if isinstance(statement, For) else around
    return with_bodies(
        statement, lambda body: tuple(_statement(s, names, memory, around) for s in body)
    )


def _widest_strip(loop: For, around: Symbol, machine: Machine) -> int:
    """The most columns of a strip in the loop of the index `around`: few, if each iteration of that
    reads the same rows of them."""
    again = [
        load.dtype.itemsize
        for rows in walk(loop.body)
        if isinstance(rows, For)
        for statement in rows.body
        for load in loads(statement)
        if around not in names_of(load.index)
        and rows.symbol in names_of(load.index)
        and last_axis_stride(load.index, loop.symbol) in (1, -1)
    ]
    return min([machine.strip, *(machine.repeated_strip_bytes // size for size in again)])


def _with_plain_ends(loop: For) -> For:
    """The loop with rows that end at what a scalar of the column is."""
    known: dict[Symbol, Index] = {}
    for statement in loop.body:
        match statement:
            case Declare(symbol=Symbol() as symbol, value=IndexValue(index=index)):
                known[symbol] = index
            case Declare(symbol=Symbol() as symbol, value=Literal(value=number)):
                known[symbol] = int(number)
            case _:
                pass
    body = tuple(_ending_at(s, known) if isinstance(s, For) else s for s in loop.body)
    return changed(loop, body=same(loop.body, body))


def _ending_at(rows: For, known: Mapping[Symbol, Index]) -> For:
    """The rows with the indices for these symbols at their end."""
    stop = substitute(rows.stop, known)
    return rows if stop == rows.stop else _counted_to(rows, stop)


def _counted_to(rows: For, stop: Index) -> For:
    """The rows up to another end."""
    counter = replace(rows.symbol, extent=stop)
    body = tuple(substitute_index(s, rows.symbol, Dim.of(counter)) for s in rows.body)
    return replace(rows, symbol=counter, stop=stop, body=body)


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


def _reads_columns(loop: For, memory: _Memory) -> bool:
    """True if more accesses are contiguous, or nearly so, along this loop than along innermost
    ones, weighed by trip counts. Beside the columns of a matrix, an operand that all columns share
    (the vector of a product) does not count; nor does one that is read once for each column, or by
    a loop whose iterations wait for one another."""
    is_plain = isinstance(loop.start, int) and loop.limit is None
    if not is_plain or trips(loop) < memory.machine.fewest_columns:
        return False
    along_columns = along_rows = shared = 0
    has_matrix = False
    declared = {s.symbol for s in walk(loop.body) if isinstance(s, Declare)}
    own = {symbol for symbol in declared if symbol is not None} | {loop.symbol}
    if not _keeps_symbols(loop.body):
        return False
    for inner in walk(loop.body):
        if isinstance(inner, (Call, If, While)):
            return False
        if isinstance(inner, For) and not own.isdisjoint(_ends_of(inner)):
            may_turn = inner in loop.body and _triangle(inner, loop.symbol, own) is not None
            if not may_turn:
                return False
        if isinstance(inner, For) and not any(isinstance(s, For) for s in inner.body):
            is_chain = _is_chain(inner)
            for statement in inner.body:
                for name, index in accesses(statement):
                    names = names_of(index)
                    if index and inner.symbol in names:
                        is_along_columns = memory.is_along(
                            name, index, loop.symbol, inner.symbol
                        ) and not _lies_along_another(index, loop, inner)
                        is_along_rows = memory.is_along(name, index, inner.symbol, loop.symbol)
                        is_shared = is_along_rows and loop.symbol not in names
                        along_columns += is_along_columns * trips(inner)
                        along_rows += (is_along_rows and not is_chain) * trips(inner)
                        shared += is_shared * trips(inner)
                        has_matrix |= is_along_columns
    return along_columns > along_rows - (shared if has_matrix else 0)


def _lies_along_another(index: Shape, loop: For, inner: For) -> bool:
    """True if elements are side by side along a loop between the two: that has the columns."""
    between = (s for s in walk(loop.body) if isinstance(s, For) and s is not inner)
    return last_axis_stride(index, loop.symbol) not in (1, -1) and any(
        last_axis_stride(index, s.symbol) in (1, -1) for s in between
    )


def _keeps_symbols(body: tuple[Statement, ...]) -> bool:
    """True if no subscript of rows, or behind them, reads a scalar that is declared before."""
    declared: set[Symbol] = set()
    before: set[Symbol] = set()  # the rows
    for statement in body:
        if isinstance(statement, For):
            before |= declared
        if not before.isdisjoint(symbols_read(statement)):
            return False
        if isinstance(statement, Declare) and statement.symbol is not None:
            declared.add(statement.symbol)
    return True


def _triangle(rows: For, column: Symbol, own: set[Symbol]) -> tuple[int, Index] | None:
    """(c, q) of rows from 0 to c * column + q, where c is 1 or -1; None for others."""
    first, rest = (substitute(rows.stop, {column: k}) for k in (1, 0))
    weight = first - rest
    if weight not in (1, -1) or Dim.of(column) * weight + rest != rows.stop:
        return None
    is_plain = rows.start == 0 and rows.limit is None and own.isdisjoint(names_of((rest,)))
    is_innermost = not any(isinstance(s, For | Alloc) for s in rows.body)
    return (int(weight), rest) if is_plain and is_innermost else None


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


def _strip_mined(loop: For, names: _StripNames, machine: Machine, strip: int) -> For | None:
    """The loop over strips of so many columns at most; None if the expanded local arrays would be
    too large."""
    lanes = machine.lanes
    columns = trips(loop)
    share = -(-columns // (machine.fewest_strips * lanes)) * lanes
    wide = min(strip, columns, share)
    local = [s.buffer for s in walk(loop.body) if isinstance(s, Alloc)]
    width = next((w for w in (wide, min(wide, strip // 2)) if _fit(local, w, machine)), None)
    if width is None:
        return None
    strips = blocks_of(loop.extent, width)
    number = Symbol(names.strip, 0, strips)
    first = (Dim.of(number) * width if strips != 1 else 0) + loop.start
    turner = _TriangularTurner(loop, first, width, names)
    body = tuple(turner.body(loop.body))
    return For(number, strips, (*turner.before(), *body))


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


class _TriangularTurner(Turner):
    """The same, for rows whose number depends on the column."""

    def __init__(self, loop: For, first: Index, width: int, names: _StripNames) -> None:
        super().__init__(loop, first, width)
        self.names = names
        self._last: Declare | None = None

    def before(self) -> tuple[Declare, ...]:
        """What is declared before the loops of a strip."""
        return () if self._last is None else (self._last,)

    def rows_of(self, rows: For) -> Iterator[Statement]:
        """A loop over rows, with a loop over those columns of the strip that have such a row."""
        triangle = _triangle(rows, self.loop.symbol, {self.loop.symbol})
        if triangle is None:
            yield from super().rows_of(rows)
            return
        weight, rest = triangle
        rows = _counted_to(rows, rest + (self._last_column() if weight == 1 else -self.first))
        columns, row = self._columns(rows.body), Dim.of(rows.symbol)
        if weight == 1:
            name, op = self.names.begin, "maximum"
            declared, edge = self._extreme(name, op, self.first, row - rest + 1)
            columns = replace(columns, start=edge)
        else:
            end = self.loop.stop if self.limit is None else self.limit
            declared, edge = self._extreme(self.names.end, "minimum", end, rest - row)
            columns = replace(columns, limit=edge)
        yield replace(rows, body=(declared, columns))

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
