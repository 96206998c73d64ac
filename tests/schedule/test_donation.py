"""A result takes the memory of a donated argument where no read follows the write."""

import numpy as np
import pytest
from graphs import assert_same_results
from helpers import ordinary, trace_to_graph
from thorough import one_in

import transpile
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import For
from transpile.ir.loop_rewrite import walk
from transpile.ir.loop_verifier import check
from transpile.lower.kernels import lower
from transpile.options import Options
from transpile.passes import optimise
from transpile.schedule.domain.index_set_split import split_index_sets
from transpile.schedule.donation import donate_arguments

pytestmark = pytest.mark.full_level

X, Y = ordinary("f8", (5, 6)), ordinary("f8", (5, 6), 1)


def donated(f, *args):
    """The aliases of f when it may take every argument; the results are the same."""
    graph = optimise(trace_to_graph(f, *args))
    before = lower(graph, tuple(range(len(args))))
    after = donate_arguments(before, Options())
    check(after)
    # The interpreter gives both one memory, where reads after writes see other numbers.
    assert_same_results(run(after, args), run(before, args))
    return list(after.aliases)


def test_an_elementwise_result_takes_its_operand():
    assert donated(lambda x: np.sin(x) + 1, X) == [("out", "x0")]


def test_each_argument_is_taken_once():
    pairs = donated(lambda x: (x + 1, x * 2), X)
    assert len({o for o, _ in pairs}) == len({i for _, i in pairs}) == len(pairs) <= 1


KEPT = {
    "another shape": lambda x: x[:3] * 2,
    "another dtype": lambda x: x.astype("f4"),
    "a reversed read": lambda x: x + x[::-1],
    "a read of the next row": lambda x: x + np.roll(x, -1, axis=0),
    "a read of the first row": lambda x: x + x[:1],
    "a later reader": lambda x: (x + 1, np.cumsum(x[::-1] * 2, axis=0).T),
}


@pytest.mark.parametrize("name", KEPT)
def test_an_argument_that_is_still_needed_is_kept(name):
    assert donated(KEPT[name], X) == []


def test_a_row_that_is_read_whole_before_it_is_written_is_taken():
    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    assert donated(softmax, ordinary("f8", (5, 20))) == [("out", "x0")]


def assigned(x, here, value):
    y = x.copy()
    y[here] = value
    return y


IN_ORDER = {
    "rows from below": (lambda x: assigned(x, np.s_[:-1], x[1:]), X),
    "rows from above": (lambda x: assigned(x, np.s_[1:], x[:-1]), X),
    "rows from two above": (lambda x: assigned(x, np.s_[2:], x[2:] - x[:-2] + x[1:-1]), X),
    "columns from the right": (lambda x: assigned(x, np.s_[:, :-1], x[:, 1:]), X),
    "columns from the left": (lambda x: assigned(x, np.s_[:, 1:], x[:, 1:] - x[:, :-1]), X),
    "a diagonal": (lambda x: assigned(x, np.s_[1:, 1:], x[:-1, :-1] * 2), X),
    "a diagonal upwards": (lambda x: assigned(x, np.s_[:-1, 1:], x[1:, :-1]), X),
    "planes": (lambda x: assigned(x, np.s_[1:], x[:-1] + x[1:]), ordinary("f8", (4, 3, 2))),
    "numbers from below": (lambda x: assigned(x, np.s_[:-3], x[3:]), ordinary("f8", (50,))),
    "numbers from above": (lambda x: assigned(x, np.s_[3:], x[:-3]), ordinary("f8", (50,))),
    "blocks of numbers": (lambda x: assigned(x, np.s_[3:], x[:-3]), ordinary("f8", (300,))),
    "whole blocks": (lambda x: assigned(x, np.s_[1:], x[1:] + x[:-1]), ordinary("f8", (257,))),
    "whole numbers": (lambda x: assigned(x, np.s_[1:], x[:-1]), np.arange(20)),
}


@pytest.mark.parametrize("name", IN_ORDER)
@one_in(3)
def test_a_shift_runs_in_the_order_in_which_reads_precede_writes(name):
    f, x = IN_ORDER[name]
    before = split_index_sets(lower(optimise(trace_to_graph(f, x)), (0,)), Options())
    after = donate_arguments(before, Options())
    check(after)
    assert len(after.aliases) == 1
    assert_same_results(run(after, [x]), run(before, [x]))
    shifted = transpile.jit(f, donate_argnums=0)
    np.testing.assert_array_equal(shifted(x.copy()), f(x))


