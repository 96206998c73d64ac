"""Calls in C: the same results as in Python, and in Python whatever they do not know."""

import contextlib
import ctypes
import gc
import os
import pickle
import queue
import subprocess
import sys
import sysconfig
import threading
import weakref
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
from thorough import one_in, thorough

import transpile
from transpile.build import toolchain
from transpile.options import Options
from transpile.runtime import fast_call
from transpile.runtime.callbacks import Callbacks
from transpile.runtime.dispatcher import Dispatcher
from transpile.runtime.program_call import ProgramCall

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "runtime_c" / "python" / "call.c"
X = np.arange(4.0)
PYTHON, RUN = Dispatcher.call.__code__, ProgramCall.run.__code__


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Calls are made in C from the second one on."""
    monkeypatch.setenv("TRANSPILE_CALLS", "c")
    assert fast_call.module() is not None, "the C path is tested where there are headers"


def same(a, b):
    """Equal trees of equal arrays, and equal types of everything."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        a, b = list(a.values()), list(b.values())
    if isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif a is not None:
        assert a.dtype is b.dtype and a.shape == b.shape and a.flags.num == b.flags.num
        np.testing.assert_array_equal(a, b)


@contextlib.contextmanager
def calls_of(*codes):
    """The code of each call of these Python functions meanwhile in this thread."""
    found = []

    def profile(frame, event, _):
        if event == "call" and frame.f_code in codes:
            found.append(frame.f_code)

    sys.setprofile(profile)
    try:
        yield found
    finally:
        sys.setprofile(None)


def python_calls():
    """The calls of compiled functions that Python makes."""
    return calls_of(PYTHON)


def both(function, *args, monkeypatch, count=0, options=None, **kwargs):
    """The result of a call in C, compared with Python's; `count` calls are made in Python."""
    options = options or {}
    copy = FunctionType(  # another function, which shares nothing but its programs on disk
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    monkeypatch.setenv("TRANSPILE_CALLS", "python")
    plain = transpile.jit(copy, **options)
    expected = [plain(*args, **kwargs) for _ in range(2)][1]
    monkeypatch.setenv("TRANSPILE_CALLS", "c")
    fast = transpile.jit(function, **options)
    fast(*args, **kwargs)
    with python_calls() as calls:
        found = fast(*args, **kwargs)
    assert len(calls) == count
    same(found, expected)
    return found


def swapped(x):
    return x.astype(x.dtype.newbyteorder())


# -------------------------------------------------------------------------------------- arguments

MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)
CALLS = {
    "one": (lambda x: x * 2 + 1, (X,)),
    "two": (lambda x, y: x + y, (X, X)),
    "dtypes": (lambda a, b, c: (a + 1, b & 3, ~c), (MATRIX, np.arange(3), np.arange(3) > 1)),
    "complex": (lambda a: a * 1j, (X + 2j,)),
    "small": (lambda a, b: a + b, (np.ones(3, np.int8), np.ones(3, np.float16))),
    "scalars": (lambda x, a, b, c: x * a + b + c, (X, 2.5, 7, True)),
    "complex scalar": (lambda x, a: x * a, (X, 1 - 2j)),
    "negative": (lambda x, a: x * a, (X, -(2**63))),
    "scalar results": (lambda a: (a + 1, a.sum()), (X,)),
    "NumPy's numbers": (
        lambda x, *a: (x * sum(a), [n + 1 for n in a]),
        (
            X,
            np.float32(0.1),
            np.int8(-3),
            np.float16(2),
            np.uint64(2**64 - 1),
            np.complex64(1j),
            np.bool_(True),
        ),
    ),
    "zero-dimensional": (lambda a: a + 1, (np.array(3.0),)),
    "empty": (lambda a: a + 1, (np.ones((0, 3)),)),
    "nothing": (lambda: np.ones(3), ()),
    "nested": (lambda t: t[0] + t[1][0] * t[1][1]["a"], ((X, [X, {"a": X, "b": 2.0}]),)),
    "none": (lambda t, u: t[0] + 1, ((X, None), None)),
    "unused": (lambda a, b, c: b + 1, (X, MATRIX, 2.0)),
    "dict": (lambda d: {"z": d["b"] + 1, "y": d["a"]}, ({"b": X, "a": MATRIX},)),
    "results": (lambda x: [x, (x + 1, {"b": x, "a": None}), [], (), x + 1], (X,)),
    "read-only": (lambda x: x + 1, (np.broadcast_to(X, (1, 4)),)),
    "workspace": (lambda x: np.sort(np.exp(x))[::-1] - np.cumsum(x), (np.arange(50.0),)),
}


