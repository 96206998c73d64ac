"""Effort: long programs are compiled without copies of functions, huge ones at -O1 with lanes."""

import dataclasses

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.build import toolchain
from transpile.build.compiler_probe import find_compiler
from transpile.codegen import compile_budget
from transpile.machine import Machine
from transpile.options import Options

pytestmark = pytest.mark.full_level

IS_GCC = find_compiler(Options()).kind == "gcc"


def network(x, weights, layers=3):
    """Layers of a network without loops: products, sums of rows and functions."""
    for _ in range(layers):
        hidden = np.tanh(x @ weights)
        x = (hidden - hidden.mean(axis=1, keepdims=True)) / (1 + abs(hidden).sum(axis=0))
    return x, x.sum(axis=1)


def arguments():
    random = np.random.default_rng(0)
    return random.normal(size=(37, 12)), random.normal(size=(12, 12))


def log_of(compiled):
    return compiled._executable.entry.path("build.log").read_text()


def vectors(compiled):
    """Whether the program computes in vector registers longer than SSE's."""
    assembly = compiled.as_text("asm")
    return "ymm" in assembly or "zmm" in assembly


def test_effort_follows_from_the_length():
    machine = Machine(longest_usual_program=7, longest_long_program=20)
    lengths = {0: "usual", 7: "usual", 8: "long", 20: "long", 21: "huge"}
    assert {n: compile_budget.effort_for(n, machine) for n in lengths} == lengths


@pytest.mark.parametrize("kind", ["gcc", "clang"])
def test_flags_of_the_level_follow_the_effort_only_for_gcc(kind):
    compiler = dataclasses.replace(find_compiler(Options()), kind=kind)

    def flags(effort, asked=3, **options):
        return toolchain.flags(compiler, Options(opt_level=asked, **options), effort)

    usual, long, huge = flags("usual"), flags("long"), flags("huge")
    assert usual == toolchain.flags(compiler, Options())
    if kind == "clang":
        assert usual == long == huge == flags("vectors")
        return
    assert "-O3" in long and set(long) - set(usual) == {*compile_budget._CALLS}
    assert "-O1" in huge and set(huge) - set(usual) == {
        "-O1",
        *compile_budget._CALLS,
        *compile_budget._LANES,
    }
    assert "-O2" in flags("long", 2) and "-O1" in flags("huge", 2)
    assert "-ftree-slp-vectorize" in flags("huge", 2)
    written_out = flags("vectors")
    assert "-O2" in written_out and set(written_out) - set(usual) == {
        "-O2",
        *compile_budget._DYNAMIC,
    }
    for effort in ("usual", "vectors", "long", "huge"):  # asked for less, a program gets no more
        assert "-O0" in flags(effort, 0) and "-ftree-slp-vectorize" not in flags(effort, 0)
        assert "-O1" in flags(effort, 1) and "-ftree-slp-vectorize" in flags(effort, 1)
    with_own = flags("huge", extra_cflags=("-O3",))
    assert with_own.index("-O3") > with_own.index("-O1")  # the user has the last word


@pytest.mark.skipif(not IS_GCC, reason="only gcc's effort depends on the length")
@pytest.mark.parametrize(("wanted", "limits"), [("long", (10, 10**6)), ("huge", (5, 10))])
@one_in(2)
def test_text_log_and_assembly_are_of_one_effort(wanted, limits):
    x, weights = arguments()
    usual = vectors(transpile.jit(network).lower(x, weights).compile())
    machine = Machine(longest_usual_program=limits[0], longest_long_program=limits[1])
    lowered = transpile.jit(network, compiler_options={"machine": machine}).lower(x, weights)
    flags = compile_budget.effort_flags(wanted, 3)
    text = lowered.as_text()
    assert f"\n   {wanted}: gcc takes least time with\n" in text and flags[-1] in text
    compiled = lowered.compile()
    log = log_of(compiled)
    assert all(flag in log.split() for flag in flags)
    assert (" -O1 " if wanted == "huge" else " -O3 ") in log
    for found, expected in zip(compiled(x, weights), network(x, weights), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert vectors(compiled) == usual


@pytest.mark.skipif(not IS_GCC, reason="only gcc gets flags for vectorisation")
def test_programs_at_level_1_are_vectorised():
    def sums(x):
        return x @ x, np.isnan(x).any(), np.exp(x).sum(axis=1)

    x = np.ones((70, 70))
    options = {"opt_level": 1}
    compiled = transpile.jit(sums, compiler_options=options).lower(x).compile()
    assert " -O1 " in log_of(compiled) and vectors(compiled)
    assert vectors(transpile.jit(sums).lower(x).compile())


def test_usual_programs_say_nothing_of_effort():
    x, weights = arguments()
    lowered = transpile.jit(network).lower(x, weights)
    assert "gcc takes" not in lowered.as_text()
    log = log_of(lowered.compile())
    assert "-O3" in log and "-fno-inline-functions" not in log
