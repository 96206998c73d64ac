"""Lists that statements of the program add elements to and take them from: arrays with room for as
many as there may be. Python is the oracle, of its exceptions, too."""

from __future__ import annotations

import copy
import heapq
from collections import deque

import numpy as np
import pytest

import transpile
from transpile import errors, with_room

DRAWN = np.random.default_rng(5).normal(size=12).round(2)
CASES = ((DRAWN,), (np.abs(DRAWN) + 0.5,), (-np.abs(DRAWN) - 0.5,))


def outcome(function, case):
    """What a call gives, or raises."""
    try:
        return function(*copy.deepcopy(case))
    except (IndexError, ValueError) as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]


def check(function, *cases):
    """Results are those of Python, lists are lists, and exceptions are the same."""
    compiled = transpile.jit(function, compiler_options={"opt_level": 0})
    for case in cases:
        wanted, found = outcome(function, case), outcome(compiled, case)
        if isinstance(wanted, str):
            assert found == wanted
            continue
        assert transpile.tree.structure(found) == transpile.tree.structure(wanted)
        for one, other in zip(*map(transpile.tree.leaves, (found, wanted)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


# ------------------------------------------------------------------------------- known algorithms


def hull(x, y):
    """The lower hull of points in order (Andrew's monotone chain)."""
    kept = []
    for i in range(len(x)):
        while len(kept) >= 2:
            a, b = kept[-2], kept[-1]
            if (x[b] - x[a]) * (y[i] - y[a]) - (y[b] - y[a]) * (x[i] - x[a]) > 0:
                break
            kept.pop()
        kept.append(i)
    return kept


def merged_intervals(start, end):
    merged = []
    for i in range(len(start)):
        if merged and start[i] <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end[i]))
        else:
            merged.append((start[i], end[i]))
    return merged


def run_lengths(x):
    values, counts = [], []
    for v in x:
        if values and values[-1] == v:
            counts[-1] += 1
        else:
            values.append(v)
            counts.append(1)
    return values, counts, np.array(counts), len(values)


def primes(n):
    is_prime = np.ones(n + 1, bool)
    found = []
    for i in range(2, n + 1):
        if is_prime[i]:
            found.append(i)
            for j in range(i * i, n + 1, i):
                is_prime[j] = False
    return found


def next_larger(x):
    larger = np.full(len(x), -1)
    stack = []
    for i in range(len(x)):
        while stack and x[stack[-1]] < x[i]:
            larger[stack.pop()] = i
        stack.append(i)
    return larger, stack


def merged_in_order(a, b):
    """Neither counter grows in each iteration; their sum does."""
    out = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    while i < len(a):
        out.append(a[i])
        i += 1
    while j < len(b):
        out.append(b[j])
        j += 1
    return out


def test_algorithms_with_a_bound():
    rng = np.random.default_rng(1)
    x = np.sort(rng.normal(size=30))
    check(hull, (x, rng.normal(size=30)), (x, x * x), (x, -x * x))
    check(lambda x: (next_larger(x), of_positive(x)), *CASES)


def test_other_algorithms_with_a_bound():
    rng = np.random.default_rng(2)
    start = np.sort(rng.uniform(0, 40, 20))
    check(merged_intervals, (start, start + rng.uniform(0, 3, 20)), (start, start + 40.0))
    check(run_lengths, (rng.integers(0, 2, 30),), (np.zeros(30, int),), (np.arange(30),))
    check(merged_in_order, (np.sort(DRAWN), np.sort(DRAWN[:7]) + 0.1), (DRAWN, np.zeros(7)))


def test_a_list_as_long_as_an_argument_says():
    check(primes, (50,), (2,), (1,))
    check(divisors, (12,), (7,))


def graph(n=40, edges=120, seed=3):
    rng = np.random.default_rng(seed)
    source = np.sort(rng.integers(0, n, edges))
    first = np.searchsorted(source, np.arange(n + 1))
    return first, rng.integers(0, n, edges), rng.uniform(0.1, 1, edges)


def shortest_paths(first, to, length, start):
    distance = np.full(len(first) - 1, np.inf)
    distance[start] = 0.0
    heap = with_room([(0.0, start)], len(to) + 1)
    while heap:
        d, u = heapq.heappop(heap)
        if d > distance[u]:
            continue
        for k in range(first[u], first[u + 1]):
            if d + length[k] < distance[to[k]]:
                distance[to[k]] = d + length[k]
                heapq.heappush(heap, (d + length[k], to[k]))
    return distance


