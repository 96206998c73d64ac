"""Generator functions that loops of the program consume, as in Python."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors

A = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0])


def check(function, *cases):
    """The results, and what becomes of the arguments, are those of Python."""
    compiled = transpile.jit(function)
    for case in cases:
        ours, theirs = ([np.copy(x) if np.ndim(x) else x for x in case] for _ in range(2))
        found = transpile.tree.leaves(compiled(*ours))
        wanted = transpile.tree.leaves(function(*theirs))
        for one, other in zip([*found, *ours], [*wanted, *theirs], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def above(a, bound=0.0):
    for x in a:
        if x < -4:
            return
        if x <= bound:
            continue
        yield x


def halves(x):
    while x > 1:
        x /= 2
        yield x, x * x


def newton(a):
    y = a
    while True:
        y = 0.5 * (y + a / y)
        yield y


def both(a, bound):
    yield from above(a[:3], bound)
    yield 0.5
    yield from above(a[::-1], bound=bound)


def negative(a):
    for i in range(len(a)):
        if a[i] < 0:
            yield i


def sums(a, bound):
    total, last = 0.0, -1.0
    for x in above(a, bound):
        total += x
        last = x
    return total, last


def ends_early(a, bound):
    count = 0
    for x in both(a, bound):
        if x > bound + 2:
            break
        count += 1
    else:
        count = -1
    return count


def returns(a, bound):
    for x in newton(a[0] * bound):
        if abs(x * x - a[0] * bound) < 1e-12:
            return x
    return None


def takes_pairs_apart(a, bound):
    total = 0
    for x, square in halves(bound * 100):
        for y in above(a, x):  # another generator for each item
            total += y * square
    return total


def assigns(a, bound):
    for i in negative(a):
        a[i] = -bound * a[i]
    return a.sum()


def reductions(a, bound):
    large = any(x > bound + 2 for x in above(a, bound))
    return sum(above(a, bound)), large, all(both(a, bound)), sum(x * x for x in both(a, bound))


class Walk:
    """Has a generator that is a method, and changes it."""

    def __init__(self, a):
        self.a = a
        self.steps = 0
        self.last = [0.0]

    def items(self, bound):
        for x in self.a:
            self.steps += 1
            if x > bound:
                self.last[0] = x
                yield x


def methods(a, bound):
    walk, total = Walk(a), 0.0
    for x in walk.items(bound):
        total += x / walk.steps
    return total, walk.steps, walk.last[0]


def pairs_of_a_nested_one(a, bound):
    def pairs(n):
        for i in range(n):
            for j in range(i + 1, n):
                yield i, j

    energy = 0.0
    for i, j in pairs(len(a)):
        if abs(a[i] - a[j]) < bound + 2:
            energy += a[i] * a[j]
    return energy


@pytest.mark.parametrize(
    "function",
    [
        *(sums, ends_early, returns, takes_pairs_apart, assigns, reductions, methods),
        pairs_of_a_nested_one,
    ],
)
@one_in(2)
def test_generators_that_a_loop_consumes(function):
    check(function, (A, 0.5), (A, 2.0), (np.abs(A), 1.0))


def items_without_a_value(a, bound):
    for x in above(a, bound):
        last = x
    return last


def test_a_variable_that_no_item_binds():
    check(items_without_a_value, (A, 0.5))
    with pytest.raises(UnboundLocalError, match="local variable 'last'"):
        transpile.jit(items_without_a_value)(A, 10.0)


def guarded(a):
    try:
        for x in a:
            if x > 0:
                yield x
    finally:
        a[0] = 0.0


def consumes_guarded(a):
    total = 0.0
    for x in guarded(a):
        total += x
    return total


def test_a_generator_that_a_loop_cannot_run_is_pythons():
    with pytest.raises(errors.TracerBoolConversionError, match="if x > 0"):
        transpile.jit(consumes_guarded)(A.copy())


def test_the_derivative_of_a_loop_over_a_generator():
    gradient = transpile.jit(transpile.grad(lambda a: reductions(a, 0.5)[3]))(A)
    front = np.where(A[:3] > 0.5, 2 * A[:3], 0)
    back = np.where((A > 0.5) & (np.arange(8) > 4), 2 * A, 0)  # it ends at -5
    back[:3] += front
    np.testing.assert_allclose(gradient, back)
