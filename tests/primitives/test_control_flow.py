"""Structured control flow: the primitives, by the graphs in their params."""

import numpy as np
import pytest

from transpile.ir.graph import Const, Equation, Graph, Var
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, FLOAT32, FLOAT64, INT64, ArrayType
from transpile.passes.cse import eliminate_common_subexpressions
from transpile.primitives import elementwise
from transpile.primitives.control import primitives as control
from transpile.primitives.elementary import primitives as elementary
from transpile.transforms.interpret import interpret

F = ArrayType((), FLOAT64)
I = ArrayType((), INT64)


def graph_of(kinds, *primitives, outputs):
    """A graph of elementwise equations, each over the numbers of earlier values."""
    values = [Var(kind) for kind in kinds]
    inputs, equations = tuple(values), []
    for primitive, *operands in primitives:
        atoms = tuple(values[p] if isinstance(p, int) else p for p in operands)
        (kind,) = primitive.result_types([a.type for a in atoms], {})
        values.append(Var(kind))
        equations.append(Equation(primitive, atoms, {}, (values[-1],)))
    return Graph(inputs, tuple(equations), tuple(values[p] for p in outputs))


def applied(primitive, kinds, **params):
    """The graph of one equation of a primitive."""
    inputs = tuple(map(Var, kinds))
    outputs = tuple(map(Var, primitive.result_types(kinds, params)))
    graph = Graph(inputs, (Equation(primitive, inputs, params, outputs),), outputs)
    graph.check()
    return graph


# (factor, total, x) -> (total + factor * x, the sum of this total and x)
MULTIPLY_ADD = graph_of(
    [F, F, F],
    (elementwise.multiply, 0, 2),
    (elementwise.add, 1, 3),
    (elementwise.add, 1, 2),
    outputs=(4, 5),
)
SCAN = {"graph": MULTIPLY_ADD, "consts": 1, "carry": 1}


@pytest.mark.parametrize("length", [0, 1, 4])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_is_the_loop_over_its_xs(length, reverse):
    graph = applied(
        control.scan, [F, F, ArrayType((length,), FLOAT64)], length=length, reverse=reverse, **SCAN
    )
    xs = np.arange(1.0, length + 1)
    total, ys = interpret(graph, [2.0, 10.0, xs])
    expected, seen = 10.0, np.zeros(length)
    for i in range(length)[:: -1 if reverse else 1]:
        seen[i] = expected + xs[i]
        expected += 2.0 * xs[i]
    assert total == expected
    np.testing.assert_array_equal(ys, seen)


def test_a_while_goes_on_until_its_condition_fails():
    condition = graph_of([F, F], (elementwise.less, 1, 0), outputs=(2,))
    body = graph_of([F, F], (elementwise.add, 1, 1), outputs=(2,))
    graph = applied(control.while_, [F, F], condition=condition, body=body, consts=1)
    assert interpret(graph, [100.0, 3.0]) == [192.0]
    assert interpret(graph, [1.0, 3.0]) == [3.0]


def test_a_fori_loop_counts_from_lower_to_upper():
    body = graph_of([I, I, I], (elementwise.multiply, 0, 1), (elementwise.add, 2, 3), outputs=(4,))
    graph = applied(control.fori_loop, [I, I, I, I], graph=body, consts=1)
    assert interpret(graph, [3, 6, 10, 1]) == [121]
    assert interpret(graph, [6, 3, 10, 1]) == [1]


@pytest.mark.parametrize(("index", "chosen"), [(-3, 0), (0, 0), (1, 1), (2, 2), (9, 2)])
def test_the_index_of_a_branch_is_clamped(index, chosen):
    branches = tuple(
        graph_of([F], (elementwise.add, 0, Const(np.float64(k))), outputs=(1,)) for k in range(3)
    )
    graph = applied(control.cond, [I, F], branches=branches)
    assert interpret(graph, [index, 5.0]) == [5.0 + chosen]
    graph = applied(control.cond, [ArrayType((), BOOL), F], branches=branches[:2])
    assert interpret(graph, [index == 0, 5.0]) == [5.0 + (index == 0)]


