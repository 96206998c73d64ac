"""Rows that a condition leaves as they are, are not visited, where an array is changed in place."""

import numpy as np
import pytest
from graphs import assert_same_results
from helpers import ordinary, trace_to_graph
from thorough import one_in

import transpile
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import For, If
from transpile.ir.loop_rewrite import walk
from transpile.ir.loop_verifier import check
from transpile.lower.kernels import lower
from transpile.options import Options
from transpile.passes import optimise
from transpile.schedule.cleanup.kept_rows import skip_kept_rows
from transpile.schedule.donation import donate_arguments

X, Y = ordinary("f8", (5, 6)), ordinary("f8", (5, 6), 1)
ROWS = np.array([1, 0, 1, 1, 0], bool)


def guarded(f, *args):
    """Which loops are behind a test when the function may take its first argument."""
    graph = optimise(trace_to_graph(f, *args))
    before = donate_arguments(lower(graph, (0,)), Options())
    after = skip_kept_rows(before, Options())
    check(after)
    assert_same_results(run(after, args), run(before, args))
    tests = [s for k in after.kernels for s in walk(k.body) if isinstance(s, If)]
    return [sum(isinstance(s, For) for s in walk(test.body)) for test in tests]


def test_an_assignment_to_rows_tests_each_once():
    assert guarded(lambda x, m: np.where(m[:, None], 2.0, x), X, ROWS) == [1]
    assert guarded(lambda x, m, y: np.where(m[:, None], x * y, x), X, ROWS, Y) == [1]


def test_one_test_for_all_inner_loops():
    x = ordinary("f8", (5, 3, 4))
    y = np.asfortranarray(np.ones((4, 3))).T  # whose loops stay two
    assert guarded(lambda x, m, y: np.where(m[:, None, None], y * 2, x), x, ROWS, y) == [2]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, m: np.where(m[:, None], x, 2.0),  # kept where it holds
        lambda x, m: np.where(m[:, None], 2.0, x + 1),
        lambda x, m: np.where(x > 0, 2.0, x),
        lambda x, m: np.where(x[:, :1] > 0, 2.0, x),  # the test reads what is changed
    ],
)
def test_other_choices_stay(f):
    assert guarded(f, X, ROWS) == []


@pytest.mark.parametrize("shape, extents", [((9, 4), [4]), ((4, 9), [4]), ((5, 5), [5])])
def test_a_diagonal_is_as_long_as_the_shorter_side(shape, extents):
    def filled(x):
        np.fill_diagonal(x, 2.0)

    x = ordinary("f8", shape)
    program = transpile.jit(filled).lower(x).compiler_ir("loops")
    statements = [s for k in program.kernels for s in walk(k.body)]
    assert [s.extent for s in statements if isinstance(s, For)] == extents
    assert not any(isinstance(s, If) for s in statements)
    expected = x.copy()
    np.fill_diagonal(expected, 2.0)
    assert_same_results(run(program, [x]), [expected])


def emptying(x, n):
    for k in range(n):
        if x[0] > 0:
            x[k % 3] -= 1.5


def counting(x, n):
    total = 0
    for k in range(n):
        if total < 3:
            total += 2
            x[k % 3] = total


def in_rows(x, n):
    y = x.reshape(1, 3)
    for k in range(n):
        for row in range(y.shape[0]):
            if y[row, 0] > k:
                y[row, k % 3] -= y[row, 1]


@pytest.mark.parametrize("f", [emptying, counting, in_rows])
@pytest.mark.parametrize("n", [0, 1, 10])
def test_a_test_of_what_the_loop_changes_is_made_each_time(f, n, shared_cache):
    ours, numpys = np.array([3.0, 5.0, 7.0]), np.array([3.0, 5.0, 7.0])
    transpile.jit(f)(ours, n)
    f(numpys, n)
    np.testing.assert_array_equal(ours, numpys)


def scaled(x, m, i):
    x[m] *= 2
    x[m] -= x[m] / 4 + i[0]


def emptied(x, m, i):
    x[m] = 0
    x[:, 2][~m] = i[1]


def at_places(x, m, i):
    x[i] *= 2
    x[i, 1] += 1
    np.add.at(x, (i, 0), 3.0)


def moved(x, m, i):
    x[i] = x[i - 1]
    x[i] = x[i] + x[i[::-1]]
    x[m] = x[m][::-1] - x[0]


def swapped(x, m, i):
    kept = x[i[0]].copy()
    x[i[0]] = x[i[1]]
    x[i[1]] = kept
    np.fill_diagonal(x, i[-1])
    np.fill_diagonal(x[1:], x[0])


@pytest.mark.parametrize("f", [scaled, emptied, at_places, moved, swapped])
@pytest.mark.parametrize("places", [[0, 3, 1], [2, 2, -1, 2, 0], [4], [3, 1] * 4])
@one_in(3)
def test_assignments_to_rows_of_an_argument_are_numpys(f, places, shared_cache):
    """Rows may be named twice: all are read before any is written."""
    ours, numpys = X.copy(), X.copy()
    places = np.array([*places, 0]) if len(places) == 1 else np.array(places)
    transpile.jit(f)(ours, ROWS, places)
    f(numpys, ROWS, places)
    np.testing.assert_array_equal(ours, numpys)


def test_few_rows_of_an_argument_change_where_they_lie():
    x = np.zeros((500, 6))
    for f in (scaled, at_places, swapped):
        text = transpile.jit(f).lower(x, np.zeros(500, bool), np.arange(4)).as_text("c")
        body = text[text.index("/* test_kept_rows.py") : text.index("_workspace_size")]
        assert "for (int64_t i = 0; i < 500; i++) {\n        #pragma" not in body
        assert "x[restrict 500][6]" not in body or "= x[at]" in body
