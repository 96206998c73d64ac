"""Nests over an array and a transposed one are tiled."""

import numpy as np
import pytest
from graphs import (
    assert_same_results,
    assert_steps_agree,
    loops_of,
    lowered,
    statements_of,
)
from helpers import ordinary, trace_to_graph
from thorough import one_in

from transpile import jit
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.calls import Call
from transpile.ir.loop_ir import Alloc
from transpile.lower.kernels import lower
from transpile.machine import Machine
from transpile.options import Options
from transpile.passes import optimise
from transpile.schedule import schedule
from transpile.schedule.blocking.tile import tile

pytestmark = pytest.mark.full_level


# Tiles of 4 elements a side, or of 24 bytes.
MACHINE = Machine(tile=4, fewest_tiles=2, transposed_row_bytes=24)
SMALL = Options(machine=MACHINE)


def in_c(f):
    """A function compiled at these thresholds."""
    return jit(f, compiler_options={"machine": MACHINE})


@pytest.mark.parametrize("shape", [(8, 8), (9, 11), (8, 13)])
def test_a_transposed_array_is_read_tile_by_tile(shape):
    x, y = ordinary("f8", shape), ordinary("f8", shape[::-1])
    after = assert_steps_agree(lowered(lambda x, y: x.T + y, x, y), [x, y], tile, SMALL)
    assert len(loops_of(after)) == 4


@pytest.mark.parametrize("f", [lambda x: x + 1, lambda x: x.T * x.sum(), lambda x: x.sum(axis=0)])
def test_nests_that_read_one_way_have_no_tiles_that_change_them(f):
    x = ordinary("f8", (7, 7))  # smaller than two tiles
    program = lowered(f, x)
    assert tile(program, SMALL) == program


def test_a_vector_that_the_outer_loop_walks_is_no_matrix():
    x, y = ordinary("f8", (400,)), ordinary("f8", (400, 400))
    program = lowered(lambda x, y: y * x[:, None], x, y)
    assert tile(program, SMALL) == program


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u8"])
def test_what_is_read_along_columns_is_transposed_into_a_local_array(dtype):
    x, y = ordinary(dtype, (11, 13)), ordinary(dtype, (13, 11))
    after = assert_steps_agree(lowered(lambda x, y: x + y.T, x, y), [x, y], tile, SMALL)
    (call,) = statements_of(after, Call)
    side = 24 // np.dtype(dtype).itemsize
    assert call.in_c().function == f"transpose_tile_u{8 * np.dtype(dtype).itemsize}"
    assert [b.buffer.shape for b in statements_of(after, Alloc)] == [(side, side)]
    assert_same_results(run(schedule(after, SMALL), [x, y]), [x + y.T])


@pytest.mark.parametrize("dtype", ["f2", "i2", "c8", "c16", "?"])
def test_elements_of_other_sizes_are_read_one_by_one(dtype):
    x, y = ordinary(dtype, (11, 13)), ordinary(dtype, (13, 11))
    program = tile(lowered(lambda x, y: np.where(x == y.T, x, y.T), x, y), SMALL)
    assert not statements_of(program, Call)


def test_stacks_slices_and_several_arrays_are_transposed():
    x, y, z = ordinary("f8", (3, 9, 11)), ordinary("f8", (3, 12, 9)), ordinary("f8", (11, 9))
    f = lambda x, y, z: x * np.swapaxes(y[:, 1:], 1, 2) - z.T
    after = assert_steps_agree(lowered(f, x, y, z), [x, y, z], tile, SMALL)
    assert len(statements_of(after, Call)) == 2
    assert_same_results(in_c(f)(x, y, z), f(x, y, z))


def test_an_array_that_the_nest_reads_outside_its_ends_is_not_copied():
    def f(x, y):
        return np.where(np.arange(12)[:, None] < 11, x, 0) + np.pad(y, 1).T

    x, y = ordinary("f8", (12, 14)), ordinary("f8", (12, 10))
    assert_same_results([in_c(f)(x, y)], [f(x, y)])


def test_donated_arguments_are_still_taken():
    x, y = ordinary("f8", (11, 13)), ordinary("f8", (13, 11))
    graph = optimise(trace_to_graph(lambda x, y: x + y.T, x, y))
    assert schedule(lower(graph, (0,)), SMALL).aliases
    assert not schedule(lower(graph, (1,)), SMALL).aliases


@pytest.mark.parametrize("shape", [(200, 150), (129, 257), (128, 1000)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@one_in(4)
def test_c_of_transposed_tiles(dtype, shape):
    x, y = ordinary(dtype, shape), ordinary(dtype, shape[::-1])
    assert_same_results([jit(lambda x, y: x - y.T)(x, y)], [x - y.T])
    assert "transpose_tile_u" in jit(lambda x, y: x - y.T).lower(x, y).as_text()
