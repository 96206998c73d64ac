"""Rematerialise: what is computed again, and what is copied first, once it is known what lives in
memory."""

import numpy as np
from helpers import ordinary, trace_to_graph

from transpile import lax
from transpile.fusion.nodes import Loop, Map, Reduce, Scatter
from transpile.fusion.rematerialize import loops_of_graph
from transpile.passes import optimise

A = ordinary("f8", (20, 30))


def loops_of(f, *args):
    return loops_of_graph(optimise(trace_to_graph(f, *args)))


def names(loops):
    return [node.equation.primitive.name for node in loops.block.nodes]


def body_of(f, *args):
    (loop,) = [n for n in loops_of(f, *args).block.nodes if isinstance(n, Loop)]
    return loop.parts[-1]


def test_a_cheap_value_that_would_need_memory_is_computed_again():
    def f(x):
        y = x + 1
        return y.sum(axis=0), y.sum(axis=1)

    loops = loops_of(f, A)
    assert names(loops) == ["reduce_sum", "reduce_sum"]
    assert {v.type.shape for v in loops.block.choices.inlined} == {A.shape}


def test_a_costly_one_is_kept():
    def f(x):
        y = np.exp(x)
        return y.sum(axis=0), y.sum(axis=1)

    loops = loops_of(f, A)
    assert names(loops) == ["exp", "reduce_sum", "reduce_sum"]
    assert not loops.block.choices.inlined


def test_a_chain_of_cheap_values_is_not_cheap():
    def f(x):
        y = x + 1
        z = y * y[::-1]
        return z.sum(axis=0), z.sum(axis=1), y.sum(axis=0)

    assert "multiply" in names(loops_of(f, A))
    assert "add" not in names(loops_of(f, A))


def test_what_an_update_puts_over_what_it_reads_is_computed_first():
    def f(a):
        return lax.fori_loop(0, 19, lambda i, a: a.at[i].set(a[i][::-1] - a[i + 1]), a)

    first, then = body_of(f, A).block.nodes
    assert isinstance(first, Map) and isinstance(then, Scatter)
    assert first.var in body_of(f, A).block.choices.kept or first.var.type.shape == (30,)


def test_the_row_and_column_that_all_elements_read_are_copied_first():
    square = ordinary("f8", (16, 16))

    def f(d):
        return lax.fori_loop(0, 16, lambda k, d: np.minimum(d, d[:, k, None] + d[k]), d)

    body = body_of(f, square)
    assert len(body.block.choices.kept) == 2
    assert [node.var.type.size for node in body.block.nodes] == [16, 16, 256]


def test_loops_say_around_each_node_which_loops_it_shares():
    def f(x):
        return x / x.sum(axis=1, keepdims=True)

    loops = loops_of(f, A)
    total, quotient = loops.block.nodes
    assert isinstance(total, Reduce) and isinstance(quotient, Map)
    assert loops.paths[total][0] is loops.paths[quotient][0] is loops.items[0]
    assert loops.paths[total][1] is not loops.paths[quotient][1]
    assert loops.items[0].nodes == (total, quotient)
