"""The summary of a program: its length, about as many names and numbers as its C has, and more."""

import re

import numpy as np
import pytest
from golden_functions import FUNCTIONS

import transpile
from transpile.codegen.plan.summary import Summary, summary_of
from transpile.intrinsics.tiles import TransposeTile
from transpile.ir.calls import Strided
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import Apply, Declare, For, If, Kernel, Literal, Load, Ref, Store, Update
from transpile.ir.types import BOOL, COMPLEX128, FLOAT64, INT64


def length(kernels):
    return summary_of(kernels).length


def words_of(kernels, text):
    """The names and numbers in the bodies of the functions of kernels in a C text."""
    heads = "|".join(kernel.name for kernel in kernels)
    bodies = re.findall(rf"^static void (?:{heads})\([^{{]*{{\n(.*?)^}}", text, re.M | re.S)
    code = re.sub(r"^ *#.*$", "", "\n".join(bodies), flags=re.M)
    return len(re.findall(r"\w+", code))


@pytest.mark.parametrize(
    ("function", "arguments"), FUNCTIONS.items(), ids=lambda v: getattr(v, "__name__", "")
)
def test_a_program_has_about_as_many_names_and_numbers_as_its_text(function, arguments):
    lowered = transpile.jit(function, compiler_options={"blas": "none"}).lower(*arguments)
    kernels = lowered.compiler_ir("loops").kernels
    words = words_of(kernels, lowered.as_text("c"))
    assert words and 0.85 * words - 5 <= length(kernels) <= 1.15 * words + 5


INDEX = Dim.symbol("i", 0, 8)
X = Load("x", (INDEX,), FLOAT64)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (Declare("a", X), 3 + 2),  # const double a = x[i];
        (Store("x", (2 * INDEX + 1,), Ref("a", FLOAT64)), 1 + 3 + 1),  # x[2 * i + 1] = a;
        (
            Update(Ref("a", FLOAT64), "add", Apply("exp", (X,), FLOAT64)),
            1 + 1 + 2,
        ),  # a += exp(x[i]);
        (Store("x", (0,), Apply("add", (X, Literal(2.5, FLOAT64)), FLOAT64)), 2 + 2 + 2),
        (Store("x", (0,), Literal(3, INT64)), 2 + 1),
        (For(Symbol("i"), 8, (Store("x", (INDEX,), Ref("a", FLOAT64)),)), 5 + 2 + 3),
    ],
)
def test_names_and_numbers_are_counted_and_operators_are_not(statement, expected):
    assert length([Kernel("kernel", (statement,))]) == expected
    assert length([Kernel("kernel", (statement,))] * 3) == 3 * expected


def test_a_long_program_is_as_long_as_its_parts():
    def chain(steps):
        def function(x):
            for k in range(steps):
                x = np.sin(x * (1 + k / 64)) + 0.25
            return x

        unrolled = transpile.jit(function, python_control_flow=False)
        return length(unrolled.lower(np.ones(64)).compiler_ir("loops").kernels)

    assert 8 * chain(20) < chain(200) < 11 * chain(20)


def summary(*body):
    return summary_of([Kernel("kernel", body)])


SHORT = Load("s", (INDEX,), np.dtype("i1"))
PLAIN = Store("x", (INDEX,), X)


def test_directives_are_those_of_loops_inside_others_too():
    def nest(**marks):
        inner = For(Symbol("i", 0, 8), 8, (PLAIN,), **marks)
        return For(Symbol("j", 0, 4), 4, (If(Literal(True, BOOL), (inner,)),))

    assert not summary(nest()).is_marked and not summary(nest()).is_parallel
    assert summary(nest(simd=True)).is_marked and not summary(nest(simd=True)).is_parallel
    assert summary(nest(parallel=True)).is_marked and summary(nest(parallel=True)).is_parallel


def test_values_that_are_complex_or_reduced_in_few_bits_are_found_anywhere():
    root = Apply("sqrt", (Literal(1j, COMPLEX128),), COMPLEX128)
    assert summary(Store("x", (INDEX,), Apply("absolute", (root,), FLOAT64))).is_complex
    assert not summary(PLAIN).is_complex and not summary(PLAIN).reduces_short_integers
    assert summary(
        Store("s", (0,), Apply("add", (SHORT, SHORT), SHORT.dtype))
    ).reduces_short_integers
    assert not summary(Store("s", (0,), SHORT)).reduces_short_integers
    acc = Ref("acc", SHORT.dtype)
    assert summary(Update(acc, "maximum", SHORT)).reduces_short_integers
    assert not summary(Update(acc, "set", SHORT)).reduces_short_integers
    wide = Ref("acc", np.dtype("i4"))
    assert not summary(Update(wide, "add", Literal(1, wide.dtype))).reduces_short_integers


def test_sums_of_integers_beside_other_results_in_lanes_are_at_fault():
    acc, other = Ref("acc", INT64), Ref("acc2", FLOAT64)
    counted, summed = Update(acc, "add", Literal(1, INT64)), Update(other, "add", X)

    def loop(*body, simd=True):
        return summary(For(Symbol("i", 0, 8), 8, body, simd=simd))

    assert loop(counted, summed).loses_lanes
    assert not loop(counted).loses_lanes and not loop(summed, summed).loses_lanes
    assert not loop(counted, summed, simd=False).loses_lanes
    assert loop(PLAIN).is_in_lanes and not loop(PLAIN, simd=False).is_in_lanes
    assert summary(If(Literal(True, BOOL), (PLAIN,))).is_branched and not loop(PLAIN).is_branched


def test_the_summary_of_kernels_is_that_of_all_of_them():
    copy = TransposeTile(4, 8, 8, Strided(X, (8, 1)), Strided(Load("y", (0,), FLOAT64)))
    kernels = [
        Kernel("a", (PLAIN,)),
        Kernel("b", (copy,)),
        Kernel("c", (For(Symbol("i", 0, 8), 8, (PLAIN,), simd=True),)),
    ]
    assert summary_of(kernels).intrinsics == {TransposeTile}
    assert summary_of(kernels).is_marked and not summary_of(kernels[:2]).is_marked
    assert length(kernels) == sum(length([kernel]) for kernel in kernels)
    assert summary_of([]) == Summary(0, *[False] * 13, 0, False, False, frozenset())
