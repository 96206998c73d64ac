"""Random graphs with loops and branches: every step of the way to C computes what they mean."""

from __future__ import annotations

from random import Random

import pytest
from graphs import assert_same_results, small_machine
from loop_graphs import random_loops
from thorough import one_in

from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_verifier import check
from transpile.lower.kernels import lower
from transpile.options import Options
from transpile.passes import PASSES, optimise
from transpile.runtime.executable import Lowering
from transpile.schedule import SCHEDULE
from transpile.transforms.interpret import interpret

BUNDLE = 20


def assert_every_step_agrees(seed, options=Options(), *, reshapes=False):
    graph, values = random_loops(Random(seed), reshapes=reshapes)
    expected = interpret(graph, values)
    changed = graph
    for transform, _ in PASSES:
        changed = transform(changed, options.machine)
        changed.check()
        assert_same_results(interpret(changed, values), expected, transform.__name__)
    graph = optimise(graph, options.machine)
    assert_same_results(interpret(graph, values), expected, "optimise")
    donated = tuple(range(len(values))) if seed % 3 == 0 else ()
    program = lower(graph, donated, options.machine)
    assert_same_results(run(program, values), expected, "lower")
    for step, _ in SCHEDULE:
        before, program = program, step(program, options)
        check(program)
        if program != before:
            assert_same_results(run(program, values), expected, step.__name__)


@pytest.mark.parametrize("first", range(0, 100, BUNDLE))
@one_in(5)
def test_every_step_agrees_with_the_graph(first):
    for seed in range(first, first + BUNDLE):
        assert_every_step_agrees(seed)


@pytest.mark.parametrize("first", range(300, 400, BUNDLE))
@one_in(5)
def test_every_step_agrees_when_small_arrays_meet_it(first):
    for seed in range(first, first + BUNDLE):
        assert_every_step_agrees(seed, Options(machine=small_machine(seed)))


@pytest.mark.parametrize("first", range(300, 500, BUNDLE))
@one_in(10)
def test_every_step_agrees_where_loops_reshape(first):
    for seed in range(first, first + BUNDLE):
        options = Options(machine=small_machine(seed)) if seed % 2 else Options()
        assert_every_step_agrees(seed, options, reshapes=True)


@pytest.mark.parametrize("seed", range(1000, 1020))
@one_in(4)
def test_c_agrees_with_the_graph(seed):
    graph, values = random_loops(Random(seed))
    found = Lowering(graph, Options(opt_level=1)).build()(values)
    assert_same_results(found, interpret(graph, values), "C")
