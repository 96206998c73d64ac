"""Turned operands: the right operand of a product that stays the same in a loop of the user's, and
lies the other way round, is turned once, before the loop.

A gradient goes backwards through `hidden @ weights` with the transposed weights, at each step of a
recurrent network. The product wants rows of its right operand and would copy it into such rows at
every step, which takes longer than to multiply a few rows by it:

    for i: call matmul(m, n, k, a, ..., weights, 1, k, ...)
    for p: for j: turned[p, j] = weights[j, p];  for i: call matmul(..., turned, n, 1, ...)
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.intrinsics.products import Matmul
from transpile.ir.calls import Strided
from transpile.ir.dims import Dim, Symbol, symbols_of
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


def pack_operands(program: Program, options: Options) -> Program:
    """The program with such operands turned before loops. A BLAS turns what it needs."""
    if options.blas != "none":
        return program
    turner = _Turner(program)
    kernels = tuple(map(turner.kernel, program.kernels))
    temporaries = (*program.temporaries, *turner.made)
    return replace(program, kernels=kernels, temporaries=temporaries) if turner.made else program


@dataclass(frozen=True)
class _Turned:
    """An operand of `rows` rows and `columns` columns, whose columns lie as rows."""

    array: Strided
    rows: int
    columns: int


class _Turner:
    """Goes over kernels, the outermost loops first, and makes memory for what it turns."""

    def __init__(self, program: Program) -> None:
        self.buffers = program.buffers()
        self.names = Names(names_in(program))
        self.made: list[Buffer] = []

    def kernel(self, kernel: Kernel) -> Kernel:
        """A kernel with what it needs turned."""
        return kernel if kernel.shapes else replace(kernel, body=self._sequence(kernel.body))

    def _sequence(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, For | While) and is_sequence(statement):
                operands = dict.fromkeys(self._operands(statement))
                places = {operand: self._place(operand) for operand in operands}
                found += [self._turn(operand, place) for operand, place in places.items()]
                statement = _with_places(statement, places)
            if is_sequence(statement):
                statement = with_bodies(statement, self._sequence)
            found.append(statement)
        return tuple(found)

    def _operands(self, loop: For | While) -> Iterator[_Turned]:
        """The operands to turn before a loop, which neither writes them nor decides where they
        begin."""
        inside = list(walk((loop,)))
        changing = {name for s in inside for name in written(s)}
        changing |= {s.buffer.name for s in inside if isinstance(s, Alloc)}
        symbols = {s.symbol for s in inside if isinstance(s, For | Declare)}
        for statement in inside:
            operand = _right_operand(statement)
            if (
                operand is not None
                and operand.array.buffer not in changing
                and self._is_rows(operand)
                and symbols.isdisjoint(_symbols(operand))
            ):
                yield operand

    def _is_rows(self, operand: _Turned) -> bool:
        """Tell whether columns of an operand begin where rows of a buffer do, and end there."""
        buffer = self.buffers.get(operand.array.buffer)
        if buffer is None or len(buffer.shape) < 2:
            return False
        is_whole = buffer.shape[-2:] == (operand.columns, operand.rows)
        is_first = operand.array.first.index[-2:] == (0, 0)
        return is_whole and is_first and operand.array.strides == (1, operand.rows)

    def _place(self, operand: _Turned) -> Buffer:
        name = self.names.new(f"{operand.array.buffer}_turned")
        self.made.append(Buffer(name, (operand.rows, operand.columns), operand.array.dtype))
        return self.made[-1]

    def _turn(self, operand: _Turned, place: Buffer) -> Statement:
        """What puts an operand there, row by row."""
        row = Symbol(self.names.new("row"), 0, operand.rows)
        column = Symbol(self.names.new("column"), 0, operand.columns)
        index = (*operand.array.first.index[:-2], Dim.of(column), Dim.of(row))
        value = replace(operand.array.first, index=index)
        store = Store(place.name, (Dim.of(row), Dim.of(column)), value)
        return For(row, operand.rows, (For(column, operand.columns, (store,)),))


def _right_operand(statement: Statement) -> _Turned | None:
    """The right operand of a product."""
    if not isinstance(statement, Matmul):
        return None
    return _Turned(statement.b, statement.k, statement.n)


def _symbols(operand: _Turned) -> set[Symbol]:
    """The symbols of which an operand's place is made."""
    return {symbol for index in operand.array.first.index for symbol in symbols_of(index)}


def _with_places(statement: Statement, places: dict[_Turned, Buffer]) -> Statement:
    """The statement with products that read operands where they are turned."""
    operand = _right_operand(statement)
    if operand in places:
        place = places[operand]
        start = Load(place.name, (0, 0), place.dtype)
        return replace(statement, b=Strided(start, (operand.columns, 1)))
    return with_bodies(statement, lambda body: tuple(_with_places(s, places) for s in body))
