"""Loops that choose by a moved subscript are split where the choice changes."""

import numpy as np
import pytest
from graphs import assert_same_results, lowered, statements_of
from helpers import ordinary

import transpile
from transpile import lax
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import For, Within
from transpile.ir.loop_rewrite import parts
from transpile.ir.loop_verifier import check
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.cleanup.rotated_reads import split_rotations
from transpile.schedule.domain.index_set_split import split_index_sets

# Rows of a few elements are split, and blocks have eight of eight bytes.
OPTIONS = Options(machine=Machine(shortest_rotation=4, l1_bytes=256))
ROW, ROWS = ordinary("f8", (11,)), ordinary("f8", (3, 11))
LONG = ordinary("f8", (37,))


def padded(x, k):
    return lax.dynamic_slice(np.pad(x, 4), (k,), (12,)) * 2


# A function, its arguments but the last, which is where it changes, and the extents of its loops.
SPLIT = {
    "a row": (lambda x, k: np.roll(x, k), (ROW,), [None, None]),
    "rows": (lambda x, k: np.roll(x, k, axis=1), (ROWS,), [3, None, None]),
    "blocks": (lambda x, k: np.roll(x, k) + 1, (LONG,), [5, None, None]),
    "bools": (lambda x, k: np.roll(x, k), (ROW > 0,), [None, None]),
    "a part of a padded row": (padded, (ROW,), [None, None, None]),
    "a part of a rotation": (lambda x, k: np.roll(x, k)[2:9], (ROW,), [None, None]),
    "two arrays": (lambda x, y, k: np.roll(x, k) + np.roll(y, k), (ROW, ROW), [None, None]),
}


def split(f, *args):
    before = split_index_sets(lowered(f, *args), OPTIONS)
    after = split_rotations(before, OPTIONS)
    check(after)
    return before, after


def has_tests(program):
    loops = statements_of(program, For)
    return any(isinstance(p, Within) for loop in loops for s in loop.body for p in parts(s))


@pytest.mark.parametrize("name", SPLIT)
def test_the_parts_have_no_tests(name):
    f, args, extents = SPLIT[name]
    for k in (0, 1, 4, 10, 11, -1, -9, 23):
        before, after = split(f, *args, np.int64(k))
        assert has_tests(before) and not has_tests(after)
        loops = statements_of(after, For)
        assert [f.extent if isinstance(f.extent, int) else None for f in loops] == extents
        results = run(after, [*args, np.int64(k)])
        assert_same_results(results, run(before, [*args, np.int64(k)]))


LEFT = {
    "a place that is known": lambda x, k: np.roll(x, 3) * k,
    "two places": lambda x, k: np.roll(x, k) + np.roll(x, k // 2),
    "a place in each iteration": lambda x, k: x[np.arange(11) * k % 11],
}


@pytest.mark.parametrize("name", LEFT)
def test_other_loops_stay(name):
    before, after = split(LEFT[name], ROW, np.int64(3))
    assert after == before


def test_short_rows_stay():
    program = split_index_sets(lowered(lambda x, k: np.roll(x, k), ROW, np.int64(3)), Options())
    assert split_rotations(program, Options()) == program


def test_rotations_in_c():
    f = transpile.jit(lambda x, k: np.roll(x, k))
    for x in (ordinary("f8", (5000,)), np.arange(20_000) % 3 == 0):
        for k in (0, 1, -1, 2500, x.size - 1, x.size, -3 * x.size - 7):
            np.testing.assert_array_equal(f(x, np.int64(k)), np.roll(x, k))
