"""What callbacks read and change when a program runs is not guarded; what its trace reads is."""

import cProfile
import functools
import pickle
import sys
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.debug import callback as call_back

X = np.ones(3)
SEEN = 0
RATE = 2.0
LOG = []


@pytest.fixture(autouse=True, params=["c", "python"])
def calls(request, monkeypatch):
    """Each test runs with calls in C and with calls in Python."""
    monkeypatch.setenv("TRANSPILE_CALLS", request.param)


class Recorder:
    """Callbacks that change attributes, and helpers that a trace calls."""

    def __init__(self):
        self.seen, self.rate, self.rows = 0, 2.0, []

    def record(self, value):
        self.seen += 1
        self.rows.append(float(value))

    def scaled(self, x):
        return x * self.rate

    def __call__(self, value):
        self.record(value)


def count_globally(value):
    global SEEN
    SEEN += 1
    write_down(value)


def write_down(value):
    LOG.append((len(LOG), float(value)))


def through(function, *args):
    """A user's own wrapper of `debug.callback`."""
    transpile.debug.callback(function, *args)


def cases():
    """Name, and what hands a callback over for a number, with how often it was called."""
    rows, table, queue = [], {}, deque()
    number = 0

    def in_closure(x):
        def count(value):
            nonlocal number
            number += 1

        transpile.debug.callback(count, x)

    yield "a counter in a closure", in_closure, lambda: number

    def in_lambda(x):
        transpile.debug.callback(lambda value: rows.append(float(value) + len(rows)), x)

    yield "a list in a closure", in_lambda, lambda: len(rows)

    yield "a global", lambda x: transpile.debug.callback(count_globally, x), lambda: SEEN

    own = Recorder()
    yield "a method", lambda x: transpile.debug.callback(own.record, x), lambda: own.seen

    called = Recorder()
    yield "an object", lambda x: transpile.debug.callback(called, x), lambda: called.seen

    def nested(x):
        def outer(value):
            def inner(value):
                table[len(table)] = float(value)

            inner(value)

        transpile.debug.callback(outer, x)

    yield "a nested helper", nested, lambda: len(table)

    partial = Recorder()
    yield (
        "a partial",
        lambda x: transpile.debug.callback(functools.partial(partial.record), x),
        lambda: partial.seen,
    )

    passed = Recorder()
    yield (
        "an argument of a callback",
        lambda x: transpile.debug.callback(lambda f, v: f(v), passed.record, x),
        lambda: passed.seen,
    )

    wrapped = Recorder()
    yield "a wrapper", lambda x: through(wrapped.record, x), lambda: wrapped.seen

    two = Recorder()
    yield (
        "two steps",
        lambda x: transpile.debug.callback(ordered=True)(two.record, x),
        lambda: two.seen,
    )

    other = Recorder()
    yield "another name", lambda x: call_back(other.record, x), lambda: other.seen

    items = []
    yield "a method in C", lambda x: call_back(items.append, x), lambda: len(items)
    yield "of a deque", lambda x: call_back(queue.append, x), lambda: len(queue)

    jitted = Recorder()
    inner = transpile.jit(lambda x: call_back(jitted.record, x))
    yield "in a jitted function", lambda x: inner(x), lambda: jitted.seen

    def decorated(function):
        @functools.wraps(function)
        def wrapper(value):
            function(value)

        return wrapper

    under = Recorder()
    recording = decorated(lambda value: under.record(value))
    yield "a decorated function", lambda x: call_back(recording, x), lambda: under.seen


@pytest.mark.parametrize("name", [name for name, *_ in cases()])
@one_in(4)
def test_what_a_callback_changes_is_no_reason_to_trace(name):
    hand_over, times = next(case[1:] for case in cases() if case[0] == name)
    settings = SimpleNamespace(rate=2.0)
    traces = []

    def f(x):
        traces.append(1)
        hand_over(x.sum())
        return x * settings.rate

    fast = transpile.jit(f)
    before = times()
    for _ in range(4):
        np.testing.assert_array_equal(fast(X), X * 2)
    assert (times() - before, len(traces)) == (4, 1)
    settings.rate = 3.0
    for _ in range(4):
        np.testing.assert_array_equal(fast(X), X * 3)
    assert (times() - before, len(traces)) == (8, 2)


def test_what_the_trace_calls_itself_stays_guarded():
    own, traces = Recorder(), []

    def f(x):
        traces.append(1)
        transpile.debug.callback(own.scaled, x)
        transpile.debug.callback(lambda value: own.record(value.sum()), x)
        return own.scaled(x)

    fast = transpile.jit(f)
    fast(X), fast(X)
    own.rate = 5.0
    np.testing.assert_array_equal(fast(X), X * 5)
    assert (own.seen, len(traces)) == (3, 2)


