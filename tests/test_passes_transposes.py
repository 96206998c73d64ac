"""Transposes sink to where they cost nothing, and the numbers stay as they are."""

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph
from hypothesis import given
from hypothesis import strategies as st
from passes import after

from transpile.passes.dead_code import dead_code
from transpile.passes.transposes import sink_transposes
from transpile.primitives.rules import apply
from transpile.transforms.interpret import interpret

X = ordinary("f8", (3, 4), 1)
Y = ordinary("f8", (4, 5), 2)
CUBE = ordinary("f8", (2, 3, 4), 3)


def rows(f, *args):
    """The primitives of f after the pass, the dead ones away."""
    return after(lambda graph: dead_code(sink_transposes(graph)), f, *args)


def test_a_transposed_elementwise_value_reads_its_operands_transposed():
    assert rows(lambda x: np.sin(x).T, X) == ["transpose", "sin"]
    assert rows(lambda x: np.exp(np.sin(x)).T * 2, X) == ["transpose", "sin", "exp", "multiply"]


def test_broadcasts_and_counts_take_a_transpose_in():
    found = rows(lambda v, w: (v[:, None] * w).T, Y[:, 0], Y[0])
    assert found == ["broadcast_in_dim", "broadcast_in_dim", "multiply"]

    def identity(v):
        count = apply("iota", shape=(4, 5), dimension=1, dtype=np.dtype("i8"))
        return (v[:, None] + count).T

    trace = trace_to_graph(identity, Y[:, 0].astype("i8"))
    sunk = dead_code(sink_transposes(trace))
    assert [e.primitive.name for e in sunk.equations].count("transpose") == 0
    np.testing.assert_array_equal(
        interpret(sunk, [np.arange(4)])[0], np.arange(4) + np.arange(5)[:, None]
    )


def test_a_transposed_product_exchanges_its_operands():
    assert rows(lambda x, y: (x @ y).T, X, Y) == ["dot_general"]
    batched = ordinary("f8", (2, 4, 5), 4)
    assert rows(lambda x, y: np.swapaxes(x @ y, 1, 2), CUBE, batched) == ["dot_general"]
    # The batch cannot move.
    found = rows(lambda x, y: np.moveaxis(x @ y, 0, 2), CUBE, batched)
    assert found == ["dot_general", "transpose"]


def test_pads_slices_and_reversals_go_along():
    found = rows(lambda x: np.pad(np.sin(x), ((1, 0), (0, 2)))[::-1, 1:].T, X)
    assert found.index("transpose") < found.index("sin")
    assert found.count("transpose") == 1


def test_a_value_that_is_also_wanted_as_it_is_stays():
    found = rows(lambda x: (np.sin(x), np.sin(x).T), X)
    assert found.index("sin") < found.index("transpose")
    found = rows(lambda x: np.sin(x).T * np.sin(x).sum(axis=1), X)
    assert "reduce_sum" in found


def test_a_product_reads_a_transposed_operand_where_it_is():
    assert rows(lambda x: np.sin(x).T @ X, X) == ["sin", "transpose", "dot_general"]


VIEWS = [
    lambda x: x.T,
    lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.swapaxes(x, 0, 1),
    lambda x: x[::-1],
    lambda x: np.sin(x),
    lambda x: x * 2 + x,
    lambda x: np.pad(x, 1),
    lambda x: x[:, :1] + x,
    lambda x: x + np.arange(x.shape[1])[:, None],
    lambda x: np.where(x > 0, x, np.cos(x)),
    lambda x: x.reshape(x.shape[::-1]),
    lambda x: np.cumsum(x, axis=1),
    lambda x: x - x.max(axis=0),
    lambda x: np.matmul(x, np.swapaxes(x, 1, 2)),
    lambda x: np.concatenate([x, x.mean(axis=0, keepdims=True)], axis=0),
]


@given(st.lists(st.sampled_from(VIEWS), min_size=1, max_size=6), st.booleans())
def test_any_chain_of_views_and_computations_keeps_its_numbers(chain, gives_all):
    def f(x):
        found = [x]
        for step in chain:
            found.append(step(found[-1]))
        return found if gives_all else found[-1]

    after(sink_transposes, f, CUBE)


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_every_order_of_three_axes(order):
    found = rows(lambda x: np.transpose(np.sin(x) + x[0], order), CUBE)
    assert found[-1] == "add"
