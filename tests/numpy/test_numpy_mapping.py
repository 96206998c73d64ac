"""apply_along_axis, apply_over_axes and vectorize against NumPy."""

import numpy as np
import pytest
from helpers import assert_same, evaluate, ordinary, trace_to_graph

import transpile
from transpile import numpy as jnp
from transpile.test_util import check_grads

ALONG = [
    lambda v: v.sum(),
    lambda v: v[::-1] * 2,
    lambda v: np.stack([v, v * v]),
    lambda v: np.float64(3),
    lambda v: np.cumsum(v) - v.sum(),
]


@pytest.mark.parametrize("function", ALONG)
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (3, 0), (0, 3)])
def test_apply_along_axis_is_numpys(function, shape):
    x = ordinary("f8", shape, 3)
    for axis in range(-len(shape), len(shape) + 1):
        assert_same(lambda a, i=axis: np.apply_along_axis(function, i, a), x, tolerance=1e-14)


def test_apply_along_axis_passes_arguments_on_and_traces_once():
    calls = []

    def shifted(vector, by, scale=1):
        calls.append(vector.shape)
        return vector * scale + by

    (found,) = evaluate(
        lambda a: np.apply_along_axis(shifted, 0, a, 3, scale=a[0, 0]), np.ones((5, 4)) * 2
    )
    np.testing.assert_array_equal(found, np.full((5, 4), 7.0))
    assert calls == [(5,)]


def kept_maximum(x, axis):
    return np.max(x, axis, keepdims=True)


@pytest.mark.parametrize("axes", [0, (0, 2), [1, -1], (2, 0)])
def test_apply_over_axes_is_numpys(axes):
    x = ordinary("f8", (2, 3, 4), 1)
    assert_same(lambda a: np.apply_over_axes(np.sum, a, axes), x, tolerance=1e-14)
    assert_same(lambda a: np.apply_over_axes(kept_maximum, a, axes), x)
    assert_same(lambda a: np.apply_over_axes(lambda v, i: v[0, 0], a, axes), x)


def step(x, y):
    return np.where(x > y, x - y, x + y)


def test_vectorize_broadcasts_as_numpys():
    x, y = ordinary("f8", (3, 1), 1), ordinary("f8", (4,), 2)
    expected = np.vectorize(step)(x, y)
    found = transpile.jit(lambda a, b: jnp.vectorize(step)(a, b))(x, y)
    np.testing.assert_array_equal(found, expected, strict=True)
    np.testing.assert_array_equal(jnp.vectorize(step)(x, y), expected)
    (with_scalar,) = evaluate(lambda a: jnp.vectorize(step)(a, 1.5), x)
    np.testing.assert_array_equal(with_scalar, np.vectorize(step)(x, 1.5))


def test_vectorize_takes_names_excluded_arguments_and_otypes():
    def polynomial(x, coefficients, scale=1.0):
        return np.polyval(coefficients, x) * scale

    f = jnp.vectorize(polynomial, excluded={1}, otypes=["f4"])
    x, p = np.linspace(-1, 1, 6).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    (found,) = evaluate(lambda a, q: f(a, q, scale=a), x, p)
    np.testing.assert_allclose(found, np.polyval(p, x) * x, rtol=1e-6)
    assert found.dtype == np.float32


def test_vectorize_with_a_signature_is_numpys():
    a, b = ordinary("f8", (2, 1, 3, 4), 1), ordinary("f8", (5, 4), 2)
    f = jnp.vectorize(lambda m, v: (m @ v, v.sum()), signature="(m,n),(n)->(m),()")
    product, total = evaluate(lambda m, v: f(m, v), a, b)
    expected = np.vectorize(lambda m, v: (m @ v, v.sum()), signature="(m,n),(n)->(m),()")(a, b)
    np.testing.assert_allclose(product, expected[0], rtol=1e-13)
    np.testing.assert_allclose(total, expected[1], rtol=1e-13)
    for wrong, words in (
        (lambda m: f(m, np.ones(3)), "inconsistent size for core dimension 'n': 3 vs 4"),
        (lambda m: f(m, 1.0), "0-dimensional argument does not have enough dimensions"),
        (lambda m: f(m), "wrong number of positional arguments"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            trace_to_graph(wrong, a)


def test_mapped_functions_have_derivatives():
    x = np.linspace(0.2, 1.5, 6).reshape(2, 3)
    check_grads(lambda a: np.apply_along_axis(lambda v: v * v.sum(), 1, a), (x,), order=2)
    check_grads(lambda a: jnp.vectorize(lambda v, w: v * np.sin(w))(a, a[0]), (x,), order=2)
