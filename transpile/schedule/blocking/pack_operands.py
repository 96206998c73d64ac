"""Pack transposed right operands of products before the loop that repeats the products.

The backward pass of `hidden @ weights` multiplies by the transposed weights in every iteration of a
recurrence. The kernel reads its right operand by rows and would pack it into rows in every call,
which takes longer than to multiply a few rows by it. The packing is loop-invariant:

    for i: call matmul(m, n, k, a, ..., weights, 1, k, ...)
    for p: for j: turned[p, j] = weights[j, p];  for i: call matmul(..., turned, n, 1, ...)

The loop must neither write the operand nor determine its address.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.intrinsics.products import Matmul
from transpile.ir.calls import Strided
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import OF_LOOPS, OF_TEMPORARIES, OWN_SHAPES
from transpile.ir.dims import Dim, Index, Symbol, symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    For,
    Kernel,
    Load,
    Program,
    Statement,
    Store,
    While,
)
from transpile.ir.loop_rewrite import is_sequence, names_in, walk, with_bodies, written
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace


# The strides of an operand are those of the buffer's own shape.
@contract(requires=(OWN_SHAPES,), destroys=(*OF_LOOPS, *OF_TEMPORARIES))
def pack_operands(program: Program, options: Options) -> Program:
    """The program with such operands packed before loops. A BLAS packs for itself."""
    if options.blas != "none":
        return program
    packer = _Packer(program)
    kernels = tuple(map(packer.kernel, program.kernels))
    temporaries = (*program.temporaries, *packer.packed)
    return replace(program, kernels=kernels, temporaries=temporaries) if packer.packed else program


@dataclass(frozen=True)
class _TransposedOperand:
    """A transposed operand: `rows` by `columns`, stored by columns."""

    array: Strided
    rows: Index
    columns: Index


class _Packer:
    """Packs before the outermost loops where that is legal, and adds the temporaries."""

    def __init__(self, program: Program) -> None:
        self.buffers = program.buffers()
        self.names = Names(names_in(program))
        self.packed: list[Buffer] = []

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel with its transposed operands packed."""
        return kernel if kernel.shapes else replace(kernel, body=self._sequence(kernel.body))

    def _sequence(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        for statement in body:
            if isinstance(statement, For | While) and is_sequence(statement):
                operands = dict.fromkeys(self._operands(statement))
                packed = {operand: self._buffer(operand) for operand in operands}
                statements += [self._pack(operand, buffer) for operand, buffer in packed.items()]
                statement = _with_packed(statement, packed)
            if is_sequence(statement):
                statement = with_bodies(statement, self._sequence)
            statements.append(statement)
        return tuple(statements)

    def _operands(self, loop: For | While) -> Iterator[_TransposedOperand]:
        """The transposed operands of products in a loop that are loop-invariant."""
        inside = list(walk((loop,)))
        changing = {name for s in inside for name in written(s)}
        changing |= {s.buffer.name for s in inside if isinstance(s, Alloc)}
        symbols = {s.symbol for s in inside if isinstance(s, For | Declare)}
        for statement in inside:
            operand = _right_operand(statement)
            if (
                operand is not None
                and operand.array.buffer not in changing
                and self._is_transposed_matrix(operand)
                and symbols.isdisjoint(_symbols(operand))
            ):
                yield operand

    def _is_transposed_matrix(self, operand: _TransposedOperand) -> bool:
        """True if an operand is a whole matrix of a buffer, transposed."""
        buffer = self.buffers.get(operand.array.buffer)
        if buffer is None or len(buffer.shape) < 2:
            return False
        is_whole = buffer.shape[-2:] == (operand.columns, operand.rows)
        is_first = operand.array.first.index[-2:] == (0, 0)
        return is_whole and is_first and operand.array.strides == (1, operand.rows)

    def _buffer(self, operand: _TransposedOperand) -> Buffer:
        name = self.names.new(f"{operand.array.buffer}_turned")
        self.packed.append(Buffer(name, (operand.rows, operand.columns), operand.array.dtype))
        return self.packed[-1]

    def _pack(self, operand: _TransposedOperand, packed: Buffer) -> Statement:
        """The loops that pack an operand."""
        row = Symbol(self.names.new("row"), 0, operand.rows)
        column = Symbol(self.names.new("column"), 0, operand.columns)
        index = (*operand.array.first.index[:-2], Dim.of(column), Dim.of(row))
        value = replace(operand.array.first, index=index)
        store = Store(packed.name, (Dim.of(row), Dim.of(column)), value)
        return For(row, operand.rows, (For(column, operand.columns, (store,)),))


def _right_operand(statement: Statement) -> _TransposedOperand | None:
    """The right operand of a product; None for other statements."""
    if not isinstance(statement, Matmul):
        return None
    return _TransposedOperand(statement.b, statement.k, statement.n)


def _symbols(operand: _TransposedOperand) -> set[Symbol]:
    """The symbols in the address of an operand."""
    return {symbol for index in operand.array.first.index for symbol in symbols_of(index)}


def _with_packed(statement: Statement, packed: dict[_TransposedOperand, Buffer]) -> Statement:
    """The statement with products of packed operands."""
    operand = _right_operand(statement)
    if operand in packed:
        buffer = packed[operand]
        start = Load(buffer.name, (0, 0), buffer.dtype)
        return replace(statement, b=Strided(start, (operand.columns, 1)))
    return with_bodies(statement, lambda body: tuple(_with_packed(s, packed) for s in body))