@pytest.mark.parametrize("name", CALLS)
@one_in(3)
def test_a_call_in_c_gives_what_one_in_python_gives(name, monkeypatch):
    function, args = CALLS[name]
    both(function, *args, monkeypatch=monkeypatch)


def test_names_of_arguments(monkeypatch):
    def f(x, y, scale=1.0, *, shift):
        return x * scale + y + shift

    both(f, X, y=X, scale=3.0, shift=[X][0], monkeypatch=monkeypatch)
    fast = transpile.jit(f)
    fast(X, X, shift=1.0, scale=2.0)
    with python_calls() as calls:
        np.testing.assert_array_equal(fast(X, X, scale=2.0, shift=10.0), 3 * X + 10)
        np.testing.assert_array_equal(fast(X, X, shift=1.0, scale=3.0), 4 * X + 1)
        np.testing.assert_array_equal(
            fast(X, X, **{"".join(["sh", "ift"]): 1.0, "scale": 3.0}), 4 * X + 1
        )
    assert not calls
    with pytest.raises(TypeError, match="shift"):
        fast(X, X, scale=1.0)
    with pytest.raises(TypeError, match="shifted"):
        fast(X, X, scale=1.0, shifted=1.0)


@pytest.mark.parametrize("value", [3, "three", None, True, np.sin, np.float32])
def test_static_arguments(value, monkeypatch):
    def f(x, how):
        return x + (how if type(how) is int else 5)

    both(f, X, value, options={"static_argnums": 1}, monkeypatch=monkeypatch)
    both(f, X, how=value, options={"static_argnames": "how"}, monkeypatch=monkeypatch)


def test_static_arguments_are_told_apart():
    fast = transpile.jit(lambda x, n: x * n, static_argnums=1)
    for _ in range(3):
        for n in (2, True, 10**30, 2.0, -0.0, 0.0, (1, 2)[0]):
            np.testing.assert_array_equal(fast(X, n), X * n)
    assert np.signbit(fast(X, -0.0)[1]) and not np.signbit(fast(X, 0.0)[1])


def test_arguments_that_become_static_by_themselves_are_compared_in_c():
    scales = {"plain": 1.0}

    def f(x, how, n):
        room = [0.0] * n
        return x * scales["plain"] + len(room) if how == "add" else x - n

    fast = transpile.jit(f)
    for _ in range(2):
        fast(X, "add", 2), fast(X, "take", 2), fast(X, "add", 5)
    with python_calls() as calls:
        np.testing.assert_array_equal(fast(X, "add", 2), X + 2)
        np.testing.assert_array_equal(fast(X, "take", 2), X - 2)
        np.testing.assert_array_equal(fast(X, "add", 5), X + 5)
        np.testing.assert_array_equal(fast(X, "".join(["a", "dd"]), 5), X + 5)
    assert not calls
    np.testing.assert_array_equal(fast(X, "add", np.int64(5)), X + 5)
    np.testing.assert_array_equal(fast(X, "add", True), X + 1)
    scales["plain"] = 3.0
    for _ in range(2):
        np.testing.assert_array_equal(fast(X, "add", 5), 3 * X + 5)
    fast.clear_cache()
    with python_calls() as calls:
        np.testing.assert_array_equal(fast(X, "add", 5), 3 * X + 5)
    assert calls


class Array(np.ndarray):
    pass


class Like:
    dtype, shape = X.dtype, X.shape

    def __array__(self, dtype=None, copy=None):
        return X


def written(x, y):
    x[0] = 5.0
    return x + y


def by_float(x, y):
    return x * y


@pytest.mark.parametrize(
    ("function", "options"), [(written, {}), (by_float, {"static_argnums": 1})]
)
def test_programs_run_from_c_where_python_makes_the_call(function, options):
    fast = transpile.jit(function, **options)
    x, y = np.arange(8.0)[::2], 2.5
    expected = [function(z, y) for z in (x.copy(), x[::-1].copy())]
    fast(x.copy(), y)
    with calls_of(PYTHON, RUN) as calls:
        np.testing.assert_array_equal(fast(np.arange(8.0)[::2], y), expected[0])
        np.testing.assert_array_equal(fast(np.arange(8.0)[::2][::-1], y), expected[1])
    assert calls == [PYTHON] * 2


@pytest.mark.parametrize("x", [swapped(X), X.view(Array), Like()])
def test_what_c_does_not_know_is_for_python(x, monkeypatch):
    both(lambda x: x + 1, x, monkeypatch=monkeypatch, count=1)


