"""What the tests of the passes share."""

from __future__ import annotations

import numpy as np
from graphs import assert_same_results
from helpers import trace_to_graph

from transpile.ir.graph import Graph, Var
from transpile.ir.types import ArrayType
from transpile.transforms.interpret import interpret

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -3.25, np.nan, np.inf, -np.inf, 1e308, 5e-324])


def names(graph):
    """The primitives of a graph, in order."""
    return [e.primitive.name for e in graph.equations]


def graph_of(*equations, inputs, outputs):
    """A checked graph."""
    graph = Graph(tuple(inputs), tuple(equations), tuple(outputs))
    graph.check()
    return graph


def var(shape=(3,), dtype="f8", name=""):
    return Var(ArrayType(shape, np.dtype(dtype)), name)


def assert_same_bits(found, expected):
    """Equal to the last bit, the signs of zeros among them; NaNs need only be NaNs."""
    assert_same_results(found, expected)
    for x, y in zip(found, expected, strict=True):
        if x.dtype.kind == "f":
            numbers = ~np.isnan(y)
            np.testing.assert_array_equal(np.signbit(x[numbers]), np.signbit(y[numbers]))


def after(transform, f, *args):
    """The primitives of f after a pass that gives the same bits, whatever the numbers."""
    graph = trace_to_graph(f, *args)
    rewritten = transform(graph)
    rewritten.check()
    with np.errstate(all="ignore"):
        assert_same_bits(interpret(rewritten, args), interpret(graph, args))
    return names(rewritten)
