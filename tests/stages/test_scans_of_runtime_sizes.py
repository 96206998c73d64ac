"""Derivatives of cumulative products and extremes along an axis of a runtime size, 0 among them."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct, jit, lax

RNG = np.random.default_rng(0)
(N,) = transpile.dims("n", "n >= 0")

SCANS = {
    "products": lambda x: np.sin(np.cumprod(x)).sum(),
    "products from the end": lambda x: np.sin(lax.cumprod(x, reverse=True)).sum(),
    "maxima": lambda x: np.sin(np.maximum.accumulate(x)).sum(),
    "minima": lambda x: np.sin(np.minimum.accumulate(x)).sum(),
    "logarithms of sums": lambda x: np.sin(np.logaddexp.accumulate(x)).sum(),
    "one product": lambda x: np.prod(x),
}
OF_ROWS = {
    "along the first axis": lambda x: np.sin(np.cumprod(x, axis=0)).sum(),
    "along the last axis": lambda x: np.sin(np.cumprod(x.T, axis=1)).sum(),
    "mapped": lambda x: np.sin(transpile.vmap(np.cumprod, 1, 1)(x)).sum(),
}


def of_gradient(f):
    """The gradient of what depends on a gradient: reverse mode over reverse mode."""
    return transpile.grad(lambda x: (transpile.grad(f)(x) ** 2).sum())


def check(function, values):
    """The program of any size, against those of the sizes of these values."""
    (first, *_) = values
    of_any = jit(function).lower(ShapeDtypeStruct((N, *first.shape[1:]), float)).compile()
    for x in values:
        np.testing.assert_allclose(of_any(x), jit(function)(x), rtol=1e-10, atol=1e-12, strict=True)


@pytest.mark.parametrize("transform", [transpile.grad, transpile.hessian, of_gradient])
@pytest.mark.parametrize("name", SCANS)
@one_in(3)
def test_the_derivative_is_that_of_a_known_size(name, transform):
    values = [RNG.normal(size=size) for size in (0, 1, 2, 9)]
    with_zeros = np.where([True, False] * 4, values[-1][:8], 0)
    check(transform(SCANS[name]), values if "logarithms" in name else [*values, with_zeros[:3]])


@pytest.mark.parametrize("name", OF_ROWS)
def test_the_axis_may_be_any(name):
    check(transpile.grad(OF_ROWS[name]), [RNG.normal(size=(size, 3)) for size in (0, 1, 6)])


def test_numbers_that_are_not_finite_keep_to_their_elements():
    """The first element has nothing before it, of which 0 times infinity were a part."""
    gradient = transpile.grad(lambda x: np.cumprod(x).sum())
    check(gradient, [np.array([np.inf, 2, 3]), np.array([np.nan, 2]), np.array([2, np.inf, 3])])
    gradient = transpile.grad(lambda x: np.maximum.accumulate(x).sum())
    check(gradient, [np.array([-np.inf, 2, 3]), np.array([2, np.inf, 3])])


def test_ties_share_the_tangent_in_order():
    gradient = transpile.grad(lambda x: np.maximum.accumulate(x)[-1])
    x = ShapeDtypeStruct((transpile.dims("n", "n >= 1")[0],), float)
    found = jit(gradient).lower(x).compile()(np.array([2.0, 2, 2, 1]))
    np.testing.assert_array_equal(found, [0.25, 0.25, 0.5, 0])
