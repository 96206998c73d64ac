"""Subscripts in scalar code wait for no choices."""

import numpy as np
import pytest
from graphs import assert_same_results, run, scheduled, statements_of
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile
from transpile import lax
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    For,
    If,
    IndexValue,
    Literal,
    Program,
    Ref,
    Store,
    Update,
)
from transpile.ir.loop_ir import Kernel as LoopKernel
from transpile.ir.loop_rewrite import parts, subexpressions, walk
from transpile.ir.types import BOOL, FLOAT64, INT64
from transpile.options import Options
from transpile.schedule.cleanup.subscripts.predicted_subscripts import predict_subscripts

pytestmark = pytest.mark.full_level
PLACES = np.array([3, -1, 0, 9, -10, 4, 2**62, -(2**62)])


def used(program):
    """How often the subscript of Python's stands in a program, and in its vector loops."""
    loops = [s for s in statements_of(program, For) if s.simd]
    inside = [p for loop in loops for s in walk(loop.body) for p in parts(s)]
    everywhere = [p for k in program.kernels for s in walk(k.body) for p in parts(s)]
    return tuple(
        sum(isinstance(p, Apply) and p.op == "subscript" for p in found)
        for found in (everywhere, inside)
    )


def walk_through(following, start):
    """Three steps through a linked list."""
    return lax.fori_loop(0, 3, lambda _, at: following[at], start)


def test_a_walk_through_a_list():
    following = np.array([2, 0, -1, 3, 1])
    for start in np.array([0, 1, 4, -1, -5, 7, -9]):
        program = scheduled(walk_through, following, start)
        assert used(program)[0] > 0
        assert_same_results(run(program, [following, start]), [walk_through(following, start)])


def test_vector_loops_keep_their_choices():
    x = np.arange(5.0)
    program = scheduled(lambda x, at: x[at], x, PLACES)
    assert used(program)[1] == 0
    expected = x[np.clip(np.where(PLACES < 0, PLACES + 5, PLACES), 0, 4)]
    assert_same_results(run(program, [x, PLACES]), [expected])


def program_of(*body):
    return Program("f", (), (), (LoopKernel("k", body),))


def test_a_number_that_has_changed_since_is_not_the_same():
    """The choice was made of another value of the variable."""
    i, zero, five = Ref("i", INT64), Literal(np.int64(0), INT64), Literal(np.int64(5), INT64)
    choice = Apply(
        "select",
        (Apply("less", (i, zero), BOOL), Apply("add", (i, five), INT64), i),
        INT64,
    )
    low = Apply("maximum", (Ref("place", INT64), zero), INT64)
    last = Literal(np.int64(4), INT64)
    begin = Declare("i", zero, constant=False)
    place, at = Declare("place", choice), Declare("at", Apply("minimum", (low, last), INT64))
    change = Update(i, "add", five)
    assert used(predict_subscripts(program_of(begin, place, at), Options()))[0] == 1
    assert used(predict_subscripts(program_of(begin, place, change, at), Options()))[0] == 0


def test_floating_point_numbers_are_no_subscripts():
    x, zero = Ref("x", FLOAT64), Literal(np.float64(0), FLOAT64)
    is_below = Apply("less", (x, zero), BOOL)
    raised = Apply("add", (x, Literal(np.float64(5), FLOAT64)), FLOAT64)
    place = Declare("place", Apply("select", (is_below, raised, x), FLOAT64))
    program = program_of(Declare("x", zero), place)
    assert predict_subscripts(program, Options()) == program


@settings(max_examples=tries(40))
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-12, 12), min_size=1, max_size=9))
def test_compiled_places_are_numpys_clipped(places):
    places = np.array(places)

    def f(x, places):
        def step(i, total):
            at = places[i]
            return total * 0.5 + x[at]

        return lax.fori_loop(0, len(places), step, 0.0)

    x = np.arange(10.0) ** 2
    expected = 0.0
    for place in places.tolist():
        place = place + 10 if place < 0 else place
        expected = expected * 0.5 + x[min(max(place, 0), 9)]
    assert transpile.jit(f)(x, places) == expected


