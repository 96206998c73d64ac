"""Common subexpressions are computed once, unless a test guards them."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from helpers import ordinary

from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    For,
    Kernel,
    Load,
    Program,
    Ref,
    Store,
)
from transpile.ir.loop_verifier import check
from transpile.ir.types import FLOAT64
from transpile.options import Options
from transpile.schedule.cleanup.local_cse import local_cse

pytestmark = pytest.mark.full_level

I = Symbol("i", 0, 3)
J = Symbol("j", 0, 3)


def element(name, symbol=I):
    return Load(name, (Dim.of(symbol),), FLOAT64)


def apply(op, *args):
    return Apply(op, args, FLOAT64)


def program_of(*body):
    x, y, z = (Buffer(name, (3,), FLOAT64) for name in "xyz")
    program = Program("f", (x,), (y, z), (Kernel("k", body),))
    check(program)
    return program


def test_a_value_used_twice_is_computed_once():
    sine = apply("sin", element("x"))
    program = program_of(
        For(I, 3, (Store("y", (Dim.of(I),), apply("multiply", sine, sine)),)),
        For(I, 3, (Store("z", (Dim.of(I),), sine),)),
    )
    after = assert_steps_agree(program, [np.array([1.0, -2.0, 0.5])], local_cse)
    assert str(after).count("sin(") == 2  # one in each loop


def test_a_square_of_an_expression_names_it():
    x = ordinary("f8", (5,))
    program = lowered(lambda x: np.square(x + 1), x)
    after = assert_steps_agree(program, [x], local_cse)
    assert len(statements_of(after, Declare)) == 1


def test_what_is_read_once_has_no_name():
    program = lowered(lambda x: np.sin(x) * np.cos(x), ordinary("f8", (5,)))
    assert local_cse(program, Options()) == program


def test_what_a_bound_guards_is_not_computed_without_it(monkeypatch):
    x = ordinary("f8", (4,))
    program = lowered(lambda x: np.square(np.pad(np.sqrt(x) + np.sqrt(x), 2)), x)
    after = local_cse(program, Options())
    (found,), (expected,) = run(after, [x]), run(program, [x])  # raises where x is read outside
    np.testing.assert_array_equal(found, expected)


def test_a_name_that_is_declared_again_inside_is_not_the_one_outside():
    twice = apply("add", Ref("t", FLOAT64), Ref("t", FLOAT64))
    inner = For(
        I,
        3,
        (
            Declare("t", element("x")),
            Declare("u", twice),
            Store("y", (Dim.of(I),), Ref("u", FLOAT64)),
        ),
    )
    outer = (Declare("t", Load("x", (0,), FLOAT64)), Declare("u", twice), inner)
    after = For(J, 3, (Store("z", (Dim.of(J),), Ref("u", FLOAT64)),))
    program = program_of(*outer, after)
    x = np.array([1.0, 2.0, 4.0])
    for found, expected in zip(
        run(local_cse(program, Options()), [x]), ([2, 4, 8], [2, 2, 2]), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_known_value_is_forgotten_when_its_operand_changes():
    read = apply("sqrt", Load("y", (0,), FLOAT64))
    program = program_of(
        Store("y", (0,), Load("x", (0,), FLOAT64)),
        Declare("t", read),
        Store("y", (1,), Ref("t", FLOAT64)),
        Store("y", (0,), Load("x", (1,), FLOAT64)),
        Store("y", (2,), read),
        For(J, 3, (Store("z", (Dim.of(J),), Ref("t", FLOAT64)),)),
    )
    found, _ = run(local_cse(program, Options()), [np.array([4.0, 9.0, 0.0])])
    np.testing.assert_array_equal(found, [9, 2, 3])
