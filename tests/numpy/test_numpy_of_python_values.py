"""Lists with traced values for functions and operators of NumPy's; classes of traced values."""

import math
import numbers
from typing import Protocol, runtime_checkable

import numpy as np
import pytest
from thorough import one_in

import transpile

A, B, C = np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.5, -1.0]), np.array([3.0, 0.0, 1.0])


def of_lists(a, b, c):
    return [
        np.maximum.reduce([a, b, c]),
        np.logical_and.reduce((a > 0, b > 0)),
        np.logical_or.reduce([a > 2, b > 0, c > 9]),
        np.add.reduce([a, b, c], axis=1),
        np.multiply.reduce([a[0], b[0], 3]),
        np.minimum.accumulate([a[0], b[0], c[0]]),
        np.multiply.outer([a[0], b[0]], [c[0], 1]),
        np.exp([a[0], b[0]]),
        np.add([a[0], b[0]], [1, c[0]]),
        np.maximum([a[0], b[0]], 1),
        np.isnan((a[0], b[0])),
        np.matmul([[a[0], b[0]]], [[1], [c[0]]]),
        np.hypot([a, b], c),
        a / [b[0], 1, 2],
        (c[0], 1, 2) - a,
        [a, b] * c,
        a > [b[0], 1, 5],
        a @ [b[0], 1, 2],
        np.ediff1d([a[0], b[0], 7]),
        np.fromiter((2 * v for v in [a[0], b[0]]), float),
        np.sum([a, b], axis=0),
        np.linalg.det([[a[0], b[0]], [c[0], a[1]]]),
    ]


def test_lists_with_traced_values_are_arrays(shared_cache):
    results = zip(transpile.jit(of_lists)(A, B, C), of_lists(A, B, C), strict=True)
    for number, (found, expected) in enumerate(results):
        np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=str(number))
        assert found.dtype == np.asarray(expected).dtype


def test_a_list_times_a_number_repeats_it(shared_cache):
    f = transpile.jit(lambda n: np.array([0.5] * n))
    np.testing.assert_array_equal(f(3), [0.5, 0.5, 0.5])


KINDS = [
    np.ndarray, float, int, bool, complex, np.floating, np.float64, np.float32, np.integer,
    np.generic, numbers.Number, numbers.Integral, numbers.Real, (int, float), (list, tuple), list,
    dict, str,
]  # fmt: skip


@pytest.mark.parametrize(
    "value", [A, A.astype("i4"), 2.0, 2, True, 1j, np.float32(1), np.float64(1), np.int8(1), [A]]
)
@one_in(3)
def test_classes_are_those_of_the_values(value, shared_cache):
    def f(x):
        flags = [isinstance(x, kind) for kind in KINDS]
        return [*flags, type(x) is float, type(x) is np.ndarray, np.isscalar(x)]

    assert [bool(v) for v in transpile.jit(f)(value)] == f(value)


@runtime_checkable
class Named(Protocol):
    name: str


def test_protocols_ask_for_attributes(shared_cache):
    def f(x, unit):
        return 2 * x if isinstance(unit, Named) or isinstance(x, Named) else x

    np.testing.assert_array_equal(transpile.jit(f)(A, "m"), A)
    assert not isinstance(A, Named)


def test_functions_that_ask_for_the_class_of_an_argument(shared_cache):
    def scaled(x, by):
        if isinstance(by, (int, float)):
            return math.sqrt(by) * x
        return x @ by if isinstance(by, np.ndarray) else x

    jitted = transpile.jit(scaled)
    for by in (4.0, 9, B):
        np.testing.assert_allclose(jitted(A, by), scaled(A, by), rtol=1e-15)
