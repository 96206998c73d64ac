"""Nests that subscript with the elements of arrays repeatedly have a version without clamps, for
arrays whose values are in range."""

import numpy as np
import pytest
from graphs import assert_same_results, run, statements_of
from hypothesis import given, settings
from hypothesis import strategies as st
from source_text import function_of
from thorough import tries

import transpile
from transpile import ShapeDtypeStruct
from transpile.ir.loop_ir import For, If
from transpile.ir.loop_rewrite import walk
from transpile.ir.loop_verifier import check
from transpile.options import Options
from transpile.schedule.cleanup.ranges.settled_comparisons import settle_subscripts
from transpile.schedule.domain.versions.value_versions import version_values

N = 5
E = 6


def versioned(f, *args):
    """The loops of a function before and behind the pass."""
    lowered = transpile.jit(f).lower(*args)._lowering._pipeline.lowered
    before = settle_subscripts(lowered, Options())
    after = version_values(before, Options())
    check(after, before)
    return before, after


def arms(program):
    """The version and the nest as it was, of each branch that has loops."""
    branches = [s for s in statements_of(program, If) if s.orelse]
    return [(s.body, s.orelse) for s in branches if any(isinstance(i, For) for i in walk(s.body))]


def has_clamps(body):
    return "minimum" in str(body)


def edges(y, to, of, rounds):
    """Sums over the edges of a graph, again and again."""
    for _ in range(rounds):
        for e in range(len(to)):
            if y[of[e]] > 0.25:
                y[to[e]] += y[of[e]] * 0.5
    return y


def columns(y, starts, at, rounds):
    """Products with a sparse matrix in rows."""
    x = np.ones(len(y))
    for _ in range(rounds):
        for i in range(len(starts) - 1):
            total = 0.0
            for k in range(starts[i], starts[i + 1]):
                total += x[at[k]]
            y[i % 5] = total
        for i in range(len(y)):
            x[i] = y[i] * 0.25
    return y


def until_small(y, to, of, rounds):
    """A loop that ends where its data say."""
    r = 0
    while r < rounds and y[0] < 100.0:
        for e in range(len(to)):
            y[to[e]] = y[of[e]] + 1.0
        r += 1
    return y


def nodes(y, to, of, rounds):
    """Elements of an array of rows, and what follows from an element."""
    for _ in range(rounds):
        for e in range(2):
            for k in range(3):
                y[to[3 * e + k]] += y[of[e] - 1]
    return y


INSIDE = np.array([0, 4, 2, 2, 1, 3]), np.array([1, 2, 3, 4, 3, 1])
OUTSIDE = [np.array([0, 5, 2, -6, 1, 3]), np.array([9, -1, -5, 4, 2**62, -(2**63)])]


@pytest.mark.parametrize("f", [edges, until_small, nodes])
def test_the_version_has_no_clamps_and_computes_the_same(f):
    y = np.linspace(0.1, 1.0, N)
    before, after = versioned(f, y, *INSIDE, np.int64(3))
    ((fast, slow),) = arms(after)
    assert has_clamps(slow)
    assert not has_clamps(fast)
    for to, of in (INSIDE, (INSIDE[0], OUTSIDE[1]), (OUTSIDE[0], INSIDE[1])):
        args = [y, to, of, np.int64(2)]
        assert_same_results(run(after, args), run(before, args))


def test_rows_of_sparse_matrices():
    y = np.zeros(N)
    starts, at = np.array([0, 2, 2, 5, 6]), INSIDE[0]
    before, after = versioned(columns, y, starts, at, np.int64(3))
    ((fast, slow),) = arms(after)
    assert has_clamps(slow)
    assert not has_clamps(fast)
    odd = np.array([0, 3, 1, 9, 6]), np.array([-3, 0, 1, 4, 8])
    for rows, elements in ((starts, at), (odd[0], at), (odd[1], OUTSIDE[0])):
        args = [y, rows, elements, np.int64(2)]
        assert_same_results(run(after, args), run(before, args))


