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
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import Load
from transpile.ir.types import SHORT_NAMES
from transpile.targets.cuda.device_ir import TeamCall
from transpile.util.frozen_records import dataclass

# The rows and columns of the tile of a product that a block computes; as in matmul.cu.j2.
TILE = 16

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


def _matmul(call: Matmul | ComplexMatmul) -> _Function:
    arrays = (*call.a.with_strides, *call.b.with_strides, *call.c.with_row_strides)
    return _Function(
        "matmul",
        SHORT_NAMES[call.c.dtype],
        (1, call.m, call.n, call.k, *_with_batch(arrays)),
        blocks_of(call.m, TILE) * blocks_of(call.n, TILE),
        "a block for each tile of the product",
    )


def _with_batch(arrays: Arguments) -> Arguments:
    """The arrays of one product, as a batch of one."""
    a, a_row, a_column, b, b_row, b_column, c, c_row = arrays
    return a, 0, a_row, a_column, b, 0, b_row, b_column, c, 0, c_row


def _matmul_batch(call: MatmulBatch) -> _Function:
    arrays = (*call.a.with_strides, *call.b.with_strides, *call.c.with_row_strides)
    return _Function(
        "matmul",
        SHORT_NAMES[call.c.dtype],
        (call.count, call.m, call.n, call.k, *arrays),
        call.count * blocks_of(call.m, TILE) * blocks_of(call.n, TILE),
        "a block for each tile of the products",
    )


def _cumulative_sum(call: CumulativeSum) -> _Function:
    return _Function(
        "cumsum",
        SHORT_NAMES[call.out.dtype],
        (call.rows, call.n, "true" if call.reverse else "false", call.x.first, call.out.first),
        call.rows,
        "a block for each row",
    )


def _sort(call: Sort) -> _Function:
    return _of_rows(call, "sort", call.outer * call.inner, call.x.first, call.out.first)


def _argsort(call: Argsort | ArgsortFurther) -> _Function:
    further = "true" if isinstance(call, ArgsortFurther) else "false"
    arrays = (call.x.first, call.order.first, call.workspace.first)
    return _of_rows(call, "argsort", call.slots, further, *arrays)


def _order_statistics(call: OrderStatistics) -> _Function:
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


def _first_of(call: FirstOf) -> _Function:
    sizes = (call.rows, call.n, "true" if call.value else "false")
    arrays = (call.x.first, call.position.first)
    return _Function("first_of", "bool", (*sizes, *arrays), call.rows, "a block for each row")


_FUNCTIONS: dict[type[Call], Callable[..., _Function]] = {
    Matmul: _matmul,
    ComplexMatmul: _matmul,
    MatmulBatch: _matmul_batch,
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


def routine(call: Call, source: Source, *, is_shared_out: bool = False) -> Routine:
    """The routine for a call; UnsupportedError where there is none yet."""
    make = _FUNCTIONS.get(type(call))
    if make is None:
        raise UnsupportedError(
            f"{source}: there is no {call.name} for device='cuda' yet; the C target has it"
        )
    function = make(call)
    names = parsed_signature(call.signature)
    reads = tuple(dict.fromkeys(call.arrays[name].buffer for name in names.reads))
    passed = {a.buffer for a in function.arguments if isinstance(a, Load)}
    writes = tuple(name for name in call.written if name in passed)
    team_call = TeamCall(
        function.name, function.dtype, function.arguments, reads, writes, is_shared_out
    )
    return Routine(team_call, function.items, function.mapping)
