"""A clamped subscript whose update is guarded by equality needs no clamp."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile
from transpile import lax
from transpile.ir.loop_ir import Apply, Declare, If
from transpile.ir.loop_rewrite import expressions, subexpressions, walk
from transpile.options import Options
from transpile.schedule.cleanup.subscripts.range_checks import simplify_range_checks

pytestmark = pytest.mark.full_level

INDICES = np.array([3, -1, 0, 7, -7, 4, -5, 5, 2, 2**62, -(2**62)])


def bounded(program):
    """How many subscripts are choices between a place and its bounds."""
    statements = [s for kernel in program.kernels for s in walk(kernel.body)]
    return sum(
        any(isinstance(p, Apply) and p.op in ("minimum", "maximum") for p in subexpressions(e))
        for s in statements
        if isinstance(s, Declare) and s.symbol
        for e in expressions(s)
    )


def questions(program):
    """What updates depend on: the conditions of branches."""
    statements = [s for kernel in program.kernels for s in walk(kernel.body)]
    return [s.condition.op for s in statements if isinstance(s, If)]


@pytest.mark.parametrize("op", ["add", "set", "multiply", "max"])
def test_an_update_asks_for_its_range(op):
    start, values = np.arange(1.0, 6), np.arange(2.0, 13)
    program = lowered(lambda a, i, v: getattr(a.at[i], op)(v), start, INDICES, values)
    after = assert_steps_agree(program, [start, INDICES, values], simplify_range_checks)
    assert bounded(program) == 1 and bounded(after) == 0
    assert questions(program) == ["equal"] and questions(after) == ["logical_and"]


def test_places_along_two_axes_are_asked_one_after_another():
    start, values = np.zeros((5, 4)), np.arange(2.0, 13)
    program = lowered(
        lambda a, i, j, v: a.at[i, j].add(v), start, INDICES, INDICES[::-1].copy(), values
    )
    args = [start, INDICES, INDICES[::-1].copy(), values]
    after = assert_steps_agree(program, args, simplify_range_checks)
    assert questions(program) == ["equal"] * 2 and questions(after) == ["logical_and"] * 2
    assert bounded(after) == 0


@pytest.mark.parametrize("mode", ["clip", "promise_in_bounds"])
def test_what_is_not_asked_stays(mode):
    start, index = np.zeros(5), np.array([1, 4, 1])
    program = lowered(lambda a, i: a.at[i].add(1.0, mode=mode), start, index)
    assert simplify_range_checks(program, Options()) == program


def test_a_subscript_that_others_read_stays():
    """The element that was there is read outside the question as well."""

    def f(a, i):
        numbers = lax.GatherDimensionNumbers((), (0,), (0,))
        before = lax.gather(a, i[:, None], numbers, (1,), mode="clip")
        return before, a.at[i].add(1.0)

    start = np.arange(5.0)
    program = lowered(f, start, INDICES)
    after = simplify_range_checks(program, Options())
    assert bounded(program) == 2 and bounded(after) == 1
    assert questions(after) == ["logical_and"]


@settings(max_examples=tries(20), deadline=None)
@given(st.sampled_from(["add", "min", "set"]), st.sampled_from(["i8", "i4", "u1"]), st.data())
def test_updates_out_of_range_change_nothing_through_c(op, kind, data):
    info = np.iinfo(kind)
    extreme = st.sampled_from([info.min, info.max, *range(max(-9, info.min), 9)])
    index = np.array(data.draw(st.lists(extreme, min_size=1, max_size=12)), kind)
    start, values = np.arange(1.0, 7), np.arange(len(index)) - 3.0
    found = transpile.jit(lambda a, i, v: getattr(a.at[i], op)(v))(start, index, values)
    want = start.copy()
    for place, value in zip(map(int, index), values, strict=True):
        place += 6 if place < 0 else 0
        if 0 <= place < 6:
            want[place] = {"add": want[place] + value, "min": min(want[place], value)}.get(
                op, value
            )
    np.testing.assert_array_equal(found, want)
