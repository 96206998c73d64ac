"""Elementary functions beside sums and recurrences have loops of their own, with the same bits."""

import math

import numpy as np
import pytest
from graphs import assert_same_results, loops_of, lowered, run, statements_of
from thorough import each

import transpile
from transpile import lax
from transpile.ir.loop_ir import Alloc, Apply, For, Update
from transpile.ir.loop_rewrite import parts, walk
from transpile.ir.loop_verifier import check
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.function_fission import fission_functions

pytestmark = pytest.mark.full_level

N = 21
X = np.linspace(0.1, 1.9, N)
SMALL = Options(machine=Machine(function_block=8, shortest_function_loop=4))


def total(x):
    return lax.fori_loop(0, N, lambda i, s: s + np.exp(-x[i] * x[i]), 0.0)


def of_runtime_length(x, n):
    return lax.fori_loop(0, n, lambda i, s: s + np.log(x[i] + 1), 0.0)


def recurrence(x):
    def step(i, carry):
        y, s = carry
        y = 3.9 * y * (1 - y)
        return y, s + np.log(np.abs(y)) * x[i]

    return lax.fori_loop(0, N, step, (0.3, 0.0))


def read_behind(x):
    """What the last loop reads of the recurrence is kept, before the function and behind it."""

    def step(i, carry):
        y, s = carry
        s = s + y
        y = 0.5 * y + x[i]
        s = s * 0.75 + np.sin(y) * y
        return y, s

    return lax.fori_loop(0, N, step, (0.3, 0.0))


def in_each_other(x):
    def step(i, s):
        e = np.exp(x[i])
        return s + np.log(1 + e) * e

    return lax.fori_loop(0, N, step, 0.0)


def stored(x):
    """An array of the function's values, and their product."""

    def step(i, carry):
        y, p = carry
        e = np.exp(x[i])
        return y.at[i].set(e), p * (1 + e)

    return lax.fori_loop(0, N, step, (np.zeros(N), 1.0))


def in_place(x):
    """Each iteration reads its element before it writes it."""

    def step(i, carry):
        y, s = carry
        s = s + np.exp(y[i])
        return y.at[i].set(s), s

    return lax.fori_loop(0, N, step, (x, 0.0))


def behind_its_element(x):
    def step(i, carry):
        y, s = carry
        y = y.at[i].set(s)
        return y, s + np.exp(-y[i])

    return lax.fori_loop(0, N, step, (x, 0.5))


def of_its_own_value(x):
    return lax.fori_loop(0, N, lambda i, s: np.exp(-s) + x[i], 0.0)


def of_what_it_writes(x):
    def step(i, carry):
        y, s = carry
        y = y.at[i].set(s)
        return y, s + np.exp(-y[N - 1 - i] + x[i])

    return lax.fori_loop(0, N, step, (np.zeros(N), 0.5))


def of_what_does_not_change(x):
    return lax.fori_loop(0, N, lambda i, s: s * 0.5 + np.exp(x[0]), 0.0)


def short(x):
    return lax.fori_loop(0, 3, lambda i, s: s + np.exp(x[i]), 0.0)


def running_sums(x):
    return np.cumsum(np.tanh(x[:, None] + x), axis=1)


def running_maxima(x):
    return np.maximum.accumulate(np.log(x)[::-1])


def row_sums(x):
    return np.sum(np.exp(x[:, None] * x), axis=1)


# How many functions are computed in loops of their own.
SPLIT = {
    total: 1,
    of_runtime_length: 1,
    recurrence: 1,
    read_behind: 1,
    in_each_other: 2,
    stored: 1,
    in_place: 1,
    running_sums: 1,
    running_maxima: 1,
}
LEFT = [behind_its_element, of_its_own_value, of_what_it_writes, of_what_does_not_change, short]
LEFT += [row_sums]


def arguments(f):
    return (X, np.int64(N - 2)) if f is of_runtime_length else (X,)


def functions_in(loop):
    return [
        p for s in walk(loop.body) for p in parts(s) if isinstance(p, Apply) and _is_function(p)
    ]


def _is_function(expr):
    return expr.primitive.transcendental


@pytest.mark.parametrize("f", SPLIT, ids=lambda f: f.__name__)
def test_functions_have_loops_of_their_own(f):
    before = lowered(f, *arguments(f))
    after = fission_functions(before, SMALL)
    check(after)
    assert_same_results(run(after, arguments(f)), run(before, arguments(f)))
    inner = [s for s in loops_of(after) if not any(isinstance(t, For) for t in walk(s.body))]
    of_functions = [s for s in inner if functions_in(s)]
    assert sum(map(len, map(functions_in, of_functions))) == SPLIT[f]
    assert not any(s.ordered for s in of_functions)
    arrays = {a.buffer.shape for a in statements_of(after, Alloc)}
    assert arrays == {(8,)}


