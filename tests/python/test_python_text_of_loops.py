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


def element_before_a_branch(a):
    for i in range(1, len(a) - 1):
        y = (a[i] & 96) | (a[i + 1] & 31)
        a[i] = a[i - 1] ^ (y >> 1)
        if y & 1:
            a[i] ^= 85


def elements_before_a_loop(a):
    """Two stacks: what is taken off them is where an inner loop begins, which fills them again."""
    low, high = np.zeros(64, np.int64), np.zeros(64, np.int64)
    high[0], top, total = len(a) - 1, 1, 0
    while top > 0:
        top -= 1
        first, last = low[top], high[top]
        while first < last:
            total += a[first]
            if total & 1:
                low[top], high[top] = first + 5, last - 9
                first += 3
                top += 1
            else:
                low[top], high[top] = first + 3, last - 2
                last -= 2
    return total


def old_element_behind_a_branch(a):
    last = 0
    for i in range(len(a) - 1):
        y = a[i] + a[i + 1]
        if y & 2:
            a[i] = a[i] - last
        last = y - 3 * i
    return last


@pytest.mark.parametrize(
    "function", [element_before_a_branch, elements_before_a_loop, old_element_behind_a_branch]
)
def test_elements_of_before_a_change_are_read_before_it_and_no_array_is_copied(function):
    ours, theirs = np.arange(90) * 37 % 101, np.arange(90) * 37 % 101
    assert transpile.jit(function)(ours) == function(theirs)
    np.testing.assert_array_equal(ours, theirs)
    assert "previous" not in transpile.jit(function).lower(ours).as_text()
