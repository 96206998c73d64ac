"""Elementwise user loops run all iterations for one tile of elements after another."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from helpers import trace_to_graph
from thorough import THOROUGH, one_in

from transpile import jit, lax, test_util, vmap
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_verifier import check
from transpile.lower.kernels import lower
from transpile.machine import Machine
from transpile.options import Options
from transpile.passes import optimise
from transpile.runtime.executable import Lowering
from transpile.schedule import SCHEDULE
from transpile.schedule.blocking.interchange import interchange
from transpile.transforms.interpret import interpret

pytestmark = pytest.mark.full_level

RANDOM = np.random.default_rng(5)
# One tile, several, several and a rest; several axes.
SHAPES = [(1,), (5,), (6,), (9,), (11,), (2, 11), (3, 2, 7)]


# Loops over few elements are interchanged, and a tile has three.
MACHINE = Machine(least_elements=1, shortest_innermost=1, element_tile=3)
SMALL = Options(machine=MACHINE)


def in_c(f):
    """A function compiled at these thresholds."""
    return jit(f, compiler_options={"machine": MACHINE})


def assert_same_bits(found, expected):
    for x, y in zip(found, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(x, y)
        if x.dtype.kind == "f":
            numbers = ~np.isnan(x)
            np.testing.assert_array_equal(np.signbit(x[numbers]), np.signbit(y[numbers]))


def assert_agrees(f, *args, interchanged=True, donated=()):
    """The loops after each step of the schedule compute what the graph means, to the bit; whether
    this step changes them, if that is known."""
    graph = optimise(trace_to_graph(f, *args))
    with np.errstate(all="ignore"):
        expected = interpret(graph, args)
        program = lower(graph, donated)
        assert_same_bits(run(program, args), expected)
        for step, _ in SCHEDULE:
            before, program = program, step(program, SMALL)
            check(program)
            if program.kernels != before.kernels:
                assert_same_bits(run(program, args), expected)
            if step is interchange and interchanged is not None:
                assert (program != before) == interchanged, str(program)
    return expected


def normal(*shape):
    return RANDOM.standard_normal(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("steps", [0, 1, 2, 5])
@pytest.mark.parametrize("donated", [(), (0, 1)])
@one_in(3)
def test_steps_of_each_element_by_itself(shape, steps, donated):
    def logistic(x, r):
        return lax.fori_loop(0, steps, lambda _, x: r * x * (1 - x), x)

    is_loop = steps > 1 and shape != (1,)
    assert_agrees(logistic, normal(*shape), normal(*shape), interchanged=is_loop, donated=donated)


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_carries_that_read_each_other(shape):
    def rotate(x, y):
        return lax.fori_loop(0, 5, lambda _, c: (c[0] + 0.1 * c[1], c[1] - 0.1 * c[0]), (x, y))

    assert_agrees(rotate, normal(*shape), normal(*shape))


def test_numbers_that_go_along_begin_anew_for_each_tile():
    def f(x):
        def step(i, carry):
            x, t, n = carry
            return x + np.sin(t) * i, t + 0.25, n * 3

        return lax.fori_loop(2, 7, step, (x, 0.5, 1))[0]

    assert_agrees(f, normal(11))


def test_numbers_that_are_results_keep_the_loop_outside():
    def f(x):
        return lax.fori_loop(0, 5, lambda i, c: (c[0] * c[1], c[1] + 1), (x, 0.0))

    assert_agrees(f, normal(11), interchanged=False)


@pytest.mark.parametrize("reverse", [False, True])
def test_series_of_arrays_are_gone_through_from_one_end_to_the_other(reverse):
    def f(c, xs):
        return lax.scan(lambda c, x: (0.5 * c + x, c - x), c, xs, reverse=reverse)

    assert_agrees(f, normal(2, 8), normal(6, 2, 8), interchanged=False)


def test_bounds_from_values():
    def f(x, n):
        return lax.fori_loop(0, n, lambda i, x: x * 1.5 - i, x)

    for n in (-2, 0, 6):
        assert_agrees(f, normal(2, 7), np.int64(n))


def test_loops_in_loops():
    def f(x, y):
        def outer(i, x):
            x = lax.fori_loop(0, 3, lambda j, x: x * x - y * (i + j), x)
            return np.roll(x, 1)

        return lax.fori_loop(0, 3, outer, x)

    assert_agrees(f, normal(8), normal(8), interchanged=True)


@pytest.mark.parametrize(
    "step",
    [
        lambda i, x: x + x[::-1],
        lambda i, x: x + x[0],
        lambda i, x: x - x.max(),
        lambda i, x: np.cumsum(x),
        lambda i, x: x.at[i].add(1.0),
    ],
)
def test_steps_that_mix_elements_stay(step):
    assert_agrees(lambda x: lax.fori_loop(0, 4, step, x), normal(9), interchanged=False)


def test_stencils_stay():
    def heat(u):
        return lax.fori_loop(0, 4, lambda _, u: u.at[1:-1].add(u[2:] - 2 * u[1:-1] + u[:-2]), u)

    assert_agrees(heat, normal(12), interchanged=False)


# ------------------------------------------------------------------------------------- whiles


def mandelbrot(x, y, most=9, grown=lambda count, inside: count + inside):
    def step(state):
        k, a, b, count = state
        inside = a * a + b * b < 4
        a, b = np.where(inside, a * a - b * b + x, a), np.where(inside, 2 * a * b + y, b)
        return k + 1, a, b, grown(count, inside)

    def goes_on(state):
        k, a, b, _ = state
        return (k < most) & np.any(a * a + b * b < 4)

    zero = np.zeros_like(x)
    count = np.zeros(x.shape, np.int32)
    return lax.while_loop(goes_on, step, (0, zero, zero, count))[1:]


@pytest.mark.parametrize("shape", SHAPES[3:])
@pytest.mark.parametrize("most", [0, 1, 9])
@one_in(3)
def test_a_while_whose_elements_come_to_rest_ends_for_each_tile(shape, most):
    x, y = 2 * normal(*shape), normal(*shape)
    x[..., 0] = np.nan
    x[..., -1] = np.inf
    assert_agrees(lambda x, y: mandelbrot(x, y, most), x, y)


def test_what_is_added_to_floats_may_change_minus_zero():
    def f(x, y):
        def step(state):
            a, total = state
            inside = a < 3
            return np.where(inside, a + 1, a), total + np.where(inside, 1.0, 0.0)

        return lax.while_loop(lambda s: np.any(s[0] < 3), step, (x, y))

    x, y = np.array([9.0, 1.0, 2.0, 9.0, 5.0]), np.full(5, -0.0)
    total = assert_agrees(f, x, y, interchanged=False)[1]
    assert not np.signbit(total).any()  # all elements have been gone over, at rest or not


def test_what_moves_on_is_not_cut_short():
    def f(x):
        def step(state):
            a, n = state
            return np.where(a < 3, a + 1, a), n + 1

        return lax.while_loop(lambda s: np.any(s[0] < 3), step, (x, np.zeros(x.shape, np.int64)))

    n = assert_agrees(f, np.arange(9.0) - 4, interchanged=False)[1]
    assert (n == 7).all()


@pytest.mark.parametrize(
    "condition",
    [
        lambda a: np.any(a <= 3),  # another one than that of the step
        lambda a: np.any(~(a >= 3)),
        lambda a: np.all(a < 3),
        lambda a: np.sum(a < 3) > 0,
        lambda a: a.min() < 3,
    ],
)
def test_conditions_that_say_less_keep_the_loop_outside(condition):
    def f(x):
        step = lambda s: (np.where(s[0] < 3, s[0] + 1, s[0]), s[1] + 1)
        return lax.while_loop(lambda s: condition(s[0]) & (s[1] < 20), step, (x, 0))[0]

    assert_agrees(f, np.arange(8.0) - 4, interchanged=False)


@pytest.mark.parametrize("is_all", [False, True])
def test_elements_that_note_that_they_are_done(is_all):
    def f(x):
        def step(state):
            a, done, n = state
            a = np.where(done, a, a * 0.5 + 1)
            return a, done | (a > 1.9), n + ~done

        def goes_on(state):
            return ~np.all(state[1]) if is_all else np.any(~state[1])

        begin = (x, np.zeros(x.shape, bool), np.zeros(x.shape, np.int32))
        return lax.while_loop(goes_on, step, begin)

    assert_agrees(f, RANDOM.random((2, 11)) * 3)


def test_whiles_with_numbers_alone_in_their_condition():
    def f(x, most):
        step = lambda s: (s[0] * 0.5 + s[1], s[1] + 2)
        return lax.while_loop(lambda s: s[1] < most, step, (x, 0))[0]

    for most in (-1, 1, 8):
        assert_agrees(f, normal(11), np.int64(most))


# --------------------------------------------------------------------------------------- drawn


class Drawn:
    """A loop over elements with random expressions."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.steps = self.random.randint(0, 4)
        self.kinds = [self.random.choice("fi") for _ in range(self.random.randint(1, 3))]
        self.trees = [self.tree(3) for _ in self.kinds]
        self.stacked = self.random.random() < 0.3
        self.is_while = not self.stacked and self.random.random() < 0.5
        self.at_rest = self.random.random() < 0.8
        self.test = self.tree(2)

    def tree(self, depth):
        if depth == 0 or self.random.random() < 0.2:
            return (self.random.choice(["carry", "carry", "const", "k", "number"]), 0)
        op = self.random.choice(["add", "multiply", "maximum", "where", "subtract", "where"])
        return (op, [self.tree(depth - 1) for _ in range(3)], self.random.randrange(3))

    def value(self, tree, carry, const, k, like):
        match tree:
            case ("carry", n):
                x = carry[n % len(carry)]
            case ("const", _):
                x = const
            case ("k", _):
                x = np.broadcast_to(k, like.shape)
            case ("number", _):
                x = np.full(like.shape, 1.5)
            case (op, parts, n):
                a, b, c = (self.value(p, carry, const, k, like) for p in parts)
                if op == "where":
                    return np.where(a < carry[n % len(carry)].astype(like.dtype), b, c)
                return getattr(np, op)(a, b)
        return x.astype(like.dtype)

    def __call__(self, const, *start):
        def step(k, carry):
            moved = [self.value(t, carry, const, k, c) for t, c in zip(self.trees, carry)]
            if self.is_while and self.at_rest:
                going = self.going(carry, const)
                moved = [np.where(going, m, c) for m, c in zip(moved, carry)]
            return tuple(moved)

        if self.is_while:
            return lax.while_loop(
                lambda s: (s[0] < self.steps) & np.any(self.going(s[1], const)),
                lambda s: (s[0] + 1, step(s[0], s[1])),
                (0, start),
            )[1]
        if self.stacked:
            ks = np.arange(self.steps)
            carry, ys = lax.scan(lambda c, k: (step(k, c), c[0]), start, ks)
            return (*carry, ys)
        return lax.fori_loop(0, self.steps, step, start)

    def going(self, carry, const):
        return self.value(self.test, carry, const, 3, carry[0]) < 2

    def arguments(self, shape):
        numbers = np.random.default_rng(self.random.randrange(2**32))
        values = [-0.0, 0.0, 1.0, -2.5, 3.0, np.nan, np.inf]
        start = [
            numbers.choice(values, shape) if k == "f" else numbers.integers(-3, 4, shape)
            for k in self.kinds
        ]
        return [numbers.choice(values, shape), *start]