def test_after_an_entry_was_made_other_arguments_are_told_apart():
    fast = transpile.jit(lambda x: x * 2)
    wide, unaligned = np.arange(8.0), np.zeros(33, np.uint8)[1:].view(float)
    unaligned[:] = X
    for x in (X, wide[::2], swapped(X), unaligned, wide, X.astype(np.float32), X[None], X[:, None]):
        np.testing.assert_array_equal(fast(x), x * 2)
        np.testing.assert_array_equal(fast(X), X * 2)
    assert fast(X.astype(np.float32)).dtype == np.float32
    nested = transpile.jit(lambda t: t[0] + t[1])
    for t in ((X, X), [X, X], (X, 2.0), (X, 2), [X, True], ([X, X][0], X)):
        for _ in range(2):
            np.testing.assert_array_equal(nested(t), t[0] + t[1])


def test_errors_are_those_of_python():
    fast = transpile.jit(lambda x, n: x + n)
    fast(X, 1)
    fast(X, 1)
    with pytest.raises(OverflowError):
        fast(X, 2**63)
    with pytest.raises(TypeError, match="neither an array nor a number"):
        fast(X, object())
    with pytest.raises(TypeError):
        fast(X)
    np.testing.assert_array_equal(fast(X, 2), X + 2)


def test_arrays_from_pickles_have_dtypes_of_their_own():
    fast = transpile.jit(lambda x: x + 1)
    copy = pickle.loads(pickle.dumps(X))
    fast(copy)
    with python_calls() as calls:
        np.testing.assert_array_equal(fast(X), X + 1)
        np.testing.assert_array_equal(fast(pickle.loads(pickle.dumps(X))), X + 1)
    assert not calls


def test_inside_a_trace_it_is_part_of_that():
    inner = transpile.jit(lambda x: x * x)
    inner(X)
    np.testing.assert_array_equal(inner(X), X * X)
    np.testing.assert_array_equal(transpile.jit(lambda x: inner(x) + 1)(X), X * X + 1)
    np.testing.assert_array_equal(transpile.grad(lambda x: inner(x).sum())(X), 2 * X)


@pytest.mark.parametrize("count", [10, 40, 41, 65, 200])
@one_in(2)
def test_many_arguments(count, monkeypatch):
    args = [np.full(2, float(n)) for n in range(count)]
    both(lambda *a: sum(a), *args, monkeypatch=monkeypatch)
    # Those that are not needed are no inputs.
    both(lambda *a: a[0] + 1, *args, monkeypatch=monkeypatch)


@pytest.mark.parametrize("count", [40, 100])
def test_many_results(count, monkeypatch):
    both(lambda x: tuple(x + n for n in range(count)), X, monkeypatch=monkeypatch)


def test_signatures_of_few_and_of_many_arguments_in_turn():
    fast = transpile.jit(lambda *a: sum(a) + 1)
    numbers = [float(n) for n in range(300)]
    for count in (1, 300, 2, 150, 1, 300):
        for _ in range(2):
            np.testing.assert_array_equal(fast(X, *numbers[1:count]), X + sum(numbers[:count]) + 1)
    with python_calls() as calls:
        fast(X, *numbers[1:])
        fast(X)
    assert not calls


@thorough
def test_many_signatures():
    fast = transpile.jit(lambda x: x + 1)
    for _ in range(3):
        for n in range(20):
            assert fast(np.ones(n)).shape == (n,)
    with python_calls() as calls:
        fast(np.ones(19))
        fast(np.ones(19))
    assert len(calls) <= 1


# --------------------------------------------------------------------------------- surroundings

SCALE = 2.0


class Model:
    bias = 1.0

    def __init__(self):
        self.scale = 3.0

    @transpile.jit
    def __call__(self, x):
        return x * self.scale + self.bias


def test_methods_and_what_they_read():
    model, other = Model(), Model()
    other.scale = 5.0
    for _ in range(3):
        np.testing.assert_array_equal(model(X), 3 * X + 1)
        np.testing.assert_array_equal(other(X), 5 * X + 1)
    model.scale = 4.0
    np.testing.assert_array_equal(model(X), 4 * X + 1)
    model.bias = 7.0
    np.testing.assert_array_equal(model(X), 4 * X + 7)
    np.testing.assert_array_equal(other(X), 5 * X + 1)


