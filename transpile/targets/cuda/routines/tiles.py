"""How the threads of a block share a tile of a matrix product: for the templates."""

from __future__ import annotations

from transpile.ir.loop_ir import DType
from transpile.ir.types import FLOAT32, FLOAT64
from transpile.targets.cuda.gpu import WARP
from transpile.util.frozen_records import dataclass

VECTOR = 16  # the bytes that a thread reads at once
# The rows and columns of the tile of a product that a block computes, as in matmul.cu.j2. Products
# with so few rows or columns read one operand as vectors, as in matmul_narrow.cu.j2.
SIDE = 64
NARROW = 16
# The suffix of products of float32 on tensor cores, which read ten bits of mantissa.
TENSOR_FLOATS = "tf32_f32"
# What stands in front of the suffix of products whose results are not stored as they are: those of
# their dtype, and sums of halves in float32.
FINISHES = {"sums": "then_sums_", "then": "then_"}
# Behind that stands this, where the left operand is computed as it is read.
GATHERS = "gathered_"
# The rows and columns of threads of a warp.
LANES = 4, 8
_MOST_DOWN = 4


@dataclass(frozen=True)
class Tiles:
    """The share of a thread in a tile.

    width    elements that it reads at once
    down     warps below each other
    across   warps beside each other
    rows     rows that the block has `width` results of for each thread in a column of threads
    columns  columns, likewise
    depth    the terms of a sum whose factors are in shared memory
    pad      elements behind each row of shared memory, so that threads that read several rows read
             other banks
    """

    width: int
    down: int
    across: int
    rows: int
    columns: int
    depth: int
    pad: int


def tiles_of(dtype: DType, threads: int, suffix: str = "") -> Tiles:
    """The shares of so many threads in a product with a suffix."""
    warps = threads // WARP
    down = min(warps, 2 if dtype == FLOAT64 else _MOST_DOWN)
    across = warps // down
    width = max(1, VECTOR // dtype.itemsize)
    rows, columns = down * LANES[0] * width, across * LANES[1] * width
    depth, pad = (16 if dtype == FLOAT32 else 8), (4 if dtype == FLOAT64 else width)
    if suffix == TENSOR_FLOATS:  # four rows of eight numbers are in other banks
        pad = 8
    return Tiles(width, down, across, rows, columns, depth, pad)


def scan_tile(dtype: DType, threads: int) -> int:
    """The elements of a tile of a prefix sum, as in scan_tile.cu.j2."""
    return 4 * threads * max(1, VECTOR // dtype.itemsize)


@dataclass(frozen=True)
class HalfTiles:
    """The warps of a block below and beside each other that share a tile of a product of halves."""

    down: int
    across: int


def half_tiles_of(threads: int) -> HalfTiles:
    """The warps of so many threads."""
    down = min(threads // WARP, 2)
    return HalfTiles(down, threads // WARP // down)


def longest_transform(dtype: DType) -> int:
    """The numbers of a transform in shared memory, which has two arrays of them and their roots."""
    return (48 << 10) // (3 * dtype.itemsize)
