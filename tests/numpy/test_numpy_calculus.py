"""Differences, gradients, integrals, polynomials, and the functions that leave NaN out."""

import warnings

import numpy as np
import pytest
from helpers import assert_same, evaluate, ordinary, seeds, shapes, values
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

from transpile import numpy as jnp
from transpile.test_util import check_grads


def quietly(f):
    def silent(*args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)

    return silent


SKIPPING = [np.nansum, np.nanprod, np.nanmean, np.nanmax, np.nanmin, np.nanvar, np.nanstd]


@settings(max_examples=tries(250))
@given(
    st.sampled_from(SKIPPING),
    st.sampled_from(["f4", "f8", "i4", "b1", "c16"]),
    shapes(),
    seeds,
    st.booleans(),
    st.data(),
)
def test_function_that_skips_nan_is_numpys(function, dtype, shape, seed, keepdims, data):
    x = ordinary(dtype, shape, seed)
    if x.dtype.kind in "fc":
        x = np.where(values(bool, shape, seed + 1), x, np.array(np.nan, dtype)).astype(dtype)
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    assert_same(quietly(lambda a: function(a, axis=axis, keepdims=keepdims)), x, tolerance=2e-6)


@pytest.mark.parametrize("function", [np.nanvar, np.nanstd])
def test_degrees_of_freedom_that_run_out_give_nan(function):
    x = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, np.nan], [1.0, 2.0, 4.5]])
    assert_same(quietly(lambda a: function(a, axis=1, ddof=1)), x, tolerance=1e-14)


FUNCTIONS = [
    lambda x: np.gradient(x),
    lambda x: np.gradient(x, 2.0),
    lambda x: np.gradient(x, axis=0),
    lambda x: np.gradient(x, 0.5, edge_order=2),
    lambda x: np.gradient(x, 1, 2, 3),
    lambda x: np.trapezoid(x),
    lambda x: np.trapezoid(x, dx=0.25),
    lambda x: np.trapezoid(x, axis=0),
    lambda x: np.trapezoid(x, [0.0, 1.0, 4.0, 4.5]),
    lambda x: np.trapezoid(x, x * 2),
    lambda x: np.ediff1d(x),
    lambda x: np.ediff1d(x, to_begin=[1, 2]),
    lambda x: np.ediff1d(x, to_end=9),
    lambda x: np.polyval([1.0, -2.0, 3.0], x),
    lambda x: np.polyval(x.ravel()[:3], 2),
    lambda x: np.polyval(x.ravel()[:3], x),
    lambda x: np.polyval([], x),
    lambda x: np.cumulative_sum(x),
    lambda x: np.cumulative_sum(x, axis=0, include_initial=True),
    lambda x: np.cumulative_prod(x, axis=-1, dtype="f8", include_initial=True),
    lambda x: np.select([x > 2, x > 0], [x, x * 2], 7),
    lambda x: np.select([x > 2], [1]),
    lambda x: np.select([x > 2], [1, 2]),
    lambda x: jnp.block([[x, x], [x, x]]),
    lambda x: jnp.block([x, x + 1]),
    lambda x: jnp.block(x),
    lambda x: jnp.block([[x], [1]]),
    lambda x: jnp.block([[x], x]),
]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@one_in(3)
def test_function_is_numpys(f, dtype):
    for shape in ((4,), (3, 4), (4, 3, 4), (1,), ()):
        assert_same(quietly(f), ordinary(dtype, shape, 3), tolerance=2e-6)


UNEVEN = [
    lambda x, p: np.gradient(x, p, axis=0),
    lambda x, p: np.gradient(x, p, 0.5),
    lambda x, p: np.gradient(x, p, edge_order=2, axis=0),
    lambda x, p: np.gradient(x, np.array([0.0, 1.0, 4.0]), axis=1),
    lambda x, p: np.gradient(x, np.array([0, 1, 4]), axis=1, edge_order=2),
    lambda x, p: np.gradient(x, np.array([0, 2, 4]), axis=1),
    lambda x, p: np.gradient(x, p[:2], axis=0),
    lambda x, p: np.gradient(x, p[None], axis=0),
    lambda x, p: np.gradient(x, p),
    lambda x, p: np.gradient(x, p[0], axis=0),
]


@pytest.mark.parametrize("f", UNEVEN)
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "c16"])
def test_gradient_with_uneven_steps_is_numpys(f, dtype):
    x = ordinary(dtype, (4, 3), 3)
    assert_same(f, x, np.array([0.5, 1.0, 3.0, 3.25]), tolerance=2e-6)


def test_derivatives_of_gradient_are_right():
    x, p = np.cos(np.arange(12.0)).reshape(4, 3), np.array([0.5, 1.0, 3.0, 3.25])
    for order in (1, 2):
        check_grads(lambda a, q, e=order: np.gradient(a, q, axis=0, edge_order=e), (x, p), order=2)


ARGUMENTS = [
    lambda x, m: np.nanmean(x, 0, where=m),
    lambda x, m: np.nanmax(x, 0, initial=1.5),
    lambda x, m: np.nanmax(x, 0, where=m),
    lambda x, m: np.nanmax(x, initial=1.5, where=m, keepdims=True),
    lambda x, m: np.nanmin(x, 1, initial=1.5, where=m),
    lambda x, m: np.nansum(x, 0, initial=1, where=m),
    lambda x, m: np.nanvar(x, 0, where=m),
    lambda x, m: np.nanvar(x, 1, correction=1),
    lambda x, m: np.nanvar(x, 1, ddof=1, correction=1),
    lambda x, m: np.nanstd(x, 0, ddof=1, where=m, keepdims=True),
    lambda x, m: np.nanvar(x, 0, mean=np.nanmean(x, 0, keepdims=True)),
    lambda x, m: np.nancumsum(x),
    lambda x, m: np.nancumsum(x, axis=1),
    lambda x, m: np.nancumprod(x, axis=0),
    lambda x, m: np.nanargmax(x),
    lambda x, m: np.nanargmin(x, axis=0),
    lambda x, m: np.nanargmax(x, axis=1, keepdims=True),
]


@pytest.mark.parametrize("f", ARGUMENTS)
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
def test_argument_of_a_function_that_skips_nan_is_numpys(f, dtype):
    x, mask = ordinary(dtype, (3, 4), 5), values(bool, (3, 4), 6)
    if x.dtype.kind == "f":
        x[0, 1] = x[2, 1] = x[1, 3] = np.nan
    assert_same(quietly(f), x, mask, tolerance=2e-6)


def test_position_where_all_are_nan_is_minus_one():
    x = np.array([[np.nan, np.nan], [1.0, np.nan]])
    (found,) = evaluate(lambda a: np.nanargmax(a, axis=1), x)
    np.testing.assert_array_equal(found, [-1, 0])
    (found,) = evaluate(lambda a: np.nanargmin(a, axis=1, keepdims=True), x)
    np.testing.assert_array_equal(found, [[-1], [0]])


@pytest.mark.parametrize("function", [np.nanmax, np.nanmin])
def test_extremes_of_complex_numbers_skip_nan(function):
    x = np.array([[1 + 2j, 3j, np.nan], [2 - 1j, np.nan, 0]])
    assert_same(quietly(lambda a: function(a, axis=1)), x)
