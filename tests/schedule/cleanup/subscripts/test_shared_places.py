"""Copies of scalars and places are left out, wherever the number is the same."""

import math

import numpy as np
import pytest
from drawn_loops import drawn_function
from graphs import assert_same_results, run, scheduled_until
from thorough import THOROUGH

import transpile
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import walk
from transpile.ir.loop_verifier import check
from transpile.ir.types import BOOL, FLOAT64, INT64
from transpile.options import Options
from transpile.schedule.cleanup.subscripts.shared_places import share_places

OPTIONS = Options()
N = 6


def number(name):
    return Ref(name, INT64)


def place(name, extent=N):
    return Symbol(name, 0, extent)


def copy(name, value, symbol=None):
    return Declare(name, value, symbol=symbol)


def add_to(at, value):
    """y[at] = y[at] + value."""
    index = (Dim.of(at),)
    return Store("y", index, Apply("add", (Load("y", index, FLOAT64), literal(value)), FLOAT64))


def literal(value):
    return Literal(np.float64(value), FLOAT64)


def integer(value):
    return Literal(np.int64(value), INT64)


def plus_one(name):
    return Update(number(name), "add", integer(1))


def shared(*body):
    """The body behind the pass; it does the same."""
    y = Buffer("y", (N,), FLOAT64)
    i = Symbol("fill", 0, N)
    fill = For(i, N, (Store("y", (Dim.of(i),), literal(0.0)),))
    before = Program("f", (), (y,), (Kernel("k", (fill, *body)),))
    check(before)
    after = share_places(before, OPTIONS)
    check(after, before)
    assert_same_results(run(after, []), run(before, []))
    return after.kernels[0].body[1:]


def names(body):
    return [s.name for s in walk(body) if isinstance(s, Declare)]


A, B, C = place("a"), place("b"), place("c")
T = Declare("t", Apply("add", (integer(1), integer(1)), INT64))


def test_places_of_one_number_are_one():
    inner = For(place("j"), N, (copy("b", number("t"), B), add_to(B, 1.0)))
    body = shared(
        T,
        copy("a", number("t"), A),
        add_to(A, 2.0),
        inner,
        copy("c", number("t"), C),
        add_to(C, 3.0),
    )
    assert names(body) == ["a"]


def test_copies_of_constants_are_the_constants():
    body = shared(
        T, copy("u", number("t")), copy("v", number("u")), copy("a", number("v"), A), add_to(A, 1.0)
    )
    assert names(body) == ["a"]


def test_a_place_of_a_narrower_range_stays():
    narrow = place("b", 3)
    body = shared(
        T,
        copy("a", number("t"), A),
        add_to(A, 2.0),
        copy("b", number("t"), narrow),
        add_to(narrow, 1.0),
    )
    assert names(body) == ["t", "a", "b"]


def test_places_of_one_index_are_one():
    j = place("j")
    index = IndexValue(Dim.of(j))
    loop = For(j, N, (copy("a", index, A), add_to(A, 1.0), copy("b", index, B), add_to(B, 2.0)))
    (after,) = shared(loop)
    assert names(after.body) == ["a"]


COUNT = Declare("count", integer(0), constant=False)
AT_MOST = Apply("less", (number("count"), integer(N - 2)), BOOL)


def test_a_variable_that_has_not_changed_has_one_copy():
    loop = While(
        AT_MOST,
        (
            copy("t", number("count")),
            copy("a", number("t"), A),
            add_to(A, 1.0),
            copy("u", number("count")),
            copy("b", number("u"), B),
            add_to(B, 2.0),
            plus_one("count"),
            copy("v", number("count")),
            copy("c", number("v"), C),
            add_to(C, 4.0),
        ),
    )
    assert names(shared(COUNT, loop)) == ["count", "a", "c"]


def test_a_variable_that_a_loop_or_branch_changes_has_another_copy_behind_it():
    j = place("j", 2)
    branch = If(AT_MOST, (plus_one("count"),))
    for changing in (For(j, 2, (plus_one("count"),)), branch):
        body = shared(
            COUNT,
            copy("t", number("count")),
            copy("a", number("t"), A),
            add_to(A, 1.0),
            changing,
            copy("u", number("count")),
            copy("b", number("u"), B),
            add_to(B, 2.0),
        )
        assert names(body) == ["count", "a", "b"]


def test_in_a_loop_that_changes_a_variable_the_copy_before_is_another_number():
    j = place("j", 2)
    loop = For(
        j,
        2,
        (copy("u", number("count")), copy("b", number("u"), B), add_to(B, 2.0), plus_one("count")),
    )
    body = shared(
        COUNT, copy("t", number("count")), copy("a", number("t"), A), add_to(A, 1.0), loop
    )
    assert names(body) == ["count", "a", "b"]


def test_a_name_that_is_hidden_stands_for_nothing():
    """The inner `t` is another number than the one that `u` is a copy of."""
    other = Declare("t", integer(4))
    loop = For(
        place("j"),
        2,
        (
            other,
            copy("b", number("u"), B),
            add_to(B, 1.0),
            copy("c", number("t"), C),
            add_to(C, 2.0),
        ),
    )
    body = shared(T, copy("u", number("t")), copy("a", number("u"), A), add_to(A, 4.0), loop)
    assert names(body) == ["t", "a", "t", "c"]


def cholesky(a):
    n = len(a)
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] * a[j, k]
        if s <= 0.0:
            return j + 1
        d = math.sqrt(s)
        a[j, j] = d
        for i in range(j + 1, n):
            t = a[i, j]
            for k in range(j):
                t -= a[i, k] * a[j, k]
            a[i, j] = t / d
    return 0


def test_the_text_of_a_factorization_has_one_name_for_each_number():
    text = transpile.jit(cholesky).lower(np.eye(9)).as_text()
    assert "t -= a_out[at3][j] * a_out[at][j];" in text
    assert "const int64_t at = carry;\n        double s = a_out[at][at];" in text


@pytest.mark.parametrize("a", [np.eye(5) * 2 + 0.5, -np.eye(4), np.eye(1)])
def test_factorizations_are_those_of_python(a):
    mine, theirs = a.copy(), a.copy()
    assert transpile.jit(cholesky)(mine) == cholesky(theirs)
    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("seed", range(300 if THOROUGH else 6))
def test_drawn_loops_do_the_same(seed):
    f, _ = drawn_function(seed)
    draw = np.random.default_rng(seed)
    args = draw.uniform(-3, 3, 5), draw.uniform(-3, 3, 5), draw.integers(0, 9, 5), np.int64(2)
    program = transpile.jit(f).lower(*args)._lowering._pipeline.lowered
    before = scheduled_until(share_places, program, OPTIONS)
    after = share_places(before, OPTIONS)
    check(after, before)
    read = dict(zip("xykm", args, strict=True))
    inputs = [read[buffer.name] for buffer in before.inputs]
    assert_same_results(run(after, inputs), run(before, inputs))
