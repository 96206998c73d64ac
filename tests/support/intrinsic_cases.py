"""Calls of every intrinsic: drawn sizes, and arrays at drawn strides inside of larger buffers."""

import numpy as np

from transpile.intrinsics.conversions import RoundHalves, WidenHalves
from transpile.intrinsics.convolutions import (
    FEATURES,
    PLANES,
    Axis,
    Convolve,
    ConvolveImage,
    ConvolveOfSizes,
    ConvolvePanels,
    Sizes,
)
from transpile.intrinsics.fourier import Fft, FftOfSize
from transpile.intrinsics.lapack import DECOMPOSITIONS, PivotsToPermutation, TriangularSolve
from transpile.intrinsics.products import (
    ComplexMatmul,
    Matmul,
    MatmulBatch,
    MatmulEitherRows,
    MatmulPanelRows,
    MatmulPanels,
    MatmulRows,
)
from transpile.intrinsics.scans import CumulativeSum
from transpile.intrinsics.sorting import (
    Argpartition,
    Argsort,
    ArgsortFurther,
    FirstOf,
    OrderStatistics,
    Partition,
    Sort,
)
from transpile.intrinsics.tiles import TransposeTile
from transpile.ir.calls import Strided, parsed_signature
from transpile.ir.loop_ir import UNALLOCATED, Load
from transpile.library import convolution
from transpile.library.fft import make_plan, thresholds
from transpile.machine import USUAL, Machine
from transpile.util.frozen_records import replace

I64 = np.dtype("i8")
LANES = 16  # of the widest vectors


class Draw:
    """The buffers of some calls, all of one axis: what is in them before, those that the calls may
    write, and how many bytes of scratch memory and of packed operands they need."""

    def __init__(self, seed, dtype):
        self.random = np.random.default_rng(seed)
        self.dtype = np.dtype(dtype)
        self.values = {}
        self.changing = set()
        self.temporaries = {}
        self.constants = {}

    def sizes(self, count, most=12):
        return map(int, self.random.integers(1, most + 1, count))

    def numbers(self, dtype, shape):
        """Drawn numbers, some of them equal."""
        found = np.round(self.random.standard_normal(shape) * 4, 1)
        if dtype.kind == "c":
            found = found + 1j * np.round(self.random.standard_normal(shape) * 4, 1)
        return (np.abs(found) if dtype.kind in "ub" else found).astype(dtype)

    def dense(self, values):
        """An array in row-major order, behind and before something else."""
        before, after = self.sizes(2)
        name = f"v{len(self.values)}"
        flat = np.ravel(values)
        fill = self.numbers(flat.dtype, before + after)
        self.values[name] = np.concatenate([fill[:before], flat, fill[before:]])
        return Strided(Load(name, (before,), flat.dtype))

    def array(self, shape, dtype=None, *, last_is_dense=False):
        """An array whose axes are in a drawn order, some of them backwards and with gaps; with
        a contiguous last axis if `last_is_dense`."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        rank = len(shape)
        order = [int(a) for a in self.random.permutation(rank - last_is_dense)]
        order += [rank - 1] * last_is_dense
        strides, size = [0] * rank, 1
        for axis in reversed(order):
            is_row = last_is_dense and axis == rank - 1
            gap = 1 if is_row else int(self.random.integers(1, 3))
            strides[axis] = size * gap
            size *= shape[axis] * gap + int(self.random.integers(0, 3))
        first = 0
        for axis in range(rank):
            if self.random.integers(4) == 0 and not (last_is_dense and axis == rank - 1):
                first += (shape[axis] - 1) * strides[axis]
                strides[axis] *= -1
        whole = self.dense(self.numbers(dtype, size))
        (begin,) = whole.first.index
        return Strided(replace(whole.first, index=(begin + first,)), tuple(strides))

    def written(self, array):
        """An array that calls write."""
        self.changing.add(array.buffer)
        return array

    def temporary(self, size, dtype):
        """Memory of exactly this many elements, whose contents are the routine's own."""
        dtype = np.dtype(dtype)
        name = f"t{len(self.temporaries)}"
        self.temporaries[name] = size, dtype
        return Strided(Load(name, (0,), dtype))

    def constant(self, values):
        name = f"k{len(self.constants)}"
        self.constants[name] = values
        return Strided(Load(name, (0,), values.dtype))

    def with_scratch(self, call):
        return replace(call, workspace=self.temporary(call.scratch_bytes, "u1"))


# ---------------------------------------------------------------------------------------- products


def matmul(draw):
    m, n, k = draw.sizes(3, 40)
    a, b, c = draw.array((m, k)), draw.array((k, n)), draw.array((m, n), last_is_dense=True)
    yield draw.with_scratch(Matmul(m, n, k, a, b, draw.written(c)))


