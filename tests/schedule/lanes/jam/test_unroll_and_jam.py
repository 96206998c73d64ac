"""Column reductions take four rows at a time, accumulators in registers."""

import re

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered
from helpers import assert_equal_values, leaves, ordinary, values
from hypothesis import given, settings
from hypothesis import strategies as st
from source_text import function_of
from thorough import one_in, tries

import transpile
from transpile.ir.loop_ir import For, Store
from transpile.ir.loop_rewrite import walk
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.jam.columns import unroll_and_jam
from transpile.schedule.lanes.nan_flags import flag_nans
from transpile.schedule.lanes.outer.column_reductions import vectorize_columns
from transpile.schedule.vectorize import vectorize_loops

pytestmark = pytest.mark.full_level


def of_strips(f, *args):
    return flag_nans(
        vectorize_loops(vectorize_columns(lowered(f, *args), Options()), Options()), Options()
    )


def groups(program):
    """The loops over four rows inside strips."""
    strips = [s for s in walk(program.kernels[0].body) if isinstance(s, For) and s.simd]
    return [s for strip in strips for s in strip.body if isinstance(s, For)]


FUNCTIONS = {
    "a sum": lambda x: x.sum(axis=0),
    "a product": lambda x: (x / 4).prod(axis=0),
    "the largest": lambda x: x.max(axis=0),
    "both extremes": lambda x: (x.max(axis=0), x.min(axis=0)),
    "a deviation": lambda x: x.std(axis=0),
    "truths": lambda x: ((x > 2).any(axis=0), (x < 3).all(axis=0)),
    "where the largest is": lambda x: x.argmax(axis=0),
    "three axes": lambda x: x.reshape(3, -1, 19).sum(axis=1),
    "rows by their number": lambda x: (x * np.arange(len(x))[:, None]).sum(axis=0),
}
EXTREMES = ("the largest", "both extremes")


@pytest.mark.parametrize("rows", [48, 51, 57])
@pytest.mark.parametrize("name", FUNCTIONS)
@one_in(4)
def test_accumulators_are_variables_for_four_rows(name, rows):
    x = np.round(ordinary("f8", (rows, 19)))
    after = assert_steps_agree(of_strips(FUNCTIONS[name], x), [x], unroll_and_jam)
    found = groups(after)
    assert found and all(loop.stop - loop.start == Machine.jammed_rows for loop in found)
    assert not any(isinstance(s, Store) for loop in found for s in loop.body)


def test_rows_that_are_left_come_last():
    x = ordinary("f4", (18, 19))
    after = unroll_and_jam(of_strips(lambda x: x.sum(axis=0), x), Options())
    starts = [s.start for s in walk(after.kernels[0].body) if isinstance(s, For) and s.stop == 18]
    assert starts == [16]
    text = transpile.jit(lambda x: x.sum(axis=0)).lower(x).as_text()
    assert re.search(r"for \(int64_t j = 16; j < 18; j\+\+\)", text)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.exp(x).sum(axis=0),  # the time goes elsewhere
        lambda x: np.cumsum(x, axis=0),  # something is stored for each row
        lambda x: x.sum(axis=1),
        lambda x: x * 2,
        lambda x: x[: Machine.fewest_jammed_rows - 1].sum(axis=0),
    ],
)
def test_other_loops_stay(f):
    program = of_strips(f, ordinary("f8", (64, 19)))
    assert unroll_and_jam(program, Options()) == program


@settings(max_examples=tries(12), deadline=None)
@given(
    st.integers(Machine.fewest_jammed_rows - 2, 70),
    st.integers(8, 300),
    st.sampled_from(["f4", "f8", "i4", "u1"]),
    st.sampled_from(sorted(set(FUNCTIONS) - {"three axes", "a product", "a deviation"})),
)
def test_special_numbers_are_collected_as_numpy_does(rows, width, dtype, name):
    x = values(dtype, (rows, width))
    with np.errstate(all="ignore"):
        expected = leaves(FUNCTIONS[name](x))
        found = leaves(transpile.jit(FUNCTIONS[name])(x))
    for got, want in zip(found, expected, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if name in EXTREMES:
            assert_equal_but_for_zeros(got, want, x)
        else:
            assert_equal_values(got, want)


def assert_equal_but_for_zeros(got, want, x):
    """The extremes of columns: of zeros that differ in sign either one, which NumPy chooses by the
    lanes in which they stand."""
    np.testing.assert_array_equal(got, want, strict=True)
    for column in np.flatnonzero(want == 0):
        zeros = x[:, column][x[:, column] == 0]
        assert np.signbit(got[column]) in np.signbit(zeros)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("rows", [2, 14, 33])
@one_in(4)
def test_extremes_of_zeros_have_a_sign_that_occurs(rows, dtype):
    x = np.full((rows, 285), -1, dtype)
    x[:, ::3] = 0.0
    x[:, 1::3] = -0.0
    x[::2, ::5] *= -1
    for function, y in ((np.max, x), (np.min, -x)):
        found = transpile.jit(lambda x, function=function: function(x, axis=0))(y)
        assert_equal_but_for_zeros(found, function(y, axis=0), y)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_each_accumulator_sees_the_same_numbers_in_the_same_order(dtype):
    """NumPy adds rows one after the other along a leading axis, to the bit."""
    x = ordinary(dtype, (131, 257)) * 10.0 ** np.arange(-3, 3).repeat(22)[:131, None]
    x = x.astype(dtype)
    found = transpile.jit(lambda x: (x.sum(axis=0), (x * x).sum(axis=0)))(x)
    np.testing.assert_array_equal(found[0], x.sum(axis=0))
    np.testing.assert_array_equal(found[1], (x * x).sum(axis=0))


@pytest.mark.parametrize("width", [7, 15, 16, 24, 31, 37])
@one_in(2)
def test_the_window_of_a_filter_is_in_registers(width):
    """Sums of a window in the order of Python, with the strip's elements read once."""
    source = (
        "def f(x, h, out):\n"
        "    for i in range(len(out)):\n"
        "        s = 0.0\n"
        f"        for k in range({width}):\n"
        "            s += x[i + k] * h[k]\n"
        "        out[i] = s\n"
        "    return out\n"
    )
    function = function_of(source, f"<a window of {width}>")
    x, h = np.random.default_rng(width).normal(size=600), np.linspace(-1, 1, width)
    jitted = transpile.jit(function)
    text = jitted.lower(x, h, np.zeros(501)).as_text("loops")
    assert "s_own" in text or width < Machine.fewest_columns
    np.testing.assert_array_equal(jitted(x, h, np.zeros(501)), function(x, h, np.zeros(501)))
