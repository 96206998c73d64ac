"""Loops over merged axes become nests without quotients, others stay."""

import numpy as np
import pytest
from graphs import (
    assert_steps_agree,
    loops_of,
    lowered,
    run,
    statements_of,
)
from helpers import ordinary
from periodic_loops import drawn_function
from source_text import function_of
from thorough import THOROUGH, one_in

import transpile
from transpile.ir.loop_ir import Alloc, Declare, For
from transpile.ir.types import type_of
from transpile.lower.kernels import lower
from transpile.machine import Machine
from transpile.options import Options
from transpile.passes import optimise
from transpile.schedule.domain.delinearize import delinearize
from transpile.schedule.domain.index_set_split import split_index_sets
from transpile.schedule.domain.linearize import linearize
from transpile.trace.trace import trace_function

pytestmark = pytest.mark.full_level

A, B = ordinary("f8", (3, 4)), ordinary("f8", (3, 5), seed=1)
X = ordinary("f8", (4, 6))
CUBE = ordinary("f8", (3, 4, 5))


def before(f, *args):
    """The loops of a function as the step meets them."""
    return linearize(split_index_sets(lowered(f, *args), Options()), Options())


def merged(a, b):
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)


UNRAVELLED = {
    "a sum over merged axes": (lambda a, b, x, c: (merged(a, b) ** 2).sum(axis=1), [3, 4, 5]),
    "elementwise work": (lambda a, b, x, c: np.abs(merged(a, b)), [3, 4, 5]),
    "a running sum": (lambda a, b, x, c: np.cumsum(merged(a, b), axis=1), [3, 4, 5]),
    "a transposed array": (lambda a, b, x, c: x.T.reshape(-1) * 2, [6, 4]),
    "a reversed one": (lambda a, b, x, c: x.T.reshape(-1)[::-1] * 2, [6, 4]),
    "two merged axes": (
        lambda a, b, x, c: x.reshape(2, 2, 2, 3).transpose(0, 2, 1, 3).reshape(4, 6) * 2,
        [2, 2, 2, 3],
    ),
    "three axes in one": (lambda a, b, x, c: c.transpose(2, 1, 0).reshape(-1) * 2, [5, 4, 3]),
    "a reversed axis among merged ones": (
        lambda a, b, x, c: c[:, ::-1].reshape(3, -1) * 2, [3, 4, 5],
    ),
    "a repeated array": (
        lambda a, b, x, c: np.ravel(np.broadcast_to(np.tril(c), (2, 3, 4, 5))) * 2, [2, 3, 4, 5],
    ),
    "one of two joined arrays": (
        lambda a, b, x, c: np.concatenate([a[0], x.T.reshape(-1)]) * 2, [4, 6, 4],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNRAVELLED)
def test_a_loop_over_merged_axes_becomes_a_nest(name):
    f, stops = UNRAVELLED[name]
    values = [A, B, X, CUBE]
    program = before(f, *values)
    assert "//" in str(program)
    after = assert_steps_agree(program, values, delinearize)
    assert "//" not in str(after)
    assert "%" not in str(after)
    assert [loop.extent for loop in loops_of(after)] == stops


def test_rows_and_scalars_stay_inside_the_nest():
    def softmax(c):
        merged = c.transpose(0, 2, 1).reshape(len(c), -1)
        e = np.rint(np.exp(merged - merged.max(axis=1, keepdims=True)) * 64)
        return e - e.sum(axis=1, keepdims=True)

    after = assert_steps_agree(before(softmax, CUBE), [CUBE], delinearize)
    assert "//" not in str(after)
    assert "local" in str(after)


def test_padding_of_a_merged_axis_is_cut_off():
    after = assert_steps_agree(
        before(lambda c: np.pad(c, ((0, 0), (1, 1), (2, 0))).reshape(3, -1) * 2, CUBE),
        [CUBE],
        delinearize,
    )
    assert "select" not in str(after)
    assert "//" not in str(after)


def test_order_of_the_elements_stays():
    """Sums of numbers that round give the same bits."""
    a, b = np.linspace(0.1, 0.7, 12).reshape(3, 4), np.linspace(-0.3, 0.9, 15).reshape(3, 5)
    program = before(lambda a, b: merged(a, b).sum(axis=1), a, b)
    assert_steps_agree(program, [a, b], delinearize)


STAYS = {
    "contiguous merged axes": lambda x, c: c.reshape(3, -1) * 2,
    "no merged axes": lambda x, c: np.sin(x) * 2,
    "an axis whose length does not divide": lambda x, c: x.T.reshape(-1)[:23] * 2,
    "merged axes that do not nest": (lambda x, c: x.T.reshape(-1) + x.reshape(6, 4).T.reshape(-1)),
    "a function of every second number": lambda x, c: np.exp(np.repeat(x, 2, axis=1)),
}


@pytest.mark.parametrize("name", STAYS)
def test_other_loops_stay(name):
    program = before(STAYS[name], X, CUBE)
    assert delinearize(program, Options()) == program


def test_every_second_number_without_a_function_is_unravelled():
    after = assert_steps_agree(before(lambda x: np.repeat(x, 2, axis=1) * 3, X), [X], delinearize)
    assert [loop.extent for loop in loops_of(after)] == [4, 6, 2]


@pytest.mark.parametrize(("shape", "stays"), [((40, 3), True), ((3, 40), False)])
def test_the_outermost_loop_keeps_iterations_for_threads(shape, stays):
    x = ordinary("f8", shape)
    program = before(lambda x: x.T.reshape(-1) * 2, x)
    options = Options(machine=Machine(least_parallel_work=1))
    assert (delinearize(program, options) == program) is stays
    assert_steps_agree(program, [x], delinearize)


@pytest.mark.parametrize(("shape", "stays"), [((3, 40), False), ((40, 3), True)])
def test_a_long_sum_keeps_iterations_for_blocks(shape, stays):
    x = ordinary("f8", shape)
    program = before(lambda x: np.abs(x.T.reshape(-1)).sum(), x)
    options = Options(machine=Machine(sum_block=20))
    assert (delinearize(program, options) == program) is stays
    assert_steps_agree(program, [x], delinearize)


def test_new_loops_have_names_of_their_own():
    """The arrays are called what the next loops would be; a row and a scalar are there as well."""

    def f(k, l):
        x = np.abs(merged(k, l))
        return [x - np.rint(np.sqrt(x.sum(axis=1, keepdims=True)))]

    graph, _ = trace_function(lambda k, l: (f(k, l), None), [type_of(A), type_of(B)], ["k", "l"])
    program = linearize(split_index_sets(lower(optimise(graph)), Options()), Options())
    after = assert_steps_agree(program, [A, B], delinearize)
    taken = set(after.buffers()) | {s.name for s in statements_of(after, Declare)}
    taken |= {s.buffer.name for s in statements_of(after, Alloc)}
    assert taken >= {"k", "l"}
    assert_names_differ(after, taken)


def assert_names_differ(program, taken):
    """No loop hides another loop or one of these names."""

    def visit(body, taken):
        for statement in body:
            if isinstance(statement, For):
                assert statement.symbol.name not in taken
                visit(statement.body, taken | {statement.symbol.name})

    for kernel in program.kernels:
        visit(kernel.body, taken)


def test_threads_share_the_rows_of_few_repetitions():
    machine = Machine(least_parallel_work=1, fewest_shared=4)
    program = before(lambda c: np.ravel(np.broadcast_to(np.tril(c), (2, 3, 4, 5))) * 2, CUBE)
    options = Options(machine=machine)
    after = assert_steps_agree(program, [CUBE], delinearize, options)
    (rows,) = after.kernels[0].body
    assert rows.extent == 6  # and not 2, nor 24 or 120, of which each has quotients
    assert [loop.extent for loop in loops_of(after)] == [6, 4, 5]
    assert "% 3" in str(after) and "//" not in str(after)


@pytest.mark.parametrize("seed", range(300 if THOROUGH else 10))
@one_in(3)
def test_drawn_loops_give_what_python_gives(seed):
    function, source = drawn_function(seed)
    random = np.random.default_rng(seed)
    count = int(random.choice([5, 31, 32, 64, 97]))
    arguments = [*random.normal(size=(3, count)), random.integers(0, 50, count)]
    mine, own = ([x.copy() for x in arguments] for _ in range(2))
    jitted = transpile.jit(function, compiler_options={"opt_level": 1})
    program = jitted.lower(*own)._lowering.program()
    known = dict(zip("xywk", own, strict=True))
    run(program, [known[b.name] for b in program.inputs])  # asks whether each element exists
    found = jitted(*own)
    for one, other in zip((*function(*mine), *mine), (*found, *own), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12, err_msg=source)


SUBSCRIPTS = ["i % 4", "i & 3", "(i + 2) % 4", "(i + 3) % 4", "i // 4", "i >> 2"]


@pytest.mark.parametrize("subscript", SUBSCRIPTS)
@pytest.mark.parametrize("count", [96, 97, 98])
@one_in(3)
def test_a_loop_of_python_is_a_nest_of_its_periods(subscript, count):
    source = "def f(x):\n    out = np.zeros(len(x))\n    for i in range(len(x)):\n"
    function = function_of(
        f"{source}        out[i] = 2 * x[{subscript}]\n    return out\n", "<periods>"
    )
    x = ordinary("f8", (count,))
    jitted = transpile.jit(function)
    program = jitted.lower(x)._lowering.program()
    (found,) = run(program, [x])  # asks whether each element exists
    np.testing.assert_array_equal(found, function(x))
    text = jitted.lower(x).as_text("loops").split("kernel")[-1]
    assert not any(word in text.splitlines()[-1] for word in ("%", "//", "right_shift"))
    np.testing.assert_array_equal(jitted(x), function(x))


def test_quotients_of_an_outer_loop_s_index_stay_scalars():
    """Ranges and relations know scalars, which bound the subscripts of the loop inside."""

    def bubbles(a):
        for step in range(len(a)):
            for i in range(step % 2, len(a) - 1, 2):
                if a[i] > a[i + 1]:
                    a[i], a[i + 1] = a[i + 1], a[i]
        return a

    a = ordinary("f8", (200,))
    jitted = transpile.jit(bubbles)
    assert "subscript" not in jitted.lower(a).as_text("loops")
    np.testing.assert_array_equal(jitted(a.copy()), np.sort(a))
