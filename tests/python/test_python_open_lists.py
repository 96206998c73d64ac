"""Lists that loops add to of which nothing says how often they run: the caller gives their memory,
and more of it where it was too little. Python is the oracle."""

import bisect
import copy
import heapq
import os
import subprocess
import sys
import textwrap
from collections import deque

import numpy as np
import pytest

import transpile
from transpile import errors
from transpile.artifact import KINDS, Library

RNG = np.random.default_rng(5)
LINKS = (RNG.random((12, 12)) < 0.2).astype(np.int64)
LENGTHS = np.where(LINKS > 0, RNG.uniform(0.1, 1, LINKS.shape), 0)


def check(function, *cases):
    """Results, and arguments that are assigned to, are those of Python, in calls that need more and
    less memory than the ones before."""
    compiled = transpile.jit(function)
    for case in cases:
        ours, theirs = copy.deepcopy(case), copy.deepcopy(case)
        result, expected = compiled(*ours), function(*theirs)
        for one, other in zip(np.atleast_1d(result), np.atleast_1d(expected), strict=True):
            assert one == other
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


def collatz(n):
    sequence = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        sequence.append(n)
    return sequence


def steps_between(start, stop, step):
    values, x = [], start
    while x < stop:
        values.append(x)
        x += step
    return values


def depth_first(links, start):
    seen, order, stack = np.zeros(len(links), bool), [], [start]
    while stack:
        u = stack.pop()
        if not seen[u]:
            seen[u] = True
            order.append(u)
            for v in range(len(links)):
                if links[u, v] and not seen[v]:
                    stack.append(v)
    return order


def breadth_first(links, start):
    depth = np.full(len(links), -1)
    depth[start] = 0
    queue = deque([start])
    while queue:
        u = queue.popleft()
        for v in range(len(links)):
            if links[u, v] and depth[v] < 0:
                depth[v] = depth[u] + 1
                queue.append(v)
    return depth


def shortest(lengths, start):
    distance = np.full(len(lengths), np.inf)
    distance[start] = 0.0
    heap = [(0.0, start)]
    while heap:
        d, u = heapq.heappop(heap)
        for v in range(len(lengths)):
            if lengths[u, v] > 0 and d + lengths[u, v] < distance[v]:
                distance[v] = d + lengths[u, v]
                heapq.heappush(heap, (d + lengths[u, v], v))
    return distance


def fill(picture, row, column):
    stack, count = [(row, column)], 0
    while stack:
        i, j = stack.pop()
        if 0 <= i < len(picture) and 0 <= j < picture.shape[1] and picture[i, j] == 1:
            picture[i, j] = 2
            count += 1
            for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                stack.append((i + di, j + dj))
    return count


def islands(picture):
    found = 0
    for i in range(len(picture)):
        for j in range(picture.shape[1]):
            if picture[i, j] == 1:
                fill(picture, i, j)
                found += 1
    return found


def sorted_in_parts(a):
    parts = [(0, len(a) - 1)]
    while parts:
        low, high = parts.pop()
        if low < high:
            last, k = a[high], low
            for j in range(low, high):
                if a[j] < last:
                    a[k], a[j] = a[j], a[k]
                    k += 1
            a[k], a[high] = a[high], a[k]
            parts.append((low, k - 1))
            parts.append((k + 1, high))
    return a


def test_programs_with_lists_of_any_length():
    check(collatz, (6,), (27,), (1,), (97,))
    check(steps_between, (0.0, 1.0, 0.13), (0.0, 500.0, 0.13), (2.0, 1.0, 0.5))
    check(depth_first, (LINKS, 0), (LINKS, 5))
    check(breadth_first, (LINKS, 0), (LINKS, 5))
    check(shortest, (LENGTHS, 0), (LENGTHS, 7))
    check(sorted_in_parts, (RNG.random(300),))


def sums_of_sorted(x, most):
    pairs, queue, total, k = [(x[0], 3)], deque([x[1]]), 0.0, 0
    while k < most:
        if x[k % len(x)] > 0.5:
            for v, n in sorted(pairs, key=lambda pair: -pair[1])[:1]:
                total += v * n
            total += sorted(queue)[0] + sorted(pairs)[0][0]
        else:
            total += len(pairs) + len(queue)
        k += 1
    pairs.append((total, k))
    queue.append(total)
    return total, len(pairs), len(queue)


def test_branches_sort_lists_that_grow_elsewhere():
    check(sums_of_sorted, (RNG.random(9), 20), (RNG.random(9), 0))


def test_arguments_are_assigned_to_once():
    picture = (RNG.random((20, 30)) < 0.6).astype(np.int64)
    check(islands, (picture,))
    check(fill, (picture, 3, 3))


def increasing(x):
    ends = []
    for v in x:
        k = bisect.bisect_left(ends, v)
        if k == len(ends):
            ends.append(v)
        else:
            ends[k] = v
    return ends


