"""Row reductions take four rows at a time, with the bits of one row at a time."""

import re

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered
from helpers import assert_equal_values, leaves, ordinary, values
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile.ir.loop_ir import For
from transpile.ir.loop_rewrite import walk
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.jam.rows import jam_rows
from transpile.schedule.lanes.nan_flags import flag_nans
from transpile.schedule.parallelize import parallelize_loops
from transpile.schedule.vectorize import vectorize_loops

pytestmark = pytest.mark.full_level

# Every loop over rows stays as it was.
ALONE = Machine(fewest_jammed_rows=1 << 40)


def of_rows(f, *args, options=None):
    options = options or Options()
    program = parallelize_loops(lowered(f, *args), options)
    return flag_nans(vectorize_loops(program, options), options)


def loops(program):
    return [s for kernel in program.kernels for s in walk(kernel.body) if isinstance(s, For)]


FUNCTIONS = {
    "a sum": lambda x: x.sum(axis=1),
    "a product with a vector": lambda x: x @ np.linspace(1, 2, x.shape[1]).astype(x.dtype),
    "the largest": lambda x: x.max(axis=1),
    "both extremes": lambda x: x.max(axis=1) - x.min(axis=1),
    "two results": lambda x: (x.mean(axis=1), x.std(axis=1)),
    "a norm": lambda x: np.sqrt((x * x).sum(axis=1)),
    "where the largest is": lambda x: x.argmax(axis=1),
    "a count": lambda x: (x > 1).sum(axis=1),
    "three axes": lambda x: x.reshape(3, -1, x.shape[1]).sum(axis=2),
    "all pairs": lambda x: (x[:, None] * x[::-1]).sum(axis=-1),
}


@pytest.mark.parametrize("rows", [48, 51])
@pytest.mark.parametrize("name", FUNCTIONS)
@one_in(3)
def test_four_rows_have_accumulators_of_their_own(name, rows):
    x = np.round(ordinary("f8", (rows, 19)))
    after = assert_steps_agree(of_rows(FUNCTIONS[name], x), [x], jam_rows)
    jammed = [s for s in loops(after) if s.simd and len(s.reductions) >= Machine.jammed_rows]
    assert jammed
    assert all(len({n for _, n in s.reductions}) == len(s.reductions) for s in jammed)


@pytest.mark.parametrize(("columns", "chains"), [(2, 8), (3, 3)])
def test_few_columns_of_a_product_are_jammed_with_its_rows(columns, chains):
    """Four rows by two columns fill the registers for sums; three columns are alone."""
    x, w = np.round(ordinary("f8", (51, 40))), np.round(ordinary("f8", (columns, 40)))
    after = assert_steps_agree(of_rows(lambda x, w: x @ w.T, x, w), [x, w], jam_rows)
    assert max(len(s.reductions) for s in loops(after)) == chains
    np.testing.assert_array_equal(transpile.jit(lambda x, w: x @ w.T)(x, w), x @ w.T)


def test_few_sums_of_each_row_are_jammed():
    x = np.round(ordinary("f8", (48, 3, 40)))
    after = assert_steps_agree(of_rows(lambda x: x.sum(axis=2), x), [x], jam_rows)
    assert max(len(s.reductions) for s in loops(after)) >= 3
    np.testing.assert_array_equal(transpile.jit(lambda x: x.sum(axis=2))(x), x.sum(axis=2))


def test_rows_that_are_left_come_last():
    x = ordinary("f4", (50, 19))
    text = transpile.jit(lambda x: x.sum(axis=1)).lower(x).as_text()
    assert "for (int64_t group = 0; group < 12; group++)" in text
    assert re.search(r"for \(int64_t i = 48; i < 50; i\+\+\)", text)


def test_threads_share_groups_out():
    x = np.zeros((40_000, 64))
    text = transpile.jit(lambda x: x.sum(axis=1)).lower(x).as_text()
    assert re.search(r"omp parallel for\n *for \(int64_t group = 0; group < 10000", text)


@pytest.mark.parametrize(("columns", "is_jammed"), [(1000, True), (40_000, False)])
def test_rows_that_are_read_twice_stay_in_the_cache(columns, is_jammed):
    """Four rows of a variance, which are read for the mean and for the squares, or one."""
    program = of_rows(lambda x: x.var(axis=1), np.ones((48, columns)))
    assert (jam_rows(program, Options()) != program) == is_jammed


@pytest.mark.parametrize("columns", [1000, 40_000])
def test_rows_that_are_read_once_are_jammed_however_long_they_are(columns):
    program = of_rows(lambda x, y: x @ y, np.ones((48, columns)), np.ones(columns))
    assert jam_rows(program, Options()) != program


def test_nests_that_threads_share_out_together_stay_nests():
    """The loops over images and their rows are one for the threads: no loop stands beside them."""
    x = np.zeros((30, 1000, 64))
    program = of_rows(lambda x: x.sum(axis=2), x)
    assert [s.collapse for s in loops(program) if s.parallel] == [2]
    assert jam_rows(program, Options()) == program


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.exp(x).sum(axis=1),  # the time goes elsewhere
        lambda x: np.cumsum(x, axis=1),
        lambda x: x.sum(axis=0),
        lambda x: x * 2,
        lambda x: x[: Machine.fewest_jammed_rows - 1].sum(axis=1),
        lambda x: x[:, : Machine.lanes - 1].sum(axis=1),  # fills no vector
        lambda x: x[:, ::2].sum(axis=1),  # does not lie side by side
        lambda x: (x - x.max(axis=1, keepdims=True)) / x.sum(axis=1, keepdims=True),  # stores
    ],
)
def test_other_loops_stay(f):
    program = of_rows(f, ordinary("f8", (64, 20)))
    assert jam_rows(program, Options()) == program


def test_iterations_of_a_loop_of_the_users_are_not_jammed():
    """A row of forward substitution reads what the one before it has stored."""

    def solve(a, b):
        def row(i, x):
            return x.at[i].add(-(a[i] * x).sum())

        return transpile.lax.fori_loop(0, 40, row, b)

    a, b = np.tril(ordinary("f8", (40, 40)), -1) / 40, ordinary("f8", (40,))
    expected = np.linalg.solve(np.eye(40) + a, b)
    np.testing.assert_allclose(transpile.jit(solve)(a, b), expected, rtol=1e-12)


@settings(max_examples=tries(10), deadline=None)
@given(
    st.integers(Machine.fewest_jammed_rows - 2, 70),
    st.integers(14, 270),
    st.sampled_from(["f4", "f8", "i4", "u1"]),
    st.sampled_from(["a sum", "both extremes", "where the largest is", "a count"]),
)
def test_rows_have_the_bits_that_they_have_alone(rows, width, dtype, name):
    x = values(dtype, (rows, width))
    alone = transpile.jit(FUNCTIONS[name], compiler_options={"machine": ALONE})
    with np.errstate(all="ignore"):
        together = leaves(transpile.jit(FUNCTIONS[name])(x))
        for got, want in zip(together, leaves(alone(x)), strict=True):
            np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))
        if name != "a sum":
            for got, want in zip(together, leaves(FUNCTIONS[name](x)), strict=True):
                assert_equal_values(got, want)