def depth_first(first, to, start):
    seen = np.zeros(len(first) - 1, bool)
    stack, order = with_room([start], len(to) + 1), with_room([], len(first))
    while stack:
        v = stack.pop()
        if seen[v]:
            continue
        seen[v] = True
        order.append(v)
        for k in range(first[v], first[v + 1]):
            if not seen[to[k]]:
                stack.append(to[k])
    return order


def breadth_first(first, to, start):
    depth = np.full(len(first) - 1, -1)
    depth[start] = 0
    queue = with_room([start], len(first))
    while len(queue) > 0:
        v = queue.pop(0)
        for k in range(first[v], first[v + 1]):
            if depth[to[k]] < 0:
                depth[to[k]] = depth[v] + 1
                queue.append(to[k])
    return depth


def test_searches_in_graphs():
    first, to, length = graph()
    check(shortest_paths, (first, to, length, 2), (first, to, length, 7))
    check(lambda *case: (depth_first(*case), breadth_first(*case)), (first, to, 2), (first, to, 0))


def test_a_list_that_is_full_is_an_error():
    def halves(x):
        stack = with_room([(0.0, x[0])], 5)
        total = 0.0
        while stack:
            a, b = stack.pop()
            if b - a < 0.3:
                total += b * b - a * a
            else:
                stack.append((a, (a + b) / 2))
                stack.append(((a + b) / 2, b))
        return total

    compiled = transpile.jit(halves)
    assert compiled(np.array([2.0])) == halves(np.array([2.0]))
    with pytest.raises(MemoryError, match="room for 5 elements, as with_room says"):
        compiled(np.array([90.0]))


# ------------------------------------------------------------------------------------------ heaps


def sorted_by_heap(x):
    heap, out = [], []
    for v in x:
        heapq.heappush(heap, v)
    before = heap[:]
    for _ in range(len(x)):
        out.append(heapq.heappop(heap))
    return before, np.array(out), heap


def largest(x):
    heap = []
    for k, v in enumerate(x):
        if len(heap) < 5:
            heapq.heappush(heap, (v, k))
        elif v > heap[0][0]:
            heapq.heapreplace(heap, (v, k))
    return heap


def other_heaps(x):
    heap = []
    for v in x:
        if v > -0.5:
            heap.append(v)
    heapq.heapify(heap)
    smallest = heapq.heappushpop(heap, 0.3)
    return heap, smallest, heapq.heappop(heap), heap[0]


def test_heaps_are_those_of_python():
    check(sorted_by_heap, *CASES)  # one by one, as a trace that begins anew is the shorter
    check(largest, *CASES)
    check(other_heaps, *CASES)


# --------------------------------------------------------------------------------------- methods


def of_positive(x):
    found = []
    for v in x:
        if v > 0:
            found.append(v)
    return found


def parts(x):
    a, one = of_positive(x), [1.0]
    return a[2:4], a[:2], a[-2:], a[::-1], a[:], a[30:], sorted(a), list(a), sum(a), a + one


def ends(x):
    a = of_positive(x)
    return a[-5], a[0], a[-1], min(a), max(a)


def taken(x):
    return of_positive(x).pop()


def far(x):
    a = of_positive(x)
    a[5] = 1.0
    return a[-7]


def arranged(x):
    a = []
    for v in x:
        if v > 0:
            a.insert(0, v)
        else:
            a.insert(1, v)
    a.insert(-1, 5.0)
    a.insert(100, 6.0)
    b = a[:]
    b.reverse()
    c = a.copy()
    c.sort()
    a.clear()
    a.append(1.0)
    return a, b, c


def extended(x):
    a = []
    for v in x:
        if v > 0:
            a.extend([v, 2 * v])
        a += [v]
    a += [1.0]
    for i in range(len(a)):
        a[i] *= 2
    return a, 1.0 in a, a.count(2.0)


def removed(x):
    a = []
    for v in x:
        a.append(v)
    for v in x:
        if v > 3:
            a.remove(v)
    place = a.index(2)
    del a[0]
    second = a.pop(1)
    return a, place, second, 1 in a, 9 in a


def not_there(x):
    a = []
    for v in x:
        a.append(v)
    for v in x:
        a.remove(v + 1)
    return a


def walked(x):
    a, b = [], []
    for i, v in enumerate(x):
        if v > 0:
            a.append((i, v))
            b.append(2 * v)
    total = 0.0
    for (i, v), w in zip(a, b):
        total += i * v + w
    for k, w in enumerate(reversed(b)):
        total += k * w
    return a, total, np.sum(np.array(a)), np.sum(b)


