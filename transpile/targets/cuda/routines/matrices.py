"""The functions of decompositions of matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from transpile.intrinsics.lapack import (
    Cholesky,
    Eigh,
    Householder,
    Lu,
    PivotsToPermutation,
    Qr,
    Schur,
    TriangularSolve,
)
from transpile.intrinsics.routines import Routine as Decomposition
from transpile.ir.calls import Call
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.types import SHORT_NAMES
from transpile.targets.cuda.gpu import WARP, Gpu
from transpile.targets.cuda.routines.calls import (
    CholeskyDiagonal,
    CholeskyEnd,
    LuPanel,
    LuRows,
    SolveDiagonal,
    SubtractProduct,
)
from transpile.targets.cuda.routines.function import Arguments, Function, of_matrix, truth
from transpile.targets.cuda.routines.spectra import (
    EigOfSchur,
    EigvalsOfSchur,
    SqrtmOfSchur,
    SvdOfColumns,
    SvdvalsOfColumns,
)
from transpile.targets.cuda.routines.tiles import SIDE


def _subtract_product(call: SubtractProduct, _: Gpu) -> Function:
    conditions = map(truth, (*call.conjugate, call.lower))
    sizes = (call.m, call.n, call.k, *conditions)
    arrays = (*call.a.with_strides, *call.b.with_strides, *call.c.with_row_strides)
    down, across = (blocks_of(max(1, size), SIDE) for size in call.largest)
    what = "a block for each tile of the product"
    return Function(call.name, SHORT_NAMES[call.c.dtype], (*sizes, *arrays), down * across, what)


def _lu_panel(call: LuPanel, gpu: Gpu) -> Function:
    """A block waits for memory: many threads, but of wide numbers, which take more registers."""
    arrays = (call.lu.first, call.pivots.first, call.permutation.first)
    arguments = (call.m, call.n, call.begin, *arrays)
    suffix = SHORT_NAMES[call.lu.dtype]
    wanted = max(gpu.block, 1 << (call.m // 2).bit_length() - 1)
    most = gpu.most_threads // (2 if call.lu.dtype.itemsize > 8 else 1)
    threads = min(wanted, most)
    return Function(call.name, suffix, arguments, 1, "a block for the columns", threads)


def _lu_rows(call: LuRows, gpu: Gpu) -> Function:
    arguments = (call.m, call.n, call.begin, call.lu.first, call.pivots.first)
    columns = blocks_of(call.n, gpu.block)
    suffix = SHORT_NAMES[call.lu.dtype]
    return Function(call.name, suffix, arguments, columns, "a thread for each column")


def _solve_diagonal(call: SolveDiagonal, gpu: Gpu) -> Function:
    conditions = (call.forwards, call.unit_diagonal, call.conjugate)
    sizes = (call.n, call.k, call.number, *map(truth, conditions))
    arrays = (*call.a.with_strides, *call.x.with_strides)
    warps = blocks_of(max(1, call.largest), gpu.block // WARP)
    suffix = SHORT_NAMES[call.x.dtype]
    return Function(call.name, suffix, (*sizes, *arrays), warps, "a warp for each right side")


def _cholesky_diagonal(call: CholeskyDiagonal, _: Gpu) -> Function:
    arguments = (call.n, call.begin, call.factor.first)
    suffix = SHORT_NAMES[call.factor.dtype]
    return Function(call.name, suffix, arguments, 1, "a block for the columns")


def _cholesky_end(call: CholeskyEnd, gpu: Gpu) -> Function:
    blocks = blocks_of(call.n * call.n, gpu.block)
    suffix = SHORT_NAMES[call.factor.dtype]
    return Function(
        call.name, suffix, (call.n, call.factor.first), blocks, "a thread for each number"
    )


def _decomposition(call: Decomposition, _: Gpu) -> Function:
    """A decomposition of one matrix: a block has it."""
    arrays = {name: array for name, array in call.arrays.items() if name != "workspace"}
    first = next(iter(arrays.values()))
    arguments = (*_sizes_of(call), *(array.first for array in arrays.values()))
    return of_matrix(call.name, first, *arguments)


def _svd(call: SvdOfColumns | SvdvalsOfColumns, _: Gpu) -> Function:
    if isinstance(call, SvdOfColumns):
        sizes = (call.m, call.n, call.rows, call.columns)
        return of_matrix("svd", call.x, *sizes, *(a.first for a in call.arrays.values()))
    arrays = (call.x.first, "nullptr", call.s.first, "nullptr", call.work.first, "nullptr")
    return of_matrix("svd", call.x, call.m, call.n, 0, 0, *arrays)


def _eig(call: EigOfSchur | EigvalsOfSchur, _: Gpu) -> Function:
    if isinstance(call, EigOfSchur):
        arrays: Arguments = tuple(a.first for a in call.arrays.values())
    else:
        arrays = (call.x.first, call.w.first, "nullptr", call.t.first, "nullptr", "nullptr")
    return of_matrix("eig", call.x, call.n, *arrays)


def _schur(call: Schur, _: Gpu) -> Function:
    return of_matrix("schur", call.x, call.n, call.x.first, call.t.first, call.z.first)


def _sqrtm(call: SqrtmOfSchur, _: Gpu) -> Function:
    return of_matrix("sqrtm", call.x, call.n, *(a.first for a in call.arrays.values()))


def _sizes_of(call: Decomposition) -> Arguments:
    """The sizes and conditions of a decomposition, as its function takes them."""
    match call:
        case TriangularSolve():
            conditions = map(truth, (call.lower, call.unit_diagonal))
            return (call.n, call.k, *conditions, call.form)
        case Qr():
            return (call.m, call.n, call.columns)
        case PivotsToPermutation():
            return (call.n, call.size)
        case Lu() | Householder():
            return (call.m, call.n)
        case Eigh():
            return (call.n, truth(call.lower))
        case _:
            return (call.operands["n"],)


OF_MATRICES: Mapping[type[Call], Callable[..., Function]] = MappingProxyType(
    {
        SubtractProduct: _subtract_product,
        LuPanel: _lu_panel,
        LuRows: _lu_rows,
        SolveDiagonal: _solve_diagonal,
        CholeskyDiagonal: _cholesky_diagonal,
        CholeskyEnd: _cholesky_end,
        SvdOfColumns: _svd,
        SvdvalsOfColumns: _svd,
        EigOfSchur: _eig,
        EigvalsOfSchur: _eig,
        SqrtmOfSchur: _sqrtm,
        Schur: _schur,
        Cholesky: _decomposition,
        Eigh: _decomposition,
        TriangularSolve: _decomposition,
        Lu: _decomposition,
        Qr: _decomposition,
        Householder: _decomposition,
        PivotsToPermutation: _decomposition,
    }
)
