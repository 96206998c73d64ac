"""Elementwise functions that are not ufuncs, against NumPy."""

import warnings

import numpy as np
import pytest
from helpers import NUMPYS, assert_same, dtypes, ordinary, seeds, shapes, trace_to_graph, values
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile

FUNCTIONS = [
    lambda x: np.where(x > 0, x, 0),
    lambda x: np.where(x, x, -1.5),
    lambda x: np.where(x, 1, x),
    lambda x: np.where(x > 0, 1, 2.0),
    lambda x: np.where([True, False, True], x, x + 1),
    lambda x: np.clip(x, 1, 2),
    lambda x: np.clip(x, None, 1),
    lambda x: np.clip(x, 0.5, None),
    lambda x: np.clip(x, None, None),
    lambda x: x.clip(-1, 300),
    lambda x: np.clip(x, -300, 300),
    lambda x: np.clip(x, 0.5, 1.5),
    lambda x: np.clip(x, min=1),
    lambda x: x.clip(max=2),
    lambda x: np.clip(x, [0, 1, 2], 3),
    lambda x: np.round(x),
    lambda x: np.round(x / 3, 1),
    lambda x: np.around(x, 2),
    lambda x: x.round(),
    lambda x: np.round(x * 100, -1),
    lambda x: np.round(x, -1),
    lambda x: np.nan_to_num(x),
    lambda x: np.nan_to_num(x, nan=1.5),
    lambda x: np.nan_to_num(x, posinf=3, neginf=-3),
    lambda x: np.isclose(x, 1),
    lambda x: np.isclose(x, x + 1e-9),
    lambda x: np.isclose(x, x, equal_nan=True),
    lambda x: np.isclose(x, np.array([1, 2, np.nan])),
    lambda x: np.allclose(x, x),
    lambda x: np.allclose(x, 1.0, rtol=0.5),
    lambda x: np.array_equal(x, x),
    lambda x: np.array_equal(x, x[:2]),
    lambda x: np.array_equal(x, x, equal_nan=True),
    lambda x: np.sinc(x),
    lambda x: np.angle(x),
    lambda x: np.angle(x, deg=True),
    lambda x: np.real(x),
    lambda x: np.imag(x),
    lambda x: x.real,
    lambda x: x.imag,
    lambda x: np.isreal(x),
    lambda x: np.iscomplex(x),
    lambda x: x.conj(),
    lambda x: np.isposinf(x),
    lambda x: np.isneginf(x),
    lambda x: np.cross(x, x[::-1]),
    lambda x: np.cross(x, [1, 2, 3]),
]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("make", [values, ordinary])
@one_in(3)
def test_function_is_numpys_on_every_dtype(f, make):
    for number, dtype in enumerate(NUMPYS):
        x = make(dtype, (4, 3), number)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            assert_same(f, x, tolerance=3e-6 if make is ordinary else 0.0)


@settings(max_examples=100)
@given(dtypes, dtypes, shapes(max_rank=2), seeds, st.data())
def test_where_promotes_and_broadcasts_as_numpy(first, second, shape, seed, data):
    part = data.draw(st.sampled_from([shape, shape[1:], ()]))
    test = ordinary(bool, data.draw(st.sampled_from([shape, shape[1:], ()])), seed)
    x, y = values(first, shape, seed), values(second, part, seed + 1)
    assert_same(lambda c, a, b: np.where(c, a, b), test, x, y)


def test_where_with_one_argument_is_nonzero():
    assert_same(np.where, np.array([[0, 2, 0], [3, 0, 4]]))
    assert_same(lambda x: np.where(x > 1), np.ones(3))


def test_where_that_does_not_broadcast_raises_numpys_error():
    assert_same(lambda a: np.where(a > 0, np.ones(4), a), np.ones(3))


def test_clip_without_bounds_raises_numpys_type():
    with pytest.raises(TypeError, match="clip"):
        trace_to_graph(lambda a: np.clip(a, 1), np.ones(3))


@pytest.mark.parametrize("most", [3, 120])
def test_absolute_values_of_complex_numbers_are_within_an_ulp(most):
    rng = np.random.default_rng(most)
    exponents = rng.integers(-most, most, 50_000)
    parts = [np.ldexp(rng.normal(size=50_000), exponents).astype("f4") for _ in range(2)]
    x = parts[0] + 1j * np.roll(parts[1], most)
    exact = np.hypot(x.real.astype("f8"), x.imag.astype("f8"))
    got = transpile.jit(np.abs)(x)
    assert got.dtype == "f4"
    assert np.all(np.abs(got - exact) <= np.spacing(exact.astype("f4")))


def test_absolute_values_of_complex_numbers_at_ends_are_numpys():
    ends = np.array([0, -0.0, 1, np.inf, -np.inf, np.nan, 1e-45, 3e38], "f4")
    x = np.empty((8, 8), "c8")
    x.real, x.imag = ends, ends[:, None]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(transpile.jit(np.abs)(x), np.abs(x))
