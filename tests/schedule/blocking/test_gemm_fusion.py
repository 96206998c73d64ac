"""Kernels around a matrix product are fused with it, in blocks of rows."""

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered
from thorough import one_in

from transpile import ShapeDtypeStruct, dims, jit, lax
from transpile.analysis.oracle.loop_interpreter import run
from transpile.intrinsics.products import (
    MatmulEitherRows,
    MatmulPanelRows,
    MatmulPanels,
    MatmulRows,
)
from transpile.ir.calls import Call
from transpile.ir.loop_ir import Alloc
from transpile.ir.loop_rewrite import walk
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.blocking.gemm_fusion import fuse_products

pytestmark = pytest.mark.full_level


# Blocks of a few rows, around products that the interpreter can make.
BLOCKS = {"least_product_flops": 0, "most_block_rows": 4, "product_tile_rows": 2}
SMALL = Options(machine=Machine(**BLOCKS))


def integers(*shape):
    """Small ones, so that sums have the same bits in any order."""
    return np.random.default_rng(len(shape)).integers(-3, 4, shape).astype("f8")


def softmax_like(x):
    """Row by row, as softmax is, and exact."""
    return x - x.max(axis=-1, keepdims=True) + x.sum(axis=-1, keepdims=True)


def layers(x, v, w, b):
    return np.maximum(np.maximum(x @ v, 0) @ w + b, 0)


def attention(q, k, v):
    return softmax_like(q @ k.transpose(0, 1, 3, 2)) @ v


def normed(x, w, b):
    return softmax_like(x) @ w + b


def residual(x, w, b):
    return x + np.maximum(x @ w + b, 0)


# The function, the shapes of its arguments, and how many arrays a block has.
MERGED = {
    "bias": (lambda x, w, b: x @ w + b, [(8, 16), (16, 16), (16,)], 0),
    "narrow": (lambda x, w, b: x @ w * b, [(24, 16), (16, 6), (6,)], 0),
    "rows of two axes": (lambda x, w, b: np.abs(x @ w + b), [(2, 8, 16), (16, 16), (16,)], 0),
    "ones between": (lambda x, w, b: x @ w + b, [(8, 1, 16), (16, 16), (16,)], 0),
    "rows of b": (lambda x, w: np.abs(x @ w.T), [(8, 16), (16, 16)], 0),
    "turned": (lambda x, w: np.abs(x.T @ w), [(16, 8), (16, 16)], 0),
    "sliced": (lambda x, w: np.abs(x[1:9, ::2] @ w[:, 1:17]), [(10, 32), (16, 18)], 0),
    "residual": (residual, [(8, 16), (16, 16), (16,)], 0),
    "statistics": (lambda x, w: softmax_like(x @ w), [(8, 16), (16, 16)], 0),
    "sums": (lambda x, w: (x @ w).sum(axis=1), [(8, 16), (16, 16)], 1),
    "two results": (lambda x, w: (x @ w, np.abs(x @ w)), [(8, 16), (16, 16)], 0),
    "layers": (layers, [(8, 16), (16, 16), (16, 8), (8,)], 1),
    "attention": (attention, [(2, 2, 8, 16), (2, 2, 20, 16), (2, 2, 20, 16)], 1),
    "norm before": (normed, [(8, 16), (16, 16), (16,)], 1),
}


@pytest.mark.parametrize("name", MERGED)
def test_kernels_around_a_product_become_one(name):
    f, shapes, arrays = MERGED[name]
    values = [integers(*shape) for shape in shapes]
    before = lowered(f, *values)
    after = assert_steps_agree(before, values, fuse_products, SMALL)
    (kernel,) = after.kernels
    assert len(before.kernels) > 1
    calls = [s for s in walk(kernel.body) if isinstance(s, Call)]
    assert all(isinstance(c, MatmulRows | MatmulPanelRows | MatmulPanels) for c in calls)
    assert sum(loop.parallel for loop in loops_of(after)) == 1
    in_blocks = [s for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.shape[0] <= 4]
    assert len(in_blocks) == arrays
    assert not any(b.dtype == np.uint8 for b in after.temporaries)


def deep(x, w):
    for _ in range(4):
        x = np.maximum(x @ w, 0) * 0.5
    return x


@pytest.mark.parametrize(("longest", "kernels"), [(64, 1), (4, 2), (2, 4)])
def test_a_group_has_at_most_so_many_kernels(longest, kernels):
    options = Options(machine=Machine(**BLOCKS, most_merged_kernels=longest))
    values = [integers(8, 16), integers(16, 16)]
    after = assert_steps_agree(lowered(deep, *values), values, fuse_products, options)
    assert len(after.kernels) == kernels


