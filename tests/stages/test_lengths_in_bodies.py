"""Results of bodies whose length depends on outer values: it is counted once, outside."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import lax
from transpile.errors import UnsupportedError

X = np.arange(5.0)


def mapped(x):
    return lax.map(lambda v: x[x > 2] * v, x)


def mapped_over_a_length(x):
    y = x[x > 1]
    return y.sum() + lax.map(lambda v: x[x > 1] * v, y).sum(1)


def scanned(x):
    return lax.scan(lambda c, v: (c + 1, x[np.flatnonzero(x > 2)] * v), 0.0, x)[1]


def carried(x):
    return lax.scan(lambda c, v: (x[x > 2] + v, v), x[x > 2], x)


def chosen(x):
    return lax.cond(x[0] > 0, lambda: x[x > 2], lambda: x[x > 2] + 1)


def recomputed(x):
    return transpile.checkpoint(lambda v: x[x > 2] * v)(2.0)


def recomputed_from_its_argument(x):
    return transpile.checkpoint(lambda y: y[y > 2] * 2)(x)


def named(x):
    return transpile.named_call(lambda y: y[y > 2] * 2)(x)


def derivative(x):
    return transpile.grad(lambda x: lax.map(lambda v: x[x > 2] * v, x).sum())(x)


def repeated(x):
    return lax.map(lambda v: np.unique(np.repeat(x, 2)) * v, x)


LARGE = X[X > 2]
PROGRAMS = [
    (mapped, np.outer(X, LARGE)),
    (mapped_over_a_length, 9 + X[2:] * 9),
    (scanned, np.outer(X, LARGE)),
    (carried, (LARGE + 4, X)),
    (chosen, LARGE + 1),
    (recomputed, LARGE * 2),
    (recomputed_from_its_argument, LARGE * 2),
    (named, LARGE * 2),
    (derivative, [7, 7, 7, 17, 17]),
    (repeated, np.outer(X, X)),
]


@pytest.mark.parametrize(("function", "expected"), PROGRAMS)
@one_in(3)
def test_lengths_of_outer_values(function, expected, shared_cache):
    results = zip(
        transpile.tree.leaves(transpile.jit(function)(X)),
        transpile.tree.leaves(expected) if isinstance(expected, tuple) else [expected],
        strict=True,
    )
    for found, wanted in results:
        np.testing.assert_allclose(found, wanted)


def arrays_of_rows(x, n):
    return np.array([np.arange(n) + y for y in range(n)])


def arrays_of_arrays(x, n):
    return np.array([np.array([j * k for j in range(n)]) for k in range(n)])


def rows_of_another(x, n):
    return np.array([x[:n] * y for y in range(2 * n)])[::2] * x[:n]


@pytest.mark.parametrize("function", [arrays_of_rows, arrays_of_arrays, rows_of_another])
def test_rows_of_a_length_that_is_an_argument(function, shared_cache):
    jitted = transpile.jit(function)
    for n in (3, 5, 1):
        np.testing.assert_array_equal(jitted(X, n), function(X, n))
    assert jitted._cache_size() == 1


def test_lengths_of_each_iteration_do_not_stack():
    with pytest.raises(UnsupportedError, match=r"scan give arrays of different lengths.*size=n"):
        transpile.jit(lambda x: lax.map(lambda v: x[x > v], x))(X)


def test_a_rule_of_its_own_has_results_of_known_length():
    @transpile.custom_jvp
    def large(x):
        return x[x > 2]

    large.defjvp(lambda primals, tangents: (large(*primals), tangents[0][primals[0] > 2]))
    with pytest.raises(UnsupportedError, match="large has a rule of its own"):
        transpile.jit(large)(X)


MATRIX = np.random.default_rng(3).normal(size=(24, 24)) + 6 * np.eye(24)
PARTS = np.array([5, 24, 17])


def each_part(function):
    """A program whose loop counts how much of a matrix a function is of."""

    def program(a, counts):
        out = np.zeros(len(counts))
        for i in range(len(counts)):
            n = counts[i]
            out[i] = function(a[:n, :n])
        return out

    return program


@pytest.mark.parametrize(
    "function",
    [
        lambda a: (a @ a).sum(),
        lambda a: np.linalg.solve(a, a[0]).sum(),
        lambda a: np.abs(np.fft.fft(a, axis=1)).sum(),
        lambda a: np.sort(a, axis=1)[:, 1].sum(),
        lambda a: np.sort(a.ravel())[7],
        lambda a: np.cumsum(a, axis=1)[:, -1].sum(),
    ],
    ids=["product", "solve", "fft", "sort", "sort_of_all", "cumsum"],
)
@one_in(2)
def test_rows_as_long_as_a_loop_counts_have_no_gaps(function):
    """Routines read rows one behind the other, though memory has room for longer ones."""
    program = each_part(function)
    np.testing.assert_allclose(transpile.jit(program)(MATRIX, PARTS), program(MATRIX, PARTS))


def test_a_product_updates_the_part_of_a_matrix_that_a_loop_has_not_left():
    def eliminated(a):
        n, a = len(a), a.copy()
        for k in range(n - 1):
            if a[k, k] < 1e-6:
                n = k
                break
            a[k + 1 : n, k] /= a[k, k]
            a[k + 1 : n, k + 1 : n] -= a[k + 1 : n, k : k + 1] @ a[k : k + 1, k + 1 : n]
        return a, n

    singular = MATRIX.copy()
    singular[9] = singular[3]
    compiled = transpile.jit(eliminated)
    for matrix in (MATRIX, singular):
        for ours, theirs in zip(compiled(matrix), eliminated(matrix), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
