"""Polynomials and convolutions against NumPy."""

import numpy as np
import pytest
from helpers import assert_same, evaluate, ordinary, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile.test_util import check_grads

REAL = ["i4", "f4", "f8"]


@settings(max_examples=150)
@given(
    st.sampled_from([np.convolve, np.correlate]),
    st.sampled_from(["b1", "i4", "u2", "f4", "f8", "c16"]),
    st.sampled_from(["i4", "f4", "c8"]),
    st.integers(0, 40),
    st.integers(0, 40),
    st.sampled_from(["full", "same", "valid", 0, 1, 2, "none", 7]),
    seeds,
)
def test_convolution_is_numpys(function, first, second, m, n, mode, seed):
    x, y = ordinary(first, (m,), seed), ordinary(second, (n,), seed + 1)
    assert_same(lambda a, v: function(a, v, mode), x, y, tolerance=2e-6)


def test_convolution_of_bools_and_scalars_is_numpys():
    x, y = ordinary(bool, (5,), 1), ordinary(bool, (20,), 2)
    for mode in ("full", "same", "valid"):
        assert_same(lambda a, v: np.convolve(a, v, mode), x, y)
        assert_same(lambda a, v: np.correlate(a, v, mode), y, y)
    assert_same(lambda a: np.convolve(a, 2.0), np.float64(3))
    assert_same(lambda a: np.convolve(a, a), np.ones((2, 2)))


