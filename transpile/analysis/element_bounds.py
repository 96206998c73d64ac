"""Whether the elements that an expression loads are in range, from the bounds of the loops around.

Bounds are known of symbols that count from zero: each loop's symbol is its start and such a one.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.ir.dims import Dim, Index, Symbol, is_within, substitute
from transpile.ir.loop_ir import Alloc, Buffer, For, Kernel, Load, Program
from transpile.ir.loop_rewrite import seen_by, walk

Starts = Mapping[Symbol, Index]


def inside(loop: For, starts: Starts) -> Starts:
    """The symbols in the body of a loop, in terms of those that count from zero, given those
    around it."""
    counted = Symbol(f"{loop.symbol}'", 0, loop.extent)
    return {**starts, loop.symbol: Dim.of(counted) + substitute(loop.start, starts)}


def arrays_of(program: Program, kernel: Kernel) -> Mapping[str, Buffer]:
    """The arrays that a kernel can load from, its local ones among them."""
    local = {s.buffer.name: s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)}
    return {**seen_by(program, kernel), **local}


def is_in_bounds(load: Load, arrays: Mapping[str, Buffer], starts: Starts) -> bool:
    """True if the element is provably there."""
    pairs = zip(load.index, arrays[load.buffer].shape, strict=True)
    return all(is_within(substitute(index, starts), extent) for index, extent in pairs)
