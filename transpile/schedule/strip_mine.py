"""Strip-mining: the iterations of one block of a loop."""

from __future__ import annotations

from transpile.ir.dims import Index
from transpile.ir.indices.row_major import limit_of_blocks
from transpile.ir.loop_ir import For
from transpile.util.frozen_records import replace


def block_of(loop: For, first: Index, size: Index) -> For:
    """The `size` iterations of a loop from `first` on; the last block ends where the loop does.

    Blocks begin at `loop.start + k * size`.
    """
    limit = limit_of_blocks(loop.stop, loop.extent, size)
    limit = loop.limit if limit is None else limit
    return replace(loop, start=first, stop=first + size, limit=limit)
