"""Kernels over rows: what a kernel does to each row of some leading axes, where it is a matrix
product or a loop nest that works row by row.

Rows go along the axes of a buffer that are longer than one: `lead` are the extents of the first of
them, and what is left is a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from transpile.intrinsics.products import Matmul, MatmulBatch
from transpile.ir.calls import Call
from transpile.ir.dims import Dim, Index, Shape, Symbol, product, row_major, substitute, unravel
from transpile.ir.loop_ir import Buffer, For, Kernel, Load, Statement
from transpile.ir.loop_rewrite import accesses, is_independent, walk
from transpile.util.frozen_records import dataclass

Lead = tuple[int, ...]
Buffers = Mapping[str, Buffer]


def long_axes(shape: Shape) -> tuple[int, ...]:
    """The axes of a shape that are longer than one."""
    return tuple(a for a, extent in enumerate(shape) if extent != 1)


def has_rows(shape: Shape, lead: Lead) -> bool:
    """Tell whether a shape begins with these axes."""
    return tuple(shape[a] for a in long_axes(shape)[: len(lead)]) == lead


def row_shape(shape: Shape, lead: Lead) -> Lead:
    """The extents of a row; its sizes are known wherever products are."""
    return tuple(e for a in long_axes(shape)[len(lead) :] if isinstance(e := shape[a], int))


@dataclass(frozen=True, eq=False)
class RowProduct:
    """A product whose result has rows along the axes `lead`, the first `stack` of which have a
    right operand each.

    call      the products that are made inside the loops `symbols`
    a_steps   the strides of the left operand along `lead`, b_steps of the right one along the
              stack, apart from what the symbols say
    """

    kernel: Kernel
    call: MatmulBatch
    lead: Lead
    stack: int
    symbols: tuple[Symbol, ...]
    a_steps: tuple[Index, ...]
    b_steps: tuple[Index, ...]

    @property
    def flops(self) -> int:
        """Additions and multiplications."""
        return 2 * _size(self.lead) * self.call.n * self.call.k

    @property
    def scratch(self) -> str:
        """The buffer of its scratch memory."""
        return self.call.workspace.buffer

    def keeps_rows(self, name: str, buffers: Buffers) -> bool:
        """Tell whether the call touches in each row only that row of a buffer, and all of it."""
        a, b, c = self.call.a, self.call.b, self.call.c
        if name in (b.buffer, self.scratch):
            return False
        if name == c.buffer:
            return name != a.buffer
        shape = buffers[name].shape
        steps = _steps(self.lead, self.call.k)
        depth = len(self.symbols)
        _, _, a_column = a.strides
        is_dense = _size(row_shape(shape, self.lead)) == self.call.k and a_column == 1
        begin = row_major(a.first.index, shape)
        return (
            is_dense
            and begin == _offset(map(Dim.of, self.symbols), steps)
            and self.a_steps == ((0,) * depth + steps[depth:])
        )

    def left(self, index: Sequence[Index], buffers: Buffers) -> Load:
        """The address of a row of the left operand."""
        return self._moved(self.call.a.first, self.a_steps, index, buffers)

    def right(self, loops: Sequence[Symbol], buffers: Buffers) -> Load:
        """The address of the right operand, inside loops over the stack."""
        return self._moved(self.call.b.first, self.b_steps, [Dim.of(s) for s in loops], buffers)

    def out(self, index: Sequence[Index], buffer: Buffer) -> Load:
        """The address of a row of the result in a buffer."""
        flat = _offset(index, _steps(self.lead, self.call.n))
        return Load(buffer.name, unravel(flat, buffer.shape), buffer.dtype)

    def _moved(
        self, first: Load, steps: Sequence[Index], index: Sequence[Index], buffers: Buffers
    ) -> Load:
        shape = buffers[first.buffer].shape
        values = dict(zip(self.symbols, index, strict=False))
        flat = substitute(row_major(first.index, shape), values) + _offset(index, steps)
        return Load(first.buffer, unravel(flat, shape), first.dtype)


@dataclass(frozen=True, eq=False)
class RowNest:
    """Loops over the rows, one in the other; `body` is the innermost of them."""

    kernel: Kernel
    symbols: tuple[Symbol, ...]
    body: For

    def keeps_rows(self, name: str, buffers: Buffers) -> bool:
        """Tell whether each iteration touches only its own row of a buffer."""
        axes = long_axes(buffers[name].shape)[: len(self.symbols)]
        wanted = tuple(map(Dim.of, self.symbols))
        return all(
            tuple(index[a] for a in axes) == wanted
            for statement in walk((self.body,))
            for buffer, index in accesses(statement)
            if buffer == name
        )


def as_nest(kernel: Kernel, lead: Lead) -> RowNest | None:
    """A kernel as loops over rows, if it is one nest whose outer loops are these, and no row
    depends on another one."""
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


def _is_plain(loop: For, extent: int) -> bool:
    is_whole = (loop.start, loop.stop, loop.limit) == (0, extent, None)
    return is_whole and not loop.ordered and is_independent(loop)


def as_product(kernel: Kernel, buffers: Buffers) -> RowProduct | None:
    """A kernel as a product, if it is one call of `matmul` or `matmul_batch`, in loops over the
    leading axes of its result."""
    if len(kernel.body) != 1 or kernel.shapes:
        return None
    (statement,) = kernel.body
    symbols: list[Symbol] = []
    while isinstance(statement, For) and len(statement.body) == 1:
        if not isinstance(statement.stop, int) or not _is_plain(statement, statement.stop):
            return None
        symbols.append(statement.symbol)
        (statement,) = statement.body
    call = _as_batch(statement)
    if call is None:
        return None
    shape = buffers[call.c.buffer].shape
    lead, stack = _split(shape, call)
    begin = row_major(call.c.first.index, shape)
    if stack < 0 or begin != _offset(map(Dim.of, symbols), _steps(lead, call.n)):
        return None
    if symbols and (call.count != 1 or tuple(s.extent for s in symbols) != lead[:stack]):
        return None
    if not symbols and _size(lead[:stack]) != call.count:
        return None
    along = _steps(lead[:stack], 1)
    a_step, a_row, _ = call.a.strides
    b_step, _, _ = call.b.strides
    a_steps = (*(s * a_step for s in along), *(s * a_row for s in _steps(lead[stack:], 1)))
    b_steps = tuple(s * b_step for s in along)
    return RowProduct(kernel, call, lead, stack, tuple(symbols), a_steps, b_steps)


def _as_batch(statement: Statement) -> MatmulBatch | None:
    """A product, or a batch of them, as a batch; None where its result is not dense."""
    if isinstance(statement, Matmul):
        statement = statement.batch(1, (0, 0), 1)
    if not isinstance(statement, MatmulBatch):
        return None
    is_dense = statement.c.strides == (statement.m * statement.n, statement.n, 1)
    return statement if is_dense else None


def _split(shape: Shape, call: MatmulBatch) -> tuple[Lead, int]:
    """The leading axes of a result, all but those of its columns, and how many of them are of the
    stack; -1 where an axis belongs to two."""
    extents = [e for e in shape if isinstance(e, int) and e != 1]
    if len(extents) != len(long_axes(shape)):
        return (), -1
    end, sizes = len(extents), []
    for wanted in (call.n, call.m):
        size, last = 1, end
        while end and size < wanted:
            end -= 1
            size *= extents[end]
        if size != wanted:
            return (), -1
        sizes.append(last)
    return tuple(extents[: sizes[1]]), end


def _offset(index: Iterable[Index], steps: Sequence[Index]) -> Index:
    flat: Index = 0
    for i, step in zip(index, steps, strict=False):
        flat = flat + i * step
    return flat


def _size(extents: Sequence[int]) -> int:
    size = product(extents)
    return size if isinstance(size, int) else 0


def _steps(lead: Sequence[int], rest: int) -> tuple[int, ...]:
    """The steps along leading axes whose elements have `rest` numbers each."""
    return tuple(_size(lead[a + 1 :]) * rest for a in range(len(lead)))