@pytest.mark.parametrize("f", LEFT, ids=lambda f: f.__name__)
def test_other_loops_stay(f):
    before = lowered(f, *arguments(f))
    assert fission_functions(before, SMALL) == before


def sum_of(term):
    return lambda x: lax.fori_loop(0, N, lambda i, s: s + term(i, s, x), 0.0)


def by_parity(i, s, x):
    return np.where(i % 2 == 1, 4.0, 2.0) * np.exp(-x[i])


def of_two_functions(i, s, x):
    return x[i] * np.sin(x[i]) * np.exp(x[i])


def divided(i, s, x):
    return 1.0 / (np.exp(x[i]) - x[i])


def of_the_sum(i, s, x):
    return s * np.exp(x[i])


def of_an_element_elsewhere(i, s, x):
    return x[N - 1 - i] * np.exp(x[i])


@pytest.mark.parametrize(
    ("term", "left"),
    [
        (by_parity, ["add"]),
        (of_two_functions, ["add"]),
        (divided, ["add", "divide"]),
        (of_the_sum, ["add", "multiply"]),
        (of_an_element_elsewhere, ["add", "multiply"]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_lanes_compute_the_terms_of_a_sum(term, left):
    """But for what waits for the sum, divisions, which are computed beside its additions, and what
    lanes would gather."""
    before = lowered(sum_of(term), X)
    after = fission_functions(before, SMALL)
    assert_same_results(run(after, (X,)), run(before, (X,)))
    (last,) = [s for s in loops_of(after) if any(isinstance(t, Update) for t in s.body)]
    operations = {p.op for s in last.body for p in parts(s) if isinstance(p, Apply)}
    assert sorted(operations | {s.op for s in last.body if isinstance(s, Update)}) == left


def test_a_function_of_several_statements_is_computed_once():
    def f(x):
        def step(i, carry):
            s, t = carry
            y = np.exp(x[i])
            return s + 2.0 * y, t * 0.5 + 3.0 * y

        return lax.fori_loop(0, N, step, (0.0, 0.0))

    before = lowered(f, X)
    after = fission_functions(before, SMALL)
    assert_same_results(run(after, (X,)), run(before, (X,)))
    assert sum(len(functions_in(s)) for s in loops_of(after) if not s.ordered) == 1


def test_sums_that_compilers_put_side_by_side_stay():
    def sums(x):
        out = np.zeros(N)
        return lax.fori_loop(
            0,
            N,
            lambda i, y: y.at[i].set(
                lax.fori_loop(0, N, lambda j, s: s + np.exp(x[i] - x[j]), 0.0)
            ),
            out,
        )

    before = lowered(sums, X)
    assert fission_functions(before, SMALL) == before


def chance(x, seed, limit):
    """Statements of all kinds: branches before a function and behind it, and a search."""
    state, s, hits, largest = seed, 0.0, 0, 0.0
    for i in range(len(x)):
        state = (state * 1103515245 + 12345) % 2147483648
        u = state / 2147483648.0
        if u > 0.5:
            state += 1
        y = math.log(u + x[i]) * math.cos(u)
        if y > limit:
            hits += 1
            s += y / (1.0 + u)
        if abs(y) > largest:
            largest = abs(y)
        x[i] = s
    return state, s, hits, largest


def garch(x, seed, limit):
    v, total = limit, 0.0
    for i in range(len(x)):
        total += math.log(v) + x[i] * x[i] / v
        v = 0.1 + 0.1 * x[i] * x[i] + 0.8 * v
    return v, total


@pytest.mark.parametrize("f", [chance, garch], ids=lambda f: f.__name__)
@each("length", [0, 1, 63, 64, 200], ordinary=[1, 200])
def test_loops_of_python_do_what_python_does(f, length):
    x = np.linspace(0.5, 1.5, length)
    mine, theirs = x.copy(), x.copy()
    results = transpile.jit(f)(mine, 7, 0.1)
    wanted = f(theirs, 7, 0.1)
    np.testing.assert_allclose(results, wanted, rtol=1e-11)
    np.testing.assert_allclose(mine, theirs, rtol=1e-11)
    text = transpile.jit(f).lower(x, 7, 0.1).as_text()
    assert ("values[" in text) is (length >= 63)
