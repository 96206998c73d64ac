"""Loops have a version without clamps, which runs where a test before it finds all in range."""

import numpy as np
import pytest
from graphs import assert_same_results, loops_of, lowered, run
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

from transpile import lax
from transpile.ir.loop_ir import If
from transpile.ir.loop_rewrite import walk
from transpile.ir.loop_verifier import check
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.cleanup.ranges.settled_comparisons import settle_comparisons
from transpile.schedule.domain.versions.range_versions import version_ranges

pytestmark = pytest.mark.full_level
N = 7
FAR = [0, 1, 3, N - 1, N, 2 * N, -1, -N, -N - 2, 2**62, 2**63 - 3, -(2**63)]


def versioned(f, *args, machine=Machine()):
    """The loops of a function behind the pass."""
    options = Options(machine=machine)
    before = settle_comparisons(lowered(f, *args, options=options), options)
    after = version_ranges(before, options)
    check(after)
    return before, after


def versions(program):
    """The two arms of each branch that has loops."""
    found = []
    for kernel in program.kernels:
        for s in walk(kernel.body):
            if isinstance(s, If) and s.orelse:
                found.append((str(s.body), str(s.orelse)))
    return found


def knapsack(best, capacity, weight):
    """One item of the knapsack problem."""

    def step(j, best):
        c = capacity - j
        return best.at[c].set(np.maximum(best[c - weight] + 1.0, best[c]))

    return lax.fori_loop(0, capacity - weight + 1, step, best)


def test_the_test_stands_before_the_loop():
    _, after = versioned(knapsack, np.zeros(N), np.int64(5), np.int64(2))
    ((fast, slow),) = versions(after)
    assert "minimum" in slow
    assert not {"minimum", "less", "select"} & set(fast.replace("'", " ").split())


@pytest.mark.parametrize("capacity", FAR)
@pytest.mark.parametrize("weight", [0, 1, 4, -3, 2**63 - 1])
@one_in(3)
def test_both_versions_compute_the_same(capacity, weight):
    """Also where sums wrap around; loops that would be long are left out."""
    trips = (capacity - weight + 1 + 2**63) % 2**64 - 2**63
    if trips > 40:
        weight = capacity  # one iteration
    args = np.arange(float(N)), np.int64(capacity), np.int64(weight)
    with np.errstate(over="ignore"):
        before, after = versioned(knapsack, *args)
        assert_same_results(run(after, list(args)), run(before, list(args)))


def strided(flags, start, stride, stop):
    """The multiples of a number, as a sieve strikes them out."""
    return lax.fori_loop(0, stop, lambda j, x: x.at[start + j * stride].set(j + 1.0), flags)


def test_the_multiple_of_a_counter_may_be_an_argument():
    """The subscripts of the first and the last iteration say where all are."""
    args = np.zeros(N), np.int64(0), np.int64(1), np.int64(3)
    before, after = versioned(strided, *args)
    ((fast, _),) = versions(after)
    assert not {"minimum", "less", "select", "equal"} & set(fast.replace("'", " ").split())
    cases = [
        (0, 1, N), (1, 2, 3), (1, 2, 4), (6, -2, 4), (6, -2, 5), (3, 0, 4), (0, 2**62, 5),
        (2, 2**63 - 1, 3), (-N, 1, 5), (2**63 - 1, 2, 3), (0, -(2**63), 3), (0, 1, 0), (0, 1, -3),
    ]  # fmt: skip
    with np.errstate(over="ignore"):
        for case in cases:
            args = [np.zeros(N), *map(np.int64, case)]
            assert_same_results(run(after, args), run(before, args))


def test_what_changes_in_the_loop_is_no_end_of_it():
    """A subscript that depends on an element that the loop stores, or on a carry."""

    def f(x, k):
        def step(i, state):
            x, at = state
            return x.at[at + i].set(x[i] + 1.0), at + 1

        return lax.fori_loop(0, 4, step, (x, k))

    _, after = versioned(f, np.zeros(N), np.int64(1))
    assert versions(after) == []


def test_long_bodies_have_one_version():
    _, after = versioned(
        knapsack,
        np.zeros(N),
        np.int64(5),
        np.int64(2),
        machine=Machine(most_versioned_statements=2),
    )
    assert versions(after) == []


def test_arrays_of_indices_are_read_with_their_clamps():
    """What an array holds is on no line."""

    def f(x, at):
        return lax.fori_loop(0, 5, lambda i, s: s * 0.5 + x[at[i]], 0.0)

    before, after = versioned(f, np.arange(float(N)), np.arange(5))
    assert after is before
    assert len(loops_of(after)) == 1


slopes = st.integers(-3, 3)


@st.composite
def loops(draw):
    """A loop in a loop, whose subscripts are sums of counters and arguments."""
    ends = draw(st.sampled_from([0, 1, 4])), draw(st.booleans())
    parts = [[draw(slopes) for _ in range(4)] for _ in range(3)]
    offsets = [draw(st.integers(-2, N)) for _ in range(3)]

    def place(number, *now):
        return sum(c * x for c, x in zip(parts[number], now, strict=True)) + offsets[number]

    def f(x, k, m):
        def body(i, j, x):
            now = i, j, k, m
            return x.at[place(0, *now)].set(x[place(1, *now)] * 0.5 + x[place(2, *now)])

        def inner(i, x):
            stop = 4 + ends[0] * i if ends[1] else np.minimum(k, 5)
            return lax.fori_loop(0, stop, lambda j, x: body(i, j, x), x)

        return lax.fori_loop(0, 3, inner, x)

    return f


@settings(max_examples=tries(40))
@given(f=loops(), k=st.sampled_from(FAR), m=st.sampled_from(FAR))
def test_drawn_loops_compute_the_same(f, k, m):
    args = np.arange(float(N)), np.int64(k), np.int64(m)
    with np.errstate(over="ignore"):
        before, after = versioned(f, *args)
        assert_same_results(run(after, list(args)), run(before, list(args)))
