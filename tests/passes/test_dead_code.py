"""Dead code: what no result needs goes, and nothing else."""

import numpy as np
from helpers import ordinary, trace_to_graph
from passes import after, names

from transpile.passes.dead_code import eliminate_dead_code

X = ordinary("f8", (3,))


def test_what_nothing_reads_goes_with_what_it_alone_needs():
    def f(x):
        np.cos(np.sin(x))
        return x + 1

    assert names(trace_to_graph(f, X)) == ["sin", "cos", "add"]
    assert after(eliminate_dead_code, f, X) == ["add"]


def test_what_a_live_value_shares_with_a_dead_one_stays():
    def f(x):
        y = np.sin(x)
        np.cos(y)
        return y, y * 2

    assert after(eliminate_dead_code, f, X) == ["sin", "multiply"]


def test_inputs_and_the_order_stay():
    graph = trace_to_graph(lambda x, y: np.sin(y), X, X)
    assert eliminate_dead_code(graph).inputs == graph.inputs
