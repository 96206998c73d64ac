"""Index-set splitting: loops are split where a condition on their index changes."""

import itertools

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered
from helpers import ordinary

import transpile
from transpile import lax
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import Declare, For, Literal, Load, Ref, Store, While
from transpile.ir.types import FLOAT64, INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.index_set_split import pieces, split_index_sets, unique_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace

pytestmark = pytest.mark.full_level

X, Y = ordinary("f8", (7,)), ordinary("f8", (5,))
MATRIX = ordinary("f8", (4, 6))

PIECES = {
    "a padded array": (lambda x, y: np.pad(x, (2, 3)), [2, 9, 12]),
    "joined arrays": (lambda x, y: np.concatenate([x, y, x]), [7, 12, 19]),
    "a rolled array": (lambda x, y: np.roll(x, 3), [3, 7]),
    "reversed joined arrays": (lambda x, y: np.concatenate([x, y])[::-1], [5, 12]),
    "every third of joined arrays": (lambda x, y: np.concatenate([x, y])[1::3], [2, 4]),
}


@pytest.mark.parametrize("name", PIECES)
def test_a_loop_is_cut_into_pieces_without_tests(name):
    f, stops = PIECES[name]
    after = assert_steps_agree(lowered(f, X, Y), [X, Y], split_index_sets)
    assert "select" not in str(after)
    assert [loop.stop for loop in loops_of(after)] == stops


def test_inner_loops_are_cut_as_well():
    after = assert_steps_agree(lowered(lambda x: np.pad(x, 2), MATRIX), [MATRIX], split_index_sets)
    assert "select" not in str(after)


def test_a_piece_of_one_iteration_is_no_loop():
    program = lowered(lambda x: np.pad(x, (1, 0)), X)
    assert [loop.stop for loop in loops_of(assert_steps_agree(program, [X], split_index_sets))] == [
        8
    ]


def test_loops_with_too_many_pieces_stay():
    program = lowered(lambda x, y: np.concatenate([x, y, x]), X, Y)
    assert split_index_sets(program, Options(machine=Machine(most_pieces=2))) == program


def test_of_too_many_pieces_the_longest_is_one():
    long, short = ordinary("f8", (90,)), ordinary("f8", (5,))
    program = lowered(lambda x, y: np.convolve(x, y), long, short)
    after = assert_steps_agree(program, [long, short], split_index_sets)
    pieces = [(loop.start, loop.stop, "select" in str(loop.body)) for loop in loops_of(after)]
    assert [piece for piece in pieces if piece[1] == 90] == [(4, 90, False)]


def test_other_loops_stay():
    program = lowered(lambda x: np.sin(x).sum(axis=1), ordinary("f8", (4, 30)))
    assert split_index_sets(program, Options()) == program


def test_subscripts_of_one_name_in_nested_scopes_stay_apart():
    """Slices that are changed one after the other, at starts that are clamped: pieces of loops, and
    loops in them, declare subscripts of the same name."""

    def f(first, second, third):
        x = np.arange(5.0)
        changed = -lax.dynamic_slice(x, (5,), (2,))
        x = lax.dynamic_update_slice(x, changed, (5,))
        x = lax.dynamic_update_slice(x, changed, (first,))
        x = lax.dynamic_update_slice(x, -lax.dynamic_slice(x, (4,), (4,)), (4,))
        x = lax.dynamic_update_slice(x, -lax.dynamic_slice(x, (second,), (3,)), (4,))
        y = lax.dynamic_slice(x, (third,), (1,))
        x = lax.dynamic_update_slice(x, -y, (third,))
        return x, y

    fast = transpile.jit(f)
    for starts in itertools.product((-3, 0, 1, 2, 4, 7), repeat=3):
        given = [np.asarray(s) for s in starts]
        with transpile.disable_jit():
            want = f(*given)
        for a, b in zip(fast(*given), want, strict=True):
            np.testing.assert_array_equal(a, b, f"{starts}")


