"""Elements that a loop reads beside those that it stores are read before it."""

import re

import numpy as np
import pytest
from graphs import assert_same_results, run, scheduled, statements_of
from thorough import one_in

import transpile
from transpile import lax
from transpile.ir.loop_ir import For
from transpile.ir.loop_rewrite import loads


def eliminated(a):
    """LU without pivoting, row by row."""

    def step(k, a):
        def row(i, a):
            a = a.at[i, k].divide(a[k, k])
            return lax.fori_loop(k + 1, n, lambda j, a: a.at[i, j].add(-a[i, k] * a[k, j]), a)

        return lax.fori_loop(k + 1, n, row, a)

    n = a.shape[0]
    return lax.fori_loop(0, n, step, a)


def substituted(lower, x):
    """Forward substitution, by columns: x[k] is before what is stored."""

    def column(k, x):
        return lax.fori_loop(k + 1, n, lambda i, x: x.at[i].add(-lower[i, k] * x[k]), x)

    n = x.shape[0]
    return lax.fori_loop(0, n, column, x)


def shortest(d):
    """Floyd and Warshall's algorithm: d[i, k] is stored where j is k."""

    def through(k, d):
        def row(i, d):
            def one(j, d):
                return d.at[i, j].set(np.minimum(d[i, j], d[i, k] + d[k, j]))

            return lax.fori_loop(0, n, one, d)

        return lax.fori_loop(0, n, row, d)

    n = d.shape[0]
    return lax.fori_loop(0, n, through, d)


def every_second(x):
    """x[k] is stored where k is even."""

    def through(k, x):
        return lax.fori_loop(0, n // 2, lambda j, x: x.at[2 * j].add(x[k]), x)

    n = x.shape[0]
    return lax.fori_loop(0, n, through, x)


def elements_of_innermost(program):
    """The elements that loops without others inside read, as text."""
    inner = [f for f in statements_of(program, For) if not any(isinstance(s, For) for s in f.body)]
    return {
        ", ".join(map(str, load.index)) for loop in inner for s in loop.body for load in loads(s)
    }


A = np.random.default_rng(0).normal(size=(9, 9)) + 9 * np.eye(9)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (eliminated, (A,)),
        (substituted, (np.tril(A), A[0])),
        (shortest, (np.abs(A),)),
        (every_second, (A[0],)),
    ],
)
@one_in(2)
def test_results_stay(function, args):
    expected = function(*args)
    assert_same_results(run(scheduled(function, *args), list(args)), [expected])
    np.testing.assert_allclose(transpile.jit(function)(*args), expected, rtol=1e-13)


def test_an_element_beside_the_stored_ones_is_read_once():
    assert elements_of_innermost(scheduled(eliminated, A)) == {"i, j", "k, j"}
    assert elements_of_innermost(scheduled(substituted, np.tril(A), A[0])) == {"i", "i, k"}


def test_an_element_that_may_be_stored_is_read_again():
    assert "k" in elements_of_innermost(scheduled(every_second, A[0]))


def added_to(a, x):
    """Each element of the result is a variable while its row is added."""
    out = np.zeros(len(a))
    for i in range(len(a)):
        for j in range(len(x)):
            out[i] += a[i, j] * x[j]
    return out


def added_to_two(a, x):
    """Under a condition, by numbers that the other one has by then."""
    out = np.zeros((len(a), 2))
    for i in range(len(a)):
        for j in range(len(x)):
            if a[i, j] > 0:
                out[i, 0] = out[i, 0] * 0.5 - out[i, 1]
                out[i, 1] -= x[j] * out[i, 0]
    return out


def added_to_what_is_read(a, x):
    """x[3] is added to, and read as x[j]: it stays in memory."""
    for j in range(len(x)):
        x[3] += x[j] * a[0, j]
    return x


def stored_before(a, x):
    """The first thing is a store: the element has no value to begin with."""
    out = np.zeros(len(a))
    for i in range(len(a)):
        for j in range(len(x)):
            out[i] = a[i, j]
            out[i] += x[j]
    return out


def by_other_operations(a, x):
    """What C has no operator for is a call."""
    out = np.full((len(a), 3), 2.0)
    for i in range(len(a)):
        for j in range(len(x)):
            out[i, 0] = np.maximum(out[i, 0], a[i, j])
            out[i, 1] = np.arctan2(out[i, 1], 1.0 + x[j] * x[j])
            out[i, 2] /= 1.0 + abs(x[j]) / 64
    return out


# With how many variables that loops change: of the first one four rows are added at a time.
CHANGED = {
    added_to: 4,
    added_to_two: 2,
    by_other_operations: 3,
    added_to_what_is_read: 0,
    stored_before: 0,
}


@pytest.mark.parametrize("function", CHANGED)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@one_in(3)
def test_elements_that_a_loop_adds_to_are_variables(function, dtype):
    random = np.random.default_rng(5)
    a, x = ((4 * random.normal(size=s)).astype(dtype) for s in ((88, 70), 70))
    jitted = transpile.jit(function)
    np.testing.assert_allclose(jitted(a, x.copy()), function(a, x.copy()), rtol=1e-15)


@pytest.mark.parametrize("function", CHANGED)
def test_variables_of_elements_are_stored_behind_the_loop(function):
    text = transpile.jit(function).lower(np.ones((88, 70)), np.ones(70)).as_text("loops")
    assert len(re.findall(r"var t\d*:", text)) == CHANGED[function], text
