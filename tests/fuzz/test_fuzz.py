"""Random whole graphs: every step of the way to C computes what the graph means."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import assert_same_results, random_graph, small_machine
from thorough import one_in

from transpile import jit
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_verifier import check
from transpile.lower.kernels import lower
from transpile.options import Options
from transpile.passes import PASSES
from transpile.runtime.executable import Lowering
from transpile.schedule import SCHEDULE
from transpile.transforms.interpret import interpret

# Each test runs this many graphs, so that a failure names a few and the run stays quick.
BUNDLE = 30


def assert_every_step_agrees(seed, options=Options()):
    graph, values = random_graph(seed)
    expected = interpret(graph, values)
    for transform, _ in PASSES:
        graph = transform(graph, options.machine)
        graph.check()
        assert_same_results(interpret(graph, values), expected, transform.__name__)
    donated = tuple(range(len(values))) if seed % 3 == 0 else ()
    program = lower(graph, donated, options.machine)
    assert_same_results(run(program, values), expected, "lower")
    for step, _ in SCHEDULE:
        before, program = program, step(program, options)
        check(program)
        if program != before:
            assert_same_results(run(program, values), expected, step.__name__)


@pytest.mark.parametrize("first", range(0, 60, BUNDLE))
@one_in(2)
def test_every_step_agrees_with_the_graph(first):
    for seed in range(first, first + BUNDLE):
        assert_every_step_agrees(seed)


@pytest.mark.parametrize("first", range(300, 360, BUNDLE))
@one_in(2)
def test_every_step_agrees_when_small_arrays_meet_it(first):
    for seed in range(first, first + BUNDLE):
        assert_every_step_agrees(seed, Options(machine=small_machine(seed)))


def assert_c_agrees(seed, options):
    graph, values = random_graph(seed)
    found = Lowering(graph, options).build()(values)
    assert_same_results(found, interpret(graph, values), "C")


@pytest.mark.parametrize("seed", range(1000, 1020))
@one_in(4)
def test_c_agrees_with_the_graph(seed):
    assert_c_agrees(seed, Options(opt_level=1))


@pytest.mark.parametrize("seed", [*range(1020, 1040), 5347])
@one_in(4)
def test_c_agrees_with_the_graph_when_small_arrays_meet_every_step(seed):
    assert_c_agrees(seed, Options(opt_level=1, num_threads=3, machine=small_machine(seed)))


def test_products_of_two_dtypes_share_their_helpers():
    x, y = np.ones((16, 24)), np.ones((24, 16), "f4")
    found = jit(lambda x, y: (x @ x.T, y.T @ y))(x, y)
    assert_same_results(found, (np.full((16, 16), 24.0), np.full((16, 16), 24, "f4")))
