"""Loop-invariant subscripts are hoisted, unused ones removed, and results stay."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of

from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import Declare, For, Store
from transpile.numpy.subscripts.basic import update_item
from transpile.options import Options
from transpile.schedule import SCHEDULE
from transpile.schedule.cleanup.licm import hoist_invariants

pytestmark = pytest.mark.full_level

X = np.arange(24.0).reshape(6, 4)
ROWS = np.array([[5, 0, 0], [1, -2, 9]])


def before_hoist(f, *args):
    """The loops as the pass gets them."""
    program = lowered(f, *args)
    for loop_pass, _ in SCHEDULE:
        if loop_pass is hoist_invariants:
            return program
        program = loop_pass(program, Options())
    raise AssertionError("hoist_invariants is not in SCHEDULE")


def kinds(loop):
    return [type(s) for s in loop.body]


def test_subscript_of_a_row_is_read_before_the_loop_over_its_elements():
    program = before_hoist(lambda x, i: x[i] * 2, X, ROWS)
    after = assert_steps_agree(program, [X, ROWS], hoist_invariants)
    (outer,) = (s for s in after.kernels[0].body if isinstance(s, For))
    middle = outer.body[-1]
    assert kinds(middle)[-2:] == [Declare, For]
    assert kinds(middle.body[-1]) == [Store]


def test_subscript_that_depends_on_no_loop_is_read_before_all_but_a_parallel_one():
    program = before_hoist(lambda x, i: x[i, :] + x[:, i][:4], X, np.int64(2))
    after = assert_steps_agree(program, [X, np.int64(2)], hoist_invariants)
    assert [type(s) for s in after.kernels[0].body][-1] is For
    assert isinstance(after.kernels[0].body[0], Declare)


def test_subscript_that_a_piece_of_a_loop_does_not_use_is_left_out():
    def padded(x, i):
        return np.pad(x[i], 2)

    i = np.array([3, 1, 3])
    program = before_hoist(padded, X[:, 0], i)
    after = hoist_invariants(program, Options())
    assert run(after, [X[:, 0], i])[0].tolist() == padded(X[:, 0], i).tolist()
    used = [d.name for d in statements_of(after, Declare) if d.symbol is not None]
    assert len(used) == 1


def test_subscript_stays_behind_what_changes_its_array():
    def updated(x, i):
        places = update_item(i, i, 1, "add")  # the indices of the second update, in memory
        return places, update_item(x, places, 1.0, "add")

    i = np.array([1, 2, 0])
    after = hoist_invariants(before_hoist(updated, X, i), Options())
    places = i.copy()
    np.add.at(places, i, 1)
    want = X.copy()
    np.add.at(want, places, 1.0)
    found = run(after, [X, i])
    np.testing.assert_array_equal(found[0], places)
    np.testing.assert_array_equal(found[1], want)


def test_pieces_that_follow_each_other_share_a_subscript_or_have_names_of_their_own():
    def joined(x, i):
        return np.concatenate([x[i] * 2, x[i] * 3, x[i] * 5], 0)

    after = assert_steps_agree(before_hoist(joined, X, ROWS[0]), [X, ROWS[0]], hoist_invariants)
    for kernel in after.kernels:
        names = [s.name for s in kernel.body if isinstance(s, Declare)]
        assert len(set(names)) == len(names)
