"""Several launches in place of an intrinsic: of sums and sorts of long rows, of Fourier transforms
of many numbers, of products of long sums.

Between two launches all blocks have done their part, which is in memory. No block waits for another
one, and the order of additions is fixed: equal inputs give equal bits on every GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

import numpy as np

from transpile.intrinsics.fourier import Fft, FftOfSize
from transpile.intrinsics.products import ComplexMatmul, Matmul, MatmulBatch
from transpile.intrinsics.scans import CumulativeSum
from transpile.intrinsics.sorting import (
    Argpartition,
    Argsort,
    ArgsortFurther,
    OrderStatistics,
    Partition,
    Sort,
)
from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Dim, Index
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import blocks_of, product
from transpile.ir.loop_ir import Buffer, DType, For, Load, Program, Statement
from transpile.ir.loop_rewrite import names_in, with_bodies
from transpile.ir.types import FLOAT32, is_half
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.gpu import WARP, Gpu
from transpile.targets.cuda.routines.blocked import blocked, is_blocked
from transpile.targets.cuda.routines.calls import (
    DIGIT,
    DIGITS,
    CopyOrder,
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
from transpile.targets.cuda.routines.library_products import library_product
from transpile.targets.cuda.routines.spectra import has_own_memory, with_own_memory
from transpile.targets.cuda.routines.tiles import NARROW, SIDE, scan_tile
from transpile.targets.cuda.routines.transforms import transforms, transforms_of_size
from transpile.util.frozen_records import replace

# A thread has so many keys of a radix sort, as in radix_scatter.cu.j2; rows that a block sorts in
# its shared memory have no more elements, as in sort.cu.j2.
KEYS = 16
LONGEST_IN_BLOCK = 2048
# Sums of a product are cut into parts of so many terms or more.
SHORTEST_PART = 128
UINT32 = np.dtype("uint32")


def several_launches(program: Program, gpu: Gpu) -> Program:
    """The program whose routines of long rows are a call for each launch."""
    maker = _Launches(Names(names_in(program)), gpu)
    kernels = tuple(replace(k, body=maker.body(k.body)) for k in program.kernels)
    return replace(program, kernels=kernels, temporaries=(*program.temporaries, *maker.temporaries))


def is_several(intrinsic: type[Call]) -> bool:
    """True for an intrinsic that other calls stand in for."""
    return intrinsic in _MAKERS or has_own_memory(intrinsic)


class _Launches:
    """Writes calls of several launches; `temporaries` is the memory between them."""

    def __init__(self, names: Names, gpu: Gpu) -> None:
        self.names = names
        self.gpu = gpu
        self.temporaries: list[Buffer] = []

    def body(
        self, statements: tuple[Statement, ...], loops: tuple[For, ...] = ()
    ) -> tuple[Statement, ...]:
        """Statements in some loops, with the calls in place of others."""
        return tuple(made for s in statements for made in self._statement(s, loops))

    def _statement(self, statement: Statement, loops: tuple[For, ...]) -> Iterator[Statement]:
        make: Callable[..., Iterator[Call]] | None = _MAKERS.get(type(statement))
        if not loops and is_blocked(statement, self.gpu):
            yield from blocked(statement, self.names)
        elif make is not None:
            yield from make(self, statement)
        elif isinstance(statement, Call) and has_own_memory(type(statement)):
            yield with_own_memory(statement, partial(self._own_array, loops))
        else:
            around = (*loops, statement) if isinstance(statement, For) else loops
            yield with_bodies(statement, partial(self.body, loops=around))

    def _own_array(self, loops: tuple[For, ...], name: str, size: Index, dtype: DType) -> Strided:
        """A new array, of which each iteration of loops that may run at once has its own part."""
        loops = tuple(f for f in loops if f.independent or not f.ordered)
        iteration: Index = 0
        for loop in loops:
            iteration = iteration * loop.extent + Dim.of(loop.symbol) - loop.start
        whole = self.array(name, product(f.extent for f in loops) * size, dtype)
        return replace(whole, first=replace(whole.first, index=(iteration * size,)))

    def array(self, name: str, size: Index, dtype: DType) -> Strided:
        """A new array in memory."""
        buffer = Buffer(self.names.new(name), (size,), dtype)
        self.temporaries.append(buffer)
        return Strided(Load(buffer.name, (0,), dtype))

    def cumulative_sum(self, call: CumulativeSum) -> Iterator[Call]:
        """Sums of tiles, the prefix sums of these, and those of all elements: where there are not
        enough rows for all blocks, and a row has several tiles."""
        length = scan_tile(call.out.dtype, self.gpu.block)
        tiles = blocks_of(call.n, length)
        if estimate(call.rows) >= self.gpu.enough_blocks or estimate(tiles) < 2:
            yield call
            return
        sums = self.array("sums", call.rows * tiles, call.out.dtype)
        sizes = (call.rows, call.n, tiles, length, call.reverse, call.combine)
        yield SumsOfTiles(*sizes, call.x, sums)
        yield CumulativeSum(call.rows, tiles, 0, sums, sums, combine=call.combine)
        yield SumsFromTiles(*sizes, call.x, sums, call.out)

    def product(self, call: Matmul | ComplexMatmul) -> Iterator[Call]:
        """A product whose sums are long, and whose results too few to keep the GPU busy: products
        of parts of these sums, and their sum."""
        parts = self._parts(call)
        if parts == 1 or library_product(call, self.gpu) is not None:
            yield call
            return
        length = call.k // parts
        sums = FLOAT32 if is_half(call.c.dtype) else call.c.dtype
        x = self.array("parts", parts * call.m * call.n, sums)
        a = replace(call.a, strides=(length * call.a.strides[1], *call.a.strides))
        b = replace(call.b, strides=(length * call.b.strides[0], *call.b.strides))
        c = replace(x, strides=(call.m * call.n, call.n, 1))
        precision = "" if isinstance(call, ComplexMatmul) else call.precision
        yield MatmulBatch(parts, call.m, call.n, length, a, b, c, 1, precision=precision)
        yield SumOfParts(parts, call.m, call.n, x, call.c)

    def _parts(self, call: Matmul | ComplexMatmul) -> int:
        """How many parts a product has."""
        if not (isinstance(call.m, int) and isinstance(call.n, int) and isinstance(call.k, int)):
            return 1
        few, many = sorted((call.m, call.n))
        blocks = -(-call.m // SIDE) * -(-call.n // SIDE)
        enough = self.gpu.enough_blocks
        if few <= NARROW:  # vectors wait for memory: eight blocks for each that computes
            strides = call.b.strides if call.m <= call.n else call.a.strides[::-1]
            # Where rows are contiguous there are more blocks already.
            blocks, enough = -(-many // WARP), 0 if strides[0] == 1 else 8 * enough
        parts = 1
        while 2 * parts * blocks <= enough and _halves(call.k, parts):
            parts *= 2
        return parts

    def sort(self, call: Sort) -> Iterator[Call]:
        """A radix sort of long rows."""
        if not self._is_long(call):
            yield call
            return
        yield from self._sorted(call, call.out, call.inner)

    def _sorted(
        self, call: Sort | OrderStatistics, out: Strided, inner_out: Index
    ) -> Iterator[Call]:
        rows, dtype = call.outer * call.inner, call.x.dtype
        keys, inner = call.x, call.inner
        between = [
            self.array("keys", rows * call.n, dtype) for _ in range(min(2, dtype.itemsize - 1))
        ]
        for number in range(dtype.itemsize):
            last = number == dtype.itemsize - 1
            to, inner_to = (out, inner_out) if last else (between[number % 2], 1)
            sizes = (rows, call.n, inner, self._tiles(call), DIGIT * number, keys)
            counts = yield from self._counted(RadixCounts(*sizes, self._counts(rows, call)))
            yield RadixSort(*sizes, inner_to, counts, to)
            keys, inner = to, inner_to

    def argsort(self, call: Argsort | ArgsortFurther) -> Iterator[Call]:
        """A radix sort of long rows and their positions."""
        if not self._is_long(call):
            yield call
            return
        rows, dtype = call.outer * call.inner, call.x.dtype
        keys, inner, order, by_order = (
            call.x,
            call.inner,
            call.order,
            isinstance(call, ArgsortFurther),
        )
        between = [self.array("keys", rows * call.n, dtype) for _ in range(2)]
        orders = [self.array("positions", rows * call.n, UINT32) for _ in range(2)]
        for number in range(dtype.itemsize):
            last = number == dtype.itemsize - 1
            to, new_order = between[number % 2], call.order if last else orders[number % 2]
            if (
                last and number == 0 and by_order
            ):  # the order that it reads is the one that it writes
                new_order = orders[0]
            sizes = (rows, call.n, inner, self._tiles(call), DIGIT * number, keys)
            inner_to = call.inner if last else 1
            counted = self._counts(rows, call)
            first = number == 0
            if first and by_order:
                counts = yield from self._counted(RadixCountsInOrder(*sizes, order, counted))
            else:
                counts = yield from self._counted(RadixCounts(*sizes, counted))
            if first and not by_order:
                yield RadixArgsort(*sizes, inner_to, counts, to, new_order)
            else:
                yield RadixArgsortFurther(*sizes, inner_to, first, order, counts, to, new_order)
            keys, inner, order = to, inner_to, new_order
        if order.buffer != call.order.buffer:
            yield CopyOrder(rows * call.n, order, call.order)

    def fourier(self, call: Fft) -> Iterator[Call]:
        """Transforms in shared memory, in one pass or in several."""
        return transforms(call, self.array)

    def fourier_of_size(self, call: FftOfSize) -> Iterator[Call]:
        """Transforms of a length that is known at run time."""
        return transforms_of_size(call, self.array)

    def order_statistics(self, call: OrderStatistics) -> Iterator[Call]:
        """Elements of long rows that are sorted."""
        if not self._is_long(call):
            yield call
            return
        rows = call.outer * call.inner
        whole = self.array("sorted", rows * call.n, call.x.dtype)
        yield from self._sorted(call, whole, 1)
        yield PickRanks(rows, call.n, call.inner, call.count, whole, call.ranks, call.out)

    def partition(self, call: Partition) -> Iterator[Call]:
        """A sort, which is a partition."""
        sizes = call.outer, call.n, call.inner
        return self.sort(Sort(*sizes, call.x, call.out, call.slots, call.workspace))

    def argpartition(self, call: Argpartition) -> Iterator[Call]:
        """An argsort."""
        sizes = call.outer, call.n, call.inner
        return self.argsort(Argsort(*sizes, call.x, call.order, call.slots, call.workspace))

    def _is_long(self, call: Sort | Argsort | ArgsortFurther | OrderStatistics) -> bool:
        """True for rows of numbers that a block cannot sort in its shared memory."""
        return call.x.dtype.kind != "c" and estimate(call.n) > LONGEST_IN_BLOCK

    def _tiles(self, call: Any) -> Index:
        return blocks_of(call.n, KEYS * self.gpu.block)

    def _counts(self, rows: Index, call: Any) -> Strided:
        return self.array("counts", rows * DIGITS * self._tiles(call), UINT32)

    def _counted(self, call: RadixCounts | RadixCountsInOrder) -> Generator[Call, None, Strided]:
        """The counts of a pass, and their sums up to each, which are returned."""
        yield call
        ends = self.array("ends", call.rows * call.counted, UINT32)
        yield from self.cumulative_sum(CumulativeSum(call.rows, call.counted, 0, call.counts, ends))
        return ends


def _halves(k: int, parts: int) -> bool:
    """True if a sum of k terms in parts may have twice as many of them."""
    return k % (2 * parts) == 0 and k >= 2 * parts * SHORTEST_PART


_MAKERS: dict[type, Callable[..., Iterator[Call]]] = {
    Matmul: _Launches.product,
    ComplexMatmul: _Launches.product,
    CumulativeSum: _Launches.cumulative_sum,
    Sort: _Launches.sort,
    Argsort: _Launches.argsort,
    ArgsortFurther: _Launches.argsort,
    OrderStatistics: _Launches.order_statistics,
    Partition: _Launches.partition,
    Argpartition: _Launches.argpartition,
    Fft: _Launches.fourier,
    FftOfSize: _Launches.fourier_of_size,
}
