"""Fission in blocks: a first loop computes values into local arrays, a second one reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.ir.dims import Dim, Symbol
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import Alloc, Apply, Buffer, Expr, For, Load, Statement, Store
from transpile.ir.loop_rewrite import map_statement
from transpile.schedule.strip_mine import block_of
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace


def staged(loop: For, extent: int, values: Mapping[Expr, str], names: Names) -> Iterator[Statement]:
    """The loop that writes values to local arrays of so many elements, and the loop that reads
    them. `values` are elements and applications, each with what its array is named after."""
    index = (Dim.of(loop.symbol) - loop.start,)
    arrays = {v: Buffer(names.new(name), (extent,), v.dtype) for v, name in values.items()}
    yield from map(Alloc, arrays.values())
    yield replace(loop, body=tuple(Store(b.name, index, v) for v, b in arrays.items()))

    def from_array(expr: Expr) -> Expr:
        if isinstance(expr, Load | Apply) and expr in arrays:
            return Load(arrays[expr].name, index, expr.dtype)
        return expr

    yield map_statement(loop, from_array)


def staged_in_blocks(
    loop: For, extent: int, size: int, values: Mapping[Expr, str], names: Names
) -> For:
    """A loop over blocks of `size` iterations, each staged.

    A loop whose last block would be shorter must have no limit.
    """
    count = blocks_of(extent, size)
    block = Symbol(names.new("block"), 0, count)
    first = loop.start + Dim.of(block) * size
    part = block_of(loop, first, size)
    return For(block, count, tuple(staged(part, size, values, names)))