def test_no_group_is_looked_for_where_too_few_operations_are_within_reach(monkeypatch):
    monkeypatch.setattr("transpile.schedule.blocking.gemm_fusion._Group", None)
    before = lowered(deep, integers(8, 16), integers(16, 16))
    assert fuse_products(before, Options()) is before


def test_panels_are_in_memory_where_they_are_large():
    options = Options(machine=Machine(**BLOCKS, block_bytes=4 * 20 * 8))
    _, shapes, _ = MERGED["attention"]
    values = [integers(*shape) for shape in shapes]
    after = assert_steps_agree(lowered(attention, *values), values, fuse_products, options)
    assert [b.shape for b in after.temporaries] == [(2, 2, 32 * 16)]


@pytest.mark.parametrize(
    ("dtype", "columns", "is_packed"),
    [
        ("f4", 256, False),
        ("f4", 272, True),
        ("f8", 128, False),
        ("f8", 144, True),
        ("f4", 40, True),
    ],
)
def test_a_right_operand_is_read_where_it_is_if_its_rows_are_near(dtype, columns, is_packed):
    """Rows of whole vectors, up to 1024 bytes apart: nothing is written that other threads hold."""
    x, w = np.ones((512, 128), dtype), np.ones((128, columns), dtype)
    after = fuse_products(lowered(lambda x, w: np.abs(x @ w), x, w), Options())
    calls = {type(c) for k in after.kernels for c in walk(k.body) if isinstance(c, Call)}
    assert calls == ({MatmulPanels, MatmulPanelRows} if is_packed else {MatmulRows})


@pytest.mark.parametrize(
    ("declared", "columns", "expected"),
    [
        ([], 512, {MatmulPanels, MatmulEitherRows}),
        (["n <= 128"], 512, {MatmulRows}),
        (["n >= 129"], 512, {MatmulPanels, MatmulPanelRows}),
        ([], 500, {MatmulPanels, MatmulPanelRows}),
        ([], 256, {MatmulRows}),
    ],
)
def test_a_runtime_number_of_rows_decides_in_each_call_whether_packing_pays(
    declared, columns, expected
):
    (n,) = dims("n", *declared)
    x, w = ShapeDtypeStruct((n, 128), "f4"), np.ones((128, columns), "f4")
    after = fuse_products(lowered(lambda x, w: np.abs(x @ w), x, w), Options())
    calls = {type(c) for k in after.kernels for c in walk(k.body) if isinstance(c, Call)}
    assert calls == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ([], {MatmulPanels, MatmulEitherRows}),
        (["n >= 5"], {MatmulPanels, MatmulPanelRows}),
    ],
)
def test_a_transposed_operand_is_read_in_place_for_a_few_rows(declared, expected):
    (n,) = dims("n", *declared)
    x, w = ShapeDtypeStruct((n, 128), "f4"), np.ones((10, 128), "f4")
    after = fuse_products(lowered(lambda x, w: np.abs(x @ w.T), x, w), Options())
    calls = {type(c) for k in after.kernels for c in walk(k.body) if isinstance(c, Call)}
    assert calls == expected
    left = ShapeDtypeStruct((128, n), "f4")  # whose rows are not contiguous
    after = fuse_products(lowered(lambda x, w: np.abs(x.T @ w.T), left, w), Options())
    calls = {type(c) for k in after.kernels for c in walk(k.body) if isinstance(c, Call)}
    assert calls == {MatmulPanels, MatmulPanelRows}


def columns_too(x, w):
    y = x @ w
    return y / (1 + y.max(axis=0))


def right_operand(x, w):
    return x @ np.abs(x @ w)


def in_order(x, w):
    return np.cumsum(x @ w, axis=0)


def shifted(x, w):
    y = x @ w
    return y[1:] - y[:-1]


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (columns_too, [(8, 16), (16, 16)]),
        (in_order, [(8, 16), (16, 16)]),
        (shifted, [(9, 16), (16, 16)]),
        (lambda x, w: np.abs((x @ w).T), [(8, 16), (16, 12)]),
        (lambda x, w: x @ w, [(8, 16), (16, 16)]),
        (lambda x, w: np.abs(x @ w)[::-1].sum(axis=0), [(8, 16), (16, 16)]),
    ],
)
def test_what_needs_other_rows_waits_for_all(f, shapes):
    values = [integers(*shape) for shape in shapes]
    before = lowered(f, *values)
    assert fuse_products(before, SMALL) == before


