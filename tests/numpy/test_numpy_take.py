"""Functions that take elements by their positions, against NumPy; with size= where it must be."""

import numpy as np
import pytest
from helpers import assert_same, evaluate

import transpile
from transpile import numpy as jnp
from transpile.test_util import check_grads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 5))
ORDER = np.argsort(X, 1)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take(axis, mode):
    i = np.array([[3, -1], [0, 2]])
    assert_same(lambda a, i: np.take(a, i, axis, mode=mode), X, i)
    assert_same(lambda a: np.take(a, i, axis, mode=mode), X)
    assert_same(lambda a: a.take([9, -7], axis, mode=mode), X)
    assert_same(lambda i: jnp.take(X, i, axis, mode=mode), i)


def test_take_refuses_as_numpy_does():
    assert_same(lambda a: np.take(a, 0, 5), X)
    assert_same(lambda a: np.take(a[:0], [0], 0), X)
    assert_same(lambda a: np.take(a, np.array([0.5])), X)
    assert_same(lambda a: np.take(a, 0, mode="around"), X)


@pytest.mark.parametrize(
    ("axis", "indices"),
    [
        (1, ORDER),
        (0, ORDER % 4),
        (1, ORDER[:, :2]),
        (1, ORDER[:1]),
        (0, np.zeros((1, 5), int)),
        (None, np.array([3, 1])),
        (0, -ORDER[:2, :1] % 4 - 4),
        (0, ORDER[:, :2]),
        (1, ORDER * 1.0),
        (1, ORDER[0]),
    ],
)
def test_take_along_axis(axis, indices):
    assert_same(lambda a, k: np.take_along_axis(a, k, axis), X, indices)
    assert_same(lambda a: np.take_along_axis(a, indices, axis), X)


@pytest.mark.parametrize(
    ("shape", "indices"), [((0, 3), (2, 3)), ((0, 3), (2, 1)), ((0, 1), (2, 0))]
)
def test_nothing_is_taken_along_an_empty_axis(shape, indices):
    x, i = np.zeros(shape), np.ones(indices, int)  # an error names the ones of a trial
    assert_same(lambda a, k: np.take_along_axis(a, k, 0), x, i)
    assert_same(lambda a, k: np.take_along_axis(a, k, 1), x.T, i.T)
    assert_same(lambda a, k: (np.put_along_axis(a, k, 2.0, 0), a)[1], x, i * 0)
    assert_same(lambda a, k: np.take_along_axis(a, k[:0], 0), x, i)
    assert_same(lambda a, k: np.take_along_axis(a, k.ravel(), None), x, i)


@pytest.mark.parametrize("dims", [(0,), (2, 0), (0, 3)])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_arrays_without_elements_have_no_positions(dims, count):
    flat = np.ones(count, int)
    assert_same(lambda i: np.unravel_index(i, dims), flat)
    for mode in ("raise", "clip", "wrap"):
        assert_same(lambda i, mode=mode: np.ravel_multi_index((i,) * len(dims), dims, mode), flat)


def test_known_conditions_compress_and_extract():
    mask = np.array([True, False, True, True])
    assert_same(lambda a: np.compress(mask, a, 0), X)
    assert_same(lambda a: np.compress(mask[:2], a, 1), X)
    assert_same(lambda a: a.compress([True, False, True]), X)
    assert_same(lambda a: np.extract(X > 0, a), X)
    assert_same(lambda a: np.compress([[True]], a), X)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_choose(mode):
    number = RNG.integers(0, 3, 5)
    choices = [np.arange(5), np.ones(5), np.zeros((2, 5)) - 1]
    assert_same(lambda c: np.choose(c, choices, mode=mode), number)
    assert_same(lambda a: np.choose(number, [a[0], a[1], 2.0], mode=mode), X)
    if mode != "raise":
        assert_same(lambda c: c.choose([1, 2, 3], mode=mode), number * 3 - 2)


def test_piecewise():
    pieces = [lambda v: -v, 2.0]
    assert_same(lambda a: np.piecewise(a, [a < 0, a >= 0.5], pieces), X)
    assert_same(lambda a: np.piecewise(a, [a < 0, a >= 0.5], [*pieces, lambda v: v * 3]), X)
    assert_same(lambda a: np.piecewise(a, [a < 0], [1, 2, 3]), X)
    assert_same(lambda a: np.piecewise(a, a < 0, [1, 2]), X[0])
    assert_same(lambda a: np.piecewise(a, a < 0, [1, 2]), X)
    assert_same(lambda a: np.piecewise(a, [True, False], [1, 2]), X[0, 0])
    assert_same(lambda a: np.piecewise(a, [a > 0], [lambda v, k: v**k], k=2), X)


