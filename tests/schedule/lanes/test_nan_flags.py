"""Long float minima and maxima note NaNs in a flag."""

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered
from helpers import assert_same, ordinary, values
from thorough import one_in

import transpile
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    For,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import walk
from transpile.ir.types import FLOAT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.nan_flags import flag_nans
from transpile.schedule.lanes.outer.column_reductions import vectorize_columns
from transpile.schedule.vectorize import vectorize_loops

pytestmark = pytest.mark.full_level


# Loops of a few numbers note their NaNs.
SMALL = Options(machine=Machine(shortest_search=4))


def in_lanes(f, *args):
    return vectorize_loops(lowered(f, *args), Options())


FUNCTIONS = {
    "the largest of a row": lambda x: x.max(axis=1),
    "the smallest": lambda x: x.min(axis=1),
    "both": lambda x: (x.max(axis=1), x.min(axis=1)),
    "of computed numbers": lambda x: (x * 2 - 1).max(axis=1) + (x * x).min(axis=1),
    "beside a sum": lambda x: x.max(axis=1) - x.sum(axis=1),
    "of everything": lambda x: x.max(),
    "of other axes": lambda x: x.reshape(2, 3, -1).max(axis=(0, 2)),
}


@pytest.mark.parametrize("nan_at", [None, 0, 5, 47])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FUNCTIONS)
@one_in(3)
def test_steps_leave_nans_out_and_the_end_looks_at_the_flag(name, dtype, nan_at):
    x = np.round(ordinary(dtype, (6, 12)))
    if nan_at is not None:
        x.flat[nan_at] = np.nan
    after = assert_steps_agree(in_lanes(FUNCTIONS[name], x), [x], flag_nans, SMALL)
    changed = [p for p in loops_of(after) if any(op == "bitwise_or" for op, _ in p.reductions)]
    ops = {s.op for p in changed for s in p.body if isinstance(s, Update)}
    assert changed and not ops & {"maximum", "minimum"}


def test_extremes_of_the_same_numbers_share_a_flag():
    program = in_lanes(lambda x: (x.max(axis=1), x.min(axis=1)), ordinary("f8", (6, 12)))
    after = flag_nans(program, SMALL)
    flags = {n for p in loops_of(after) for op, n in p.reductions if op == "bitwise_or"}
    assert len(flags) == 1


@pytest.mark.parametrize("dtype", ["i4", "u1", "i8"])
def test_integers_have_no_nans(dtype):
    program = in_lanes(lambda x: x.max(axis=1), ordinary(dtype, (6, 12)))
    assert flag_nans(program, SMALL) == program


def test_short_loops_and_fast_math_stay():
    program = in_lanes(lambda x: x.max(axis=1), ordinary("f8", (6, 31)))
    assert flag_nans(program, Options()) == program
    program = in_lanes(lambda x: x.max(axis=1), ordinary("f8", (6, 32)))
    assert flag_nans(program, Options()) != program
    assert flag_nans(program, Options(fast_math=True)) == program


WITHOUT_NANS = {
    "the largest of a row": lambda x: np.nanmax(x, axis=1),
    "the smallest of everything": lambda x: np.nanmin(x),
    "of what is computed": lambda x: np.nanmax(x * 2 - 1, axis=1),
    "by hand": lambda x: np.where(np.isnan(x), -np.inf, x).max(axis=1),
}


