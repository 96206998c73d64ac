"""Compute the rest of a loop in whole vectors, where iterations are dear.

A compiler finishes a loop in lanes by shorter vectors, if it knows the length, and then one
iteration at a time; and an elementary function of one number takes as long as one of a whole
vector. So the last iterations run in a vector that overlaps the one before (index-set splitting),
if the loop reads nothing that it writes, and has one before:

    for i < n simd: out[i] = exp(x[i])

    for i < n // 8 * 8 simd: out[i] = exp(x[i])
    if n // 8 * 8 < n:
        if n >= 8: for i in n - 8..n simd: out[i] = exp(x[i])
        else:      for i < n: out[i] = exp(x[i])

Where a vector of functions takes longer than copies, what is shorter than a vector is computed in
small arrays, whose last elements repeat the first one; where half a vector is enough, it is half a
vector:

        for k < 8: x_rest[k] = x[0]
        for i < n: x_rest[i] = x[i]
        for k < 4 * ((n + 3) / 4) simd: value[k] = exp(x_rest[k])
        for i < n: out[i] = value[i]

Of a known length the rest is left to the compiler where it takes few vectors, and in a long loop.
What accumulators are updated by is an array as well, of which the last loop has the elements that
are there, one after the other, as compilers have them. An elementary function has the same bits in
all lanes.

Extremes and flags are the same if elements are compared once more, so that the last vector of their
loops overlaps at any cost of an element, but where lanes of bytes and of halves, which take many
steps to combine, leave no more than a shorter vector:

    for i < 100 simd: acc = max(acc, x[i])

    for i < 96 simd: acc = max(acc, x[i])
    for i in 84..100 simd: acc = max(acc, x[i])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.analysis.cost_model import function_work
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, THREADS_BOUND
from transpile.ir.dims import Dim, Index, Symbol, bounds, floor_divide, modulo, symbols_of
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    Within,
)
from transpile.ir.loop_rewrite import (
    expressions,
    loads,
    map_bodies,
    map_statement,
    names_in,
    parts,
    subexpressions,
    substitute_index,
    with_bodies,
    written,
)
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace

Body = tuple[Statement, ...]
Aliases = tuple[tuple[str, str], ...]


# A rest is too short for threads, unless a machine starts them for less than a vector.
@contract(requires=(LANES_BOUND,), destroys=(THREADS_BOUND,))
def pad_rests(program: Program, options: Options) -> Program:
    """The program with the rests of such loops in whole vectors."""
    names = Names(names_in(program))

    def within(body: Body) -> Body:
        return tuple(part for s in body for part in of(s))

    def of(statement: Statement) -> Iterator[Statement]:
        extremes = _with_last_vector(statement, options.machine)
        if extremes:
            yield from extremes
            return
        found = _Rest.of(statement, program.aliases, options.machine)
        if found is None:
            yield with_bodies(statement, within)
        else:
            yield from found.statements(names)

    return map_bodies(program, within)


def _with_last_vector(statement: Statement, machine: Machine) -> tuple[For, ...]:
    """A loop over the whole vectors of extremes, and one over the last vector of elements; nothing
    for loops that do anything else, have no rest, or are so long that it does not matter."""
    if not isinstance(statement, For) or not _may_be_repeated(statement):
        return ()
    inside = [part for s in statement.body for part in _in_lanes(s)]
    lanes = machine.vector_bytes // max(part.dtype.itemsize for part in inside)
    end = statement.stop
    if not isinstance(end, int) or end >= lanes * machine.most_vectors_of_extremes:
        return ()
    while lanes > end:
        lanes //= 2
    if lanes < machine.shortest_simd or end % lanes == 0:
        return ()
    is_narrow = all(part.dtype.itemsize < 4 for part in inside)
    if is_narrow and end > lanes and _pieces(end % lanes, inside) == 1:
        return ()
    whole = replace(statement, stop=end - end % lanes)
    return whole, replace(statement, start=end - lanes, parallel=False, threads=0)


def _in_lanes(statement: Statement) -> Iterator[Expr]:
    """The expressions in a statement; an index that is converted at once counts in lanes as wide as
    what it becomes."""
    converted = {
        part.args[0]
        for part in parts(statement)
        if isinstance(part, Apply) and part.op == "convert_element_type"
    }
    return (p for p in parts(statement) if p not in converted or not isinstance(p, IndexValue))


def _may_be_repeated(loop: For) -> bool:
    """True for a loop in lanes that does no more than find extremes and set flags. Lanes of floats
    that may be NaN are combined one after the other, which takes as long as a rest."""
    if not loop.simd or loop.lanes or loop.ordered or loop.collapse != 1 or loop.start != 0:
        return False
    again = {name for op, name in loop.reductions if TABLE[op].idempotent}
    for s in loop.body:
        match s:
            case Declare(constant=True, symbol=None):
                pass
            case Update(target=Ref(name=name), op=op) as update if name in again:
                if op != "set" and update.target.dtype.kind == "f":
                    return False
            case _:
                return False
        if any(isinstance(p, Within) for value in expressions(s) for p in subexpressions(value)):
            return False
    return loop.limit is None and bool(again)


@dataclass(frozen=True)
class _Rest:
    """A loop of which so many iterations fill a vector, the first one that its last vector may
    overlap, where it ends, what it reads that differs by iteration, whether iterations may run
    twice, and whether padding pays."""

    loop: For
    lanes: int
    first: Index
    end: Index
    leaves: tuple[Expr, ...]
    overlaps: bool
    is_dear: bool

    @staticmethod
    def of(statement: Statement, aliases: Aliases, machine: Machine) -> _Rest | None:
        """The loop that is worth it, and may be split."""
        if not isinstance(statement, For) or not _may_be_split(statement):
            return None
        inside = [part for s in statement.body for part in parts(s)]
        lanes = machine.vector_bytes // max(part.dtype.itemsize for part in inside)
        end = statement.stop if statement.limit is None else statement.limit
        starts = (
            (statement.start,) if statement.limit is None else (statement.start, statement.stop)
        )
        if lanes < 2 or modulo(end, lanes) == 0 or any(modulo(s, lanes) != 0 for s in starts):
            return None
        cost = function_work(statement.body)
        leaves = _leaves(statement.body, statement.symbol)
        pieces = None if isinstance(end, Dim) else _pieces(end % lanes, inside)
        if cost < machine.least_packed_work or (
            pieces is not None and (pieces < 2 or end >= lanes * machine.most_vectors_of_rest)
        ):
            return None
        least_cost = machine.least_padded_work
        if pieces is not None:
            least_cost = machine.least_saved_work // (pieces - 1)
        is_dear = cost >= least_cost and len(leaves) <= machine.most_packed
        whole = floor_divide(end, lanes) * lanes
        first = _first_to_overlap(statement, whole)
        overlaps = first != whole and _may_overlap(statement, aliases)
        extent = end - first
        is_short = isinstance(extent, int) and extent < lanes
        if not is_dear and (is_short or not overlaps):
            return None
        return _Rest(statement, lanes, first, end, leaves, overlaps, is_dear)

    def statements(self, names: Names) -> Iterator[Statement]:
        """The loop over whole vectors, and the rest, if there is one."""
        loop = self.loop
        whole = floor_divide(self.end, self.lanes) * self.lanes
        is_there = _less(whole, self.end)
        if loop.limit is None and whole != loop.start:
            yield replace(loop, stop=whole)
        elif loop.limit is not None:
            yield replace(loop, limit=whole)
            is_there = Apply("logical_and", (is_there, _less(self.end, loop.stop)), BOOL)
        extent = self.end - self.first
        least, most = bounds(extent)
        if self.overlaps and (least or 0) >= self.lanes:
            rest = tuple(self._overlapping(whole, names))
        else:
            is_all = self.overlaps and loop.limit is None and loop.start == 0
            rest = tuple(self._short()._alone(0, names) if is_all else self._alone(whole, names))
            if self.overlaps and (most is None or most >= self.lanes):
                last = tuple(self._overlapping(whole, names))
                rest = (If(_less(extent, self.lanes), rest, last),)
        if loop.limit is None and not isinstance(self.end, Dim):
            yield from rest
        else:
            yield If(is_there, rest)

    def _short(self) -> _Rest:
        """The rest that is the whole loop, which is known to be shorter than a vector."""
        loop, symbol = self.loop, changed(self.loop.symbol, extent=self.lanes)
        body = tuple(substitute_index(s, loop.symbol, Dim.of(symbol)) for s in loop.body)
        return replace(
            self, loop=replace(loop, symbol=symbol, body=body), leaves=_leaves(body, symbol)
        )

    def _alone(self, first: Index, names: Names) -> Iterator[Statement]:
        """The iterations from `first` on, which no vector before them overlaps."""
        if self.is_dear:
            yield from self._padded(first, names)
            return
        loop = replace(self.loop, start=first, stop=self.end, limit=None, reductions=())
        yield replace(loop, simd=False, lanes=0, parallel=False, threads=0)

    def _overlapping(self, first: Index, names: Names) -> Iterator[Statement]:
        """The last vector of iterations, of which those before `first` have run."""
        loop, start = self.loop, self.end - self.lanes
        if loop.limit is None and not any(isinstance(s, Update) for s in loop.body):
            last = replace(loop, start=start, stop=self.end, reductions=())
            yield replace(last, parallel=False, threads=0)
            return
        lane = Symbol(names.new("k"), 0, self.lanes)
        work = self._apart(lane, Dim.of(loop.symbol) - start, names)
        yield from map(Alloc, work.arrays)
        body = tuple(substitute_index(s, loop.symbol, start + Dim.of(lane)) for s in work.computed)
        yield For(lane, self.lanes, body, simd=True)
        yield For(loop.symbol, self.end, work.used, start=first)

    def _padded(self, first: Index, names: Names) -> Iterator[Statement]:
        """Copies into local arrays, the work on them, and what is done with the results."""
        lanes, loop = self.lanes, self.loop
        lane = Symbol(names.new("k"), 0, lanes)
        at = Dim.of(loop.symbol) - first
        given = {p: Buffer(names.new(_name(p)), (lanes,), p.dtype) for p in self.leaves}
        work = self._apart(lane, at, names)
        yield from map(Alloc, (*given.values(), *work.arrays))
        if given:
            copies = tuple(Store(b.name, (Dim.of(lane),), leaf) for leaf, b in given.items())
            of_first = tuple(substitute_index(s, loop.symbol, first) for s in copies)
            yield For(lane, lanes, of_first, simd=True)
            copies = tuple(Store(b.name, (at,), leaf) for leaf, b in given.items())
            yield For(loop.symbol, self.end, copies, start=first)
        half = lanes // 2
        yield For(
            lane,
            half * floor_divide(self.end - first + half - 1, half),
            tuple(_reading(s, given, lane) for s in work.computed),
            simd=True,
        )
        yield For(loop.symbol, self.end, work.used, start=first)

    def _apart(self, lane: Symbol, at: Index, names: Names) -> _Work:
        """The statements that compute values into arrays, and those that use their elements."""
        computed: list[Statement] = []
        used: list[Statement] = []
        made: dict[Expr, Buffer] = {}
        stored: set[Expr] = set()
        for s in self.loop.body:
            if isinstance(s, Declare):
                computed.append(s)
            elif isinstance(s, Update) and s.value in stored:
                used.append(s)
            elif isinstance(s, Store | Update):
                if isinstance(s, Store):
                    stored.add(Load(s.buffer, s.index, s.value.dtype))
                if s.value not in made:
                    made[s.value] = Buffer(names.new("value"), (self.lanes,), s.value.dtype)
                    computed.append(Store(made[s.value].name, (Dim.of(lane),), s.value))
                buffer = made[s.value]
                used.append(replace(s, value=Load(buffer.name, (at,), buffer.dtype)))
        return _Work(tuple(made.values()), tuple(computed), tuple(used))


@dataclass(frozen=True)
class _Work:
    """Local arrays, the statements that compute their elements, and those that use them."""

    arrays: tuple[Buffer, ...]
    computed: Body
    used: Body


def _pieces(count: int, inside: list[Expr]) -> int:
    """The vectors, and single iterations, that a compiler finishes so many iterations by: vectors
    of half as many lanes each, down to the shortest that processors have, of 16 bytes."""
    shortest = max(1, 16 // max(part.dtype.itemsize for part in inside))
    return (count // shortest).bit_count() + count % shortest


def _reading(statement: Statement, given: Mapping[Expr, Buffer], lane: Symbol) -> Statement:
    """A statement that reads the local arrays."""

    def read(expr: Expr) -> Expr:
        buffer = given.get(expr)
        return expr if buffer is None else Load(buffer.name, (Dim.of(lane),), buffer.dtype)

    return map_statement(statement, read)


def _may_overlap(loop: For, aliases: Aliases) -> bool:
    """True if iterations may run again: none reads what one has written."""
    stored = {name for s in loop.body for name in written(s)}
    for pair in aliases:
        if not stored.isdisjoint(pair):
            stored |= set(pair)
    elements = {Load(s.buffer, s.index, s.value.dtype) for s in loop.body if isinstance(s, Store)}
    return all(
        load.buffer not in stored or (isinstance(s, Update) and s.value in elements)
        for s in loop.body
        for load in loads(s)
    )


def _first_to_overlap(loop: For, whole: Index) -> Index:
    """The first iteration whose operands are there: that of a loop, or of the first block if no
    block has an array of its own, or the last one has a whole vector."""
    least, _ = bounds(loop.start)
    if loop.limit is None or least is None:
        return loop.start
    of_block = symbols_of(loop.start)
    places = [i for s in loop.body for load in loads(s) for i in load.index]
    is_apart = all(of_block.isdisjoint(symbols_of(index)) for index in places)
    length = loop.stop - loop.start
    between = modulo(whole - loop.start, length) if isinstance(length, int) else 0
    if is_apart or not isinstance(between, int):
        return least if is_apart else loop.start
    return whole if between == 0 else least


def _may_be_split(loop: For) -> bool:
    """True for a loop in lanes whose iterations do no more than compute scalars, store them, and
    update accumulators by them, whose elements are all there."""
    if not loop.simd or loop.ordered or loop.collapse != 1:
        return False
    stored: set[str] = set()
    elements: set[Expr] = set()
    running = {
        s.target.name for s in loop.body if isinstance(s, Update) and isinstance(s.target, Ref)
    }
    for s in loop.body:
        match s:
            case Declare(constant=True, symbol=None) | Update(target=Ref()):
                pass
            case Store(index=index) if any(loop.symbol in symbols_of(i) for i in index):
                pass
            case _:
                return False
        for value in expressions(s):
            for p in subexpressions(value):
                if isinstance(p, Within) or (isinstance(p, Ref) and p.name in running):
                    return False
        is_kept = isinstance(s, Update) and s.value in elements
        if not is_kept and any(load.buffer in stored for load in loads(s)):
            return False
        if isinstance(s, Store):
            stored.add(s.buffer)
            elements.add(Load(s.buffer, s.index, s.value.dtype))
    return bool(loop.body)


def _leaves(body: Body, symbol: Symbol) -> tuple[Expr, ...]:
    """What statements read that differs by iteration."""
    inside = (part for s in body for part in parts(s))
    return tuple(dict.fromkeys(part for part in inside if _varies(part, symbol)))


def _varies(part: Expr, symbol: Symbol) -> bool:
    match part:
        case Load(index=index):
            return any(symbol in symbols_of(i) for i in index)
        case IndexValue(index=i):
            return symbol in symbols_of(i)
        case _:
            return False


def _name(leaf: Expr) -> str:
    return f"{leaf.buffer}_rest" if isinstance(leaf, Load) else "index_rest"


def _less(first: Index, second: Index) -> Expr:
    return Apply("less", (as_value(first), as_value(second)), BOOL)
