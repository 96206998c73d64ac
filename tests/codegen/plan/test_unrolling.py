"""Unrolling: which loops of a program gcc is asked to unroll, and that nothing else changes."""

import re

import numpy as np
import pytest
from thorough import one_in

import transpile

X = np.random.default_rng(3).integers(0, 9, size=100)


def counted(x):
    counts = np.zeros(9, np.int64)
    for i in range(len(x)):
        counts[x[i]] += 1
    return counts


def counted_in_few(x):
    counts = np.zeros(9, np.int64)
    for i in range(20):
        counts[x[i]] += 1
    return counts


def counted_so_often(x):
    counts = np.zeros(9, np.int64)
    for i in range(x[0] + 3):
        counts[x[i]] += 1
    return counts


def counted_by_sign(x):
    counts = np.zeros(9, np.int64)
    for i in range(len(x)):
        if x[i] > 4:
            counts[x[i] - 3] += 1
        else:
            counts[x[i]] -= 2
    return counts


def discounted(x):
    total = 0.0
    for i in range(len(x)):
        total = 0.5 * total + x[i]
    return total


@pytest.mark.parametrize(
    ("function", "marked"),
    [
        (counted, 1),
        (counted_in_few, 0),  # there is little to gain
        (counted_so_often, 0),  # a value says how often
        (counted_by_sign, 0),  # a branch for each of two things
        (discounted, 0),  # a chain of additions of floats
    ],
)
@one_in(2)
def test_serial_loops_that_are_long_and_do_one_thing_are_unrolled(function, marked):
    compiled = transpile.jit(function)
    np.testing.assert_array_equal(compiled(X), function(X))
    text = compiled.lower(X).as_text()
    assert len(re.findall(r"#pragma GCC unroll 4\n +for ", text)) == marked


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 31, 33])
def test_an_unrolled_loop_of_a_size_at_runtime_ends_where_it_should(length):
    compiled = transpile.jit(counted, dynamic_shapes=True)
    np.testing.assert_array_equal(compiled(X[:length]), counted(X[:length]))
    assert "#pragma GCC unroll 4" in compiled.lower(X[:50]).as_text()
