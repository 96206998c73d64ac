"""Whether the elements that an expression loads are in range, from the bounds of the loops around.

Bounds are known of symbols that count from zero: each loop's symbol is its start and such a one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from transpile.ir.dims import Dim, Index, Symbol, bounds, is_within, substitute
from transpile.ir.loop_ir import Alloc, Buffer, For, Kernel, Load, Program, Statement
from transpile.ir.loop_rewrite import map_kernels, seen_by, walk
from transpile.util.frozen_records import changed, dataclass

Body = tuple[Statement, ...]


@dataclass(frozen=True)
class Ranges:
    """The symbols of the loops around an expression, in terms of symbols that count from zero.

    counted   each by its start and by what counts its iterations
    limited   the same, but those of loops with a limit by what counts up to that limit
    """

    counted: Mapping[Symbol, Index]
    limited: Mapping[Symbol, Index]


OUTSIDE = Ranges({}, {})


def inside(loop: For, ranges: Ranges, mark: str = "'") -> Ranges:
    """The symbols in the body of a loop, given those around it. What counts from zero has the
    loop's name and a mark."""
    extent = substitute(loop.extent, ranges.counted)
    count = Dim.of(Symbol(f"{loop.symbol}{mark}", 0, extent))
    counted = {**ranges.counted, loop.symbol: count + substitute(loop.start, ranges.counted)}
    symbol = count + substitute(loop.start, ranges.limited)
    least, _ = bounds(symbol)
    if loop.limit is not None and least is not None and least >= 0:
        symbol = Dim.of(Symbol(f"{loop.symbol}{mark}", 0, substitute(loop.limit, ranges.limited)))
    return Ranges(counted, {**ranges.limited, loop.symbol: symbol})


def arrays_of(program: Program, kernel: Kernel) -> Mapping[str, Buffer]:
    """The arrays that a kernel can load from, its local ones among them."""
    local = {s.buffer.name: s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)}
    return {**seen_by(program, kernel), **local}


def map_with_arrays(
    program: Program, function: Callable[[Mapping[str, Buffer], Body], Body]
) -> Program:
    """The program with a function applied to each kernel's arrays and body."""
    return map_kernels(program, lambda k: changed(k, body=function(arrays_of(program, k), k.body)))


def is_never_0(difference: Index) -> bool:
    """True if two subscripts with this difference are provably never the same."""
    least, most = bounds(difference)
    return (least is not None and least > 0) or (most is not None and most < 0)


def is_in_bounds(load: Load, arrays: Mapping[str, Buffer], ranges: Ranges) -> bool:
    """True if the element is provably there."""
    pairs = zip(load.index, arrays[load.buffer].shape, strict=True)
    return all(
        any(
            is_within(substitute(index, known), extent)
            for known in (ranges.counted, ranges.limited)
        )
        for index, extent in pairs
    )
