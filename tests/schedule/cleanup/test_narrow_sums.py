"""Sums of small integers in narrow accumulators: which are narrowed, to what, and their results."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from thorough import one_in

from transpile import jit
from transpile.ir.loop_ir import For, Update
from transpile.options import Options
from transpile.schedule import SCHEDULE
from transpile.schedule.cleanup.narrow_sums import narrow_sums

pytestmark = pytest.mark.full_level


def before(f, *args):
    """The loops as the pass gets them."""
    program = lowered(f, *args)
    for loop_pass, _ in SCHEDULE:
        if loop_pass is narrow_sums:
            return program
        program = loop_pass(program, Options())
    raise AssertionError("narrow_sums is not in SCHEDULE")


def sums(program):
    """The dtypes of the sums in vector loops."""
    loops = [loop for loop in statements_of(program, For) if loop.simd]
    updates = [s for loop in loops for s in loop.body if isinstance(s, Update)]
    return [s.target.dtype.name for s in updates]


def rows(x):
    return np.sum(x, axis=-1)


@pytest.mark.parametrize(
    ("f", "dtype", "length", "word"),
    [
        (lambda x: np.count_nonzero(x, axis=-1), "?", 300, "uint16"),
        (lambda x: np.sum(x > 0, axis=-1), "f4", 300, "uint32"),
        (lambda x: np.sum(x > 0, axis=-1), "i2", 300, "uint16"),
        (rows, "u1", 257, "uint16"),
        (rows, "u1", 258, "uint32"),
        (rows, "i1", 255, "int16"),
        (rows, "i1", 256, "int16"),
        (rows, "i1", 257, "int32"),
        (rows, "u2", 3000, "uint32"),
        (rows, "i2", 3000, "int32"),
    ],
)
@one_in(4)
def test_sums_that_fit_are_narrow_and_exact(f, dtype, length, word):
    dtype = np.dtype(dtype)
    least, most = (0, 1) if dtype.kind in "bf" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for number in (least, most):
        x = np.full((3, length), number, dtype)[:1]
        after = assert_steps_agree(before(f, x), [x], narrow_sums)
        assert sums(after) == [word]
        np.testing.assert_array_equal(jit(f)(x), f(x), strict=True)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.sum(x, axis=-1), np.ones((1, 300), np.int32)),
        (lambda x: np.sum(x > 0, axis=-1), np.ones((1, 300))),
        (lambda x: np.max(x, axis=-1), np.ones((1, 300), np.int8)),
        (lambda x: np.sum(x, axis=-1, dtype=np.int8), np.ones((1, 300), np.int8)),
        (lambda x: np.sum(x, axis=-1), np.ones((1, 300), np.float32)),
    ],
)
def test_other_reductions_stay(f, x):
    program = before(f, x)
    assert narrow_sums(program, Options()) is program


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2"])
@pytest.mark.parametrize("shape", [(70_001,), (40, 700), (5, 3)])
@one_in(4)
def test_compiled_sums_are_numpys(dtype, shape):
    x = np.random.default_rng(1).integers(0, 1 << 15, shape).astype(dtype)
    for axis in (None, 0, -1):
        got = jit(lambda x, axis=axis: (np.sum(x, axis=axis), np.mean(x, axis=axis)))(x)
        np.testing.assert_array_equal(got[0], np.sum(x, axis=axis))
        np.testing.assert_allclose(got[1], np.mean(x, axis=axis), rtol=1e-12)


def test_a_count_of_what_wide_lanes_compute_stays_wide():
    def counted(x, out):
        count = 0
        for i in range(len(x)):
            is_large = x[i] * 3 & 7 > 2
            count += is_large
            out[i] = x[i] * 5 & is_large
        return out, count

    x = np.arange(300)
    text = jit(counted).lower(x, np.zeros(300, np.int64)).as_text("loops")
    assert "simd add:count" in text
    assert "add:narrow" not in text
