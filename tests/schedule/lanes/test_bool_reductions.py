"""Short any and all reductions accumulate in flags as wide as their operands."""

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered
from helpers import assert_same, ordinary, values

from transpile import lax
from transpile.ir.loop_ir import Declare
from transpile.ir.loop_rewrite import walk
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.bool_reductions import widen_bool_reductions
from transpile.schedule.vectorize import vectorize_loops

pytestmark = pytest.mark.full_level


def in_lanes(f, *args):
    return vectorize_loops(lowered(f, *args), Options())


def flags_of(program):
    """The dtypes of the flags, by the operation that collects them."""
    dtypes = {
        s.name: s.value.dtype.name
        for k in program.kernels
        for s in walk(k.body)
        if type(s) is Declare
    }
    found = {r for loop in loops_of(program) for r in loop.reductions}
    return sorted((op, dtypes[name]) for op, name in found if op.startswith("bitwise"))


FUNCTIONS = {
    "any": lambda x: np.any(x < 1, axis=1),
    "all": lambda x: np.all(x < 1, axis=1),
    "of a condition with names": lambda x: np.any((x * x < 1) | (x * x > 4), axis=1),
    "of everything": lambda x: np.any(x > 2),
    "both": lambda x: (np.any(x > 1, axis=1), np.all(x < 2, axis=1)),
    "of what is no number": lambda x: np.all(np.isfinite(x), axis=1),
    "beside a row's own number": lambda x: np.any(x > x[:, :1], axis=1),
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u4"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_flags_are_as_wide_as_the_numbers_and_find_the_same(name, dtype):
    x = np.round(ordinary(dtype, (6, 12)))
    x[1], x[2], x[3, :-1] = 0, 3, 0
    program = in_lanes(FUNCTIONS[name], x)
    if name == "of what is no number" and np.dtype(dtype).kind in "iu":  # known without a look
        assert widen_bool_reductions(program, Options()) == program
        return
    after = assert_steps_agree(program, [x], widen_bool_reductions)
    assert {dtype for _, dtype in flags_of(after)} == {f"int{8 * x.itemsize}"}


@pytest.mark.parametrize(
    "found",
    [
        lambda x, mask, y: np.any(mask, axis=1),  # a byte each as it is
        lambda x, mask, y: np.any(mask & (x > 1), axis=1),
        lambda x, mask, y: np.any(x > y, axis=1),  # of two widths
        lambda x, mask, y: np.any(x > 1, axis=0),  # columns
        lambda x, mask, y: np.any(x.astype("f2") > 1, axis=1),
        lambda x, mask, y: np.any(x + 1j > 1, axis=1),
        lambda x, mask, y: np.max(x, axis=1),
    ],
)
def test_other_loops_stay(found):
    x = np.round(ordinary("f4", (12, 12)))
    program = in_lanes(found, x, x > 1, x.astype("f8"))
    assert flags_of(widen_bool_reductions(program, Options())) == flags_of(program)


@pytest.mark.parametrize("length", [12, Machine.longest_any, Machine.longest_any + 1])
def test_neither_loops_without_full_lanes_nor_long_ones(length):
    program = in_lanes(lambda x: np.all(x > 0), ordinary("f8", (length,)))
    expected = [("bitwise_and", "int64")] if length <= Machine.longest_any else []
    assert flags_of(widen_bool_reductions(program, Options())) == expected
    longer = Options(machine=Machine(shortest_any=length + 1))
    assert widen_bool_reductions(program, longer) == program


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("columns", [Machine.shortest_any, 33, 64, Machine.longest_any])
def test_any_and_all_agree_with_numpy_through_c(dtype, columns):
    x = values(dtype, (9, columns))  # NaNs and infinities among them
    x[3:] = 1
    x[4], x[5, -1], x[6, 0] = 0, 0, 0

    def found(x):
        return np.any(x == 0, axis=1), np.all(x == 1, axis=1), np.any(x != x, axis=1), np.all(x)

    assert_same(found, x)


def test_a_condition_of_a_while_goes_on_as_long_as_one_number_does():
    def halved(x):
        def step(state):
            k, x = state
            return k + 1, np.where(x > 1, x / 2, x)

        return lax.while_loop(lambda s: np.any(s[1] > 1) & (s[0] < 50), step, (0, x))

    x = np.linspace(0, 1e6, 100)
    x[7] = np.nan
    assert_same(halved, x)
    assert_same(halved, np.zeros(100))