def test_the_text_of_a_graph_shows_the_graphs_in_it():
    branches = tuple(
        graph_of([F], (primitive, 0), outputs=(1,))
        for primitive in (elementary.sin, elementary.cos)
    )
    graph = applied(control.cond, [I, F], branches=branches)
    text = str(graph)
    assert "= sin a" in text and "= cos a" in text
    assert list(graph.subgraphs()) == list(branches)
    other = applied(control.cond, [I, F], branches=branches[::-1])
    assert graph.fingerprint() != other.fingerprint()


def test_equal_loops_are_one_and_others_are_not():
    def loop_of(factor):
        return graph_of([F], (elementwise.multiply, 0, Const(np.float64(factor))), outputs=(1,))

    x = Var(F)
    equations = [
        Equation(
            control.scan,
            (x,),
            {"graph": loop_of(f), "consts": 0, "carry": 1, "length": n, "reverse": False},
            (Var(F),),
        )
        for f, n in ((2, 3), (2, 3), (3, 3), (2, 4))
    ]
    graph = Graph((x,), tuple(equations), tuple(e.output for e in equations))
    graph.check()
    merged = eliminate_common_subexpressions(graph)
    assert len(merged.equations) == 3
    assert merged.outputs[0] is merged.outputs[1]
    assert interpret(merged, [1.0]) == [8.0, 8.0, 27.0, 16.0]


WRONG = [
    ("scan", [F, F, F], {**SCAN, "length": 3, "reverse": False}, "length 3 goes over the first"),
    (
        "scan",
        [F, F, ArrayType((4,), FLOAT64)],
        {**SCAN, "length": 3, "reverse": False},
        r"not over f64\[4\]",
    ),
    (
        "scan",
        [F, ArrayType((), FLOAT32), ArrayType((3,), FLOAT64)],
        {**SCAN, "length": 3, "reverse": False},
        r"the body takes \(f64\[\], f64\[\], f64\[\]\), not \(f64\[\], f32\[\], f64\[\]\)",
    ),
    ("fori_loop", [I, F, F], {"graph": MULTIPLY_ADD, "consts": 0}, "the bounds of a loop are"),
    (
        "while",
        [F],
        {
            "condition": graph_of([F], (elementary.sin, 0), outputs=(1,)),
            "body": graph_of([F], (elementary.sin, 0), outputs=(1,)),
            "consts": 0,
        },
        r"the condition gives \(f64\[\]\), not one bool",
    ),
    (
        "while",
        [F],
        {
            "condition": graph_of([F], (elementwise.isnan, 0), outputs=(1,)),
            "body": graph_of([F], (elementwise.isnan, 0), outputs=(1,)),
            "consts": 0,
        },
        r"the body takes a carry of \(f64\[\]\), gives \(bool\[\]\)",
    ),
    ("cond", [F, F], {"branches": (MULTIPLY_ADD,)}, "a bool or an integer, not f64"),
    ("cond", [I], {"branches": ()}, "a cond needs at least one branch"),
    (
        "cond",
        [I, F],
        {
            "branches": (
                graph_of([F], (elementary.sin, 0), outputs=(1,)),
                graph_of([F], (elementwise.isnan, 0), outputs=(1,)),
            )
        },
        r"branch 0 gives \(f64\[\]\), and branch 1 \(bool\[\]\)",
    ),
]


@pytest.mark.parametrize(("name", "kinds", "params", "text"), WRONG, ids=range(len(WRONG)))
def test_primitives_refuse_graphs_that_do_not_fit(name, kinds, params, text):
    with pytest.raises(TypeError, match=text):
        TABLE[name].result_types(kinds, params)