def test_globals_and_closures_that_change(monkeypatch):
    value, table, weights, pair = 1.0, [1.0, 2.0], np.ones(4), (1, 2)
    words, deep = {"a": 1.0, "b": 2.0}, [[1.0], {"c": 2.0}]
    helper = lambda x: x + 1

    def f(x):
        first = next(iter(words.values()))
        return helper(x) * value + table[1] + weights + SCALE + first + pair[1] + deep[1]["c"]

    fast = transpile.jit(f)

    def check():
        for _ in range(3):
            np.testing.assert_array_equal(fast(X), f(X))
        with python_calls() as calls:
            fast(X)
        assert not calls

    check()
    value = 2.0
    check()
    words["a"] = 7.0
    check()
    words["a"] = words.pop("a")  # now it is the last one
    check()
    pair = (1, 9)
    check()
    table[1] = 5.0
    check()
    table.append(6.0)
    check()
    deep[1]["c"] = 8.0
    check()
    weights[:] = 9
    check()
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    check()

    helper = lambda x: x - 1
    check()


def test_disabled_in_one_thread_is_disabled_there_alone():
    ran = []

    def f(x):
        ran.append(threading.get_ident())
        return x + 1

    fast = transpile.jit(f)
    for _ in range(3):
        fast(X)
    ran.clear()
    with transpile.disable_jit():
        fast(X)
        fast(X)
        thread = threading.Thread(target=fast, args=(X,))
        thread.start()
        thread.join()
        with transpile.disable_jit(False):
            fast(X)
    assert ran == [threading.get_ident()] * 2
    with python_calls() as calls:
        fast(X)
    assert not calls and len(ran) == 2


def test_functions_that_share_their_traces_are_called_in_c_too():
    f = lambda x: x + 5
    first, second = transpile.jit(f), transpile.jit(f)
    first(X)
    third = transpile.jit(f)
    with python_calls() as calls:
        np.testing.assert_array_equal(third(X), X + 5)
        assert not calls
        np.testing.assert_array_equal(second(X), X + 5)
        assert len(calls) == 1  # and from then on
        np.testing.assert_array_equal(second(X), X + 5)
        assert len(calls) == 1


def test_the_callee_goes_with_its_last_reference():
    """Also without the collector: what a function has captured may be large."""
    weights = np.ones(4)
    fast, other = (transpile.jit(lambda x: x + weights) for _ in range(2))
    compiled = transpile.jit(lambda x: x + 6).lower(X).compile()
    for _ in range(3):
        fast(X), compiled(X)
    gc.collect()  # of what a compilation leaves behind
    gone = [weakref.ref(thing) for thing in (fast, other, compiled)]
    call = fast.__call__
    gc.disable()
    try:
        del fast, other, compiled
        assert [reference() for reference in gone] == [None] * 3
    finally:
        gc.enable()
    np.testing.assert_array_equal(call(X), X + 1)


def test_callbacks_are_called_from_c():
    seen = queue.SimpleQueue()  # no guard looks into it

    def note(x):
        if x < 0:
            raise LookupError(f"{x}")
        seen.put(float(x))
        if x > 1:
            fast(x - 1)

    def f(x):
        transpile.debug.callback(note, x)
        return x * 2

    fast = transpile.jit(f)
    fast(np.array(0.0))
    with calls_of(PYTHON, RUN) as calls:
        assert fast(np.array(3.0)) == 6.0
        with pytest.raises(LookupError, match=r"-1\.0"):
            fast(np.array(-1.0))
        assert fast(np.array(1.0)) == 2.0
    assert [seen.get() for _ in range(seen.qsize())] == [0.0, 3.0, 2.0, 1.0, 1.0]
    assert not calls


def test_programs_that_raise_begin_their_callbacks_once(monkeypatch):
    def f(x):
        if x < 0:
            raise LookupError(f"{x} is negative")
        return x * 2

    fast = transpile.jit(f)
    fast(1.0)
    begun = []
    begin = Callbacks.begin
    monkeypatch.setattr(Callbacks, "begin", lambda own: begun.append(own) or begin(own))
    for x in (1.0, 2.0, -1.0, 3.0, 4.0, -2.0):
        if x < 0:
            with pytest.raises(LookupError, match=rf"{x} is negative"):
                fast(x)
        else:
            assert fast(x) == 2 * x
    assert len(begun) == 2  # after the program's first call in C, and after the first error


def test_forgetting():
    ran = []

    def f(x):
        ran.append(None)
        return x + 1

    fast = transpile.jit(f)
    fast(X), fast(X)
    fast.clear_cache()
    fast(X), fast(X)
    transpile.clear_caches()
    fast(X)
    assert len(ran) == 3


