"""What a branch computes that is known before it, it takes as an operand."""

import itertools

import numpy as np
import pytest
from helpers import trace_to_graph

from transpile import jit, lax
from transpile.passes.control.branch_sharing import share_with_branches
from transpile.primitives.control.operands import graphs_of, operands_of
from transpile.transforms.interpret import interpret

VALUES = [-2.5, -0.0, 0.0, 0.25, 3.0, np.inf, -np.inf, np.nan]


def larger(s, x, y):
    """The larger of s and x + y, as a branch."""
    return lax.cond(x + y > s, lambda s: x + y, lambda s: s, s)


def choice_after(f, *arguments):
    """The first choice of a function after the pass."""
    graph = share_with_branches(trace_to_graph(f, *arguments))
    return next(e for e in graph.equations if e.primitive.name == "cond")


def names(choice):
    return [[e.primitive.name for e in graph.equations] for graph in graphs_of(choice)]


def test_a_branch_takes_the_number_that_its_test_compares():
    assert names(choice_after(larger, 1.0, 2.0, 3.0)) == [[], []]


@pytest.mark.parametrize(("s", "x"), [*itertools.product(VALUES, VALUES)])
def test_it_is_the_same_number_to_the_bit(s, x):
    graph = trace_to_graph(larger, s, x, -0.0)
    numbers = (np.float64(s), np.float64(x), np.float64(-0.0))
    (before,) = interpret(graph, numbers)
    (after,) = interpret(share_with_branches(graph), numbers)
    assert np.asarray(before).tobytes() == np.asarray(after).tobytes()
    assert np.asarray(jit(larger)(s, x, -0.0)).tobytes() == np.asarray(before).tobytes()


def test_a_chain_of_what_is_known_is_known():
    def f(x, y):
        z = np.sqrt(x * y + 1.0)
        return lax.cond(z > 2.0, lambda: np.sqrt(x * y + 1.0) - x, lambda: x * y)

    assert names(choice_after(f, 1.0, 2.0)) == [[], ["subtract"]]


def test_branches_within_branches_and_loops_share_too():
    def f(x, y):
        def step(i, s):
            return lax.cond(
                s > 0.0,
                lambda s: lax.cond(x * s > y, lambda s: x * s, lambda s: y, s),
                lambda s: s,
                s,
            )

        return lax.fori_loop(0, 3, step, x)

    graph = share_with_branches(trace_to_graph(f, 1.0, 2.0))
    (loop,) = [e for e in graph.equations if e.primitive.kind == "control"]
    outer = next(e for g in graphs_of(loop) for e in g.equations if e.primitive.name == "cond")
    inner = [e for g in graphs_of(outer) for e in g.equations if e.primitive.name == "cond"]
    assert [names(e) for e in inner] == [[[], []]]


def test_what_only_another_branch_computes_is_not_known():
    def f(x, y):
        first = lax.cond(x > 0.0, lambda: x * y, lambda: y)
        return lax.cond(y > 0.0, lambda: first + x * y, lambda: y)

    graph = share_with_branches(trace_to_graph(f, 1.0, 2.0))
    second = [e for e in graph.equations if e.primitive.name == "cond"][1]
    assert sorted(map(len, names(second))) == [0, 2]


def test_arrays_are_computed_where_they_are_read():
    def f(x):
        return lax.cond(np.sum(x * x) > 1.0, lambda: x * x, lambda: x)

    choice = choice_after(f, np.ones(4))
    assert ["multiply"] in names(choice)
    before = next(e for e in trace_to_graph(f, np.ones(4)).equations if e.primitive.name == "cond")
    assert len(operands_of(choice).consts) == len(operands_of(before).consts)


def test_in_c_the_larger_of_two_is_chosen_and_not_branched_to():
    def f(x, y):
        best = 0.0
        for i in range(x.shape[0]):
            if x[i] * y[i] > best:
                best = x[i] * y[i]
        return best

    x, y = np.random.default_rng(3).normal(size=(2, 100))
    text = jit(f).lower(x, y).as_text()
    assert "if (" not in text
    assert text.count("= x[i] * y[i];") == 1
    assert jit(f)(x, y) == f(x, y)


def test_a_branch_that_changes_an_array_reads_its_elements_itself():
    """As operands they would be reads beside the branch, which then had to copy the array."""

    def smallest_first(a, n):
        for _ in range(n):
            if a[1] > a[2]:
                a[1], a[2] = a[2], a[1]

    ours, theirs = np.arange(9.0)[::-1].copy(), np.arange(9.0)[::-1].copy()
    compiled = jit(smallest_first)
    text = compiled.lower(ours, 5).as_text("loops")
    assert text.count(" in 0..") == 1  # the user's
    compiled(ours, 5)
    smallest_first(theirs, 5)
    np.testing.assert_array_equal(ours, theirs)
