"""Conditions of branches in lanes: the iterations that take them run as in Python."""

import numpy as np
import pytest
from checked_loops import agrees
from hypothesis import given, settings
from hypothesis import strategies as st
from source_text import function_of
from thorough import one_in, tries

import transpile

rng = np.random.default_rng(0)


def above(x, least, out):
    k = 0
    for i in range(len(x)):
        if x[i] > least:
            out[k] = i
            k += 1
    return k


def parted(x, pivot, low, high):
    a = 0
    b = 0
    for i in range(len(x)):
        if x[i] < pivot:
            low[a] = x[i]
            a += 1
        else:
            high[b] = i
            b += 1
    return a


def reached(adjacent, before, v, queue):
    """The unseen neighbours of a vertex, which are seen then."""
    k = 0
    for w in range(len(before)):
        if before[w] < 0 and adjacent[v, w] > 0:
            before[w] = v
            queue[k] = w
            k += 1
    return k


@pytest.mark.parametrize("n", [64, 65, 127, 128, 200])
@one_in(2)
def test_filters_are_looked_up(n):
    x = rng.random(n)
    for least in (-1.0, 0.5, 0.97, 2.0):
        text = agrees(above, x, np.float64(least), np.zeros(n, np.int64))
        assert "taken |= " in text
    assert "other = " in agrees(parted, x, np.float64(0.3), np.zeros(n), np.zeros(n, np.int64))
    before = np.where(rng.random(n) < 0.5, -1, 3)
    adjacent = rng.integers(0, 2, (5, n))
    assert "taken |= " in agrees(reached, adjacent, before, np.int64(3), np.zeros(n, np.int64))


def test_sizes_of_the_call():
    f = transpile.jit(above, dynamic_shapes=True)
    for n in (1, 63, 64, 65, 500, 1000):
        x = rng.random(n)
        ours, pythons = np.zeros(n, np.int64), np.zeros(n, np.int64)
        assert f(x, 0.6, ours) == above(x, 0.6, pythons)
        np.testing.assert_array_equal(ours, pythons)


def test_conditions_that_iterations_change_stay():
    def records(x, out):
        best = -1.0
        k = 0
        for i in range(len(x)):
            if x[i] > best:
                best = x[i]
                out[k] = i
                k += 1
        return k

    def seen_later(x, out):
        k = 0
        for i in range(len(x) - 1):
            if x[i] > 0.5:
                x[i + 1] = 0.0
                out[k] = i
                k += 1
        return k

    def both_counted(x, out):
        k = 0
        for i in range(len(x)):
            if x[i] > 0.5:
                out[k] = i
                k += 1
            else:
                out[k] = -i
                k += 2
        return k

    def by_another(x, out):
        s = np.zeros(())
        for i in range(len(x)):
            if x[i] > s[()]:
                s[()] = 0.25 * i
        return s

    def by_index(x, out):
        k = 0
        for i in range(len(x)):
            if i % 3 != 1:
                out[k] = x[i]
                k += 1
        return k

    x = rng.random(100)
    for f in (records, seen_later, both_counted, by_another, by_index):
        assert "taken" not in agrees(f, x, np.zeros(200))


def test_arms_whose_constants_the_other_one_changes_stay():
    def behind(x, y, out):
        k = 0
        for i in range(1, len(x)):
            before = y[i - 1]
            if x[i] > 0.5:
                out[k] = before * before + 1
                k += 1
            else:
                y[i] = 7.0
        return k

    n = 200
    assert "taken" not in agrees(behind, rng.random(n), rng.random(n), np.zeros(n))


def test_arms_hide_constants_before_them():
    def moved(x, y, k, c, out):
        n = len(x)
        for i in range(n):
            if y[k[i] % n] > 0.5:
                if x[i] > y[c % n]:
                    out[i] = 1.0
                else:
                    out[k[i] % n] += x[i]
        return n

    k = rng.integers(0, 300, 200)
    args = rng.random(200), rng.random(200), k, np.int64(7), np.zeros(200)
    assert "taken |= " in agrees(moved, *args)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.95, 1.0])
