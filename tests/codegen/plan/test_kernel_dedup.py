"""Kernels that are alike: programs have one function for all that differ in names only."""

import re
from dataclasses import replace

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.codegen.plan.calling_convention import CallingConvention
from transpile.codegen.plan.kernel_dedup import functions_for
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import Apply, Buffer, For, Kernel, Literal, Load, Program, Store
from transpile.ir.types import FLOAT32, FLOAT64
from transpile.machine import Machine
from transpile.options import Options

pytestmark = pytest.mark.full_level

A, B, C, D = (Buffer(name, (8,), FLOAT64) for name in "abcd")
NARROW, LONGER, COLUMN = (
    Buffer("narrow", (8,), FLOAT32),
    Buffer("longer", (9,), FLOAT64),
    Buffer("column", (8, 1), FLOAT64),
)
TABLE, OTHER_TABLE = (Buffer(n, (8,), FLOAT64, np.arange(8.0)) for n in ("table", "other_table"))


def scaled(number, source, target, *, index="i", factor=2.0, op="multiply", **fields):
    """A kernel that multiplies one array into another."""
    i = Dim.symbol(index, 0, 8)
    subscripts = (i, 0)[: len(source.shape)]
    value = Apply(
        op, (Load(source.name, subscripts, source.dtype), Literal(factor, FLOAT64)), FLOAT64
    )
    loop = For(Symbol(index, 0, 8), 8, (Store(target.name, (i,), value),), simd=True)
    return Kernel(f"f_{number}", (replace(loop, **fields),), comment=(f"line {number}",))


# Every program is long, and none is huge.
LONG = {"longest_usual_program": 0, "longest_long_program": 10**6}


def functions(*kernels, debug=False, **limits):
    """The names of the kernels that have a function together, and the effort."""
    options = Options(debug=debug, machine=Machine(**LONG | limits))
    buffers = (A, NARROW, LONGER, COLUMN, B)
    program = Program("f", buffers, (C, D), kernels, constants=(TABLE, OTHER_TABLE))
    groups, effort = functions_for(program, CallingConvention(program), options)
    return [[kernel.name for kernel in group.kernels] for group in groups], effort


def test_kernels_that_differ_in_names_are_one_function():
    first, other = scaled(1, A, C), scaled(2, B, D, index="k")
    assert functions(first, other) == ([["f_1", "f_2"]], "long")
    assert functions(first, other, debug=True) == ([["f_1"], ["f_2"]], "long")
    assert functions(first, other, longest_usual_program=100) == ([["f_1", "f_2"]], "usual")


def test_parameters_go_by_the_order_in_which_kernels_mention_them():
    """The program has what the second one reads behind what it writes."""
    program = Program("f", (A,), (C, D), (scaled(1, A, D), scaled(2, D, C)))
    (group,), _ = functions_for(program, CallingConvention(program), Options())
    names = [[p.buffer.name for p in arguments] for arguments in group.arguments]
    assert names == [["a", "d"], ["d", "c"]]


def test_functions_are_in_the_order_of_their_first_kernels():
    kernels = [scaled(k, (A, B)[k % 2], C, factor=(1.0, 3.0, 2.0)[k % 3]) for k in range(6)]
    assert functions(*kernels)[0] == [["f_0", "f_3"], ["f_1", "f_4"], ["f_2", "f_5"]]


def test_a_huge_program_of_few_functions_is_but_long():
    def effort(*kernels, **given):
        return functions(*kernels, longest_long_program=40, **given)[1]

    same = [scaled(k, A, C) for k in range(9)]
    assert effort(*same[:1]) == effort(*same) == "long"
    assert effort(*same, debug=True) == "huge"
    assert effort(*(scaled(k, A, C, factor=k) for k in range(9))) == "huge"
    assert effort(same[0], longest_usual_program=40) == "usual"


@pytest.mark.parametrize(
    "other",
    [
        scaled(2, A, C, factor=3.0),
        scaled(2, A, C, op="add"),
        scaled(2, C, C),
        scaled(2, NARROW, C),
        scaled(2, LONGER, C),
        scaled(2, COLUMN, C),
        scaled(2, TABLE, C),
        scaled(2, A, C, simd=False),
        scaled(2, A, C, parallel=True),
    ],
)
def test_kernels_that_differ_in_more_are_two(other):
    assert functions(scaled(1, A, C), other)[0] == [["f_1"], ["f_2"]]


def test_constants_are_known_by_their_names():
    """No function is given them, so equal ones are two."""
    first, other = scaled(1, TABLE, C), scaled(2, OTHER_TABLE, C)
    assert functions(first, other)[0] == [["f_1"], ["f_2"]]
    assert functions(first, scaled(2, TABLE, D))[0] == [["f_1", "f_2"]]


def layered(x, weights, table, depth):
    """Layers of which the third has another table and the last one adds a number of its own."""
    for layer in range(depth):
        hidden = np.maximum(x @ weights[layer % 2], 0.1)
        hidden = hidden * (table if layer == 2 else 1.5)
        x = hidden / (1 + np.abs(hidden).sum(axis=1, keepdims=True)) + x[::-1]
        x = x + (7 if layer == depth - 1 else 3)
    return x, x.sum(axis=0)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@one_in(3)
def test_programs_of_layers_have_few_functions_and_the_same_results(dtype):
    random, depth = np.random.default_rng(1), 21
    x, weights = random.normal(size=(6, 16)) * 4, random.normal(size=(2, 16, 16)) * 2
    x, weights, table = x.astype(dtype), weights.astype(dtype), np.arange(16).astype(dtype)

    def compiled(options):
        function = transpile.jit(
            lambda *given: layered(*given, table, depth), compiler_options=options
        )
        return function.lower(x, weights)

    debugged, usual, long = map(compiled, ({"debug": True}, {}, {"machine": Machine(**LONG)}))
    debugged_text, usual_text, long_text = (
        lowered.as_text() for lowered in (debugged, usual, long)
    )
    pattern = r"^static void lambda\w*_\d+\("
    many, few, fewer = (
        len(re.findall(pattern, t, re.MULTILINE)) for t in (debugged_text, usual_text, long_text)
    )
    assert few == fewer <= many / 2 and many > depth / 2
    calls = r"^    lambda\w*_\d+\("
    assert len(re.findall(calls, usual_text, re.MULTILINE)) == many
    results = (lowered.compile()(x, weights) for lowered in (debugged, usual, long))
    expected = layered(x, weights, table, depth)
    for alone, together, longer, reference in zip(*results, expected, strict=True):
        np.testing.assert_allclose(together, reference, rtol=1e-3 if dtype == "f4" else 1e-10)
        np.testing.assert_allclose(together, alone, rtol=1e-4 if dtype == "f4" else 1e-12)
        np.testing.assert_allclose(longer, alone, rtol=1e-4 if dtype == "f4" else 1e-12)


def test_programs_that_are_debugged_have_a_function_for_each_line():
    x, weights = np.ones((4, 4)), np.ones((2, 4, 4))
    options = {"debug": True, "machine": Machine(**LONG)}
    function = transpile.jit(lambda *given: layered(*given, 1.0, 5), compiler_options=options)
    text = function.lower(x, weights).as_text()
    assert len(re.findall(r"^static void lambda\w*_\d+\(", text, re.MULTILINE)) == len(
        re.findall(r"^    lambda\w*_\d+\(", text, re.MULTILINE)
    )