def test_indices_from_indices():
    flat = np.array([3, 7, 19])
    for order in ("C", "F"):
        assert_same(lambda k, order=order: np.unravel_index(k, (4, 5), order), flat)
        assert_same(
            lambda k, m, order=order: np.ravel_multi_index(
                (k, m), (4, 5), mode=("clip", "wrap"), order=order
            ),
            np.array([3, 9]),
            np.array([0, 7]),
        )
    rows, columns = np.array([3, 1]), np.array([0, 4])
    assert_same(lambda k, m: np.ravel_multi_index((k, m), (4, 5)), rows, columns)
    assert_same(lambda k, m: np.ix_(k, m), rows, columns)
    assert_same(lambda a, k: a[np.ix_(k, [True, False, True, False, False])], X, rows)
    assert_same(lambda a: np.ix_(a), X)
    for function in (np.tril_indices_from, np.triu_indices_from, np.diag_indices_from):
        assert_same(lambda a, f=function: f(a), X[:, :4])
    assert_same(lambda a: np.diag_indices_from(a), X)


@pytest.mark.parametrize("x", [X > 0, X, X[0] > 0, X[:, 0], np.zeros((2, 0))])
def test_positions_of_truth_have_the_size_that_is_asked_for(x):
    count = int(np.count_nonzero(x))
    found = evaluate(lambda a: jnp.nonzero(a, size=count), x)
    for got, want in zip(found, np.nonzero(x), strict=True):
        np.testing.assert_array_equal(got, want)
    (got,) = evaluate(lambda a: jnp.argwhere(a, size=count + 2, fill_value=-1), x)
    np.testing.assert_array_equal(got[:count], np.argwhere(x))
    np.testing.assert_array_equal(got[count:], np.full((2, x.ndim), -1))
    (got,) = evaluate(lambda a: jnp.flatnonzero(a, size=count + 1), x)
    np.testing.assert_array_equal(got, [*np.flatnonzero(x), 0])
    got = evaluate(lambda a: list(jnp.where(a, size=min(count, 2))), x)
    np.testing.assert_array_equal(got[0], np.where(x)[0][:2])
    (got,) = evaluate(lambda a: jnp.extract(a, a * 2.0, size=count + 1, fill_value=-5), x)
    np.testing.assert_array_equal(got, [*np.extract(x, x * 2.0), -5])


def test_plain_arrays_take_a_size_too():
    np.testing.assert_array_equal(jnp.flatnonzero(np.array([0, 2, 3]), size=3), [1, 2, 0])
    np.testing.assert_array_equal(jnp.flatnonzero(np.array([0, 2, 3])), [1, 2])


def test_without_a_size_the_length_is_that_of_the_values():
    for x in (X, X > 0, X[0], X[:, :0], X * 0):
        for function in (np.nonzero, np.flatnonzero, np.argwhere):
            assert_same(function, x)
        assert_same(lambda a: np.where(a > 0), x)
        assert_same(lambda a: np.extract(a > 0, a), x)
        assert_same(lambda a: np.compress(a[0] > 0, a, -1) if a.ndim > 1 else a, x)
    assert_same(np.argwhere, np.float64(2))
    assert_same(np.nonzero, np.float64(2))


def test_compressed_by_a_traced_condition():
    (got,) = evaluate(lambda a: jnp.compress(a[:, 0] > 0, a, 0, size=4, fill_value=9), X)
    want = X[X[:, 0] > 0]
    np.testing.assert_array_equal(got, [*want, *np.full((4 - len(want), 5), 9.0)])


def test_derivatives_and_batches():
    i = np.array([3, 0, 3])
    check_grads(lambda a: np.take_along_axis(a, ORDER, 1) ** 2, (X,), order=2)
    check_grads(lambda a: np.take(a, i, 0) ** 2, (X,), order=2)
    got = transpile.vmap(lambda a, k: np.take(a, k))(X, ORDER)
    np.testing.assert_array_equal(got, np.take_along_axis(X, ORDER, 1))
    got = transpile.jit(transpile.vmap(lambda a: jnp.flatnonzero(a > 0, size=5)))(X)
    want = [[*np.flatnonzero(row > 0), *[0] * int((row <= 0).sum())] for row in X]
    np.testing.assert_array_equal(got, want)