def test_convolution_through_c_is_numpys():
    x, y = ordinary("f8", (300,), 1), ordinary("f8", (41,), 2)
    for mode in ("full", "same", "valid"):
        found = transpile.jit(lambda a, v, mode=mode: np.convolve(a, v, mode))(x, y)
        np.testing.assert_allclose(found, np.convolve(x, y, mode), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", ["full", "same"])
def test_convolution_of_many_complex_numbers_through_c_is_numpys(mode):
    """Inside as a real convolution of the parts, at the ends as sums of their products."""
    x, y = ordinary("i1", (900,), 1), ordinary("c16", (41,), 2)
    found = transpile.jit(lambda a, v: np.convolve(a, v, mode))(x, y)
    np.testing.assert_allclose(found, np.convolve(x, y, mode), rtol=1e-12, atol=1e-9)
    found = transpile.jit(lambda a, v: np.correlate(a, v, mode))(y, x)
    np.testing.assert_allclose(found, np.correlate(y, x, mode), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("count", [3, 20])
def test_derivative_of_a_convolution_is_right(count):
    x, y = np.linspace(-1, 1, 25), np.cos(np.arange(count))
    for mode in ("full", "same", "valid"):
        check_grads(lambda a, v, mode=mode: np.convolve(a, v, mode), (x, y), order=2)
    check_grads(lambda a, v: np.abs(np.convolve(a * 1j, v, "same")), (x, y), order=1)


FUNCTIONS = [
    lambda p: np.polyadd(p, [1, 2]),
    lambda p: np.polyadd([1, 2, 3, 4, 5, 6, 7], p),
    lambda p: np.polysub(p, p[1:]),
    lambda p: np.polysub(2, p),
    lambda p: np.polymul(p, [2, 0, 1]),
    lambda p: np.polymul(p, [0, 0, 3]),
    lambda p: np.polydiv(p, np.array([2.0, 1.0]))[0],
    lambda p: np.polydiv(p, p[:1]),
    lambda p: np.polydiv([1.0, 2.0], p)[0],
    lambda p: np.polyder(p),
    lambda p: np.polyder(p, 2),
    lambda p: np.polyder(p, 0),
    lambda p: np.polyder(p, 9),
    lambda p: np.polyder(p, -1),
    lambda p: np.polyint(p),
    lambda p: np.polyint(p, 3),
    lambda p: np.polyint(p, 2, k=[1, 2]),
    lambda p: np.polyint(p, 2, k=3),
    lambda p: np.polyint(p, 3, k=[1, 2]),
    lambda p: np.polyint(p, -1),
    lambda p: np.polyval(p, np.arange(4.0)),
    lambda p: np.poly(p),
    lambda p: np.poly(p[:0]),
    lambda p: np.poly(p.reshape(1, 1, -1)),
    lambda p: np.vander(p, 3),
]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("dtype", REAL)
def test_function_of_polynomials_is_numpys(f, dtype):
    p = np.array([2, -1, 3, 0.5, 4]).astype(dtype)
    assert_same(f, p, tolerance=1e-5 if dtype == "f4" else 1e-13)


def test_quotient_and_remainder_are_numpys():
    u, v = np.array([3.0, 1.0, 4.0, 1.0, 5.0]), np.array([2.0, 7.0, 1.0])
    assert_same(np.polydiv, u, v, tolerance=1e-14)
    assert_same(np.polydiv, v, u, tolerance=1e-14)
    quotient, rest = evaluate(np.polydiv, np.polymul(u, v), v)
    np.testing.assert_allclose(quotient, u, rtol=1e-13)
    np.testing.assert_allclose(rest, [0, 0], atol=1e-12)


def test_zeros_that_are_complex_give_complex_coefficients():
    zeros = np.array([1 + 2j, 3 - 1j, 0.5])
    assert_same(np.poly, zeros, tolerance=1e-14)
    (found,) = evaluate(np.poly, np.array([1j, -1j]))
    np.testing.assert_allclose(found, [1, 0, 1])


@pytest.mark.parametrize(
    "f",
    [
        lambda p, q: np.polymul(p, q),
        lambda p, q: np.polydiv(p, q)[0],
        lambda p, q: np.polyint(np.polyder(p)) * q[0],
        lambda p, q: np.poly(p),
        lambda p, q: np.polyval(p, q),
    ],
)
@one_in(2)
def test_derivative_of_a_function_of_polynomials_is_right(f):
    check_grads(f, (np.array([0.5, 1.2, -0.7, 0.3]), np.array([1.5, 0.4])), order=2)


FITS = [
    lambda x, y: np.polyfit(x, y, 2),
    lambda x, y: np.polyfit(x, y, 0),
    lambda x, y: np.polyfit(x, np.stack([y, y * y], axis=1), 3),
    lambda x, y: np.polyfit(x, y, 2, w=np.arange(1, 9)),
    lambda x, y: np.polyfit(x, y, 2, cov=True),
    lambda x, y: np.polyfit(x, y, 2, cov="unscaled"),
    lambda x, y: np.polyfit(x, np.stack([y, y * y], axis=1), 2, cov=True),
    lambda x, y: np.polyfit(x, y, 2, full=True)[0],
    lambda x, y: np.polyfit(x, y, -1),
    lambda x, y: np.polyfit(x[None], y, 2),
    lambda x, y: np.polyfit(x[:0], y, 2),
    lambda x, y: np.polyfit(x, y[3:], 2),
    lambda x, y: np.polyfit(x, y[0], 2),
    lambda x, y: np.polyfit(x, y, 2, w=np.ones(3)),
    lambda x, y: np.polyfit(x, y, 2, w=np.ones((8, 1))),
]


@pytest.mark.parametrize("f", FITS)
def test_fit_is_numpys(f):
    x = np.linspace(-1, 2, 8)
    assert_same(f, x, np.sin(x) + x, tolerance=1e-9)


@pytest.mark.parametrize("p", [[1.0, -3, 2], [2, 0, 1, 5, 1], [3.0, 1], [7.0], [1j, 2, 3]])
def test_roots_are_numpys_in_some_order(p):
    p = np.array(p)
    (found,) = evaluate(np.roots, p)
    np.testing.assert_allclose(
        np.sort_complex(found), np.sort_complex(np.roots(p)), atol=1e-12, rtol=1e-12
    )
    assert found.dtype == np.complex128


def test_characteristic_polynomial_is_numpys():
    a = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
    turn = np.array([[0.0, 1], [-2, 0]])
    for matrix in (a, turn, turn.astype("f4"), turn.astype("i4"), a + 1j):
        (found,) = evaluate(np.poly, matrix)
        assert found.dtype == np.poly(matrix).dtype
        np.testing.assert_allclose(found, np.poly(matrix), rtol=1e-5, atol=1e-6)


def test_derivatives_of_fits_and_roots_are_right():
    x = np.linspace(-1, 2, 8)
    check_grads(lambda y: np.polyfit(x, y, 2), (np.sin(x),), order=1)
    check_grads(lambda p: np.abs(np.roots(p)).sum(), (np.array([1.0, -3.5, 2.0]),), order=1)


def test_the_first_power_of_an_infinite_complex_number_is_the_number():
    """1 times it is NaN: of few powers, of many, and of a number that nobody knows."""
    x = np.array([complex(-np.inf, 0), 2.0, 1j, complex(np.inf, 1)])

    def first_powers(x, n):
        return np.vander(x, n)[:, -3:]

    with np.errstate(invalid="ignore"):
        expected = first_powers(x, 4)
        for n in 4, 40:
            found = transpile.jit(first_powers, static_argnums=1)(x, n)
            np.testing.assert_array_equal(found, expected)
        (n,) = transpile.dims("n", "n >= 4")
        compiled = transpile.jit(lambda x: np.vander(x)[:, -3:]).lower(
            transpile.ShapeDtypeStruct((n,), complex)
        )
        np.testing.assert_array_equal(compiled.compile()(x), expected)
