"""Choices in scalar code: constants by branches, stores under conditions as choices."""

import numpy as np
import pytest
from graphs import assert_same_results, lowered, run

import transpile
from transpile import lax
from transpile.ir.loop_ir import Apply, Declare, If, Store, Update
from transpile.ir.loop_rewrite import walk
from transpile.ir.loop_verifier import check
from transpile.options import Options
from transpile.schedule import schedule
from transpile.schedule.scalar_choices import shape_choices

pytestmark = pytest.mark.full_level


def shaped(f, *args):
    """The loops of a function after the schedule, which compute what those before it do."""
    before = lowered(f, *args)
    after = schedule(before, Options(openmp=False))
    check(after)
    assert_same_results(run(after, list(args)), run(before, list(args)))
    return [s for k in after.kernels for s in walk(k.body)]


def is_choice(statement):
    value = getattr(statement, "value", None)
    return isinstance(value, Apply) and value.op == "select"


@pytest.mark.parametrize("x", [-3.0, -0.0, 0.0, 2.0, np.nan, np.inf])
@pytest.mark.parametrize("is_last", [False, True])
def test_a_constant_is_assigned_by_a_branch(x, is_last):
    def f(x, table):
        def step(i, state):
            s, table = state
            moved = s * 0.5 - table[i]
            chosen = np.where(moved < 0, moved, 7.0) if is_last else np.where(moved < 0, 7.0, moved)
            return chosen, table.at[i].set(chosen + s)

        return lax.fori_loop(0, 5, step, (x, table))

    statements = shaped(f, np.float64(x), np.arange(5.0))
    assert any(isinstance(s, If) for s in statements)
    assert not any(is_choice(s) for s in statements if isinstance(s, Declare))


def larger(best, distance, v):
    """What the inner loop of a knapsack does."""

    def step(j, best):
        t = best[j] + v
        return lax.cond(
            t > best[j + distance], lambda b: b.at[j + distance].set(t), lambda b: b, best
        )

    return lax.fori_loop(0, 4, step, best)


def test_a_store_under_a_condition_is_a_choice():
    """Its element is read in any case, and each iteration has one of its own."""
    for distance in (0, 1, 3):
        statements = shaped(
            lambda b, v, d=distance: larger(b, d, v), np.array([3.0, 1, 7, 2, 9, 0, 1]), 2.0
        )
        assert any(isinstance(s, Store) and is_choice(s) for s in statements)


def exchanged(stride):
    def step(j, a):
        x, y = a[stride * j], a[stride * j + 1]

        def swapped(a):
            return a.at[stride * j].set(y).at[stride * j + 1].set(x)

        return lax.cond(x > y, swapped, lambda a: a, a)

    return lambda a: lax.fori_loop(0, 3, step, a)


def held(x, peak, hold):
    """Peaks, and since when: one array is read under the other condition alone."""

    def step(i, state):
        def larger(peak, hold):
            return peak.at[i].set(x[i]), hold.at[i].set(5.0)

        def smaller(peak, hold):
            return peak, hold.at[i].set(hold[i] - 1.0)

        return lax.cond(x[i] > state[0][i], larger, smaller, *state)

    return lax.fori_loop(0, 4, step, (peak, hold))


def test_several_stores_under_a_condition_are_choices_made_before_them():
    """Of elements that no other iteration uses; those of both arms are there in any case."""
    for f, args in (
        (exchanged(2), (np.array([3.0, 1, np.nan, 2, 0, -1, 4]),)),
        (exchanged(3), (np.array([3.0, 1, 7, 2, 9, 0, 5, -1, 4]),)),
        (held, (np.array([3.0, 1, np.nan, 2]), np.array([2.0, 1, 0, 4]), np.arange(4.0))),
    ):
        statements = shaped(f, *args)
        assert not any(isinstance(s, If) for s in statements)
        chosen = {s.name for s in statements if isinstance(s, Declare) and is_choice(s)}
        stores = [s.value for s in statements if isinstance(s, Store)]
        assert sum(getattr(value, "name", "") in chosen for value in stores) == 2


def test_several_stores_keep_their_branch_where_iterations_share_elements():
    """A choice would wait for the store of the iteration before, as in a bubble sort."""
    statements = shaped(exchanged(1), np.array([3.0, 1, 7, 2, 9]))
    assert any(isinstance(s, If) for s in statements)
    assert not any(is_choice(s) for s in statements)


