"""Gather, scatter and dynamic slices: what types they refuse, what is out of range, ties and
repeats."""

import numpy as np
import pytest
from helpers import trace_to_graph

import transpile
from transpile.primitives import indexing
from transpile.primitives.rules import apply
from transpile.test_util import check_grads

X = np.arange(12.0).reshape(4, 3)


def refused(match, f, *args):
    with pytest.raises(TypeError, match=match):
        trace_to_graph(f, *args)


def test_wrong_operands_are_refused():
    i = np.array([0, 1])
    refused(
        "cannot be indexed by",
        lambda x, i: apply("gather", x, i, axes=(0,), mode="clip"),
        X,
        i.astype("i4"),
    )
    refused(
        "cannot be indexed by",
        lambda x, i: apply("gather", x, i, axes=(0, 1), mode="clip"),
        X,
        i,
    )
    params = {"axes": (0,), "mode": "clip", "unique": False}
    refused(
        "do not fit the indexed axes",
        lambda x, i: apply("scatter", x, x, i, combine="add", **params),
        X,
        i,
    )
    refused(
        "combine by divide",
        lambda x, i: apply("scatter", x, x, i, combine="divide", **params),
        X,
        i,
    )
    refused("int64 scalars", lambda x, i: apply("dynamic_slice", x, i, i, sizes=(1, 1)), X, i)
    refused(
        "does not fit into",
        lambda x, k: apply("dynamic_slice", x, k, k, sizes=(9, 1)),
        X,
        np.array(0),
    )


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("f4", np.nan), ("c8", np.nan), ("?", True), ("i2", -(2**15)), ("u2", 2**16 - 1)],
)
def test_fill_values(dtype, value):
    np.testing.assert_equal(indexing.fill_value(np.dtype(dtype)), np.dtype(dtype).type(value))


def test_elements_that_are_not_there_have_no_derivative():
    i = np.array([1, 9, -8])

    def total(x):
        return np.where(np.isnan(x.at[i].get(mode="fill")), 0, x.at[i].get(mode="fill")).sum()

    np.testing.assert_array_equal(transpile.grad(total)(np.arange(4.0)), [0, 1, 0, 0])
    tangent = transpile.jvp(lambda x: x.at[i].get(mode="fill"), (np.arange(4.0),), (np.ones(4),))[1]
    np.testing.assert_array_equal(tangent, [1, 0, 0])


def test_the_last_of_repeated_updates_gets_the_cotangent():
    def f(x, v, i):
        return (x.at[i].set(v) * np.arange(1.0, 5.0)).sum()

    i = np.array([2, 0, 2])
    to_x, to_v = transpile.grad(f, argnums=(0, 1))(np.zeros(4), np.ones(3), i)
    np.testing.assert_array_equal(to_x, [0, 2, 0, 4])
    np.testing.assert_array_equal(to_v, [0, 1, 3])


def test_all_that_equal_the_extreme_share_its_derivative():
    x, v, i = np.array([1.0, 5.0]), np.array([5.0, 5.0, 0.0]), np.array([1, 1, 0])
    to_x, to_v = transpile.grad(lambda x, v: x.at[i].max(v).sum(), argnums=(0, 1))(x, v)
    np.testing.assert_allclose(to_x, [1, 1 / 3])
    np.testing.assert_allclose(to_v, [1 / 3, 1 / 3, 0])


def test_repeated_products_say_why_they_have_no_derivative():
    product = transpile.jit(lambda x, v, i: x.at[i].multiply(v))
    x, v, i = np.arange(1.0, 4), np.array([2.0, 3.0]), np.array([1, 1])
    np.testing.assert_array_equal(product(x, v, i), [1, 12, 3])
    with pytest.raises(NotImplementedError, match="needs unique_indices=True"):
        transpile.grad(lambda x: product(x, v, i).sum())(x)
    check_grads(transpile.jit(lambda x, v: x.at[np.array([2, 0])].multiply(v)), (x, v), order=2)


def test_slices_with_a_start_are_kept_inside():
    f = transpile.jit(lambda x, k: apply("dynamic_slice", x, k, k, sizes=(2, 2)))
    for k in (-5, 0, 1, 9):
        first, second = np.clip(k, 0, 2), np.clip(k, 0, 1)
        want = X[first : first + 2, second : second + 2]
        np.testing.assert_array_equal(f(X, np.int64(k)), want)


def test_empty_axes_give_what_fills():
    f = transpile.jit(lambda x, i: x.at[i].get(mode="fill"))
    np.testing.assert_array_equal(f(np.zeros((0, 2)), np.array([0, 3])), np.full((2, 2), np.nan))
