"""Iterations that share elements in two directions: transposes, and neighbours in other rows.

A transpose goes through shared memory: a block has a square of iterations.

    for i: for j: out[i][j] = f(x[j][i])

Neighbouring threads load neighbours of `x` along i, put them into a tile, and take them from there
along j, in which order they store. A row of the tile is one element longer than it has to be: so
the elements of a column are in different banks.

Where an iteration reads elements that the next iteration of the second innermost loop reads, too,
as in a stencil, a thread has several of these, and the elements in registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from transpile.errors import InternalError
from transpile.ir.dims import Dim, Index, Symbol, substitute, symbols_of
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import blocks_of, product, step_of
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    DType,
    Expr,
    For,
    If,
    Load,
    Statement,
    Store,
    Update,
    While,
    Within,
)
from transpile.ir.loop_rewrite import (
    declared_names,
    loads,
    map_statement,
    substitute_index,
    walk,
    written,
)
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import (
    Body,
    DeviceStatement,
    Over,
    Pack,
    Registers,
    Shared,
    Spread,
    Team,
    Together,
    Unrolled,
)
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.mapping.members import Members, dealt_out
from transpile.targets.cuda.mapping.registers import always_loaded
from transpile.util.frozen_records import dataclass, replace

# An access that goes so many elements further with each iteration touches memory for each anew.
_FAR = 8
_ELEMENTS_OF_THREAD = 16


@dataclass(frozen=True)
class Tiled:
    """A nest of tiles: its loops, of which a block has one iteration, and what it does."""

    loops: tuple[For, ...]
    arrays: Body
    body: Body
    members: Members


def tiled(
    loops: Sequence[For], body: tuple[Statement, ...], gpu: Gpu, names: Names
) -> Tiled | None:
    """The nest by tiles; None where nothing is transposed."""
    if any(isinstance(s, For | While | Alloc) for s in walk(body)):
        return None
    if estimate(product(f.extent for f in loops)) < gpu.enough_iterations:
        return None
    for along in reversed(loops[:-1]):
        moved = list(dict.fromkeys(_transposed(along.symbol, loops[-1].symbol, body)))
        if moved and along.limit is None and loops[-1].limit is None:
            size = _size(moved, gpu)
            return None if size is None else _of(loops, along, body, moved, size, names, gpu)
    return None


def _transposed(
    along: Symbol, inner: Symbol, body: tuple[Statement, ...]
) -> Iterator[tuple[str, Index, DType]]:
    """The elements that every iteration loads whose neighbours are those of another loop."""
    changed = {name for s in walk(body) for name in written(s)}
    own = declared_names(body)
    for load in always_loaded(body):
        if load.buffer in changed or load.buffer in own or len(load.index) != 1:
            continue
        (index,) = load.index
        if any(s.name in own for s in symbols_of(index)):
            continue
        if _stride(index, along) == 1 and _is_far(_stride(index, inner)):
            yield load.buffer, index, load.dtype


def _stride(index: Index, symbol: Symbol) -> Index:
    """How much further the next iteration of a loop goes; 0 where that differs."""
    stride = step_of(index, symbol)
    return 0 if symbol in symbols_of(stride) else stride


def _is_far(stride: Index) -> bool:
    return stride != 0 and (not isinstance(stride, int) or abs(stride) >= _FAR)


def _size(moved: Sequence[tuple[str, Index, DType]], gpu: Gpu) -> int | None:
    """The side of a tile, so that there is shared memory for all."""
    for size in (gpu.tile, gpu.tile // 2):
        if sum(size * (size + 1) * dtype.itemsize for _, _, dtype in moved) <= gpu.shared_bytes:
            return size
    return None


def _of(
    loops: Sequence[For], along: For, body: tuple[Statement, ...],
    moved: Sequence[tuple[str, Index, DType]], size: int, names: Names, gpu: Gpu,
) -> Tiled:  # fmt: skip
    inner = loops[-1]
    members = Members(Team.BLOCK, max(gpu.block // 2, size * size // _ELEMENTS_OF_THREAD))
    ends = {f.symbol: f for f in (along, inner)}
    tile = {
        s: Symbol(names.new(f"{s.name}_tile"), 0, blocks_of(f.extent, size))
        for s, f in ends.items()
    }
    inside = {s: Symbol(names.new(f"{s.name}_inside"), 0, size) for s in ends}
    whole = {s: Dim.of(tile[s]) * size + Dim.of(inside[s]) + f.start for s, f in ends.items()}

    def at_place(statement: Statement) -> Statement:
        for symbol, index in whole.items():
            statement = substitute_index(statement, symbol, index)
        return statement

    def in_range(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        for symbol, loop in ends.items():
            if loop.extent % size != 0:
                test = Within(whole[symbol], loop.start, loop.stop)
                statements = (If(test, statements),)
        return statements

    def spread(first: Symbol, second: Symbol, statements: tuple[Statement, ...]) -> Spread:
        own = (For(inside[first], size, ()), For(inside[second], size, ()))
        return dealt_out(
            own, Over.BLOCK_THREADS, in_range(statements), names.new("item"), members.count, names,
            gpu.most_turns,
        )  # fmt: skip

    place = (Dim.of(inside[inner.symbol]) * (size + 1) + Dim.of(inside[along.symbol]),)
    arrays: list[DeviceStatement] = []
    fill: list[Statement] = []
    of_load: dict[tuple[str, Index], Load] = {}
    for name, index, dtype in moved:
        buffer = Buffer(names.new(f"{name}_tile"), (size * (size + 1),), dtype)
        arrays.append(Shared(buffer, Team.BLOCK, 1))
        of_load[name, index] = Load(buffer.name, place, dtype)
        fill.append(at_place(Store(buffer.name, place, Load(name, (index,), dtype))))
    use = tuple(at_place(_from_tiles(s, of_load)) for s in body)
    outer = tuple(
        For(tile[f.symbol], blocks_of(f.extent, size), ()) if f.symbol in ends else f for f in loops
    )
    outer = tuple(replace(f, body=()) for f in outer)
    made = (
        spread(inner.symbol, along.symbol, tuple(fill)),
        spread(along.symbol, inner.symbol, use),
    )
    return Tiled(outer, tuple(arrays), made, members)


def _from_tiles(statement: Statement, of_load: Mapping[tuple[str, Index], Load]) -> Statement:
    def on_expr(expr: Expr) -> Expr:
        if not isinstance(expr, Load) or len(expr.index) != 1:
            return expr
        return of_load.get((expr.buffer, expr.index[0]), expr)

    return map_statement(statement, on_expr)


# --------------------------------------------------------------------------------- rows of threads

_ROWS_APART = 4


def jammed(
    loops: tuple[For, ...], body: Body, original: tuple[Statement, ...], gpu: Gpu, names: Names
) -> tuple[tuple[For, ...], Body]:
    """The nest with several rows for a thread, where an iteration reads elements of the next row's;
    else as it is. `original` is the body as statements, of which the sharing is seen."""
    if len(loops) < 2 or not _shares_rows(loops[-2].symbol, original):
        return loops, body
    rows, count = loops[-2], gpu.rows_of_thread
    total = product(f.extent for f in loops)
    is_enough = isinstance(total, int) and total >= count * gpu.enough_threads
    if count < 2 or not is_enough or rows.limit is not None or not isinstance(rows.extent, int):
        return loops, body
    outer = Symbol(names.new(f"{rows.symbol.name}_rows"), 0, -(-rows.extent // count))
    row = Symbol(names.new("row"), 0, count)
    index = Dim.of(outer) * count + Dim.of(row) + rows.start
    made = tuple(_with_index(s, rows.symbol, index) for s in body)
    if rows.extent % count:
        made = (Together(If(Within(index, rows.start, rows.stop), ()), (made, ())),)
    blocks = replace(rows, symbol=outer, start=0, stop=-(-rows.extent // count), body=())
    return (*loops[:-2], blocks, loops[-1]), (Unrolled(For(row, count, ()), made),)


def _shares_rows(symbol: Symbol, body: tuple[Statement, ...]) -> bool:
    """True if an iteration reads an element that a later one of this loop reads."""
    of_buffer: dict[str, list[Index]] = {}
    for load in (load for s in walk(body) for load in loads(s) if len(load.index) == 1):
        of_buffer.setdefault(load.buffer, []).append(load.index[0])
    for every in of_buffer.values():
        stride = _stride(every[0], symbol)
        if not isinstance(stride, int) or stride == 0:
            continue
        apart = {b - a for a, b in combinations(dict.fromkeys(every), 2)}
        rows = {abs(d // stride) for d in apart if isinstance(d, int) and d % stride == 0}
        if rows & set(range(1, _ROWS_APART + 1)):
            return True
    return False


def _with_index(statement: DeviceStatement, symbol: Symbol, index: Index) -> DeviceStatement:
    """A statement of a thread with a loop's symbol replaced."""
    match statement:
        case Pack():
            at = tuple(substitute(i, {symbol: index}) for i in statement.index)
            return replace(statement, index=at)
        case Unrolled(body=body):
            return replace(statement, body=tuple(_with_index(s, symbol, index) for s in body))
        case Registers():
            return statement
        case For() | While() | If() | Declare() | Update() | Store() | Alloc():
            return substitute_index(statement, symbol, index)
        case _:
            raise InternalError(f"{statement} is not of a thread")
