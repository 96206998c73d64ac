"""Branches that traced values decide leave known arrays as they are while they are traced, and what
Python raises in them is raised by the program when it comes there. Python is the oracle."""

from __future__ import annotations

import types

import numpy as np
import pytest

import transpile
from transpile.errors import CarryError, UnsupportedError
from transpile.transforms.interpret import interpret

X = np.arange(5.0)
TABLE = np.zeros(3)


def held(k):
    return types.SimpleNamespace(parts=[{"k": (k,)}])


def fill_held(holder):
    np.copyto(holder.parts[0]["k"][0], 3.0)


def fill_and_fail(k):
    np.put(k, [0, 1], 7.0)
    return int("q")


def flat(x, k):
    if x[0] > 100:
        k.flat = 3.0


def real(x, k):
    if x[0] > 100:
        k.real = 3.0


def mapped(x, k):
    if x[0] > 100:
        list(map(k.__setitem__, range(3), [5.0, 5.0, 5.0]))


def iterator(x, k):
    elements = k.flat
    if x[0] > 100:
        elements[0] = 3.0


def items_of_a_list(x, k):
    for part in [k]:
        if x[0] > 100:
            part.flat = 2.0


def deep(x, k):
    holder = held(k)
    if x[0] > 100:
        fill_held(holder)


def in_a_loop(x, k):
    while x[0] > 100:
        k.flat = 1.0
        x = x - 1000


def before_an_exception(x, k):
    if x[0] < -100:
        fill_and_fail(k)


def bound(x, k):
    if x[0] > 100:
        k.flat = 3.0
        k = k + 1.0


CHANGES = [
    flat,
    bound,
    real,
    mapped,
    iterator,
    items_of_a_list,
    deep,
    in_a_loop,
    before_an_exception,
]


@pytest.mark.parametrize("change", CHANGES)
def test_known_arrays_change_when_the_program_says_so(change):
    def f(x):
        k = np.zeros(3)
        change(x, k)
        return x + k.sum()

    graph = transpile.jit(f).trace(X).jaxpr
    for x in (X, X + 1000.0):
        (found,) = interpret(graph, [x])
        np.testing.assert_array_equal(found, f(x))


def shape(x, k):
    if x[0] > 100:
        k.shape = (3, 1)


def buffer(x, k):
    if x[0] > 100:
        memoryview(k)[0] = 3.0


def data(x, k):
    if x[0] > 100:
        k.data[0] = 3.0


@pytest.mark.parametrize("change", [shape, buffer, data])
def test_changes_that_no_program_can_make_are_refused(change):
    def f(x):
        k = np.zeros(3)
        change(x, k)
        return x + k.sum()

    with pytest.raises((UnsupportedError, TypeError, AttributeError)):
        transpile.jit(f).trace(X)


LARGE = np.zeros(1 << 18)
STATE = types.SimpleNamespace(list=[1.0], dict={}, set={1})


def by_helper(x):
    if x[0] > 100:
        x = fill_table(x)
    return x


def fill_table(x):
    memoryview(TABLE)[0] = 3.0
    return x


def by_method(x):
    if x[0] > 100:
        Filling().go()
    return x


class Filling:
    def go(self):
        TABLE.flat = 3.0


def one_element_of_a_large_one(x):
    if x[0] > 100:
        memoryview(LARGE)[1 << 17] = 3.0
    return x


def all_of_a_large_one(x):
    if x[0] > 100:
        y = x + 1
        if x[1] > 100:
            LARGE.flat = 3.0
            y = x + 2
        x = y
    return x


@pytest.mark.parametrize(
    "function",
    [by_helper, by_method, one_element_of_a_large_one, all_of_a_large_one],
)
def test_arrays_of_the_surroundings_are_as_before_where_a_change_is_refused(function):
    with pytest.raises(UnsupportedError, match="array of the function's surroundings"):
        transpile.jit(function).trace(X)
    assert not TABLE.any()
    assert not LARGE.any()


def test_conditions_of_loops_that_change_arrays_of_the_surroundings_are_refused():
    known = np.zeros(3)

    def is_below(x):
        memoryview(known)[0] = known[0] + 1.0
        return x[0] < 10

    def f(x):
        while is_below(x):
            x = x + 1
        return x

    with pytest.raises(UnsupportedError, match="array of the function's surroundings"):
        transpile.jit(f).trace(X)


