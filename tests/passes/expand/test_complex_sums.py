"""Complex sums and products with vectors become real sums, and mean the same."""

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph
from hypothesis import given
from hypothesis import strategies as st

import transpile
from transpile import lax
from transpile.passes.expand.decompose import decompose
from transpile.transforms.interpret import interpret


def names(f, *args):
    return {e.primitive.name for e in decompose(trace_to_graph(f, *args)).equations}


@given(st.integers(0, 10**6), st.integers(1, 2), st.integers(0, 2), st.integers(0, 2))
def test_contractions_with_what_has_no_axes_of_its_own_are_sums(seed, contracted, batch, free):
    """Whatever the order of axes, and on either side; axes of one element count as none."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, contracted + batch)
    of_x = rng.permutation(contracted + batch + free)
    of_y = rng.permutation(contracted + batch + seed % 2)
    shared = range(contracted + batch)
    places = [[int(np.flatnonzero(o == k)[0]) for k in shared] for o in (of_x, of_y)]
    dims = tuple(
        tuple(tuple(p[part]) for p in places)
        for part in (slice(contracted), slice(contracted, None))
    )
    x = ordinary("c16", [sizes[k] if k in shared else 3 for k in of_x], seed)
    y = ordinary("c16", [sizes[k] if k in shared else 1 for k in of_y], seed + 1)
    if seed % 3:
        x, y, dims = y, x, tuple(part[::-1] for part in dims)

    def f(x, y):
        return lax.dot_general(x, y, dims)

    graph = decompose(trace_to_graph(f, x, y))
    assert "dot_general" not in {e.primitive.name for e in graph.equations}
    (got,), want = interpret(graph, [x, y]), interpret(trace_to_graph(f, x, y), [x, y])[0]
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("subscripts", ["bij,bjk->bik", "ijb,bkj->bik", "jil,lkj->ik"])
def test_small_products_of_matrices_are_sums(subscripts):
    sizes = {"b": 2, "i": 3, "j": 6, "k": 5, "l": 2}
    x, y = (
        ordinary("c16", [sizes[a] for a in letters], len(letters))
        for letters in subscripts.partition("->")[0].split(",")
    )

    def f(x, y):
        return np.einsum(subscripts, x, y)

    graph = decompose(trace_to_graph(f, x, y))
    assert "dot_general" not in {e.primitive.name for e in graph.equations}
    np.testing.assert_allclose(interpret(graph, [x, y])[0], f(x, y), rtol=1e-12, atol=1e-12)


def test_large_products_of_matrices_and_those_of_real_numbers_stay():
    a, v = ordinary("c16", (16, 16), 1), ordinary("c16", (16,), 2)
    assert "dot_general" in names(lambda a: a @ a, a)
    assert "dot_general" in names(lambda a, v: a @ v, a.real, v.real)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_products_with_vectors_in_c_are_numpys(dtype):
    a, v, w = (ordinary(dtype, s, k) for k, s in enumerate([(40, 33), (33,), (40,)]))

    def f(a, v, w):
        return a @ v, w @ a, np.vdot(v, v), np.dot(v, v), np.einsum("ij,j,i->", a, v, w)

    tolerance = 1e-4 if dtype == "c8" else 1e-12
    for got, want in zip(transpile.jit(f)(a, v, w), f(a, v, w), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * 100)
