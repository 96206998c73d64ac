"""Updates of few elements: each block has a table of them in its shared memory.

    for k: table[k] = 0
    for j of this block: table[index[j]] += x[j]
    for k: out[k] += table[k]

So that memory has an update for each element and block, instead of one for each iteration, many of
which would wait for each other. The updates are of integers: any number of blocks gives the same
bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from transpile.ir.dims import Dim, Index, Shape, Symbol, bounds
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    DType,
    For,
    If,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
)
from transpile.ir.loop_rewrite import walk, with_bodies
from transpile.ir.types import BOOL, INT32
from transpile.primitives.reductions import identity
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import AtomicUpdate, Body, Over, Shared, Spread, Team
from transpile.targets.cuda.gpu import Gpu
from transpile.util.frozen_records import dataclass, replace


@dataclass(frozen=True)
class Tables:
    """A nest whose blocks have tables.

    before   makes the tables
    body     an iteration
    behind   updates the elements
    blocks   that are worth it
    """

    before: Body
    body: tuple[Statement, ...]
    behind: Body
    blocks: int


@dataclass(frozen=True)
class _Table:
    """The elements of an array that updates go to, in shared memory."""

    array: Buffer
    own: Buffer
    op: str

    @property
    def start(self) -> Literal:
        """What no update leaves."""
        return Literal(identity(self.op, self.own.dtype).value[()], self.own.dtype)


def with_tables(
    loops: Sequence[For], body: tuple[Statement, ...], buffers: Mapping[str, Buffer], gpu: Gpu,
    names: Names,
) -> Tables | None:  # fmt: skip
    """The nest with tables; None where there are too many elements, or too few updates of each."""
    count = product(f.extent for f in loops)
    updates = [s for s in walk(body) if isinstance(s, AtomicUpdate) and s.target.dtype.kind in "iu"]
    if not updates or any(isinstance(s, For) for s in walk(body)):
        return None
    tables: dict[str, _Table] = {}
    for update in updates:
        assert isinstance(update.target, Load)
        array = buffers[update.target.buffer]
        own = Buffer(names.new(f"{array.name}_table"), array.shape, _dtype(update, count))
        tables[array.name] = _Table(array, own, update.op)
    sizes = [s for t in tables.values() if isinstance(s := product(t.own.shape), int)]
    if len(tables) < len(updates) or len(sizes) < len(tables):
        return None
    bytes_ = sum(
        size * t.own.dtype.itemsize for size, t in zip(sizes, tables.values(), strict=True)
    )
    blocks = min(gpu.most_tables, estimate(count) // (gpu.updates_of_element * max(1, *sizes)))
    if bytes_ > gpu.shared_bytes or blocks < gpu.enough_blocks:
        return None
    shared = [Shared(table.own, Team.BLOCK, 1) for table in tables.values()]
    before = [_of_elements(t, partial(_started, t), names) for t in tables.values()]
    behind = [
        _of_elements(t, partial(_merged, t, names.new("part")), names) for t in tables.values()
    ]
    made = tuple(_in_tables(s, tables) for s in body)
    return Tables((*shared, *before), made, tuple(behind), blocks)


def _dtype(update: AtomicUpdate, count: Index) -> DType:
    """The dtype of a table: 32 bits hold counts of so many updates."""
    value, most = update.value, bounds(count)[1]
    if isinstance(value, Literal) and update.op == "add" and most is not None:
        return INT32 if abs(int(value.value)) * most < 1 << 31 else update.target.dtype
    return update.target.dtype


def _of_elements(table: _Table, make: Callable[[Shape], Body], names: Names) -> Spread:
    """Statements for each element, dealt out to the threads of a block."""
    size = product(table.own.shape)
    element = Symbol(names.new("element"), 0, size)
    return Spread((For(element, size, ()),), Over.BLOCK_THREADS, make((Dim.of(element),)))


def _started(table: _Table, at: Shape) -> Body:
    return (Store(table.own.name, at, table.start),)


def _merged(table: _Table, part: str, at: Shape) -> Body:
    """An element updated by what a block has of it."""
    value = Ref(part, table.own.dtype)
    dtype = table.array.dtype
    given = value if value.dtype == dtype else Apply("convert_element_type", (value,), dtype)
    update = AtomicUpdate(Load(table.array.name, at, dtype), table.op, given)
    declared = Declare(part, Load(table.own.name, at, table.own.dtype))
    return (declared, If(Apply("not_equal", (value, table.start), BOOL), (update,)))


def _in_tables(statement: Statement, tables: Mapping[str, _Table]) -> Statement:
    """A statement whose updates go to tables."""
    if isinstance(statement, AtomicUpdate):
        assert isinstance(statement.target, Load)
        table = tables.get(statement.target.buffer)
        if table is None:
            return statement
        target = replace(statement.target, buffer=table.own.name, dtype=table.own.dtype)
        value = statement.value
        if isinstance(value, Literal):
            value = Literal(table.own.dtype.type(value.value), table.own.dtype)
        return replace(statement, target=target, value=value)
    return with_bodies(statement, lambda body: tuple(_in_tables(s, tables) for s in body))
