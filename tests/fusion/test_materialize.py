"""Materialise: views and cheap values are inlined, costly ones that are used again have nodes."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from graphs import lowered
from helpers import ordinary, trace_to_graph

from transpile.fusion.elements import is_unrolled
from transpile.fusion.materialize import materialise
from transpile.fusion.nodes import (
    Choices,
    LibraryCall,
    Map,
    Reduce,
    Scan,
    Scatter,
)
from transpile.fusion.scopes import scope_of
from transpile.fusion.survey import survey
from transpile.ir.primitive import TABLE
from transpile.machine import USUAL
from transpile.passes import optimise
from transpile.primitives.dot import dot_general

X = ordinary("f8", (6, 7))
LONG = ordinary("f8", (6, 40))


def block_of(f, *args):
    """The materialised graph of f, before anything is fused."""
    graph = optimise(trace_to_graph(f, *args))
    scope = scope_of(graph)
    return materialise(survey(scope, {}), Choices())


def nodes(f, *args):
    """The primitives of the nodes of f."""
    return [n.equation.primitive.name for n in block_of(f, *args).nodes]


def test_elementwise_chains_are_one_node():
    assert nodes(lambda x: np.exp(np.sin(x) * 2 + 1) - x, X) == ["subtract"]


def test_views_and_iotas_are_never_nodes_of_their_own():
    def f(x):
        return np.flip(x.T[::2], 1).reshape(-1) + np.arange(24)

    assert nodes(f, X) == ["add"]


def test_a_view_that_is_a_result_is_one():
    assert nodes(lambda x: x.T, X) == ["transpose"]


def test_a_long_reduction_has_a_node_and_a_short_one_is_written_out():
    assert nodes(lambda x: np.sin(x.sum(1)), LONG) == ["reduce_sum", "sin"]
    assert nodes(lambda x: np.sin(x.sum(1)), X) == ["sin"]


def test_a_value_used_twice_has_a_node():
    def f(x):
        y = np.sin(x)
        return y * np.cos(y)

    assert nodes(f, X) == ["sin", "multiply"]


def test_a_costly_value_spread_by_a_broadcast_has_a_node_and_a_cheap_one_is_not():
    row = ordinary("f8", (7,))
    assert nodes(lambda x, y: x * np.sin(y), X, row) == ["sin", "multiply"]
    assert nodes(lambda x, y: x * (y + 1), X, row) == ["multiply"]


def test_a_costly_operand_of_a_product_has_a_node():
    def f(x):
        return np.sin(x) @ LONG

    assert "sin" in nodes(f, X.T[:, :6])


def test_long_expressions_are_cut():
    def f(x):
        for k in range(100):
            x = np.sin(x) + k
        return x

    found = nodes(f, X)
    assert 3 <= len(found) <= 10


def test_nothing_is_computed_for_readers_without_elements():
    def f(x):
        return np.concatenate([np.sin(x * 3)[:0], x])[::-1]

    assert nodes(f, X) == ["rev"]


def test_nodes_that_only_other_pieces_read_are_dropped():
    """Of the padding's interior, a slice with its step reads the fill alone."""

    def f(x):
        y = np.sin(x)  # used twice, and not at all
        return np.zeros((4, 0)) + (y + np.cos(y))[:4, :0]

    assert nodes(f, X) == []


@pytest.mark.parametrize("turns", [3, 12, 60])
def test_chains_of_reshapes_do_not_tangle(turns):
    def f(x):
        for _ in range(turns):
            x = x.reshape(7, 6).T.reshape(42)[::-1]
        return x

    program = lowered(f, ordinary("f8", (42,)))
    assert len(str(program)) < 400 * (turns + 2)


def test_costs_rank_operations():
    costs = [TABLE[name].weight for name in ("copy", "add", "divide", "remainder", "sin")]
    assert costs == sorted(set(costs))


def product_of(m, k, n, dtype="f8"):
    graph = trace_to_graph(np.matmul, ordinary(dtype, (m, k)), ordinary(dtype, (k, n)))
    (equation,) = [e for e in graph.equations if e.primitive is dot_general]
    return equation


def test_tiny_products_are_written_out():
    assert is_unrolled(product_of(8, 4, 8), USUAL)
    assert not is_unrolled(product_of(8, 5, 8), USUAL)
    assert not is_unrolled(product_of(8, 0, 8), USUAL)


def kinds(f, *args):
    return [type(node) for node in block_of(f, *args).nodes]


def test_each_kind_of_computation_is_a_type_of_node():
    assert kinds(lambda x: np.sin(x).sum(1), LONG) == [Reduce]
    assert kinds(lambda x: np.cumsum(x, axis=0), LONG) == [Scan]
    assert kinds(lambda x: np.cumsum(x[:1], axis=0), LONG) == [Map]
    assert kinds(lambda x: x.at[np.array([2, 1, 2])].add(1.0), X) == [Scatter]


def test_a_library_call_names_its_operands_by_the_values_in_memory():
    graph = optimise(trace_to_graph(lambda x: np.sort(np.sin(x).reshape(-1)), X))
    scope = scope_of(graph)
    sine, sort = materialise(survey(scope, {}), Choices()).nodes
    assert isinstance(sort, LibraryCall)
    assert sort.operands == (sine.var,)  # the reshape has its elements in their order
    (total,) = block_of(lambda x: np.cumsum(x), ordinary("f8", (100_000,))).nodes
    assert isinstance(total, LibraryCall)


def test_a_node_says_what_it_reads_of_each_value():
    block = block_of(lambda x: x[1:] - x[:-1].sum(), ordinary("f8", (90,)))
    total, difference = block.nodes
    x = block.key(block.graph.inputs[0])
    (read,) = difference.reads[x]
    assert read.index[0] - difference.index[0] == 1
    assert [load.index for load in difference.reads[block.key(total.var)]] == [()]
    assert (total.rank, len(total.order)) == (0, 1) and (difference.rank, total.combine) == (
        1,
        "add",
    )
    assert block.readers[block.key(total.var)] == [difference]


def test_choices_overrule_what_a_value_deserves():
    def f(x):
        y = np.sin(x)
        return y * np.cos(y), (x + 1).sum(1)

    graph = optimise(trace_to_graph(f, LONG))
    sine = next(e.output for e in graph.equations if e.primitive.name == "sin")
    plus = next(e.output for e in graph.equations if e.primitive.name == "add")
    choices = Choices(inlined=frozenset([sine]), kept=frozenset([plus]))
    scope = scope_of(graph)
    block = materialise(survey(scope, {}), choices)
    assert block.values.is_inlined(sine) and not block.values.is_inlined(plus)
    assert [n.equation.primitive.name for n in block.nodes] == ["multiply", "add", "reduce_sum"]


def test_nodes_never_change():
    (node,) = block_of(lambda x: x * 2, X).nodes
    with pytest.raises(FrozenInstanceError):
        node.value = None
