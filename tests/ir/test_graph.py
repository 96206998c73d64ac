"""The graph: its checker refuses every broken rule, its text and its key say all there is."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph

from transpile import xpr
from transpile.errors import InternalError
from transpile.ir.graph import Const, Equation, Graph, Source, Var, letters
from transpile.ir.types import ArrayType
from transpile.primitives import axes, dot, elementwise, reductions
from transpile.primitives.elementary import primitives as elementary

VECTOR = ArrayType((3,), np.dtype("f8"))


def var(shape=(3,), dtype="f8"):
    return Var(ArrayType(shape, np.dtype(dtype)))


X, Y = var(), var()
SINE = Equation(elementary.sin, (X,), {}, (Y,))


def graph(*equations, inputs=(X,), outputs=(Y,)):
    return Graph(inputs, equations, outputs)


# ------------------------------------------------------------------------------------- check


def test_a_right_graph_passes():
    graph(SINE).check()
    graph(inputs=(X,), outputs=(X, Const(1.0))).check()


WHOLE = var(dtype="i8")
BROKEN = {
    "too many operands": (
        graph(Equation(elementary.sin, (X, X), {}, (Y,))),
        r"sin is given 2 of the 1 operands in its C: sin\(x\)",
    ),
    "too few operands": (
        graph(Equation(elementwise.add, (X,), {}, (Y,))),
        r"add is given 1 of the 2 operands in its C: x \+ y",
    ),
    "operands of a dtype that it does not take": (
        graph(Equation(elementary.sin, (WHOLE,), {}, (var(dtype="i8"),)), inputs=(WHOLE,)),
        "sin takes dtypes of the kinds 'fc', not i64",
    ),
    "an input twice": (graph(SINE, inputs=(X, X)), "listed twice"),
    "an undefined operand": (graph(SINE, inputs=()), "sin reads an undefined value"),
    "a use before its definition": (
        graph(Equation(elementary.cos, (Y,), {}, (Z := var(),)), SINE, outputs=(Z,)),
        "cos reads an undefined value",
    ),
    "an undefined output": (graph(SINE, outputs=(var(),)), "output of f is never defined"),
    "a value defined twice": (graph(SINE, SINE), "sin defines a value twice"),
    "an input defined again": (
        graph(Equation(elementary.sin, (X,), {}, (X,))),
        "sin defines a value twice",
    ),
    "a wrong shape": (
        graph(Equation(elementary.sin, (X,), {}, (W := var((4,)),)), outputs=(W,)),
        r"gives f64\[3\], but its outputs are declared f64\[4\]",
    ),
    "a wrong dtype": (
        graph(Equation(elementwise.less, (X, X), {}, (Y,))),
        r"gives bool\[3\], but its outputs are declared f64\[3\]",
    ),
    "too many outputs": (
        graph(Equation(elementary.sin, (X,), {}, (Y, var()))),
        "outputs are declared",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_graph_is_refused(name):
    broken, message = BROKEN[name]
    with pytest.raises(InternalError, match=message):
        broken.check()


ILL_TYPED = {
    "operands of two shapes": (elementwise.add, (X, var((4,))), {}, "different shapes"),
    "operands of two ranks": (elementwise.add, (X, var((1, 3))), {}, "different shapes"),
    "operands of two dtypes": (elementwise.add, (X, var((3,), "f4")), {}, "different dtypes"),
    "a choice by a number": (elementwise.select, (X, X, X), {}, "predicate of select is a bool"),
    "a broadcast that cuts": (
        axes.broadcast_in_dim,
        (X,),
        {"shape": (2,), "broadcast_dimensions": (0,)},
        "does not broadcast",
    ),
    "a reshape that loses": (axes.reshape, (X,), {"shape": (2,)}, "cannot reshape"),
    "joined arrays that differ": (
        axes.concatenate,
        (var((2, 3)), var((2, 4))),
        {"dimension": 0},
        "cannot concatenate",
    ),
    "a padding of another dtype": (
        axes.pad,
        (X, Const(1)),
        {"padding": ((1, 1, 0),)},
        "padding value",
    ),
    "a product of unequal lengths": (
        dot.dot_general,
        (X, var((4,))),
        {"dimension_numbers": (((0,), (0,)), ((), ()))},
        "cannot contract",
    ),
}


@pytest.mark.parametrize("name", ILL_TYPED)
def test_ill_typed_equations_are_refused(name):
    primitive, inputs, params, message = ILL_TYPED[name]
    variables = tuple(dict.fromkeys(v for v in inputs if isinstance(v, Var)))
    equation = Equation(primitive, inputs, params, (Y,))
    with pytest.raises(TypeError, match=message):
        graph(equation, inputs=variables).check()


def test_a_scalar_constant_may_stand_beside_an_array():
    graph(Equation(elementwise.add, (X, Const(2.0)), {}, (Y,))).check()


# -------------------------------------------------------------------------------------- text


def test_the_text_is_jax_like():
    a, b = ordinary("f8", (3, 4)), ordinary("f8", (4, 5))
    assert xpr(lambda x, y: np.sin(x) @ y, a, b) == (
        "{ lambda ; a:f64[3,4] b:f64[4,5]. let\n"
        "    c:f64[3,4] = sin a\n"
        "    d:f64[3,5] = dot_general[dimension_numbers=(((1,),(0,)),((),()))] c b\n"
        "  in (d,) }"
    )


def test_constants_stand_before_the_inputs_and_scalars_in_the_text():
    table = np.arange(3.0)
    text = xpr(lambda x: (x * table + 0.5, 2.0), ordinary("f8", (3,)))
    assert text == (
        "{ lambda a:f64[3]; b:f64[3]. let\n"
        "    c:f64[3] = multiply b a\n"
        "    d:f64[3] = add c 0.5:f64[]\n"
        "  in (d, 2.0:f64[]) }"
    )


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e300, 5e-324, -0.0])
def test_a_number_in_the_text_is_that_number(value):
    text = str(graph(inputs=(), outputs=(Const(value),)))
    assert text.endswith(f"in ({value!r}:f64[],) }}")


def test_names_go_on_after_z():
    assert [letters(k) for k in (0, 25, 26, 27, 701, 702)] == ["a", "z", "aa", "ab", "zz", "aaa"]


# ---------------------------------------------------------------------- constants, keys, uses


def test_constants_are_equal_when_their_bytes_are():
    assert Const(0.0) == Const(0.0) and hash(Const(0.0)) == hash(Const(0.0))
    assert Const(0.0) != Const(-0.0)
    assert Const(np.nan) == Const(np.nan)
    assert Const(1.0) != Const(1)
    assert Const(np.zeros((1, 2))) != Const(np.zeros((2, 1)))


def test_a_constant_does_not_change_with_the_array_it_came_from():
    array = np.zeros(3)
    const = Const(array)
    array[:] = 1
    np.testing.assert_array_equal(const.value, 0)
    with pytest.raises(ValueError, match="read-only"):
        const.value[0] = 1


def test_uses_count_results_and_repeated_operands():
    square = Equation(elementwise.multiply, (X, X), {}, (Y,))
    assert graph(square, outputs=(Y, Y, X)).uses() == {X: 3, Y: 2}


def test_the_fingerprint_tells_edges_apart():
    a = ordinary("f8", (3,))
    found = {
        trace_to_graph(f, a, a).fingerprint()
        for f in (
            lambda x, y: x * y + x,
            lambda x, y: x * y + y,
            lambda x, y: y * x + x,
            lambda x, y: x * y + 1.0,
            lambda x, y: x * y + 2.0,
            lambda x, y: x * y + np.array([1.0, 2.0, 3.0]),
            lambda x, y: x * y + np.array([1.0, 2.0, 4.0]),
        )
    }
    assert len(found) == 7


def test_the_fingerprint_holds_what_the_text_leaves_out():
    first = graph(SINE)
    others = [
        replace(first, name="g"),
        replace(first, output_names=("s",)),
        replace(first, source=Source("f.py", 3, "f")),
        graph(replace(SINE, source=Source("f.py", 4, "f"))),
    ]
    others.append(graph(replace(SINE, source=replace(SINE.source, text="y = np.sin(x)  # here"))))
    assert len({g.fingerprint() for g in (first, *others)}) == 6


def test_directories_are_part_of_a_fingerprint_for_a_debugger_only():
    """A program that is moved, or a notebook whose cells are files of another kernel, is known."""
    here, there = (
        replace(graph(replace(SINE, source=Source(f"{path}/f.py", 4, "f"))), source=source)
        for path in ("/here", "/there")
        for source in (Source(f"{path}/f.py", 3, "f"),)
    )
    assert here.fingerprint() == there.fingerprint()
    assert here.fingerprint(paths=True) != there.fingerprint(paths=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"output_names": ("a,b", "c")}, {"output_names": ("a", "b,c")}),
        ({"name": "f\nx"}, {"name": "f", "source": Source("x\n", 0, "")}),
        ({"source": Source("f.py:1", 2, "f")}, {"source": Source("f.py", 1, "f")}),
    ],
)
def test_names_with_commas_and_newlines_are_told_apart(one, other):
    first = graph(SINE)
    assert replace(first, **one).fingerprint() != replace(first, **other).fingerprint()


def test_an_equation_s_key_tells_what_it_computes():
    over = [Equation(reductions.reduce_sum, (X,), {"axes": a}, (Y,)) for a in ((0,), (0,), ())]
    assert over[0].key() == over[1].key() != over[2].key()
    assert SINE.key() != Equation(elementary.cos, (X,), {}, (Y,)).key()
