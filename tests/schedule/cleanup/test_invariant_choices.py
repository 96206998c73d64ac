"""Conditions that are the same in all lanes stand before the loop, and results stay."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from thorough import one_in

from transpile import jit
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    For,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Store,
    Within,
)
from transpile.ir.loop_rewrite import subexpressions
from transpile.options import Options
from transpile.schedule import SCHEDULE
from transpile.schedule.cleanup.choices.invariant_choices import hoist_choices

HALVES = np.linspace(-2, 2, 6).reshape(6, 1).astype(np.float16)
X = np.linspace(0.1, 3, 6 * 40).reshape(6, 40)
DOUBLE = np.dtype("float64")


def before(f, *args):
    """The loops as the pass gets them."""
    program = lowered(f, *args)
    for loop_pass, _ in SCHEDULE:
        if loop_pass is hoist_choices:
            return program
        program = loop_pass(program, Options())
    raise AssertionError("hoist_choices is not in SCHEDULE")


def lanes(program):
    """The loops in lanes."""
    return [loop for loop in statements_of(program, For) if loop.simd]


def operations(loop):
    """The operations in a loop."""
    values = [s.value for s in loop.body]
    return {p.op for v in values for p in subexpressions(v) if isinstance(p, Apply)}


@pytest.mark.parametrize(
    ("f", "first"),
    [
        (lambda h, x: h * x, HALVES),
        (lambda b, x: b * x, HALVES > 0),
        (lambda y, x: x + (y[:, :1] > 0.5), X),
        (lambda h, x: np.where(x > 1, h, x), HALVES),
        (lambda h, x: np.add.outer(h[:, 0], x[0]), HALVES),
    ],
)
@one_in(2)
def test_what_is_the_same_in_all_lanes_is_computed_before_the_loop(f, first):
    program = before(f, first, X)
    (loop,) = lanes(program)
    assert "convert_element_type" in operations(loop)
    after = assert_steps_agree(program, [first, X], hoist_choices)
    (loop,) = lanes(after)
    assert "convert_element_type" not in operations(loop)
    np.testing.assert_array_equal(jit(f)(first, X), f(first, X))


def test_plain_arithmetic_and_what_changes_in_the_loop_stay():
    program = before(lambda s, x: x * (s + 1.0), X[:, :1], X)
    assert hoist_choices(program, Options()) is program
    program = before(lambda h, x: np.power(h, x.astype(np.float16)), HALVES[:, 0], X[:, 0])
    assert hoist_choices(program, Options()) is program


def test_an_expression_that_occurs_twice_gets_one_name_and_declarations_move():
    i, j = Symbol("i", 0, 6), Symbol("j", 0, 40)
    half = Apply("convert_element_type", (Load("h", (Dim.of(i),), np.dtype("f2")),), DOUBLE)
    root = Apply("sqrt", (Ref("t", DOUBLE),), DOUBLE)
    total = Apply("add", (Ref("t", DOUBLE), Load("x", (Dim.of(i), Dim.of(j)), DOUBLE)), DOUBLE)
    value = Apply("subtract", (Apply("multiply", (total, half), DOUBLE), root), DOUBLE)
    body = (Declare("t", half), Store("out", (Dim.of(i), Dim.of(j)), value))
    shapes = {"h": (6,), "x": (6, 40), "out": (6, 40)}
    h, x, out = (Buffer(n, s, np.dtype("f2") if n == "h" else DOUBLE) for n, s in shapes.items())
    loops = (For(i, 6, (For(j, 40, body, simd=True),)),)
    program = Program("f", (h, x), (out,), (Kernel("k", loops),))
    after = assert_steps_agree(program, [HALVES[:, 0], X], hoist_choices)
    assert sorted(d.value.op for d in statements_of(after, Declare)) == [
        "convert_element_type",
        "sqrt",
    ]
    assert operations(lanes(after)[0]) == {"add", "multiply", "subtract"}


def loop_program(index, length):
    """out[i, j] = i < 5 ? exp(row[index(i)]) : x[i, j], over 6 by `length` elements."""
    i, j = Symbol("i", 0, 6), Symbol("j", 0, length)
    at = (Dim.of(i), Dim.of(j))
    test = Within(Dim.of(i), 0, 5)
    value = Apply("exp", (Load("row", (index(Dim.of(i)),), DOUBLE),), DOUBLE)
    value = Apply("select", (test, value, Load("x", at, DOUBLE)), DOUBLE)
    inner = For(j, length, (Store("out", at, value),), simd=True)
    shapes = {"row": (5,), "x": (6, length), "out": (6, length)}
    row, x, out = (Buffer(name, shape, DOUBLE) for name, shape in shapes.items())
    return Program("f", (row, x), (out,), (Kernel("k", (For(i, 6, (inner,)),)),))


def test_elements_that_may_not_exist_are_read_under_their_test():
    program = loop_program(lambda i: i, 8)
    assert hoist_choices(program, Options()) is program


def test_elements_that_exist_are_read_whatever_the_test_says():
    program = loop_program(lambda i: i - i + 4, 8)
    row, x = np.linspace(0, 1, 5), np.ones((6, 8))
    after = assert_steps_agree(program, [row, x], hoist_choices)
    (declared,) = statements_of(after, Declare)
    assert declared.value.op == "exp"


def test_subscripts_of_the_loop_are_no_invariants():
    i = Symbol("i", 0, 8)
    value = Apply("exp", (Apply("convert_element_type", (IndexValue(Dim.of(i)),), DOUBLE),), DOUBLE)
    body = (Store("out", (Dim.of(i),), Apply("add", (value, Literal(1.0, DOUBLE)), DOUBLE)),)
    kernel = Kernel("k", (For(i, 8, body, simd=True),))
    program = Program("f", (), (Buffer("out", (8,), DOUBLE),), (kernel,))
    assert hoist_choices(program, Options()) is program
