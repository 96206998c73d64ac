"""Searches for an extreme and its place in blocks: what a branch does is done as in Python."""

import numpy as np
import pytest
from checked_loops import agrees
from hypothesis import given, settings
from hypothesis import strategies as st
from source_text import function_of
from thorough import tries

import transpile

rng = np.random.default_rng(0)


def greatest(x):
    most = x[0]
    at = 0
    for i in range(1, len(x)):
        if x[i] > most:
            most = x[i]
            at = i
    return at, most


def nearest(x, done):
    best = -1
    for v in range(len(x)):
        if not done[v] and (best < 0 or x[v] < x[best]):
            best = v
    return best


def records(x, out):
    k = 0
    best = -np.inf
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            out[k] = i
            k += 1
    return k


def in_blocks(text):
    return "found |= " in text


orders = {
    "random": lambda n: rng.random(n),
    "ascending": lambda n: np.arange(n) / n,
    "descending": lambda n: np.arange(n)[::-1] / n,
    "equal": lambda n: np.ones(n),
    "with NaNs": lambda n: np.where(rng.random(n) < 0.3, np.nan, rng.random(n)),
    "NaNs and infinities": lambda n: rng.choice([np.nan, np.inf, -np.inf], n),
}


@pytest.mark.parametrize("order", orders)
@pytest.mark.parametrize("n", [129, 160, 161, 192, 300])
def test_searches_are_in_blocks(n, order):
    x = orders[order](n)
    assert in_blocks(agrees(greatest, x))
    assert in_blocks(
        agrees(greatest, np.nan_to_num(100 * x, posinf=1e9, neginf=-1e9).astype(np.int32))
    )
    for share in (0.0, 0.5, 1.0):
        assert in_blocks(agrees(nearest, x, rng.random(n) < share))
    assert in_blocks(agrees(records, x, np.zeros(n, np.int64)))


def test_sizes_of_the_call():
    f, g = (transpile.jit(f, dynamic_shapes=True) for f in (greatest, nearest))
    for n in (1, 31, 32, 33, 127, 500):
        x = rng.random(n)
        assert f(x) == greatest(x)
        assert g(x, x > 0.5) == nearest(x, x > 0.5)


def test_what_the_branch_changes_of_its_condition():
    def lowered(x, out):
        least = 1.0
        k = 0
        for i in range(len(x) - 1):
            if x[i] < least:
                least = x[i]
                x[i + 1] = 0.5 * x[i]
                out[k] = i
                k += 1
        return k

    def farther(x, out):
        least = 1.0
        gap = 0
        for i in range(len(x)):
            if x[i] < least and out[i] >= gap:
                least = x[i]
                gap += 1
                out[(7 * i) % len(x)] += 1
        return least + gap

    for f in (lowered, farther):
        for out in (np.zeros(300), rng.integers(0, 9, 300).astype(float)):
            assert in_blocks(agrees(f, rng.random(300), out))


def test_other_branches_stay():
    def not_strict(x):
        most = x[0]
        at = 0
        for i in range(1, len(x)):
            if x[i] >= most:
                most = x[i]
                at = i
        return at

    def apart(x):
        last = 0.0
        k = 0
        for i in range(len(x)):
            if x[i] > last:
                last = x[i] + 0.01
                k += 1
        return k

    def counted(x):
        most = x[0]
        at = 0
        k = 0
        for i in range(1, len(x)):
            k += x[i] > 0.5
            if x[i] > most:
                most = x[i]
                at = i
        return at + k

    def with_an_end(x):
        most = x[0]
        at = 0
        for i in range(1, len(x)):
            if x[i] > most:
                most = x[i]
                at = i
            if most > 0.999:
                break
        return at

    def along_columns(x):
        x = x.reshape(-1, 10)
        most = x[0, 3]
        at = 0
        for i in range(1, len(x)):
            if x[i, 3] > most:
                most = x[i, 3]
                at = i
        return at

    for f in (not_strict, apart, counted, with_an_end, along_columns):
        assert not in_blocks(agrees(f, rng.random(2000)))
    assert not in_blocks(agrees(greatest, rng.random(100)))


def test_elements_that_only_the_branch_reads_may_not_exist():
    def behind(x, at):
        most = 0.0
        where = -1
        for i in range(len(x)):
            if at[i] < len(x) and x[i] > most and x[at[i]] > 0.5:
                most = x[i]
                where = i
        return where

    agrees(behind, rng.random(200), rng.integers(0, 400, 200))


tests = ["{x} > most", "most < {x}", "{x} < least", "m[i] and {x} > most", "at < 0 or {x} > most"]
tests += ["{x} > most and y[i] < k", "not m[i] or least > {x}", "{x} > most or {x} < least"]
values = ["x[i]", "abs(x[i] - c)", "x[i + 1]", "x[i] * y[i]", "y[i]"]
arms = ["at = i", "out[k] = i\nk += 1", "m[i] = not m[i]", "x[i + 1] = 0.5", "k += 2", "c = x[i]"]
arms += ["y[i] = 0", "out[y[i]] += 1.0"]


@given(
    st.sampled_from(tests),
    st.sampled_from(values),
    st.lists(st.sampled_from(arms), max_size=3, unique=True),
    st.sampled_from(["0, n", "1, n", "3, n - 2", "n - 1, -1, -1", "0, 128"]),
    st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=tries(40))
def test_drawn_searches(test, value, taken, over, seed):
    test = test.format(x=value)
    sets = [f"{s} = {value}" for s in ("most", "least") if s in test]
    branch = "\n            ".join("\n".join([*sets, *taken]).splitlines())
    source = f"""
def f(x, y, m, c, out):
    n = len(y)
    k = 0
    at = -1
    most = -1.0
    least = 2.0
    for i in range({over}):
        if {test}:
            {branch}
    return k, at, most, least, c
"""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(128, 300))
    args = draw.random(n + 1), draw.integers(0, 4, n), draw.random(n) < 0.3
    f = function_of(source, f"drawn search {test} {taken} {over}")
    agrees(f, *args, draw.random(), np.zeros(2 * n + 9))
