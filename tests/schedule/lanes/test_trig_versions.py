"""Loops over sines have a version for ordinary angles, and the general one after it."""

import math
import re

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from helpers import ordinary
from hypothesis import given
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile.analysis.oracle.loop_interpreter import FAR, run
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import Apply, For, If, Load, Store, Within
from transpile.ir.types import FLOAT64
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


def updated(x):
    y = np.arange(x.size, dtype=x.dtype)
    for i in range(x.size):
        y[i] = y[i] * math.cos(x[i])
        y[i] += math.sin(x[i])
    return y


def chosen(x):
    """A store under a condition that a sine decides: the first version may store what the second
    does not."""
    y = np.zeros(x.size)
    for i in range(x.size):
        if math.sin(x[i]) > 0.0:
            y[i] = x[i]
    return y


STATES = {
    "sum": lambda x: np.sin(x).sum(),
    "products": lambda x: (np.sin(x) * np.cos(x)).prod(),
    "largest": lambda x: np.sin(x).max(),
    "place": lambda x: np.cos(x).argmin(),
    "rows": lambda x: np.tan(x.reshape(-1, 6)).sum(1),
    "columns": lambda x: np.sin(x.reshape(-1, 6)).max(0, initial=-2.0),
    "any": lambda x: (np.sin(x) > 2).any(),
    "each row": lambda x: (np.tan(x.reshape(6, -1)) < 1e9).all(1),
    "scan": lambda x: np.cumsum(np.sin(x)),
    "rests": lambda x: np.fmod(x, 0.7).sum(),
    "phases": lambda x: np.exp(1j * x),
    "phase": lambda x: np.exp(1j * x).sum(),
    "complex": lambda x: np.sin(x + 0.5j) * np.cosh(0.5 + 1j * x),
    "updated": updated,
    "chosen": chosen,
}


@pytest.mark.parametrize("huge", [1.0, 1e15, -1e300, np.inf, np.nan])
@pytest.mark.parametrize("name", STATES)
@one_in(3)
def test_what_a_loop_changes_is_put_back_before_it_runs_again(name, huge):
    x = ordinary("f8", (36,))
    x[[4, 35]] = huge
    program = transpile.jit(STATES[name]).lower(x)._lowering.program()
    assert not any(FAR in np.atleast_1d(found).tolist() for found in run(program, [x]))


@given(st.data())
def test_results_are_those_of_numpy_wherever_huge_angles_are(data):
    name = data.draw(st.sampled_from(sorted(STATES)))
    rows = data.draw(st.sampled_from([1, 2, 6, 300, 700]))
    x = np.random.default_rng(data.draw(st.integers(0, 9))).normal(size=6 * rows)
    for place in data.draw(st.lists(st.integers(0, 6 * rows - 1), max_size=3)):
        x[place] = data.draw(st.sampled_from([1e12, -1e15, 2.0**70, 1e300]))
    f = STATES[name]
    found = transpile.jit(f, dynamic_shapes=data.draw(st.booleans()))(x)
    np.testing.assert_allclose(found, f(x), rtol=1e-9, atol=1e-11)


def test_elements_that_are_updated_are_kept_block_by_block():
    x, y = ordinary("f8", (2, 2 * Machine.angle_block + 9))
    x[[3, -1]] = 1e15
    add = transpile.jit(lambda x, y: y.__iadd__(np.sin(x)))
    want = y + np.sin(x)
    text = add.lower(x, y).as_text()
    assert f"double y_out_before[{Machine.angle_block}];" in text
    np.testing.assert_allclose(add(x, y), want, rtol=1e-14, atol=1e-15)


def test_arrays_of_an_iteration_s_own_are_not_read_before_they_are_written():
    def doubled(y):
        b = y.reshape(4, -1)
        b += np.sin(b)
        b += b
        return y, b.max(1)

    y = ordinary("f8", (16,))
    y[3] = 1e15
    lowering = transpile.jit(doubled).lower(y)
    found = run(lowering._lowering.program(), [y.copy()])  # raises where one is
    assert re.findall(r"\w+_before(?=\[4\])", lowering.as_text()) == ["y_out_before"]
    want, largest = doubled(y.copy())
    np.testing.assert_allclose(found[0], largest, rtol=1e-14)
    np.testing.assert_allclose(found[1], want, rtol=1e-14)


I, J = Symbol("i", 0, 9), Symbol("j", 0, 4)
SINE = Apply("sin", (Load("x0", (Dim.of(I),), FLOAT64),), FLOAT64)
NEXT = Store("out_1", (Dim.of(I) + 1,), SINE)


INNER = replace(NEXT, index=(Dim.of(I) * 4 + Dim.of(J),))


@pytest.mark.parametrize("body", [If(Within(Dim.of(I), 0, 8), (NEXT,)), For(J, 4, (INNER,))])
def test_elements_that_may_not_exist_outside_of_a_condition_or_a_loop_are_not_kept(body):
    """Of loops like these, which no pass before makes for lanes, there is one version."""
    program = marked(np.sin, ordinary("f8", (9,)))
    (kernel,) = program.kernels
    (loop,) = kernel.body
    loop = replace(loop, symbol=I, body=(body,))
    program = replace(program, kernels=(replace(kernel, body=(loop,)),))
    assert version_trig_loops(program, Options()) == program


def test_scalar_code_reduces_huge_angles_in_a_branch():
    def newton(x):
        for _ in range(50):
            x = x - (x - 0.3 * math.sin(x) - 1.0) / (1 - 0.3 * math.cos(x))
        return x

    text = transpile.jit(newton).lower(0.5).as_text()
    assert "if (fabs(x) > 0x1p40)" in text
    assert transpile.jit(newton)(0.5) == pytest.approx(newton(0.5), rel=1e-14)
    for x in (1e15, -1e300, 2.0**40, np.nextafter(2.0**40, np.inf)):
        for f in (np.sin, np.cos, np.tan):
            np.testing.assert_allclose(transpile.jit(f)(x), f(x), rtol=1e-14)


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
    kernel = text[text.index("nested_kernel") :]
    found = set(re.findall(r"sin_in_lanes_f32\((\w+\[\w+\])?", kernel))
    assert found == {"x[i]", "x_rest[k]"}


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