def test_a_function_that_goes_takes_its_entries_along():
    def make():
        weights = np.ones(4)

        def f(x):
            return x + weights

        fast = transpile.jit(f)
        fast(X), fast(X)
        return weakref.ref(f), weakref.ref(fast), weakref.ref(weights)

    found = make()
    gc.collect()
    assert [r() for r in found] == [None] * 3


# ------------------------------------------------------------------------------------- donation


def test_donated_arguments():
    fast = transpile.jit(lambda x, y: (x + y, y * 2), donate_argnums=0)
    for _ in range(3):
        x = X.copy()
        first, second = fast(x, X)
        assert first.base is x
        np.testing.assert_array_equal(first, 2 * X)
        np.testing.assert_array_equal(second, 2 * X)
    locked = X.copy()
    locked.flags.writeable = False
    assert not np.may_share_memory(fast(locked, X)[0], locked)
    np.testing.assert_array_equal(locked, X)


def test_assignments_to_arguments():
    def f(x):
        x[0] = 5.0
        return x

    fast = transpile.jit(f)
    for _ in range(3):
        x = X.copy()
        assert fast(x) is x and x[0] == 5


def step(x, v, mass):
    """Assigns to two arguments, and returns one of them twice, and a third array."""
    v -= x / mass["m"]
    x += v
    return x, {"x": x, "total": v.sum()}, [v * 2]


def test_arguments_change_where_they_lie_from_c():
    fast, mass = transpile.jit(step), {"m": np.full(8, 2.0)}
    for count in range(4):
        x, v = np.arange(8.0), np.ones(8)
        references = [sys.getrefcount(a) for a in (x, v)]
        with calls_of(PYTHON) as calls:
            result = fast(x, v, mass)
        assert not calls or count == 0
        assert result[0] is x and result[1]["x"] is x
        wanted = np.arange(8.0), np.ones(8)
        again = step(*wanted, mass)
        np.testing.assert_array_equal([x, v], wanted)
        np.testing.assert_array_equal(result[2][0], again[2][0])
        assert result[1]["total"] == again[1]["total"]
        del result
        assert [sys.getrefcount(a) for a in (x, v)] == references


def test_what_cannot_change_where_it_lies_is_for_python():
    fast, mass = transpile.jit(step), {"m": np.full(8, 2.0)}
    for _ in range(3):
        fast(np.arange(8.0), np.ones(8), mass)
    memory = np.zeros(30)
    apart = {  # x and v
        "gaps": (np.arange(16.0)[::2], np.ones(24)[::3]),
        "backwards": (np.arange(8.0)[::-1], np.ones(8)),
        "shared with what is read": (mass["m"], np.ones(8)),
    }
    for name, (x, v) in apart.items():
        own = {"m": mass["m"].copy()}
        ours, numpys = (x.copy(), v.copy()), (x.copy(), v.copy())
        given = (x, v) if name != "shared with what is read" else ours
        with calls_of(PYTHON) as calls:
            fast(*given, own)
        assert bool(calls) == (given is not ours), name
        step(*numpys, own)
        np.testing.assert_array_equal(given, numpys, err_msg=name)
    with pytest.raises(ValueError, match="share memory"):
        fast(memory[:8], memory[4:12], mass)
    locked = np.arange(8.0)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only: argument 'x' of step"):
        fast(locked, np.ones(8), mass)
    np.testing.assert_array_equal(locked, np.arange(8.0))


# --------------------------------------------------------------------------------------- memory


def test_nothing_is_kept_or_lost():
    weights = {"w": [X.copy(), X.copy()], "b": (X.copy(), 2.0)}
    fast = transpile.jit(lambda p, x: [{"a": p["w"][0] + x, "b": (p["b"][0] * 2, None)}])
    dtype = X.dtype
    calls = [(weights, X), (weights, X[::1]), (weights, 2.0)]
    for args in calls * 3:
        fast(*args)
    watched = [X, dtype, None, *weights["w"], weights["b"], weights, fast._tracing.table.entries]
    before = [sys.getrefcount(thing) for thing in watched]
    for _ in range(200):
        for args in calls:
            fast(*args)
        fast(weights, X[::-1])
    after = [sys.getrefcount(thing) for thing in watched]
    assert all(abs(a - b) <= 3 for a, b in zip(after, before, strict=True))
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(40_000):
        fast(weights, X)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 100  # other garbage may go meanwhile