def test_methods_of_lists():
    check(lambda x: (parts(x), arranged(x), extended(x)), *CASES)
    check(removed, (np.array([3, 1, 2, 5, 4, 1, 0, 2]),))


def sorted_by_keys(x):
    a = []
    for i, v in enumerate(x):
        if v > -0.7:
            a.append((int(v * 3) % 2, i, v))
    kept = a[:]
    kept.sort(key=lambda t: (t[0], -t[2]))
    largest = max(a, key=lambda t: t[2])
    return sorted(a), kept, sorted(a, key=lambda t: t[0], reverse=True), largest


def sorted_first_ones(x, n):
    """Whose room is none where n is 0: no key is asked of an element."""
    a = []
    for v in x[:n]:
        if v < 5:
            a.append(v)
    a.sort(key=lambda v: -v)
    return len(a), sum(a)


def test_lists_of_no_elements_are_sorted_by_keys():
    check(sorted_first_ones, *[(np.array([3.0, 7.0, -1.0]), n) for n in (0, 1, 3)])


def divisors(n):
    out = []
    for i in range(1, n + 1):
        if n % i == 0:
            out.append(i)
    return np.array(out)


def test_lists_are_sorted_by_keys():
    check(sorted_by_keys, *CASES[:2])


def test_loops_over_lists():
    check(walked, *CASES)


def test_exceptions_of_lists():
    check(ends, *CASES[:2])
    check(taken, *CASES)
    check(far, *CASES)


def test_what_is_not_in_a_list_is_an_error():
    check(not_there, (np.array([3, 1, 2]),))


def queued(x):
    queue = deque([0.0])
    total = 0.0
    for v in x:
        if v > 0:
            queue.append(v)
        elif queue:
            total += queue.popleft() * v
    return total, len(queue), sum(queue), queue[0], queue.pop()


def greatest_in_windows(x):
    """The greatest of three neighbours, whose places lie in a deque."""
    places, out = deque(), []
    for i, v in enumerate(x):
        while places and x[places[-1]] <= v:
            places.pop()
        places.append(i)
        if places[0] <= i - 3:
            places.popleft()
        if i >= 2:
            out.append(x[places[0]])
    rest = list(places)
    places.append(len(x))
    return out, rest, list(places), sorted(places, reverse=True)


def test_deques():
    check(lambda x: (queued(x), greatest_in_windows(x)), *CASES)


def test_a_deque_is_no_result():
    def queue(x):
        found = deque([0.0])
        for v in x:
            if v > 0:
                found.append(v)
        return found

    with pytest.raises(TypeError, match=r"a deque is no result of a traced .* list\(queue\)"):
        transpile.jit(queue)(DRAWN)


# ------------------------------------------------------------------------------------------ names


def named_twice(x):
    a = []
    b = a
    for v in x:
        c = a
        if v > 0:
            b.append(v)
        elif c:
            c.pop()
    a.append(9.0)
    return len(a), b[-1], a is b, b


def exchanged(x):
    a, b = [1.0], [2.0, 3.0]
    for v in x:
        if v > 0:
            a.append(v)
        a, b = b, a
    return a, b


def given_to_a_helper(x):
    def add(values, v):
        if v > 0:
            values.append(v)

    out = []
    for v in x:
        add(out, v)
    return out


def made_in_a_loop(x):
    count, total = 0, 0.0
    for i in range(len(x)):
        row = []
        for j in range(i):
            if x[j] > 0:
                row.append(x[j])
        count += len(row)
        for v in row:
            total += v * i
    return count, total


def returned_early(x):
    a = []
    for v in x:
        if v > 1:
            return a
        a.append(v)
    else:
        a.append(100.0)
    return a


def in_branches(x):
    a = [1.0, 2.0]
    if x[0] > 0:
        a.pop()
    else:
        a.append(x[1])
        a.append(x[2])
    return a, len(a)


def of_numbers(x):
    """A list of numbers whose elements at traced indices are assigned to, and that grows."""
    counts = [0] * 3
    for k, v in enumerate(x):
        counts[k % 3] += 1
        if v > 0:
            counts.append(k)
    return counts


def several_at_once(x):
    """One of them needs more room where another one has changed already."""
    a, b, c = [], [1.0, 2.0], [0.5]
    for v in x:
        a.insert(0, len(b))
        c.extend([0.5, v])
    for v in x:
        if v > 0:
            c.append(v)
            if a:
                a[-1] = 0.5
            a.sort()
        c.sort()
    return a, b, c, a == [], b == [1.0, 2.0], c[:2] == [0.5, 0.5], a != [1.0]