def window_medians(x, width):
    window, medians = [], np.zeros(len(x))
    for i in range(len(x)):
        bisect.insort(window, x[i])
        if i >= width:
            del window[bisect.bisect_left(window, x[i - width])]
        medians[i] = window[len(window) // 2]
    return medians


def test_lists_that_bisect_searches():
    x = RNG.integers(0, 20, 50).astype(float)
    check(increasing, (x,), (x[:1],))
    check(window_medians, (x, 5), (x[:20], 3))


def parted(x):
    less, same, more = [], [], []
    for v in x:
        if v < 3:
            less.append(v)
        elif v > 3:
            more.append(v)
        else:
            same.append(v)
    less += [0.5]
    more.extend(less)
    more.extend(x)
    same.extend(same)
    return less + same + more + [1.0, 2.0], [4.0] + less, same + same  # noqa: RUF005


def merged(a, b):
    values, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            values.append(a[i])
            i += 1
        else:
            values.append(b[j])
            j += 1
    values.extend(a[i:])
    values.extend(b[j:])
    return values


def chains(n):
    values = []
    while n > 0:
        row, k = [], n
        while k > 0:
            row.append(k)
            k //= 2
        values.extend(row)
        n -= 1
    return values


def test_lists_that_become_longer_by_lists():
    for x in (RNG.integers(0, 6, 30).astype(float), np.ones(4)):
        for one, other in zip(transpile.jit(parted)(x), parted(x), strict=True):
            assert one == other
    check(merged, (np.sort(RNG.random(20)), np.sort(RNG.random(7))), (np.ones(20), np.zeros(7)))
    check(chains, (1,), (6,), (40,))

    def with_room_for_six(x):
        values, all_of_them = [], transpile.with_room([], 6)
        for v in x:
            if v > 0:
                values.append(v)
        all_of_them.extend(values)
        all_of_them.extend(values)
        return all_of_them

    compiled = transpile.jit(with_room_for_six)
    x = np.array([1.0, -1.0, 2.0, 3.0])
    assert compiled(x) == with_room_for_six(x)
    with pytest.raises(MemoryError, match="room for 6 elements"):
        compiled(x + 2)


def test_several_lists_and_results():
    def parities(n):
        even, odd = [], []
        while n != 1:
            if n % 2 == 0:
                n //= 2
                even.append(n)
            else:
                n = 3 * n + 1
                odd.append(n * 0.5)
        return even, odd

    compiled = transpile.jit(parities)
    for n in (27, 7, 97):
        for one, other in zip(compiled(n), parities(n), strict=True):
            assert one == other


def test_exceptions_of_the_program_are_raised_once_it_has_room():
    def until(n):
        values = []
        while n != 1:
            if len(values) == 100:
                raise ValueError(f"at {n}")
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            values.append(n)
        return len(values)

    compiled = transpile.jit(until)
    assert compiled(9) == until(9)
    with pytest.raises(ValueError, match="at 53"):
        compiled(27)


def test_a_gradient_goes_through_them():
    def total(x, n):
        values, result = [x], 0.0
        while len(values) < n:
            values.append(values[-1] * 0.5 + 1)
        for v in values:
            result += v
        return result

    slope = transpile.grad(total)(3.0, 90)
    np.testing.assert_allclose(slope, 2.0, rtol=1e-12)


def test_a_program_that_runs_twice_calls_nobody_twice():
    def printing(n):
        values = []
        while n > 1:
            n //= 2
            print(n)
            values.append(n)
        return len(values)

    with pytest.raises(errors.UnsupportedError, match=r"may be called twice.*with_room\(\[\], n\)"):
        transpile.jit(printing)(9)


def test_prints_behind_them_are_made_once(capfd):
    def halves(n):
        values = []
        while n > 1:
            n //= 2
            values.append(n)
        print("found", len(values))
        return len(values)

    assert transpile.jit(halves)(2**60) == 60
    assert capfd.readouterr().out == "found 60\n"


def test_under_vmap_they_need_a_bound():
    with pytest.raises(errors.CarryError, match=r"no bound .* transpile\.with_room\(\[\], n\)"):
        transpile.vmap(lambda n: len(collatz(n)))(np.array([3, 5]))


def test_modules_of_libraries_give_more_memory(tmp_path):
    lowered = transpile.jit(collatz_array).lower(27)
    Library("numbers27", {"collatz": lowered}).write(tmp_path, KINDS)
    code = """
        import numbers27

        for n in (27, 6, 97):
            print(*numbers27.collatz(n))
    """
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    lines = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    assert lines == [collatz(n) for n in (27, 6, 97)]


def collatz_array(n):
    return np.array(collatz(n))


@pytest.mark.parametrize("x", [3.0, 0.3, 0.0])
def test_known_indices_are_those_of_the_length_that_the_list_has(x):
    def halves(x):
        found = [0.5]
        while x > 0.1:
            found.append(x)
            x *= 0.5
        found[1], found[2] = found[2], 7.0
        return found[-2] + found[2], found.pop(1), found

    check = transpile.jit(halves)
    try:
        expected = halves(x)
    except IndexError as error:
        with pytest.raises(IndexError, match=str(error)):
            check(x)
    else:
        assert transpile.tree.leaves(check(x)) == transpile.tree.leaves(expected)


def test_a_known_index_that_is_never_asked_for_needs_no_room():
    def last(x, n):
        found = transpile.with_room([x], 3)
        for _ in range(n):
            found.append(x)
        return found[5] if len(found) > 5 else found[0]

    assert transpile.jit(last)(2.0, 1) == 2.0
