"""Scatters: many updates of a few elements are collected in tables of their own first.

Updates of elements that are read from an array (a histogram, a sum by index) run one after another,
because two of them may meet. Where there are many more updates than elements, they are cut into
parts by their number alone, each part has a table of its own, and the tables are combined in order:
parts may run on several threads, and the result does not depend on how many there are (as for sums,
docs/decisions/e-named-keys-and-block-sums.md). Inside a part the places of some updates at a time
are computed in vector lanes and kept, then the updates made. Updates that may be of no element go
to one more at the end of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.analysis.cost_model import work
from transpile.errors import InternalError
from transpile.ir.dims import Dim, Index, Shape, Symbol, product, row_major, substitute
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
from transpile.ir.types import INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.primitives.reductions import scan_start
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace


def scatters(program: Program, options: Options) -> Program:
    """The program with such updates made in tables of their parts."""
    machine = options.machine
    names = Names(names_in(program))
    program = _joined(program, names, machine)
    temporaries = list(program.temporaries)
    kernels = []
    for kernel in program.kernels:
        tables = _Tables(seen_by(program, kernel), names, temporaries, machine)
        kernels.append(replace(kernel, body=map_sequences(kernel.body, tables.sequence)))
    return replace(program, kernels=tuple(kernels), temporaries=tuple(temporaries))


@dataclass(frozen=True)
class _Found:
    """A loop of updates: what prepares an update, when it is made, and the update itself."""

    loop: For
    count: int
    prepared: tuple[Statement, ...]
    tests: tuple[Expr, ...]
    update: Update
    target: Load


def _updates(statement: Statement) -> _Found | None:
    """The updates of a loop that makes one in each iteration, in any order, and reads nothing of
    what it changes."""
    if not isinstance(statement, For) or statement.ordered or statement.limit is not None:
        return None
    if statement.start != 0 or not isinstance(statement.stop, int) or not statement.body:
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
    if not any(s.extent is not None and s != statement.symbol for s in _symbols(target.index)):
        return None
    every = [*prepared, *(If(t, ()) for t in tests), Store("", (), last.value)]
    if any(load.buffer == target.buffer for s in every for load in loads(s)):
        return None
    return _Found(statement, statement.stop, tuple(prepared), tuple(tests), last, target)


def _symbols(index: Shape) -> set[Symbol]:
    return {s for i in index if isinstance(i, Dim) for s in i.symbols()}


# ------------------------------------------------------------------------------------- tables


class _Tables:
    """Rewrites the updates of a kernel."""

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
        """The statements with such loops among them rewritten."""
        body: list[Statement] = []
        for statement in statements:
            found = _updates(statement)
            parts = 0 if found is None else self._parts(found)
            if found is None or parts < 2:
                body.append(statement)
            else:
                body += self._in_parts(found, parts)
        return tuple(body)

    def _parts(self, found: _Found) -> int:
        buffer = self.buffers.get(found.target.buffer)
        size = 0 if buffer is None else product(buffer.shape)
        return number_of_parts(found.count, size, self.machine)

    def _in_parts(self, found: _Found, parts: int) -> Iterator[Statement]:
        whole = self.buffers[found.target.buffer]
        dtype, extent = whole.dtype, product(whole.shape)
        extent = extent + 1 if found.tests else extent
        table = Buffer(self.names.new(f"{whole.name}_parts"), (parts, extent), dtype)
        self.temporaries.append(table)
        names = self.names.inner()
        part = Symbol(names.new("part"), 0, parts)
        place = Symbol(names.new("at"), 0, extent)
        start = Literal(scan_start(found.update.op, dtype).value[()], dtype)
        cleared = Store(table.name, (Dim.of(part), Dim.of(place)), start)
        if _takes_lanes(found, self.machine):
            size = self.machine.subscript_block
            block = Symbol(names.new("block"), 0, -(-found.count // size))
            body = tuple(_block(found, table, whole.shape, (part, block), names, size))
            counted = _share(For(block, -(-found.count // size), body), part, parts)
        else:
            counted = _share(_plain(found, table, whole.shape, part), part, parts)
        yield For(part, parts, (For(place, extent, (cleared,)), counted))
        yield self._combined(found, table, whole, part)

    def _combined(self, found: _Found, table: Buffer, whole: Buffer, part: Symbol) -> Statement:
        """All tables, one after another, added to what is there."""
        names = self.names.inner()
        symbols = [Symbol(names.new("element"), 0, extent) for extent in whole.shape]
        index: Shape = tuple(map(Dim.of, symbols))
        source = Load(table.name, (Dim.of(part), row_major(index, whole.shape)), whole.dtype)
        target = Load(whole.name, index, whole.dtype)
        nest: Statement = Update(target, found.update.op, source)
        for symbol in reversed(symbols):
            nest = For(symbol, symbol.extent or 0, (nest,))
        return For(part, part.extent or 0, (nest,))


def number_of_parts(updates: int, size: Index, machine: Machine) -> int:
    """How many tables of this size so many updates are worth; it depends on nothing else."""
    if not isinstance(size, int) or size == 0 or updates < machine.fewest_updates:
        return 0
    return min(machine.scatter_tables, updates // (machine.updates_of_an_element * size))


def _takes_lanes(found: _Found, machine: Machine) -> bool:
    """Tell whether the places take so much computing that vector lanes pay for keeping them."""
    tests = (If(t, ()) for t in found.tests)
    return sum(map(work, (*found.prepared, *tests))) > machine.least_subscript_work


def _share(loop: For, part: Symbol, parts: int) -> For:
    """The iterations of a loop that belong to a part."""
    if not isinstance(loop.stop, int):
        raise InternalError(f"{loop.symbol} ends at {loop.stop}, which no number of parts shares")
    share = -(-loop.stop // parts)
    first = Dim.of(part) * share
    limit = None if share * parts == loop.stop else loop.stop
    return replace(loop, start=first, stop=first + share, limit=limit)


def _plain(found: _Found, table: Buffer, shape: Shape, part: Symbol) -> For:
    """The updates, each as soon as its place is known."""
    place = row_major(found.target.index, shape)
    target = Load(table.name, (Dim.of(part), place), table.dtype)
    step: Statement = replace(found.update, target=target)
    for test in reversed(found.tests):
        step = If(test, (step,))
    return replace(found.loop, body=(*found.prepared, step))


def _block(
    found: _Found,
    table: Buffer,
    shape: Shape,
    around: tuple[Symbol, Symbol],
    names: Names,
    size: int,
) -> Iterator[Statement]:
    """The places of a block of so many updates, in lanes; then the updates."""
    part, block = around
    first = Dim.of(block) * size
    here = (Dim.of(found.loop.symbol) - first,)
    limit = None if found.count % size == 0 else found.count
    places = Buffer(names.new("places"), (size,), INT64)
    place: Expr = IndexValue(row_major(found.target.index, shape))
    for test in reversed(found.tests):
        place = Apply("select", (test, place, Literal(table.shape[1] - 1, INT64)), INT64)
    yield Alloc(places)
    prepared: list[Statement] = [*found.prepared, Store(places.name, here, place)]
    value = found.update.value
    if not isinstance(value, Literal) and not _is_at_hand(value):
        kept = Buffer(names.new("values"), (size,), value.dtype)
        yield Alloc(kept)
        prepared.append(Store(kept.name, here, value))
        value = Load(kept.name, here, value.dtype)
    loop = replace(found.loop, start=first, stop=first + size, limit=limit)
    yield replace(loop, body=tuple(prepared))
    at = Symbol(names.new("at"), 0, table.shape[1])
    target = Load(table.name, (Dim.of(part), Dim.of(at)), table.dtype)
    yield replace(
        loop,
        body=(
            Declare(at.name, Load(places.name, here, INT64), symbol=at),
            Update(target, found.update.op, value),
        ),
    )


def _is_at_hand(value: Expr) -> bool:
    """Tell whether a value is an element of an array whose place is no other value."""
    return isinstance(value, Load) and len(_symbols(value.index)) <= 1


# ------------------------------------------------------------------------------ joined kernels


def _joined(program: Program, names: Names, machine: Machine) -> Program:
    """The program with kernels that only prepare the updates of the next one made part of it."""
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
            None if before is None else _join(before, kernel, program, temporaries, names, machine)
        )
        if joined is None:
            kernels.append(kernel)
        else:
            kernels[-1], made = joined
            gone |= made
    kept = tuple(b for b in program.temporaries if b.name not in gone)
    return replace(program, kernels=tuple(kernels), temporaries=kept)


def _join(
    before: Kernel,
    kernel: Kernel,
    program: Program,
    temporaries: set[str],
    names: Names,
    machine: Machine,
) -> tuple[Kernel, set[str]] | None:
    """Two kernels in one, and the arrays that are then numbers: where the first one makes elements
    for the updates of the second and does nothing else."""
    found = _updates(kernel.body[-1]) if kernel.body else None
    if found is None or len(before.body) != 1 or before.shapes or kernel.shapes:
        return None
    (loop,) = before.body
    size = product(program.buffers()[found.target.buffer].shape)
    if not isinstance(loop, For) or replace(loop, body=()) != replace(found.loop, body=()):
        return None
    if number_of_parts(found.count, size, machine) < 2:
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
    inside = [(n, i) for s in walk((found.loop,)) for n, i in accesses(s) if n in made]
    if any(i != index for _, i in inside) or found.target.buffer in used_buffers(before)[0]:
        return None
    numbers: dict[str, Ref] = {}
    prepared = tuple(_renamed(loop.body, names, numbers))

    def number(expr: Expr) -> Expr:
        return numbers[expr.buffer] if isinstance(expr, Load) and expr.buffer in made else expr

    updates = tuple(map_statement(s, number, lambda i: i) for s in found.loop.body)
    whole = replace(found.loop, body=(*prepared, *updates))
    comment = tuple(dict.fromkeys((*before.comment, *kernel.comment)))
    return replace(kernel, body=(*kernel.body[:-1], whole), comment=comment), made


def _is_made(statement: Statement, index: Shape) -> bool:
    return isinstance(statement, Store) and statement.index == index


def _renamed(
    body: tuple[Statement, ...], names: Names, numbers: dict[str, Ref]
) -> Iterator[Statement]:
    """The statements with new names for their variables, and variables for what they store."""
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