class Stack:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)


def in_an_attribute(x):
    stack = Stack()
    for v in x:
        if v > 0:
            stack.push(v)
        elif stack.items:
            stack.items.pop()
    return stack.items


def left_in_a_loop(x):
    """A list whose iteration has ended has no elements that anything could tell."""
    a, b = [], [1.0]
    for v in x:
        for _ in range(5):
            b = []
            for w in a:
                v += w
        if v > 0.5:
            b.append(v)
    return a, b


def test_names_of_lists():
    check(lambda x: (named_twice(x), exchanged(x), given_to_a_helper(x)), *CASES)
    check(in_an_attribute, *CASES)


def read_behind_a_branch(x):
    """A list of numbers that a branch has made is none that is read behind it."""
    n = int(abs(x[0])) % 2
    if x[1] < x[2]:
        pair = [x[0], x[1]]
        pair[n] = 5.0
        x[0] = pair[0]
    rows = [[1.0, 2.0], [3.0, 4.0]]
    return rows[n][1], x


def test_lists_in_loops_and_branches():
    check(returned_early, *CASES)
    check(lambda x: (made_in_a_loop(x), in_branches(x), of_numbers(x)), *CASES)
    check(several_at_once, *CASES)
    check(left_in_a_loop, CASES[0])
    check(read_behind_a_branch, *CASES)


def trajectory(x):
    out = []
    y = 1.0
    for _ in range(200):
        y = y + 0.1 * (x - y)
        out.append(y)
    return np.array(out)


def test_a_list_of_known_length_is_an_array_of_it():
    """Where each iteration adds as many: no length depends on values, so that examples have one."""
    assert transpile.eval_shape(transpile.jit(trajectory), 0.5).shape == (200,)
    several = transpile.jit(transpile.vmap(trajectory))(np.array([0.5, 2.0]))
    np.testing.assert_allclose(several, [trajectory(0.5), trajectory(2.0)], rtol=1e-14)


def test_derivatives_go_through_lists():
    def total(x):
        stack = []
        for v in x:
            if v > 0:
                stack.append(v * v)
            elif stack:
                stack[-1] *= v
        return np.sum(np.array(stack)) + stack[0]

    found = transpile.jit(transpile.grad(total))(DRAWN)
    step = 1e-6 * np.eye(len(DRAWN))
    wanted = [(total(DRAWN + d) - total(DRAWN - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


# ----------------------------------------------------------------------------------------- errors


def grown_while_walked(x):
    a = [1.0]
    for v in a:
        if x[0] > 0 and len(a) < 5:
            a.append(v + 1)
    return a


def handled(x):
    try:
        return of_positive(x).pop()
    except IndexError:
        return -1.0


def named_in_a_loop(x):
    """Behind the loop `b` is a copy, which is no other name for `a`."""
    a = [1.0]
    b = a
    for v in x:
        if v > 1:
            break
        b = a
    b.append(5.0)
    return a, b


def named_in_a_tuple(x):
    a = [1.0]
    b = (a, 2)
    while x[0] > 0:
        b = (a, 3)
        x[0] -= 1
    a.append(5.0)
    return a, b


def named_in_two_branches(x):
    a, b = [1.0], [1.0]
    if x[0] > 0:
        x[2] = 1.0
        if x[1] > 0:
            b = a
    b[0] = 5.0
    return a, b


def compared(x):
    return of_positive(x) == of_positive(x)


def source_of_a_choice(x):
    """A branch gives a copy of one of two lists, which knows nothing of later changes."""
    a, b = [], []
    for v in x[:3]:
        if v > 0:
            b = a
    a.append(1.0)
    return a, b


def chosen_or_number(x):
    a = of_positive(x)
    return a and a[0]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (grown_while_walked, "changes, while a loop runs over it, a list"),
        (handled, "cannot handle the IndexError"),
        (compared, "compares a list which the program adds elements to"),
        (source_of_a_choice, "is changed later. As a traced value chooses it, it is a copy"),
        (named_in_a_loop, "'b' is changed later. As a traced value chooses it, it is a copy"),
        (named_in_a_tuple, "'b' is changed later"),
        (named_in_two_branches, "'b' is changed later"),
        (chosen_or_number, "chooses between a list .* Compare its length"),
    ],
)
def test_what_lists_of_the_program_cannot_do(function, text):
    with pytest.raises(errors.UnsupportedError, match=text):
        transpile.jit(function)(DRAWN)
