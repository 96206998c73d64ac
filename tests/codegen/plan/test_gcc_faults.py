"""Comparisons that are summed as short integers, at the levels at which gcc 12 errs."""

import functools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

from transpile import jit, lax

pytestmark = pytest.mark.full_level

NARROW = ["i1", "u1", "i2", "u2"]
MASKS = {
    "greater": lambda x: x > 0,
    "not": lambda x: np.logical_not(x > 1),
    "either": lambda x: (x > 2) | (x < 1),
    "sign": np.sign,
}
REDUCTIONS = {
    "sum": lambda terms: np.sum(terms, axis=-1, dtype=terms.dtype),
    "max": lambda terms: np.max(terms, axis=-1),
    "min": lambda terms: np.min(terms, axis=-1),
    "one by one": lambda terms: functools.reduce(
        operator.add, [terms[..., k] for k in range(terms.shape[-1])]
    ),
    "less and less": lambda terms: functools.reduce(
        operator.sub, [terms[..., k] for k in range(terms.shape[-1])]
    ),
}


@settings(max_examples=tries(15), deadline=None)
@given(
    st.sampled_from(NARROW),
    st.sampled_from(sorted(MASKS)),
    st.sampled_from(sorted(REDUCTIONS)),
    st.sampled_from([(4,), (8,), (16,), (3, 4), (2, 8), (5,)]),
    st.sampled_from([2, 3]),
    st.integers(0, 1000),
)
def test_masks_that_are_reduced_as_short_integers(dtype, mask, reduction, shape, level, seed):
    def f(x):
        return REDUCTIONS[reduction](MASKS[mask](x).astype(dtype))

    compiled = jit(f, compiler_options={"opt_level": level})
    for x in (np.ones(shape, dtype), np.random.default_rng(seed).integers(0, 4, shape, dtype)):
        np.testing.assert_array_equal(compiled(x), f(x), strict=True)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("reduction", sorted(REDUCTIONS))
@one_in(5)
def test_four_true_terms(dtype, reduction):
    def f(x):
        return REDUCTIONS[reduction]((x > 0).astype(dtype))

    ones = np.ones(4, dtype)
    np.testing.assert_array_equal(jit(f)(ones), f(ones), strict=True)


def test_only_programs_that_could_meet_the_fault_are_built_around_it():
    note = "gcc: only with -fno-tree-slp-vectorize, without which gcc 12 errs"

    def text(f):
        return jit(f).lower(np.ones(4, np.uint8)).as_text("c")

    assert note in text(lambda x: x.sum(dtype=np.uint8))
    assert note in text(lambda x: (x > 0).astype(np.int16) - x.astype(np.int16))
    assert note not in text(lambda x: x.sum())
    assert note not in text(lambda x: (x > 0).any() | (x.astype(np.float32).max() > 1))


@pytest.mark.parametrize("n", [2, 722])
@pytest.mark.parametrize("dtypes", [("f8", "f4"), ("c16", "c8")])
def test_roundings_of_pairs_of_numbers_are_kept(n, dtypes):
    x = np.random.default_rng(0).normal(size=n).astype(dtypes[0])

    def f(x):
        single = x.astype(dtypes[1])
        return single.astype(dtypes[0]), single * 2

    for got, want in zip(jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)


def test_pairs_of_doubles_are_rounded_once_to_halves():
    x = np.float64(1) + 2.0**-11 + np.array([[2.0**-40, -(2.0**-40)]])
    np.testing.assert_array_equal(jit(lambda x: x.astype("f2"))(x), x.astype("f2"))


def flags_of(function, *arguments):
    return jit(function).lower(*arguments).compile().build_info().flags


