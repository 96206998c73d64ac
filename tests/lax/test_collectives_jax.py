"""Collectives under `vmap` beside JAX itself, where it is installed: values and derivatives."""

import numpy as np
import pytest

import transpile
from transpile import lax

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

X = np.arange(24.0).reshape(4, 6) / 7
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def looped(np, lax, v):
    return lax.scan(lambda c, a: (c * a + lax.psum(a * c, "i"), c), 1.0, v)[0]


# Of one example v, by names i (of 4) and the modules to use.
PROGRAMS = {
    "psum": lambda np, lax, v: (lax.psum(v, "i") ** 2).sum(),
    "pmean": lambda np, lax, v: (v * lax.pmean(np.sin(v), "i")).sum(),
    "psum of a constant": lambda np, lax, v: (v * lax.psum(3.0, "i")).sum(),
    "all_gather": lambda np, lax, v: (lax.all_gather(v, "i") ** 2 * v).sum(),
    "all_gather tiled": lambda np, lax, v: (lax.all_gather(v, "i", tiled=True) ** 3).sum(),
    "psum_scatter": lambda np, lax, v: lax.psum_scatter(v[:4] ** 2, "i"),
    "psum_scatter tiled": lambda np, lax, v: (
        lax.psum_scatter(v[:4] ** 2, "i", tiled=True) ** 2
    ).sum(),
    "all_to_all": lambda np, lax, v: (lax.all_to_all(v[:4].reshape(4, 1), "i", 0, 0) ** 2).sum(),
    "all_to_all tiled": lambda np, lax, v: (
        lax.all_to_all(v[:4].reshape(4, 1), "i", 0, 1, tiled=True) ** 2
    ).sum(),
    "pswapaxes": lambda np, lax, v: (lax.pswapaxes(v[:4], "i", 0) * v[2:]).sum(),
    "ppermute": lambda np, lax, v: (lax.ppermute(v, "i", RING) ** 2 * v).sum(),
    "pshuffle": lambda np, lax, v: (lax.pshuffle(v, "i", [1, 2, 0, 3]) * v).sum(),
    "axis_index": lambda np, lax, v: (v * lax.axis_index("i")).sum(),
    "scan": looped,
    # Of all: where predicates differ, JAX's derivative leaves out what a participant on the other
    # branch sent.
    "cond": lambda np, lax, v: lax.cond(
        lax.psum(v[0], "i") > 1, lambda a: lax.psum(a, "i"), lambda a: a * a, v
    ).sum(),
    "fori_loop": lambda np, lax, v: lax.fori_loop(
        0, 3, lambda k, a: a / (1 + lax.pmean(a, "i")), v
    ).sum(),
}


def results(np, lax, of, function):
    """The values, the derivative inside of vmap, and that of the whole."""

    def one(v):
        return function(np, lax, v)

    def mapped(x):
        return of.vmap(one, axis_name="i")(x)

    weights = np.arange(1.0, 5)
    return [
        mapped(X),
        of.vmap(of.grad(one), axis_name="i")(X),
        of.grad(lambda x: (mapped(x) * weights).sum())(X),
        of.jit(mapped)(X),
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_collectives_are_jaxs(name):
    got = results(np, lax, transpile, PROGRAMS[name])
    want = results(jax.numpy, jax.lax, jax, PROGRAMS[name])
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, np.asarray(w), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_collectives_in_a_nest_are_jaxs(name):
    """An axis of another name around, which nothing refers to, and one in between."""
    x = np.stack([X, X + 1, X * 2])

    def nested(np, lax, of):
        one = of.grad(lambda v: PROGRAMS[name](np, lax, v) + lax.psum(v[0], ("j", "i")))
        return of.vmap(of.vmap(one, axis_name="i"), axis_name="j")(x)

    got, want = nested(np, lax, transpile), nested(jax.numpy, jax.lax, jax)
    np.testing.assert_allclose(got, np.asarray(want), rtol=1e-12, atol=1e-12)
