"""Masked loops are split at the diagonal."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered, statements_of
from hypothesis import given
from hypothesis import strategies as st

from transpile import jit
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import Apply
from transpile.ir.loop_rewrite import expressions, subexpressions
from transpile.options import Options
from transpile.schedule.domain.index_set_split import split_index_sets
from transpile.schedule.domain.triangular_split import split_triangles

pytestmark = pytest.mark.full_level

X = np.random.default_rng(0).random((9, 11))


def comparisons_in(program):
    kinds = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "select")
    statements = statements_of(program, object)
    parts = [p for s in statements for e in expressions(s) for p in subexpressions(e)]
    return [p for p in parts if isinstance(p, Apply) and p.op in kinds]


def masked(test, x, y=0.0):
    rows, columns = np.indices(x.shape, sparse=True)
    return np.where(test(rows, columns), x, y)


# Comparisons, with where the first loop over columns ends, and where the second begins.
TESTS = {
    "below": (lambda i, j: j < i, "i", "i"),
    "up to": (lambda i, j: j <= i, "i + 1", "i + 1"),
    "above": (lambda i, j: i < j, "i + 1", "i + 1"),
    "on": (lambda i, j: i == j, "i", "i + 1"),
    "off": (lambda i, j: i != j, "i", "i + 1"),
    "shifted": (lambda i, j: j - 2 > i - 1, "i + 2", "i + 2"),
    "turned": (lambda i, j: i >= j + 1, "i", "i"),
}


@pytest.mark.parametrize("name", TESTS)
def test_loops_are_cut_where_a_comparison_changes(name):
    test, end, start = TESTS[name]
    program = split_index_sets(lowered(lambda x: masked(test, x), X), Options())
    assert comparisons_in(program)
    after = assert_steps_agree(program, [X], split_triangles)
    assert not comparisons_in(after)
    rows, *columns = [(str(s.start), str(s.stop)) for s in loops_of(after)]
    assert (rows, *columns) == (("0", "9"), ("0", end), (start, "11"))


def test_a_band_is_two_comparisons():
    def band(x):
        rows, columns = np.indices(x.shape, sparse=True)
        return np.where((columns >= rows - 1) & (columns <= rows + 1), x, 0)

    square = X[:, :9]
    found = jit(band)(square)
    np.testing.assert_array_equal(found, band(square))


def test_antidiagonals_are_no_comparison_with_a_step_of_one_row():
    def anti(x):
        rows, columns = np.indices(x.shape, sparse=True)
        return np.where(rows + columns < 9, x, -x)

    np.testing.assert_array_equal(jit(anti)(X), anti(X))


def test_what_only_copies_an_element_to_itself_is_no_loop():
    def f(x):
        x += 0.0
        return np.where(np.tri(9, 11, dtype=bool), x, 0.0)

    program = split_index_sets(lowered(f, X.copy()), Options())
    after = split_triangles(program, Options())
    assert not comparisons_in(after)


@given(
    rows=st.integers(1, 12),
    columns=st.integers(1, 12),
    offset=st.integers(-14, 14),
    name=st.sampled_from(["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]),
    flip=st.booleans(),
)
def test_any_offset_gives_numpys_values(rows, columns, offset, name, flip):
    x = np.arange(1.0, rows * columns + 1).reshape(rows, columns)

    def f(x):
        i, j = np.indices(x.shape, sparse=True)
        left, right = (i + offset, j) if flip else (j, i + offset)
        return np.where(getattr(np, name)(left, right), x, -x)

    program = split_index_sets(lowered(f, x), Options())
    after = split_triangles(program, Options())
    np.testing.assert_array_equal(run(after, [x])[0], f(x))
