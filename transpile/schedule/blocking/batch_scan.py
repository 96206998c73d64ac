"""Tile recurrences over a batch: a block of the batch runs through all iterations, on one thread.

A recurrent network multiplies a batch by weights in each iteration. One product is too small for
threads, and the next one depends on it; but the rows of the batch are independent. The loop over
blocks of rows is strip-mined out of every statement and interchanged with the user's loop:

    for i: call matmul(16 rows); for j in 0..16: ...
    for block in 0..2: for i: call matmul_rows(8 rows); for j in 8*block..8*block + 8: ...

Threads synchronise once, after all iterations, and carries stay in the cache of a core. Of a
runtime size the last block may have fewer rows than the others. Every
statement must be a product by a loop-invariant matrix, or a nest over the rows, and a buffer that
the loop writes must be accessed in the row of the iteration alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from transpile.analysis.cost_model import trips
from transpile.intrinsics.products import Matmul, MatmulRows
from transpile.ir.calls import Call, Strided
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, OF_TEMPORARIES, OWN_SHAPES
from transpile.ir.dims import Dim, Index, Shape, Symbol
from transpile.ir.indices.estimates import estimate, is_of_sizes
from transpile.ir.indices.row_major import blocks_of, limit_of_blocks, product
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    For,
    IndexValue,
    Literal,
    Load,
    Program,
    Statement,
)
from transpile.ir.loop_rewrite import (
    accesses,
    is_independent,
    map_sequences,
    names_in,
    used_buffers,
    walk,
    written,
)
from transpile.ir.types import INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace

Body = tuple[Statement, ...]


# The rows of a batch are found by the axes of buffers.
@contract(requires=(OWN_SHAPES, NO_LANES), destroys=(*OF_LOOPS, *OF_TEMPORARIES))
def tile_batched_scans(program: Program, options: Options) -> Program:
    """The program with such loops inside loops over blocks of rows; unchanged with a BLAS, which
    has no products of blocks."""
    if options.blas != "none" or not options.threaded:
        return program
    tiler = _Tiler(program.buffers(), Names(names_in(program)), options.machine)
    kernels = tuple(
        k if k.shapes else replace(k, body=map_sequences(k.body, tiler.changed))
        for k in program.kernels
    )
    if not tiler.scratch:
        return program
    used = {name for kernel in kernels for name in used_buffers(kernel)[0]}
    gone = tiler.scratch - used
    left = tuple(b for b in program.temporaries if b.name not in gone)
    return replace(program, kernels=kernels, temporaries=left)


class _Tiler:
    """Tiles the loops of a program; `scratch` are workspaces of products that become unused."""

    def __init__(self, buffers: Mapping[str, Buffer], names: Names, machine: Machine) -> None:
        self.buffers = buffers
        self.names = names
        self.machine = machine
        self.scratch: set[str] = set()

    def changed(self, body: Body) -> Body:
        """The statements of a sequence with its batched recurrences tiled."""
        return tuple(self._changed(s) for s in body)

    def _changed(self, statement: Statement) -> Statement:
        if not isinstance(statement, For) or not statement.ordered:
            return statement
        scan = _as_batched_scan(statement, self.buffers, self.machine)
        rows = 0 if scan is None else _rows(scan, self.machine)
        if scan is None or rows == 0:
            return statement
        self.scratch |= {p.call.workspace.buffer for p in scan.products}
        block = Symbol(self.names.new("block"), 0, blocks_of(scan.rows, rows))
        first = Dim.of(block) * rows
        limit = limit_of_blocks(scan.rows, scan.rows, rows)
        count: Index = rows
        counted: Body = ()
        if limit is not None:
            here = Symbol(self.names.new("rows"), 1, rows + 1)
            least = Apply("minimum", (IndexValue(limit - first), Literal(rows, INT64)), INT64)
            counted = (Declare(here.name, least, symbol=here),)
            count = Dim.of(here)
        parts = {id(p.call): p for p in scan.products}
        body = tuple(
            replace(s, start=first, stop=first + rows, limit=limit)
            if isinstance(s, For)
            else parts[id(s)].some(first, count)
            for s in statement.body
        )
        inside = (*counted, replace(statement, body=body))
        return For(block, block.extent or 0, inside, parallel=True)


@dataclass(frozen=True, eq=False)
class _Product:
    """A product in such a loop: its call, and the axes of the left operand and of the result that
    are the rows."""

    call: Matmul
    left_axis: int
    out_axis: int

    def some(self, first: Index, rows: Index) -> MatmulRows:
        """The call for a block of rows."""
        a, b, c = self.call.a, self.call.b, self.call.c
        left, out = _moved(a, self.left_axis, first), _moved(c, self.out_axis, first)
        return MatmulRows(rows, self.call.n, self.call.k, left, b, out)


@dataclass(frozen=True, eq=False)
class _BatchedScan:
    """A user loop over statements that all run over the same number of independent rows."""

    loop: For
    rows: Index
    products: Sequence[_Product]


def _moved(array: Strided, axis: int, first: Index) -> Strided:
    """The array from a row on; `axis` is that of its buffer that rows run along."""
    index = tuple(i + first if a == axis else i for a, i in enumerate(array.first.index))
    return replace(array, first=replace(array.first, index=index))


def _rows(scan: _BatchedScan, machine: Machine) -> int:
    """The rows of a block; 0 if blocks do not pay."""
    calls = [p.call for p in scan.products]
    flops = sum(estimate(call.flops) for call in calls)
    right = sum(estimate(call.n * call.k) * call.b.dtype.itemsize for call in calls)
    if flops * trips(scan.loop) < machine.least_scan_flops or right > machine.scan_operand_bytes:
        return 0
    if not isinstance(scan.rows, int):
        return machine.product_tile_rows
    divisors = [d for d in range(machine.fewest_scan_rows, scan.rows) if scan.rows % d == 0]
    tiles = [d for d in divisors if d % machine.product_tile_rows == 0]
    many = [d for d in tiles if scan.rows // d >= machine.enough_blocks]
    rows = max(many, default=min(tiles, default=max(divisors, default=0)))
    fewest = machine.fewest_shared_blocks
    if rows == 0 or (scan.rows // rows < fewest and flops > machine.most_flops_alone):
        return 0
    return rows


# ------------------------------------------------------------------------------- recognition


def _as_batched_scan(
    loop: For, buffers: Mapping[str, Buffer], machine: Machine
) -> _BatchedScan | None:
    """The loop as a batched recurrence: all statements are products or nests over the rows, and
    none accesses another row of what the loop writes; else None."""
    calls = [s for s in loop.body if isinstance(s, Matmul)]
    nests = [s for s in loop.body if isinstance(s, For)]
    if not calls or len(calls) + len(nests) != len(loop.body):
        return None
    rows = calls[0].m
    if not is_of_sizes(rows):
        return None
    if not all(_is_over_rows(nest, rows) for nest in nests):
        return None
    scratch = {call.workspace.buffer for call in calls}
    changing = {n for s in loop.body for n in _changed_by(s)} - scratch
    if any(name not in buffers for name in changing):
        return None
    candidates = [_as_product(call, rows, changing, buffers, machine) for call in calls]
    products = [p for p in candidates if p is not None]
    if len(products) < len(calls):
        return None
    for name in sorted(changing):
        axes = set(range(len(buffers[name].shape)))
        axes.intersection_update(*_row_axes(name, nests, products))
        if not axes:
            return None
    return _BatchedScan(loop, rows, products)


def _is_over_rows(nest: For, rows: Index) -> bool:
    bounds = (nest.start, nest.stop, nest.limit)
    if bounds != (0, rows, None) or nest.ordered or not is_independent(nest):
        return False
    return not any(isinstance(s, Call) for s in walk(nest.body))


def _changed_by(statement: Statement) -> set[str]:
    """The buffers that a statement writes, without local arrays inside it."""
    inside = list(walk((statement,)))
    local = {s.buffer.name for s in inside if isinstance(s, Alloc)}
    return {name for s in inside for name in written(s)} - local


def _as_product(
    call: Matmul, rows: Index, changing: set[str], buffers: Mapping[str, Buffer], machine: Machine
) -> _Product | None:
    """The call as a product of these rows by a loop-invariant matrix with contiguous rows; else
    None."""
    a, b, c = call.a, call.b, call.c
    (_, a_column), (b_row, b_column) = a.strides, b.strides
    if call.m != rows or b.buffer in changing or c.buffer == a.buffer:
        return None
    if not isinstance(call.n, int) or not isinstance(call.k, int):
        return None
    if call.n % machine.lanes or b_column != 1 or b_row == 0:
        return None
    left, out = (_row_axis(array, rows, buffers) for array in (a, c))
    if left is None or out is None or not _is_inside(c.first, out, call.n, buffers):
        return None
    is_own_row = a_column == 1 and _is_inside(a.first, left, call.k, buffers)
    if a.buffer in changing and not is_own_row:
        return None
    return _Product(call, left, out)


def _row_axis(array: Strided, rows: Index, buffers: Mapping[str, Buffer]) -> int | None:
    """The axis of a buffer that is all rows of an array; None if there is none."""
    shape, index = buffers[array.buffer].shape, array.first.index
    row, _ = array.strides
    for axis, extent in enumerate(shape):
        if extent == rows and index[axis] == 0 and product(shape[axis + 1 :]) == row:
            return axis
    return None


def _is_inside(start: Load, axis: int, count: int, buffers: Mapping[str, Buffer]) -> bool:
    """True if `count` elements from an address stay in one row."""
    shape: Shape = buffers[start.buffer].shape
    size = product(shape[axis + 1 :])
    is_first = all(i == 0 for i in start.index[axis + 1 :])
    return is_first and isinstance(size, int) and count <= size


def _row_axes(name: str, nests: Sequence[For], products: Sequence[_Product]) -> Iterator[set[int]]:
    """For each access to a buffer the axes that could be its row axis."""
    for nest in nests:
        row = Dim.of(nest.symbol)
        for statement in walk((nest,)):
            for buffer, index in accesses(statement):
                if buffer == name:
                    yield {axis for axis, i in enumerate(index) if i == row}
    for part in products:
        for array, axis in ((part.call.a, part.left_axis), (part.call.c, part.out_axis)):
            if array.buffer == name:
                yield {axis}
