"""Nests over contiguous arrays are coalesced, others stay."""

import numpy as np
import pytest
from graphs import assert_same_results, loops_of, lowered
from helpers import ordinary

from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import For
from transpile.ir.loop_rewrite import walk
from transpile.options import Options
from transpile.schedule.domain.coalesce import coalesce
from transpile.schedule.domain.index_set_split import split_index_sets

pytestmark = pytest.mark.full_level

X = ordinary("f8", (3, 4, 5))

COLLAPSE = {
    "an elementwise expression": (lambda x: np.sin(x) * x, [60]),
    "transposes that cancel out": (lambda x: x.T.transpose(2, 1, 0) + 1, [60]),
    "the leading rows": (lambda x: x[:2] * 2, [40]),
    "a sum over everything": (np.sum, [60]),
    "a broadcast plane": (lambda x: x[None] * x[:, None], [3, 3, 20]),
    "rows from some row on": (lambda x: x[1:] * 2, [40]),
    "an array on itself": (lambda x: np.tile(x, (2, 1, 1)), [2, 60]),
}


@pytest.mark.parametrize("name", COLLAPSE)
def test_contiguous_loops_become_one(name):
    f, stops = COLLAPSE[name]
    program = lowered(f, X)
    after = coalesce(program, Options())
    assert [loop.stop for loop in loops_of(after)] == stops
    assert_same_results(run(after, [X]), run(program, [X]))


SEVERAL = {
    "an array beside itself": (lambda x: np.stack([x, x]), [60, 60]),
    "one that stays keeps the shape of another": (
        lambda x: np.stack([x, x[:, :, ::-1]]),
        [3, 4, 5, 3, 4, 5],
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_the_nests_of_a_kernel_become_one_loop_each(name):
    f, stops = SEVERAL[name]
    program = split_index_sets(lowered(f, X), Options())
    after = coalesce(program, Options())
    assert [loop.stop for loop in loops_of(after)] == stops
    assert_same_results(run(after, [X]), run(program, [X]))


STAYS = {
    "columns of the array": lambda x: x[:, :, :4] * 2,
    "a transposed array": lambda x: x.transpose(2, 1, 0) * 2,
    "an array and its transpose": lambda x: x[:, :, :3] + x[:, :3, :3].transpose(2, 1, 0)[:, :1],
    "a row in every row": lambda x: x + x[0, 0],
}


@pytest.mark.parametrize("name", STAYS)
def test_a_nest_that_jumps_keeps_its_last_loop(name):
    program = lowered(STAYS[name], X)
    inner = loops_of(program)[-1]
    assert str(inner.stop) == str(loops_of(coalesce(program, Options()))[-1].stop)


@pytest.mark.parametrize(
    ("shape", "axis", "stops"),
    [
        ((20, 5, 3), 0, [15, 20]),  # columns
        ((6, 5, 20), 2, [30, 20]),  # rows
        ((6, 9, 20), 2, [6, 9, 20]),
        ((20, 5, 12), 0, [5, 12, 20]),  # columns enough in the inner loop
    ],
)
def test_short_columns_of_a_reduction_are_one_loop_with_the_next(shape, axis, stops):
    x = ordinary("f8", shape)
    program = lowered(lambda x: x.max(axis=axis), x)
    after = coalesce(program, Options())
    assert_same_results(run(after, [x]), run(program, [x]))
    loops = [s.stop for k in after.kernels for s in walk(k.body) if isinstance(s, For)]
    assert sorted(loops) == sorted(stops)


REDUCED = {
    "planes": (lambda x: x.sum(axis=(1, 2)), (6, 5, 20), [100]),
    "channels": (lambda x: x.max(axis=(0, 2, 3)), (3, 2, 4, 5), [3, 20]),
    "blocks of images": (lambda x: x.max(axis=(1, 2, 3)), (6, 3, 4, 5), [60]),
    "a product": (lambda x: (x * x[::-1]).sum(axis=(1, 2)), (6, 5, 20), [100]),
    "parts of rows": (lambda x: x[:, :, 1:].sum(axis=(1, 2)), (6, 5, 20), [5, 19]),
    "columns of planes": (lambda x: x.sum(axis=(0, 2)), (6, 5, 20), [6, 20]),
    "more than a block": (lambda x: x.sum(axis=(1, 2)), (2, 50, 100), [50, 100]),
    "extremes of as many": (lambda x: x.max(axis=(1, 2)), (2, 50, 100), [5000]),
}


@pytest.mark.parametrize("name", REDUCED)
def test_the_axes_that_reduce_a_row_become_one_loop(name):
    f, shape, inner = REDUCED[name]
    x = ordinary("f8", shape)
    program = lowered(f, x)
    after = coalesce(program, Options())
    assert_same_results(run(after, [x]), run(program, [x]))
    loops = [s.stop for k in after.kernels for s in walk(k.body) if isinstance(s, For)]
    assert loops[1:] == inner


def test_one_that_sees_planes_keeps_the_shape_for_those_that_would_not():
    x = ordinary("f8", (6, 5, 20))
    program = lowered(lambda x: (x.max(axis=(1, 2)), x.max(axis=(0, 2))), x)
    after = coalesce(program, Options())
    assert_same_results(run(after, [x]), run(program, [x]))
