"""Arrays with letters for axes: what operations mean by values, and that they add no idle
equation."""

import numpy as np
import pytest

from transpile.ir.graph import Graph, Var
from transpile.ir.graph_rewrite import Builder
from transpile.ir.types import ArrayType
from transpile.passes.expand.labelled import Labelled
from transpile.transforms.interpret import interpret

X = np.arange(24.0).reshape(2, 3, 4)


def applied(function, x=X, names="abc", **majors):
    """The letters and the value of what a function makes of an array, and its equations."""
    variable, builder = Var(ArrayType(x.shape, x.dtype), "x"), Builder()
    result = function(Labelled.of(builder, variable, [*names], majors))
    graph = Graph((variable,), tuple(builder.equations), (result.atom,))
    graph.check()
    return result.letters, interpret(graph, [x])[0], [e.primitive.name for e in graph.equations]


def test_an_axis_of_two_letters_is_split():
    letters, value, _ = applied(lambda x: x, names=["a", "b", "gc"], g=2)
    assert letters == "abgc"
    np.testing.assert_array_equal(value, X.reshape(2, 3, 2, 2))


@pytest.mark.parametrize("order", ["abc", "zabyc", "cab", "bzca"])
def test_axes_are_brought_into_an_order(order):
    letters, value, equations = applied(lambda x: x.ordered(order))
    assert letters == "".join(a for a in order if a in "abc")
    np.testing.assert_array_equal(value, np.einsum(f"abc->{letters}", X))
    assert equations == ([] if letters == "abc" else ["transpose"])


def test_axes_that_are_missing_are_broadcast():
    sizes = {"a": 2, "b": 3, "c": 4, "n": 5}
    letters, value, _ = applied(lambda x: x.broadcast("cnab", sizes))
    assert letters == "cnab"
    np.testing.assert_array_equal(value, np.einsum("abc,n->cnab", X, np.ones(5)))


def test_slices_are_by_letter_and_zero_out_of_range():
    letters, value, _ = applied(
        lambda x: x.slice({"b": 1, "c": -1}, {"b": 1, "c": 3}, {"c": 2}).without("b")
    )
    assert letters == "ac"
    padded = np.pad(X, ((0, 0), (0, 0), (1, 1)))
    np.testing.assert_array_equal(value, padded[:, 1, :6:2])


def test_what_changes_nothing_adds_no_equation():
    assert applied(lambda x: x.ordered("abc").slice({}, {}, {}).without("z"))[2] == []
