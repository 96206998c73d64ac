"""Reductions take transposes in the order of memory, and the numbers stay as they are."""

import numpy as np
import pytest
from helpers import ordinary
from hypothesis import given
from hypothesis import strategies as st
from passes import after

from transpile import jit
from transpile.passes.dead_code import eliminate_dead_code
from transpile.passes.layouts.reduction_order import reduce_in_memory_order
from transpile.passes.layouts.transposes import sink_transposes
from transpile.passes.simplify import simplify

X = ordinary("f8", (3, 4), 1)
CUBE = ordinary("f8", (2, 3, 4), 3)


def rows(f, *args):
    """The primitives of f after the pass and those that clear up behind it."""
    passes = (reduce_in_memory_order, sink_transposes, simplify, eliminate_dead_code)

    def together(graph):
        for transform in passes:
            graph = transform(graph)
        return graph

    return after(together, f, *args)


MOVES = {
    "of all axes": lambda x: x.transpose(2, 0, 1).max(),
    "along one of two": lambda x: x[0].T.sum(0),
    "of what is computed": lambda x: np.sin(x.T * 2).sum(),
    "of what is computed of several": lambda x: np.maximum(x.T, (2 * x).T).max(),
    "along two of three": lambda x: x.transpose(1, 2, 0).sum((0, 2)),
    "twice": lambda x: x.T.sum() + x.T.max(),
    "beside a transpose back": lambda x: ((y := np.exp(x.T)).T, y.sum()),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_reduction_of_a_transpose_reads_memory(name):
    assert "transpose" not in rows(MOVES[name], CUBE)


STAYS = {
    "a value that is stored in row-major order": lambda x: ((y := np.exp(x.T)), y.sum()),
    "a value that something else reads": lambda x: (y := np.exp(x.T)).sum() + np.cumsum(y, 0),
    "what meets an array in another order": lambda x: (
        x.T + np.sin(x[0, 0, 0]) * CUBE.T.copy()
    ).sum(),
}


@pytest.mark.parametrize("name", STAYS)
def test_a_value_that_is_read_otherwise_too_keeps_its_order(name):
    graph = jit(STAYS[name]).trace(CUBE)._graph
    assert reduce_in_memory_order(graph) is graph


def test_a_graph_without_transposes_is_itself():
    graph = jit(lambda x: x.sum(0)).trace(X)._graph
    assert reduce_in_memory_order(graph) is graph


NUMPYS = [np.sum, np.max, np.min, np.any, np.prod, np.mean]


@given(data=st.data())
def test_results_are_numpys(data):
    rank = data.draw(st.integers(1, 4))
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    x = ordinary("f8", shape, data.draw(st.integers(0, 99)))
    order = data.draw(st.permutations(range(rank)))
    axes = tuple(data.draw(st.sets(st.sampled_from(range(rank)))))
    reduce = data.draw(st.sampled_from(NUMPYS))
    scale = data.draw(st.booleans())

    def function(x):
        y = x.transpose(order)
        return reduce(y * y + 1 if scale else y, axis=axes)

    found = jit(function)(x)
    np.testing.assert_allclose(found, function(x), rtol=1e-13, atol=1e-15)
