"""Matrix products of NVIDIA's cuBLASLt: which calls become the library's, and what it is told.

It is decided when a program is compiled, by shapes and strides alone.
"""

from __future__ import annotations

from transpile.intrinsics.products import ComplexMatmul, Matmul, MatmulBatch
from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Index, Shape
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.lengths import lengths_of
from transpile.ir.loop_ir import DType, Load
from transpile.ir.types import FLOAT32, SHORT_NAMES, is_half, real_dtype
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.routines.calls import LibraryMatmul
from transpile.util.frozen_records import dataclass, replace
from transpile.util.settings.product_precision import TENSOR_FLOAT

# The dtypes that the library multiplies: their names in CUDA, and those of the sums.
_TYPES = {
    "f16": ("CUDA_R_16F", "CUBLAS_COMPUTE_32F"),
    "bf16": ("CUDA_R_16BF", "CUBLAS_COMPUTE_32F"),
    "f32": ("CUDA_R_32F", "CUBLAS_COMPUTE_32F"),
    "f64": ("CUDA_R_64F", "CUBLAS_COMPUTE_64F"),
    "c64": ("CUDA_C_32F", "CUBLAS_COMPUTE_32F"),
    "c128": ("CUDA_C_64F", "CUBLAS_COMPUTE_64F"),
}


@dataclass(frozen=True)
class LibraryMatrix:
    """An operand, or the result, as the library is told.

    type        of its numbers, a constant of CUDA
    leading     the distance of its rows, or of its columns where it `is_transposed`
    next        the distance of neighbouring matrices
    """

    first: Load
    type: str
    leading: Index
    is_transposed: bool
    next: Index


def library_product(call: Call, gpu: Gpu) -> LibraryMatmul | None:
    """A product as a call of the library, if there is one, and the product is large enough and has
    operands that the library reads as they are; else None."""
    if not gpu.has_cublas or not isinstance(call, Matmul | ComplexMatmul | MatmulBatch):
        return None
    of_halves = is_half(call.a.dtype)
    least = gpu.least_library_flops_of_halves if of_halves else gpu.least_library_flops
    if estimate(call.flops) < least or not isinstance(call.k, int):
        return None
    if any(map(lengths_of, call.numbers)):  # which only the device knows
        return None
    count = call.count if isinstance(call, MatmulBatch) else 1
    a, b, c = (
        x if isinstance(call, MatmulBatch) else replace(x, strides=(0, *x.strides))
        for x in (call.a, call.b, call.c)
    )
    precision = "" if isinstance(call, ComplexMatmul) else call.precision
    sizes = (count, call.m, call.n, call.k)
    made = LibraryMatmul(*sizes, a, b, c, precision=precision, source=call.source)
    is_known = SHORT_NAMES.get(a.dtype) in _TYPES and a.dtype == b.dtype
    return made if is_known and None not in library_matrices(made) else None


def library_matrices(call: LibraryMatmul) -> tuple[LibraryMatrix | None, ...]:
    """What the library is told of a, b and c; None for what it cannot read."""
    return (
        _matrix(call.a, call.m, call.k),
        _matrix(call.b, call.k, call.n),
        _matrix(call.c, call.m, call.n),
    )


def type_of_sums(call: LibraryMatmul) -> str:
    """The constant of cuBLAS for the sums of a product."""
    of_tensor_floats = call.precision == TENSOR_FLOAT and call.a.dtype == FLOAT32
    return (
        "CUBLAS_COMPUTE_32F_FAST_TF32" if of_tensor_floats else _TYPES[SHORT_NAMES[call.a.dtype]][1]
    )


def type_of_scale(dtype: DType) -> str:
    """The constant of CUDA for factors of sums, of the dtype of the sums."""
    single = real_dtype(dtype).itemsize <= 4
    return f"CUDA_{'C' if dtype.kind == 'c' else 'R'}_{'32F' if single else '64F'}"


def _matrix(x: Strided, rows: Index, columns: Index) -> LibraryMatrix | None:
    next_, *strides = x.strides
    name = _TYPES[SHORT_NAMES[x.dtype]][0]
    by_rows = _leading(tuple(strides), rows, columns)
    if by_rows is not None:
        return LibraryMatrix(x.first, name, by_rows, False, next_)
    by_columns = _leading(tuple(strides[::-1]), columns, rows)
    if by_columns is not None:
        return LibraryMatrix(x.first, name, by_columns, True, next_)
    return None


def _leading(strides: Shape, rows: Index, columns: Index) -> Index | None:
    """The distance of contiguous rows that do not overlap; None for others."""
    row, column = strides
    if column != 1 and columns != 1:
        return None
    if rows == 1 or row == columns:
        return columns
    if isinstance(row, int) and isinstance(columns, int) and row >= columns:
        return row
    return None
