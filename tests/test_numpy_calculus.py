"""Differences, gradients, integrals, polynomials, and the functions that leave NaN out."""

import warnings

import numpy as np
import pytest
from helpers import assert_same, ordinary, seeds, shapes, trace_to_graph, values
from hypothesis import given, settings
from hypothesis import strategies as st

from transpile import numpy as jnp
from transpile.errors import UnsupportedError


def quietly(f):
    def silent(*args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)

    return silent


SKIPPING = [np.nansum, np.nanprod, np.nanmean, np.nanmax, np.nanmin, np.nanvar, np.nanstd]


@settings(max_examples=250)
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
    if x.dtype.kind == "c" and function in (np.nanmax, np.nanmin):
        return
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
def test_function_is_numpys(f, dtype):
    for shape in ((4,), (3, 4), (4, 3, 4), (1,), ()):
        assert_same(quietly(f), ordinary(dtype, shape, 3), tolerance=2e-6)


def test_uneven_steps_of_gradient_are_refused():
    with pytest.raises(NotImplementedError, match=r"^test_numpy_calculus\.py:\d+: numpy.gradient"):
        trace_to_graph(lambda x: np.gradient(x, np.arange(3.0)), np.ones(3))
    with pytest.raises(UnsupportedError, match="initial="):
        trace_to_graph(lambda x: np.nanmax(x, initial=1.0), np.ones(3))