def test_chained_choices_stay_choices_where_loops_are_lanes():
    x = np.arange(300, dtype=np.uint16)

    def quotients(x):
        return np.floor_divide(x // x, x // x)

    def until(x):
        return lax.while_loop(lambda x: x.sum() < 1000, lambda x: x * 2, x + 1)

    assert "-fno-thread-jumps" in flags_of(quotients, x)
    assert "-fno-thread-jumps" not in flags_of(until, x)
    assert "-fno-thread-jumps" not in flags_of(lambda x: x // x + x * 3, x)
    np.testing.assert_array_equal(jit(quotients)(x), (x > 0).astype(np.uint16))


SPLIT = {
    "argmax of rows": lambda x: np.argmax(np.maximum(x, 0), axis=1),
    "argmax of columns": lambda x: np.argmax(np.clip(x, -1, 1), axis=0),
    "a branch": lambda x: np.argmin(np.where(x > 0.5, 0.25, x), axis=1),
    "without NaN": lambda x: np.nanmax(np.maximum(x, 0), axis=0),
}


@pytest.mark.parametrize("name", SPLIT)
@one_in(2)
def test_truths_of_choices_of_constants_are_computed_in_lanes(name):
    x = np.random.default_rng(0).normal(size=(40, 300)).astype(np.float32)
    x[3, 5] = np.nan
    assert "-fno-tree-pre" in flags_of(SPLIT[name], x)
    np.testing.assert_array_equal(jit(SPLIT[name])(x), SPLIT[name](x))


def test_other_programs_keep_partial_redundancies_out():
    x = np.ones((40, 300), np.float32)
    for f in (lambda x: np.maximum(x, 0) + 1, lambda x: np.where(x > x.T[0, 0], x, 2 * x)):
        assert "-fno-tree-pre" not in flags_of(f, x)


OF_CHOICES = {
    "of a bound": lambda x: np.arctan(np.maximum(x, 0.3)),
    "of a choice that is named": lambda x: np.arctan(np.where(x > 0, x, 0.25)) * np.exp(-x),
    "of a step": lambda x: np.arctan(np.heaviside(x, 0.5)),
    "of another function": lambda x: np.power(np.logaddexp2(x, 0.5), 0.1),
}


@pytest.mark.parametrize("name", OF_CHOICES)
def test_functions_of_choices_are_computed_once(name):
    x = np.random.default_rng(0).uniform(0.05, 1, 300)
    f = OF_CHOICES[name]
    assert {"-fno-thread-jumps", "-fno-tree-pre"} <= {*flags_of(f, x)}
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-13)


def test_functions_of_elements_keep_all_optimizations():
    x = np.random.default_rng(0).uniform(0.05, 1, 300)
    for f in (lambda x: np.arctan(x) + np.maximum(x, 0.5), lambda x: np.exp(2 / x)):
        assert "-fno-thread-jumps" not in flags_of(f, x)


def test_vectors_of_elements_that_lie_apart_are_not_read_behind_single_stores():
    """A column of 64 bits that a loop of the user's reads: gcc gathers eight elements."""

    def columns(a, b, rows):
        total = 0
        for i in range(rows):
            for k in range(a.shape[0]):
                total = max(total, a[k, i] * b[k])
        return total

    def lines(a, b, rows):
        total = 0
        for i in range(rows):
            for k in range(a.shape[1]):
                total = max(total, a[i, k] * b[k])
        return total

    a = np.random.default_rng(0).integers(0, 99, (70, 70))
    assert "-fno-tree-slp-vectorize" in flags_of(columns, a, a[0], 9)
    assert "-fno-tree-slp-vectorize" not in flags_of(columns, a.astype(np.int32), a[0], 9)
    assert "-fno-tree-slp-vectorize" not in flags_of(lines, a, a[0], 9)
    assert jit(columns)(a, a[0], 9) == columns(a, a[0], 9)


def test_rows_of_local_arrays_that_are_no_whole_vectors_are_not_taken_for_aligned():
    """Without the flag this program ended with a fault on processors with AVX-512."""

    def f(x):
        return np.ptp(x**0.5, axis=1)

    flag = "--param=vect-epilogues-nomask=0"
    for length, is_there in ((46, True), (48, False)):
        x = np.random.default_rng(0).uniform(size=(12, length, length)).astype("f4")
        lowered = jit(f).lower(x)
        assert (flag in lowered.as_text()) == is_there
        np.testing.assert_allclose(lowered.compile()(x), f(x), rtol=1e-6)


def test_extremes_of_three_keep_their_order_where_iterations_wait_for_each_other():
    """Of the three before it, the neighbour on the left is the last to be known."""

    def distances(row, costs):
        for i in range(1, len(row)):
            row[i] = min(min(row[i] + 1, costs[i]), row[i - 1] + 1)

    def clamped(row, costs):
        for i in range(1, len(row)):
            row[i] = min(max(row[i - 1] + costs[i], 0), 9)

    def of_two(row, costs):
        for i in range(1, len(row)):
            row[i] = max(row[i - 1] - 1, costs[i])

    row, costs = np.random.default_rng(0).integers(0, 20, (2, 600))
    for function, is_there in ((distances, True), (clamped, False), (of_two, False)):
        assert ("-fno-tree-reassoc" in flags_of(function, row, costs)) == is_there
        got, want = row.copy(), row.copy()
        jit(function)(got, costs)
        function(want, costs)
        np.testing.assert_array_equal(got, want)
    assert "-fno-tree-reassoc" not in flags_of(distances, row.astype("f8"), costs.astype("f8"))


def test_short_rows_are_copied_by_loops():
    """As long as an iteration around them says: calls took a sixth of a Levinson recursion."""

    def sums(x):
        y, old = np.zeros(len(x)), np.zeros(len(x))
        for k in range(1, len(x)):
            for i in range(k):
                old[i] = y[i]
            for i in range(k):
                y[i] = old[k - i - 1] * 0.5 + x[i]
        return y

    def copied(x, n):
        y = np.zeros(len(x))
        for k in range(n):
            for i in range(len(x)):
                y[i] = x[i] + k
            for i in range(len(x)):
                x[i] = y[i]
        return y

    def with_a_long_row(x):
        y = np.zeros(100_000)
        y[: len(x)] = sums(x)
        y[7] = y[3]
        return y

    flag, x = "-fno-tree-loop-distribute-patterns", np.arange(30.0)
    assert flag in flags_of(sums, x)
    np.testing.assert_array_equal(jit(sums)(x), sums(x))
    assert flag not in flags_of(copied, x, 3)
    assert flag not in flags_of(sums, np.arange(5000.0))
    assert flag not in flags_of(with_a_long_row, x)