def test_a_right_operand_is_complete_before_it_is_read():
    values = [integers(16, 16), integers(16, 16)]
    after = assert_steps_agree(lowered(right_operand, *values), values, fuse_products, SMALL)
    assert len(after.kernels) == 2


def test_a_value_is_not_overwritten_while_it_is_needed():
    def f(x, w):
        y = x @ w
        first = np.abs(y)
        return first, first.sum(axis=1, keepdims=True) - y

    values = [integers(8, 16), integers(16, 16)]
    assert_steps_agree(lowered(f, *values), values, fuse_products, SMALL)


def test_small_products_prime_rows_and_libraries_stay():
    def f(x, w):
        return np.abs(x @ w)

    small = lowered(f, integers(16, 16), integers(16, 16))
    assert fuse_products(small, Options()) == small
    prime = lowered(f, integers(509, 128), integers(128, 128))
    assert fuse_products(prime, Options()) == prime
    large = lowered(f, integers(512, 128), integers(128, 128))
    assert len(fuse_products(large, Options()).kernels) == 1
    assert fuse_products(large, Options(blas="auto")) == large
    assert not any(loop.parallel for loop in loops_of(fuse_products(large, Options(openmp=False))))


@pytest.mark.parametrize(
    ("f", "shape", "is_whole"),
    [
        (lambda x: np.abs(x @ x.T), (128, 128), True),
        (lambda x: np.abs(x.T @ x), (128, 96), True),
        (lambda x: np.abs(x @ x.T), (128, 127), False),  # another pass would cost as much
        (lambda x: np.abs(x @ x), (128, 128), False),
        (lambda x: np.abs(x[:64] @ x[64:].T), (128, 128), False),
    ],
)
@one_in(2)
def test_a_product_that_is_symmetric_stays_whole_if_it_is_long(f, shape, is_whole):
    program = lowered(f, integers(*shape))
    after = fuse_products(program, Options())
    assert len(after.kernels) == (2 if is_whole else 1)
    np.testing.assert_array_equal(jit(f)(integers(*shape)), f(integers(*shape)))


def test_few_rows_of_a_large_product_are_left_to_the_threads_of_the_product():
    def f(x, w):
        return np.abs(x @ w)

    few = lowered(f, integers(8, 1024), integers(1024, 1024))
    assert fuse_products(few, Options()) == few
    short = fuse_products(lowered(f, integers(8, 256), integers(256, 256)), Options())
    assert len(short.kernels) == 1
    assert not any(loop.parallel for loop in loops_of(short))


@pytest.mark.parametrize(("rows", "of_a_block"), [(100, 0), (256, 0), (512, 64)])
def test_blocks_that_read_a_large_right_operand_anew_have_many_rows(rows, of_a_block):
    def f(x, w):
        return np.abs(x @ w)

    program = lowered(f, integers(rows, 512), integers(512, 512))
    options = Options(machine=Machine(l2_bytes=1 << 21))
    after = fuse_products(program, options)
    (call,) = (s for s in walk(after.kernels[0].body) if isinstance(s, Call) and hasattr(s, "m"))
    assert (call.m if len(after.kernels) == 1 else 0) == of_a_block
    of_a_larger_cache = fuse_products(program, Options(machine=Machine(l2_bytes=1 << 22)))
    assert len(of_a_larger_cache.kernels) == 1


def test_products_of_a_scan_stay_in_order():
    def f(x, w):
        return lax.scan(lambda carry, row: (carry @ w, carry), x, None, length=8)

    values = [integers(16, 16), np.eye(16)]
    before = lowered(f, *values)
    assert fuse_products(before, SMALL) == before


SHAPES = [(64, 96, 100, 40), (200, 33, 400, 70), (128, 512, 784, 10), (24, 800, 64, 64)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES)
@one_in(3)
def test_layers_in_c_are_numpys(dtype, shape):
    m, n, k, last = shape
    random = np.random.default_rng(m)
    x, v, w, b = (
        (random.standard_normal(s) / np.sqrt(s[0])).astype(dtype)
        for s in ((m, k), (k, n), (n, last), (last,))
    )
    tolerance = 1e-5 if dtype == "f4" else 1e-13
    np.testing.assert_allclose(jit(layers)(x, v, w, b), layers(x, v, w, b), tolerance, tolerance)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("length", "width"), [(64, 32), (100, 24), (256, 64), (53, 16)])