def complex_matmul(draw):
    m, n, k = draw.sizes(3, 40)
    dtype = np.result_type(draw.dtype, np.complex64)
    a, b = (draw.array(shape, dtype, last_is_dense=n % 2) for shape in ((m, k), (k, n)))
    c = draw.array((m, n), dtype, last_is_dense=True)
    yield draw.with_scratch(ComplexMatmul(m, n, k, a, b, draw.written(c)))


def matmul_batch(draw):
    count, m, n, k = draw.sizes(4, 9)
    c = draw.written(draw.array((count, m, n), last_is_dense=True))
    a, b = draw.array((count, m, k)), draw.array((count, k, n))
    yield draw.with_scratch(MatmulBatch(count, m, n, k, a, b, c, min(count, 3)))


def matmul_rows(draw):
    m, k = draw.sizes(2)
    n = LANES * int(draw.random.integers(1, 4))
    b, c = (draw.array(shape, last_is_dense=True) for shape in ((k, n), (m, n)))
    b = replace(b, strides=(max(n, abs(b.strides[0])), 1))
    b = replace(b, first=draw.dense(draw.numbers(draw.dtype, k * b.strides[0])).first)
    yield MatmulRows(m, n, k, draw.array((m, k)), b, draw.written(c))


def matmul_either_rows(draw):
    """Of so few rows in all that nothing is packed, or of more, also by a transposed operand."""
    (rows,) = matmul_rows(draw)
    panels = draw.temporary(-(-rows.n // (2 * LANES)) * 2 * LANES * rows.k, draw.dtype)
    for in_all in (128, 129):
        yield MatmulPanels(rows.n, rows.k, rows.b, panels, in_all)
        yield MatmulEitherRows(rows.m, rows.n, rows.k, rows.a, rows.b, panels, rows.c, in_all)
    a, b = (
        draw.array((rows.m, rows.k), last_is_dense=True),
        draw.array((rows.n, rows.k), last_is_dense=True),
    )
    b = replace(b, strides=b.strides[::-1])
    for in_all in (4, 5):
        yield MatmulPanels(rows.n, rows.k, b, panels, in_all)
        yield MatmulEitherRows(rows.m, rows.n, rows.k, a, b, panels, rows.c, in_all)


def matmul_panels(draw):
    m, n, k = draw.sizes(3, 40)
    columns = -(-n // (2 * LANES)) * 2 * LANES
    panels = draw.temporary(columns * k, draw.dtype)
    yield MatmulPanels(n, k, draw.array((k, n)), panels)
    c = draw.written(draw.array((m, n), last_is_dense=True))
    yield MatmulPanelRows(m, n, k, draw.array((m, k)), panels, c)


# ------------------------------------------------------------------------------------ convolutions


def convolution_sizes(draw):
    batch, groups, features, channels = draw.sizes(4, 3)
    axes = []
    for _ in range(3):
        size, window, stride, dilation = draw.sizes(4, 3)
        size += (window - 1) * dilation
        low, high = (int(p) for p in draw.random.integers(0, 3, 2))
        out = (size + low + high - (window - 1) * dilation - 1) // stride + 1
        axes.append(Axis(size, out, window, stride, dilation, low))
    space, window, pixels = ([getattr(a, n) for a in axes] for n in ("size", "window", "out"))
    x = draw.array((batch, groups, channels, *space))
    w = draw.array((groups, features, channels, *window))
    out = draw.written(draw.array((batch, groups, features, *pixels)))
    strides = (x.strides, w.strides, out.strides)
    return Sizes(batch, groups, features, channels, tuple(axes), *strides), x, w, out


def machine_of_convolutions(form):
    """A machine for which they have this form."""
    return Machine(feature_lanes_cost=1 << 30 if form == PLANES else 0)


def plan_of(draw, sizes, form):
    machine = machine_of_convolutions(form)
    layout = convolution.make_plan(sizes, draw.dtype.itemsize, machine)
    return draw.constant(layout.numbers), layout


def convolve(draw):
    sizes, x, w, out = convolution_sizes(draw)
    form = int(draw.random.choice([PLANES, FEATURES]))
    plan, layout = plan_of(draw, sizes, form)
    yield draw.with_scratch(Convolve(plan, x, w, out, layout))


def convolve_of_sizes(draw):
    """The call that is told all numbers of the plan, of the same sizes."""
    sizes, x, w, out = convolution_sizes(draw)
    form = int(draw.random.choice([PLANES, FEATURES]))
    layout = convolution.make_plan(sizes, draw.dtype.itemsize, machine_of_convolutions(form))
    call = convolution.call_of_sizes(layout, draw.dtype.itemsize, (x, w, out))
    yield draw.with_scratch(call)


def convolve_images(draw):
    sizes, x, w, out = convolution_sizes(draw)
    plan, layout = plan_of(draw, sizes, PLANES)
    images = layout.images(draw.dtype.itemsize)
    offsets = draw.temporary(2 * images.terms, I64)
    panels, copy = (draw.temporary(n, draw.dtype) for n in (images.panels, images.copy))
    yield ConvolvePanels(plan, w, offsets, panels, layout)
    for image in range(sizes.batch):
        one, to = (moved(array, image) for array in (x, out))
        yield ConvolveImage(plan, one, offsets, panels, to, copy, layout)


def moved(array, image):
    """One image of an array."""
    (first,), (step, *strides) = array.first.index, array.strides
    return Strided(replace(array.first, index=(first + image * step,)), tuple(strides))


# --------------------------------------------------------------------- transforms, sorts and others


def fft(draw):
    complex_dtype = np.result_type(draw.dtype, np.complex64)
    kind, is_real = [("fft", 0), ("fft", 1), ("ifft", 0), ("rfft", 1), ("irfft", 0)][
        int(draw.random.integers(5))
    ]
    n = int(draw.random.choice([1, 2, 3, 8, 12, 30, 101, 103, 128, 1000]))
    outer, inner = draw.sizes(2, 5)
    layout = make_plan(kind, n, 0.5, draw.dtype, outer, inner)
    half = n // 2 + 1
    x_type, x_size = draw.dtype if is_real else complex_dtype, half if kind == "irfft" else n
    out_type = draw.dtype if kind == "irfft" else complex_dtype
    x = draw.array((outer, inner, x_size), x_type)
    out = draw.array((outer, inner, half if kind == "rfft" else n), out_type)
    operands = (kind, n, 0.5, outer, inner, x, draw.written(out))
    if draw.random.integers(2):
        constants = draw.constant(layout.numbers), draw.constant(layout.table)
        yield draw.with_scratch(Fft(*operands, *constants, layout.workspace, layout.together))
    else:
        limits = draw.constant(thresholds(USUAL))
        root = bool(draw.random.integers(2))
        yield draw.with_scratch(FftOfSize(*operands, limits, divisor=n, root=root))


def keys(draw, shape):
    dtype = draw.random.choice([draw.dtype.str, "i4", "u1", "i8", "f2", "c16", "?"])
    return draw.dense(draw.numbers(np.dtype(dtype), shape))


def sort(draw):
    outer, n, inner = shape = tuple(draw.sizes(3, 30))
    x = keys(draw, shape)
    out = draw.written(draw.dense(draw.numbers(x.dtype, shape)))
    yield draw.with_scratch(Sort(outer, n, inner, x, out, min(outer * inner, 3)))


def order_statistics(draw):
    outer, n, inner = shape = tuple(draw.sizes(3, 30))
    x = keys(draw, shape)
    some = draw.random.choice(n, int(draw.random.integers(1, min(n, 8) + 1)), replace=False)
    ranks = draw.dense(np.sort(some))
    out = draw.written(draw.dense(draw.numbers(x.dtype, (outer, len(some), inner))))
    slots = min(outer * inner, 3)
    call = OrderStatistics(outer, n, inner, len(some), x, ranks, out, slots)
    yield draw.with_scratch(call)


def partition(draw):
    """Different numbers, partitioned at all ranks: another order of them is not said."""
    outer, n, inner = shape = tuple(draw.sizes(3, USUAL.most_wide_ranks))
    ranks, slots = draw.dense(np.arange(n)), min(outer * inner, 3)
    dtype = draw.random.choice(["i4", "i8", "f4", "f8", "u4"])
    for row in (Partition, Argpartition):
        x = draw.dense(draw.random.permutation(outer * n * inner).astype(dtype))
        to = draw.written(draw.dense(draw.numbers(x.dtype if row is Partition else I64, shape)))
        yield draw.with_scratch(row(outer, n, inner, n, x, ranks, to, slots))


def argsort(draw):
    outer, n, inner = shape = tuple(draw.sizes(3, 30))
    order = draw.written(draw.dense(draw.numbers(I64, shape)))
    for row in (Argsort, ArgsortFurther):
        call = row(outer, n, inner, keys(draw, shape), order, min(outer * inner, 3))
        yield draw.with_scratch(call)


def cumsum(draw):
    (rows,), (n,) = draw.sizes(1, 9), draw.sizes(1, 4000)
    x, out = (draw.dense(draw.numbers(draw.dtype, rows * n)) for _ in range(2))
    reverse = int(draw.random.integers(2))
    yield draw.with_scratch(CumulativeSum(rows, n, reverse, x, draw.written(out)))


def transpose_tile(draw):
    side = 256 // draw.dtype.itemsize
    rows, columns = draw.sizes(2, 2 * side)
    x = draw.array((min(rows, side), min(columns, side)), last_is_dense=True)
    out = draw.written(draw.dense(draw.numbers(draw.dtype, side * side)))
    yield TransposeTile(side, rows, columns, x, replace(out, strides=(side, 1)))


def conversion(routine, dtypes):
    def draw_case(draw):
        size, left = draw.sizes(2, 40)
        x, out = (draw.dense(draw.numbers(np.dtype(d), min(size, left))) for d in dtypes)
        yield routine(size, left, x, draw.written(out))

    return draw_case


# ---------------------------------------------------------------------------------- decompositions


def matrix(draw, *shape):
    """A matrix of real or complex numbers."""
    dtype = draw.random.choice([draw.dtype.str, np.result_type(draw.dtype, np.complex64).str])
    return draw.numbers(np.dtype(dtype), shape)


def decomposition(intrinsic):
    """Calls of a decomposition of one matrix, positive definite where it is square."""

    def calls(draw):
        m, n = draw.sizes(2, 7)
        flags = (bool(x) for x in draw.random.integers(0, 2, 2))
        drawn = {"m": m, "n": n, **dict(zip(("lower", "full_matrices"), flags, strict=True))}
        fields = {name for cls in intrinsic.__mro__ for name in getattr(cls, "__annotations__", ())}
        if "m" in fields:
            x = matrix(draw, m, n)
        else:
            x = matrix(draw, n, n)
            x = x + x.conj().T + 20 * n * np.eye(n, dtype=x.dtype)
        yield with_results(draw, intrinsic, x, **{k: v for k, v in drawn.items() if k in fields})

    return calls


def with_results(draw, intrinsic, x, *further, **fields):
    """A call with memory for what it gives, by its meaning."""
    names = parsed_signature(intrinsic.signature).writes
    x_at = draw.dense(x)
    call = intrinsic(x=x_at, **fields, **dict.fromkeys(names, UNALLOCATED))
    found = call.numpy(x, *further)
    found = found if isinstance(found, tuple | list) else (found,)
    kept = (draw.written(draw.dense(draw.numbers(r.dtype, r.shape))) for r in found)
    return draw.with_scratch(replace(call, **dict(zip(names, kept, strict=True))))


def triangular_solve(draw):
    n, k = draw.sizes(2, 6)
    x, b = matrix(draw, n, n), matrix(draw, n, k)
    x, b = (y.astype(np.result_type(x, b)) for y in (x + 20 * n * np.eye(n), b))
    lower, unit = (bool(v) for v in draw.random.integers(0, 2, 2))
    flags = {"lower": lower, "unit_diagonal": unit, "form": int(draw.random.integers(3))}
    x = x / 20 / n if unit else x
    dense = draw.dense(b)
    yield with_results(draw, TriangularSolve, x.astype(b.dtype), b, n=n, k=k, b=dense, **flags)


def first_of(draw):
    rows, n = draw.sizes(2, 40)
    x = draw.dense(draw.random.random((rows, n)) < draw.random.choice([0.01, 0.5, 1]))
    value = int(draw.random.integers(2))
    position = draw.written(draw.dense(np.zeros(rows, I64)))
    yield FirstOf(rows, n, value, x, position)


def pivots_to_permutation(draw):
    n, more = draw.sizes(2, 7)
    pivots = np.array([draw.random.integers(i, n + more) for i in range(n)], I64)
    yield with_results(draw, PivotsToPermutation, pivots, n=n, size=n + more)


# Every intrinsic that C has a function for, and the calls of it; those that make what another one
# reads come with it.
FAMILIES = {
    "products": {
        (Matmul,): matmul,
        (MatmulBatch,): matmul_batch,
        (MatmulRows,): matmul_rows,
        (ComplexMatmul,): complex_matmul,
        (MatmulPanels, MatmulPanelRows): matmul_panels,
        (MatmulEitherRows,): matmul_either_rows,
    },
    "convolutions": {
        (Convolve,): convolve,
        (ConvolveOfSizes,): convolve_of_sizes,
        (ConvolvePanels, ConvolveImage): convolve_images,
    },
    "fourier": {(Fft, FftOfSize): fft},
    "arrays": {
        (Sort,): sort,
        (FirstOf,): first_of,
        (OrderStatistics,): order_statistics,
        (Partition, Argpartition): partition,
        (Argsort, ArgsortFurther): argsort,
        (CumulativeSum,): cumsum,
        (TransposeTile,): transpose_tile,
        (WidenHalves,): conversion(WidenHalves, ("f2", "f4")),
        (RoundHalves,): conversion(RoundHalves, ("f4", "f2")),
    },
    "lapack": {
        **{(d,): decomposition(d) for d in DECOMPOSITIONS if d is not TriangularSolve},
        (TriangularSolve,): triangular_solve,
        (PivotsToPermutation,): pivots_to_permutation,
    },
}
