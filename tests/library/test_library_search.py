"""The first True of a long row is searched for; any and all of what is there stop at it."""

import numpy as np
import pytest
from helpers import trace_to_graph
from thorough import one_in

import transpile
from transpile.intrinsics.sorting import FirstOf
from transpile.ir.loop_rewrite import walk
from transpile.lower.kernels import lower
from transpile.machine import Machine
from transpile.passes import optimise

MACHINE = Machine(shortest_bool_search=5, shortest_truth_search=5)


def searches(f, *args, machine=MACHINE):
    program = lower(optimise(trace_to_graph(f, *args), machine), machine=machine)
    calls = [s for kernel in program.kernels for s in walk(kernel.body)]
    return sum(isinstance(s, FirstOf) for s in calls)


def positions(b, x):
    return (
        b.argmax(axis=-1),
        b.argmin(axis=-1),
        b.argmax(),
        np.argmin(b, axis=None, keepdims=True),
        np.argmax(x > 0, axis=-1),
        np.argmin(b[:, ::-1, ::2], axis=-1),
        np.argmax(b.T, axis=-1),
        b.argmax(axis=0),
        b.any(),
        b.all(),
        np.any(b.ravel()),
        np.all(x > 0),
        b.any(axis=-1),
    )


@pytest.mark.parametrize("shape", [(3, 4, 23), (2, 9, 6), (5, 6, 8), (1, 5, 300)])
@one_in(2)
def test_positions_are_numpys(shape):
    random = np.random.default_rng(shape[-1])
    jitted = transpile.jit(positions, compiler_options={"machine": MACHINE})
    assert searches(positions, np.ones(shape, bool), np.ones(shape)) >= 5
    for share in (0, 0.02, 0.5, 0.98, 1):
        b, x = random.random(shape) < share, random.random(shape) - share
        for ours, want in zip(jitted(b, x), positions(b, x), strict=True):
            assert (ours.dtype, ours.shape) == (want.dtype, want.shape)
            np.testing.assert_array_equal(ours, want)


def test_a_single_bool_at_each_position_is_found():
    """Among the first eight, which are looked at together, and behind them; in many rows, too."""
    rows = np.eye(300, dtype=bool)
    found = transpile.jit(lambda b: (b.argmax(1), (~b).argmin(1)))
    for positions in found(rows):
        np.testing.assert_array_equal(positions, np.arange(300))
    many = np.zeros((20_000, 300), bool)
    many[np.arange(20_000), np.arange(20_000) % 300] = True
    np.testing.assert_array_equal(found(many)[0], np.arange(20_000) % 300)


def test_short_rows_and_other_axes_are_loops():
    b = np.ones((6, 4), bool)
    assert searches(lambda b: b.argmax(axis=1), b) == 0
    assert searches(lambda b: b.argmax(axis=0), np.ones((60, 4), bool)) == 0
    assert searches(lambda b: b.argmax(axis=1), np.ones((6, 60), np.uint8)) == 0
    assert searches(lambda x: (x > 0).any(), np.ones(60)) == 0  # each has to be computed first
    assert searches(lambda b: b.any(axis=1), np.ones((60, 60), bool)) == 0
    assert searches(np.any, np.ones(255, bool), machine=Machine()) == 0
    assert searches(np.any, np.ones(256, bool), machine=Machine()) == 1