def test_a_store_of_a_search_keeps_its_branch():
    """Elements that other arrays choose, or that all iterations share, are stored where they
    change."""

    def scattered(best, at):
        def step(j, best):
            t = best[at[j]] * 0.5
            return lax.cond(t > best[at[j]], lambda b: b.at[at[j]].set(t), lambda b: b, best)

        return lax.fori_loop(0, 5, step, best)

    def relaxed(d):
        def step(j, d):
            t = d[2] + d[2 * j]
            return lax.cond(t < d[2 * j], lambda d: d.at[2 * j].set(t), lambda d: d, d)

        return lax.fori_loop(0, 3, step, d)

    for f, args in (
        (scattered, (np.arange(-3.0, 3), np.array([4, 1, 1, 0, 2]))),
        (relaxed, (np.arange(-3.0, 3),)),
    ):
        assert not any(isinstance(s, Store) and is_choice(s) for s in shaped(f, *args))


def test_an_element_that_is_read_under_the_condition_alone_is_stored_there():
    """Nothing is stored where nothing was to be read."""

    def f(x, y):
        def step(j, x):
            return lax.cond(y[j] > 0, lambda x: x.at[j].set(y[j] * 2), lambda x: x, x)

        return lax.fori_loop(0, 5, step, x)

    statements = shaped(f, np.arange(5.0), np.array([1.0, -1, 0, 2, 3]))
    assert not any(isinstance(s, Store) and is_choice(s) for s in statements)


def test_programs_without_choices_stay_as_they_are():
    program = lowered(lambda x: x * 2, np.arange(5.0))
    assert shape_choices(program, Options()) is program


def nearest_not_done(near, done):
    best = -1
    for v in range(len(near)):
        if not done[v] and (best < 0 or near[v] < near[best]):
            best = v
    return best


def first_not_less(a, x):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if a[middle] < x else (low, middle)
    return low


def test_the_place_of_the_best_so_far_changes_behind_a_branch_and_halves_do_not():
    draw = np.random.default_rng(0)
    near, done = draw.normal(size=90), draw.random(90) < 0.5
    for given in (near, done), (near, np.ones(90, bool)), (near, np.zeros(90, bool)):
        assert transpile.jit(nearest_not_done)(*given) == nearest_not_done(*given)

    def choices(function, *args):
        program = transpile.jit(function).lower(*args).compiler_ir("loops")
        found = (s for k in program.kernels for s in walk(k.body) if isinstance(s, Update))
        return sum(map(is_choice, found))

    assert choices(nearest_not_done, near, done) == 0
    text = transpile.jit(nearest_not_done).lower(near, done).as_text()
    assert "= behind_branch_i64(" in text  # which gcc cannot make a choice again
    assert choices(first_not_less, np.sort(near), 0.5) == 2


def test_a_search_goes_on_by_a_branch():
    """Where it is decides what is compared next: the branch is predicted, the sum would be waited
    for."""

    def f(text, word):
        k = 0
        found = 0
        for i in range(len(text)):
            k = k + (text[i] == word[k])
            if k == len(word):
                k = 0
                found += 1
        return found, k

    text, word = np.array([1, 1, 2, 1, 2, 1, 2, 2, 1]), np.array([1, 2, 1])
    program = transpile.jit(f).lower(text, word).compiler_ir("loops")
    tests = [s.condition for k in program.kernels for s in walk(k.body) if isinstance(s, If)]
    assert any(
        isinstance(t, Apply) and t.op == "equal" and t.args[0].dtype == np.int64 for t in tests
    )
    assert transpile.jit(f)(text, word) == f(text, word)


def test_a_stack_is_taken_from_by_a_branch():
    """Its top is where the next elements are read, and what they are decides how it moves."""

    def f(x):
        stack = np.zeros(9, np.int64)
        k = 0
        for i in range(len(x)):
            while k > 0:
                if x[stack[k - 1]] < x[i]:
                    break
                k -= 1
            stack[k] = i
            k += 1
        return k, stack

    x = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])
    program = transpile.jit(f).lower(x).compiler_ir("loops")
    moved = [
        inner
        for k in program.kernels
        for s in walk(k.body)
        if isinstance(s, If)
        for inner in s.body
        if isinstance(inner, Update) and inner.op == "subtract"
    ]
    assert moved
    found, wanted = transpile.jit(f)(x), f(x)
    assert found[0] == wanted[0]
    np.testing.assert_array_equal(found[1], wanted[1])
