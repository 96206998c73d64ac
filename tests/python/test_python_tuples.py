"""Tuples and lists of traced numbers that are compared, sorted and chosen among, as Python does."""

import math

import numpy as np
import pytest
from thorough import one_in

import transpile

RNG = np.random.default_rng(3)
POINTS = RNG.integers(0, 4, (12, 2)).astype(float)


def check(function, *arguments):
    result, expected = transpile.jit(function)(*arguments), function(*arguments)
    np.testing.assert_array_equal(np.asarray(result, float), np.asarray(expected, float))


def all_orders(a, b):
    return (
        (a, b) < (b, a),
        (a, b) <= (b, a),
        (a, b) > (b, b),
        [a, b] >= [b, a],
        (a, b) == (b, a),
        (a, b) != (a, a),
        (a, b) == (a, b),
        (a, (b, a)) < (a, (b, b)),
        (a, b) < (a, b, a),
        (a,) == (a, b),
    )


@pytest.mark.parametrize(
    ("a", "b"), [(1, 2), (2, 1), (2, 2), (0.0, -0.0), (1.5, math.nan), (math.nan, 1.0)]
)
def test_tuples_compare_the_first_numbers_that_differ(a, b):
    # In arrays, so that no argument becomes static.
    check(lambda x: all_orders(x[0], x[1]), np.array([a, b]))


def least(points):
    best = (math.inf, 0.0)
    for i in range(len(points)):
        candidate = (points[i, 0], points[i, 1])
        if candidate < best:
            best = candidate
    return best


def inversions(points):
    count = 0
    for i in range(len(points)):
        for j in range(i):
            if (points[i, 0], points[i, 1]) < (points[j, 0], points[j, 1]):
                count += 1
            elif (points[i, 0], points[i, 1]) == (points[j, 0], points[j, 1]):
                count += 100
    return count


def extremes(points):
    rows = [(p[1], p[0]) for p in points]
    return *min(rows), *max(rows), *max((v, i) for i, v in enumerate(points[:, 0]))


def in_order(points):
    rows = sorted((p[0], p[1]) for p in points)
    back = sorted([(p[1], p[0]) for p in points], reverse=True)
    by_key = sorted(range(len(points)), key=lambda i: (points[i, 1], -points[i, 0]))
    return [x for row in rows + back for x in row] + by_key


def hull(points):
    def turn(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    rows, lower, upper = sorted((p[0], p[1]) for p in points), [], []
    for row in rows:
        while len(lower) >= 2 and turn(lower[-2], lower[-1], row) <= 0:
            lower.pop()
        lower.append(row)
    for row in reversed(rows):
        while len(upper) >= 2 and turn(upper[-2], upper[-1], row) <= 0:
            upper.pop()
        upper.append(row)
    return lower[:-1] + upper[:-1]


@pytest.mark.parametrize("function", [least, inversions, extremes, in_order, hull])
@one_in(2)
def test_programs_with_tuples(function):
    check(function, POINTS)
    check(function, RNG.random((9, 2)))
