"""Sorting functions on traced arrays against NumPy's: values, errors, C, derivatives, batches."""

from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from helpers import arrays, assert_same, evaluate, ordinary, values
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile import numpy as jnp
from transpile.test_util import check_grads

AXES = st.sampled_from([-1, 0, 1, 2, None])
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@given(arrays(values), AXES)
@settings(max_examples=40)
def test_sort_and_argsort_equal_numpys_stable_ones(x, axis):
    assume(x.dtype != BFLOAT16)  # NumPy leaves NaN of bfloat16 anywhere
    assert_same(lambda x: np.sort(x, axis, kind="stable"), x)
    assert_same(lambda x: np.argsort(x, axis, stable=True), x)


def test_nan_of_bfloat16_comes_last(shared_cache):
    x = np.array([np.nan, 2, -np.inf, -np.nan, np.inf, 0], BFLOAT16)
    for sort in (transpile.jit(np.sort), lambda x: evaluate(np.sort, x)[0]):
        found = sort(x)
        assert found.dtype == BFLOAT16
        np.testing.assert_array_equal(found.astype(float), np.sort(x.astype(float)))


@given(arrays(ordinary, min_rank=1), AXES)
@settings(max_examples=30)
def test_many_equal_elements_keep_their_order(x, axis):
    assert_same(lambda x: np.argsort(x, axis, stable=True), x)
    assert_same(lambda x: x.argsort(axis, kind="stable"), x)
    assert_same(np.sort_complex, x)


