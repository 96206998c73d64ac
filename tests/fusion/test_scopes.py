"""Scopes: what a body is given of its surroundings, and how its counter counts."""

import numpy as np
from helpers import ordinary, trace_to_graph

from transpile import lax
from transpile.fusion.scopes import scope_of
from transpile.ir.dims import Dim
from transpile.ir.indices.values import as_index
from transpile.ir.loop_ir import Literal
from transpile.passes import optimise

A = ordinary("f8", (6, 6))


def only_loop(scope):
    (bodies,) = scope.inner.values()
    return bodies


def scope(f, *args):
    return scope_of(optimise(trace_to_graph(f, *args)))


def test_a_program_without_loops_has_no_scopes_inside():
    assert not scope(lambda x: x * 2, A).inner


def test_the_counter_of_a_loop_over_a_range_is_given_to_its_body():
    bodies = only_loop(scope(lambda a: lax.fori_loop(2, 5, lambda i, a: a.at[i].add(a[0]), a), A))
    (body,) = bodies.parts
    assert body.is_body and not body.is_condition
    assert (bodies.symbol.lower, bodies.symbol.extent) == (2, 5)
    given = [as_index(value) for value in body.given.values()]
    assert Dim.of(bodies.symbol) in given


def test_an_inner_loop_counts_up_to_the_counter_around_it():
    def f(a):
        def column(i, a):
            return lax.fori_loop(0, i, lambda j, a: a.at[i, j].set(a[j, i]), a)

        return lax.fori_loop(0, 6, column, a)

    outer = only_loop(scope(f, A))
    inner = only_loop(outer.parts[0])
    assert inner.symbol.extent == Dim.of(outer.symbol)
    assert inner.parts[0].prefix.startswith(outer.parts[0].prefix)
    assert len({as_index(v) for v in inner.parts[0].given.values()}) == 2  # i and j


def test_a_scan_over_a_range_counts_as_the_range_does():
    def f(x):
        return lax.scan(lambda c, i: (c * x[i], c), 1.0, np.arange(1, 5))

    bodies = only_loop(scope(f, A[0]))
    assert (bodies.symbol.lower, bodies.symbol.extent) == (1, 5)
    assert bodies.where == Dim.of(bodies.symbol) - 1


def test_a_condition_hands_nothing_on_and_a_body_its_carry():
    def f(x):
        return lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] * 2, c[1] + c[0]), (x, x))

    bodies = only_loop(scope(f, 1.5))
    condition, body = bodies.parts
    assert condition.is_condition and not condition.carry
    assert [before for before, _ in body.carry] == list(body.graph.inputs)
    assert [after for _, after in body.carry] == list(body.graph.outputs)
    assert bodies.symbol is None


def test_constants_are_given_to_branches_as_numbers():
    def f(x, n):
        return lax.cond(n > 0, lambda x, k: x * k, lambda x, k: x - k, x, np.float64(3))

    graph = trace_to_graph(f, A, 1)  # passes would bring the constant in
    values = [v for part in only_loop(scope_of(graph)).parts for v in part.given.values()]
    assert values and all(isinstance(v, Literal) and v.value == 3 for v in values)
