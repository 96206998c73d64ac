"""Loops over sines have a version for ordinary angles, and the general one after it."""

import re

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from helpers import ordinary
from thorough import one_in

import transpile
from transpile.analysis.oracle.loop_interpreter import FAR, run
from transpile.ir.loop_ir import If
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.trig_versions import version_trig_loops
from transpile.schedule.vectorize import vectorize_loops
from transpile.util.frozen_records import replace

pytestmark = pytest.mark.full_level


def marked(f, *args):
    return vectorize_loops(lowered(f, *args), Options())


@pytest.mark.parametrize("huge", [1e3, 1e15, -1e300, np.inf, np.nan])
def test_a_loop_over_sines_runs_again_for_huge_angles(huge):
    x = ordinary("f8", (9,))
    x[4] = huge
    after = assert_steps_agree(
        marked(lambda x: np.sin(x) + np.cos(3 * x), x), [x], version_trig_loops
    )
    assert len(statements_of(after, If)) == 1
    assert FAR not in run(after, [x])[0]


@pytest.mark.parametrize("huge", [1e3, 2.0**40, 1e15, -1e38, np.inf, np.nan])
@one_in(2)
def test_long_loops_of_single_precision_do_so_too(huge):
    x = ordinary("f4", (Machine.shortest_single_angles,))
    x[-2] = huge
    after = assert_steps_agree(
        marked(lambda x: np.tan(x) + np.sin(3 * x), x), [x], version_trig_loops
    )
    assert len(statements_of(after, If)) == 1
    assert FAR not in run(after, [x])[0]


@pytest.mark.parametrize("huge", [(0, 0), (1e15, 0), (0, 1e15), (np.nan, 1e30)])
def test_angles_of_two_dtypes_are_noted_each_in_its_own(huge):
    x, y = ordinary("f4", (9,)), ordinary("f8", (9,))
    x[4], y[2] = huge
    program = marked(lambda x, y: np.sin(x).astype("f8") * np.cos(y), x, y)
    after = assert_steps_agree(program, [x, y], version_trig_loops)
    assert len(statements_of(after, If)) == 1
    assert FAR not in run(after, [x, y])[0]


@pytest.mark.parametrize("huge", [(0, 0), (1e15, 0), (0, 1e15), (np.nan, 1e30), (np.inf, 1)])
def test_results_in_c_do_not_depend_on_other_elements(huge):
    def f(x, y):
        return np.sin(x), np.cos(x) + np.tan(x), np.tan(y) * x

    x = np.linspace(-1e6, 1e6, 4 * Machine.shortest_single_angles, dtype="f4")
    y = np.linspace(-9, 9, 4096)
    want = transpile.jit(f)(x, y)
    x[100], y[3000] = huge
    others = ~np.isin(np.arange(x.size), [100, 3000])
    for found, before in zip(transpile.jit(f)(x, y), want, strict=True):
        np.testing.assert_array_equal(found[others], before[others])
    with np.errstate(invalid="ignore"):
        sine = np.sin(x[100].astype("f8"))
    np.testing.assert_allclose(transpile.jit(f)(x, y)[0][100], sine, rtol=1e-6)


@pytest.mark.parametrize("length", [2 * Machine.angle_block, 2 * Machine.angle_block + 9])
def test_a_long_loop_runs_again_block_by_block(length):
    x = ordinary("f8", (length,))
    x[[3, -1]] = np.nan, 1e15
    program = marked(lambda x: np.sin(x), x)
    after = assert_steps_agree(program, [x], version_trig_loops)
    assert FAR not in run(after, [x])[0]
    (blocks,) = after.kernels[0].body
    assert blocks.extent == -(-length // Machine.angle_block)
    assert [type(s).__name__ for s in blocks.body] == ["Declare", "For", "If"]


def test_nan_is_an_ordinary_angle():
    """Which the first version takes to NaN: the loop does not run again."""
    x = ordinary("f8", (9,))
    x[4] = np.nan
    after = version_trig_loops(marked(lambda x: np.sin(x), x), Options())
    assert "far bitwise_or= i64(greater(absolute(x0[i]), 1099511627776.0))" in str(after)
    for f in (np.sin, np.cos, np.tan):
        got = transpile.jit(lambda x, f=f: f(x))(x)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(x))


@pytest.mark.parametrize("f", [np.exp, lambda x: np.sin(x.astype("f4"))])
def test_other_loops_have_one_version(f):
    program = marked(f, ordinary("f8", (9,)))
    assert version_trig_loops(program, Options()) == program


def test_the_library_s_functions_have_one_version():
    program = marked(np.sin, ordinary("f8", (9,)))
    assert version_trig_loops(program, Options(precise_math=True)) == program


def test_an_angle_that_a_bound_guards_is_not_read_without_it():
    x, y = ordinary("f8", (5,)), ordinary("f8", (7,))
    program = marked(lambda x, y: np.concatenate([np.sin(x), y]), x, y)
    (found,) = run(version_trig_loops(program, Options()), [x, y])  # raises where x is read outside
    np.testing.assert_array_equal(found, np.concatenate([np.sin(x), y]))


def test_angles_that_are_bounded_stay_so_in_all_versions_of_a_loop():
    """A variable is declared in each of them: it has the largest of its bounds."""

    def nested(x):
        for _ in range(10):
            x = np.abs(np.sin(x) * 1.5 - 0.5)
        return x

    text = transpile.jit(nested).lower(transpile.ShapeDtypeStruct(("n",), np.float32)).as_text()
    assert set(re.findall(r"far \|= (.*?) >", text)) == {"fabsf(x[i])"}
    assert set(re.findall(r"sin_f32\((\w+\[\w+\])?", text[text.index("nested_kernel") :])) == {
        "x[i]",
        "x_rest[k]",
    }


@pytest.mark.parametrize("huge", [0, 2.0**40, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("f", [np.fmod, np.remainder, np.floor_divide])
def test_rests_run_again_for_huge_quotients_and_not_for_infinite_dividends(f, huge):
    x, y = ordinary("f8", (2, 9))
    x[4], y[2:4] = huge, (0, np.inf)
    after = assert_steps_agree(marked(f, x, y), [x, y], version_trig_loops)
    assert FAR not in run(after, [x, y])[0]
    # Without the version behind it, what is left is that of ordinary quotients.
    (kernel,) = after.kernels
    kept = tuple(s for s in kernel.body if not isinstance(s, If))
    assert len(kept) == len(kernel.body) - 1
    first = replace(after, kernels=(replace(kernel, body=kept),))
    with np.errstate(all="ignore"):
        is_same = np.array_equal(run(first, [x, y])[0], f(x, y), equal_nan=True)
    assert is_same == (huge != 2.0**40)