@given(arrays(ordinary, min_rank=1), st.integers(1, 3), st.sampled_from([-1, 0]))
@settings(max_examples=30)
def test_lexsort_by_several_keys(x, count, axis):
    keys = [np.roll(x, k) if k else x // 2 if x.dtype.kind in "iu" else x for k in range(count)]
    assert_same(lambda *keys: np.lexsort(keys, axis), *keys)


def test_keys_may_have_different_dtypes():
    first, second = np.array([1, 0, 1, 0, 1]), np.array([2.5, np.nan, -1.0, 3.0, 2.5])
    assert_same(lambda x, y: np.lexsort((y, x)), first, second)
    assert_same(lambda x, y: np.lexsort((x, y)), first, second)


@given(arrays(ordinary, min_rank=1, max_side=6), st.data())
@settings(max_examples=40)
def test_a_partition_has_its_element_in_place_and_smaller_ones_before_it(x, data):
    if not x.size:
        return
    axis = data.draw(st.integers(0, x.ndim - 1))
    kth = data.draw(st.integers(0, x.shape[axis] - 1))
    (found,) = evaluate(lambda x: np.partition(x, kth, axis), x)
    (order,) = evaluate(lambda x: np.argpartition(x, kth, axis), x)
    np.testing.assert_array_equal(np.take_along_axis(x, order, axis), found, strict=True)
    found, wanted = (np.moveaxis(v, axis, 0) for v in (found, np.sort(x, axis)))
    np.testing.assert_array_equal(found[kth], wanted[kth])
    np.testing.assert_array_equal(np.sort(found[:kth], 0), wanted[:kth])
    np.testing.assert_array_equal(np.sort(found[kth:], 0), wanted[kth:])


def is_partition(found, x, ranks):
    """True if the rows of `found` have the elements of x, with those at ranks in their places."""
    wanted = np.sort(x, kind="stable")
    ends = [0, *(e for k in ranks for e in (k, k + 1)), x.shape[-1]]
    parts = [np.sort(found[..., a:b], kind="stable") for a, b in pairwise(ends)]
    return np.array_equal(np.concatenate(parts, -1), wanted, equal_nan=x.dtype.kind == "f")


def rows_to_partition(dtype):
    """Long rows: of numbers, of few different ones, in order, and all equal, floats with NaN."""
    random = np.random.default_rng(5)
    x = random.normal(size=(5, 1201)) * 1e4
    x = np.stack([x[0], x[1] // 1e4, np.sort(x[2]), -np.sort(x[3]), 0 * x[4]])
    x = x.astype(dtype) if np.dtype(dtype).kind != "u" else abs(x).astype(dtype)
    if x.dtype.kind == "f":
        x[0, ::9], x[1, 3::7], x[1, ::5] = np.nan, np.nan, -0.0
    return x


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u4", "i2"])
@one_in(2)
def test_long_rows_are_partitioned_in_c(dtype):
    x = rows_to_partition(dtype)
    for ranks in ([600], [0], [1200], [3, 4, 1100]):
        found, turned, order, other = transpile.jit(
            lambda x, y, k=ranks: (
                *(np.partition(x, k), np.partition(y, k, 0).T),
                *(np.argpartition(x, k), np.argpartition(y, k, 0).T),
            )
        )(x, np.asfortranarray(x).T.copy())
        assert is_partition(found, x, ranks)
        assert is_partition(turned, x, ranks)
        for positions in (order, other):
            np.testing.assert_array_equal(np.sort(positions), [np.arange(1201)] * 5)
            assert is_partition(np.take_along_axis(x, positions, 1), x, ranks)
        if x.dtype.kind == "f":
            assert np.signbit(found[found == 0]).sum() == np.signbit(x[x == 0]).sum() > 0


def test_tangents_are_in_the_order_of_the_partition():
    """The order of a partition is not said; that of a result is the one of its derivative."""
    x = np.random.default_rng(0).permutation(np.arange(700.0))
    found, moved = transpile.jit(
        lambda x: transpile.jvp(lambda x: np.partition(x * 2, 350), (x,), (x,))
    )(x)
    np.testing.assert_array_equal(found, moved)
    assert is_partition(found, x * 2, [350])
    found = transpile.vmap(lambda x: np.partition(x, 350))(np.stack([x, -x]))
    assert is_partition(found, np.stack([x, -x]), [350])


def test_methods_partition_long_rows(shared_cache):
    def f(x):
        y = x + 0
        y.partition([7, -3])
        return y, x.argpartition(7)

    x = np.random.default_rng(0).permutation(np.arange(900.0))
    found, order = transpile.jit(f)(x)
    assert is_partition(found, x, [7, 897])
    assert is_partition(x[order], x, [7])


@pytest.mark.parametrize("dtype", ["int32", "float64", "bool"])
def test_descending_order_keeps_equal_elements_in_order(dtype):
    x = ordinary(dtype, (3, 9), 4)
    positions = np.argsort(-x.astype(float), axis=1, stable=True)
    for found in (
        evaluate(lambda x: jnp.argsort(x, 1, descending=True), x)[0],
        jnp.argsort(x, 1, descending=True),
    ):
        np.testing.assert_array_equal(found, positions)
    wanted = np.take_along_axis(x, positions, 1)
    np.testing.assert_array_equal(jnp.sort(x, axis=1, descending=True), wanted, strict=True)
    np.testing.assert_array_equal(jnp.sort(x, axis=1, descending=False), np.sort(x, 1), strict=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sort(x, kind="bubble"),
        lambda x: np.sort(x, kind="stable", stable=True),
        lambda x: np.sort(x, order="a"),
        lambda x: np.sort(x, 2),
        lambda x: np.argsort(x, kind="bubble"),
        lambda x: np.argsort(x, -3),
        lambda x: np.partition(x, 9),
        lambda x: np.partition(x, [0, -5]),
        lambda x: np.partition(x, 1.5),
        lambda x: np.partition(x, 0, kind="quick"),
        lambda x: np.argpartition(x, 4),
        lambda x: np.argpartition(x, 0, 2),
        lambda x: np.lexsort((x, x[0])),
        lambda x: np.lexsort((x, x), 2),
    ],
)
def test_errors_are_numpys(function):
    assert_same(function, ordinary("float64", (2, 4), 0))


def test_a_traced_position_to_partition_at():
    x = ordinary("f8", (5, 6), 3)
    jitted = transpile.jit(lambda x, k: [np.partition(x, k), np.argpartition(x, k)])
    for k in (2, np.array([1, 3])):
        values, order = jitted(x, k)
        np.testing.assert_array_equal(values[:, k], np.sort(x)[:, k])
        np.testing.assert_array_equal(np.take_along_axis(x, order, 1), values)


def test_c_sorts_as_numpy_does(shared_cache):
    def f(x, y):
        return (
            np.sort(np.sin(x), 0),
            np.argsort(x.reshape(5, -1), 1),
            np.sort(x, None)[::-1],
            np.lexsort((x, y), 0),
            jnp.sort(y.T, descending=True) + 1,
        )

    x, y = np.linspace(-9, 9, 60).reshape(20, 3) % 2.1, ordinary("int8", (20, 3), 2)
    got = transpile.jit(f)(x, y)
    want = (
        np.sort(np.sin(x), 0),
        np.argsort(x.reshape(5, -1), 1, stable=True),
        np.sort(x, None)[::-1],
        np.lexsort((x, y), 0),
        np.sort(y.T)[:, ::-1] + 1,
    )
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-15)


def test_a_donated_argument_may_be_sorted(shared_cache):
    x = np.array([0.0, np.nan, -0.0, 3.0, -1.0, 0.0])
    wanted = np.sort(x, kind="stable")
    found = transpile.jit(lambda x: np.sort(x), donate_argnums=0)(x.copy())
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found[1:4]), np.signbit(wanted[1:4]))