@pytest.mark.parametrize("seed", range(60))
@one_in(4)
def test_drawn_loops(seed):
    drawn = Drawn(seed)
    args = drawn.arguments(SHAPES[1 + seed % (len(SHAPES) - 1)])
    assert_agrees(
        drawn, *args, interchanged=None, donated=tuple(range(len(args))) if seed % 2 else ()
    )


def test_most_drawn_loops_are_interchanged():
    found = 0
    for seed in range(60):
        drawn = Drawn(seed)
        args = drawn.arguments((2, 11))
        program = lower(optimise(trace_to_graph(drawn, *args)))
        found += interchange(program, SMALL) != program
    assert found > 25


# ------------------------------------------------------------------------------------------- C


def test_c_of_interchanged_loops_gives_the_same():
    for seed in range(0, 32, 4 if THOROUGH else 12):
        drawn = Drawn(seed)
        args = drawn.arguments((3, 11))
        with np.errstate(all="ignore"):
            expected = interpret(trace_to_graph(drawn, *args), args)
        found = Lowering(trace_to_graph(drawn, *args), replace(SMALL, opt_level=1)).build()(args)
        for x, y in zip(found, expected, strict=True):  # of two zeros either may be the larger
            np.testing.assert_array_equal(x, y)


def test_derivatives_and_examples_of_such_loops():
    def f(x):
        return lax.fori_loop(0, 4, lambda i, x: x + 0.1 * np.sin(x * i), x)

    x = normal(3, 11)
    test_util.check_grads(in_c(f), (x,), order=1, modes=("fwd", "rev"))
    np.testing.assert_allclose(in_c(vmap(f))(x), np.stack([f(row) for row in x]), rtol=1e-13)