def test_a_workspace_is_used_again_and_shared_with_python(monkeypatch):
    fast = transpile.jit(lambda x: np.sort(np.exp(x)) + np.sort(np.sin(x)))
    x = np.arange(100.0)
    transpile.clear_caches()
    expected = fast(x)
    executable = fast.trace(x).lower().compile().runtime_executable()
    assert executable.memory_analysis().temp_size_in_bytes
    (spare,) = executable.call.spare
    for _ in range(3):
        np.testing.assert_array_equal(fast(x), expected)
        np.testing.assert_array_equal(executable([x])[0], expected)
    assert executable.call.spare == [spare]


def test_a_compiled_function_is_called_in_c_too():
    compiled = transpile.jit(lambda p, x: {"y": p[0] * x + p[1]}).lower((X, X), X).compile()
    expected = compiled((X, 2 * X), X)
    with python_calls() as found:
        for _ in range(5):
            same(compiled((X, 2 * X), X), expected)
        assert not found
        same(compiled((X[::1], 2 * X), X[::-1][::-1]), expected)
        same(compiled((X, 2 * X), np.repeat(X, 2)[::2]), expected)  # copied
        same(compiled((X, 2 * X), swapped(X)), expected)
        assert len(found) == 1
    with pytest.raises(TypeError, match=r"compiled with float64.4. and called with float64.3."):
        compiled((X, X), X[:3])
    with pytest.raises(TypeError, match="transformations to a function lowered and compiled"):
        transpile.grad(lambda x: compiled((x, x), x)["y"].sum())(X)


def test_a_compiled_function_with_statics_or_written_arguments_is_called_as_before():
    def doubled(x):
        x *= 2
        return x.sum()

    compiled = transpile.jit(doubled).lower(X).compile()
    for _ in range(5):
        x = X.copy()
        assert compiled(x) == 2 * X.sum()
        np.testing.assert_array_equal(x, 2 * X)
    power = transpile.jit(lambda x, n: x**n, static_argnums=1).lower(X, 3).compile()
    for _ in range(5):
        np.testing.assert_array_equal(power(X), X**3)


