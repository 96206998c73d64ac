"""Tile loop nests that access one array along rows and another along columns.

A column-wise access to a row-major array loads a cache line, and often a page, per element. Within
a tile those lines are reused by the next rows (Wolf and Lam, A data locality optimizing algorithm,
1991):

    for i: for j: out[i, j] = x[i, j] + y[j, i]
    for i_tile: for j_tile: transpose y's tile; for i in tile: for j in tile: out[i, j] = ...

A read-only array of elements of 4 or 8 bytes is first transposed into a local array, in vector
registers. Both loops must be independent, with constant extents of several tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.analysis.cost_model import trips
from transpile.intrinsics.tiles import TransposeTile
from transpile.ir.calls import Call, Strided
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import COALESCED, NO_LANES, OF_LOOPS, STACK_BOUNDED
from transpile.ir.dims import Dim, Index, Shape, Symbol, is_within, substitute, symbols_of
from transpile.ir.indices.row_major import blocks_of, product
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Program,
    Statement,
)
from transpile.ir.loop_rewrite import (
    accesses,
    is_independent,
    loads,
    map_kernels,
    map_statement,
    names_in,
    seen_by,
    walk,
    with_bodies,
    written,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.outer.column_reductions import last_axis_stride
from transpile.schedule.strip_mine import block_of
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, replace, same


# A nest that may be one long loop reads memory in order, and needs no tiles.
@contract(requires=(NO_LANES, COALESCED), destroys=(*OF_LOOPS, STACK_BOUNDED))
def tile(program: Program, options: Options) -> Program:
    """The program with such nests tiled."""
    machine = options.machine
    names = Names(names_in(program))

    def tiled(kernel: Kernel) -> Kernel:
        buffers = seen_by(program, kernel)
        body = tuple(_statement(s, names, buffers, machine) for s in kernel.body)
        return changed(kernel, body=same(kernel.body, body))

    return map_kernels(program, tiled)


def _statement(
    statement: Statement, names: Names, buffers: Mapping[str, Buffer], machine: Machine
) -> Statement:
    if isinstance(statement, For) and not statement.ordered and len(statement.body) == 1:
        (inner,) = statement.body
        if isinstance(inner, For) and _has_mixed_orders(statement, inner, machine):
            return _tiled(statement, inner, names.inner(), buffers, machine)
    return with_bodies(
        statement, lambda body: tuple(_statement(s, names, buffers, machine) for s in body)
    )


def _has_mixed_orders(outer: For, inner: For, machine: Machine) -> bool:
    """True if the nest may be tiled and accesses matrices contiguously along either of its
    loops."""
    for loop in (outer, inner):
        if loop.start != 0 or loop.limit is not None:
            return False
        if trips(loop) < machine.tile * machine.fewest_tiles or not is_independent(loop):
            return False
    if any(isinstance(s, For | If | Call | Alloc) for s in walk(inner.body)):
        return False
    indices = [i for s in inner.body for _, i in accesses(s) if i]
    along_outer = any(  # an operand without the inner symbol is a vector, not a matrix
        last_axis_stride(i, outer.symbol) == 1
        and any(inner.symbol in symbols_of(part) for part in i)
        for i in indices
    )
    along_inner = any(last_axis_stride(i, inner.symbol) == 1 for i in indices)
    return along_outer and along_inner


def _tiled(
    outer: For, inner: For, names: Names, buffers: Mapping[str, Buffer], machine: Machine
) -> For:
    """The nest over tiles; each begins with the transposes of what the inner loop reads along
    columns."""
    transposed = list(_transposed(outer, inner, buffers, machine))
    side = min(
        (machine.transposed_row_bytes // load.dtype.itemsize for load in transposed),
        default=machine.tile,
    )
    rows, columns = _tile_symbol(outer, names, side), _tile_symbol(inner, names, side)
    corner = {outer.symbol: Dim.of(rows) * side, inner.symbol: Dim.of(columns) * side}
    fills: list[Statement] = []
    for load in transposed:
        buffer = buffers[load.buffer]
        local = Buffer(names.new(f"{load.buffer}_tile"), (side, side), load.dtype)
        fills += [Alloc(local), _fill(local, load, buffer.shape, (outer, inner), corner, side)]
        index = tuple(Dim.of(loop.symbol) - corner[loop.symbol] for loop in (outer, inner))
        inner = replace(
            inner, body=tuple(_with_local(s, load, local.name, index) for s in inner.body)
        )
    body = _window(inner, corner[inner.symbol], side, inner.body)
    body = _window(outer, corner[outer.symbol], side, (body,))
    across = For(columns, columns.extent or 0, (*fills, body))
    return For(rows, rows.extent or 0, (across,))


def _tile_symbol(loop: For, names: Names, side: int) -> Symbol:
    return Symbol(names.new(f"{loop.symbol.name}_tile"), 0, blocks_of(loop.stop, side))


def _window(loop: For, first: Index, side: int, body: tuple[Statement, ...]) -> For:
    """The iterations of a loop within a tile."""
    return replace(block_of(loop, first, side), body=body)


# --------------------------------------------------------------------------- transposed arrays


def _transposed(
    outer: For, inner: For, buffers: Mapping[str, Buffer], machine: Machine
) -> Iterator[Load]:
    """The loads along columns of arrays that the nest does not write, in bounds for whole tiles."""
    changed = {name for s in inner.body for name in written(s)}
    candidates = {
        load: None
        for s in inner.body
        for load in loads(s)
        if load.buffer in buffers
        and load.buffer not in changed
        and load.dtype.itemsize in (4, 8)
        and load.dtype.kind != "c"
        and _axis(load, outer, inner) is not None
        and all(map(is_within, load.index, buffers[load.buffer].shape))
    }
    is_one_size = len({load.dtype.itemsize for load in candidates}) <= 1
    if is_one_size and len(candidates) <= machine.most_transposed:
        yield from candidates


def _axis(load: Load, outer: For, inner: For) -> int | None:
    """The axis that the inner loop runs along, if the outer one runs along the last axis, both with
    stride one; else None."""
    declared = {s.symbol for s in inner.body if isinstance(s, Declare)}
    rests = []
    for number, index in enumerate(load.index):
        own = outer.symbol if number == len(load.index) - 1 else inner.symbol
        here = own in symbols_of(index)
        rest = index - Dim.of(own) if here else index
        rests.append((here, symbols_of(rest)))
    for _, symbols in rests:
        if not symbols.isdisjoint({outer.symbol, inner.symbol, *declared}):
            return None
    axes = [number for number, (here, _) in enumerate(rests) if here]
    return axes[0] if len(axes) == 2 and axes[1] == len(rests) - 1 else None


def _row(load: Load, outer: For, inner: For, buffers: Mapping[str, Buffer]) -> Index:
    """The stride, in elements, of the inner loop's accesses."""
    axis = _axis(load, outer, inner)
    assert axis is not None
    return product(buffers[load.buffer].shape[axis + 1 :])


def _fill(
    local: Buffer,
    load: Load,
    shape: Shape,
    loops: tuple[For, For],
    corner: Mapping[Symbol, Index],
    side: int,
) -> TransposeTile:
    """The call that transposes a tile into a local array."""
    outer, inner = loops
    axis = _axis(load, outer, inner)
    assert axis is not None
    first = Load(load.buffer, tuple(substitute(i, corner) for i in load.index), load.dtype)
    rows, columns = (loop.stop - corner[loop.symbol] for loop in (inner, outer))
    return TransposeTile(
        side,
        rows,
        columns,
        Strided(first, (product(shape[axis + 1 :]), 1)),
        Strided(Load(local.name, (0, 0), load.dtype), (side, 1)),
    )


def _with_local(statement: Statement, load: Load, local: str, index: Shape) -> Statement:
    """The statement with a load replaced by one from the local array."""

    def on_expr(expr: Expr) -> Expr:
        return replace(expr, buffer=local, index=index) if expr == load else expr

    return map_statement(statement, on_expr)
