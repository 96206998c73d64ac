"""Lists that grow and that a variable is one after the other: frontiers of graphs, rows of
triangles. Python is the oracle."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors

RNG = np.random.default_rng(7)
LINKS = RNG.random((25, 25)) < 0.08


def levels(links, start):
    distance = np.full(len(links), -1)
    distance[start] = 0
    frontier, depth = [start], 0
    while frontier:
        depth += 1
        following = []
        for u in frontier:
            for v in range(len(links)):
                if links[u, v] and distance[v] < 0:
                    distance[v] = depth
                    following.append(v)
        frontier = following
    return distance


def components(links):
    labels, count = np.full(len(links), -1), 0
    for start in range(len(links)):
        if labels[start] < 0:
            labels[start] = count
            frontier = [start]
            while frontier:
                following = []
                for u in frontier:
                    for v in range(len(links)):
                        if links[u, v] and labels[v] < 0:
                            labels[v] = count
                            following.append(v)
                frontier = following
            count += 1
    return labels


def pascal(x, n):
    row = [x]
    for _ in range(n):
        following = [x]
        for j in range(len(row) - 1):
            following.append(row[j] + row[j + 1])
        following.append(1.0)
        row = following
    return row


def pairs(start, n):
    now = [(start, 0)]
    for _ in range(n):
        following = []
        for a, b in now:
            if (a + b) % 3 != 0:
                following.append((a + 1, b))
            following.append((a, b + 2))
        now = following
    return now


def sieve(n):
    numbers, primes = list(range(2, n)), []
    while numbers:
        primes.append(numbers[0])
        numbers = [v for v in numbers if v % primes[-1] != 0]
    return primes


def longest_run(x):
    best, now = [], []
    for v in x:
        if v > 0:
            now.append(v)
        else:
            if len(now) > len(best):
                best = now.copy()
            now = []
    if len(now) > len(best):
        best = now[:]
    return best


def longer(x):
    positive, others = [], []
    for v in x:
        if v > 0:
            positive.append(v)
        else:
            others.append(v)
            others.append(-v)
    return positive if len(positive) > len(others) else others


class Search:
    def __init__(self, start):
        self.frontier = [start]


def depth_of(links, start):
    search, seen, depth = Search(start), np.zeros(len(links), bool), 0
    seen[start] = True
    while len(search.frontier) > 0:
        depth += 1
        following = []
        for u in search.frontier:
            for v in range(len(links)):
                if links[u, v] and not seen[v]:
                    seen[v] = True
                    following.append(v)
        search.frontier = following
    return [depth]


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (levels, [(LINKS, 0), (LINKS, 7), (LINKS | LINKS.T, 3)]),
        (components, [(LINKS | LINKS.T,), (LINKS[:9, :9],)]),
        (pascal, [(1.0, 0), (2.0, 6), (1.0, 20)]),
        (pairs, [(3, 0), (3, 7), (4, 9)]),
        (sieve, [(50,), (10,)]),
        (longest_run, [(RNG.normal(size=200),), (np.ones(3),), (-np.ones(90),)]),
        (longer, [(RNG.normal(size=100),), (RNG.normal(size=100) + 1,)]),
        (depth_of, [(LINKS, 0), (LINKS, 7)]),
    ],
)
@one_in(2)
def test_they_are_pythons(function, cases):
    compiled = transpile.jit(function)
    for case in cases:
        result, expected = compiled(*case), function(*case)
        np.testing.assert_array_equal(np.array(result), np.array(expected))


def test_derivatives_go_through_them():
    def total(x, n):
        return sum(pascal(x, n))

    slope = transpile.grad(total)(2.0, 6)
    assert slope == pytest.approx((total(2.001, 6) - total(1.999, 6)) / 0.002)


def test_a_batch_needs_rooms_that_are_said():
    def last(n):
        row = transpile.with_room([2.0], 20)
        for _ in range(n):
            following = transpile.with_room([2.0], 20)
            for j in range(len(row) - 1):
                following.append(row[j] + row[j + 1])
            following.append(1.0)
            row = following
        return row[len(row) // 2]

    counts = np.array([0, 2, 6])
    np.testing.assert_array_equal(transpile.vmap(last)(counts), [last(int(n)) for n in counts])


def test_lists_of_unlike_elements_are_errors():
    def unlike(x):
        now = [(x, 1)]
        while x > 0:
            following = []
            for a in now:
                following.append(a)
                following.append(x)
            now = following
            x -= 1
        return len(now)

    with pytest.raises(errors.CarryError, match=r"'now' is .* keeps its shape and its structure"):
        transpile.jit(unlike)(2.5)


def test_a_list_that_another_variable_is_too_is_not_changed_silently():
    def kept(x):
        best, now = [], []
        for v in x:
            if v > 0:
                now.append(v)
            else:
                best = now
                now = []
        return best

    with pytest.raises(errors.UnsupportedError, match=r"copy: x = y\.copy\(\)"):
        transpile.jit(kept)(RNG.normal(size=100))


def named_twice(n, x):
    now = [1.0, 2.0]
    first = now
    for k in range(n):
        now[0] = x * k
        now = [3.0, x]
    return first[0], now[0]


def in_a_tuple(n, x):
    now = [1.0, 2.0]
    pair = (now, 5)
    k = 0
    while k < n:
        now.append(x)
        now = [3.0, x]
        k += 1
    return len(pair[0]), now[0]


def exchanged(n, x):
    a, b = [1.0, 2.0], [3.0, 4.0]
    first = a
    for k in range(n):
        a[0] = x * k + b[1]
        a, b = b, a
    return first[0], a[0], b[0]


def of_the_caller(n, x):
    def last(values):
        for k in range(n):
            values[0] = x * k
            values = [3.0, x]
        return values[0]

    now = [1.0, 2.0]
    return last(now), now[0]


@pytest.mark.parametrize("f", [named_twice, in_a_tuple, exchanged, of_the_caller])
def test_a_list_that_changes_before_it_is_bound_anew_has_no_other_name(f):
    """The other name kept what was in the list before the loop."""
    with pytest.raises(errors.CarryError, match=r"binds it anew, and the list .* has another name"):
        transpile.jit(f)(3, 2.0)


def without_another_name(n, x):
    a, b = [1.0, 2.0], [3.0, 4.0]
    first = a
    a = a.copy()
    for k in range(n):
        a[0] = x * k + b[1]
        a, b = b, a
    return first[0], a[0], b[0]


def test_a_copy_may_change_before_it_is_bound_anew():
    assert transpile.jit(without_another_name)(3, 2.0) == without_another_name(3, 2.0)
