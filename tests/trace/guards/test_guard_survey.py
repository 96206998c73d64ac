"""What a function reads, by its bytecode: guards for all of it, as drawn, and what the log says."""

import inspect
import logging
import os
import textwrap
import types
import unittest.mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import transpile
from transpile import errors
from transpile.runtime import fast_call
from transpile.trace.bytecode.reads import global_names, reads
from transpile.trace.guards.checks import ARRAY, ENTRY, FUNCTION, ITEMS, PAIRS, Guard, Watch
from transpile.trace.guards.survey import survey

X = np.ones(3)
SCALE = 2.0
config = types.ModuleType("config")


class Thing:
    """An object with attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


# ------------------------------------------------------------------------------------- in the log


def test_the_log_says_what_has_changed_and_what_is_not_watched(caplog):
    big, many, thing = np.ones(1000), [1.0] * 5000, Thing(w=1.0, count=0)

    def f(x):
        thing.count += 1
        return x * big[3] * max(many) * thing.w

    fast = transpile.jit(f)
    with caplog.at_level(logging.WARNING, "transpile"), transpile.explain_cache_misses():
        fast(X)
        thing.w = 2.0
        fast(X)
    first, unseen, second, *_ = [record.getMessage() for record in caplog.records]
    assert "has not been traced before" in first
    assert "'thing.w', which it reads besides its arguments, has changed" in second
    for words in (
        "single elements of big (8000 bytes)",
        "the 5000 items of many",
        "thing.count (the function itself changes it)",
    ):
        assert words in unseen
    big[3] = 2.0  # as the log says: it is not among the sampled ones
    np.testing.assert_array_equal(fast(X), X * 2)
    big = np.full(1000, 2.0)
    np.testing.assert_array_equal(fast(X), X * 4)


def test_a_function_without_a_source_is_looked_through():
    scope = {"rate": 2.0, "np": np}
    exec(textwrap.dedent("def f(x): return np.sin(x) * rate"), scope)
    fast = transpile.jit(scope["f"])
    fast(X)
    scope["rate"] = 3.0
    np.testing.assert_allclose(fast(X), np.sin(X) * 3)


# ----------------------------------------------------------------------------------------- drawn


@st.composite
def mazes(draw):
    """An object of dicts, lists, tuples and objects, and the Python of all ways to its numbers."""
    number = iter(range(10**6))

    def part(depth):
        kind = draw(
            st.sampled_from(["number", "dict", "list", "tuple", "thing"][: 5 if depth else 1])
        )
        if kind == "number":
            return float(next(number)), [""]
        parts = [part(depth - 1) for _ in range(draw(st.integers(1, 3)))]
        names = [f"n{k}" for k in range(len(parts))]
        values = [value for value, _ in parts]
        if kind == "dict":
            made, steps = dict(zip(names, values, strict=True)), [f"[{n!r}]" for n in names]
        elif kind == "thing":
            made = Thing(**dict(zip(names, values, strict=True)))
            steps = [f".{n}" for n in names]
        else:
            made = values if kind == "list" else tuple(values)
            steps = [f"[{k}]" for k in range(len(parts))]
        return made, [
            step + way for step, (_, ways) in zip(steps, parts, strict=True) for way in ways
        ]

    inner, ways = part(3)
    return Thing(root=inner), [f"maze.root{way}" for way in ways]


STYLES = {
    "direct": "def f(x): return x * {way}",
    "local": "def f(x):\n    m = maze.root\n    return x * (m{rest})",
    "inside": "def f(x): return (lambda: x * {way})()",
    "helper": "def g(m): return m{rest}\ndef f(x): return x * g(maze.root)",
    "default": "def f(x, m=maze): return x * m.root{rest}",
    "index": "def f(x):\n    def at(a, k): return a[k]\n    return x * ({way})",
}


@settings(max_examples=150, deadline=None)
@given(drawn=mazes(), data=st.data(), style=st.sampled_from(sorted(STYLES)))
def test_a_way_through_a_maze(drawn, data, style):
    maze, ways = drawn
    way = data.draw(st.sampled_from(ways))
    changed = data.draw(st.sampled_from(ways))
    scope = {"maze": maze, "__name__": __name__}
    rest = way.removeprefix("maze.root")
    exec(STYLES[style].format(way=way, rest=rest), scope)
    watch = survey(scope["f"], scope["f"], {}).settle()
    assert watch.changed() == "" and current(watch)
    before = scope["f"](1.0)
    try:
        exec(f"{changed} = -1.0", scope)
    except TypeError:  # into a tuple
        return
    if scope["f"](1.0) != before:
        assert watch.changed() and not current(watch)
    if style == "direct" and way != changed:
        assert not watch.changed() and current(watch)
    exec(f"{changed} = {before!r}", scope)
    if way == changed:
        assert not watch.changed() and current(watch)


def current(watch):
    """Whether C finds the guards of a watch as they should be."""
    module = fast_call.module()
    quick, rest = watch.comparisons()
    assert rest is None
    return module.holds(quick)


def test_guards_that_make_no_sense_are_refused():
    module = fast_call.module()
    for guard in (
        (),
        (ENTRY, [], "a", 1),
        (ITEMS, [], None, []),
        (PAIRS, {}, None, ()),
        (ARRAY, X, None, (X.dtype, X.shape)),
        (FUNCTION, len, None, (1, 2, 3)),
        (99, {}, "a", 1),
        ("a", {}, "a", 1),
    ):
        with pytest.raises((ValueError, TypeError)):
            module.holds((guard,))


def test_guards_of_things_that_are_gone():
    table, cells = {"a": 1.0}, [1.0]
    guards = [
        Guard(ENTRY, table, "a", 1.0, "table['a']"),
        *Watch([Guard(ITEMS, cells, None, (1.0,), "cells")])._guards,
    ]
    watch = Watch(guards)
    assert current(watch) and not watch.changed()
    cells.clear()
    assert watch.changed() == "cells" and not current(watch)
    cells.append(1.0)
    del table["a"]
    assert watch.changed() == "table['a']" and not current(watch)


# -------------------------------------------------------------------------------------- bytecode


def test_reads():
    def f(self, x, key):
        self.n += 1
        self.q[0] = self.a.b["c"][0].d
        config.table["n"] = 3
        for y in self.layers:
            x = y(x)
        return [self.w * y for y in x], key[1:2], key[x], os.environ["A"], lambda v: v * self.z

    def shown(code):
        found = {}
        for read in reads(code).reads:
            path = read.name + "".join(map(str, read.steps))
            found[path] = found.get(path, False) or read.is_used
        for inside in reads(code).nested:
            found |= shown(inside)
        return found

    found = shown(f.__code__)
    expected = {
        "self.n": True,
        "self.a.b['c'][0].d": True,
        "self.q": False,
        "config.table": False,
        "self.layers": True,
        "self.w": True,
        "self.z": True,
        "os.environ['A']": True,
        "key": True,
    }
    assert {path: found.get(path) for path in expected} == expected
    assert global_names(f.__code__) == ("config", "os")


def test_reads_of_long_code():
    lines = "\n".join(f"    x = x * table[{n}].name_{n}" for n in range(400))
    scope = {}
    exec(f"def f(x):\n{lines}\n    return x", scope)
    found = [str(read.steps[-1]) for read in reads(scope["f"].__code__).reads if read.is_global]
    assert found == [f".name_{n}" for n in range(400)]


@pytest.mark.parametrize(
    "function",
    [transpile.random.randint, transpile.nn.softmax, transpile.lax.fori_loop, np.mean],
)
def test_a_function_of_a_library_has_no_guards(function):
    """Also not where it is the function itself: `random` compiles its own. The modules of
    transpile hold thousands of names, which stay as they are."""
    inner = inspect.unwrap(function)
    watch = survey(function, inner, {})
    assert watch.settle() is None and not watch.unseen


def test_a_function_that_a_compiled_function_of_transpile_calls_has_guards():
    """It is the user's, though the outer one is not."""

    def outer(function, x):
        return function(x)

    outer = types.FunctionType(outer.__code__, {"__name__": "transpile.ode"})

    def inner(x):
        return x * SCALE

    guards = survey(outer, outer, {"function": inner}).settle()
    assert [guard.label for guard in guards._guards] == ["function", "SCALE"]


def test_errors_of_the_function_stay_its_own():
    thing = Thing(n=1)
    with pytest.raises(AttributeError, match="nothing"):
        transpile.jit(lambda x: x * thing.nothing)(X)
    with pytest.raises(errors.TracerBoolConversionError):
        transpile.jit(lambda x: x if x > thing.n else -x, python_control_flow=False)(X)


def test_attributes_that_objects_make_as_they_are_asked_for_end():
    """A mock makes another one for each attribute, also for `__iter__` of its class."""
    plotting = unittest.mock.MagicMock()
    scale = [2.0]

    @transpile.jit
    def scaled(x):
        if x.ndim > 3:
            plotting.show(x)
        return x * scale[0]

    assert scaled(3.0) == 6.0
    scale[0] = 4.0
    assert scaled(3.0) == 12.0
