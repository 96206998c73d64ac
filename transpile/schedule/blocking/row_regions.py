"""Recognise kernels that compute row by row: matrix products and loop nests over leading axes.

Rows run along the axes of a buffer longer than one: `lead` are the extents of the first of them,
and the other axes make a row. Kernels over the same rows can be fused if each keeps to the rows of
its iteration (`keeps_rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from transpile.intrinsics.products import Matmul, MatmulBatch
from transpile.ir.calls import Call
from transpile.ir.dims import Dim, Index, Shape, Symbol, floor_divide, substitute
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.requirements import may_be_0
from transpile.ir.indices.row_major import product, row_major, unravel
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Statement,
)
from transpile.ir.loop_rewrite import accesses, is_independent, walk
from transpile.ir.types import INT64
from transpile.machine import Machine
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace

Lead = Shape
Buffers = Mapping[str, Buffer]


def long_axes(shape: Shape) -> tuple[int, ...]:
    """The axes of a shape that are longer than one."""
    return tuple(a for a, extent in enumerate(shape) if extent != 1)


def has_rows(shape: Shape, lead: Lead) -> bool:
    """True if `lead` are the first extents of a shape, apart from extents of one."""
    return tuple(shape[a] for a in long_axes(shape)[: len(lead)]) == lead


def row_shape(shape: Shape, lead: Lead) -> Shape:
    """The extents of a row."""
    return tuple(shape[a] for a in long_axes(shape)[len(lead) :])


@dataclass(frozen=True, eq=False)
class RowProduct:
    """A product whose result has rows along the axes `lead`; the first `stack` of them are batch
    axes.

    call       the products inside the loops over `symbols`, which are those of the first batch axes
    a_strides  the strides of the left operand along `lead`, b_strides of the right one along the
               batch axes, apart from what the symbols contribute
    """

    kernel: Kernel
    call: MatmulBatch
    lead: Lead
    stack: int
    symbols: tuple[Symbol, ...]
    a_strides: tuple[Index, ...]
    b_strides: tuple[Index, ...]

    @property
    def flops(self) -> int:
        """Additions and multiplications."""
        return estimate(2 * product(self.lead) * self.call.n * self.call.k)

    @property
    def scratch(self) -> str:
        """The buffer of its workspace."""
        return self.call.workspace.buffer

    def keeps_rows(self, name: str, buffers: Buffers) -> bool:
        """True if the call accesses, for each row, exactly that row of a buffer."""
        a, b, c = self.call.a, self.call.b, self.call.c
        if name in (b.buffer, self.scratch):
            return False
        if name == c.buffer:
            return name != a.buffer
        shape = buffers[name].shape
        strides = _strides(self.lead, self.call.k)
        depth = len(self.symbols)
        _, _, a_column = a.strides
        is_dense = product(row_shape(shape, self.lead)) == self.call.k and a_column == 1
        begin = row_major(a.first.index, shape)
        return (
            is_dense
            and begin == _offset(map(Dim.of, self.symbols), strides)
            and self.a_strides == ((0,) * depth + strides[depth:])
        )

    def left(self, index: Sequence[Index], buffers: Buffers) -> Load:
        """The address of a row of the left operand."""
        return self._moved(self.call.a.first, self.a_strides, index, buffers)

    def right(self, loops: Sequence[Symbol], buffers: Buffers) -> Load:
        """The address of the right operand, inside loops over the batch axes."""
        return self._moved(self.call.b.first, self.b_strides, [Dim.of(s) for s in loops], buffers)

    def out(self, index: Sequence[Index], buffer: Buffer) -> Load:
        """The address of a row of the result in a buffer."""
        flat = _offset(index, _strides(self.lead, self.call.n))
        return Load(buffer.name, unravel(flat, buffer.shape), buffer.dtype)

    def _moved(
        self, first: Load, strides: Sequence[Index], index: Sequence[Index], buffers: Buffers
    ) -> Load:
        shape = buffers[first.buffer].shape
        values = dict(zip(self.symbols, index, strict=False))
        flat = substitute(row_major(first.index, shape), values) + _offset(index, strides)
        return Load(first.buffer, unravel(flat, shape), first.dtype)


@dataclass(frozen=True, eq=False)
class RowNest:
    """A perfect nest of loops over the rows; `body` is the innermost of these loops."""

    kernel: Kernel
    symbols: tuple[Symbol, ...]
    body: For

    def keeps_rows(self, name: str, buffers: Buffers) -> bool:
        """True if each iteration accesses only its own row of a buffer."""
        axes = long_axes(buffers[name].shape)[: len(self.symbols)]
        expected = tuple(map(Dim.of, self.symbols))
        return all(
            tuple(index[a] for a in axes) == expected
            for statement in walk((self.body,))
            for buffer, index in accesses(statement)
            if buffer == name
        )


def as_nest(kernel: Kernel, lead: Lead) -> RowNest | None:
    """The kernel as a nest over rows: if it is one nest whose outer loops have these extents and
    independent iterations; else None."""
    if len(kernel.body) != 1 or kernel.shapes:
        return None
    inside: tuple[Statement, ...] = kernel.body
    loops: list[For] = []
    for extent in lead:
        (statement,) = inside if len(inside) == 1 else (None,)
        if not isinstance(statement, For) or not _is_plain(statement, extent):
            return None
        loops.append(statement)
        inside = statement.body
    if any(isinstance(s, Call) for s in walk(inside)):
        return None
    return RowNest(kernel, tuple(loop.symbol for loop in loops), loops[-1])


def _is_plain(loop: For, extent: Index) -> bool:
    is_whole = (loop.start, loop.stop, loop.limit) == (0, extent, None)
    return is_whole and not loop.ordered and is_independent(loop)


def as_product(kernel: Kernel, buffers: Buffers) -> RowProduct | None:
    """The kernel as a product: if it is one `matmul` or `matmul_batch`, inside loops over leading
    axes of its result; else None."""
    if len(kernel.body) != 1 or kernel.shapes:
        return None
    (statement,) = kernel.body
    symbols: list[Symbol] = []
    while isinstance(statement, For) and len(statement.body) == 1:
        if not _is_plain(statement, statement.stop):
            return None
        symbols.append(statement.symbol)
        (statement,) = statement.body
    call = _as_batch(statement)
    if call is None or not isinstance(call.n, int) or not isinstance(call.k, int):
        return None
    shape = buffers[call.c.buffer].shape
    lead, stack = _split(shape, call)
    begin = row_major(call.c.first.index, shape)
    if stack < 0 or begin != _offset(map(Dim.of, symbols), _strides(lead, call.n)):
        return None
    depth = len(symbols)
    if tuple(s.extent for s in symbols) != lead[:depth] or depth > stack:
        return None
    if product(lead[depth:stack]) != call.count:
        return None
    along = ((0,) * depth) + _strides(lead[depth:stack], 1)
    a_stride, a_row, _ = call.a.strides
    b_stride, _, _ = call.b.strides
    a_strides = (*(s * a_stride for s in along), *(s * a_row for s in _strides(lead[stack:], 1)))
    b_strides = tuple(s * b_stride for s in along)
    return RowProduct(kernel, call, lead, stack, tuple(symbols), a_strides, b_strides)


def product_in_rows(kernel: Kernel, buffers: Buffers, machine: Machine) -> RowProduct | None:
    """The kernel as a product that is computed in blocks of rows. A symmetric one stays whole,
    unless it has few operations: half of them are more than another pass over its result."""
    part = as_product(kernel, buffers)
    if part is None or part.call.k < machine.least_mirrored_depth:
        return part
    return None if any(isinstance(s, Matmul) and s.is_symmetric for s in kernel.body) else part


def _as_batch(statement: Statement) -> MatmulBatch | None:
    """A product as a batch of one, or a batch of products; None where the result is not dense."""
    if isinstance(statement, Matmul):
        statement = statement.batch(1, (0, 0), 1)
    if not isinstance(statement, MatmulBatch):
        return None
    is_dense = statement.c.strides == (statement.m * statement.n, statement.n, 1)
    return statement if is_dense else None


def _split(shape: Shape, call: MatmulBatch) -> tuple[Lead, int]:
    """The leading axes of a result, without columns, and the number of batch axes among them; -1
    where an axis of the buffer merges several of the call."""
    extents = [shape[axis] for axis in long_axes(shape)]
    end, sizes = len(extents), []
    for expected in (call.n, call.m):
        size: Index = 1
        last = end
        while end and size != expected:
            end -= 1
            size = extents[end] * size
        if size != expected:
            return (), -1
        sizes.append(last)
    return tuple(extents[: sizes[1]]), end


def _offset(index: Iterable[Index], strides: Sequence[Index]) -> Index:
    flat: Index = 0
    for i, stride in zip(index, strides, strict=False):
        flat = flat + i * stride
    return flat


def _strides(lead: Shape, rest: Index) -> Shape:
    """The strides along leading axes whose elements have `rest` numbers each."""
    return tuple(product(lead[a + 1 :]) * rest for a in range(len(lead)))


def rows_of_blocks(lead: Lead, rows: int, names: Names) -> Symbol | None:
    """The number of rows of a block, at most `rows`, where the program finds it: of a runtime size
    that may be few rows or many."""
    if isinstance(lead[-1], int):
        return None
    return Symbol(names.new("block_rows"), 1, rows + 1)


def declared_rows(
    block_rows: Symbol, lead: Lead, rows: int, is_large: bool, machine: Machine
) -> Declare:
    """As many rows in a block of at most `rows` as leave enough blocks, in whole tiles. Few rows
    are two blocks, as a processor alone takes twice the time of two: up to more rows where a right
    operand `is_large`, which each block reads anew."""
    tile, count = machine.product_tile_rows, product(lead)
    enough = max(machine.fewest_blocks, 1)
    share = IndexValue(floor_divide(count, enough * tile) * tile)
    half = IndexValue(floor_divide(count + (tile - 1), tile) * (tile // 2))
    half_of_a_tile = IndexValue(floor_divide(count + 1, 2) + floor_divide(count, tile + 1) * rows)
    few_rows = machine.most_block_rows if is_large else 2 * machine.usual_block_rows
    few: Expr = Apply("minimum", (half, Literal(few_rows, INT64)), INT64)
    value: Expr = Apply("maximum", (share, few), INT64)
    for most in (half_of_a_tile, Literal(rows, INT64)):
        value = Apply("minimum", (value, most), INT64)
    if may_be_0(count):  # the number of blocks is a quotient by this
        value = Apply("maximum", (value, Literal(1, INT64)), INT64)
    return Declare(block_rows.name, value, symbol=block_rows)


def in_parallel(statement: Statement) -> Statement:
    """The outermost loop around products as a parallel one, collapsed with the next one in a
    perfect nest."""
    if not isinstance(statement, For) or not any(isinstance(s, Call) for s in walk((statement,))):
        return statement
    inner = statement.body[0]
    together = len(statement.body) == 1 and isinstance(inner, For)
    return replace(statement, parallel=True, collapse=2 if together else 1)