def test_what_callback_and_trace_read_is_guarded():
    own, traces = Recorder(), []

    def f(x):
        traces.append(1)
        transpile.debug.callback(lambda value: own.record(value.sum() * own.rate), x)
        return x * own.rate

    fast = transpile.jit(f)
    fast(X), fast(X)
    own.rate = 5.0
    np.testing.assert_array_equal(fast(X), X * 5)
    assert len(traces) == 2


def test_another_callback_in_the_place_of_one_is_called():
    first, second = [], []
    settings = SimpleNamespace(hook=first.append)

    def f(x):
        transpile.debug.callback(settings.hook, x.sum())
        return x

    fast = transpile.jit(f)
    fast(X), fast(X)
    settings.hook = second.append
    fast(X)
    assert (len(first), len(second)) == (2, 1)


def test_lists_that_a_trace_appends_to_and_reads():
    items = [2.0]

    def f(x):
        add = items.append
        transpile.debug.callback(add, x.sum())
        return x * max(items[:1])

    fast = transpile.jit(f)
    fast(X)
    items[0] = 3.0
    np.testing.assert_array_equal(fast(X), X * 3)


def test_items_that_a_callback_sets_are_no_reason_to_trace():
    held, traces = {}, []

    def f(x):
        traces.append(1)
        transpile.debug.callback(held.__setitem__, "sum", x.sum())
        transpile.debug.callback(held.update, {"last": x[-1]})
        return x

    fast = transpile.jit(f)
    for k in range(1, 4):
        fast(X * k)
        assert held == {"sum": 3 * k, "last": k}
    assert len(traces) == 1


def test_arguments_of_a_partial_that_only_a_callback_reads():
    def f(scale, x, history, *further, weights, **others):
        traces.append(1)
        transpile.debug.callback(lambda value: history.append(float(value)), x.sum())
        return x * scale[0] * weights["w"] * len(others["k"])

    traces, history, scale, weights, more = [], [], [2.0], {"w": 1.0}, [1]
    fast = transpile.jit(functools.partial(f, scale, history=history, weights=weights, k=more))
    for _ in range(3):
        np.testing.assert_array_equal(fast(X), X * 2)
    assert (len(history), len(traces)) == (3, 1)
    for change in (lambda: scale.insert(0, 3.0), lambda: weights.update(w=5.0), more.copy):
        change()
        fast(X), fast(X)
    np.testing.assert_array_equal(fast(X), X * 15)
    more.append(2)
    np.testing.assert_array_equal(fast(X), X * 30)
    assert (len(history), len(traces)) == (11, 4)


def test_a_program_with_callbacks_is_pickled():
    def f(x):
        transpile.debug.callback(write_down, x.sum())
        return x * 2

    compiled = pickle.loads(pickle.dumps(transpile.jit(f).lower(X).compile()))
    before = len(LOG)
    np.testing.assert_array_equal(compiled(X), X * 2)
    assert len(LOG) == before + 1


def test_under_transformations_and_in_loops():
    own, traces = Recorder(), []

    def step(k, x):
        transpile.debug.callback(own.record, x)
        return x * own.rate

    def f(x):
        traces.append(1)
        return transpile.lax.fori_loop(0, 2, step, x)

    fast = transpile.jit(transpile.vmap(transpile.grad(f)))
    fast(X), fast(X), fast(X)
    assert (own.seen, len(traces)) == (18, 1)
    own.rate = 3.0
    np.testing.assert_array_equal(fast(X), X * 9)


def test_the_profile_hook_is_left_as_it_was():
    own, traces = Recorder(), []

    def f(x):
        traces.append(sys.getprofile() is not None)
        transpile.debug.callback(own.record, x.sum())
        return x * 2

    transpile.jit(f)(X)
    assert traces == [True] and sys.getprofile() is None

    def fails(x):
        transpile.debug.callback(own.record, x.sum())
        raise ValueError(own.rate)

    with pytest.raises(ValueError, match=r"2\.0"):
        transpile.jit(fails)(X)
    assert sys.getprofile() is None


def test_under_a_profiler_results_are_right():
    own = Recorder()

    def f(x):
        transpile.debug.callback(own.record, x.sum())
        return own.scaled(x)

    fast = transpile.jit(f)
    with cProfile.Profile() as profile:
        fast(X), fast(X)
        if sys.version_info < (3, 12):
            assert sys.getprofile() is profile
        else:  # a profiler has a hook of its own, and stays beside those of `sys.setprofile`
            assert sys.monitoring.get_tool(sys.monitoring.PROFILER_ID)
        own.rate = 3.0
        np.testing.assert_array_equal(fast(X), X * 3)
    assert own.seen == 3
    own.rate = 4.0
    np.testing.assert_array_equal(fast(X), X * 4)
