"""Reductions in slices, where there are too few of them to keep a GPU busy.

    for j: acc = 0;  for i: acc += x[i][j];  out[j] = acc

    for slice: for j: part = 0;  for i in slice: part += x[i][j];  parts[j][slice] = part
    for j: acc = 0;  for slice: acc += parts[j][slice];  out[j] = acc

Prefixes that are few and long are computed in slices, too: those of a slice follow what the slices
before it are together.

How many there are depends on sizes alone, so that results are the same bits on every GPU. A nest
with several reductions, one after the other, is cut behind each: what others read of one is in
memory then. What is left at last, such as the elements less their mean, is a nest of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from transpile.analysis.cost_model import trips, work
from transpile.analysis.loop_dependences import accumulators
from transpile.ir.dims import Dim, Index, Symbol, substitute, symbols_of
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import blocks_of, product
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    Expr,
    For,
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
    children,
    map_bodies,
    map_sequences,
    map_statement,
    names_in,
    names_read,
    parts,
    walk,
    written,
)
from transpile.primitives.reductions import identity, scan_start
from transpile.schedule.strip_mine import block_of
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.mapping.launches import may_be_spread
from transpile.targets.cuda.mapping.team import rectangular
from transpile.util.frozen_records import changed, dataclass, replace, same

Body = tuple[Statement, ...]


def split_reductions(program: Program, gpu: Gpu) -> Program:
    """The program with its long and few reductions in slices."""
    slicing = _Slicing(gpu, Names(names_in(program)))

    def sequence(statements: Body) -> Body:
        return tuple(made for s in statements for made in slicing.statement(s))

    program = map_bodies(program, lambda body: map_sequences(body, sequence))
    temporaries = (*program.temporaries, *slicing.temporaries)
    return changed(program, temporaries=same(program.temporaries, temporaries))


def contiguous(nest: For, loop: For, around: Sequence[For] = ()) -> int:
    """The accesses in a nest that the next iteration of a loop makes one element further on; of
    those that depend on the loops around it, if there are some: others are the same elements for
    all of their iterations, which caches have."""
    following = {loop.symbol: Dim.of(loop.symbol) + 1}
    outer = {f.symbol for f in around}
    return sum(
        substitute(index[-1], following) - index[-1] == 1
        for statement in walk((nest,))
        for _, index in accesses(statement)
        if index
        and loop.symbol in symbols_of(index[-1])
        and not (outer and outer.isdisjoint(s for i in index for s in symbols_of(i)))
    )


@dataclass(frozen=True)
class _Nest:
    """Independent loops around `before`, a reduction, and what follows it."""

    loops: tuple[For, ...]
    before: tuple[Declare, ...]
    reduction: For
    after: Body

    @property
    def indices(self) -> tuple[Index, ...]:
        return tuple(Dim.of(f.symbol) for f in self.loops)

    @property
    def extents(self) -> tuple[Index, ...]:
        return tuple(f.stop for f in self.loops)


class _Slicing:
    """Splits nests; `temporaries` are the arrays that this takes."""

    def __init__(self, gpu: Gpu, names: Names) -> None:
        self.gpu = gpu
        self.names = names
        self.temporaries: list[Buffer] = []

    def statement(self, statement: Statement) -> Iterator[Statement]:
        """The nests in place of a statement of a kernel."""
        scan = _scan(statement)
        if scan is not None:
            yield from self._scanned(statement, scan)
            return
        nest = _nest(statement)
        slices = 1 if nest is None else self._slices(nest)
        if nest is None or slices < 2:
            yield statement
            return
        ops = accumulators(nest.reduction)
        assert ops
        starts = {s.name: s for s in nest.before if s.name in ops}
        symbol = Symbol(self.names.inner().new("slice"), 0, slices)
        is_last = slices >= self.gpu.shortest_of_team
        parts: dict[str, Load] = {}
        for name, update in ops.items():
            shape = (*nest.extents, slices) if is_last else (slices, *nest.extents)
            at = (*nest.indices, Dim.of(symbol)) if is_last else (Dim.of(symbol), *nest.indices)
            buffer = self._array(f"{name}_parts", shape, update)
            parts[name] = Load(buffer.name, at, buffer.dtype)
        yield _around(
            self._order(nest, symbol, slices), self._part(nest, ops, parts, symbol, slices)
        )
        combine = For(
            symbol, slices,
            tuple(Update(u.target, u.op, parts[n]) for n, u in ops.items()),
        )  # fmt: skip
        if not any(isinstance(s, For) for s in walk(nest.after)):
            yield _around(nest.loops, (*nest.before, combine, *nest.after))
            return
        kept: dict[str, Load] = {}
        for name, update in ops.items():
            buffer = self._array(f"{name}_of_all", nest.extents, update)
            kept[name] = Load(buffer.name, nest.indices, buffer.dtype)
        stores = tuple(Store(x.buffer, x.index, Ref(n, x.dtype)) for n, x in kept.items())
        yield _around(nest.loops, (*starts.values(), combine, *stores))
        before = tuple(Declare(s.name, kept[s.name]) if s.name in kept else s for s in nest.before)
        yield from self._rest(nest.loops, (*before, *nest.after))

    def _scanned(self, statement: Statement, scan: _Scan) -> Iterator[Statement]:
        """The nests in place of prefixes, where these are few and long."""
        extent, update = scan.loop.extent, scan.update
        count = max(1, estimate(product(f.extent for f in scan.loops)))
        assert isinstance(extent, int) and isinstance(update.target, Ref)
        slices = min(-(-self.gpu.enough_threads // count), extent // self.gpu.shortest_slice)
        if slices < 2 or count * work(scan.loop) < self.gpu.least_split_work:
            yield statement
            return
        symbol = Symbol(self.names.inner().new("slice"), 0, slices)
        shape = (slices, *(f.extent for f in scan.loops))
        at = (Dim.of(symbol), *(Dim.of(f.symbol) for f in scan.loops))
        parts = Load(self._array("parts", shape, update).name, at, update.target.dtype)
        before = Load(self._array("before", shape, update).name, at, update.target.dtype)
        size = blocks_of(extent, slices)
        first = Dim.of(symbol) * size + scan.loop.start
        start = Literal(scan_start(update.op, parts.dtype).value[()], parts.dtype)
        of_slice = replace(scan.loop, body=scan.loop.body[: scan.position + 1])
        around = (For(symbol, slices, ()), *scan.loops)
        yield _around(
            around,
            (
                replace(scan.start, value=start),
                block_of(of_slice, first, size),
                Store(parts.buffer, at, update.target),
            ),
        )
        step = (Store(before.buffer, at, update.target), replace(update, value=parts))
        yield _around(scan.loops, (scan.start, For(symbol, slices, step)))
        whole = block_of(scan.loop, first, size)
        yield _around(around, (replace(scan.start, value=before), whole))

    def _array(self, hint: str, shape: tuple[Index, ...], update: Update) -> Buffer:
        buffer = Buffer(self.names.new(hint), shape, update.target.dtype)
        self.temporaries.append(buffer)
        return buffer

    def _slices(self, nest: _Nest) -> int:
        """In how many slices the reduction of a nest is computed."""
        gpu, reduction = self.gpu, nest.reduction
        count = max(1, estimate(product(nest.extents)))
        if not isinstance(reduction.extent, int) or count * work(reduction) < gpu.least_split_work:
            return 1
        inside = [s for s in walk((reduction,)) if isinstance(s, For)]
        along = contiguous(reduction, nest.loops[-1])
        if along > sum(contiguous(reduction, f, nest.loops) for f in inside):
            wanted, least = -(-gpu.enough_threads // count), gpu.shortest_slice
        else:
            wanted, least = -(-gpu.enough_teams // count), gpu.shortest_slice_of_row
        most = _elements(reduction) // least
        return max(1, min(wanted, most, reduction.extent))

    def _order(self, nest: _Nest, symbol: Symbol, slices: int) -> tuple[For, ...]:
        """The loops of the first nest: neighbouring threads access neighbouring elements."""
        loop = For(symbol, slices, ())
        if contiguous(nest.reduction, nest.loops[-1]):
            return (loop, *nest.loops)
        return (*nest.loops, loop)

    def _part(
        self, nest: _Nest, ops: Mapping[str, Update], parts: Mapping[str, Load], symbol: Symbol,
        slices: int,
    ) -> Body:  # fmt: skip
        """The reduction of a slice."""
        loop = nest.reduction
        own = self.names.inner()
        refs = {n: Ref(own.new(f"{n}_part"), u.target.dtype) for n, u in ops.items()}
        size = blocks_of(loop.extent, slices)
        first = Dim.of(symbol) * size + loop.start

        def on_expr(expr: Expr) -> Expr:
            return refs.get(expr.name, expr) if isinstance(expr, Ref) else expr

        renamed = map_statement(loop, on_expr)
        assert isinstance(renamed, For)
        return (
            *(s for s in nest.before if s.name not in ops),
            *(Declare(refs[n].name, _neutral(u), constant=False) for n, u in ops.items()),
            block_of(renamed, first, size),
            *(Store(x.buffer, x.index, refs[n]) for n, x in parts.items()),
        )

    def _rest(self, loops: tuple[For, ...], body: Body) -> Iterator[Statement]:
        """What follows a reduction: other reductions, or a nest whose loops are exchanged where the
        innermost one is to access neighbouring elements."""
        *before, last = body
        is_plain = all(isinstance(s, Declare) and s.constant for s in before)
        if is_plain and isinstance(last, For) and may_be_spread(last):
            inner, inside = rectangular(last, may_be_spread)
            outer = {f.symbol for f in loops}
            ends = {s for f in inner for end in (f.start, f.stop) for s in symbols_of(end)}
            is_free = outer.isdisjoint(ends) and all(f.limit is None for f in inner)
            if is_free and contiguous(last, loops[-1]) > contiguous(last, inner[-1]):
                loops, inner = inner, loops
            yield _around((*loops, *inner), (*before, *inside))
            return
        yield from self.statement(_around(loops, body))


def _around(loops: tuple[For, ...], body: Body) -> For:
    """A nest with these loops and this body."""
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    (nest,) = body
    assert isinstance(nest, For)
    return nest


def _nest(statement: Statement) -> _Nest | None:
    """A statement as independent loops around a first reduction; None for others."""
    if not isinstance(statement, For) or statement.ordered or not may_be_spread(statement):
        return None
    loops, body = rectangular(statement, may_be_spread)
    if any(f.start != 0 or f.limit is not None for f in loops):
        return None
    before: list[Declare] = []
    stores: list[Statement] = []
    for position, inner in enumerate(body):
        if isinstance(inner, Declare) and inner.symbol is None:
            before.append(inner)
            continue
        if isinstance(inner, Store):
            stores.append(inner)
            continue
        if not isinstance(inner, For) or inner.limit is not None:
            return None
        after = (*stores, *body[position + 1 :])
        ops = accumulators(inner)
        starts = {s.name for s in before if not s.constant}
        if not ops or set(ops) != starts or any(isinstance(s, Alloc) for s in walk((inner,))):
            return None
        if not _is_free(inner, loops) or _updates(after, set(ops)) or _writes_read(statement):
            return None
        return _Nest(loops, tuple(before), inner, after)
    return None


@dataclass(frozen=True)
class _Scan:
    """Independent loops around prefixes: an accumulator, and the loop that updates it at a position
    of its body, behind which it is read."""

    loops: tuple[For, ...]
    start: Declare
    loop: For
    position: int

    @property
    def update(self) -> Update:
        """The update of the accumulator."""
        update = self.loop.body[self.position]
        assert isinstance(update, Update)
        return update


def _scan(statement: Statement) -> _Scan | None:
    """A statement as prefixes whose parts may be combined; None for others."""
    if not isinstance(statement, For) or statement.ordered or not may_be_spread(statement):
        return None
    loops, body = rectangular(statement, may_be_spread)
    if len(body) != 2 or any(f.start != 0 or f.limit is not None for f in loops):
        return None
    start, loop = body
    if not (isinstance(start, Declare) and isinstance(loop, For) and not start.constant):
        return None
    plain = all(isinstance(s, Declare | Update | Store) for s in loop.body)
    if loop.limit is not None or not isinstance(loop.extent, int) or not plain:
        return None
    positions = [k for k, s in enumerate(loop.body) if isinstance(s, Update)]
    if len(positions) != 1 or not _is_free(loop, loops) or _writes_read(statement):
        return None
    (position,) = positions
    update = loop.body[position]
    assert isinstance(update, Update)
    dtype, primitive = start.dtype, update.primitive
    own = Ref(start.name, dtype)
    is_own = update.target == own and own not in parts(update)
    early = any(start.name in names_read(s) for s in loop.body[:position])
    if not is_own or early or primitive is None or not primitive.may_combine(dtype):
        return None
    if dtype.kind in primitive.leaves_range or accumulators(loop):
        return None
    return _Scan(loops, start, loop, position)


def _neutral(update: Update) -> Literal:
    """What an accumulator of a part begins with."""
    dtype = update.target.dtype
    return Literal(identity(update.op, dtype).value[()], dtype)


def _is_free(reduction: For, loops: tuple[For, ...]) -> bool:
    """True if the bounds of a reduction are those of each iteration of the loops around it."""
    ends = symbols_of(reduction.start) | symbols_of(reduction.stop)
    return ends.isdisjoint(f.symbol for f in loops)


def _updates(body: Body, names: set[str]) -> bool:
    return any(
        isinstance(s, Update) and isinstance(s.target, Ref) and s.target.name in names
        for s in walk(body)
    )


def _writes_read(nest: For) -> bool:
    """True if a nest writes an array that it reads: its parts could not run one after the other."""
    inside = list(walk((nest,)))
    changed_ = {name for s in inside for name in written(s)}
    own = {s.buffer.name for s in inside if isinstance(s, Alloc)}
    read = {load for s in inside for load, _ in accesses(s) if not isinstance(s, Store)}
    return bool((changed_ - own) & read)


def _elements(statement: Statement) -> int:
    """The largest number of elements that a nest runs over."""
    times = trips(statement) if isinstance(statement, For) else 1
    return times * max((_elements(s) for s in children(statement)), default=1)
