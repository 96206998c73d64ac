"""Subscripts that are tested wait for one branch."""

import numpy as np
import pytest
from graphs import statements_of

import transpile
from transpile.ir.loop_ir import Apply, Declare, If, Literal, Ref, Store, Update
from transpile.ir.types import BOOL, INT64
from transpile.schedule.cleanup.subscripts.checked_subscripts import checked, sunk

pytestmark = pytest.mark.full_level
PLACES = np.array([3, -1, 0, 4, 5, -5, -6, 2**62, -(2**62), -(2**63), 2**63 - 1])


def operations(f, *args):
    """How often each operation stands in the loops of a program."""
    program = transpile.jit(f).lower(*args).compiler_ir("loops")
    declared = [s.value.op for s in statements_of(program, Declare) if isinstance(s.value, Apply)]
    return {op: declared.count(op) for op in declared}


def test_stores_at_places_from_an_array():
    def f(places, x):
        for i in range(len(places)):
            x[places[i]] = x[places[i]] + i + 1.0

    x = np.zeros(5)
    assert operations(f, PLACES, x)["checked_subscript"] == 1
    expected = x.copy()
    for i, place in enumerate(PLACES.tolist()):
        if -5 <= place < 5:
            expected[place] += i + 1
    transpile.jit(f)(PLACES, x)
    np.testing.assert_array_equal(x, expected)


def test_a_place_of_two_subscripts():
    def f(rows, columns, x):
        for i in range(len(rows)):
            x[rows[i], columns[i]] += 1

    rows, columns = PLACES, PLACES[::-1].copy()
    x = np.zeros((5, 4), np.int64)
    assert operations(f, rows, columns, x)["checked_subscript"] == 2
    expected = x.copy()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        if -5 <= row < 5 and -4 <= column < 4:
            expected[row, column] += 1
    transpile.jit(f)(rows, columns, x)
    np.testing.assert_array_equal(x, expected)


def test_a_number_that_ranges_keep_below_the_length():
    def f(x, counts):
        for i in range(len(x)):
            k = int(x[i])
            if k >= 5:
                k = 4
            counts[k] += 1

    x, counts = np.array([0.0, 9.0, -1.0, -5.0, -6.0, 4.0, 2.0]), np.zeros(5, np.int64)
    assert operations(f, x, counts)["checked_subscript"] == 1
    transpile.jit(f)(x, counts)
    np.testing.assert_array_equal(counts, [2, 0, 1, 0, 3])


ZERO, FIVE, LAST = (Literal(np.int64(n), INT64) for n in (0, 5, 4))
PLACE, NUMBER = Ref("t", INT64), Ref("x", INT64)
CHOICE = Apply(
    "select",
    (Apply("less", (NUMBER, ZERO), BOOL), Apply("add", (NUMBER, FIVE), INT64), NUMBER),
    INT64,
)
LOW = Apply("greater_equal", (PLACE, ZERO), BOOL)
HIGH = Apply("less_equal", (PLACE, LAST), BOOL)


def stored(value):
    return Store("out", (0,), value)


@pytest.mark.parametrize(
    ("behind", "is_below", "is_checked"),
    [
        (If(Apply("logical_and", (LOW, HIGH), BOOL), (stored(PLACE),)), False, True),
        (If(LOW, (stored(PLACE),)), True, True),
        (If(LOW, (stored(PLACE),)), False, False),
        (If(HIGH, (stored(PLACE),)), True, False),
        (If(Apply("logical_and", (LOW, HIGH), BOOL), (), (stored(PLACE),)), False, False),
        (stored(PLACE), True, False),
        (stored(NUMBER), True, False),
    ],
)
def test_each_read_is_behind_a_test(behind, is_below, is_checked):
    found = checked(Declare("t", CHOICE), (behind,), is_below)
    assert (found is not None) == is_checked
    if found is not None:
        assert found[0].value == Apply("checked_subscript", (NUMBER, FIVE), INT64)
        assert found[1] == (If(LOW, (stored(PLACE),)),)


def test_a_place_that_one_arm_reads_is_computed_there():
    declared = Declare("t", Apply("checked_subscript", (NUMBER, FIVE), INT64))
    test = If(LOW, (stored(PLACE),))
    other = Apply("less", (NUMBER, ZERO), BOOL)
    assert sunk(declared, (If(other, (test,)),)) == (If(other, (declared, test)),)
    assert sunk(declared, (If(other, (), (test,)),)) == (If(other, (), (declared, test)),)
    for behind in (
        (test,),
        (If(other, (test,), (test,)),),
        (If(other, (test,)), test),
        (Update(NUMBER, "add", FIVE), If(other, (test,))),
    ):
        assert sunk(declared, behind) == (declared, *behind)
    moves = Update(NUMBER, "add", FIVE)
    assert sunk(declared, (If(other, (moves, test)),)) == (If(other, (declared, moves, test)),)