NOT_IN_ORDER = {
    "both directions": lambda x: assigned(x, np.s_[1:-1], x[2:] + x[:-2]),
    "other columns, too": lambda x: assigned(x, np.s_[1:], x[:-1] + x[1:, ::-1]),
    "elementary functions": lambda x: assigned(x, np.s_[1:], np.sin(x[:-1])),
    "a fixed row": lambda x: assigned(x, np.s_[1:], x[:-1] + x[2]),
    "twice the distance": lambda x: assigned(x, np.s_[:2], x[1:5:2]),
}


@pytest.mark.parametrize("name", NOT_IN_ORDER)
def test_a_shift_that_has_no_such_order_keeps_the_argument(name):
    assert donated(NOT_IN_ORDER[name], X) == []


@pytest.mark.parametrize("dtype, is_there", [("f8", True), ("i2", True), ("c16", False)])
@one_in(3)
def test_rows_are_sorted_where_they_lie(dtype, is_there):
    def in_rows(x):
        x.sort(axis=1)

    x = ordinary(dtype, (5, 60))
    compiled, expected = transpile.jit(in_rows), np.sort(x, axis=1)
    program = compiled.lower(x).compiler_ir("loops")
    assert ("old_x" not in {b.name for b in program.temporaries}) == is_there
    compiled(x)
    np.testing.assert_array_equal(x, expected)


def moved(w, b):
    """Neither new value can be written while the old ones are still read."""
    total = (w @ b).sum()
    w -= total * w[::-1]
    b[1:-1] = b[2:] + b[:-2] * total
    return total


def test_what_a_function_assigns_to_always_takes_its_new_value():
    """Where that is not legal, kernels read a copy; in C a caller may pass one array for both."""
    args = [ordinary("f8", (6, 6)), ordinary("f8", (6,))]
    assert donated(lambda w: w + w[::-1], args[0]) == []
    compiled = transpile.jit(moved, dynamic_shapes=True)
    program = compiled.lower(*args).compiler_ir("loops")
    assert set(program.aliases) == {("w_out", "w"), ("b_out", "b")}
    for n in (6, 3):
        changed = [x[(slice(n),) * x.ndim].copy() for x in args]
        expected = [x.copy() for x in changed]
        np.testing.assert_allclose(compiled(*changed), moved(*expected))
        for one, other in zip(changed, expected, strict=True):
            np.testing.assert_allclose(one, other)


def test_what_is_read_after_it_was_sorted_is_kept():
    assert donated(lambda x: (np.sort(x, axis=1), np.argsort(x, axis=1)), X) == []


def test_a_shift_of_runtime_size_is_in_place():
    def shifted(x):
        x[1:] = x[:-1]

    x = ordinary("f8", (40, 3))
    compiled = transpile.jit(shifted, dynamic_shapes=True)
    assert compiled.lower(x).compiler_ir("loops").aliases == (("x_out", "x"),)
    for rows in (40, 7, 1):
        y, expected = x[:rows].copy(), x[:rows].copy()
        compiled(y)
        shifted(expected)
        np.testing.assert_array_equal(y, expected)


def test_nothing_is_taken_that_is_not_given():
    program = lower(optimise(trace_to_graph(np.sin, X)))
    assert donate_arguments(program, Options()).aliases == ()


def test_an_update_of_a_row_writes_nothing_else():
    x, y = ordinary("f8", (30, 4)), ordinary("f8", (4,))

    def f(x, y):
        x[0] = y
        return

    program = transpile.jit(f).lower(x, y).compiler_ir("loops")
    assert program.aliases == (("x_out", "x"),)
    loops = [s for k in program.kernels for s in walk(k.body) if isinstance(s, For)]
    assert [loop.extent for loop in loops] == [4]


def test_a_scatter_into_a_changed_argument_is_in_place():
    x, n = ordinary("f8", (30, 4)), np.array([3, 1])

    def f(x, n):
        x[n] = 0.0

    program = transpile.jit(f).lower(x, n).compiler_ir("loops")
    assert program.aliases == (("x_out", "x"),)
    expected = x.copy()
    expected[n] = 0
    transpile.jit(f)(x, n)
    np.testing.assert_array_equal(x, expected)
