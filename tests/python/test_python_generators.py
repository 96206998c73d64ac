"""Generators in sums, extremes and tests, as in Python."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors

A = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0])


def check(function, *cases):
    """The results are those of Python."""
    compiled = transpile.jit(function)
    for case in cases:
        found, wanted = compiled(*case), function(*case)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=f"{case}")
    return compiled


def of_traced_length(x, y, n):
    return (
        sum(x[i] * y[-i] for i in range(n)),
        sum(1 for i in range(n) if x[i] > 0),
        sum([v * v for v in x if v > 0 if v < 5], 0.5),
        max((abs(x[i]) for i in range(n)), default=0.0),
        min((math.floor(y[i]) for i in range(n)), default=7),
        any(x[i] > 5 for i in range(n)),
        all(x[i] > -4 for i in range(n) if y[i] > 0),
        sum(a * b - k for k, (a, b) in enumerate(zip(x, y, strict=True))),
        any(a > n for a, b in zip(x, y, strict=True) if b < 2),
        sum(i * x[0] for i in (1, 2, 3)),
    )


def test_generators_of_traced_length():
    check(of_traced_length, *[(A, A[::-1].copy(), n) for n in (0, 1, 5, 8)])


def long_ones(x, y):
    return (
        sum(x[i] * y[i] for i in range(len(x))),
        max(abs(a - b) for a, b in zip(x, y, strict=True)),
        any(v > 3.5 for v in x),
        all(v > -9 for v in y),
        sum(math.sqrt(v) for v in x if v > 0),
    )


def test_long_generators_are_loops_of_the_program():
    x, y = np.random.default_rng(2).normal(size=(2, 400))
    compiled = check(long_ones, (x, y), (x + 4, y - 9))
    assert len(compiled.lower(x, y).as_text()) < 8000


def test_empty_ones_raise():
    with pytest.raises(ValueError, match=r"min") as wanted:
        min(())
    with pytest.raises(ValueError, match=f"^{re.escape(str(wanted.value))}"):
        transpile.jit(lambda x, n: min(x[i] for i in range(n)))(A, 0)
    with pytest.raises(ValueError, match=f"^{re.escape(str(wanted.value))}"):
        transpile.jit(lambda x: min(v for v in x if v > 2))(A - 99)


def chosen_ones(x, y, n):
    first, second = max(((a, b) for a, b in zip(x, y) if a < 5), key=lambda pair: pair[1])
    return (
        min((i for i in range(len(x)) if x[i] > -9), key=lambda i: abs(y[i])),
        max((v for v in x if v < 5), key=lambda v: v * v),
        min((v for v in x[:n] if v > 0), default=-1.0),
        max((i for i in range(n) if x[i] > 0), key=lambda i: -y[i], default=-1),
        min(filter(lambda v: v > -4, x)),
        max(itertools.takewhile(lambda v: v < 4, x), default=0.0),
        min((abs(b), a) for a, b in zip(x, y) if a < 5),
        first - second,
        sorted(v for v in x if v > 0),
        sorted((v for v in x[:n] if v < 5), key=lambda v: -v),
        sorted(filter(lambda v: v < 5, x), reverse=True),
        sorted((a, b) for a, b in zip(x, y) if a < 5),
        sorted(2 * v for v in x),
        len(sorted(name for name in ("b", "a"))),
    )


def test_extremes_and_orders_of_items_that_values_choose():
    compiled = transpile.jit(chosen_ones)
    for x, n in ((A, 0), (A, 1), (A, 8), (-A, 5), (A[::-1].copy(), 3)):
        case = x, A[::-1] * 0.5, n
        found, wanted = (transpile.tree.leaves(f(*case)) for f in (compiled, chosen_ones))
        assert len(found) == len(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def nearest_unvisited(points):
    """A tour: the next place is the nearest of those that are left."""
    n = len(points)
    left = np.ones(n, np.bool_)
    left[0] = False
    order = np.zeros(n, np.int64)
    at = 0
    for k in range(1, n):
        at = min(
            (j for j in range(n) if left[j]),
            key=lambda j: (points[j, 0] - points[at, 0]) ** 2 + (points[j, 1] - points[at, 1]) ** 2,
        )
        left[at] = False
        order[k] = at
    return order


def test_the_best_of_those_that_are_left():
    for n in (1, 2, 20):
        points = np.random.default_rng(n).normal(size=(n, 2))
        wanted = nearest_unvisited(points)
        assert transpile.jit(nearest_unvisited)(points).tolist() == wanted.tolist()


def nested(m, n):
    return (
        sum(max(m[i, j] for j in range(n)) for i in range(len(m))),
        sum(sum(m[i, j] for j in range(i)) for i in range(n)),
    )


def test_generators_in_generators():
    check(nested, (A.reshape(4, 2), 2), (A.reshape(4, 2), 1))


def begun(x, n):
    squares = (v * v for v in x)
    taken = next(squares)
    return (
        sum(squares) + taken,
        any(name == "b" for name, _ in {"a": x, "b": x}.items() if n > 0),
        all(x[k] > -n for k in {0: "a", 3: "b"}),
    )


def test_generators_over_what_only_python_runs_over():
    check(begun, (A, 0), (A, 3), (-A, 5))


def of_computed_length(x, n):
    count = int(x * n)
    return np.array([np.sin(x * i) for i in range(count)])


def of_some(x, n):
    return np.array([x * i for i in range(n) if i % 3 != 1])


def of_pairs(x, n):
    return np.array([np.array([x * i, e]) for i, e in enumerate(np.arange(n) * 2.0)])


def of_logarithms(x, n):
    return np.array([np.log(x + 3 - i) for i in range(n) if x + 3 > i], dtype=np.float32)


def in_a_loop(x, n):
    total = 0.0
    for k in range(n):
        total += np.max([x * i + k for i in range(k + 1)]) * np.sum([i * x for i in range(n)])
    return total


@pytest.mark.parametrize("f", [of_computed_length, of_some, of_pairs, of_logarithms, in_a_loop])
@one_in(2)
def test_arrays_of_lists_of_traced_lengths(f, caplog):
    compiled = transpile.jit(f)
    for n in (4, 7, 2):
        found, wanted = compiled(1.5, n), f(1.5, n)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6 if f is of_logarithms else 1e-12)
    assert not caplog.text  # nothing has become static

    def total(x, n):
        return np.sum(f(x, n))

    slope = (total(1.6 + 1e-5, 4) - total(1.6 - 1e-5, 4)) / 2e-5
    if f is not of_logarithms:  # in float32
        np.testing.assert_allclose(transpile.jit(transpile.grad(total))(1.6, 4), slope, rtol=1e-6)


def last_that_decides(x):
    if any((last := value) > 1 for value in x):
        return last
    return 0.0


def test_a_name_that_an_item_binds_is_refused():
    """`any` would bind it to the last item."""
    with pytest.raises(errors.UnsupportedError, match="Write a loop: for, if and break"):
        transpile.jit(last_that_decides)(np.arange(4.0))