def ranks(y, starts, at, rounds):
    """Shares of nodes, given to those that they point to; nodes without any keep theirs."""
    for _ in range(rounds):
        new = np.zeros(len(y))
        for i in range(len(starts) - 1):
            degree = starts[i + 1] - starts[i]
            if degree == 0:
                new[i % 5] += y[i % 5]
            else:
                for k in range(starts[i], starts[i + 1]):
                    new[at[k]] += y[i % 5] / degree
        y[:] = new
    return y


def halves(y, starts, at, rounds):
    """The arm has the loop, and there is no other."""
    for _ in range(rounds):
        for i in range(len(starts) - 1):
            if starts[i] < starts[i + 1] - 1:
                for k in range(starts[i], starts[i + 1]):
                    y[at[k]] *= 0.5
    return y


@pytest.mark.parametrize("f", [ranks, halves])
def test_loops_under_a_condition_of_the_same_arrays_are_tested_under_it(f):
    y = np.linspace(0.1, 1.0, N)
    starts, at = np.array([0, 2, 2, 5, 6]), INSIDE[0]
    before, after = versioned(f, y, starts, at, np.int64(3))
    ((fast, slow),) = arms(after)
    assert has_clamps(slow)
    assert not has_clamps(fast)
    # What no iteration reads need not be in range.
    unread = np.array([0, 2, 2, 5, 5]), np.array([0, 4, 2, 2, 1, 30])
    odd = np.array([0, 3, 1, 9, 6]), np.array([-3, 0, 1, 4, 8])
    cases = (starts, at), unread, (odd[0], at), (odd[1], OUTSIDE[0]), (starts, OUTSIDE[1])
    for rows, elements in cases:
        args = [y, rows, elements, np.int64(2)]
        assert_same_results(run(after, args), run(before, args))


def test_loops_under_a_condition_that_the_nest_changes_are_not_tested():
    def grown(y, starts, at, rounds):
        for _ in range(rounds):
            for i in range(len(starts) - 1):
                if y[i % 5] < 0.5:
                    for k in range(starts[i], starts[i + 1]):
                        y[at[k]] += 0.25
        return y

    y, starts = np.linspace(0.1, 1.0, N), np.array([0, 2, 2, 5, 6])
    assert not arms(versioned(grown, y, starts, INSIDE[0], np.int64(3))[1])


def test_arrays_may_have_runtime_sizes():
    y, to = ShapeDtypeStruct(("n",), float), ShapeDtypeStruct(("e",), "int64")
    ((fast, _),) = arms(versioned(edges, y, to, to, np.int64(3))[1])
    assert not has_clamps(fast)


def test_what_the_loops_change_is_clamped():
    """And so is what is read once, at the counter of the outer loop, or in an order that they find
    out."""

    def own(y, to, of, rounds):
        for _ in range(rounds):
            for e in range(len(to)):
                y[to[e]] += 1.0
                to[e] = of[e] + 1
        return y, to

    def once(y, to, of, rounds):
        for e in range(len(to)):
            y[to[e]] += y[of[e]]
        return y

    def rows(y, to, of, rounds):
        for e in range(len(to)):
            for _ in range(rounds):
                y[to[e]] += 1.0
        return y

    def searched(y, to, of, rounds):
        low, high = 0, len(to)
        while low < high:
            middle = (low + high) // 2
            if y[to[middle]] < 0.5:
                low = middle + 1
            else:
                high = middle
        return low

    def chosen(y, to, of, rounds):
        for r in range(rounds):
            if r % 7 == 6:
                for e in range(len(to)):
                    y[to[e]] += 1.0
        return y

    for f in (own, once, rows, searched, chosen):
        before, after = versioned(f, np.ones(N), *INSIDE, np.int64(3))
        assert after is before, f.__name__


