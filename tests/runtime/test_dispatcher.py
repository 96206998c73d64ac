"""The call of a compiled function in Python, without programs; test_fast_call.py has them."""

import gc
import threading
import weakref

import numpy as np
import pytest

from transpile import tree
from transpile.runtime.dispatcher import Dispatcher, Specialization, Specializations
from transpile.trace.call_key import described

LEAF = tree.structure(0)
X = np.arange(3.0)


class Callee:
    __slots__ = ("__call__", "__weakref__")


class Watch:
    """A guard that says what it is told."""

    def __init__(self):
        self.now = ""

    def changed(self):
        return self.now


class Doubling:
    """A program."""

    def run(self, leaves):
        return [2 * x for x in leaves]


def doubling(kept=None, around=None, finish=None):
    return Specialization(Doubling(), kept, around, finish, LEAF)


def dispatching(missed, suspended=None, is_suspended=lambda: False):
    """A callee, its table, and the calls that `missed` has made."""
    table, callee, calls = Specializations(), Callee(), []

    def note(args, kwargs):
        calls.append((args, kwargs))
        return missed(table, args, kwargs)

    Dispatcher(table, described, note, suspended or [], is_suspended).attach(callee)
    return callee, table, calls


def keeping(table, args, kwargs):
    table.keep(described(args, kwargs)[0], doubling(), None)
    return "missed"


def test_a_key_is_missed_once():
    callee, table, calls = dispatching(keeping)
    assert callee(X) == "missed"
    for _ in range(3):
        np.testing.assert_array_equal(callee(X), 2 * X)
    assert callee(X[:2]) == callee(2.0) == callee(x=X) == "missed"
    assert len(calls) == 4 and calls[-1][1]["x"] is X
    assert callee(3.0) == 6.0
    table.clear()
    assert callee(X) == "missed"


def test_leaves_that_are_kept_and_results_that_are_finished():
    callee, table, _ = dispatching(keeping)
    key = described((X, [1.0, 2.0]), {})[0]
    table.keep(key, doubling(kept=(2, 0), finish=tuple), None)
    last, first = callee(X, [5.0, 7.0])
    assert last == 14.0
    np.testing.assert_array_equal(first, 2 * X)


def test_what_is_done_around_the_program():
    reverse = lambda run: lambda leaves: run(leaves)[::-1]
    specialization = doubling(around=reverse, finish=tuple)
    assert specialization.run([1.0, 2.0]) == (4.0, 2.0)
    assert specialization.runner(lambda leaves: [x + 1 for x in leaves])([1.0, 2.0]) == (3.0, 2.0)


def test_what_has_no_key_is_for_the_one_who_misses():
    def fails(_, args, kwargs):
        raise LookupError("no such thing")

    callee, _, calls = dispatching(fails)
    for strange in (object(), {1: 2, "a": 3}, np.array([None])):
        with pytest.raises(LookupError, match="no such thing") as caught:
            callee(strange)
        assert caught.value.__context__ is None  # why there is no key is nobody's business
    assert len(calls) == 3


def test_a_guard_that_fails_is_a_miss():
    callee, table, calls = dispatching(keeping)
    watch = Watch()
    table.keep(described((X,), {})[0], doubling(), watch)
    np.testing.assert_array_equal(callee(X), 2 * X)
    watch.now = "a global"
    assert callee(X) == "missed" and len(calls) == 1


def test_calls_are_suspended_in_some_threads():
    mine = threading.get_ident()
    callee, _, calls = dispatching(keeping, [None], lambda: threading.get_ident() == mine)
    assert callee(X) == callee(X) == "missed" and len(calls) == 2
    found = []
    thread = threading.Thread(target=lambda: found.append(callee(X)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], 2 * X)


def test_a_callee_goes_with_its_last_reference_and_its_calls_may_stay():
    callee, _, _ = dispatching(keeping)
    gone, call = weakref.ref(callee), callee.__call__
    gc.disable()
    try:
        del callee
        assert gone() is None
    finally:
        gc.enable()
    assert call(X) == "missed"
    np.testing.assert_array_equal(call(X), 2 * X)
