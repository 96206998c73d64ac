"""Assignments to a part of a row or column, in a loop, are made where the array lies."""

import numpy as np
import pytest
from helpers import trace_to_graph
from passes import names
from thorough import one_in

import transpile
from transpile import lax
from transpile.passes.updates_of_slices import update_whole_arrays

X = np.arange(60.0).reshape(3, 4, 5) ** 2


def row(x, i, y):
    x[0, i, 1:-1] = y[1:-1]
    return x


def column(x, i, y):
    x[1:, i, :2] += y[:2]
    return x


def deep(x, i, y):
    x[1, :3, i] = y[i]
    return x


def view(x, i, y):
    v = x[:, :, 2:4]
    v[i - 3] = y[2:4]
    v[0, 1:, i - 3] *= 2
    return x


def block(x, i, y):
    x[0, i % 2 : i % 2 + 2, 1:3] = y[1:3]
    x[:2, 1:3, i] = y[0]
    return x


def named(x, i, y):
    k = np.array([2, 0, 2]) % (i % 4 + 1)
    x[k, :, 1:4] = y[1:4]
    x[1:, k, :2] += y[:2]
    x[k, 1:, k] = y[2]
    return x


ALL = [row, column, deep, view, block, named]


@pytest.mark.parametrize("f", ALL)
@pytest.mark.parametrize("i", [1, 3, -1])
@one_in(3)
def test_results_are_numpys(f, i, shared_cache):
    ours, numpys, y = X.copy(), X.copy(), np.arange(5.0)
    if f is view:
        i = min(i + 2, 4)
    np.testing.assert_array_equal(transpile.jit(f)(ours, i, y), f(numpys, i, y))
    np.testing.assert_array_equal(ours, numpys)


def test_there_is_no_slice_to_put_back():
    for f in (row, deep):
        graph = trace_to_graph(f, X, 1, np.arange(5.0))
        assert "dynamic_update_slice" in names(graph)
        found = names(update_whole_arrays(graph))
        assert "scatter" in found and "dynamic_update_slice" not in found[found.index("scatter") :]


def test_places_that_a_slice_does_not_have_are_none_of_the_array():
    def f(x, i):
        return x.at[1:3].set(x[1:3].at[i].set(7.0, mode="drop"))

    x = np.zeros(5)
    for i in (0, 1, 2, 3, -1, -4):
        y = x.copy()
        if -2 <= i < 2:
            y[1:3][i] = 7
        np.testing.assert_array_equal(transpile.jit(f)(x, np.int64(i)), y, err_msg=str(i))


@pytest.mark.parametrize("first", [1, 4])
def test_a_recurrence_of_rows_copies_no_array(first):
    def f(x):
        for i in range(first, x.shape[0]):
            x[i, 1:-1] += x[i - 1, :-2] * 0.5
        return x

    x = np.random.default_rng(3).standard_normal((400, 9))
    text = transpile.jit(f).lower(x).as_text("c")
    assert text.count("for (int64_t") <= 4
    np.testing.assert_allclose(transpile.jit(f)(x.copy()), f(x.copy()), rtol=1e-12)


def test_derivatives_and_batches():
    def f(x):
        def step(i, x):
            return x.at[i, 1:-1].add(x[i - 1, 2:] ** 2)

        return lax.fori_loop(1, 4, step, x).sum()

    x = np.random.default_rng(3).standard_normal((4, 5))
    found = transpile.grad(f)(x)
    h = 1e-6
    for at in ((0, 3), (2, 1), (3, 4)):
        moved = [x.copy(), x.copy()]
        moved[0][at] += h
        moved[1][at] -= h
        wanted = (transpile.jit(f)(moved[0]) - transpile.jit(f)(moved[1])) / (2 * h)
        np.testing.assert_allclose(found[at], wanted, rtol=1e-5)
    xs = np.stack([x, 2 * x])
    np.testing.assert_allclose(transpile.vmap(f)(xs), [f(v) for v in xs], rtol=1e-12)
