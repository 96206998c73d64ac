"""Row loops: a loop of the user's whose steps treat each row of its arrays by itself goes through
all its steps for some of the rows, while threads share the rows out.

A recurrent network multiplies a batch by weights in each step. The product of one step is too small
for threads, and the next step has to wait for it; but no sequence of the batch depends on another
one:

    for i: call matmul(16 rows); for j in 0..16: ...
    for block in 0..2: for i: call matmul_rows(8 rows); for j in 8*block..8*block + 8: ...

So threads meet once, after all steps, and what a step leaves stays in the cache of its thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from transpile.analysis.cost_model import trips
from transpile.intrinsics.products import Matmul, MatmulRows
from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Dim, Index, Shape, Symbol, product
from transpile.ir.loop_ir import Alloc, Buffer, For, Load, Program, Statement
from transpile.ir.loop_rewrite import (
    accesses,
    is_independent,
    map_sequences,
    names_in,
    used_buffers,
    walk,
    written,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace

Body = tuple[Statement, ...]


def tile_batched_scans(program: Program, options: Options) -> Program:
    """The program with such loops inside loops over blocks of rows. A BLAS makes whole products."""
    if options.blas != "none" or not options.threaded:
        return program
    work = _Loops(program.buffers(), Names(names_in(program)), options.machine)
    kernels = tuple(
        k if k.shapes else replace(k, body=map_sequences(k.body, work.changed))
        for k in program.kernels
    )
    if not work.scratch:
        return program
    used = {name for kernel in kernels for name in used_buffers(kernel)[0]}
    gone = work.scratch - used
    left = tuple(b for b in program.temporaries if b.name not in gone)
    return replace(program, kernels=kernels, temporaries=left)


class _Loops:
    """The loops of a program; `scratch` are buffers that products of rows do without."""

    def __init__(self, buffers: Mapping[str, Buffer], names: Names, machine: Machine) -> None:
        self.buffers = buffers
        self.names = names
        self.machine = machine
        self.scratch: set[str] = set()

    def changed(self, body: Body) -> Body:
        """The statements of one sequence, with its loops over rows put inside loops over blocks."""
        return tuple(self._changed(s) for s in body)

    def _changed(self, statement: Statement) -> Statement:
        if not isinstance(statement, For) or not statement.ordered:
            return statement
        found = _as_row_loop(statement, self.buffers, self.machine)
        rows = 0 if found is None else _rows(found, self.machine)
        if found is None or rows == 0:
            return statement
        self.scratch |= {p.call.workspace.buffer for p in found.products}
        block = Symbol(self.names.new("block"), 0, found.rows // rows)
        first = Dim.of(block) * rows
        parts = {id(p.call): p for p in found.products}
        body = tuple(
            _some_rows(s, first, rows) if isinstance(s, For) else parts[id(s)].some(first, rows)
            for s in statement.body
        )
        return For(block, block.extent or 0, (replace(statement, body=body),), parallel=True)


@dataclass(frozen=True, eq=False)
class _Product:
    """A product in a loop over steps: its call, and which axes of the left operand and the result
    its rows go along."""

    call: Matmul
    left_axis: int
    out_axis: int

    def some(self, first: Index, rows: int) -> MatmulRows:
        """The call for some of the rows."""
        a, b, c = self.call.a, self.call.b, self.call.c
        left, out = _moved(a, self.left_axis, first), _moved(c, self.out_axis, first)
        return MatmulRows(rows, self.call.n, self.call.k, left, b, out)


@dataclass(frozen=True, eq=False)
class _RowLoop:
    """A loop over steps each of which goes over the same number of rows."""

    loop: For
    rows: int
    products: Sequence[_Product]


def _moved(array: Strided, axis: int, first: Index) -> Strided:
    """An array from another one of its rows on, which go along an axis of its buffer."""
    index = tuple(i + first if a == axis else i for a, i in enumerate(array.first.index))
    return replace(array, first=replace(array.first, index=index))


def _some_rows(nest: For, first: Index, rows: int) -> For:
    return replace(nest, start=first, stop=first + rows)


def _rows(found: _RowLoop, machine: Machine) -> int:
    """The rows of a block; 0 where blocks do not pay."""
    calls = [p.call for p in found.products]
    flops = sum(call.flops for call in calls)
    right = sum(call.n * call.k * call.b.dtype.itemsize for call in calls)
    if flops * trips(found.loop) < machine.least_scan_flops or right > machine.scan_operand_bytes:
        return 0
    divisors = [d for d in range(machine.fewest_scan_rows, found.rows) if found.rows % d == 0]
    tiles = [d for d in divisors if d % machine.product_tile_rows == 0]
    many = [d for d in tiles if found.rows // d >= machine.enough_blocks]
    rows = max(many, default=min(tiles, default=max(divisors, default=0)))
    fewest = machine.fewest_shared_blocks
    if rows == 0 or (found.rows // rows < fewest and flops > machine.most_flops_alone):
        return 0
    return rows


# --------------------------------------------------------------------------- what such a loop is


def _as_row_loop(loop: For, buffers: Mapping[str, Buffer], machine: Machine) -> _RowLoop | None:
    """A loop as one over steps and rows: each statement is a product or a nest over the rows, which
    touches of what the loop changes only its own row."""
    calls = [s for s in loop.body if isinstance(s, Matmul)]
    nests = [s for s in loop.body if isinstance(s, For)]
    if not calls or len(calls) + len(nests) != len(loop.body):
        return None
    rows = calls[0].m
    if not all(_is_over_rows(nest, rows) for nest in nests):
        return None
    scratch = {call.workspace.buffer for call in calls}
    changing = {n for s in loop.body for n in _changed_by(s)} - scratch
    if any(name not in buffers for name in changing):
        return None
    products = [_as_product(call, rows, changing, buffers, machine) for call in calls]
    found = [p for p in products if p is not None]
    if len(found) < len(calls):
        return None
    for name in sorted(changing):
        axes = set(range(len(buffers[name].shape)))
        axes.intersection_update(*_row_axes(name, nests, found))
        if not axes:
            return None
    return _RowLoop(loop, rows, found)


def _is_over_rows(nest: For, rows: int) -> bool:
    bounds = (nest.start, nest.stop, nest.limit)
    if bounds != (0, rows, None) or nest.ordered or not is_independent(nest):
        return False
    return not any(isinstance(s, Call) for s in walk(nest.body))


def _changed_by(statement: Statement) -> set[str]:
    """The buffers that a statement changes, apart from local arrays inside it."""
    inside = list(walk((statement,)))
    local = {s.buffer.name for s in inside if isinstance(s, Alloc)}
    return {name for s in inside for name in written(s)} - local


def _as_product(
    call: Matmul, rows: int, changing: set[str], buffers: Mapping[str, Buffer], machine: Machine
) -> _Product | None:
    """A call of a product as one of as many rows by a matrix that stays the same and whose rows are
    read where they are."""
    a, b, c = call.a, call.b, call.c
    (_, a_column), (b_row, b_column) = a.strides, b.strides
    if call.m != rows or b.buffer in changing or c.buffer == a.buffer:
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


def _row_axis(array: Strided, rows: int, buffers: Mapping[str, Buffer]) -> int | None:
    """The axis of a buffer that the rows of an array go along, all of it."""
    shape, index = buffers[array.buffer].shape, array.first.index
    row, _ = array.strides
    for axis, extent in enumerate(shape):
        if extent == rows and index[axis] == 0 and product(shape[axis + 1 :]) == row:
            return axis
    return None


def _is_inside(start: Load, axis: int, count: int, buffers: Mapping[str, Buffer]) -> bool:
    """Tell whether as many elements as this, from the first one of a row on, are in that row."""
    shape: Shape = buffers[start.buffer].shape
    size = product(shape[axis + 1 :])
    is_first = all(i == 0 for i in start.index[axis + 1 :])
    return is_first and isinstance(size, int) and count <= size


def _row_axes(name: str, nests: Sequence[For], products: Sequence[_Product]) -> Iterator[set[int]]:
    """For each use of a buffer the axes along which the rows of that use may go."""
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
