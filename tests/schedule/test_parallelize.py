"""Only independent loops with enough work run on several threads."""

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered, scheduled
from helpers import ordinary

from transpile.analysis.oracle.loop_interpreter import run
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.parallelize import parallelize_loops

pytestmark = pytest.mark.full_level


def parallel_loops(program):
    return [str(loop.symbol) for loop in loops_of(program) if loop.parallel]


# Threads for loops of any size.
SMALL = Options(machine=Machine(least_parallel_work=1))


def test_a_large_elementwise_loop_is_parallel():
    program = parallelize_loops(
        lowered(lambda x: np.sin(x) * 2, ordinary("f8", (100000,))), Options()
    )
    assert parallel_loops(program) == ["i"]


def test_a_small_loop_is_not():
    program = lowered(lambda x: np.sin(x) * 2, ordinary("f8", (100,)))
    assert parallelize_loops(program, Options()) == program


def test_nothing_is_parallel_without_openmp():
    program = lowered(lambda x: np.sin(x) * 2, ordinary("f8", (100000,)))
    assert parallelize_loops(program, Options(openmp=False)) == program


@pytest.mark.parametrize("shape", [(200, 64), (200, 8), (400, 3)])
def test_accumulators_are_not_shared_when_columns_are_summed(shape):
    x = ordinary("f8", shape)
    program = scheduled(lambda x: x.sum(axis=0), x, options=SMALL)
    (found,) = run(program, [x])  # raises where iterations meet
    np.testing.assert_array_equal(found, x.sum(axis=0))


def test_a_scan_is_not_parallel():
    program = lowered(np.cumsum, ordinary("f8", (50,)))
    assert parallel_loops(parallelize_loops(program, SMALL)) == []


def test_rows_are_shared_out():
    x = ordinary("f8", (6, 9))
    program = lowered(lambda x: np.cumsum(x, axis=1) - x.max(1, keepdims=True), x)
    assert parallel_loops(assert_steps_agree(program, [x], parallelize_loops, SMALL)) == ["i"]
