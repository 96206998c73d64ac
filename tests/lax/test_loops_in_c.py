"""Loops and branches come out as one would write them in C."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from helpers import trace_to_graph
from thorough import one_in

from transpile import jit, lax, tree, vmap
from transpile.transforms.interpret import interpret

pytestmark = pytest.mark.full_level

RANDOM = np.random.default_rng(0)


def kernel(f, *args):
    """The body of the only kernel of a function, without its outer braces."""
    text = jit(f).lower(*args).as_text()
    text = text[text.rindex("\nstatic void ") :]
    body = text[text.index("\n{\n") + 3 : text.index("\n}\n")]
    return textwrap.dedent(body).strip() + "\n"


def assert_as_interpreted(f, *args):
    found = tree.leaves(jit(f)(*args))
    expected = interpret(trace_to_graph(f, *args), args)
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def assert_c(f, args, expected):
    assert kernel(f, *args) == textwrap.dedent(expected).strip() + "\n"
    assert_as_interpreted(f, *args)


def test_numbers_of_a_carry_are_variables():
    def fibonacci(a, b):
        return lax.fori_loop(0, 50, lambda i, c: (c[1], c[0] + c[1]), (a, b))[0]

    assert_c(
        fibonacci,
        (0, 1),
        """
        int64_t c_0 = a;
        int64_t c_1 = b;
        #pragma GCC unroll 4
        for (int64_t i = 0; i < 50; i++) {
            const int64_t t = add_i64(c_0, c_1);
            c_0 = c_1;
            c_1 = t;
        }
        *out = c_0;
        """,
    )


def test_an_average_over_a_series_is_one_loop_with_its_mean_in_a_variable():
    def average(x):
        def step(mean, value):
            mean = 0.9 * mean + 0.1 * value
            return mean, mean

        return lax.scan(step, x[0], x)[1]

    assert_c(
        average,
        (RANDOM.random(100),),
        """
        double mean = x[0];
        for (int64_t i = 0; i < 100; i++) {
            mean = 0.9 * mean + 0.1 * x[i];
            out[i] = mean;
        }
        """,
    )


def test_elimination_changes_the_matrix_where_it_lies():
    def lu(a):
        n = a.shape[0]

        def eliminate(k, a):
            def row(i, a):
                a = a.at[i, k].divide(a[k, k])
                return lax.fori_loop(k + 1, n, lambda j, a: a.at[i, j].add(-a[i, k] * a[k, j]), a)

            return lax.fori_loop(k + 1, n, row, a)

        return lax.fori_loop(0, n - 1, eliminate, a)

    assert_c(
        lu,
        (RANDOM.random((5, 5)) + 5 * np.eye(5),),
        """
        for (int64_t i = 0; i < 5; i++) {
            #pragma omp simd
            for (int64_t j = 0; j < 5; j++)
                out[i][j] = a[i][j];
        }
        for (int64_t k = 0; k < 4; k++) {
            const int64_t first = k + 1;
            for (int64_t i = first; i < 5; i++) {
                out[i][k] = out[i][k] / out[k][k];
                const double t = out[i][k];
                for (int64_t j = first; j < 5; j++)
                    out[i][j] += -t * out[k][j];
            }
        }
        """,
    )


def test_subscripts_that_loops_keep_in_range_are_not_clipped():
    def fold(letters):
        n = letters.shape[0]

        def cell(i, d, best):
            j = i + d
            most = best[i + 1, j - 1] + (letters[i] + letters[j] == 3)
            most = lax.fori_loop(
                i, j, lambda k, m: np.maximum(m, best[i, k] + best[k + 1, j]), most
            )
            return best.at[i, j].set(most)

        def diagonal(d, best):
            return lax.fori_loop(0, n - d, lambda i, best: cell(i, d, best), best)

        return lax.fori_loop(1, n, diagonal, np.zeros((n, n), np.int64))

    text = kernel(fold, RANDOM.integers(0, 4, 12))
    assert "for (int64_t k = i; k < d + i; k++)" in text
    assert "out[i][d + i] = m;" in text
    assert "minimum" not in text.replace("maximum", "")
    assert_as_interpreted(fold, RANDOM.integers(0, 4, 12))


def test_a_step_that_reads_its_neighbours_exchanges_two_arrays():
    def heat(u):
        def step(_, u):
            return u.at[1:-1].set(u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]))

        return lax.fori_loop(0, 4, step, u)

    assert_c(
        heat,
        (RANDOM.random(40),),
        """
        #pragma omp simd
        for (int64_t i = 0; i < 40; i++)
            out[i] = u[i];
        for (int64_t i = 0; i < 4; i++) {
            t[0] = out[0];
            #pragma omp simd
            for (int64_t j = 1; j < 39; j++)
                t[j] = out[j] + 0.1 * (out[j + 1] - 2.0 * out[j] + out[j - 1]);
            t[39] = out[39];
            double *previous = out;
            out = t;
            t = previous;
        }
        """,
    )


def test_a_condition_over_arrays_shares_the_loop_of_the_step():
    def solve(a):
        def step(state):
            x, _ = state
            change = (x * x - a) / (2 * x)
            return x - change, np.max(np.abs(change))

        return lax.while_loop(lambda s: s[1] > 1e-9, step, (a, np.inf))[0]

    assert_c(
        solve,
        (RANDOM.random(30) + 1,),
        """
        #pragma omp simd
        for (int64_t i = 0; i < 30; i++)
            out[i] = a[i];
        double state_1 = INFINITY;
        while (state_1 > 1e-09) {
            double acc = -INFINITY;
            #pragma omp simd reduction(maximum_f64:acc)
            for (int64_t i = 0; i < 30; i++) {
                const double change = (out[i] * out[i] - a[i]) / (2.0 * out[i]);
                out[i] = out[i] - change;
                acc = maximum_f64(acc, fabs(change));
            }
            state_1 = acc;
        }
        """,
    )


def test_what_no_iteration_changes_is_computed_before_the_loop():
    def f(x, y):
        return lax.fori_loop(0, 9, lambda i, c: c + np.exp(x) * np.sqrt(y).sum(), x)

    text = kernel(f, RANDOM.random(20), RANDOM.random(20))
    loop = text[text.index("i < 9") :]
    assert "exp" not in loop
    assert "sqrt" not in loop


def test_a_choice_between_cheap_numbers_is_an_expression():
    def collatz(n):
        def step(c):
            n, steps = c
            return lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), steps + 1

        return lax.while_loop(lambda c: c[0] != 1, step, (n, 0))[1]

    text = kernel(collatz, 27)
    assert "if (" not in text
    assert "while (c_0 != 1)" in text
    assert jit(collatz)(27) == 111


def test_a_branch_that_changes_an_array_leaves_it_in_its_place():
    def f(x, flags):
        def step(i, x):
            return lax.cond(flags[i], lambda x: x.at[i].multiply(2.0), lambda x: x, x)

        return lax.fori_loop(0, 30, step, x)

    x, flags = RANDOM.random(30), RANDOM.random(30) < 0.5
    assert_c(
        f,
        (x, flags),
        """
        #pragma omp simd
        for (int64_t i = 0; i < 30; i++)
            out[i] = x[i];
        for (int64_t i = 0; i < 30; i++) {
            if (flags[i]) {
                out[i] *= 2.0;
            }
        }
        """,
    )


def test_several_branches_are_a_chain():
    def f(k, x):
        return lax.switch(k, [np.sin, np.cos, lambda x: -x], x)

    text = kernel(f, 1, RANDOM.random(8))
    assert "if (k <= 0) {" in text
    assert "} else if (k == 1) {" in text
    for k in (-1, 0, 1, 2, 5):
        x = RANDOM.random(8)
        np.testing.assert_allclose(
            jit(f)(k, x), [np.sin, np.cos, np.negative][min(max(k, 0), 2)](x)
        )


def test_a_loop_of_one_iteration_is_none():
    text = kernel(lambda x: lax.fori_loop(3, 4, lambda i, x: x * i, x), RANDOM.random(8))
    assert text.count("for") == 1


@pytest.mark.parametrize("length", [0, 1, 2, 7])
@one_in(2)
def test_scans_of_any_length_stack_what_they_give(length):
    def f(c, x):
        return lax.scan(lambda c, x: (c + x.sum(), c * x), c, x, reverse=True)

    assert_as_interpreted(f, 2.0, RANDOM.random((length, 3)))


def test_small_states_live_in_local_arrays():
    def orbit(y):
        def step(y, _):
            y = y + 0.01 * np.stack([y[1], -y[0]])
            return y, y[0]

        return lax.scan(step, y, None, length=100)[1]

    text = kernel(orbit, np.array([1.0, 0.0]))
    assert "double t[2];" in text
    assert_as_interpreted(orbit, np.array([1.0, 0.0]))


def test_loops_of_examples_that_differ_in_length_are_shared_out_among_threads():
    def escape(c):
        def step(state):
            z, n = state
            return z * z + c, n + 1

        def goes_on(state):
            return (state[1] < 100) & (abs(state[0]) < 2)

        return lax.while_loop(goes_on, step, (c, 0))[1]

    x, y = np.meshgrid(np.linspace(-2, 1, 12), np.linspace(-1, 1, 9))
    assert_c(
        vmap(vmap(escape)),
        (x + 1j * y,),
        """
        for (int64_t i = 0; i < 9; i++) {
            for (int64_t j = 0; j < 12; j++) {
                double complex state_0 = c[i][j];
                int64_t state_1 = 0;
                while ((state_1 < 100) & (absolute_c128(state_0) < 2.0)) {
                    state_0 = multiply_c128(state_0, state_0) + c[i][j];
                    state_1 = add_i64(state_1, 1);
                }
                out[i][j] = state_1;
            }
        }
        """,
    )

    text = kernel(vmap(vmap(escape)), np.zeros((700, 900), complex))
    assert text.startswith("#pragma omp parallel for schedule(guided)\nfor (int64_t i = 0; i < 700")


def test_a_map_of_numbers_is_a_parallel_loop():
    def f(x):
        return lax.map(lambda row: lax.fori_loop(0, 50, lambda i, s: np.sin(s + row[i]), 0.0), x)

    text = kernel(f, RANDOM.random((2000, 50)))
    assert text.startswith("#pragma omp parallel for\nfor (int64_t i = 0; i < 2000; i++) {")
    assert_as_interpreted(f, RANDOM.random((7, 50)))


def test_slices_of_the_old_matrix_are_copied_and_not_the_matrix():
    def shortest(d):
        step = lambda k, d: np.minimum(d, d[:, k][:, None] + d[k][None, :])
        return lax.fori_loop(0, d.shape[0], step, d)

    assert_c(
        shortest,
        (RANDOM.random((20, 20)),),
        """
        for (int64_t i = 0; i < 20; i++) {
            #pragma omp simd
            for (int64_t j = 0; j < 20; j++)
                out[i][j] = d[i][j];
        }
        for (int64_t k = 0; k < 20; k++) {
            double t[20];
            double t2[20];
            for (int64_t i = 0; i < 20; i++)
                t[i] = out[i][k];
            #pragma omp simd
            for (int64_t i = 0; i < 20; i++)
                t2[i] = out[k][i];
            for (int64_t i = 0; i < 20; i++) {
                #pragma omp simd
                for (int64_t j = 0; j < 20; j++)
                    out[i][j] = minimum_f64(out[i][j], t[i] + t2[j]);
            }
        }
        """,
    )


@pytest.mark.parametrize("diagonal", [-1.0, 0.0, np.nan])
def test_slices_that_the_step_itself_changes_are_the_old_ones(diagonal):
    def f(d):
        step = lambda k, d: d * 0.5 + d[:, k][:, None] * d[k][None, :] + d[k, k]
        return lax.fori_loop(0, 9, step, d)

    d = RANDOM.standard_normal((9, 9))
    np.fill_diagonal(d, diagonal)
    assert_as_interpreted(f, d)
    assert_as_interpreted(vmap(f), np.stack([d, 2 * d, d.T]))


def test_carries_that_read_each_other_are_written_when_both_are_computed():
    def rotate(x, y):
        return lax.fori_loop(0, 9, lambda i, c: (c[0] + 0.1 * c[1], c[1] - 0.1 * c[0]), (x, y))

    text = kernel(rotate, RANDOM.random(50), RANDOM.random(50))
    assert "previous" not in text
    step = """
        const double t = out_0[j] + 0.1 * out_1[j];
        out_1[j] = out_1[j] - 0.1 * out_0[j];
        out_0[j] = t;
