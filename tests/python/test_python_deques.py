"""Deques whose first element moves both ways, or that have a `maxlen`. Python is the oracle."""

import copy
from collections import deque

import numpy as np
import pytest
from thorough import one_in

import transpile

RNG = np.random.default_rng(3)
X = RNG.normal(size=200)
COSTS = RNG.integers(-3, 3, (20, 20))


def moving_mean(x, width):
    window = deque(maxlen=width)
    out = np.zeros(len(x))
    for i in range(len(x)):
        window.append(x[i])
        out[i] = sum(window) / len(window)
    return out


def running_sum(x, width):
    window, total = deque(maxlen=width), 0.0
    for v in x:
        if len(window) == width:
            total -= window[0]
        window.append(v)
        total += v
    return total, list(window)


def both_ends(x):
    ring = deque([0.0] * 4, maxlen=4)
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            ring.append(x[i])
            out[i] = ring[0] + ring[-1]
        if len(ring) > 2 and x[i] > 1:
            ring.popleft()
        if x[i] < -1:
            ring.appendleft(x[i])
    return out, np.array(ring)


def sides(x):
    ends = deque([1.0, 2.0])
    total = 0.0
    for v in x:
        if v > 0:
            ends.append(v)
        elif v < -0.5:
            ends.appendleft(v)
        elif len(ends) > 1:
            total += ends.pop() - 2 * ends.popleft()
    for v in ends:
        total += v
    return total, list(ends), len(ends)


def rotated(x):
    ring = deque()
    for v in x:
        ring.append(v)
        ring.rotate(1)
        if v > 1:
            ring.rotate(-2)
    return list(ring)


def last_of(n, k):
    ring = deque(range(n))
    while len(ring) > 1:
        ring.rotate(-(k - 1))
        ring.popleft()
    return ring[0]


def zero_one_distances(costs, start):
    distance = np.full(len(costs), 1000000)
    distance[start] = 0
    queue = deque([start])
    while queue:
        u = queue.popleft()
        for v in range(len(costs)):
            cost = costs[u, v]
            if cost >= 0 and distance[u] + cost < distance[v]:
                distance[v] = distance[u] + cost
                if cost == 0:
                    queue.appendleft(v)
                else:
                    queue.append(v)
    return distance


def searched(x):
    ring, found = deque(maxlen=5), 0
    for v in x:
        if v in ring:
            found += 1
        ring.append(v)
        ring.extendleft([v, v + 1])
    return found, list(ring)


def pairs(x):
    ring, total = deque(maxlen=4), 0.0
    for i in range(len(x)):
        ring.append((i, x[i]))
        for k, v in ring:
            total += k * v
    return total


def cleared(x):
    ring = deque(maxlen=6)
    for v in x:
        ring.append(v)
        if v > 1.5:
            ring.clear()
            ring.appendleft(-v)
    return list(ring)


def rows(a):
    ring = deque(maxlen=4)
    out = np.zeros(a.shape)
    for i in range(len(a)):
        ring.append(a[i])
        out[i] = np.mean(np.array(ring), axis=0)
    return out


def none_kept(x):
    ring, count = deque(maxlen=0), 0
    for v in x:
        ring.append(v)
        count += len(ring)
    return count


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (moving_mean, (X, 3)),
        (moving_mean, (X[:5], 3)),
        (running_sum, (X, 5)),
        (both_ends, (X,)),
        (both_ends, (X[:6],)),
        (sides, (X,)),
        (rotated, (X,)),
        (last_of, (41, 3)),
        (zero_one_distances, (COSTS, 0)),
        (searched, (np.round(X),)),
        (pairs, (X,)),
        (cleared, (X,)),
        (rows, (RNG.normal(size=(100, 3)),)),
        (none_kept, (X,)),
    ],
)
@one_in(3)
def test_they_are_pythons(function, args):
    result = transpile.jit(function)(*copy.deepcopy(args))
    expected = function(*copy.deepcopy(args))
    for one, other in zip(
        transpile.tree.leaves(result), transpile.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-13)
