"""Helpers that return None on some paths and values on others."""

import math

import numpy as np
import pytest

import transpile


def root(x):
    if x < 0:
        return None
    return math.sqrt(x)


def of_every_other(k):  # noqa: RET503
    if k % 2 == 0:
        return k / 2
    # Python returns None here.


def place(x, v):
    for i in range(len(x)):
        if x[i] > v:
            return i
    return None


def cut(a, b, c, d):
    det = a * d - b * c
    if abs(det) < 0.5:
        return None
    return d / det, -b / det


class Bound:
    def __init__(self, most):
        self.most = most

    def halved(self, x):
        if x > self.most:
            return None
        while x > 1:
            x /= 2
        return x


def sum_of_roots(x):
    total = 0.0
    for v in x:
        r = root(v)
        if r is None:
            continue
        total += r
    return total


def best_root(x):
    best = None
    for v in x:
        if (r := root(v)) is not None and (best is None or r > best):
            best = r
    return -1.0 if best is None else best


def with_default(x):
    return sum(root(v) or 100.0 for v in x)


def compared(x):
    return sum((place(x, v) == 0) + 10 * (place(x, v + 1) != 2) for v in x)


def doubled(x):
    return 2 * x


def of_arrays(x):
    missing = sum(1 for v in x if root(v) is None)
    return (doubled(x) != 2 * np.abs(x)).sum() + (doubled(x) == 2 * x).sum() + missing


def places(x):
    i = place(x, 1.0)
    if i is None:
        return -1, place(x, -9.0) is None
    return i, place(x, 9.0) is None


def of_pairs(x):
    total = 0.0
    for i in range(len(x) - 1):
        found = cut(x[i], x[i + 1], 1.0, 2.0)
        if found is not None:
            p, q = found
            total += p - q
    return total


def by_method(x):
    bound = Bound(1.5)
    kept = []
    for v in x:
        y = bound.halved(v)
        if y is None:
            kept.append(-7.0)
        else:
            kept.append(y)
    return kept


def passed_on(x):
    def through(v):
        return root(v)

    missing = 0
    for v in x:
        if through(v) is None:
            missing += 1
    return missing


def of_counts(x):
    total = 0.0
    for v in x:
        k = of_every_other(int(v * 3))
        total += 0.25 if k is None else k
    return total


@pytest.mark.parametrize(
    "function",
    [
        *(
            sum_of_roots,
            best_root,
            with_default,
            compared,
            of_arrays,
            places,
            of_pairs,
            by_method,
            passed_on,
        ),
        of_counts,
    ],
)
def test_helpers_return_none_on_a_path(function):
    f = transpile.jit(function)
    for size in (1, 7, 80):
        x = np.random.default_rng(size).normal(size=size)
        np.testing.assert_allclose(f(x), function(x), rtol=1e-13)


def unchecked(x):
    return sum(root(v) + 1 for v in x)


def test_none_of_a_helper_is_pythons_error_where_it_is_an_operand():
    f = transpile.jit(unchecked)
    np.testing.assert_allclose(f(np.ones(80)), unchecked(np.ones(80)))
    with pytest.raises(TypeError, match=r"'root\(\)' is None"):
        f(-np.ones(80))


def test_gradients_go_through_helpers_that_return_none():
    x = np.array([4.0, -1.0, 9.0])
    np.testing.assert_allclose(transpile.grad(sum_of_roots)(x), [1 / 4, 0, 1 / 6])


def test_a_result_that_is_none_for_some_values_is_an_error_of_the_call():
    f = transpile.jit(root)
    assert f(4.0) == 2.0
    with pytest.raises(TypeError, match="the result is None for some values"):
        f(-4.0)
    g = transpile.jit(of_every_other)
    assert [g(3), g(4)] == [None, 2.0]