@pytest.mark.parametrize("n", [64, 200])
def test_branches_that_nearly_all_iterations_take_stay_in_these(share, n):
    x = np.where(rng.random(n) < share, 0.1, 0.9)
    rows = np.zeros(n), np.zeros(n, np.int64)
    for f, args in ((parted, rows), (above, rows[1:])):
        text = agrees(f, x, np.float64(0.5), *args)
        assert "> 56" in text and "taken |= " in text


@pytest.mark.parametrize("share", [0.0, 0.3, 0.95, 1.0])
@pytest.mark.parametrize("n", [64, 127, 200])
@one_in(3)
def test_long_arms_are_looked_up_unless_all_iterations_take_them(share, n):
    def counts(x, width, out):
        for i in range(len(x)):
            t = x[i]
            if 0.0 <= t < 1.0:
                k = int(t / width)
                out[min(k, 15)] += 1

    x = rng.uniform(0, 1, n) - (rng.uniform(0, 1, n) >= share)
    text = agrees(counts, x, 0.0625, np.zeros(16, np.int64))
    assert "if (invert_u64(taken) == 0u) {" in text and "bitwise_count_u64(taken) >" not in text
    plain = text[text.index("invert_u64(taken) == 0u") : text.index("} else {")]
    assert "0.0 <=" not in plain


def test_elements_behind_a_condition_are_not_read_out_of_range():
    def steps(x, at, out):
        k = 0
        for i in range(len(x)):
            if i + 1 < len(x) and x[i + 1] > x[i]:
                out[k] = i
                k += 1
            if at[i] >= 0 and at[i] < len(x) and x[at[i]] > 0.5:
                out[k] = at[i]
                k += 1
        return k

    agrees(steps, rng.random(90), rng.integers(-200, 200, 90), np.zeros(180, np.int64))


def test_triangles_and_rows():
    def pairs(x, limit, out):
        k = 0
        for i in range(len(x)):
            for j in range(i + 1, len(x)):
                if abs(x[i] - x[j]) < limit:
                    out[k, 0] = i
                    out[k, 1] = j
                    k += 1
        return k

    text = agrees(pairs, rng.random(150), np.float64(0.004), np.zeros((400, 2), np.int64))
    assert "taken |= " in text


def test_points_in_rows_and_counters_that_go_down():
    def near(points, p, radius, out):
        k = 0
        for q in range(len(points) - 1, -1, -1):
            dx = points[p, 0] - points[q, 0]
            dy = points[p, 1] - points[q, 1]
            if dx * dx + dy * dy < radius and out[2 * q + 1] == 0:
                out[2 * q + 1] = k
                k += 1
        return k

    points = rng.random((90, 2))
    text = agrees(near, points, np.int64(7), np.float64(0.1), np.zeros(180))
    assert "taken |= " in text


tests = [
    "x[i] > c",
    "y[i] != 0",
    "x[i] < 0.5 and y[i] > 1",
    "x[i] > c or y[i] < 2",
    "x[i + 1] > x[i]",
]
tests += ["x[i] * x[i] < c", "not y[i] > 2", "abs(x[i] - c) < 0.2", "m[i]", "x[i] > total"]
bodies = ["out[k] = x[i]\nk += 1", "total += x[i]", "m[i] = not m[i]", "y[i] = 0", "c = x[i]"]
bodies += ["out[k] += i\nk = (k + 7) % 50", "x[i + 1] = 0.5", "k += 1", "out[y[i]] += 1.0"]


@given(
    st.sampled_from(tests),
    st.lists(st.sampled_from(bodies), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(bodies), max_size=2, unique=True),
    st.sampled_from(["0, n", "1, n", "3, n - 2", "0, 64"]),
    st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=tries(40))
def test_drawn_loops(test, taken, others, over, seed):
    def lines(parts):
        return "\n            ".join("\n".join(parts).splitlines())

    branch = f"if {test}:\n            {lines(taken)}"
    if others:
        branch += f"\n        else:\n            {lines(others)}"
    source = f"""
def f(x, y, m, c, out):
    n = len(y)
    k = 0
    total = 0.0
    for i in range({over}):
        {branch}
    return k, total, c
"""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(64, 200))
    args = draw.random(n + 1), draw.integers(0, 4, n), draw.random(n) < 0.3
    f = function_of(source, f"drawn branches {test} {taken} {others} {over}")
    agrees(f, *args, draw.random(), np.zeros(2 * n + 9))
