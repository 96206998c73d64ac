"""Privatise scatters: parts of the updates accumulate into tables of their own, which are combined.

The updates of a histogram or a segment sum may alias, so that their loop is sequential. Where
updates outnumber elements by far, they are divided into parts, each with a private table, and the
tables are combined in order. Parts may run in parallel. Their number depends on sizes alone, so
that results do not depend on the number of threads (docs/decisions/e-named-keys-and-block-sums.md).

    for i: out[index[i]] += x[i]
    for part: parts[part] = 0;  for i in part: parts[part][index[i]] += x[i]
    for part: for element: out[element] += parts[part][element]

Costly subscripts are vectorised by fission: in blocks, a first loop stores subscripts (and values),
a second one updates. Updates that may be out of bounds go to one more element at the end of a
table. A kernel that only makes the operands of the next one's updates is fused with it first.

A number of updates that is known at run time decides there: `if n >= 65536` there are
`parts = min(16, n // (8 * elements))` tables, as for the same size known before, else none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.analysis.cost_model import work
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import (
    NO_ALIASES,
    NO_LANES,
    OF_LOOPS,
    OF_TEMPORARIES,
    STACK_BOUNDED,
)
from transpile.ir.dims import Dim, Index, Shape, Symbol, bounds, substitute
from transpile.ir.indices.estimates import is_of_sizes
from transpile.ir.indices.row_major import blocks_of, product, row_major
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
)
from transpile.ir.loop_rewrite import (
    accesses,
    loads,
    map_sequences,
    map_statement,
    names_in,
    seen_by,
    used_buffers,
    walk,
)
from transpile.ir.types import BOOL, INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.primitives.reductions import scan_start
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace


# A kernel is fused with the one that makes its operands: each must name memory in one way.
@contract(requires=(NO_LANES, NO_ALIASES), destroys=(*OF_LOOPS, *OF_TEMPORARIES, STACK_BOUNDED))
def privatize_scatters(program: Program, options: Options) -> Program:
    """The program with such updates accumulated in private tables."""
    machine = options.machine
    names = Names(names_in(program))
    program = _fuse_operands(program, names, machine)
    temporaries = list(program.temporaries)
    kernels = []
    for kernel in program.kernels:
        tables = _Tables(seen_by(program, kernel), names, temporaries, machine)
        kernels.append(replace(kernel, body=map_sequences(kernel.body, tables.sequence)))
    return replace(program, kernels=tuple(kernels), temporaries=tuple(temporaries))


@dataclass(frozen=True)
class _Scatter:
    """A loop of updates: declarations, the guards of an update, and the update itself."""

    loop: For
    count: Index
    prepared: tuple[Statement, ...]
    tests: tuple[Expr, ...]
    update: Update
    target: Load


def _scatter_of(statement: Statement) -> _Scatter | None:
    """The updates of a loop with one in each iteration, in any order, none of which reads the
    updated buffer; None for other statements."""
    if not isinstance(statement, For) or statement.ordered or statement.limit is not None:
        return None
    if statement.start != 0 or not is_of_sizes(statement.stop) or not statement.body:
        return None
    *prepared, last = statement.body
    tests: list[Expr] = []
    while isinstance(last, If) and len(last.body) == 1 and not last.orelse:
        tests.append(last.condition)
        last = last.body[0]
    if not all(isinstance(s, Declare) for s in prepared) or not isinstance(last, Update):
        return None
    target = last.target
    if not isinstance(target, Load) or target.dtype.kind not in "fiu":
        return None
    if last.primitive is None or not last.primitive.may_combine(target.dtype):
        return None
    if target.dtype.kind in last.primitive.leaves_range:
        return None
    if not any(s.extent is not None and s != statement.symbol for s in _symbols(target.index)):
        return None
    every = [*prepared, *(If(t, ()) for t in tests), Store("", (), last.value)]
    if any(load.buffer == target.buffer for s in every for load in loads(s)):
        return None
    return _Scatter(statement, statement.stop, tuple(prepared), tuple(tests), last, target)


def _symbols(index: Shape) -> set[Symbol]:
    return {s for i in index if isinstance(i, Dim) for s in i.symbols()}


# ------------------------------------------------------------------------------------- tables


class _Tables:
    """Privatises the updates of a kernel."""

    def __init__(
        self,
        buffers: Mapping[str, Buffer],
        names: Names,
        temporaries: list[Buffer],
        machine: Machine,
    ) -> None:
        self.buffers = buffers
        self.names = names
        self.temporaries = temporaries
        self.machine = machine

    def sequence(self, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The statements with loops of updates privatised."""
        body: list[Statement] = []
        for statement in statements:
            scatter = _scatter_of(statement)
            tables = None if scatter is None else self._tables(scatter)
            if scatter is None or tables is None:
                body.append(statement)
            elif isinstance(scatter.count, int):
                body += self._in_parts(scatter, tables, tables)
            else:
                body.append(self._if_many(scatter, scatter.count, tables))
        return tuple(body)

    def _tables(self, scatter: _Scatter) -> int | None:
        """The greatest number of private tables, None where they do not pay."""
        buffer = self.buffers.get(scatter.target.buffer)
        size = 0 if buffer is None else product(buffer.shape)
        parts = most_parts(scatter.count, size, self.machine)
        return parts if parts > 1 else None

    def _if_many(self, scatter: _Scatter, count: Dim, tables: int) -> If:
        """Tables where the runtime number of updates is worth them, else the loop as it is."""
        size = product(self.buffers[scatter.target.buffer].shape)
        share = self.machine.updates_of_an_element * size
        least = max(self.machine.fewest_updates, 2 * share)
        parts = Symbol(self.names.inner().new("parts"), 2, tables + 1)
        number = Apply("minimum", (IndexValue(count // share), Literal(tables, INT64)), INT64)
        in_parts = self._in_parts(scatter, tables, Dim.of(parts))
        body = (Declare(parts.name, number, symbol=parts), *in_parts)
        many = Apply("greater_equal", (IndexValue(count), Literal(least, INT64)), BOOL)
        return If(many, body, (scatter.loop,))

    def _in_parts(self, scatter: _Scatter, tables: int, parts: Index) -> Iterator[Statement]:
        """The loop over parts, each of which clears and fills its table, and the loop that combines
        tables; there is memory for so many `tables`."""
        whole = self.buffers[scatter.target.buffer]
        dtype, extent = whole.dtype, product(whole.shape)
        extent = extent + 1 if scatter.tests else extent
        table = Buffer(self.names.new(f"{whole.name}_parts"), (tables, extent), dtype)
        self.temporaries.append(table)
        names = self.names.inner()
        part = Symbol(names.new("part"), 0, parts)
        element = Symbol(names.new("at"), 0, extent)
        neutral = Literal(scan_start(scatter.update.op, dtype).value[()], dtype)
        cleared = Store(table.name, (Dim.of(part), Dim.of(element)), neutral)
        if _is_worth_fission(scatter, self.machine):
            size = self.machine.subscript_block
            blocks = blocks_of(scatter.count, size)
            block = Symbol(names.new("block"), 0, blocks)
            body = tuple(_block(scatter, table, whole.shape, (part, block), names, size))
            loop = For(block, blocks, body)
        else:
            loop = _plain(scatter, table, whole.shape, part)
        share = blocks_of(loop.stop, parts)
        if isinstance(share, Dim):
            symbol = Symbol(names.new("share"), 1, blocks_of(loop.stop, 2) + 1)
            yield Declare(symbol.name, IndexValue(share), symbol=symbol)
            share = Dim.of(symbol)
        counted = _share(loop, part, parts, share)
        yield For(part, parts, (For(element, extent, (cleared,)), counted))
        yield self._combined(scatter, table, whole, part)

    def _combined(self, scatter: _Scatter, table: Buffer, whole: Buffer, part: Symbol) -> Statement:
        """The tables, added in order to the updated buffer."""
        names = self.names.inner()
        symbols = [Symbol(names.new("element"), 0, extent) for extent in whole.shape]
        index: Shape = tuple(map(Dim.of, symbols))
        source = Load(table.name, (Dim.of(part), row_major(index, whole.shape)), whole.dtype)
        target = Load(whole.name, index, whole.dtype)
        nest: Statement = Update(target, scatter.update.op, source)
        for symbol in reversed(symbols):
            nest = For(symbol, symbol.extent or 0, (nest,))
        return For(part, part.extent or 0, (nest,))


def most_parts(updates: Index, size: Index, machine: Machine) -> int:
    """The greatest number of private tables: a function of the number of updates and the size of a
    table alone, 0 or 1 where privatising does not pay."""
    if not isinstance(size, int) or size == 0:
        return 0
    _, most = bounds(updates)
    if most is None:
        return machine.scatter_tables
    if most < machine.fewest_updates:
        return 0
    return min(machine.scatter_tables, most // (machine.updates_of_an_element * size))


def _is_worth_fission(scatter: _Scatter, machine: Machine) -> bool:
    """True if subscripts take enough work to vectorise them apart from the updates."""
    tests = (If(t, ()) for t in scatter.tests)
    return sum(map(work, (*scatter.prepared, *tests))) > machine.least_subscript_work


def _share(loop: For, part: Symbol, parts: Index, share: Index) -> For:
    """The loop over the iterations of one part, of which there are `share` at most."""
    first = Dim.of(part) * share
    limit = None if share * parts == loop.stop else loop.stop
    return replace(loop, start=first, stop=first + share, limit=limit)


def _plain(scatter: _Scatter, table: Buffer, shape: Shape, part: Symbol) -> For:
    """The updates of a part, subscripts computed in the same loop."""
    element = row_major(scatter.target.index, shape)
    target = Load(table.name, (Dim.of(part), element), table.dtype)
    guarded: Statement = replace(scatter.update, target=target)
    for test in reversed(scatter.tests):
        guarded = If(test, (guarded,))
    return replace(scatter.loop, body=(*scatter.prepared, guarded))


def _block(
    scatter: _Scatter,
    table: Buffer,
    shape: Shape,
    around: tuple[Symbol, Symbol],
    names: Names,
    size: int,
) -> Iterator[Statement]:
    """The subscripts of a block of updates, in a loop that can be vectorised, then the updates."""
    part, block = around
    first = Dim.of(block) * size
    position = (Dim.of(scatter.loop.symbol) - first,)
    limit = None if scatter.count % size == 0 else scatter.count
    subscripts = Buffer(names.new("places"), (size,), INT64)
    subscript: Expr = IndexValue(row_major(scatter.target.index, shape))
    for test in reversed(scatter.tests):
        subscript = Apply("select", (test, subscript, Literal(table.shape[1] - 1, INT64)), INT64)
    yield Alloc(subscripts)
    prepared: list[Statement] = [*scatter.prepared, Store(subscripts.name, position, subscript)]
    value = scatter.update.value
    if not isinstance(value, Literal) and not _is_cheap_load(value):
        kept = Buffer(names.new("values"), (size,), value.dtype)
        yield Alloc(kept)
        prepared.append(Store(kept.name, position, value))
        value = Load(kept.name, position, value.dtype)
    loop = replace(scatter.loop, start=first, stop=first + size, limit=limit)
    yield replace(loop, body=tuple(prepared))
    at = Symbol(names.new("at"), 0, table.shape[1])
    target = Load(table.name, (Dim.of(part), Dim.of(at)), table.dtype)
    yield replace(
        loop,
        body=(
            Declare(at.name, Load(subscripts.name, position, INT64), symbol=at),
            Update(target, scatter.update.op, value),
        ),
    )


def _is_cheap_load(value: Expr) -> bool:
    """True if a value is a load with an affine subscript: as cheap to repeat as to keep."""
    return isinstance(value, Load) and len(_symbols(value.index)) <= 1


# ------------------------------------------------------------------------------ joined kernels


def _fuse_operands(program: Program, names: Names, machine: Machine) -> Program:
    """The program with each kernel that only makes operands of the next one's updates fused with
    it."""
    kernels: list[Kernel] = []
    gone: set[str] = set()
    users: dict[str, int] = {}
    for kernel in program.kernels:
        for name in used_buffers(kernel)[0]:
            users[name] = users.get(name, 0) + 1
    temporaries = {b.name for b in program.temporaries if users.get(b.name) == 2}
    for kernel in program.kernels:
        before = kernels[-1] if kernels else None
        joined = (
            None if before is None else _fused(before, kernel, program, temporaries, names, machine)
        )
        if joined is None:
            kernels.append(kernel)
        else:
            kernels[-1], made = joined
            gone |= made
    kept = tuple(b for b in program.temporaries if b.name not in gone)
    return replace(program, kernels=tuple(kernels), temporaries=kept)


def _fused(
    before: Kernel,
    kernel: Kernel,
    program: Program,
    temporaries: set[str],
    names: Names,
    machine: Machine,
) -> tuple[Kernel, set[str]] | None:
    """Two kernels fused, with the temporaries that become scalars; None unless the first only
    stores elements of temporaries that the updates of the second read at the same index."""
    scatter = _scatter_of(kernel.body[-1]) if kernel.body else None
    if scatter is None or len(before.body) != 1 or before.shapes or kernel.shapes:
        return None
    (loop,) = before.body
    size = product(program.buffers()[scatter.target.buffer].shape)
    if not isinstance(loop, For) or replace(loop, body=()) != replace(scatter.loop, body=()):
        return None
    if most_parts(scatter.count, size, machine) < 2:
        return None
    made = {s.buffer for s in loop.body if isinstance(s, Store)}
    index = (Dim.of(loop.symbol),)
    if not made or not made <= temporaries:
        return None
    if not all(isinstance(s, Declare) or _is_made(s, index) for s in loop.body):
        return None
    others = [s for statement in kernel.body[:-1] for s in walk((statement,))]
    if any(name in made for s in others for name, _ in accesses(s)):
        return None
    inside = [(n, i) for s in walk((scatter.loop,)) for n, i in accesses(s) if n in made]
    if any(i != index for _, i in inside) or scatter.target.buffer in used_buffers(before)[0]:
        return None
    numbers: dict[str, Ref] = {}
    prepared = tuple(_renamed(loop.body, names, numbers))

    def number(expr: Expr) -> Expr:
        return numbers[expr.buffer] if isinstance(expr, Load) and expr.buffer in made else expr

    updates = tuple(map_statement(s, number, lambda i: i) for s in scatter.loop.body)
    whole = replace(scatter.loop, body=(*prepared, *updates))
    comment = tuple(dict.fromkeys((*before.comment, *kernel.comment)))
    return replace(kernel, body=(*kernel.body[:-1], whole), comment=comment), made


def _is_made(statement: Statement, index: Shape) -> bool:
    return isinstance(statement, Store) and statement.index == index


def _renamed(
    body: tuple[Statement, ...], names: Names, numbers: dict[str, Ref]
) -> Iterator[Statement]:
    """The statements with fresh names for variables, and variables for stored elements."""
    refs: dict[str, str] = {}
    symbols: dict[Symbol, Index] = {}

    def expression(expr: Expr) -> Expr:
        return Ref(refs.get(expr.name, expr.name), expr.dtype) if isinstance(expr, Ref) else expr

    for statement in body:
        changed = map_statement(statement, expression, lambda i: substitute(i, symbols))
        if isinstance(changed, Store):
            number = Ref(names.new(changed.buffer), changed.value.dtype)
            numbers[changed.buffer] = number
            yield Declare(number.name, changed.value)
        elif isinstance(changed, Declare):
            name = refs[changed.name] = names.new(changed.name)
            symbol = changed.symbol
            if symbol is not None:
                renamed = replace(symbol, name=name)
                symbols[symbol] = Dim.of(renamed)
                symbol = renamed
            yield replace(changed, name=name, symbol=symbol)
