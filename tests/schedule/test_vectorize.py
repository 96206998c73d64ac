"""Innermost loops without dependences are vectorised, those with running values are not."""

import numpy as np
import pytest
from graphs import loops_of, lowered
from helpers import ordinary
from thorough import one_in

import transpile
from transpile import lax
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.vectorize import vectorize_loops

pytestmark = pytest.mark.full_level

X = ordinary("f8", (6, 40))


def marks(f, *args):
    """Of each loop: is it in lanes, and what is combined across them."""
    program = vectorize_loops(lowered(f, *args), Options())
    return [(loop.simd, tuple(op for op, _ in loop.reductions)) for loop in loops_of(program)]


def test_innermost_loops_are_in_lanes():
    assert marks(np.sin, X) == [(False, ()), (True, ())]


def test_float_sums_name_their_accumulators():
    assert marks(lambda x: x.sum(axis=1), X) == [(False, ()), (True, ("add",))]
    both = marks(lambda x: (x.sum(), (x * 2).max()), X[0])
    assert both == [(True, ("add", "maximum"))]


def test_scans_are_not_in_lanes():
    assert marks(lambda x: np.cumsum(x, axis=1), X) == [(False, ()), (False, ())]


def test_short_loops_are_left_to_the_compiler():
    assert marks(np.sin, X[0, :3]) == [(False, ())]


def test_integers_that_are_read_one_by_one_have_narrow_vectors():
    def best(x):
        start = x[0, 0]
        return lax.fori_loop(0, 9, lambda k, most: np.maximum(most, x[k, 3]), start)

    for dtype, lanes in (("i8", Machine.strided_lanes), ("f8", 0)):
        program = vectorize_loops(lowered(best, ordinary(dtype, (9, 9))), Options())
        (loop,) = loops_of(program)
        assert loop.simd
        assert loop.lanes == lanes


def of_columns(x):
    return x[:, 0] * x[:, 3] + x[:, 1]


@pytest.mark.parametrize(("columns", "simd"), [(8, True), (32, True), (33, False), (1024, False)])
@one_in(2)
def test_several_elements_of_wide_rows_are_not_read_in_lanes(columns, simd):
    """gcc would load and shuffle whole rows: 500 microseconds in the place of 4, and 4 seconds."""
    x = ordinary("f8", (40, columns))
    assert marks(of_columns, x) == [(simd, ())]
    assert marks(lambda x: np.sin(x[:, 3]), x) == [(True, ())], "one of each row is no group"
    flat = marks(lambda x: of_columns(x.reshape(-1, columns)), x.ravel())
    assert flat == [(simd, ())]
    np.testing.assert_allclose(transpile.jit(of_columns)(x), of_columns(x), rtol=1e-15)


def test_neighbours_in_the_next_rows_are_read_in_lanes():
    x = ordinary("f8", (40, 64))
    assert marks(lambda x: x[1:, 3] - x[:-1, 3], x) == [(True, ())]
