"""Accesses of 16 bytes: a thread has several neighbouring iterations, and loads and stores what
they access of contiguous arrays together.

    for i: out[i] = f(x[i])      for pack: x_pack = x[4 pack ..];
                                           for k in 0..4: out_pack[k] = f(x_pack[k])
                                           out[4 pack ..] = out_pack

That a pack is aligned within its array follows from subscripts: what is added to the innermost
index is divisible by the elements of a pack. Whether the array is, only its address tells: threads
access the elements one by one where it is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from transpile.analysis.cost_model import work
from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute, symbols_of, terms_of
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import Alloc, Buffer, DType, Expr, For, Load, Statement, Store, While
from transpile.ir.loop_rewrite import (
    accesses,
    declared_names,
    loads,
    map_statement,
    substitute_index,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import FLOAT16
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import (
    Body,
    DeviceStatement,
    Over,
    Pack,
    Registers,
    Spread,
    Together,
    Unrolled,
    walk_device,
)
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.mapping.registers import always_loaded, plain
from transpile.util.frozen_records import dataclass, replace

_MOST = 8  # elements of a pack


@dataclass(frozen=True)
class Packed:
    """A nest of packs: its loops, the body of an iteration, and what is left behind the last whole
    pack, None where nothing is."""

    loops: tuple[For, ...]
    body: Body
    rest: For | None


def packed(
    loops: Sequence[For], body: tuple[Statement, ...], gpu: Gpu, names: Names
) -> Packed | None:
    """The nest by packs; None where there is nothing to gain."""
    inner = loops[-1]
    if inner.start != 0 or inner.limit is not None:
        return None
    if any(isinstance(s, Alloc | For | While) for s in walk(body)):
        return None
    every = list(_contiguous(inner.symbol, body))
    if not every:
        return None
    widest = max(dtype.itemsize for _, _, dtype, _ in every)
    count = min(_MOST, gpu.pack_bytes // widest)
    while count > 1:
        is_enough = estimate(product(f.extent for f in loops)) >= count * gpu.enough_iterations
        is_small = count * sum(map(work, body)) <= gpu.most_pack_work
        if is_enough and is_small and (len(loops) == 1 or inner.extent % count == 0):
            made = _of(count, loops, body, names)
            if made is not None:
                return made
        count //= 2
    return None


def _contiguous(
    symbol: Symbol, body: tuple[Statement, ...]
) -> Iterator[tuple[str, Index, DType, bool]]:
    """The elements (array, subscript, dtype, is it stored) that every iteration accesses, one
    further on in the next one, and that nothing else in an iteration changes."""
    inside = list(walk(body))
    changed = [name for s in inside for name in written(s)]
    loaded: dict[str, set[Shape]] = {}
    for load in (load for s in inside for load in loads(s)):
        loaded.setdefault(load.buffer, set()).add(load.index)
    own = declared_names(body)

    def is_contiguous(name: str, index: Shape) -> bool:
        if name in own or len(index) != 1 or any(s.name in own for s in symbols_of(index[0])):
            return False
        return symbol not in symbols_of(index[0] - Dim.of(symbol))

    for load in always_loaded(body):
        if load.buffer not in changed and is_contiguous(load.buffer, load.index):
            yield load.buffer, load.index[0], load.dtype, False
    for statement in body:
        if isinstance(statement, Store) and is_contiguous(statement.buffer, statement.index):
            name, index, dtype = statement.buffer, statement.index, statement.value.dtype
            # An array that is updated in place has the same elements before and behind.
            if changed.count(name) == 1 and loaded.get(name, {index}) == {index}:
                if name in loaded:
                    yield name, index[0], dtype, False
                yield name, index[0], dtype, True


@dataclass(frozen=True)
class _Accesses:
    """The packs of an iteration: `of` an element, those that are `loaded`, and those `stored`."""

    of: Mapping[tuple[str, Index], Pack]
    loaded: tuple[Pack, ...]
    stored: tuple[Pack, ...]


def _accesses(
    count: int, symbol: Symbol, first: Symbol, body: tuple[Statement, ...], names: Names
) -> _Accesses:
    """The packs of so many elements that begin where those of `first` do."""
    packs: dict[tuple[str, Index], Pack] = {}
    stored: list[Pack] = []
    loaded: dict[str, Pack] = {}
    for name, index, dtype, is_stored in _contiguous(symbol, body):
        if not _is_aligned(index, symbol, count):
            continue
        if (name, index) not in packs:
            local = Buffer(names.new(f"{name}_pack"), (count,), dtype)
            packs[name, index] = Pack(local, name, _at(index, symbol, first, count), is_stored)
        pack = replace(packs[name, index], is_stored=is_stored)
        if is_stored:
            stored.append(pack)
        else:
            loaded[pack.local.name] = pack
    return _Accesses(packs, tuple(loaded.values()), tuple(stored))


def _is_aligned(index: Index, symbol: Symbol, count: int) -> bool:
    """True if what is added to an index is divisible by the elements of a pack."""
    return all(factor % count == 0 for _, factor in terms_of(index - Dim.of(symbol)))


def _at(index: Index, symbol: Symbol, first: Symbol, count: int) -> Shape:
    return (substitute(index, {symbol: Dim.of(first) * count}),)


def _by_lanes(
    packs: _Accesses, symbol: Symbol, first: Symbol, count: int, body: tuple[Statement, ...],
    names: Names,
) -> Body:  # fmt: skip
    """The body for a pack: its loads, its iterations, its stores."""
    lane = Symbol(names.new("lane"), 0, count)
    whole = Dim.of(first) * count + Dim.of(lane)
    iterations = tuple(
        substitute_index(_in_packs(s, packs.of, Dim.of(lane)), symbol, whole) for s in body
    )
    locals_ = dict.fromkeys(pack.local for pack in packs.of.values())
    made: list[DeviceStatement] = [*map(Registers, locals_), *packs.loaded]
    made.append(Unrolled(For(lane, count, ()), iterations))
    return (*made, *packs.stored)


def _of(
    count: int, loops: Sequence[For], body: tuple[Statement, ...], names: Names
) -> Packed | None:
    """The nest by packs of so many; None if no array has any."""
    inner = loops[-1]
    first = Symbol(names.new(f"{inner.symbol.name}_pack"), 0, inner.extent // count)
    packs = _accesses(count, inner.symbol, first, body, names)
    if not packs.of:
        return None
    made = _by_lanes(packs, inner.symbol, first, count, body, names)
    outer = replace(inner, symbol=first, stop=inner.extent // count, body=body)
    rest_loop = None
    if inner.extent % count != 0:
        start = inner.extent // count * count
        rest_loop = replace(inner, start=start)
    return Packed((*loops[:-1], outer), made, rest_loop)


def _in_packs(
    statement: Statement, packs: Mapping[tuple[str, Index], Pack], turn: Index
) -> Statement:
    """A statement whose elements are those of packs."""

    def pack_of(name: str, index: Shape) -> Pack | None:
        return packs.get((name, index[0])) if len(index) == 1 else None

    def on_expr(expr: Expr) -> Expr:
        pack = pack_of(expr.buffer, expr.index) if isinstance(expr, Load) else None
        return expr if pack is None else replace(expr, buffer=pack.local.name, index=(turn,))

    mapped = map_statement(statement, on_expr)
    if isinstance(mapped, Store):
        pack = pack_of(mapped.buffer, mapped.index)
        if pack is not None:
            return replace(mapped, buffer=pack.local.name, index=(turn,))
    return mapped


# ------------------------------------------------------------------------------------ rows of teams


def rows_by_packs(body: Body, members: int, gpu: Gpu, names: Names) -> Body:
    """The statements of a team, with packs in the loops that it shares: all that are dealt out
    alike, or none, as they have to give a thread the same elements."""
    spreads = [s for s in walk_device(body) if isinstance(s, Spread)]
    rows = {s.buffer.name: s.buffer for s in body if isinstance(s, Registers)}
    counts: dict[_Dealt, int] = {}
    for key in dict.fromkeys(map(_dealt, spreads)):
        alike = [s for s in spreads if _dealt(s) == key]
        count = _pack_of_rows(alike, members, gpu)
        if count > 1:
            counts[key] = count
    if not counts:
        return body
    by_row: dict[str, int] = {}
    for spread in spreads:
        if _dealt(spread) in counts:
            by_row.update(dict.fromkeys(_rows_in(spread, rows), counts[_dealt(spread)]))

    def mapped(statement: DeviceStatement) -> DeviceStatement:
        match statement:
            case Spread() if _dealt(statement) in counts:
                count = counts[_dealt(statement)]
                return _spread_by_packs(statement, count, members, by_row.keys(), names)
            case Together(bodies=bodies):
                return replace(statement, bodies=tuple(tuple(map(mapped, b)) for b in bodies))
            case Registers(buffer=buffer) if buffer.name in by_row:
                count = by_row[buffer.name]
                (turns,) = buffer.shape
                return Registers(replace(buffer, shape=(-(-turns // count), count)))
            case _:
                return statement

    return tuple(map(mapped, body))


_Dealt = tuple[Over, tuple[tuple[Index, Index, Index | None], ...]]


def _dealt(spread: Spread) -> _Dealt:
    return spread.over, tuple((f.start, f.stop, f.limit) for f in spread.loops)


def _rows_in(spread: Spread, rows: Collection[str]) -> set[str]:
    """The arrays in registers that a loop accesses."""
    body = plain(spread.body)
    return {name for s in walk(body) for name, _ in accesses(s) if name in rows}


def _pack_of_rows(spreads: Sequence[Spread], members: int, gpu: Gpu) -> int:
    """The elements of a pack in loops that are dealt out alike; 1 for no packs."""
    loop = spreads[0].loops[0]
    widest = 0
    for spread in spreads:
        if len(spread.loops) > 1 or not spread.turns or loop.start != 0 or loop.limit is not None:
            return 1
        sizes = (dtype.itemsize for _, _, dtype, _ in _contiguous_in(spread))
        widest = max(widest, 1, *sizes)
    if not isinstance(loop.stop, int):
        return 1
    most = gpu.pack_bytes // widest
    for count in (most, most // 2) if widest <= FLOAT16.itemsize else (most,):
        is_long = loop.stop >= gpu.fewest_packs * count * members
        if count > 1 and is_long and loop.stop % count == 0 and _any_aligned(spreads, count):
            return count
    return 1


def _any_aligned(spreads: Sequence[Spread], count: int) -> bool:
    """True if packs of so many elements are aligned in some array."""
    return any(
        _is_aligned(index, s.loops[0].symbol, count)
        for s in spreads
        for _, index, _, _ in _contiguous_in(s)
    )


def _contiguous_in(spread: Spread) -> Iterator[tuple[str, Index, DType, bool]]:
    return _contiguous(spread.loops[0].symbol, plain(spread.body))


def _spread_by_packs(
    spread: Spread, count: int, members: int, rows: Collection[str], names: Names
) -> Spread:
    """A loop of a team whose members have packs by turns."""
    (loop,) = spread.loops
    assert isinstance(loop.stop, int)
    packs = loop.stop // count
    turns = -(-packs // members)
    turn = None
    if spread.turn is not None and turns > 1:
        turn = Symbol(spread.turn.name, 0, turns)
    slot: Index = 0 if turn is None else Dim.of(turn)
    first = Symbol(names.new(f"{loop.symbol.name}_pack"), 0, packs)
    filled: list[Pack] = []
    body: list[Statement] = []
    for statement in plain(spread.body):
        match statement:
            case Store(buffer=row, value=Load(buffer=name, index=(index,), dtype=dtype)) if (
                row in rows
                and loop.symbol not in symbols_of(index - Dim.of(loop.symbol))
                and _is_aligned(index, loop.symbol, count)
            ):
                local = Buffer(row, (count,), dtype)
                at = _at(index, loop.symbol, first, count)
                filled.append(Pack(local, name, at, False, (slot,)))
            case _:
                body.append(statement)
    accesses_ = _accesses(count, loop.symbol, first, tuple(body), names)
    made = _by_lanes(accesses_, loop.symbol, first, count, tuple(body), names)
    made = tuple(_lanes_in_rows(s, rows, slot) if isinstance(s, Unrolled) else s for s in made)
    whole = packs % members == 0
    packed_loop = For(first, packs, ())
    return Spread(
        (packed_loop,), spread.over, (*filled, *made), "", turns, turn, whole, fills=turns > 1
    )


def _lanes_in_rows(lanes: Unrolled, rows: Collection[str], slot: Index) -> Unrolled:
    """The iterations of a pack, with the elements of rows in this slot."""
    place = slot, Dim.of(lanes.loop.symbol)
    return replace(lanes, body=tuple(_in_rows(s, rows, place) for s in plain(lanes.body)))


def _in_rows(statement: Statement, rows: Collection[str], place: Shape) -> Statement:
    """A statement whose elements of rows are at this place."""

    def on_expr(expr: Expr) -> Expr:
        is_own = isinstance(expr, Load) and expr.buffer in rows
        return replace(expr, index=place) if is_own else expr

    def on_store(inner: Statement) -> Statement:
        if isinstance(inner, Store) and inner.buffer in rows:
            return replace(inner, index=place)
        return with_bodies(inner, lambda body: tuple(map(on_store, body)))

    return on_store(map_statement(statement, on_expr))
