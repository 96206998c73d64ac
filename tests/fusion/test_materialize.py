"""Placement: views and cheap values are inline, costly ones that are used again are stages."""

import numpy as np
import pytest
from graphs import lowered
from helpers import ordinary, trace_to_graph

from transpile.fusion.index_lambda import is_unrolled
from transpile.fusion.inline_cost import cost_of, is_library_product
from transpile.fusion.materialize import Placement
from transpile.ir.primitive import TABLE
from transpile.passes import optimise
from transpile.primitives.dot import dot_general

X = ordinary("f8", (6, 7))
LONG = ordinary("f8", (6, 40))


def stages(f, *args):
    """The primitives of the stages of f."""
    placement = Placement(optimise(trace_to_graph(f, *args)))
    return [s.equation.primitive.name for s in placement.stages]


def test_elementwise_chains_are_one_stage():
    assert stages(lambda x: np.exp(np.sin(x) * 2 + 1) - x, X) == ["subtract"]


def test_views_and_iotas_are_never_stages_of_their_own():
    def f(x):
        return np.flip(x.T[::2], 1).reshape(-1) + np.arange(24)

    assert stages(f, X) == ["add"]


def test_a_view_that_is_a_result_is_one():
    assert stages(lambda x: x.T, X) == ["transpose"]


def test_a_long_reduction_is_a_stage_and_a_short_one_is_written_out():
    assert stages(lambda x: np.sin(x.sum(1)), LONG) == ["reduce_sum", "sin"]
    assert stages(lambda x: np.sin(x.sum(1)), X) == ["sin"]


def test_a_value_used_twice_is_a_stage():
    def f(x):
        y = np.sin(x)
        return y * np.cos(y)

    assert stages(f, X) == ["sin", "multiply"]


def test_a_costly_value_spread_by_a_broadcast_is_a_stage_and_a_cheap_one_is_not():
    row = ordinary("f8", (7,))
    assert stages(lambda x, y: x * np.sin(y), X, row) == ["sin", "multiply"]
    assert stages(lambda x, y: x * (y + 1), X, row) == ["multiply"]


def test_a_costly_operand_of_a_product_is_a_stage():
    def f(x):
        return np.sin(x) @ LONG

    assert "sin" in stages(f, X.T[:, :6])


def test_long_expressions_are_cut():
    def f(x):
        for k in range(100):
            x = np.sin(x) + k
        return x

    found = stages(f, X)
    assert 3 <= len(found) <= 10


def test_nothing_is_computed_for_readers_without_elements():
    def f(x):
        return np.concatenate([np.sin(x * 3)[:0], x])[::-1]

    assert stages(f, X) == ["rev"]


def test_stages_that_only_other_pieces_read_are_dropped():
    """Of the padding's interior, a slice with its step reads the fill alone."""

    def f(x):
        y = np.sin(x)  # used twice, and not at all
        return np.zeros((4, 0)) + (y + np.cos(y))[:4, :0]

    assert stages(f, X) == []


@pytest.mark.parametrize("turns", [3, 12, 60])
def test_chains_of_reshapes_do_not_tangle(turns):
    def f(x):
        for _ in range(turns):
            x = x.reshape(7, 6).T.reshape(42)[::-1]
        return x

    program = lowered(f, ordinary("f8", (42,)))
    assert len(str(program)) < 400 * (turns + 2)


def test_costs_rank_operations():
    costs = [cost_of(TABLE[name]) for name in ("copy", "add", "divide", "remainder", "sin")]
    assert costs == sorted(set(costs))


def product_of(m, k, n, dtype="f8"):
    graph = trace_to_graph(np.matmul, ordinary(dtype, (m, k)), ordinary(dtype, (k, n)))
    (equation,) = [e for e in graph.equations if e.primitive is dot_general]
    return equation


def test_large_products_of_floats_go_to_the_library():
    assert is_library_product(product_of(16, 16, 16))
    assert is_library_product(product_of(4, 128, 4))
    assert not is_library_product(product_of(2, 4000, 2))  # too thin
    assert not is_library_product(product_of(8, 8, 8))  # too small
    assert not is_library_product(product_of(64, 64, 64, "i8"))


def test_tiny_products_are_written_out():
    assert is_unrolled(product_of(8, 4, 8))
    assert not is_unrolled(product_of(8, 5, 8))
    assert not is_unrolled(product_of(8, 0, 8))
