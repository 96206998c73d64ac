"""Batched recurrences: which loops are tiled by rows of the batch, and that results stay."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

from transpile import grad, jit, lax
from transpile.intrinsics.products import MatmulRows
from transpile.ir.calls import Call
from transpile.ir.loop_ir import For
from transpile.ir.loop_rewrite import children
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule import schedule
from transpile.schedule.blocking.batch_scan import tile_batched_scans
from transpile.schedule.blocking.pack_operands import pack_operands

pytestmark = pytest.mark.full_level

LENGTH = 5


# Loops over little work are worth threads.
MACHINE = Machine(least_scan_flops=1)
SMALL = Options(machine=MACHINE)


def in_c(f):
    """A function compiled at these thresholds."""
    return jit(f, compiler_options={"machine": MACHINE})


def signs(*shape):
    """Numbers whose sums have the same bits in any order."""
    return np.random.default_rng(sum(shape)).integers(-1, 2, shape).astype("f8")


X, SQUARE, SEQUENCE = signs(16, 32), signs(32, 32), signs(LENGTH, 16, 32)


def in_scan(w, x):
    return lax.scan(lambda x, _: (np.sign(x @ w), None), x, None, length=LENGTH)[0]


def in_fori_loop(w, x):
    return lax.fori_loop(0, LENGTH, lambda i, x: np.sign(x @ w + i), x)


def with_inputs(w, x):
    """Each step reads a batch of its own, and leaves one."""

    def step(h, x):
        h = np.sign(x @ w + h @ w)
        return h, h * 2

    return lax.scan(step, x, SEQUENCE)


def backwards(w, x):
    return lax.scan(lambda h, x: (np.sign(x @ w - h), h), x, SEQUENCE, reverse=True)


def gated(w, x):
    """Two carries, and parts of rows."""

    def step(state, _):
        h, c = state
        gates = h @ w
        c = c * np.sign(gates[:, :16]) + gates[:, 16:]
        h = np.concatenate([np.sign(c), h[:, 16:]], axis=1)
        return (h, np.sign(c)), None

    return lax.scan(step, (x, x[:, :16]), None, length=LENGTH)[0]


def with_row_sums(w, x):
    """Sums over each row."""

    def step(x, _):
        y = x @ w
        return np.sign(y - y.sum(axis=1, keepdims=True)), y.max(axis=1)

    return lax.scan(step, x, None, length=LENGTH)


def in_nested(w, x):
    def step(x, v):
        return lax.fori_loop(0, 2, lambda _, x: np.sign(x @ w - v), x), None

    return lax.scan(step, x, SEQUENCE)[0]


def of_stack(w, x):
    """Other weights in each step."""
    return lax.scan(lambda x, v: (np.sign(x @ v), None), x, signs(LENGTH, 32, 32))[0]


def backpropagated(w, x):
    """The transposed weights, which are turned before."""
    return lax.fori_loop(0, LENGTH, lambda _, x: np.sign(x @ w.T), x)


def mixed_rows(w, x):
    """A mean over the batch."""
    return lax.fori_loop(0, LENGTH, lambda _, x: np.sign(x @ w - x.sum(axis=0)), x)


def turned_rows(w, x):
    """Rows that become others."""
    return lax.fori_loop(0, LENGTH, lambda _, x: np.sign(x @ w)[::-1], x)


def same_row(w, x):
    """A row that all others read."""
    return lax.fori_loop(0, LENGTH, lambda _, x: np.sign(x @ w - x[0]), x)


def columns(w, x):
    """The rows of the product are the columns of what is carried."""
    return lax.fori_loop(0, LENGTH, lambda _, y: np.sign(y.T @ w), np.concatenate([x, x]))


def carried_weights(w, x):
    def step(_, state):
        w, x = state
        return np.sign(w + 1), np.sign(x @ w)

    return lax.fori_loop(0, LENGTH, step, (w, x))


def with_scalar(w, x):
    """A sum over everything, from step to step."""

    def step(state, _):
        x, total = state
        return (np.sign(x @ w), total + x.sum()), None

    return lax.scan(step, (x, 0.0), None, length=LENGTH)[0]


def narrow(w, x):
    """Columns that fill no vectors are copied into panels."""
    w = w[:8, :8]
    return lax.fori_loop(0, LENGTH, lambda _, x: np.sign(x @ w), x[:, :8])


def few_rows(w, x):
    return in_scan(w, x[:4])


def prime_rows(w, x):
    return in_scan(w, x[:13])


def without_product(w, x):
    return lax.fori_loop(0, LENGTH, lambda _, x: np.sign(x + 1), x)


def without_loop(w, x):
    return np.sign(x @ w)


CHANGED = [
    *(in_scan, in_fori_loop, with_inputs, backwards, gated, with_row_sums, in_nested, of_stack),
    backpropagated,
]
UNCHANGED = [
    *(mixed_rows, turned_rows, same_row, columns, carried_weights, with_scalar, narrow, few_rows),
    *(prime_rows, without_product, without_loop),
]


def prepared(f, *arguments):
    """A program before the step."""
    return pack_operands(lowered(f, *arguments), SMALL)


def blocks_of(program):
    """The loops over blocks, around loops over steps."""
    return [
        s
        for s in statements_of(program, For)
        if s.parallel and any(isinstance(c, For) and c.ordered for c in children(s))
    ]


@pytest.mark.parametrize("f", CHANGED, ids=lambda f: f.__name__)
@one_in(3)
def test_loops_whose_rows_are_independent_are_shared_out(f):
    after = assert_steps_agree(prepared(f, SQUARE, X), [SQUARE, X], tile_batched_scans, SMALL)
    (block,) = blocks_of(after)
    assert block.extent == 2
    calls = statements_of(after, Call)
    assert {type(c) for c in calls} == {MatmulRows}
    assert {c.m for c in calls} == {8}


@pytest.mark.parametrize("f", UNCHANGED, ids=lambda f: f.__name__)
def test_other_loops_stay(f):
    before = prepared(f, SQUARE, X)
    assert tile_batched_scans(before, SMALL) == before


@pytest.mark.parametrize("f", CHANGED, ids=lambda f: f.__name__)
def test_scratch_memory_of_the_products_goes(f):
    before = prepared(f, SQUARE, X)
    gone = {c.workspace.buffer for c in statements_of(before, Call)}
    left = {b.name for b in tile_batched_scans(before, SMALL).temporaries}
    assert gone
    assert gone.isdisjoint(left)


@pytest.mark.parametrize("options", [replace(SMALL, openmp=False), replace(SMALL, blas="auto")])
def test_without_threads_or_products_of_our_own_loops_stay(options):
    before = prepared(in_scan, SQUARE, X)
    assert tile_batched_scans(before, options) == before


def test_little_work_is_not_worth_threads():
    before = prepared(in_scan, SQUARE, X)
    flops = 2 * 16 * 32 * 32 * LENGTH
    more, enough = (Options(machine=Machine(least_scan_flops=n)) for n in (flops + 1, flops))
    assert tile_batched_scans(before, more) == before
    assert tile_batched_scans(before, enough) != before


def test_weights_that_no_cache_holds_are_read_by_all_threads_together():
    before = prepared(in_scan, SQUARE, X)
    machine = Machine(least_scan_flops=1, scan_operand_bytes=32 * 32 * 8 - 1)
    assert tile_batched_scans(before, Options(machine=machine)) == before


@pytest.mark.parametrize(
    ("rows", "expected"), [(8, 4), (10, 5), (12, 6), (16, 8), (24, 8), (40, 8), (256, 16)]
)
def test_blocks_have_whole_tiles_where_they_can(rows, expected):
    after = tile_batched_scans(prepared(in_scan, SQUARE, signs(rows, 32)), SMALL)
    (block,) = blocks_of(after)
    assert block.extent == rows // expected


@settings(max_examples=tries(25), deadline=None)
@given(
    rows=st.integers(1, 40),
    f=st.sampled_from([*CHANGED[:2], gated, with_row_sums, mixed_rows, same_row]),
)
def test_drawn_batches_have_the_same_results(rows, f):
    x = signs(rows, 32)
    before = prepared(f, SQUARE, x)
    if tile_batched_scans(before, SMALL) != before:
        assert_steps_agree(before, [SQUARE, x], tile_batched_scans, SMALL)


def test_later_steps_leave_the_loop_over_steps_inside_that_over_blocks():
    program = schedule(lowered(gated, SQUARE, X), SMALL)
    (block,) = blocks_of(program)
    (steps,) = block.body
    assert steps.ordered
    assert not any(s.parallel for s in statements_of(program, For) if s is not block)


@pytest.mark.parametrize("f", [in_scan, with_inputs, gated, in_nested], ids=lambda f: f.__name__)
@one_in(2)
def test_the_numbers_of_compiled_programs_are_right(f):
    for found, expected in zip(_leaves(in_c(f)(SQUARE, X)), _leaves(f(SQUARE, X)), strict=True):
        np.testing.assert_array_equal(found, expected)


def _leaves(value):
    return [leaf for v in value for leaf in _leaves(v)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_have_the_bits_of_steps_one_by_one(dtype):
    random = np.random.default_rng(0)
    w, x = random.standard_normal((48, 48)), random.standard_normal((24, 48))
    w, x = w.astype(dtype) / 8, x.astype(dtype)
    step = in_c(lambda w, x: np.tanh(x @ w))
    alone = x
    for _ in range(LENGTH):
        alone = step(w, alone)
    looped = in_c(lambda w, x: lax.fori_loop(0, LENGTH, lambda _, x: np.tanh(x @ w), x))
    assert looped(w, x).tobytes() == alone.tobytes()


@pytest.mark.parametrize("f", [with_inputs, gated, with_row_sums], ids=lambda f: f.__name__)
def test_batches_of_a_runtime_size_are_shared_out_in_tiles(f):
    @jit(dynamic_shapes={"x": ("n", 32), "xs": (LENGTH, "n", 32)})
    def over(x, xs):
        return (
            f(SQUARE, x)
            if f is not with_inputs
            else lax.scan(lambda h, x: (np.sign(x @ SQUARE + h @ SQUARE), h), x, xs)
        )

    text = over.lower(X, SEQUENCE).as_text("loops")
    assert "for block in 0..(n + 7) // 8 parallel" in text
    assert "matmul_rows(m=rows" in text
    for n in 1, 7, 8, 19, 64:
        x, xs = signs(n, 32), signs(LENGTH, n, 32)
        found, expected = over(x, xs), over.__wrapped__(x, xs)
        for one, other in zip(_leaves(found), _leaves(expected), strict=True):
            np.testing.assert_array_equal(one, other)


def test_weights_of_a_batch_of_a_runtime_size_get_their_gradient_after_the_scan():
    def loss(w, x, xs):
        return (lax.scan(lambda h, x: (np.tanh(x + h @ w), None), x, xs)[0] ** 2).sum()

    wide = signs(64, 64) / 8
    gradient = jit(grad(loss), dynamic_shapes={"x": ("n", 64), "xs": (LENGTH, "n", 64)})
    graph = gradient.trace(wide, signs(16, 64), signs(LENGTH, 16, 64)).jaxpr
    (backward,) = [e for e in graph.equations if e.primitive.name == "scan" and e.params["reverse"]]
    assert wide.shape not in [v.type.shape for v in backward.outputs]
    fixed = jit(grad(loss))
    for n in 2, 5, 33:
        x, xs = signs(n, 64), signs(LENGTH, n, 64)
        np.testing.assert_allclose(gradient(wide, x, xs), fixed(wide, x, xs), rtol=1e-9, atol=1e-12)


def recurrent(weights, x, xs):
    """The squares of what a recurrent network ends with."""
    u, w, b = weights
    last, _ = lax.scan(lambda h, x: (np.tanh(x @ u + h @ w + b), None), x, xs)
    return (last**2).sum()


def test_gradients_are_shared_out_in_both_directions_and_right():
    random = np.random.default_rng(1)
    weights = tuple(random.standard_normal(s) / 6 for s in ((16, 32), (32, 32), (32,)))
    x, xs = random.standard_normal((8, 32)), random.standard_normal((LENGTH, 8, 16))
    program = schedule(lowered(lambda *a: grad(recurrent)(a[:3], *a[3:]), *weights, x, xs), SMALL)
    assert len(blocks_of(program)) == 2
    found, plain = (
        in_c(grad(recurrent))(weights, x, xs),
        grad(recurrent)(weights, x, xs),
    )
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
