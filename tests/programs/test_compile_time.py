"""Compiling takes time in the length of a program: counted in calls of functions, not in seconds,
for programs of several kinds and of two lengths; and long programs give right results."""

import cProfile
import gc
import re

import numpy as np
import pytest
from thorough import each, one_in

import transpile
from benchmarks.compile_programs import KINDS
from transpile.options import Options
from transpile.runtime.executable import Lowering
from transpile.transforms.interpret import interpret

pytestmark = pytest.mark.full_level

# Calls for twice as many equations, relative to those for as many.
MOST_GROWTH = 2.3
# Shorter programs of updates are of another kind: not all elements have been set once.
# Deep programs take longest. Others are long where twice as many equations are no other kind.
LENGTHS = {"updates": 500, "deep": 150, "gradient_of_layers": 300}


def graph_of(kind, number):
    function, arguments = KINDS[kind].build(number, np, transpile)
    return transpile.jit(function).trace(*arguments)._graph


def calls_of(function):
    """How many Python functions, and functions of C, are called."""
    gc.collect()
    profile = cProfile.Profile()
    profile.runcall(function)
    return sum(entry.callcount for entry in profile.getstats())


def work(kind, number):
    """The calls that it takes to trace a program, to find its key, and to write it in C."""

    def compile_it():
        lowering = Lowering(graph_of(kind, number), Options())
        lowering.ingredients()
        lowering.c_text()

    return calls_of(compile_it)


@each("kind", KINDS, lambda kind: kind != "deep")
@one_in(4)
def test_the_work_grows_with_the_length(kind):
    work(kind, 48)  # what is imported and looked up once
    length = LENGTHS.get(kind, 120)
    few, many = work(kind, length), work(kind, 2 * length)
    assert many <= MOST_GROWTH * few, (kind, few, many)


@each("kind", ["chain", "shared", "scalars", "updates", "constants"], ("chain", "updates"))
def test_a_long_program_gives_what_its_steps_give(kind):
    function, arguments = KINDS[kind].build(1500, np, transpile)
    graph = transpile.jit(function).trace(*arguments)._graph
    leaves = [np.asarray(a) for a in arguments]
    for found, expected in zip(
        transpile.tree.leaves(transpile.jit(function)(*arguments)),
        interpret(graph, leaves),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def chain_of(length, first=0):
    """Sines of one array."""

    def function(x):
        for step in range(first, first + length):
            x = np.sin(x * (1 + step / 64))
        return x

    return function


X = np.linspace(-1, 1, 32)


def test_helpers_that_a_long_program_calls_give_the_same_bits():
    called = transpile.jit(chain_of(40))
    text = called.lower(X).as_text()
    assert re.search(r'simd\("notinbranch"\)\)\)\n#endif\nstatic double sin_', text)
    result = X
    for first in range(0, 40, 4):  # the same numbers from short programs, one after the other
        inlined = transpile.jit(chain_of(4, first))
        assert "noinline" not in inlined.lower(result).as_text()
        result = inlined(result)
    assert np.array_equal(called(X), result)


def test_many_numbers_make_an_array():
    def function(x):
        return np.stack([x[k % 32] * k for k in range(400)])

    assert np.array_equal(transpile.jit(function)(X), function(X))


def test_a_short_program_has_its_helpers_inline():
    assert "noinline" not in transpile.jit(chain_of(4)).lower(X).as_text()


def test_helpers_inside_of_choices_are_called_in_lanes():
    """gcc has no lanes for a loop with a call in the arm of a choice: the arms are named."""

    def function(x):
        for step in range(40):
            x = np.where(x > step / 64, np.sin(x), x)
        return x

    compiled = transpile.jit(function)
    text = compiled.lower(X).as_text()
    assert "noinline" in text and not re.search(r"[?:] sin_f64", text)
    np.testing.assert_allclose(compiled(X), function(X), rtol=1e-12)
