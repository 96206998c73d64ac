"""`while` loops whose first conditions are known are one loop of the program, no body before it."""

from __future__ import annotations

import numpy as np
import pytest

import transpile


def halves(x):
    n = 0
    while n < 2 or x > 1.0:
        x = x / 2
        n += 1
    return x, n


def last_seen(a):
    k = 0
    while k < 5:
        value = a[k]
        if value < 0:
            k += 2
        else:
            k += 1
    return value, k


def from_nothing(x):
    best = None
    k = 0
    while k < 4:
        if best is None:
            best = x
        elif x * k > best:
            best = x * k
            k += 1
        k += 1
    return best


def inner(a):
    total = 0.0
    for i in range(len(a)):
        k = 3
        while k > 0:
            total += a[i] * k
            k -= 1 if a[i] > 0 else 2
    return total


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (halves, (9.0,)),
        (halves, (0.5,)),
        (last_seen, (np.array([1.0, -2.0, 3.0, 4.0, -5.0]),)),
        (from_nothing, (2.5,)),
        (from_nothing, (-2.5,)),
        (inner, (np.array([1.0, -2.0, 3.0]),)),
    ],
)
def test_results_are_those_of_python(function, args):
    found, wanted = transpile.jit(function)(*args), function(*args)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("function", [halves, last_seen])
def test_the_body_is_traced_once(function):
    x = np.ones(5) if function is last_seen else 1.0
    lowered = transpile.jit(function).lower(x)
    assert "a loop of the program, as its condition is traced" in lowered.as_text("control_flow")
    text = lowered.as_text()
    assert text.count("while (") + text.count("for (;;)") == 1
    # What the first iteration binds has a value behind the loop, for which nobody asks.
    assert "UnboundLocalError" not in text


def test_first_iterations_that_are_unlike_the_others_are_run_by_python():
    text = transpile.jit(from_nothing).lower(1.0).as_text("control_flow")
    assert "`if best is None:`: no branch of the program: it is True while tracing" in text
    assert "`while k < 4:`: a loop of the program, as its condition is traced" in text


def compared_with_the_first(x):
    n = 0
    while n < 20:
        energy = x.sum() / (n + 1)
        if n == 0:
            first = energy
            previous = energy
        else:
            if previous - energy < 0.01 * first:
                break
            previous = energy
        n += 1
    return n, previous


def test_values_of_the_first_iteration_are_there_where_several_are_asked_for():
    x = np.arange(6.0)
    n, previous = transpile.jit(compared_with_the_first)(x)
    assert (n, previous) == compared_with_the_first(x)
