"""logspace, geomspace, r_ and c_, and the functions that make arrays, against NumPy."""

import numpy as np
import pytest
from helpers import assert_same, evaluate, ordinary, trace_to_graph
from thorough import one_in

import transpile
from transpile import numpy as jnp
from transpile.test_util import check_grads

SEQUENCES = [
    lambda a, b: np.logspace(a, b),
    lambda a, b: np.logspace(a, b, 5, False),
    lambda a, b: np.logspace(a, b, 5, base=2),
    lambda a, b: np.logspace(a, b, 5, base=a + 1),
    lambda a, b: np.logspace(a, b, 4, dtype="f4"),
    lambda a, b: np.geomspace(a, b),
    lambda a, b: np.geomspace(a, b, 1),
    lambda a, b: np.geomspace(a, b, 0),
    lambda a, b: np.geomspace(a, b, 6, endpoint=False),
    lambda a, b: np.geomspace(-a, -b, 6),
    lambda a, b: np.geomspace(a * 1j, b + 0j, 6),
    lambda a, b: np.geomspace(a, b, 4, dtype="f4"),
    lambda a, b: np.geomspace(0, b, 4),
    lambda a, b: np.geomspace(a, b, -4),
]


@pytest.mark.parametrize("f", SEQUENCES)
def test_sequence_is_numpys(f):
    assert_same(f, np.float64(0.5), np.float64(3), tolerance=1e-7)
    assert_same(f, np.array([0.5, 1.5]), np.float64(2.5), tolerance=1e-7)
    assert_same(f, np.array([[0.5], [1.5]]), np.array([3.0, 2.5]), tolerance=1e-7)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_axis_of_a_sequence_is_numpys(axis):
    x, y = np.array([0.5, 1.5]), np.array([2.0, 2.5])
    assert_same(lambda a, b: np.logspace(a, b, 3, axis=axis), x, y, tolerance=1e-14)
    assert_same(lambda a, b: np.geomspace(a, b, 3, axis=axis), x, y, tolerance=1e-14)
    assert_same(lambda a, b: np.logspace(a, b, 3, base=[2, 3], axis=axis), x, y, tolerance=1e-14)


def test_derivative_of_a_sequence_is_right():
    check_grads(lambda a, b: np.geomspace(a, b, 5), (0.5, 2.5), order=1)
    check_grads(lambda a, b: np.logspace(a, b, 5, base=2.0), (0.5, 1.5), order=1)


BRACKETS = [
    (lambda r, c, x: r[x, 1, 2.5], (3,)),
    (lambda r, c, x: r[1:4, x, 0], (3,)),
    (lambda r, c, x: r[0:1:3j, x], (3,)),
    (lambda r, c, x: r["0,2", x, x], (3,)),
    (lambda r, c, x: r["1,2,0", x, x], (3,)),
    (lambda r, c, x: r["1", x, x], (2, 3)),
    (lambda r, c, x: r["0,3,-1", x, x], (2, 3)),
    (lambda r, c, x: r[x], (2, 3)),
    (lambda r, c, x: c[x, x], (3,)),
    (lambda r, c, x: c[x, [[1], [2]]], (2, 3)),
    (lambda r, c, x: c[x, 1:4], (3,)),
    (lambda r, c, x: r[x, x[0]], (3,)),
]


@pytest.mark.parametrize(("f", "shape"), BRACKETS)
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
def test_brackets_join_as_numpys(f, shape, dtype):
    x = ordinary(dtype, shape, 1)
    expected = f(np.r_, np.c_, x)
    (found,) = evaluate(lambda a: f(jnp.r_, jnp.c_, a), x)
    np.testing.assert_array_equal(found, expected, strict=True)
    np.testing.assert_array_equal(f(jnp.r_, jnp.c_, x), expected, strict=True)


LIKE = [
    lambda x: np.asarray(x, like=x),
    lambda x: np.array([x[0], 2.5, 3], like=x),
    lambda x: np.array([[x[0]], [x[1]]], dtype="f4", ndmin=3, like=x),
    lambda x: np.asanyarray([x, x], like=x),
    lambda x: np.ascontiguousarray(x, like=x),
    lambda x: np.asfortranarray(x, like=x),
    lambda x: np.require(x, "f4", like=x),
    lambda x: np.zeros((2, 3), like=x) + x[0],
    lambda x: np.ones(3, dtype="i4", like=x),
    lambda x: np.full((2,), x[0], like=x),
    lambda x: np.arange(4, like=x) * x[0],
    lambda x: np.eye(3, k=1, like=x),
    lambda x: np.identity(3, like=x),
    lambda x: np.tri(3, like=x),
]


@pytest.mark.parametrize("f", LIKE)
def test_like_makes_traced_arrays_of_lists_with_traced_values(f):
    assert_same(f, ordinary("f8", (3,), 2))


def test_device_of_new_arrays_is_the_cpu_in_numpys_words():
    assert_same(lambda x: np.zeros_like(x, device="cpu"), np.ones(2))
    for f in (
        lambda x: np.zeros_like(x, device="gpu"),
        lambda x: np.full_like(x, 1, device="gpu"),
    ):
        assert_same(f, np.ones(2))
    with pytest.raises(ValueError, match="Device not understood"):
        trace_to_graph(lambda x: jnp.zeros(x.shape[0], device="gpu") + x, np.ones(2))


def test_arrays_of_lists_come_from_the_namespace():
    found = transpile.jit(lambda x: jnp.array([[x[0], 1.0], [2.0, x[1]]]))(np.array([5.0, 6.0]))
    np.testing.assert_array_equal(found, [[5.0, 1.0], [2.0, 6.0]])
    assert_same(lambda x: jnp.asarray_chkfinite([x, x]), np.ones(2))


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_python_numbers_are_weak_bounds(name):
    function = getattr(np, name)
    bounds = ((np.complex64(1j), np.complex64(2j)), (np.float32(1), np.float32(2)), (1, 2))
    for start, stop in (*bounds, (np.float32(0.5), 2), (np.float16(1), 3.5), (np.ones(2, "f4"), 4)):
        traced = transpile.jit(lambda x, stop=stop: function(x, stop, 4))(start)
        assert traced.dtype == function(start, stop, 4).dtype


@pytest.mark.parametrize(
    ("f", "numbers"),
    [
        (lambda a: np.arange(a, 0.5), (4, 0)),
        (lambda a: np.arange(0.5, a, 2), (4, 6)),
        (lambda a: np.arange(a, 6, None), (4, 9)),
        (lambda a: np.arange(stop=a), (4, 0)),
        (lambda a: np.arange(0, 1 + a, a), (0.1, 0.3)),
    ],
)
@one_in(2)
def test_ranges_of_traced_numbers_are_numpys(f, numbers, shared_cache):
    jitted = transpile.jit(f)
    for number in numbers:
        assert_same_array(jitted(number), f(number))


def assert_same_array(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert found.dtype == expected.dtype and found.shape == expected.shape
