"""Masked loops are split at the diagonal."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered, statements_of
from hypothesis import given
from hypothesis import strategies as st

from transpile import jit
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import Apply, Declare, Literal, Ref, Update, Within
from transpile.ir.loop_rewrite import expressions, parts, subexpressions
from transpile.options import Options
from transpile.schedule.domain import triangular_split
from transpile.schedule.domain.index_set_split import split_index_sets
from transpile.schedule.domain.triangular_split import split_triangles
from transpile.util.frozen_records import replace

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


@pytest.mark.parametrize("count", [9, 12, 20])
def test_border_windows_are_sums_of_what_is_there(count):
    """Windows that reach beyond the ends have ranges of two indices: the rest of them is no 0.0."""
    x, y = (np.round(np.random.default_rng(count).random(n) * 8) / 8 for n in (20, count))
    program = split_index_sets(lowered(lambda x, y: np.convolve(x, y), x, y), Options())
    assert comparisons_in(program)
    after = assert_steps_agree(program, [x, y], split_triangles)
    assert not comparisons_in(after)
    assert not any(isinstance(e, Within) for s in statements_of(after, object) for e in parts(s))
    inner = [loop for loop in loops_of(after) if not isinstance(loop.extent, int)]
    assert len(inner) == 2 and all(len(loop.body) == 1 for loop in inner)


def test_border_windows_of_complex_numbers_have_no_sums_of_zeros():
    """The zeros have names, as two products read them."""
    x, y = (np.arange(n) % 5 + 1j * (np.arange(n) % 7) for n in (30, 20))
    program = split_index_sets(lowered(lambda x, y: np.convolve(x, y), x, y), Options())
    after = assert_steps_agree(program, [x, y], split_triangles)
    inner = [loop for loop in loops_of(after) if not isinstance(loop.extent, int)]
    assert len(inner) == 2
    assert all(len([s for s in loop.body if isinstance(s, Update)]) == 4 for loop in inner)


def test_a_sum_that_may_be_negative_zero_keeps_its_zeros():
    """x + 0.0 is x, but for -0.0; a sum from -0.0 on is what a single term may leave as it is."""
    start = Declare("acc", Literal(-0.0, X.dtype), constant=False)
    zero = Update(Ref("acc", X.dtype), "add", Literal(0.0, X.dtype))
    body = (start, zero)
    assert triangular_split._without_zeros(body, frozenset()) == body
    start = replace(start, value=Literal(0.0, X.dtype))
    assert triangular_split._without_zeros((start, zero), frozenset()) == (start,)
    doubled = Update(Ref("acc", X.dtype), "multiply", Literal(-1.0, X.dtype))
    body = (start, doubled, zero)
    assert triangular_split._without_zeros(body, frozenset()) == body
