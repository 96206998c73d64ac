"""Decompositions of one large matrix, by blocks of columns: several launches for each block.

    for each block of columns: factor it (one block of threads)
                               exchange rows, and solve for those of the upper factor (the grid)
                               subtract the product of the two from what is left (the grid)

The last of these has most of the operations. The order of additions is that of the columns: equal
inputs give equal bits on every GPU. G. H. Golub and C. F. Van Loan, Matrix Computations, 3.2.11.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.intrinsics.lapack import Cholesky, Lu, TriangularSolve
from transpile.ir.calls import Strided
from transpile.ir.dims import Dim, Index, Symbol
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import For, Statement, Store
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.routines.calls import (
    CholeskyDiagonal,
    CholeskyEnd,
    LuPanel,
    LuRows,
    SolveDiagonal,
    SubtractProduct,
)
from transpile.util.frozen_records import replace

# The columns of a block, as in lu_panel.cu.j2, lu_rows.cu.j2 and solve_diagonal.cu.j2.
COLUMNS = 32
# Neither operand of a product is conjugated.
_PLAIN = (False, False)


def is_blocked(call: Statement, gpu: Gpu) -> bool:
    """True for a decomposition of a matrix that is large enough."""
    match call:
        case Lu(m=int() as m, n=int() as n):
            return min(m, n) >= gpu.least_blocked_side
        case TriangularSolve(n=int() as n, k=int()) | Cholesky(n=int() as n):
            return n >= gpu.least_blocked_side
        case _:
            return False


def blocked(call: Statement, names: Names) -> Iterator[Statement]:
    """The statements in place of such a decomposition."""
    if isinstance(call, Lu):
        yield from _lu(call, names)
    elif isinstance(call, TriangularSolve):
        yield from _triangular_solve(call, names)
    elif isinstance(call, Cholesky):
        yield from _cholesky(call, names)


def _lu(call: Lu, names: Names) -> Iterator[Statement]:
    m, n, lu = int(call.m), int(call.n), call.lu
    yield _copy(m * n, call.x, lu, names)
    symbol = _block(names, min(m, n))
    begin = Dim.of(symbol) * COLUMNS
    end = begin + COLUMNS
    left = _matrix(lu, end * n + begin, n, 1)
    above, rest = _matrix(lu, begin * n + end, n, 1), _matrix(lu, end * n + end, n, 1)
    panel = LuPanel(m, n, begin, lu, call.pivots, call.permutation)
    rows = LuRows(m, n, begin, lu, call.pivots)
    update = SubtractProduct(m - end, n - end, COLUMNS, _PLAIN, False, (m, n), left, above, rest)
    yield For(symbol, blocks_of(min(m, n), COLUMNS), (panel, rows, update), ordered=True)


def _triangular_solve(call: TriangularSolve, names: Names) -> Iterator[Statement]:
    n, k, x = int(call.n), int(call.k), call.solution
    if call.b.first != x.first:
        yield _copy(n * k, call.b, x, names)
    forwards, conjugate = call.lower == (call.form == 0), call.form == 2
    strides = (n, 1) if call.form == 0 else (1, n)
    symbol = _block(names, n)
    done = Dim.of(symbol) * COLUMNS
    end = done + COLUMNS
    # Backwards blocks begin at the end: the first rows are left for the last one.
    to, of, rows = (end, done, n - end) if forwards else (0, n - end, n - end)
    factors = _matrix(call.x, to * strides[0] + of * strides[1], *strides)
    known, rest = _matrix(x, of * k, k, 1), _matrix(x, to * k, k, 1)
    whole, sides = _matrix(call.x, 0, *strides), _matrix(x, 0, k, 1)
    unit = call.unit_diagonal
    solve = SolveDiagonal(n, k, k, Dim.of(symbol), forwards, unit, conjugate, whole, sides)
    conjugates = (conjugate, False)
    update = SubtractProduct(rows, k, COLUMNS, conjugates, False, (n, k), factors, known, rest)
    yield For(symbol, blocks_of(n, COLUMNS), (solve, update), ordered=True)


def _cholesky(call: Cholesky, names: Names) -> Iterator[Statement]:
    n, factor = int(call.n), call.factor
    if call.x.first != factor.first:
        yield _copy(n * n, call.x, factor, names)
    symbol = _block(names, n)
    begin = Dim.of(symbol) * COLUMNS
    end = begin + COLUMNS
    is_complex = factor.dtype.kind == "c"
    diagonal = CholeskyDiagonal(n, begin, factor)
    # The rows below are the conjugate solutions of the block on the diagonal, from the left.
    whole, sides = _matrix(factor, 0, n, 1), _matrix(factor, end * n, 1, n)
    rows = SolveDiagonal(n, n - end, n, Dim.of(symbol), True, False, is_complex, whole, sides)
    left, rest = _matrix(factor, end * n + begin, n, 1), _matrix(factor, end * n + end, n, 1)
    above = replace(left, strides=(1, n))
    conjugates = (False, is_complex)
    update = SubtractProduct(n - end, n - end, COLUMNS, conjugates, True, (n, n), left, above, rest)
    yield For(symbol, blocks_of(n, COLUMNS), (diagonal, rows, update), ordered=True)
    yield CholeskyEnd(n, factor)


def _block(names: Names, n: int) -> Symbol:
    """The number of a block of n columns."""
    return Symbol(names.inner().new("block"), 0, blocks_of(n, COLUMNS))


def _copy(size: int, x: Strided, out: Strided, names: Names) -> For:
    """A loop that copies contiguous numbers."""
    symbol = Symbol(names.inner().new("i"), 0, size)
    (of,), (to,) = x.first.index, out.first.index
    index = Dim.of(symbol)
    element = replace(x.first, index=(of + index,))
    return For(symbol, size, (Store(out.buffer, (to + index,), element),), parallel=True)


def _matrix(x: Strided, offset: Index, row: int, column: int) -> Strided:
    """The part of a contiguous array from an element on, with these strides."""
    (first,) = x.first.index
    return Strided(replace(x.first, index=(first + offset,)), (row, column))