@pytest.mark.parametrize("name", WITHOUT_NANS)
def test_numbers_among_nans_are_compared_without_asking_for_nans(name):
    x = np.round(ordinary("f8", (6, 12)))
    x[1, 3:6] = x[2] = x[4, 0] = np.nan
    after = assert_steps_agree(in_lanes(WITHOUT_NANS[name], x), [x], flag_nans)
    assert not [p for p in loops_of(after) if any(op == "bitwise_or" for op, _ in p.reductions)]
    updates = [s for p in loops_of(after) if p.simd for s in p.body if isinstance(s, Update)]
    assert updates and {s.op for s in updates} == {"set"}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_columns_of_numbers_among_nans_agree_with_numpy_through_c(dtype):
    x = ordinary(dtype, (40, 300))
    x[3:7] = x[:, 5] = x[:, 200:280] = np.nan
    x[:, 6] = -np.inf
    x[20, 7] = np.inf

    def extremes(x):
        return np.nanmax(x, axis=0), np.nanmin(x, axis=0), np.nanmax(x, axis=1), np.nanmin(x)

    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="All-NaN"):
        expected = extremes(x)
    for got, want in zip(transpile.jit(extremes)(x), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_choices_of_other_numbers_for_nans_are_computed():
    x = np.round(ordinary("f8", (6, 12)))
    x[1, 3:6] = np.nan
    program = in_lanes(lambda x: np.where(np.isnan(x), 0.0, x).max(axis=1), x)
    assert flag_nans(program, Options()) == program
    program = in_lanes(lambda x: np.where(np.isnan(x), np.inf, x).max(axis=1), x)
    assert flag_nans(program, Options()) == program


def test_a_flag_begins_with_what_the_accumulator_is():
    """Lanes are combined without a look at NaNs, so that one from before has to be in the flag."""
    x, acc, i = np.array([1.0, 2.0, 0.5, -1.0]), Ref("acc", FLOAT64), Symbol("i", 0, 4)
    value = Load("x", (Dim.of(i),), FLOAT64)
    loop = For(i, 4, (Update(acc, "maximum", value),), simd=True, reductions=(("maximum", "acc"),))
    for first, want in ((Load("first", (0,), FLOAT64), np.nan), (Literal(-np.inf, FLOAT64), 2.0)):
        body = (Declare("acc", first, constant=False), loop, Store("out", (0,), acc))
        buffers = Buffer("x", (4,), FLOAT64), Buffer("first", (1,), FLOAT64)
        out = (Buffer("out", (1,), FLOAT64),)
        after = flag_nans(Program("p", buffers, out, (Kernel("k", body),)), SMALL)
        assert run(after, [x, np.array([np.nan])])[0].tolist() == pytest.approx([want], nan_ok=True)
        flags = [s for s in after.kernels[0].body if isinstance(s, Update) and s.op == "bitwise_or"]
        assert len(flags) == (0 if want == 2 else 1)


def test_lanes_of_numbers_are_combined_by_the_compilers_own_maximum():
    text = transpile.jit(lambda x: (x.max(axis=1), x[:, :4].min(axis=1))).lower(np.ones((3, 70)))
    text = text.as_text()
    assert "#define larger_f64 max" in text and "reduction(larger_f64:" in text
    assert "initializer(omp_priv = -INFINITY)" in text  # for a compiler whose own begins elsewhere


def test_running_extremes_stay():
    program = in_lanes(lambda x: np.maximum.accumulate(x, axis=1), ordinary("f8", (3, 300)))
    assert flag_nans(program, Options()) == program
    assert not any(op == "bitwise_or" for p in loops_of(program) for op, _ in p.reductions)
    assert list(walk(program.kernels[0].body))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("columns", [64, 256, 301])
def test_extremes_of_long_rows_agree_with_numpy_through_c(dtype, columns):
    x = values(dtype, (9, columns))  # NaNs, infinities and zeros of both signs among them
    x[3:] = ordinary(dtype, (6, columns))
    x[4], x[5], x[6] = np.inf, -np.inf, 0
    x[7, columns - 1] = x[8, 0] = np.nan

    def found(x):
        return x.max(axis=1), x.min(axis=1), x.argmax(axis=1), x.argmin(axis=1), x.max(), x.argmin()

    with np.errstate(invalid="ignore"):
        assert_same(found, x)
        assert_same(found, ordinary(dtype, (4, columns)))


COLUMNS = {
    "both": lambda x: (x.max(axis=0), x.min(axis=0)),
    "both, and a sum": lambda x: (x.max(axis=0), x.min(axis=0), x.sum(axis=0)),
    "the width": lambda x: np.ptp(x, axis=0),
    "of two arrays": lambda x: (np.ptp(x, axis=0), np.ptp(x[::-1], axis=0)),
}


def of_strips(f, *args):
    return vectorize_loops(vectorize_columns(lowered(f, *args), Options()), Options())


@pytest.mark.parametrize("nan_at", [None, 0, 8, 19, 133])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", COLUMNS)
@one_in(7)
def test_each_column_of_a_strip_has_a_flag(name, dtype, nan_at):
    x = np.round(ordinary(dtype, (24, 19)))  # strips of 16 columns, the last one cut short
    if nan_at is not None:
        x.flat[nan_at] = np.nan
    after = assert_steps_agree(of_strips(COLUMNS[name], x), [x], flag_nans)
    updates = [
        s
        for loop in walk(after.kernels[0].body)
        if isinstance(loop, For)
        for s in loop.body
        if isinstance(s, Update) and isinstance(s.target, Load)
    ]
    assert any(s.op == "bitwise_or" for s in updates)
    assert not any(s.op in ("maximum", "minimum") for s in updates)


@pytest.mark.parametrize(
    ("dtype", "rows", "is_changed"), [("i4", 16, 0), ("f4", 15, 0), ("f4", 16, 1)]
)
def test_columns_of_integers_and_few_rows_stay(dtype, rows, is_changed):
    program = of_strips(lambda x: (x.max(axis=0), x.min(axis=0)), ordinary(dtype, (rows, 19)))
    assert (flag_nans(program, Options()) != program) == is_changed


def test_one_extreme_of_columns_asks_at_each_step():
    program = of_strips(lambda x: (x.max(axis=0), (x * x).min(axis=0)), ordinary("f4", (256, 19)))
    assert flag_nans(program, Options()) == program


def test_columns_of_the_same_numbers_share_their_flags():
    program = of_strips(lambda x: (x.max(axis=0), x.min(axis=0)), ordinary("f8", (24, 19)))
    after = flag_nans(program, Options())
    local = [s.buffer for s in walk(after.kernels[0].body) if isinstance(s, Alloc)]
    assert len([b for b in local if b.dtype == np.int64]) == 1


def test_running_extremes_of_columns_stay():
    program = of_strips(lambda x: np.maximum.accumulate(x, axis=0), ordinary("f8", (300, 19)))
    assert flag_nans(program, Options()) == program


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(256, 16), (300, 37), (259, 130), (2, 257, 9)])
def test_extremes_of_long_columns_agree_with_numpy_through_c(dtype, shape):
    x = ordinary(dtype, shape)
    x[..., 1], x[..., 2], x[..., 3] = np.inf, -np.inf, -0.0
    x[..., 0, 4] = x[..., -1, 5] = x[..., 100, 6] = np.nan
    x[..., 7] = np.nan
    x[..., 8] = values(dtype, x[..., 8].shape)

    def found(x):
        return x.max(axis=-2), x.min(axis=-2), np.ptp(x - 1, axis=-2)

    with np.errstate(invalid="ignore", over="ignore"):
        assert_same(found, x)
    assert "is_nan" in transpile.jit(found).lower(x).as_text()
