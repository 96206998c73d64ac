"""Coalesce expensive nests over rows that fill vectors badly.

Rows of 5 or 31 elements leave most lanes of their last vector empty, and compilers finish them
element by element, which an elementary function makes dear. Arrays that lie alike are one long
loop already (`linearize`); where one of them is a row, a column or has gaps, a block of rows is
coalesced by way of local arrays, which are as contiguous as lanes (loop fission with packing):

    for i: for j < 5: out[i, j] = arctan2(x[i, j], y[j])
    for block: for i in block: for j: a[5*(i - first) + j] = x[i, j], b[5*(i - first) + j] = y[j]
               for k: c[k] = arctan2(a[k], b[k])
               for i in block: for j: out[i, j] = c[5*(i - first) + j]

Only nests that read nothing of what they write, whose elements are there in every iteration.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, STACK_BOUNDED, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Dim, Index, Symbol, symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    IndexValue,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Within,
)
from transpile.ir.loop_rewrite import (
    is_independent,
    map_kernels,
    map_statement,
    names_in,
    parts,
    with_bodies,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same

Body = tuple[Statement, ...]


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, SUBEXPRESSIONS_SHARED, STACK_BOUNDED))
def coalesce_short_rows(program: Program, options: Options) -> Program:
    """The program with expensive nests over short rows coalesced, a block of rows at a time."""
    names = Names(names_in(program))

    def in_body(body: Body) -> Body:
        return same(body, tuple(part for s in body for part in statement(s)))

    def statement(s: Statement) -> Iterator[Statement]:
        nest = _nest(s, options.machine)
        if nest is None:
            yield with_bodies(s, in_body)
        else:
            yield from nest.coalesced(names, options.machine.packed_block)

    return map_kernels(program, lambda kernel: changed(kernel, body=in_body(kernel.body)))


@dataclass(frozen=True)
class _Nest:
    """A loop over rows of `length` elements, with scalars of each row, and what the loop over
    elements reads that differs by element."""

    rows: For
    row: For
    count: int
    length: int
    leaves: tuple[Expr, ...]

    def coalesced(self, names: Names, size: int) -> Iterator[Statement]:
        """The loops over rows at once, or a loop over blocks of about `size` elements."""
        height = max(1, size // self.length)
        if self.count <= height:
            yield from self._block(self.rows, self.count, names)
            return
        block = Symbol(names.new("block"), 0, -(-self.count // height))
        first = self.rows.start + Dim.of(block) * height
        limit = None if self.count % height == 0 else self.rows.stop
        part = replace(self.rows, start=first, stop=first + height, limit=limit)
        yield For(block, -(-self.count // height), tuple(self._block(part, height, names)))

    def _block(self, rows: For, height: int, names: Names) -> Iterator[Statement]:
        """Copies into local arrays, the work on them, and copies of the results."""
        length, size = self.length, height * self.length
        index = (Dim.of(rows.symbol) - rows.start) * length + Dim.of(self.row.symbol)
        index = index - self.row.start
        flat = Symbol(names.new("k"), 0, size)
        arrays = {leaf: Buffer(names.new(_name(leaf)), (size,), leaf.dtype) for leaf in self.leaves}
        stores = [s for s in self.row.body if isinstance(s, Store)]
        results = {s: Buffer(names.new("value"), (size,), s.value.dtype) for s in stores}
        yield from map(Alloc, (*arrays.values(), *results.values()))

        def nest(scalars: Body, body: Body) -> For:
            return replace(rows, body=(*scalars, replace(self.row, body=body)))

        copies = tuple(Store(b.name, (index,), leaf) for leaf, b in arrays.items())
        yield nest(self.rows.body[:-1], copies)
        limit = None if rows.limit is None else (rows.limit - rows.start) * length
        elements: dict[Expr, Expr] = {
            leaf: Load(b.name, (Dim.of(flat),), b.dtype) for leaf, b in arrays.items()
        }
        body: list[Statement] = []
        for s in self.row.body:
            moved = map_statement(s, lambda e: elements.get(e, e))
            if isinstance(s, Store) and isinstance(moved, Store):
                moved = Store(results[s].name, (Dim.of(flat),), moved.value)
            body.append(moved)
        yield For(flat, size, tuple(body), limit=limit)
        loaded = ((s, Load(b.name, (index,), b.dtype)) for s, b in results.items())
        yield nest((), tuple(replace(s, value=value) for s, value in loaded))


def _name(leaf: Expr) -> str:
    match leaf:
        case Load(buffer=name) | Ref(name=name):
            return f"{name}_rows"
        case _:
            return "index"


def _nest(statement: Statement, machine: Machine) -> _Nest | None:
    """The nest that is worth coalescing, and may be."""
    if not isinstance(statement, For) or not _is_plain(statement) or not statement.body:
        return None
    *scalars, row = statement.body
    if not isinstance(row, For) or not _is_plain(row) or not all(map(_is_constant, scalars)):
        return None
    count, length = statement.extent, row.extent
    if not isinstance(count, int) or not isinstance(length, int):
        return None
    if statement.symbol in symbols_of(row.start) or not is_independent(statement):
        return None
    leaves = _leaves(statement, row)
    if leaves is None or count < 2 or not _is_worth_it(row, length, leaves, machine):
        return None
    return _Nest(statement, row, count, length, leaves)


def _is_plain(loop: For) -> bool:
    return not loop.ordered and loop.limit is None and loop.collapse == 1


def _is_constant(statement: Statement) -> bool:
    return isinstance(statement, Declare) and statement.constant and statement.symbol is None


def _leaves(rows: For, row: For) -> tuple[Expr, ...] | None:
    """What the body of a nest reads that differs by element; None if it is not to be packed."""
    loops = {rows.symbol, row.symbol}
    written = {s.buffer for s in row.body if isinstance(s, Store)}
    scalars = {s.name for s in rows.body[:-1] if isinstance(s, Declare)}
    leaves: dict[Expr, None] = {}
    if not all(isinstance(s, Store) or _is_constant(s) for s in row.body):
        return None
    for part in (p for s in (*rows.body[:-1], *row.body) for p in parts(s)):
        if isinstance(part, Within) or (isinstance(part, Load) and part.buffer in written):
            return None
    for part in (p for s in row.body for p in parts(s)):
        used = {s for i in _indices(part) for s in symbols_of(i)}
        is_scalar = isinstance(part, Ref) and part.name in scalars
        if is_scalar or (isinstance(part, Load | IndexValue) and not loops.isdisjoint(used)):
            leaves[part] = None
    return tuple(leaves)


def _indices(part: Expr) -> tuple[Index, ...]:
    match part:
        case Load(index=index):
            return index
        case IndexValue(index=index):
            return (index,)
        case _:
            return ()


def _is_worth_it(row: For, length: int, leaves: tuple[Expr, ...], machine: Machine) -> bool:
    """True for a body with an elementary function whose rows end in the middle of a vector."""
    inside = [part for s in row.body for part in parts(s)]
    cost = sum(part.primitive.weight for part in inside if isinstance(part, Apply))
    widest = max((part.dtype.itemsize for part in inside), default=1)
    lanes = max(1, machine.vector_bytes // widest)
    return (
        cost >= machine.least_packed_work
        and 1 < length < machine.most_row_vectors * lanes
        and length % lanes != 0
        and len(leaves) <= machine.most_packed
    )