def border(u):
    """A sweep over a grid whose border is tested for in the loops, as users write it."""
    n = u.shape[0]

    def cell(i, j, out):
        is_border = (i == 0) | (j == 0) | (i == n - 1) | (j >= n - 1)
        inner = lambda: u[i - 1, j] + u[np.minimum(i + 1, n - 1), j] + u[i, j - 1]
        return out.at[i, j].set(lax.cond(is_border, lambda: 0.0 * u[i, j], inner))

    def line(i, out):
        return lax.fori_loop(0, n, lambda j, out: cell(i, j, out), out)

    return lax.fori_loop(0, n, line, np.zeros_like(u))


def test_a_users_loop_is_cut_where_tests_of_its_counter_change():
    u = ordinary("f8", (6, 6))
    after = assert_steps_agree(lowered(border, u), [u], split_index_sets)
    inside = [loop for loop in loops_of(after) if loop.start == 1]
    assert [loop.stop for loop in inside] == [5, 5]
    assert all(loop.ordered for loop in inside)
    assert "logical_or" not in str(after)
    assert " if " not in str(after)


def test_a_recurrence_that_is_cut_stays_in_order():
    """Iterations of both pieces read what the one before has written."""

    def f(x):
        def step(i, out):
            return out.at[i].set(np.where(i < 5, out[i - 1] * 0.5, out[i - 1] + x[i]))

        return lax.fori_loop(1, 9, step, x)

    x = ordinary("f8", (9,))
    after = assert_steps_agree(lowered(f, x), [x], split_index_sets)
    assert [(loop.start, loop.stop) for loop in loops_of(after) if loop.ordered] == [(1, 5), (5, 9)]


def test_names_of_a_body_are_not_those_of_the_test_before():
    """A `while` with statements before its condition has one scope in C."""
    at = Symbol("at", 0, 4)
    found = Declare("at", Ref("k", INT64), symbol=at)
    test = Load("h", (Dim.of(at),), INT64)
    loop = While(test, (found, Store("h", (Dim.of(at),), test)), (found,))
    (renamed,) = unique_names((loop,), Names({"at", "k", "h"}))
    assert renamed.test == loop.test and renamed.condition == loop.condition
    declared, stored = renamed.body
    assert declared.name == declared.symbol.name != "at"
    assert stored.index == (Dim.of(declared.symbol),)
    assert stored.value.index == stored.index


def shortest(d):
    """Floyd and Warshall's algorithm: the iteration k stores d[i, k], which the others read."""
    n = d.shape[0]

    def through(k, d):
        def row(i, d):
            def one(j, d):
                return d.at[i, j].set(np.minimum(d[i, j], d[i, k] + d[k, j]))

            return lax.fori_loop(0, n, one, d)

        return lax.fori_loop(0, n, row, d)

    return lax.fori_loop(0, n, through, d)


def shifted(x):
    """The iteration k - 1 stores x[k], where there is one; x[3] is stored by the iteration 2."""
    n = x.shape[0]

    def through(k, x):
        return lax.fori_loop(
            0, n - 1, lambda j, x: x.at[j + 1].set(x[j + 1] * x[k + 1] - x[3] - x[k]), x
        )

    return lax.fori_loop(0, n - 1, through, x)


@pytest.mark.parametrize(
    ("function", "x", "stops"),
    [(shortest, ordinary("f8", (6, 6)), ["k", "6"]), (shifted, ordinary("f8", (9,)), ["k", "8"])],
)
def test_a_users_loop_is_cut_where_it_stores_what_it_reads_in_all_iterations(function, x, stops):
    after = assert_steps_agree(lowered(function, x), [x], split_index_sets)
    inner = [f for f in loops_of(after) if not any(isinstance(s, For) for s in f.body)]
    assert [str(loop.stop) for loop in inner if loop.ordered] == stops
    np.testing.assert_allclose(transpile.jit(function)(x), function(x), rtol=1e-13)


def test_a_single_iteration_that_a_limit_may_leave_out_stays_a_loop():
    row, column = Symbol("i", 0, 3), Symbol("j", 0, 2)
    store = Store("out", (Dim.of(row) * 2 + Dim.of(column),), Literal(1.0, FLOAT64))
    loop = For(column, 2, (store,), limit=Dim.of(row) * -2 + 5)
    (last,) = pieces(loop, 1, 2, Machine())
    assert isinstance(last, For)
    assert last.limit == loop.limit
    (first,) = pieces(replace(loop, limit=None), 0, 1, Machine())
    assert isinstance(first, Store)
