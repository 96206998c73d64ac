"""Parts of long searches run side by side, with the results of one search."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered
from helpers import ordinary
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from transpile import jit
from transpile.ir.loop_ir import For
from transpile.ir.loop_rewrite import walk
from transpile.options import Options
from transpile.schedule.lanes.blocked_reductions import block_reductions
from transpile.schedule.lanes.jam.parts import jam_parts
from transpile.schedule.lanes.nan_flags import flag_nans
from transpile.schedule.vectorize import vectorize_loops

pytestmark = pytest.mark.full_level


def in_lanes(f, *args, blocks=False):
    options, program = Options(), lowered(f, *args)
    program = block_reductions(program, options) if blocks else program
    return flag_nans(vectorize_loops(program, options), options)


def widest(program):
    """The most accumulators of a vector loop."""
    loops = (s for kernel in program.kernels for s in walk(kernel.body) if isinstance(s, For))
    return max((len(loop.reductions) for loop in loops if loop.simd), default=0)


FUNCTIONS = {
    "the largest": (np.max, "f8", 8),
    "the smallest in single precision": (np.min, "f4", 8),
    "both": (np.ptp, "f8", 12),
    "of integers": (np.max, "i8", 4),
    "a product of integers": (np.prod, "i8", 4),
    "the largest number": (np.nanmax, "f8", 8),
    "a distance": (lambda x: np.abs(x[1:] - x[:-1]).max(), "f8", 8),
}


@pytest.mark.parametrize("length", [512, 513, 1000, 1100])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_parts_have_accumulators_of_their_own(name, length):
    f, dtype, chains = FUNCTIONS[name]
    x = np.round(ordinary("f8", (length + 1,)) * 9).astype(dtype)
    after = assert_steps_agree(in_lanes(f, x), [x], jam_parts)
    assert widest(after) == chains


def test_a_block_that_ends_early_stays_one_search():
    x = ordinary("f8", (20_000,))
    after = assert_steps_agree(in_lanes(np.max, x, blocks=True), [x], jam_parts)
    assert widest(after) == 8


@pytest.mark.parametrize(
    "f",
    [
        np.sum,
        lambda x: x[:500].max(),  # is over before it pays
        lambda x: np.exp(x).max(),  # the time goes elsewhere
        lambda x: x.astype(np.int32).max(),  # waits for one cycle
        lambda x: (x > 0).any(),
        np.prod,  # would be rounded otherwise
    ],
)
def test_other_loops_stay(f):
    program = in_lanes(f, ordinary("f8", (2000,)))
    assert jam_parts(program, Options()) == program


@settings(max_examples=tries(8), deadline=None)
@given(st.integers(500, 9000), st.data())
def test_nans_and_infinities_are_found_in_every_part(length, data):
    x = np.round(np.random.default_rng(length).normal(size=length) * 50)
    for value in (np.nan, -np.inf, np.inf):
        for place in data.draw(st.lists(st.integers(0, length - 1), max_size=2)):
            x[place] = value
    with np.errstate(invalid="ignore"):
        for f in (np.max, np.min, np.ptp, np.nanmin):
            np.testing.assert_array_equal(jit(f)(x), f(x))
