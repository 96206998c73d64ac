"""Separate outputs: every result is the result of an equation of its own."""

import numpy as np
from helpers import ordinary, trace_to_graph
from passes import assert_same_bits, names

from transpile.ir.graph import Var
from transpile.passes.unalias_outputs import unalias_outputs
from transpile.transforms.interpret import interpret

X = ordinary("f8", (3,))


def separated(f):
    graph = trace_to_graph(f, X)
    rewritten = unalias_outputs(graph)
    rewritten.check()
    assert len(set(rewritten.outputs)) == len(rewritten.outputs)
    assert all(isinstance(v, Var) and v not in rewritten.inputs for v in rewritten.outputs)
    assert_same_bits(interpret(rewritten, [X]), interpret(graph, [X]))
    return names(rewritten)


def test_results_of_their_own_stay():
    assert separated(lambda x: (np.sin(x), np.cos(x))) == ["sin", "cos"]


def test_an_input_is_copied_each_time():
    assert separated(lambda x: (x, x)) == ["copy", "copy"]


def test_a_result_that_stands_twice_is_copied_once():
    def f(x):
        y = np.sin(x)
        return y, y

    assert separated(f) == ["sin", "copy"]


def test_constants_become_values():
    table = np.arange(4.0)
    assert separated(lambda x: (-0.0, table, table, 1)) == [
        "broadcast_in_dim",
        "copy",
        "copy",
        "broadcast_in_dim",
    ]
