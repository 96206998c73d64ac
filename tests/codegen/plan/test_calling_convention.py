"""How kernels are called: the parameters of their functions."""

from __future__ import annotations

import numpy as np
from graphs import scheduled

from transpile.codegen.plan.calling_convention import CallingConvention
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import Apply, Buffer, For, Kernel, Load, Program, Store, Swap
from transpile.ir.types import BOOL, FLOAT64

X, Y, OUT = (Buffer(name, (8,), FLOAT64) for name in ("x", "y", "out"))
NUMBER, MASK = Buffer("number", (), FLOAT64), Buffer("mask", (8,), BOOL)
TABLE = Buffer("table", (8,), FLOAT64, np.arange(8.0))
SYMBOL = Symbol("i", 0, 8)
I = (Dim.of(SYMBOL),)


def kernel_of(value, target=OUT, *further, shapes=()):
    """A kernel that gives each element of an array a value."""
    loop = For(SYMBOL, 8, (Store(target.name, I, value),))
    return Kernel("f_kernel", (loop, *further), shapes=shapes)


def parameters_of(kernel):
    program = Program("f", (X, NUMBER, MASK, Y), (OUT,), (kernel,), constants=(TABLE,))
    return {p.buffer.name: p for p in CallingConvention(program).parameters(kernel)}


def read(buffer):
    return Load(buffer.name, I if buffer.shape else (), buffer.dtype)


def product(left, right):
    return Apply("multiply", (left, right), FLOAT64)


def test_parameters_are_in_the_order_of_the_program_and_only_the_result_is_written():
    parameters = parameters_of(kernel_of(product(read(Y), read(X))))
    assert list(parameters) == ["x", "y", "out"]
    assert [p.is_written for p in parameters.values()] == [False, False, True]


def test_a_number_that_is_only_read_is_passed_itself():
    parameters = parameters_of(kernel_of(product(read(NUMBER), read(X))))
    assert {name for name, p in parameters.items() if p.by_value} == {"number"}
    writing = Kernel("f_kernel", (Store("number", (), read(NUMBER)),))
    assert not parameters_of(writing)["number"].by_value


def test_a_constant_is_global_unless_a_kernel_sees_it_in_another_shape():
    assert list(parameters_of(kernel_of(read(TABLE)))) == ["out"]
    value = Load("table", (*I, 0), FLOAT64)
    parameters = parameters_of(kernel_of(value, shapes=(("table", (8, 1)),)))
    table = parameters["table"]
    assert table.is_constant and table.buffer.shape == (8, 1) and table.outer.shape == (8,)
    assert table.needs_cast and not parameters["out"].needs_cast


def test_what_is_exchanged_says_so():
    parameters = parameters_of(kernel_of(read(X), Y, Swap("y", "out")))
    assert {name for name, p in parameters.items() if p.is_swapped} == {"y", "out"}
    assert parameters["out"].is_written


def test_bools_that_decide_are_read_as_bytes_and_others_are_not():
    chosen = Apply("select", (read(MASK), read(X), read(Y)), FLOAT64)
    mask = parameters_of(kernel_of(chosen))["mask"]
    assert mask.as_bytes and mask.needs_cast
    moved = Apply("convert_element_type", (read(MASK),), FLOAT64)
    assert not parameters_of(kernel_of(moved))["mask"].as_bytes


def test_kernels_of_one_program_take_what_each_uses():
    program = scheduled(lambda x, y: (np.cumsum(x), np.sort(y)), np.ones(8), np.ones(9))
    convention = CallingConvention(program)
    names = [[p.buffer.name for p in convention.parameters(k)] for k in program.kernels]
    inputs = [b.name for b in program.inputs]
    assert [[n for n in own if n in inputs] for own in names] == [[n] for n in inputs]