def append_to_state(x):
    STATE.list.append(2.0)
    return x


def enter_into_state(x):
    STATE.dict["new"] = 1
    return x


def add_to_state(x):
    STATE.set.add(2)
    return x


@pytest.mark.parametrize("change", [append_to_state, enter_into_state, add_to_state])
def test_helpers_that_change_globals_are_refused_in_branches_and_loops(change):
    def branch(x):
        return change(x) if x[0] > 100 else x

    def loop(x):
        while x[0] > 100:
            x = change(x) - 100
        return x

    def condition(x):
        while x[0] > 100 and change(x)[1] > 100:
            x = x - 100
        return x

    for function in (branch, loop, condition):
        with pytest.raises(CarryError, match="where traced values decide what runs, or how often"):
            transpile.jit(function).trace(X)
    assert (STATE.list, STATE.dict, STATE.set) == ([1.0], {}, {1})


def test_a_known_condition_may_change_what_it_sees():
    def f(x):
        left = [3.0, 2.0, 1.0]
        total = np.zeros(3)
        while left and (total.fill(left.pop()) is None):
            x = x + total[0]
        return x

    np.testing.assert_array_equal(interpret(transpile.jit(f).trace(X).jaxpr, [X])[0], f(X))


def test_arrays_that_arithmetic_has_made_are_named_in_the_refusal():
    def f(x):
        a = b = TABLE * 2
        if x[0] > 100:
            a[0] = 7.0
        return x + b.sum()

    with pytest.raises(UnsupportedError, match="or to one that arithmetic has made of known"):
        transpile.jit(f).trace(X)


def square_root(number):
    return np.float64(number).item() ** 0.5 if number >= 0 else int(str(number) + "q")


RAISING = {
    "too many to unpack": lambda: [p for p, q in [(1, 2, 3)]],
    "int": lambda: int("q"),
    "float": lambda: float("abc"),
    "next": lambda: next(iter([])),
    "list.index": lambda: [1].index(3),
    "str.index": lambda: "a".index("b"),
    "overflow": lambda: 2.0**10000,
    "known arrays": lambda: np.zeros(3) + np.zeros(4),
    "function": lambda: square_root(-1),
}


@pytest.mark.parametrize("raising", RAISING.values(), ids=RAISING)
def test_what_python_raises_in_a_branch_is_raised_by_the_program(raising):
    def f(x):
        y = x
        if x[0] > 100:
            y = x * raising()
        return y

    graph = transpile.jit(f).trace(X).jaxpr
    np.testing.assert_array_equal(interpret(graph, [X])[0], X)
    with pytest.raises(Exception) as expected:  # of any kind, as Python says
        f(X + 1000.0)
    with pytest.raises(type(expected.value)) as found:
        interpret(graph, [X + 1000.0])
    assert str(found.value) == str(expected.value)


def test_what_python_raises_in_a_loop_is_raised_by_the_program():
    def f(x):
        while x[0] > 100:
            x = x - 1000
            int("q")
        return x

    graph = transpile.jit(f).trace(X).jaxpr
    np.testing.assert_array_equal(interpret(graph, [X])[0], X)
    with pytest.raises(ValueError, match="invalid literal for int"):
        interpret(graph, [X + 1000.0])


def test_what_a_trace_cannot_do_is_no_exception_of_the_program():
    def mistaken(x):
        y = x
        if x[0] > 100:
            y = x.reshape(7)
        return y

    def traced_text(x):
        y = x
        if x[0] > 100:
            y = x * int(str(x[0]))
        return y

    def given_traced(x):
        k = np.zeros(3)
        if x[0] > 100:
            k.flat = 3.0
        if x[1] > 100:
            np.random.default_rng(0).random(out=k)
        return k

    with pytest.raises(ValueError, match="cannot reshape array"):
        transpile.jit(mistaken).trace(X)
    with pytest.raises(TypeError, match="random, which is compiled"):
        transpile.jit(given_traced).trace(X)
    with pytest.raises((ValueError, TypeError)):
        transpile.jit(traced_text).trace(X)


def test_an_exception_that_a_handler_is_for_is_refused():
    def f(x):
        y = x
        try:
            if x[0] > 100:
                y = x * int("q")
        except ValueError:
            y = x * 2
        return y

    with pytest.raises(UnsupportedError, match="cannot handle the ValueError"):
        transpile.jit(f).trace(X)