@thorough
def test_threads_have_a_workspace_each():
    def f(x):
        return np.sort(np.exp(x)) + np.sort(x)[::-1].cumsum()

    fast = transpile.jit(f)
    xs = [np.random.default_rng(n).random(3000) for n in range(6)]
    expected = [fast(x) for x in xs]
    wrong = []

    def work(k):
        for _ in range(100):
            if not np.array_equal(fast(xs[k]), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_only_brief_programs_keep_the_gil():
    def is_brief(function, *args):
        return transpile.jit(function).lower(*args).compile().runtime_executable().call.is_brief

    assert is_brief(lambda x: x + 1, X)
    assert not is_brief(lambda x: x + 1, np.ones(100_000))
    assert not is_brief(lambda x: transpile.lax.while_loop(lambda c: c < x, lambda c: c + 1, 0), 3)
    assert not is_brief(lambda n: transpile.lax.fori_loop(0, n, lambda i, c: c + i, 0), 3)


def test_runtime_sizes_say_whether_a_call_is_brief():
    def for_sizes(function, shape, **sizes):
        x = transpile.ShapeDtypeStruct(shape, float)
        compiled = transpile.jit(function).lower(x).compile().runtime_executable()
        return compiled.for_sizes(sizes).is_brief

    n, k = transpile.dims("n, k", "n % 8 == 0", "k <= 1000000")
    assert for_sizes(lambda x: x + 1, (n,), n=80) and not for_sizes(lambda x: x + 1, (n,), n=80_000)
    assert for_sizes(np.exp, (k, 3), k=5) and not for_sizes(np.exp, (k, 3), k=50_000)
    assert for_sizes(lambda x: x[x > 0], ("m",), m=5)
    assert not for_sizes(lambda x: x[x > 0], ("m",), m=50_000)
    assert not for_sizes(np.sort, ("m",), m=5)
    dense = np.ones((32, 8))  # in blocks of 32 rows, of which few are there
    assert for_sizes(lambda x: np.tanh(x @ dense) @ dense.T, ("m", 32), m=2)
    assert not for_sizes(lambda x: np.tanh(x @ dense) @ dense.T, ("m", 32), m=5000)
    weights = np.ones((16, 32))  # one row has a version of its own
    assert for_sizes(lambda x: np.maximum(x @ weights, 0) @ weights.T, ("m", 16), m=1)
    assert not for_sizes(lambda x: np.maximum(x @ weights, 0) @ weights.T, ("m", 16), m=64)


def test_after_a_fork():
    code = """
import os
import numpy as np
import transpile
small, large = transpile.jit(lambda x: x + 1), transpile.jit(lambda x: np.exp(x) * x)
x = np.ones(4)
y = np.ones(3_000_000)
for _ in range(3):
    small(x), large(y)
child = os.fork()
results = small(x)[0], large(y)[-1]
assert results == (2, np.e), results
if not child:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)


def test_in_development_mode():
    code = """
import numpy as np
import transpile
f = transpile.jit(lambda p, x: {"a": p["w"] * x, "b": [x.sum(), None]}, donate_argnums=1)
for _ in range(100):
    f({"w": np.ones(4)}, np.ones(4))
    f({"w": np.ones(4)}, 2.0)
    f({"w": np.ones(4)}, np.ones(8)[::2])
try:
    f({"w": np.ones(4)}, np.ones(3))
except ValueError:
    pass
"""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------------------------- the C module


def program(found, function, fail, **changed):
    """A program with one array of four numbers and a like result."""
    node = (found.ARRAY, X.dtype, X.shape)
    usual = {
        "inputs": (node,),
        "outputs": (node,),
        "aliases": (-1,),
        "convert": lambda leaf, position: np.array(leaf, X.dtype, order="C"),
        "fail": fail,
        "address": ctypes.cast(function, ctypes.c_void_p).value,
        "workspace": 0,
        "makers": (None, None),
        "spare": [],
        "is_brief": True,
        "callbacks": None,
        "called": 0,
    }
    return found.Program(**(usual | changed))


def entry(found, program, **changed):
    """An entry for a call of it."""
    node = (found.ARRAY, X.dtype, X.shape)
    usual = {
        "key": ("key",),
        "arguments": (node,),
        "positional": 1,
        "names": (),
        "program": program,
        "inputs": (0,),
        "result": ((found.ARRAY, None, ()),),
        "finish": None,
        "guards": (),
        "changed": None,
    }
    return found.Entry(**(usual | changed))


@pytest.mark.parametrize("is_brief", [True, False])
def test_a_program_that_fails(is_brief):
    found = fast_call.module()
    code = [7]
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: code[0])

    def fail(number):
        raise RuntimeError(f"code {number}")

    entries, suspended = [], []
    call = found.Caller(lambda *args, **kwargs: "Python", entries, suspended)
    assert call(X) == "Python"
    failing = program(found, function, fail, is_brief=is_brief)
    entries.append(entry(found, failing))
    before = sys.getrefcount(X)
    with pytest.raises(RuntimeError, match="code 7"):
        call(X)
    with pytest.raises(RuntimeError, match="code 7"):
        failing([X])
    entries[:] = [entry(found, program(found, function, lambda _: None, is_brief=is_brief))]
    with pytest.raises(SystemError, match="code 7"):
        call(X)
    assert sys.getrefcount(X) == before
    code[0] = 0
    assert call(X).shape == (4,)
    assert call(X, X) == call() == call(X, x=X) == "Python"
    suspended.append(None)
    assert call(X) == "Python"
    suspended.clear()
    assert call(X).shape == (4,)
    entries[:] = ["something else"]
    assert call(X) == "Python"


def test_a_program_takes_a_list_of_its_inputs():
    found = fast_call.module()
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: 0)
    run = program(found, function, None)
    for leaves in ([X], (X,), [X[::-1]], [list(X)], [np.float32(2) * np.ones(4, np.float32)]):
        (result,) = run(leaves)
        assert result.shape == (4,) and result.dtype == X.dtype
    for leaves in ([], [X, X]):
        with pytest.raises(ValueError, match=f"takes 1 arrays, not {len(leaves)}"):
            run(leaves)
    for wrong in (3, None, X[0]):
        with pytest.raises(TypeError, match="a list of its inputs"):
            run(wrong)
    with pytest.raises(TypeError, match="a list of its inputs"):
        run([X], [X])
    with pytest.raises(TypeError, match="not what the program reads"):
        run([np.ones(5)])
    with pytest.raises(ValueError, match="could not convert"):
        run(["text"])

    leaves = [list(X)]
    shrinking = program(found, function, None, convert=lambda leaf, position: leaves.clear() or X)
    with pytest.raises(ValueError, match="takes 1 arrays, not 0"):
        shrinking(leaves)


def test_entries_that_make_no_sense():
    found = fast_call.module()
    function = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)
    node = (found.ARRAY, X.dtype, X.shape)
    right = program(found, function, None)
    for wrong in (
        {"inputs": (1,)},
        {"inputs": (-1,)},
        {"inputs": ()},
        {"inputs": (0, 0)},
        {"arguments": (3,)},
        {"arguments": ((99, None, ()),)},
        {"arguments": ((found.ARRAY, "f8", ()),)},
        {"arguments": ((found.DICT, (1, 2), ()),)},
        {"arguments": ((found.TUPLE, None, ()),)},
        {"result": (node, node)},
        {"result": 3},
        {"program": None},
    ):
        with pytest.raises((TypeError, ValueError)):
            entry(found, right, **wrong)
    for wrong in (
        {"inputs": ((found.NUMBER, float, ()),)},
        {"inputs": (3,)},
        {"outputs": ((found.ARRAY, None, ()),)},
        {"outputs": ()},
        {"aliases": (3,)},
        {"aliases": ()},
        {"address": 1.5},
        {"spare": 3},
        {"makers": (None,)},
        {"makers": [None, None]},
        {"called": None},
        {"lengths": 3},
        {"lengths": (3,)},
        {"lengths": (-1, -1)},
        {"lengths": ((found.ARRAY, None, (0,)),)},
        {"lengths": ((found.ARRAY, None, (1,)),)},
        {"lengths": ((found.NUMBER, float, ()),)},
    ):
        with pytest.raises((TypeError, ValueError)):
            program(found, function, None, **wrong)
    for wrong in ((), (print, ()), (print, [], ())):
        with pytest.raises(TypeError):
            found.Caller(*wrong)


def test_it_compiles_without_a_warning(tmp_path):
    compiler = toolchain.find_compiler(Options())
    include = [w for path, _ in fast_call._headers() for w in ("-isystem", str(path))]
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Werror"]
    command = [*compiler.command, *strict, "-O2", "-fPIC", "-shared", *include]
    done = subprocess.run(
        [*command, str(SOURCE), "-o", str(tmp_path / "call.so")], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def reloaded(monkeypatch, tmp_path):
    """What `module()` gives in a new process with an empty cache."""
    monkeypatch.setattr(fast_call, "_modules", [])
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    return fast_call.module()


def test_without_headers_or_a_compiler_calls_stay_in_python(tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", "transpile")
    with monkeypatch.context() as changes:
        changes.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
        assert reloaded(changes, tmp_path) is None
        assert f"calls are made in Python: there are no headers in {tmp_path}" in caplog.text
        fast = transpile.jit(lambda x: x + 3)
        for _ in range(3):
            np.testing.assert_array_equal(fast(X), X + 3)
        assert fast._tracing.table.entries == []
    with monkeypatch.context() as changes:
        changes.setenv("CC", str(tmp_path / "no-such-compiler"))
        assert reloaded(changes, tmp_path) is None
    with monkeypatch.context() as changes:
        changes.setattr(sysconfig, "get_config_var", lambda _: 1)
        assert reloaded(changes, tmp_path) is None


@thorough
def test_a_damaged_module_is_built_again(tmp_path, monkeypatch):
    with monkeypatch.context() as changes:
        first = reloaded(changes, tmp_path)
        (directory,) = (tmp_path / "cache").glob("transpile_call-*")
        (directory / "call.so").unlink()  # it is mapped: in its place it must not change
        (directory / "call.so").write_bytes(b"no shared object")
        (directory / "call.so").chmod(0o700)
        assert reloaded(changes, tmp_path) is not first
    assert (directory / "call.so").read_bytes()[:4] == b"\x7fELF"


def test_calls_are_made_in_c_when_there_are_many(monkeypatch):
    monkeypatch.delenv("TRANSPILE_CALLS")
    fast = transpile.jit(lambda x: x + 11)
    with python_calls() as calls:
        for _ in range(300):
            fast(X)
    assert len(calls) == 101  # the first one traces
    monkeypatch.setenv("TRANSPILE_CALLS", "python")
    slow = transpile.jit(lambda x: x + 12)
    with python_calls() as calls:
        for _ in range(300):
            slow(X)
    assert len(calls) == 300
    monkeypatch.setenv("TRANSPILE_CALLS", "fortran")
    with pytest.raises(ValueError, match="TRANSPILE_CALLS takes 'c' or 'python', not 'fortran'"):
        transpile.jit(lambda x: x + 13)(X)


def test_a_warm_start_does_not_load_it():
    code = """
import sys
import numpy as np
import transpile
transpile.jit(lambda x: x + 1)(np.ones(3))
assert "transpile.runtime.fast_call" not in sys.modules
"""
    environment = {n: v for n, v in os.environ.items() if n != "TRANSPILE_CALLS"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment)
