"""Loops and branches beside JAX itself, where it is installed: values, dtypes and derivatives."""

import numpy as np
import pytest

import transpile
from transpile import lax
from transpile import numpy as jnp

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

X = np.linspace(0.2, 0.9, 6)
W = np.linspace(-1, 1, 9).reshape(3, 3)
HALF = X.astype("float32")


def scanned(np, lax, c, xs):
    return lax.scan(lambda c, x: (c * np.sin(x), (c, x > 0.5)), c, xs, reverse=True)


def counted(np, lax, c, xs):
    return lax.fori_loop(0, 4, lambda i, c: c * i + xs[i], c)


def halved(np, lax, c, xs):
    return lax.while_loop(lambda s: s[0] > 0.01, lambda s: (s[0] * 0.5, s[1] + 1), (c, 0))


def chosen(np, lax, c, xs):
    return lax.cond(c > 0.3, lambda a: (a, 1), lambda a: (a * 2, 0), c)


def switched(np, lax, c, xs):
    return lax.switch((xs[0] * 10).astype("int64"), [np.sin, np.cos, lambda v: v * xs[1]], c)


def mapped(np, lax, c, xs):
    return lax.map(lambda x: np.tanh(x) * c, xs, batch_size=4)


def associated(np, lax, c, xs):
    return lax.associative_scan(lambda a, b: a * b + a, xs, reverse=True)


FUNCTIONS = [scanned, counted, halved, chosen, switched, mapped, associated]
CARRIES = [0.4, 0, 1, np.float32(0.4), np.float64(0.4)]


def theirs(function):
    return lambda c, xs: function(jax.numpy, jax.lax, c, jax.numpy.asarray(xs))


def ours(function):
    return lambda c, xs: function(jnp, lax, c, xs)


def same(found, expected, single=False):
    leaves = jax.tree.leaves(expected)
    for x, y in zip(transpile.tree.leaves(found), leaves, strict=True):
        y = np.asarray(y)
        limit = 1e-6 if single or y.dtype == np.float32 else 1e-12
        assert (np.shape(x), x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=limit, atol=limit)


@pytest.mark.parametrize("xs", [X, HALF], ids=["f64", "f32"])
@pytest.mark.parametrize("c", CARRIES, ids=[f"{type(c).__name__}-{c}" for c in CARRIES])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_and_dtypes_are_those_of_jax(function, c, xs):
    try:
        expected = theirs(function)(c, xs)
    except TypeError as problem:  # such a carry changes its type
        with pytest.raises(TypeError, match=r"must have equal types|equal output types"):
            ours(function)(c, xs)
        assert "types" in str(problem)
        return
    same(ours(function)(c, xs), expected, xs is HALF)
    same(transpile.jit(ours(function))(c, xs), expected, xs is HALF)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_tangents_are_those_of_jax(function):
    args, tangents = (0.4, X), (1.0, X[::-1].copy())
    expected = jax.jvp(theirs(function), args, tangents)[1]
    found = transpile.jvp(ours(function), args, tangents)[1]
    for x, y in zip(transpile.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if y.dtype == jax.dtypes.float0:
            assert x.dtype.fields
        else:
            np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize(
    "function", [f for f in FUNCTIONS if f is not halved], ids=lambda f: f.__name__
)
def test_gradients_are_those_of_jax(function):
    def total(f, sum_of):
        return lambda c, xs: sum((x * x).sum() for x in sum_of(f(c, xs)) if x.dtype.kind == "f")

    expected = jax.grad(total(theirs(function), jax.tree.leaves), (0, 1))(0.4, X)
    found = transpile.grad(total(ours(function), transpile.tree.leaves), (0, 1))(0.4, X)
    same(found, expected)
