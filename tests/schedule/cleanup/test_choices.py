"""Cheap conditions are computed without branches, and searches keep the element they compare
with."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from source_text import function_of
from thorough import one_in, tries

import transpile
from transpile.analysis.oracle.loop_interpreter import run


def c_of(f, *args):
    """The C of a function, without the helpers before its kernel."""
    text = transpile.jit(f).lower(*args).as_text()
    return text[text.index("_kernel(") :]


def agrees(f, *args):
    """What Python says, bit by bit, by the C and by an interpreter of its loops, which asks
    whether each element exists. The C is returned."""
    jitted = transpile.jit(f, compiler_options={"opt_level": 1})
    ours, pythons = [np.copy(a) for a in args], [np.copy(a) for a in args]
    assert_all_same(jitted(*ours), f(*pythons))
    assert_all_same(ours, pythons)
    program = jitted.lower(*args)._lowering.program()
    named = dict(zip(inspect.signature(f).parameters, args, strict=True))
    run(program, [np.copy(named[buffer.name]) for buffer in program.inputs])
    return c_of(f, *args)


def assert_all_same(some, others):
    some, others = (x if isinstance(x, tuple | list) else (x,) for x in (some, others))
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def sorted_by_selection(x):
    for i in range(len(x) - 1):
        least = i
        for j in range(i + 1, len(x)):
            if x[j] < x[least]:
                least = j
        x[i], x[least] = x[least], x[i]
    return x


def nearest_first(weights):
    """Dijkstra's order of the vertices of a complete graph."""
    n = len(weights)
    distance = np.full(n, np.inf)
    distance[0] = 0.0
    seen = np.zeros(n, np.bool_)
    order = np.zeros(n, np.int64)
    for step in range(n):
        u = -1
        for v in range(n):
            if not seen[v] and (u == -1 or distance[v] < distance[u]):
                u = v
        seen[u] = True
        order[step] = u
        for v in range(n):
            if not seen[v] and distance[u] + weights[u, v] < distance[v]:
                distance[v] = distance[u] + weights[u, v]
    return distance, order


def pivots(a):
    """The rows of the largest elements of columns, from the diagonal on."""
    n = len(a)
    found = np.zeros(n, np.int64)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if not abs(a[p, k]) >= abs(a[i, k]):
                p = i
        found[k] = p
    return found


def eroded(a):
    out = np.zeros_like(a)
    for i in range(1, len(a) - 1):
        for j in range(1, a.shape[1] - 1):
            if a[i, j] and a[i - 1, j] and a[i + 1, j] and a[i, j - 1] and a[i, j + 1]:
                out[i, j] = True
    return out


rng = np.random.default_rng(7)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (sorted_by_selection, (rng.integers(0, 9, 12).astype(float),)),
        (sorted_by_selection, (np.array([2.0, np.nan, 1.0, -0.0, 0.0, np.nan]),)),
        (nearest_first, (rng.random((9, 9)),)),
        (pivots, (rng.integers(-3, 3, (6, 6)).astype(float),)),
    ],
)
@one_in(2)
def test_searches_keep_the_element(f, args):
    text = agrees(f, *args)
    assert "nearest = " in text
    assert "behind_branch_i64(" in text


def test_the_element_is_none_where_the_loop_stores():
    def farthest(x):
        best = 0
        for i in range(len(x)):
            if x[i] > 0.5:
                x[i] *= 0.25
            if x[i] > x[best]:
                best = i
        return best

    def shifted(x):
        """The place that is kept is not the one that is compared with."""
        best = 1
        for i in range(1, len(x)):
            if x[i] < x[best - 1]:
                best = i
        return best

    def twice(x):
        best = 0
        for i in range(len(x)):
            if x[i] < x[best]:
                best = i
            elif x[i] > 0.75:
                best = 0
        return best

    assert "nearest" not in agrees(farthest, rng.random(9))
    agrees(shifted, rng.random(9))
    assert "nearest" not in agrees(twice, rng.random(9))


@pytest.mark.parametrize("place", ["min(best, 3)", "np.minimum(best, 2)", "best & 1", "best % 4"])
@one_in(2)
def test_what_is_compared_with_is_at_the_place_itself(place):
    """No variable is kept for an element at what is computed of the best place."""
    source = f"""
def f(x, n):
    best = 0
    for i in range(n):
        if x[i] > x[{place}]:
            best = i
    return best
"""
    x = np.array([3.0, 1.0, 2.0, 0.0, 4.0, 3.5, 2.5])
    assert "nearest" not in agrees(function_of(source, f"a search at {place}"), x, np.int64(7))


def test_a_test_is_computed_before_what_changes_its_operands():
    def stored_between(x, n):
        best = 0
        w = np.zeros(20)
        for i in range(n):
            is_less = x[i] * w[i] < x[best]
            w[i + 1] = 0.5
            w[i] = 2.0
            if is_less:
                best = i
        return best, w

    x = np.linspace(1.0, 0.5, 12)
    assert "nearest" in agrees(stored_between, x, np.int64(12))


def test_bools_are_stored_in_any_case_where_iterations_have_their_own():
    text = agrees(eroded, rng.random((9, 11)) > 0.3)
    assert "if (" not in text[: text.index("_workspace_size")]


def test_elements_behind_a_condition_are_not_read_out_of_range():
    def runs(x, at):
        """Subscripts are in range where the operand before says so."""
        n = 0
        for i in range(len(x)):
            if i + 1 < len(x) and x[i + 1] > x[i]:
                n += 1
            if at[i] >= 0 and at[i] < len(x) and x[at[i]] > 0.5:
                n += 10
            if i == 0 or x[i - 1] < 0.5:
                n += 100
        return n

    for _ in range(3):
        agrees(runs, rng.random(7), rng.integers(-9, 16, 7))


def test_places_of_both_sides_of_a_condition_are_apart():
    """Each subscript has the name of its scope, and other scopes have the same names."""

    def f(x, one, other, third):
        s = 0.0
        for i in range(len(one)):
            u = x[one[i]]
            if u > 0.25 and x[other[i]] < 0.75:
                s += x[third[i]]
            if (u < 0.75 and x[third[i]] > 0.5) or x[other[i]] > 0.5:
                s += u
            s += x[other[i]] * x[one[i]]
        return s

    agrees(f, rng.random(9), *rng.integers(-9, 9, (3, 7)))


operand = st.sampled_from(
    ["x[i] > 0.5", "y[i] < 0.25", "at[i] > 2", "x[at[i]] < y[i]", "i > 3", "mask[i]", "best < 0"]
)


@settings(max_examples=tries(6))
@given(
    operands=st.lists(operand, min_size=2, max_size=4),
    words=st.lists(st.sampled_from(["and", "or", "and not", "or not"]), min_size=3, max_size=3),
    seed=st.integers(0, 2**32 - 1),
)
def test_drawn_conditions_are_pythons(operands, words, seed):
    test = operands[0]
    for word, other in zip(words, operands[1:], strict=False):
        test = f"({test}) {word} {other}"
    source = f"""
def f(x, y, at, mask):
    best, n = -1, 0
    for i in range(len(x)):
        if {test}:
            n += 1
            mask[i] = not mask[i]
        if {operands[0]} and (best < 0 or x[i] < x[best]):
            best = i
    return best, n, mask
"""
    draw = np.random.default_rng(seed)
    args = [draw.random(8), draw.random(8), draw.integers(-8, 8, 8), draw.random(8) > 0.5]
    agrees(function_of(source, f"drawn conditions {test}"), *args)
