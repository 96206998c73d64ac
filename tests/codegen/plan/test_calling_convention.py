"""How kernels are called: the parameters of their functions."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import scheduled
from thorough import one_in

import transpile
from transpile.codegen.plan.calling_convention import CallingConvention
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import Apply, Buffer, For, Kernel, Literal, Load, Program, Store, Swap
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


def mask_of(value, *further):
    return parameters_of(kernel_of(value, *(further or (OUT,))))["mask"]


def test_bools_among_numbers_are_read_as_bytes():
    mask = mask_of(Apply("select", (read(MASK), read(X), read(Y)), FLOAT64))
    assert mask.as_bytes and mask.needs_cast
    assert mask_of(Apply("convert_element_type", (read(MASK),), FLOAT64)).as_bytes
    is_less = Apply("less", (read(X), read(Y)), BOOL)
    assert mask_of(Apply("logical_and", (read(MASK), is_less), BOOL)).as_bytes


def test_bools_that_a_kernel_reads_and_writes_are_bytes_for_both():
    chosen = Apply("select", (read(MASK), read(X), read(Y)), FLOAT64)
    mask = mask_of(chosen, OUT, Store("mask", (0,), Literal(np.True_, BOOL)))
    assert mask.as_bytes and mask.is_written and mask.needs_cast


def test_bools_that_change_places_are_bytes_both_or_neither():
    other = Buffer("other", (8,), BOOL)
    chosen = Apply("select", (read(MASK), read(X), read(Y)), FLOAT64)
    true = Store("other", (0,), Literal(np.True_, BOOL))
    kernel = kernel_of(chosen, OUT, true, Swap("mask", "other"))
    taken = Program("g", (X, MASK, Y, other), (OUT,), (kernel,))
    pair = [p for p in CallingConvention(taken).parameters(kernel) if p.is_swapped]
    assert len(pair) == 2 and all(p.as_bytes for p in pair)


def test_bools_alone_and_those_that_are_only_written_or_a_routine_takes_are_not():
    assert not mask_of(Apply("logical_and", (read(MASK), read(MASK)), BOOL)).as_bytes
    is_less = Apply("less", (read(X), read(Y)), BOOL)
    assert not mask_of(is_less, MASK).as_bytes
    program = scheduled(lambda b: (np.sort(b), b + 1.0), np.ones(9, bool))
    convention = CallingConvention(program)
    assert not any(p.as_bytes for k in program.kernels for p in convention.parameters(k))


def test_bools_that_are_read_as_bytes_are_comparisons_in_conjunctions():
    # Beside a comparison gcc vectorises no `mask[i] & ...`.
    mask, x = np.ones(100, bool), np.ones(100)
    text = transpile.jit(lambda m, x: np.where(m & (x < 2), x, 0)).lower(mask, x).as_text()
    assert "const uint8_t m[" in text and "(m[i] != 0) & (x[i] < 2.0)" in text
    text = transpile.jit(lambda m, x: m & x).lower(mask, mask).as_text()
    assert "const bool m[" in text and "!= 0" not in text


@pytest.mark.parametrize("op", ["logical_not", "invert"])
def test_bools_that_are_negated_are_read_as_bytes(op):
    # Of `!mask[i]` gcc makes a vector for bytes alone.
    assert mask_of(Apply(op, (read(MASK),), BOOL)).as_bytes
    text = transpile.jit(lambda m, x: m & ~x).lower(*np.ones((2, 100), bool)).as_text()
    assert "const uint8_t m[" in text and "const uint8_t x[" in text


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "float32", "float64"])
@one_in(2)
def test_bools_have_the_values_of_numpy_among_numbers_of_every_size(dtype):
    random = np.random.default_rng(0)
    a, b = random.random((2, 1000)) < 0.5
    x = random.integers(0, 2, 1000).astype(dtype)

    def mixed(a, b, x):
        number = a.astype(x.dtype)
        return a & (x == number), ~a | (x != 0), np.where(a ^ b, x, number), x + b, a == x, a < b

    for got, want in zip(transpile.jit(mixed)(a, b, x), mixed(a, b, x), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_kernels_of_one_program_take_what_each_uses():
    program = scheduled(lambda x, y: (np.cumsum(x), np.sort(y)), np.ones(8), np.ones(9))
    convention = CallingConvention(program)
    names = [[p.buffer.name for p in convention.parameters(k)] for k in program.kernels]
    inputs = [b.name for b in program.inputs]
    assert [[n for n in own if n in inputs] for own in names] == [[n] for n in inputs]
