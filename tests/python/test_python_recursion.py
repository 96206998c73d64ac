"""Functions that call themselves: as often as a number of the call says, which becomes static."""

import logging

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.errors import TracerRecursionError


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1))


def power(x, n):
    if n == 0:
        return np.eye(len(x))
    if n % 2:
        return x @ power(x, n - 1)
    half = power(x, n // 2)
    return half @ half


def simpson(a, b, tolerance=1e-6):
    """Adaptive quadrature of the sine: the interval is halved where two estimates differ."""
    m = (a + b) / 2
    whole = (b - a) / 6 * (np.sin(a) + 4 * np.sin(m) + np.sin(b))
    left = (m - a) / 6 * (np.sin(a) + 4 * np.sin((a + m) / 2) + np.sin(m))
    right = (b - m) / 6 * (np.sin(m) + 4 * np.sin((m + b) / 2) + np.sin(b))
    if abs(left + right - whole) < tolerance:
        return left + right
    return simpson(a, m, tolerance / 2) + simpson(m, b, tolerance / 2)


MATRIX = np.array([[1.0, 2.0], [0.5, 1.0]])
CALLS = [
    (factorial, [(5,), (1,)]),
    (fibonacci, [(10,)]),
    (ackermann, [(2, 3)]),
    (power, [(MATRIX, 5), (MATRIX, 0)]),
    (simpson, [(0.0, 1.0)]),
]


@pytest.mark.parametrize(("function", "calls"), CALLS)
@one_in(2)
def test_a_number_that_ends_a_recursion_is_static(function, calls, caplog, shared_cache):
    jitted = transpile.jit(function)
    with caplog.at_level(logging.WARNING, "transpile"):
        for args in calls:
            np.testing.assert_allclose(jitted(*args), function(*args), rtol=1e-14)
    assert "has a program for each value from here on" in caplog.text


def test_a_recursion_that_values_of_an_array_end_is_refused():
    def halved(x):
        return x.sum() if x.sum() < 1 else halved(x / 2)

    with pytest.raises(TracerRecursionError, match=r"halved \(.*\): it calls itself too often"):
        transpile.jit(halved)(np.ones(3))


def test_a_recursion_without_an_end_is_an_error_of_recursion():
    def endless(n):
        return endless(n + 1)

    with pytest.raises(RecursionError, match="calls itself too often"):
        transpile.jit(endless)(1)
