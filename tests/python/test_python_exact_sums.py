"""`math.fsum` of traced numbers is rounded once, as Python's."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile

LENGTH = 12
exact = transpile.jit(lambda x: math.fsum(x))


def pythons(x):
    """The sum of the fractions, which partial sums that overflow leave alone."""
    total = sum(map(Fraction, x), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return math.copysign(math.inf, total)


@settings(max_examples=tries(60), deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), max_size=LENGTH // 2), st.data())
def test_drawn_sums_are_pythons(numbers, data):
    """Of numbers that cancel in part, in any order."""
    others = data.draw(st.permutations([-x for x in numbers[1:]]))
    x = np.array(numbers + others)
    padded = np.concatenate([x, np.zeros(LENGTH - len(x))])
    assert exact(padded) == pythons(padded)


@settings(max_examples=tries(60), deadline=None)
@given(
    st.lists(st.integers(-(2**54), 2**54), min_size=LENGTH, max_size=LENGTH),
    st.lists(st.integers(-1074, 900), min_size=LENGTH, max_size=LENGTH),
)
def test_sums_of_all_sizes_are_pythons(significands, powers):
    x = np.ldexp(np.array(significands, float), np.array(powers))
    assert exact(x) == pythons(x)


@pytest.mark.parametrize(
    ("numbers", "total"),
    [
        ([1e16, 1.0, 1e-300, -1e16], 1.0),
        ([1.0, 2.0**-53, 2.0**-1074], 1.0 + 2.0**-52),
        ([1.0, 2.0**-53], 1.0),
        ([1.0 + 2.0**-52, 2.0**-53], 1.0 + 2.0**-51),
        ([5e-324, 5e-324, -1e-323], 0.0),
        ([math.inf, 1.0], math.inf),
        ([math.inf, -math.inf], math.nan),
        ([1e308, 1e308], math.inf),
        ([], 0.0),
    ],
)
def test_ties_and_ends_of_the_range(numbers, total):
    padded = np.array([*numbers, *[0.0] * (LENGTH - len(numbers))])
    np.testing.assert_equal(float(exact(padded)), total)


def test_lists_and_generators():
    def f(x, y):
        squares = math.fsum(v * v for v in x)
        return math.fsum([y, 1e16, squares, -1e16]), math.fsum([0.1] * 10)

    x = np.linspace(0.1, 1.0, 5)
    assert tuple(map(float, transpile.jit(f)(x, 0.25))) == f(x, 0.25)


def test_the_derivative_is_that_of_a_sum():
    x = np.array([1e16, 1.0, -1e16])
    np.testing.assert_array_equal(transpile.grad(lambda x: 2.0 * math.fsum(x))(x), [2.0, 2.0, 2.0])
    rows = np.stack([x, x[::-1], np.roll(x, 1)])
    np.testing.assert_array_equal(transpile.vmap(lambda r: math.fsum(r))(rows), [1.0, 1.0, 1.0])