def test_derivatives_of_sort_follow_the_permutation():
    x = np.random.default_rng(1).permutation(np.linspace(-2, 2, 12)).reshape(3, 4)
    check_grads(lambda x: np.sort(x, 0) ** 2, (x,), order=2)
    check_grads(lambda x: jnp.sort(np.sin(x), axis=None, descending=True), (x,), order=2)
    check_grads(lambda x: np.partition(x, 2, axis=1)[:, 2], (x,), order=2)
    slopes = transpile.grad(lambda x: (np.sort(x) * np.arange(3.0)).sum())(np.array([5.0, 1, 3]))
    np.testing.assert_array_equal(slopes, [2, 0, 1])


def test_equal_elements_have_the_slopes_of_their_places_in_a_stable_order():
    slopes = transpile.grad(lambda x: (np.sort(x) * np.arange(4.0)).sum())(np.array([2.0, 1, 2, 1]))
    np.testing.assert_array_equal(slopes, [2, 0, 3, 1])


def test_vmap_is_a_loop():
    x = ordinary("float32", (4, 3, 5), 3)
    for f in (
        lambda x: np.sort(x, 0),
        lambda x: np.argsort(x, 1),
        lambda x: np.lexsort((x, x[::-1]), 0),
    ):
        found = transpile.vmap(f)(x)
        np.testing.assert_array_equal(found, np.stack([evaluate(f, row)[0] for row in x]))


def orders(length):
    """Rows in order, in the reverse one, and almost so, with ties, zeros of both signs and NaN."""
    x = np.linspace(-1, 1, length) if length > 1 else np.zeros(length)
    ties, zeros, swapped, with_nan = np.repeat(x, 2)[:length], x.copy(), x.copy(), x.copy()
    zeros[length // 3 :] = np.where(np.arange(length - length // 3) % 2, 0.0, -0.0)
    swapped[-2:] = swapped[-2:][::-1]
    with_nan[length // 2 :] = np.nan
    rows = [x, ties, zeros, swapped, with_nan]
    return np.array([*rows, *(row[::-1] for row in rows)])


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "c16"])
@one_in(2)
def test_rows_in_order_or_in_the_reverse_one_are_sorted_stably(dtype):
    with np.errstate(invalid="ignore"):
        many = [(orders(n) * 100).astype(dtype) for n in (1, 2, 600, 601)]

    @transpile.jit
    def sorted_in(arrays):
        return [
            (np.argsort(x, kind="stable"), np.lexsort((x, x)), np.argsort(x.T, 0, kind="stable"))
            for x in arrays
        ]

    for x, (rows, twice, columns) in zip(many, sorted_in(many), strict=True):
        want = np.argsort(x, kind="stable")
        np.testing.assert_array_equal(rows, want)
        np.testing.assert_array_equal(twice, want)
        np.testing.assert_array_equal(columns, want.T)
