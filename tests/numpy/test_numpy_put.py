"""Functions that change their argument, and those that make longer and shorter arrays."""

import re

import numpy as np
import pytest
from helpers import assert_same

import transpile

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 5))
ORDER = np.argsort(X, 1)
VALUES = np.arange(3.0)


def assert_changes_alike(function, x, *others):
    """What becomes of a copy of the first argument."""

    def changed(a, *rest):
        a = np.array(a) if isinstance(a, np.ndarray) else a * 1
        function(a, *rest)
        return a

    assert_same(changed, x, *others)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_put(mode):
    places = np.array([1, -2, 7, 9])
    assert_changes_alike(lambda a, k: np.put(a, k, VALUES, mode=mode), X, places)
    assert_changes_alike(lambda a, k: np.put(a, k, 5, mode=mode), X, places)
    assert_changes_alike(lambda a: np.put(a, [[1, 2], [30, 4]], VALUES, mode=mode), X)
    assert_changes_alike(lambda a: np.put(a, [1], [], mode=mode), X)


def test_place_and_putmask():
    for mask in (X > 0, X[0] > 0):
        assert_changes_alike(lambda a, m: np.place(a, m, VALUES), X, mask)
        assert_changes_alike(lambda a, m: np.putmask(a, m, VALUES), X, mask)
    assert_changes_alike(lambda a: np.place(a, X > 0, [1, 2]), X)
    assert_changes_alike(lambda a, m: np.place(a, m, []), X, X > 0)
    assert_changes_alike(lambda a, m: np.putmask(a, m, a * 2), X, X > 0)


def test_copyto():
    assert_changes_alike(lambda a, b: np.copyto(a, b), X, X[0])
    assert_changes_alike(lambda a, b: np.copyto(a, b, where=b > 0), X, X[0])
    assert_changes_alike(lambda a, b: np.copyto(a, b), X.astype(int), X)
    assert_changes_alike(lambda a, b: np.copyto(a, b, casting="unsafe"), X.astype(int), X)
    assert_changes_alike(lambda a, b: np.copyto(a, b), X, X[:, :2])


def test_put_along_axis():
    assert_changes_alike(lambda a, k: np.put_along_axis(a, k, 7.0, 1), X, ORDER[:, :2])
    assert_changes_alike(
        lambda a, k, v: np.put_along_axis(a, k, v, 0), X, ORDER[:2] % 4, np.sort(X)[:2]
    )
    assert_changes_alike(lambda a, k: np.put_along_axis(a, k, 7.0, None), X, np.array([3, 4]))


@pytest.mark.parametrize(
    "obj",
    [1, -1, [0, 2], slice(0, 3, 2), np.array([True, False, False, True]), 9, [1, 1], []],
    ids=str,
)
def test_delete(obj):
    assert_same(lambda a: np.delete(a, obj, 0), X)


def test_delete_at_a_traced_index():
    assert_same(lambda a: np.delete(a, 3), X)
    assert_same(lambda a, k: np.delete(a, k, 1), X, np.array(-2))
    assert_same(lambda a, k: np.delete(a, k, 1), X, np.array([2]))
    assert_same(lambda a, k: np.delete(a, k, 1), X, np.array([2, 3, 2, -1]))
    assert_same(lambda a, k: np.delete(a, k), X, X.ravel() > 0)
    assert_same(lambda a, k: np.delete(a, k), X, X > 0)


@pytest.mark.parametrize(
    ("obj", "values", "axis"),
    [
        (1, 9.0, 0),
        (-1, X[0], 0),
        ([0, 2], X[:2], 0),
        ([2, 0], 9.0, 1),
        (slice(0, 3, 2), 1.0, 0),
        (1, np.arange(4.0), 1),
        ([1], np.arange(4.0)[:, None], 1),
        (2, np.arange(8.0).reshape(2, 4), 1),
        (9, 1.0, 0),
        (1, [1, 2, 3.0], None),
        ([1, 1, 3], [1, 2, 3.0], None),
    ],
)
def test_insert(obj, values, axis):
    assert_same(lambda a: np.insert(a, obj, values, axis), X)
    if not isinstance(obj, slice) and obj != 9:
        assert_same(lambda a, k: np.insert(a, k, values, axis), X, np.array(obj))


@pytest.mark.parametrize("shape", [3, (2, 2), (7, 5), (0, 2), (), -1])
def test_resize(shape):
    assert_same(lambda a: np.resize(a, shape), X)
    assert_same(lambda a: np.resize(a[:0], shape), X)


def test_a_jitted_function_changes_what_it_made():
    def marked(x, k):
        y = np.zeros_like(x)
        np.put(y, k, 1.0)
        np.copyto(y, x, where=x > 1)
        return y

    want = marked(X, np.array([1, 7]))
    np.testing.assert_array_equal(transpile.jit(marked)(X, np.array([1, 7])), want)


@pytest.mark.parametrize(
    "positions",
    [
        np.array([1, 2], np.uint64),
        np.array([], np.uint8),
        np.array([1.0, 2.0]),
        np.array([1.0]),
        [0.5, 1.5],
        np.array([1j]),
        np.array([9, 0]),
    ],
)
def test_positions_that_numpy_refuses_to_insert_at(positions):
    with pytest.raises((TypeError, IndexError)) as found:
        np.insert(X[0], positions, 0.0)
    text = re.escape(str(found.value))
    kind = IndexError if found.type is IndexError else TypeError
    with pytest.raises(kind, match=text):
        transpile.jit(lambda a: np.insert(a, positions, 0.0))(X[0])
    if isinstance(positions, np.ndarray) and positions.dtype.kind == "u":
        with pytest.raises(TypeError, match=text):
            transpile.jit(lambda a, k: np.insert(a, k, 0.0))(X[0], positions)
