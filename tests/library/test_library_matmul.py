"""Matrix products as a library sees them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph
from thorough import one_in

from transpile import jit
from transpile.library.matmul import is_library_product
from transpile.machine import USUAL
from transpile.primitives.dot import dot_general

pytestmark = pytest.mark.full_level


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("subscripts", "shapes", "calls"),
    [
        ("bhik,bhkj->bhij", ((4, 8, 40, 32), (4, 8, 32, 50)), 1),
        ("bihk,bjhk->bhij", ((4, 64, 8, 32), (4, 64, 8, 32)), 1),
        ("bik,kj->bij", ((64, 24, 32), (32, 40)), 1),
        ("bik,bkj->bij", ((3, 200, 300), (3, 300, 200)), 1),
    ],
)
@one_in(5)
def test_stacks_of_small_products_are_one_call(subscripts, shapes, calls, dtype):
    random = np.random.default_rng(0)
    x, y = (random.standard_normal(shape).astype(dtype) for shape in shapes)

    def f(x, y):
        return np.einsum(subscripts, x, y)

    found = jit(f)(x, y)
    assert found.dtype == x.dtype
    tolerance = 1e-4 if dtype == "f4" else 1e-11
    np.testing.assert_allclose(found, f(x, y), rtol=tolerance, atol=tolerance)
    assert jit(f).lower(x, y).as_text("loops").count("call matmul") == calls


def product_of(m, k, n, dtype="f8"):
    graph = trace_to_graph(np.matmul, ordinary(dtype, (m, k)), ordinary(dtype, (k, n)))
    (equation,) = [e for e in graph.equations if e.primitive is dot_general]
    return equation


def test_large_products_of_floats_go_to_the_library():
    assert is_library_product(product_of(16, 16, 16), USUAL)
    assert is_library_product(product_of(4, 128, 4), USUAL)
    assert not is_library_product(product_of(2, 4000, 2), USUAL)  # too thin
    assert not is_library_product(product_of(8, 8, 8), USUAL)  # too small
    assert not is_library_product(product_of(64, 64, 64, "i8"), USUAL)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@one_in(2)
def test_products_with_the_own_transpose_are_those_of_a_copy(dtype):
    # Blocks of rows and of the sum, and edges of tiles.
    for shape in ((130, 70), (70, 700), (1050, 90)):
        x = np.random.default_rng(0).normal(size=shape).astype(dtype)
        got = jit(lambda x: (x.T @ x, x @ x.T))(x)
        want = jit(lambda x, y: (x.T @ y, x @ y.T))(x, x.copy())
        for ours, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(ours, other)
            np.testing.assert_array_equal(ours, ours.T)
