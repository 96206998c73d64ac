"""Functional updates `x.at[key]`: every method, mode and kind of key, against NumPy's in place."""

import numpy as np
import pytest
from helpers import trace_to_graph
from thorough import one_in

import transpile
from transpile import numpy as jnp
from transpile.test_util import check_grads

X = np.arange(1.0, 7.0)
KEYS = [1, -1, slice(1, 4), slice(None, None, 2), slice(4, 1, -1), [1, 1, 4], X > 3, Ellipsis]
UFUNCS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "mul": np.multiply,
    "divide": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("name", UFUNCS)
@one_in(4)
def test_updates_are_those_of_ufunc_at(name, key):
    want = X.copy()
    UFUNCS[name].at(want, key, 3.5)
    np.testing.assert_allclose(getattr(jnp.at(X)[key], name)(3.5), want)
    got = transpile.jit(lambda x, v: getattr(x.at[key], name)(v))(X, 3.5)
    np.testing.assert_allclose(got, want)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_set_get_apply_and_power(key):
    want = X.copy()
    want[key] = -1
    np.testing.assert_array_equal(jnp.at(X)[key].set(-1), want)
    np.testing.assert_array_equal(jnp.at(X)[key].get(), X[key])
    want[key] = np.sqrt(X[key])
    np.testing.assert_allclose(jnp.at(X)[key].apply(np.sqrt), want)
    if not isinstance(key, list):
        want[key] = X[key] ** 2
        np.testing.assert_allclose(jnp.at(X)[key].power(2), want)
    np.testing.assert_array_equal(X, np.arange(1.0, 7.0))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("mode", "read", "written"),
    [
        ("clip", [2, 6, 6, 1], [9, 9, 3, 4, 5, 9]),
        ("fill", [2, 6, np.nan, np.nan], [1, 9, 3, 4, 5, 9]),
        ("drop", [2, 6, np.nan, np.nan], [1, 9, 3, 4, 5, 9]),
        ("wrap", [2, 6, 3, 6], [1, 9, 9, 4, 5, 9]),
        ("promise_in_bounds", [2, 6, 6, 1], [9, 9, 3, 4, 5, 9]),
    ],
)
def test_modes(mode, read, written, known):
    places = np.array([1, -1, 8, -7])
    if known:
        got = jnp.at(X)[places].get(mode=mode), jnp.at(X)[places].set(9.0, mode=mode)
    else:
        both = transpile.jit(lambda x, i: (x.at[i].get(mode=mode), x.at[i].set(9.0, mode=mode)))
        got = both(X, places)
    np.testing.assert_array_equal(got[0], read)
    np.testing.assert_array_equal(got[1], written)


def test_fill_value_and_what_is_filled_by_default():
    i = np.array([0, 9])
    np.testing.assert_array_equal(jnp.at(X)[i].get(mode="fill", fill_value=-7), [1, -7])
    np.testing.assert_array_equal(jnp.at(X)[i].get(fill_value=-7), [1, -7])
    least = np.iinfo(np.int32).min
    np.testing.assert_array_equal(jnp.at(X.astype("i4"))[i].get(mode="fill"), [1, least])
    np.testing.assert_array_equal(jnp.at(X.astype("u1"))[i].get(mode="fill"), [1, 255])


def test_errors_have_a_place():
    for update in (lambda x: x.at[9].set(1.0), lambda x: x.at[[0, 9]].get()):
        with pytest.raises(IndexError, match=r"^test_numpy_at.py:\d+: index 9 is out of bounds"):
            trace_to_graph(update, X)
    with pytest.raises(ValueError, match="the mode of an index is one of clip, drop"):
        trace_to_graph(lambda x: x.at[0].set(1.0, mode="near"), X)
    with pytest.raises(ValueError, match="could not broadcast input array"):
        trace_to_graph(lambda x: x.at[:2].set(np.ones(3)), X)


def test_masks_that_are_traced_choose():
    got = transpile.jit(lambda x: x.at[x > 3].multiply(2.0).at[x < 2].set(0.0))(X)
    np.testing.assert_array_equal(got, [0, 2, 3, 8, 10, 12])


def test_derivatives():
    i, v = np.array([4, 0, 4]), np.array([0.3, 1.7, 9.1])
    for name in ("set", "add", "subtract", "min", "max"):

        def change(x, v, name=name):
            return transpile.jit(lambda x, v: getattr(x.at[i], name)(v) ** 2)(x, v)

        check_grads(change, (X, v), order=2)
    for name in ("multiply", "divide", "power"):

        def change_slice(x, v, name=name):
            return transpile.jit(lambda x, v: getattr(x.at[1:4], name)(v) ** 2)(x, v)

        check_grads(change_slice, (X, v), order=1)


def test_batches_are_a_loop():
    rng = np.random.default_rng(0)
    x, i, v = rng.normal(size=(5, 6)), rng.integers(0, 6, (5, 3)), rng.normal(size=(5, 3))
    for name in ("set", "add", "max"):
        got = transpile.vmap(lambda x, i, v, name=name: getattr(x.at[i], name)(v))(x, i, v)
        want = [getattr(jnp.at(a)[k], name)(u) for a, k, u in zip(x, i, v, strict=True)]
        np.testing.assert_allclose(got, want)


def test_one_traced_index_is_no_other_and_so_a_product_has_a_derivative():
    def scaled(x, y, i):
        return x.at[i].multiply(y)

    x = np.array([3.0, 1.0, 2.0])
    for i in (0, 2, -1):
        check_grads(lambda x, y, i=i: transpile.jit(scaled)(x, y, i), (x, 2.0), order=2)
    rows, places = np.arange(1.0, 7.0).reshape(2, 3), np.array([0, 2])
    each = transpile.vmap(lambda x, i: scaled(x, x[0], i))
    found = transpile.grad(lambda x: each(x, places).sum())(rows)
    np.testing.assert_allclose(found, [[2, 1, 1], [1 + 6, 1, 4]])