@one_in(3)
def test_attention_in_c_is_numpys(dtype, length, width):
    def softmax_attention(q, k, v):
        scores = np.exp(q @ k.transpose(0, 1, 3, 2) / 4)
        return (scores / scores.sum(axis=-1, keepdims=True)) @ v

    random = np.random.default_rng(length)
    q, k, v = (random.standard_normal((2, 3, length, width)).astype(dtype) / 2 for _ in range(3))
    tolerance = 1e-4 if dtype == "f4" else 1e-12
    found = jit(softmax_attention)(q, k, v)
    np.testing.assert_allclose(found, softmax_attention(q, k, v), tolerance, tolerance)
    program = jit(softmax_attention).lower(q, k, v)
    assert program.as_text("loops").count("\nkernel ") == 1
    assert "schedule(guided) collapse(2)" in program.as_text()  # no thread waits for a busy core


def test_blocks_of_a_runtime_number_of_rows_are_long_where_there_are_many():
    """A right operand is read once a block; and there is a block for each of many threads. Few rows
    are two blocks."""
    x, w = ShapeDtypeStruct(("n", 16), "f8"), integers(16, 16)
    small = {**BLOCKS, "usual_block_rows": 1, "most_block_rows": 8, "cores": 8}
    options = Options(machine=Machine(**small))
    program = fuse_products(lowered(lambda x, w: np.abs(x @ w), x, w), options)
    text = str(program)
    share, few = "(2*(n // 8))", "minimum(((n + 1) // 2), 2)"
    few_rows = "((n + 1) // 2 + 8*(n // 3))"
    number = f"minimum(minimum(maximum({share}, {few}), {few_rows}), 8)"
    assert f"let block_rows:i64 = {number}" in text, text
    assert "for block in 0..(n - 1) // block_rows + 1 parallel" in text
    for rows in (1, 2, 7, 16, 33, 70):
        x = integers(rows, 16)
        np.testing.assert_array_equal(run(program, [x, w])[0], np.abs(x @ w))


@pytest.mark.parametrize(("cache", "few"), [(1 << 21, 64), (1 << 22, 32)])
def test_few_rows_of_a_runtime_number_read_a_large_right_operand_twice(cache, few):
    (n,) = dims("n", "n >= 1")
    types = ShapeDtypeStruct((n, 512), np.float64), ShapeDtypeStruct((512, 512), np.float64)
    options = Options(machine=Machine(l2_bytes=cache))
    text = str(fuse_products(lowered(lambda x, w: np.abs(x @ w), *types), options))
    assert f"minimum((4*((n + 7) // 8)), {few})" in text, text


@pytest.mark.parametrize("rows", [1, 7, 64, 100, 129])
def test_rows_of_a_large_right_operand_in_c_are_numpys(rows):
    (n,) = dims("n", "n >= 1")
    types = ShapeDtypeStruct((n, 512), np.float64), ShapeDtypeStruct((512, 512), np.float64)
    x, w = integers(rows, 512), integers(512, 512)
    compiled = jit(lambda x, w: np.abs(x @ w)).lower(*types).compile()
    np.testing.assert_array_equal(compiled(x, w), np.abs(x @ w))


def test_a_batch_of_a_runtime_size_may_have_nothing():
    """The number of blocks is a quotient, which a loop over batch and blocks finds first."""
    lead = dims("batch, n", "batch >= 0", "n >= 1")
    values = integers(37, 129), integers(129)
    function = jit(lambda x, w, b: np.abs(x @ w + b))
    compiled = function.lower(ShapeDtypeStruct((*lead, 37), "f8"), *values).compile()
    for shape in ((0, 1, 37), (0, 9, 37), (1, 1, 37), (2, 3, 37), (3, 70, 37)):
        x = integers(*shape)
        np.testing.assert_array_equal(compiled(x, *values), np.abs(x @ values[0] + values[1]))


def test_blocks_of_a_batch_are_one_loop_where_a_call_has_one_row():
    """The loop over the batch is collapsed with that over blocks, which is none then."""
    (n,) = dims("n", "n >= 0")
    function = jit(lambda x, w, b: np.abs(x @ w + b))
    values = integers(37, 129), integers(129)
    compiled = function.lower(ShapeDtypeStruct((3, n, 37), "f8"), *values).compile()
    for rows in (0, 1, 2, 33, 100):
        x = integers(3, rows, 37)
        np.testing.assert_array_equal(compiled(x, *values), np.abs(x @ values[0] + values[1]))