"""
    assert step in text
    assert_as_interpreted(rotate, RANDOM.random(50), RANDOM.random(50))


def test_what_is_written_late_waits_for_the_loops_in_between():
    def f(x, y, table):
        def step(_, carry):
            x, y = carry
            moved = x + y
            means = (table * np.sin(moved)[:, None]).mean(axis=1)
            return moved, y - x * means

        return lax.fori_loop(0, 4, step, (x, y))

    args = RANDOM.random(12), RANDOM.random(12), RANDOM.random((12, 20))
    assert "previous" not in kernel(f, *args)
    assert_as_interpreted(f, *args)


def test_steps_of_each_element_by_itself_run_for_one_tile_after_the_other():
    def logistic(x, r):
        return lax.fori_loop(0, 100, lambda _, x: r * x * (1 - x), x)

    assert_c(
        logistic,
        (RANDOM.random(6400), 3 + RANDOM.random(6400)),
        """
        #pragma omp parallel for
        for (int64_t j_tile = 0; j_tile < 100; j_tile++) {
            double out2[64];
            #pragma omp simd
            for (int64_t j = 0; j < 64; j++)
                out2[j] = x[j + 64 * j_tile];
            for (int64_t i = 0; i < 100; i++) {
                #pragma omp simd
                for (int64_t j = 0; j < 64; j++)
                    out2[j] = r[j + 64 * j_tile] * out2[j] * (1.0 - out2[j]);
            }
            #pragma omp simd
            for (int64_t j = 0; j < 64; j++)
                out[j + 64 * j_tile] = out2[j];
        }
        """,
    )


def test_a_while_over_points_ends_for_each_tile():
    def steps(x, y):
        def step(state):
            k, a, b, count = state
            inside = a * a + b * b < 4
            a, b = np.where(inside, a * a - b * b + x, a), np.where(inside, 2 * a * b + y, b)
            return k + 1, a, b, count + inside

        def goes_on(state):
            return (state[0] < 50) & np.any(state[1] * state[1] + state[2] * state[2] < 4)

        zero = np.zeros_like(x)
        return lax.while_loop(goes_on, step, (0, zero, zero, np.zeros(x.shape, np.int32)))[3]

    y, x = np.mgrid[-1.25:1.25:50j, -2:0.5:130j]
    x[3, 4], y[5, 6] = np.nan, np.inf
    text = kernel(steps, x, y)
    assert "for (int64_t j_tile = 0; j_tile < 2; j_tile++) {" in text
    assert text.count("for (;;)") == 2  # whole tiles, and what is left
    assert_as_interpreted(steps, x, y)


def test_a_carry_that_is_called_as_the_counter_keeps_a_variable_of_its_own():
    """Else the loop counts with it, and does not end."""

    def f(x):
        def body(i, _):
            i = np.minimum(i, 3) + 1
            return i, i

        return lax.scan(body, x, None, length=7)

    text = jit(f).lower(np.asarray(10)).as_text()
    assert "int64_t i2 = x;" in text, text
    last, kept = jit(f)(np.asarray(10))
    np.testing.assert_array_equal(kept, np.full(7, 4))
    assert last == 4
