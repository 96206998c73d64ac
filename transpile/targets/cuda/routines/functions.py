"""The routines of CUDA for intrinsics: which function, with which arguments.

A routine is a function of `templates/cuda/routines/` that the threads of a block run together; a
call that is a kernel of its own is shared out among blocks, of which each takes `first`, `first +
step` and so on of what there is to do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.errors import UnsupportedError
from transpile.intrinsics.products import ComplexMatmul, Matmul, MatmulBatch
from transpile.intrinsics.scans import CumulativeSum
from transpile.intrinsics.sorting import Argsort, ArgsortFurther, FirstOf, OrderStatistics, Sort
from transpile.ir.calls import Call, parsed_signature
from transpile.ir.dims import Index
from transpile.ir.graph import Source
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import Load
from transpile.ir.types import FLOAT32, INT64, SHORT_NAMES, real_dtype
from transpile.targets.cuda.device_ir import TeamCall
from transpile.targets.cuda.dialect import CUDA
from transpile.targets.cuda.gpu import WARP, Gpu
from transpile.targets.cuda.routines.calls import (
    ChirpOperand,
    ChirpProduct,
    ChirpResult,
    CompactElements,
    CompactPositions,
    CopyOrder,
    CountFlags,
    FftOfAnySize,
    FftPass,
    PickRanks,
    RadixArgsort,
    RadixArgsortFurther,
    RadixCounts,
    RadixCountsInOrder,
    RadixSort,
    SumOfParts,
    SumsFromTiles,
    SumsOfTiles,
)
from transpile.targets.cuda.routines.function import Arguments, Function, truth
from transpile.targets.cuda.routines.matrices import OF_MATRICES
from transpile.targets.cuda.routines.several_launches import is_several
from transpile.targets.cuda.routines.tiles import (
    NARROW,
    SIDE,
    TENSOR_FLOATS,
    longest_transform,
    scan_tile,
)
from transpile.util.frozen_records import dataclass
from transpile.util.settings.product_precision import TENSOR_FLOAT

# The rows and columns of the large tiles of products, as in matmul_wide.cu.j2, and the dtypes that
# have them.
WIDEST = 128
WIDE = ("f16", "bf16", "f32", "f64")
# The rows of the matrix that a block multiplies with few vectors, or more.
OF_A_BLOCK = 16

# Blocks of Fourier transforms compute the roots of unity first: more blocks, more often.
MOST_BLOCKS_OF_TRANSFORMS = 1056


@dataclass(frozen=True)
class Routine:
    """A call, the blocks that it has use for, what one has, in words, and its threads; 0: as many
    as others have."""

    call: TeamCall
    items: Index
    mapping: str
    threads: int


def _matmul(call: Matmul | ComplexMatmul | MatmulBatch, gpu: Gpu) -> Function:
    """A product, or several: in large tiles if there are enough of them to keep a GPU busy, as
    these read less for each result; of few vectors without tiles."""
    count = call.count if isinstance(call, MatmulBatch) else 1
    own = (*call.a.with_strides, *call.b.with_strides, *call.c.with_row_strides)
    arrays = own if isinstance(call, MatmulBatch) else _with_batch(own)
    suffix = SHORT_NAMES[call.a.dtype]
    tiles = {
        side: count * blocks_of(call.m, side) * blocks_of(call.n, side) for side in (SIDE, WIDEST)
    }
    name, items = "matmul", tiles[SIDE]
    few, many = sorted((call.m, call.n), key=estimate)
    if isinstance(few, int) and few <= NARROW:
        name, items = "matmul_narrow", count * blocks_of(many, OF_A_BLOCK)
    elif suffix in WIDE and estimate(tiles[WIDEST]) >= gpu.enough_blocks:
        name, items = "matmul_wide", tiles[WIDEST]
    if name != "matmul_narrow" and _has_tensor_floats(call):
        suffix = TENSOR_FLOATS
    return Function(
        name,
        suffix,
        (count, call.m, call.n, call.k, *arrays),
        items,
        "a block for each tile of the product" + ("s" if count != 1 else ""),
    )


def _has_tensor_floats(call: Matmul | ComplexMatmul | MatmulBatch) -> bool:
    """True for a product of float32 that may round its factors for tensor cores."""
    precision = "" if isinstance(call, ComplexMatmul) else call.precision
    return precision == TENSOR_FLOAT and call.a.dtype == FLOAT32


def _with_batch(arrays: Arguments) -> Arguments:
    """The arrays of one product, as a batch of one."""
    a, a_row, a_column, b, b_row, b_column, c, c_row = arrays
    return a, 0, a_row, a_column, b, 0, b_row, b_column, c, 0, c_row


def _cumulative_sum(call: CumulativeSum, gpu: Gpu) -> Function:
    """Prefix sums: by a warp for each row that would be less than half of what a block has at a
    time."""
    reverse = truth(call.reverse)
    arguments = (call.rows, call.n, reverse, call.x.first, call.out.first)
    suffix = _of_scan(call, call.out.dtype)
    if 2 * estimate(call.n) <= scan_tile(call.out.dtype, gpu.block):
        warps = blocks_of(call.rows, gpu.block // WARP)
        return Function("cumsum_rows", suffix, arguments, warps, "a warp for each row")
    return Function("cumsum", suffix, arguments, call.rows, "a block for each row")


def _sums_of_tiles(call: SumsOfTiles | SumsFromTiles, _: Gpu) -> Function:
    sizes = (call.rows, call.n, call.tiles, call.length, truth(call.reverse))
    arrays = tuple(array.first for array in call.arrays.values())
    return Function(
        call.name,
        _of_scan(call, call.x.dtype),
        (*sizes, *arrays),
        call.rows * call.tiles,
        "a block for each tile of a row",
    )


def _of_scan(call: CumulativeSum | SumsOfTiles | SumsFromTiles, dtype: np.dtype[Any]) -> str:
    """The suffix of a scan: its dtype, and the operation if that is not the sum."""
    suffix = SHORT_NAMES[dtype]
    return suffix if call.combine == "add" else f"{call.combine}_{suffix}"


def _radix_counts(call: RadixCounts | RadixCountsInOrder, _: Gpu) -> Function:
    order = call.order.first if isinstance(call, RadixCountsInOrder) else "nullptr"
    arguments = (call.shift, call.keys.first, order, call.counts.first)
    return _of_tiles(call, "radix_counts", call.inner, call.tiles, *arguments)


_NO_POSITIONS = "NO_POSITIONS"  # of radix_rank.cu.j2


def _radix_sort(call: RadixSort | RadixArgsort | RadixArgsortFurther, _: Gpu) -> Function:
    order: Load | str = _NO_POSITIONS
    by_order = "false"
    if isinstance(call, RadixArgsortFurther):
        order, by_order = call.order.first, truth(call.by_order)
    new_order = _NO_POSITIONS if isinstance(call, RadixSort) else call.new_order.first
    sizes = (call.inner, call.inner_out, call.tiles, call.shift, by_order)
    arrays = (call.keys.first, order, call.ends.first, call.sorted.first, new_order)
    return _of_tiles(call, "radix_scatter", *sizes, *arrays)


def _of_tiles(call: Any, name: str, *arguments: Index | Load | str) -> Function:
    """A pass of a radix sort over the tiles of rows."""
    return Function(
        name,
        SHORT_NAMES[call.keys.dtype],
        (call.rows, call.n, *arguments),
        call.rows * call.tiles,
        "a block for each tile of a row",
    )


def _sum_of_parts(call: SumOfParts, gpu: Gpu) -> Function:
    arguments = (call.parts, call.m, call.n, call.x.first, *call.out.with_row_strides)
    blocks = blocks_of(call.m * call.n, gpu.block)
    suffix = SHORT_NAMES[call.out.dtype]
    return Function("sum_of_parts", suffix, arguments, blocks, "a thread for each number")


def _pick_ranks(call: PickRanks, _: Gpu) -> Function:
    arrays = (call.sorted.first, call.ranks.first, call.out.first)
    sizes = (call.rows, call.n, call.inner, call.count)
    suffix = SHORT_NAMES[call.sorted.dtype]
    return Function("pick_ranks", suffix, (*sizes, *arrays), call.rows, "a block for each row")


def _copy(call: CopyOrder, gpu: Gpu) -> Function:
    arguments = (call.n, call.x.first, call.out.first)
    blocks = blocks_of(call.n, gpu.block)
    return Function(
        "copy", SHORT_NAMES[call.x.dtype], arguments, blocks, "a thread for each number"
    )


def _of_flags(call: CountFlags | CompactElements | CompactPositions, _: Gpu) -> Function:
    arrays = tuple(array.first for array in call.arrays.values())
    moved = call.x.dtype if isinstance(call, CompactElements) else INT64
    arguments = (call.n, call.tiles, *arrays)
    suffix = SHORT_NAMES[moved]
    return Function(call.name, suffix, arguments, call.tiles, "a block for each tile of flags")


def _sort(call: Sort, _: Gpu) -> Function:
    return _of_rows(call, "sort", call.outer * call.inner, call.x.first, call.out.first)


def _argsort(call: Argsort | ArgsortFurther, _: Gpu) -> Function:
    further = truth(isinstance(call, ArgsortFurther))
    arrays = (call.x.first, call.order.first, call.workspace.first)
    return _of_rows(call, "argsort", call.slots, further, *arrays)


def _order_statistics(call: OrderStatistics, _: Gpu) -> Function:
    arrays = (call.x.first, call.ranks.first, call.out.first, call.workspace.first)
    return _of_rows(call, "order_statistics", call.slots, call.count, *arrays)


def _of_rows(
    call: Sort | Argsort | ArgsortFurther | OrderStatistics,
    name: str,
    items: Index,
    *arguments: Index | Load | str,
) -> Function:
    """A sort of rows; those with a workspace have as many parts of it as C has slots."""
    sizes = (call.outer, call.n, call.inner)
    dtype = SHORT_NAMES[call.x.dtype]
    return Function(name, dtype, (*sizes, *arguments), items, "a block for each row")


def _first_of(call: FirstOf, _: Gpu) -> Function:
    sizes = (call.rows, call.n, truth(call.value))
    arrays = (call.x.first, call.position.first)
    return Function("first_of", "bool", (*sizes, *arrays), call.rows, "a block for each row")


def _fft_pass(call: FftPass, _: Gpu) -> Function:
    dtype = np.result_type(call.out.dtype, np.complex64)
    name = "fft_complex"
    if call.x.dtype.kind == "f" or call.out.dtype.kind == "f":
        name = "fft_from_real" if call.x.dtype.kind == "f" else "fft_to_real"
    twist, is_half, gives_half = map(truth, (call.twist, *call.halves))
    scale = _scale(call.scale, dtype)
    length = f"transform_length<{call.n}>()"
    sizes = (call.outer, call.middle, call.inner, length, call.whole, call.sign, twist, scale)
    x = (*call.x.with_strides, *call.places[:2], is_half)
    out = (*call.out.with_strides, *call.places[2:], gives_half)
    together = longest_transform(dtype) // call.n
    groups = blocks_of(call.outer * call.middle * call.inner, together)
    if isinstance(groups, int):
        groups = min(groups, MOST_BLOCKS_OF_TRANSFORMS)
    what = "blocks for as many transforms at a time as fit into their memory"
    return Function(name, SHORT_NAMES[dtype], (*sizes, *x, *out), groups, what)


def _chirp(call: ChirpOperand | ChirpProduct | ChirpResult, gpu: Gpu) -> Function:
    """What a convolution with a chirp reads and writes, number by number."""
    dtype = np.result_type(call.x.dtype, np.complex64)
    arguments: Arguments
    if isinstance(call, ChirpProduct):
        count, arguments = call.count * call.padded, (call.count, call.padded, call.x.first)
    else:
        arguments = (call.outer, call.inner, call.n, call.padded, call.sign)
        rows = call.outer * call.inner
        if isinstance(call, ChirpOperand):
            count, how = (rows + 1) * call.padded, (truth(call.is_half),)
            arguments = (*arguments, *how, *call.x.with_strides, call.out.first)
        else:
            count, scale = rows * call.n, _scale(call.scale, dtype)
            arrays = (call.x.first, *call.out.with_strides)
            arguments = (*arguments, scale, truth(call.gives_half), *arrays)
    blocks = blocks_of(count, gpu.block)
    return Function(call.name, SHORT_NAMES[dtype], arguments, blocks, "a thread for each number")


def _fft_of_any_size(call: FftOfAnySize, _: Gpu) -> Function:
    dtype = np.result_type(call.out.dtype, np.complex64)
    is_half, gives_half = map(truth, call.halves)
    sizes = (call.outer, call.inner, call.n, call.sign)
    scale = (_scale(call.scale, dtype), call.divisor, truth(call.root))
    x, out = (*call.x.with_strides, is_half), (*call.out.with_strides, gives_half)
    arguments = (*sizes, *scale, *x, *out, call.room, call.work.first)
    count = call.outer * call.inner
    suffix = SHORT_NAMES[dtype]
    return Function("fft_of_size", suffix, arguments, count, "a block for each transform")


def _scale(scale: float, dtype: np.dtype[Any]) -> str:
    """A factor of complex numbers as a literal."""
    return CUDA.literal(real_dtype(dtype).type(scale), real_dtype(dtype))


_FUNCTIONS: dict[type[Call], Callable[..., Function]] = {
    **OF_MATRICES,
    Matmul: _matmul,
    ComplexMatmul: _matmul,
    MatmulBatch: _matmul,
    CumulativeSum: _cumulative_sum,
    SumsOfTiles: _sums_of_tiles,
    SumsFromTiles: _sums_of_tiles,
    RadixCounts: _radix_counts,
    RadixCountsInOrder: _radix_counts,
    RadixSort: _radix_sort,
    RadixArgsort: _radix_sort,
    RadixArgsortFurther: _radix_sort,
    SumOfParts: _sum_of_parts,
    PickRanks: _pick_ranks,
    CopyOrder: _copy,
    CountFlags: _of_flags,
    CompactElements: _of_flags,
    CompactPositions: _of_flags,
    Sort: _sort,
    Argsort: _argsort,
    ArgsortFurther: _argsort,
    OrderStatistics: _order_statistics,
    FirstOf: _first_of,
    FftPass: _fft_pass,
    ChirpOperand: _chirp,
    ChirpProduct: _chirp,
    ChirpResult: _chirp,
    FftOfAnySize: _fft_of_any_size,
}


def has_routine(intrinsic: type[Call]) -> bool:
    """True if CUDA has a routine for an intrinsic, or several launches."""
    return intrinsic in _FUNCTIONS or is_several(intrinsic)


def takes_one_block(call: Call, gpu: Gpu) -> bool:
    """True for a call that has no use for a second block."""
    return type(call) in _FUNCTIONS and _FUNCTIONS[type(call)](call, gpu).items == 1


def routine(call: Call, source: Source, gpu: Gpu, *, is_shared_out: bool = False) -> Routine:
    """The routine for a call; UnsupportedError where there is none yet."""
    make = _FUNCTIONS.get(type(call))
    if make is None:
        raise UnsupportedError(
            f"{source}: there is no {call.name} for device='cuda' yet; the C target has it"
        )
    function = make(call, gpu)
    names = parsed_signature(call.signature)
    reads = tuple(dict.fromkeys(call.arrays[name].buffer for name in names.reads))
    passed = {a.buffer for a in function.arguments if isinstance(a, Load)}
    writes = tuple(name for name in call.written if name in passed)
    team_call = TeamCall(
        function.name, function.dtype, function.arguments, reads, writes, is_shared_out
    )
    return Routine(team_call, function.items, function.mapping, function.threads)
