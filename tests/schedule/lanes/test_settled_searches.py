"""Searches for the first index: in blocks, which are left out once one has been found."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from thorough import each, one_in

import transpile
from transpile.ir.loop_ir import If
from transpile.machine import USUAL
from transpile.options import Options
from transpile.schedule.lanes.settled_searches import stop_settled_searches
from transpile.schedule.vectorize import vectorize_loops

pytestmark = pytest.mark.full_level
BLOCK = USUAL.searched_block


def marked(f, *args):
    return vectorize_loops(lowered(f, *args), Options())


@pytest.mark.parametrize("where", [0, BLOCK - 1, BLOCK, 2 * BLOCK + 8, None])
@pytest.mark.parametrize("length", [2 * BLOCK, 2 * BLOCK + 9])
@one_in(3)
def test_a_long_row_is_searched_block_by_block(length, where):
    x = np.zeros((2, length), complex)  # numbers that are no complex ones are searched in a block
    if where is not None:
        x[1, min(where, length - 1) :] = 1
    after = assert_steps_agree(marked(lambda x: x.argmax(1), x), [x], stop_settled_searches)
    assert len(statements_of(after, If)) == 1


def test_a_short_row_and_other_minima_are_left_as_they_are():
    short, long = (
        np.zeros((3, 2 * BLOCK - 1), complex),
        np.arange(6.0 * BLOCK).reshape(2, 3 * BLOCK),
    )
    for f, x in ((lambda x: x.argmax(1), short), (lambda x: x.min(1), long)):
        program = marked(f, x)
        assert stop_settled_searches(program, Options()) == program


@each("dtype", ["i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8"], ordinary=("i1", "f4", "c8"))
def test_positions_in_c_are_numpys(dtype, shared_cache):
    random = np.random.default_rng(0)
    x = random.integers(0, 50, (7, 3 * BLOCK + 5)).astype(dtype)
    if np.dtype(dtype).kind in "fc":
        x[[1, 2, 3], [5, BLOCK, 3 * BLOCK + 4]] = np.nan
        x[4] = -np.inf
    functions = np.argmax, np.argmin
    for f in functions:
        got = transpile.jit(lambda x, f=f: f(x, axis=1))(x)
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, f(x, axis=1))
