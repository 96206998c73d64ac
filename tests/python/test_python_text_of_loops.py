"""What becomes of loops and branches in C, where it decides how fast they are."""

import numpy as np
import pytest

import transpile
from transpile.ir.loop_ir import If, Store
from transpile.ir.loop_rewrite import walk


def statements(function, *args):
    program = transpile.jit(function).lower(*args).compiler_ir("loops")
    return program, [s for k in program.kernels for s in walk(k.body)]


def pairs_of_sum(a, target):
    """Two indices meet; where the sum is right, all three variables change."""
    low, high, count = 0, len(a) - 1, 0
    while low < high:
        s = a[low] + a[high]
        if s < target:
            low += 1
        elif s > target:
            high -= 1
        else:
            low += 1
            high -= 1
            count += 1
    return count


def first_not_less(a, x):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


A = np.sort(np.random.default_rng(0).integers(-50, 50, 90))


@pytest.mark.parametrize(("function", "branches"), [(pairs_of_sum, 2), (first_not_less, 0)])
def test_a_branch_that_changes_many_variables_stays_one(function, branches):
    for x in (-60, -3, 0, 7, 60):
        assert transpile.jit(function)(A, x) == function(A, x)
    _, found = statements(function, A, 3)
    assert sum(isinstance(s, If) for s in found) == branches


def solved(d, x):
    """Two sweeps, and one element between them."""
    x = x.copy()
    n = len(x)
    for i in range(1, n):
        x[i] -= d[i] * x[i - 1]
    x[n - 1] /= d[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - x[i + 1]) / d[i]
    return x


def test_an_element_of_the_result_of_a_loop_is_changed_where_it_lies():
    draw = np.random.default_rng(0)
    d, x = draw.normal(size=200) + 9, draw.normal(size=200)
    np.testing.assert_allclose(transpile.jit(solved)(d, x), solved(d, x), rtol=1e-13)
    program, found = statements(solved, d, x)
    assert not program.temporaries
    assert sum(isinstance(s, Store) for s in found) == 4  # a copy, two sweeps, the element
