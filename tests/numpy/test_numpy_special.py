"""unwrap, i0, sinc, real_if_close, packbits and unpackbits against NumPy."""

import mpmath
import numpy as np
import pytest
from helpers import assert_same, evaluate, ordinary, seeds, shapes, values
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile import numpy as jnp
from transpile.test_util import check_grads


@settings(max_examples=tries(100))
@given(
    st.sampled_from(["i4", "i8", "f4", "f8"]),
    shapes(min_rank=1),
    seeds,
    st.sampled_from([{}, {"discont": 4}, {"period": 5}, {"period": 6}, {"period": 4.5}]),
)
def test_unwrap_is_numpys(dtype, shape, seed, options):
    x = ordinary(dtype, shape, seed) * np.dtype(dtype).type(2)
    for axis in range(-len(shape), len(shape)):
        assert_same(lambda a, i=axis: np.unwrap(a, axis=i, **options), x, tolerance=1e-6)


def test_unwrap_of_a_scalar_is_numpys_error():
    assert_same(lambda a: np.unwrap(a), np.float64(3))


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
def test_bessel_function_is_numpys(dtype):
    x = np.array([0, 1, -1, 7.999, 8, 8.001, 30, -60, 80.5]).astype(dtype)
    assert_same(np.i0, x.astype(dtype), tolerance=1e-6 if dtype == "f4" else 1e-14)
    assert_same(np.i0, np.array([np.inf, -np.inf, np.nan]).astype(dtype)) if dtype != "i4" else None
    assert_same(np.i0, np.array([1j]))


def test_bessel_function_is_near_the_true_value():
    x = np.concatenate([np.linspace(0, 8, 200), np.geomspace(8, 600, 200)])
    found = transpile.jit(np.i0)(x)
    exact = np.array([float(mpmath.besseli(0, mpmath.mpf(float(v)))) for v in x])
    np.testing.assert_allclose(found, exact, rtol=3e-15)


def test_derivatives_of_angles_and_the_bessel_function_are_right():
    check_grads(np.i0, (np.array([0.5, -2.0, 7.5, 8.5]) / 4,), order=2)
    check_grads(lambda a: np.unwrap(a * 3), (np.array([0.5, 1.5, 3.1, -1.2]),), order=1)
    slope = transpile.grad(lambda a: np.i0(a).sum())(np.array([0.0, 20.0]))
    np.testing.assert_allclose(slope, [0, float(mpmath.besseli(1, 20))], rtol=1e-12, atol=1e-15)


def test_real_if_close_keeps_the_dtype_that_the_array_has():
    assert_same(np.real_if_close, np.ones(3))
    (found,) = evaluate(np.real_if_close, np.ones(3, "c16"))
    np.testing.assert_array_equal(found, np.ones(3, "c16"), strict=True)


@settings(max_examples=120)
@given(
    st.sampled_from(["b1", "u1", "i4", "i8", "f4"]),
    shapes(max_side=19),
    seeds,
    st.sampled_from(["big", "little", "odd"]),
    st.data(),
)
def test_packbits_is_numpys(dtype, shape, seed, order, data):
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape)))
    x = values(dtype, shape, seed)
    assert_same(lambda a: np.packbits(a, axis, order), x)


@settings(max_examples=120)
@given(
    st.sampled_from(["u1", "u1", "u1", "i4"]),
    shapes(),
    seeds,
    st.sampled_from(["big", "little", "odd"]),
    st.none() | st.integers(-40, 40),
    st.data(),
)
def test_unpackbits_is_numpys(dtype, shape, seed, order, count, data):
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape)))
    x = values(dtype, shape, seed)
    if x.size or not count:  # NumPy leaves the bits of an empty array undefined
        assert_same(lambda a: np.unpackbits(a, axis, count, order), x)


@pytest.mark.parametrize("trim", ["fb", "f", "b"])
def test_zeros_are_trimmed_to_a_known_length(trim):
    x = np.array([0, 0, 3, 0, 5, 0])
    expected = np.trim_zeros(x, trim)
    (found,) = evaluate(lambda a: jnp.trim_zeros(a, trim, size=6), x)
    np.testing.assert_array_equal(found, [*expected, *[0] * (6 - len(expected))])
    y = np.zeros((4, 5))
    y[1, 2], y[2, 1] = 4, 5
    (found,) = evaluate(lambda a: jnp.trim_zeros(a, trim, size=np.trim_zeros(y, trim).shape), y)
    np.testing.assert_array_equal(found, np.trim_zeros(y, trim))
    rows = np.trim_zeros(y, trim, axis=1)
    (found,) = evaluate(lambda a: jnp.trim_zeros(a, trim, axis=1, size=rows.shape[1]), y)
    np.testing.assert_array_equal(found, rows)
    (nothing,) = evaluate(lambda a: jnp.trim_zeros(a, trim, size=2), np.zeros(3))
    np.testing.assert_array_equal(nothing, [0, 0])
    np.testing.assert_array_equal(transpile.jit(lambda a: np.trim_zeros(a, trim))(x), expected)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@one_in(2)
def test_traced_counts_repeat_to_a_known_length(axis):
    x = ordinary("f8", (3, 4), 1)
    counts = np.arange(x.size if axis is None else x.shape[axis])[::-1] % 3
    expected = np.repeat(x, counts, axis)
    length = expected.shape[axis or 0]

    def f(a, n, length=length):
        return jnp.repeat(a, n, axis, total_repeat_length=length)

    np.testing.assert_array_equal(transpile.jit(f)(x, counts), expected)
    (cut,) = evaluate(lambda a, n: f(a, n, length - 1), x, counts)
    np.testing.assert_array_equal(cut, np.take(expected, range(length - 1), axis or 0))
    (one,) = evaluate(lambda a, n: jnp.repeat(a, n, 0, total_repeat_length=6), x, np.array(2))
    np.testing.assert_array_equal(one, np.repeat(x, 2, 0))
    check_grads(f, (x, counts), order=1)
    found = transpile.jit(lambda a, n: np.repeat(a, n, axis))(x, counts)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_nothing_repeats_to_nothing(axis):
    x, counts = np.zeros((0, 0)), np.zeros(0, int)

    def f(a, n, length):
        return jnp.repeat(a, n, axis, total_repeat_length=length)

    (nothing,) = evaluate(lambda a, n: f(a, n, 0), x, counts)
    np.testing.assert_array_equal(nothing, np.repeat(x, counts, axis))
    for n in (counts, 2):
        message = (
            f"{__file__.rpartition('/')[2]}:.*give 4 .*nothing to repeat along axis {axis or 0}"
        )
        with pytest.raises(ValueError, match=message):
            evaluate(lambda a, n=n: f(a, n, 4), x)


def test_derivatives_of_sinc_of_all_orders():
    x = np.array([0.0, -0.0, 1e-8, 0.1, 0.318, 0.32, -0.5, 1.0, 2.5, -20.3])
    derivative = np.sinc
    for order in range(4):
        exact = [float(mpmath.diff(mpmath.sincpi, mpmath.mpf(float(v)), order)) for v in x]
        got = transpile.jit(transpile.vmap(derivative))(x)
        np.testing.assert_allclose(got, exact, rtol=1e-14, atol=1e-14)
        derivative = transpile.grad(derivative)
