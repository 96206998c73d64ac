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

Where the number of rows depends on the column, a row has those columns of the strip that have as
many rows (`triangular_strips.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

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
from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute
from transpile.ir.indices.row_major import blocks_of, product, row_major, step_of
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Program,
    Ref,
    Statement,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    accesses,
    declared_names,
    is_independent,
    loads,
    map_kernels,
    names_in,
    parts,
    seen_by,
    symbols_read,
    walk,
    with_bodies,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.outer.triangular_strips import (
    StripNames,
    TriangularTurner,
    counted_to,
    from_zero,
    triangle_of,
)
from transpile.schedule.lanes.outer.turner import names_of
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same


# Choices at borders and diagonals would keep the columns of a strip out of lanes.
@contract(
    requires=(NO_LANES, BOUNDS_RESOLVED, DIAGONALS_RESOLVED),
    destroys=(*OF_LOOPS, STACK_BOUNDED),
)
def vectorize_columns(program: Program, options: Options) -> Program:
    """The program with nests over columns strip-mined and interchanged."""
    names = StripNames(Names(names_in(program)))

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


def _statement(
    statement: Statement, names: StripNames, memory: _Memory, around: Symbol | None = None
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
    """The loop with rows that end at what a scalar of the column is, and begin at 0."""
    known: dict[Symbol, Index] = {}
    for statement in loop.body:
        match statement:
            case Declare(symbol=Symbol() as symbol, value=IndexValue(index=index)):
                known[symbol] = index
            case Declare(symbol=Symbol() as symbol, value=Literal(value=number)):
                known[symbol] = int(number)
            case _:
                pass
    body = tuple(_ending_at(s, known, loop) if isinstance(s, For) else s for s in loop.body)
    return changed(loop, body=same(loop.body, body))


def _ending_at(rows: For, known: Mapping[Symbol, Index], loop: For) -> For:
    """The rows with the indices for these symbols at their end, from 0 on if the column says where
    they begin."""
    stop = substitute(rows.stop, known)
    rows = rows if stop == rows.stop else counted_to(rows, stop)
    is_shifted = loop.symbol in names_of((rows.start,)) and rows.limit is None
    return from_zero(rows) if is_shifted else rows


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
    ones, weighed by trip counts. An access that is both, x[row + column] of a window, counts for
    columns, whose sums need no lanes to be added. Beside the columns of a matrix, an operand that
    all columns share (the vector of a product) does not count; nor does one that is read once for
    each column, or by a loop whose iterations wait for one another."""
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
            may_turn = inner in loop.body and triangle_of(inner, loop.symbol, own) is not None
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
                        is_along_rows = not is_along_columns and memory.is_along(
                            name, index, inner.symbol, loop.symbol
                        )
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


def last_axis_stride(index: Shape, symbol: Symbol) -> Index | None:
    """The stride of an access along the last axis as a symbol increases by one; None when the
    symbol is in an earlier subscript."""
    if any(isinstance(i, Dim) and symbol in i.symbols() for i in index[:-1]):
        return None
    last = index[-1]
    return dict(last.terms).get((symbol,), 0) if isinstance(last, Dim) else 0


def _strip_mined(loop: For, names: StripNames, machine: Machine, strip: int) -> For | None:
    """The loop over strips of so many columns at most; None if the expanded local arrays would be
    too large."""
    lanes = machine.lanes
    columns = trips(loop)
    share = -(-columns // (machine.fewest_strips * lanes)) * lanes
    if any(isinstance(s, For) and loop.symbol in _ends_of(s) for s in loop.body):
        strip = min(strip, machine.triangle_strip)  # few rows are those of some columns alone
    wide = min(strip, columns, share)
    local = [s.buffer for s in walk(loop.body) if isinstance(s, Alloc)]
    width = next((w for w in (wide, min(wide, strip // 2)) if _fit(local, w, machine)), None)
    if width is None:
        return None
    strips = blocks_of(loop.extent, width)
    number = Symbol(names.strip, 0, strips)
    first = (Dim.of(number) * width if strips != 1 else 0) + loop.start
    turner = TriangularTurner(loop, first, width, names)
    body = tuple(turner.body(loop.body))
    return For(number, strips, (*turner.before(), *body))


def _fit(local: list[Buffer], width: int, machine: Machine) -> bool:
    """True if local arrays that are expanded by the width of a strip stay in a core's cache."""
    sizes = [product(b.shape) * b.dtype.itemsize * width for b in local]
    return all(isinstance(size, int) and size <= machine.row_bytes for size in sizes)