def test_a_place_that_is_not_negative_waits_for_no_choice():
    """Of a counter that falls one end is known; what is behind the other is the last element."""

    def f(x, at):
        def step(carry):
            total, at = carry
            return total * 0.5 + x[at], at - 2

        return lax.while_loop(lambda carry: carry[1] >= 0, step, (0.0, at))[0]

    x = np.arange(10.0) ** 2
    assert used(scheduled(f, x, np.int64(8)))[0] == 1
    for start in (7, 9, 10, 31, -1):
        expected, at = 0.0, start
        while at >= 0:
            expected = expected * 0.5 + x[min(at, 9)]
            at -= 2
        assert transpile.jit(f)(x, start) == expected


def find_roots(parent, starts):
    """Path halving: an element is read and replaced at the same place."""
    found = np.zeros(len(starts), np.int64)
    for k in range(len(starts)):
        i = starts[k]
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        found[k] = i
    return found


def test_whether_a_place_was_one_is_asked_of_its_number():
    """The store is done where the number has a place, from either end."""
    parent = np.array([0, 0, 1, 2, -3, 4, 5, -8, 8, 8])
    starts = np.array([9, 7, 6, 5, -1, -2, 0])
    program = transpile.jit(find_roots).lower(parent, starts)._lowering.program()
    branches = list(statements_of(program, If))
    asked = [p for s in branches for p in subexpressions(s.condition) if isinstance(p, Apply)]
    assert any(p.op == "checked_subscript" for p in asked)
    assert not any(p.op == "equal" for p in asked)
    expected_parent = parent.copy()
    expected = find_roots(expected_parent, starts)
    compiled = transpile.jit(find_roots)(parent, starts)
    assert compiled.tolist() == expected.tolist()
    assert parent.tolist() == expected_parent.tolist()


def test_a_store_outside_is_left_out_where_a_read_is_clamped():
    """What has no place is not stored; the read that goes before it takes the nearest element."""

    def f(x, at):
        for k in range(len(at)):
            i = at[k]
            while x[i] > 0:
                x[i] = x[i] - 1
                i = i + 7
        return x

    # The read of x[i] is that of the last element where i is behind it: the loop ends there.
    x = np.array([2, 0, 1, 3, 1, 0, 1, 0, 2, 0])
    at = np.array([0, -1, -10, 3, 8])
    expected, compiled = x.copy(), x.copy()
    for i in at.tolist():
        while expected[min(i, 9)] > 0:
            if i < 10:
                expected[i] -= 1
            i += 7
    transpile.jit(f)(compiled, at)
    assert compiled.tolist() == expected.tolist()


def test_a_number_that_has_changed_since_is_asked_as_it_was():
    i, zero, five = Ref("i", INT64), Literal(np.int64(0), INT64), Literal(np.int64(5), INT64)
    raised = Apply("add", (i, five), INT64)
    choice = Apply("select", (Apply("less", (i, zero), BOOL), raised, i), INT64)
    symbol = Symbol("at", 0, 5)
    low = Apply("maximum", (Ref("place", INT64), zero), INT64)
    last = Literal(np.int64(4), INT64)
    begin = Declare("i", zero, constant=False)
    place = Declare("place", choice)
    at = Declare("at", Apply("minimum", (low, last), INT64), symbol=symbol)
    test = Apply("equal", (IndexValue(Dim.of(symbol)), Ref("place", INT64)), BOOL)
    branch = If(test, (Store("x", (Dim.of(symbol),), zero),))
    change = Update(i, "add", five)

    def condition(*body):
        (kernel,) = predict_subscripts(program_of(*body), Options()).kernels
        found = kernel.body[-1]
        assert isinstance(found, If)
        return found.condition

    asked = Apply("checked_subscript", (i, five), INT64)
    assert condition(begin, place, at, branch) == Apply("greater_equal", (asked, zero), BOOL)
    assert condition(begin, place, at, change, branch) == test