def test_shadowed_names_are_no_symbols_of_the_test():
    """A place that two branches declare, each from another array."""

    def f(y, to, of, rounds):
        for _ in range(rounds):
            for e in range(len(to)):
                if y[e % 5] > 0.5:
                    y[of[to[e]]] += 0.25
                else:
                    y[to[of[e]]] += 0.5
        return y

    y = np.linspace(0.1, 1.0, N)
    before, after = versioned(f, y, *INSIDE, np.int64(3))
    for to, of in (INSIDE, (INSIDE[0], OUTSIDE[1]), (OUTSIDE[0], INSIDE[1])):
        args = [y, to, of, np.int64(2)]
        assert_same_results(run(after, args), run(before, args))


def test_the_test_reads_no_element_that_a_condition_guards():
    def f(y, to, of, rounds):
        for _ in range(rounds):
            for e in range(len(to)):
                if to[e] >= 0 and to[e] < 6:
                    y[of[to[e]]] += 0.5
        return y

    y = np.linspace(0.1, 1.0, N)
    before, after = versioned(f, y, *INSIDE, np.int64(3))
    assert arms(after)
    for to in (INSIDE[0], np.array([0, -9, 2, 7, -1, 3]), np.full(E, -(2**63))):
        args = [y, to, INSIDE[1], np.int64(2)]
        assert_same_results(run(after, args), run(before, args))
        np.testing.assert_array_equal(run(after, args)[0], f(y.copy(), to, INSIDE[1], 2))


def test_loops_without_iterations_read_nothing_out_of_range():
    """Elements that do not depend on a counter are read before its loop, and so are places."""

    def chosen(y, to, of, rounds):
        for _ in range(4):
            for _ in range(rounds):
                y[to[of[0]]] += 1.0
        return y

    def counted(y, to, of, rounds):
        for _ in range(to[0]):
            for e in range(len(of)):
                y[to[to[0] - 1]] += 1.0
                y[to[to[0]]] += of[e]
        return y

    far = np.array([-(10**12), 10**12, 7])
    shapes = {"y": ("n",), "to": ("e",), "of": ("m",)}
    for f in (chosen, counted):
        y = np.linspace(0.1, 1.0, N)
        jitted = transpile.jit(f, dynamic_shapes=shapes, compiler_options={"opt_level": 1})
        program = jitted.lower(y, far, far, 0)._lowering.program()
        cases = [(INSIDE[1], INSIDE[0], 1), (far, INSIDE[0], 0), (far, far, 0)]
        for to, of, rounds in (*cases, (np.array([-1, 0, 2]), INSIDE[0], 0)):
            named = {"y": y.copy(), "to": to, "of": of, "rounds": np.int64(rounds)}
            results = run(program, [named[b.name] for b in program.inputs])
            np.testing.assert_array_equal(results[0], f(y.copy(), to, of, rounds))


def test_python_says_the_same():
    rng = np.random.default_rng(0)
    f = transpile.jit(edges)
    for low in (0, -N):
        for _ in range(3):
            to, of = rng.integers(low, N, (2, E))
            y = rng.random(N)
            np.testing.assert_array_equal(f(y.copy(), to, of, 3), edges(y.copy(), to, of, 3))


elements = st.lists(st.integers(-N - 2, N + 1), min_size=E, max_size=E)
kinds = st.sampled_from(["to[e]", "of[e]", "to[of[e]]", "to[e] - 1", "to[e] + of[e]", "e", "r"])


@settings(max_examples=tries(5))
@given(here=kinds, there=kinds, to=elements, of=elements, rounds=st.integers(0, 3))
def test_drawn_nests_compute_the_same(here, there, to, of, rounds):
    source = f"""
def f(y, to, of, rounds):
    y[0] += 0.0 * to[0] + 0.0 * of[0]
    for r in range(rounds):
        for e in range({E}):
            if y[{there}] < 2.0:
                y[{here}] += y[{there}] * 0.5 + 0.125
    return y
"""
    args = [np.linspace(0.1, 1.0, N), np.array(to), np.array(of), np.int64(rounds)]
    before, after = versioned(function_of(source, "drawn nests"), *args)
    assert_same_results(run(after, args), run(before, args))
