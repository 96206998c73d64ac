"""The routines of CUDA for intrinsics: which function, with which arguments.

A routine is a function of `templates/cuda/routines/` that the threads of a block run together; a
call that is a kernel of its own is shared out among blocks, of which each takes `first`, `first +
step` and so on of what there is to do.
"""

from __future__ import annotations

from collections.abc import Callable

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
from transpile.ir.types import SHORT_NAMES
from transpile.targets.cuda.device_ir import TeamCall
from transpile.targets.cuda.gpu import Gpu
from transpile.util.frozen_records import dataclass

# The rows and columns of the tiles of a product that a block computes, as in matmul.cu.j2 and
# matmul_wide.cu.j2; the dtypes that have the large ones.
SIDES = 64, 128
WIDEST = SIDES[-1]
WIDE = ("f16", "bf16", "f32", "f64")
# Products with so few rows or columns read one operand as vectors, as in matmul_narrow.cu.j2: a
# block has so many rows of the other one, or more.
NARROW = 16
OF_A_BLOCK = 16

Arguments = tuple[Index | Load | str, ...]


@dataclass(frozen=True)
class Routine:
    """A call, the blocks that it has use for, and what one has, in words."""

    call: TeamCall
    items: Index
    mapping: str


@dataclass(frozen=True)
class _Function:
    name: str
    dtype: str
    arguments: Arguments
    items: Index
    mapping: str


def _matmul(call: Matmul | ComplexMatmul | MatmulBatch, gpu: Gpu) -> _Function:
    """A product, or several: in large tiles if there are enough of them to keep a GPU busy, as
    these read less for each result; of few vectors without tiles."""
    count = call.count if isinstance(call, MatmulBatch) else 1
    own = (*call.a.with_strides, *call.b.with_strides, *call.c.with_row_strides)
    arrays = own if isinstance(call, MatmulBatch) else _with_batch(own)
    suffix = SHORT_NAMES[call.a.dtype]
    tiles = {side: count * blocks_of(call.m, side) * blocks_of(call.n, side) for side in SIDES}
    name, items = "matmul", tiles[SIDES[0]]
    few, many = sorted((call.m, call.n), key=estimate)
    if isinstance(few, int) and few <= NARROW:
        name, items = "matmul_narrow", count * blocks_of(many, OF_A_BLOCK)
    elif suffix in WIDE and estimate(tiles[WIDEST]) >= gpu.enough_blocks:
        name, items = "matmul_wide", tiles[WIDEST]
    return _Function(
        name,
        suffix,
        (count, call.m, call.n, call.k, *arrays),
        items,
        "a block for each tile of the product" + ("s" if count != 1 else ""),
    )


def _with_batch(arrays: Arguments) -> Arguments:
    """The arrays of one product, as a batch of one."""
    a, a_row, a_column, b, b_row, b_column, c, c_row = arrays
    return a, 0, a_row, a_column, b, 0, b_row, b_column, c, 0, c_row


def _cumulative_sum(call: CumulativeSum, _: Gpu) -> _Function:
    return _Function(
        "cumsum",
        SHORT_NAMES[call.out.dtype],
        (call.rows, call.n, "true" if call.reverse else "false", call.x.first, call.out.first),
        call.rows,
        "a block for each row",
    )


def _sort(call: Sort, _: Gpu) -> _Function:
    return _of_rows(call, "sort", call.outer * call.inner, call.x.first, call.out.first)


def _argsort(call: Argsort | ArgsortFurther, _: Gpu) -> _Function:
    further = "true" if isinstance(call, ArgsortFurther) else "false"
    arrays = (call.x.first, call.order.first, call.workspace.first)
    return _of_rows(call, "argsort", call.slots, further, *arrays)


def _order_statistics(call: OrderStatistics, _: Gpu) -> _Function:
    arrays = (call.x.first, call.ranks.first, call.out.first, call.workspace.first)
    return _of_rows(call, "order_statistics", call.slots, call.count, *arrays)


def _of_rows(
    call: Sort | Argsort | ArgsortFurther | OrderStatistics,
    name: str,
    items: Index,
    *arguments: Index | Load | str,
) -> _Function:
    """A sort of rows; those with a workspace have as many parts of it as C has slots."""
    sizes = (call.outer, call.n, call.inner)
    dtype = SHORT_NAMES[call.x.dtype]
    return _Function(name, dtype, (*sizes, *arguments), items, "a block for each row")


def _first_of(call: FirstOf, _: Gpu) -> _Function:
    sizes = (call.rows, call.n, "true" if call.value else "false")
    arrays = (call.x.first, call.position.first)
    return _Function("first_of", "bool", (*sizes, *arrays), call.rows, "a block for each row")


_FUNCTIONS: dict[type[Call], Callable[..., _Function]] = {
    Matmul: _matmul,
    ComplexMatmul: _matmul,
    MatmulBatch: _matmul,
    CumulativeSum: _cumulative_sum,
    Sort: _sort,
    Argsort: _argsort,
    ArgsortFurther: _argsort,
    OrderStatistics: _order_statistics,
    FirstOf: _first_of,
}


def has_routine(intrinsic: type[Call]) -> bool:
    """True if CUDA has a routine for an intrinsic."""
    return intrinsic in _FUNCTIONS


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
    return Routine(team_call, function.items, function.mapping)
