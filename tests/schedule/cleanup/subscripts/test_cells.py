"""What is divided into row and column, and put together again, is one number."""

import numpy as np
import pytest
from graphs import statements_of
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import Apply, Declare, IndexValue, Literal, Load, Ref, Store
from transpile.ir.loop_rewrite import accesses, walk
from transpile.ir.types import INT64
from transpile.schedule.cleanup.subscripts.wrapping_sums import sum_of, value_of

pytestmark = pytest.mark.full_level
EDGES = [0, 1, -1, 29, 30, 31, -30, -31, 2**63 - 1, -(2**63)]


def around(cells, picture, next_cells):
    """Visits cells by their numbers, and notes those below and to the right."""
    m = picture.shape[1]
    for k in range(len(cells)):
        i = cells[k] // m
        j = cells[k] % m
        if picture[i, j] > 0:
            picture[i, j] -= 1
        next_cells[k, 0] = (i + 1) * m + j
        next_cells[k, 1] = i * m + (j + 1)
        next_cells[k, 2] = 2 * (i * m) + 3 * j


def accessed(program):
    return [a for k in program.kernels for s in walk(k.body) for a in accesses(s)]


@pytest.mark.parametrize("columns", [6, 8])
def test_a_cell_is_one_subscript(columns):
    cells, picture = np.array(EDGES), np.ones((5, columns), np.int64)
    noted = np.zeros((len(cells), 3), np.int64)
    program = transpile.jit(around).lower(cells, picture, noted).compiler_ir("loops")
    assert {len(index) for name, index in accessed(program) if name == "picture_out"} == {1}
    values = [s.value for s in statements_of(program, Store)]
    sums = [v.args for v in values if isinstance(v, Apply) and v.op == "add"]
    assert sum(isinstance(x, Ref) and isinstance(y, Literal) for x, y in sums) == 2
    transpile.jit(around)(cells, picture, noted)
    expected, left = np.zeros_like(noted), np.ones_like(picture)
    for k, cell in enumerate(EDGES):
        i, j = divmod(cell, columns)
        if -5 <= i < 5 and left[i, j] > 0:
            left[i, j] -= 1
        following = (cell + columns, cell + 1, 2 * i * columns + 3 * j)
        expected[k] = [(x + 2**63) % 2**64 - 2**63 for x in following]
    np.testing.assert_array_equal(picture, left)
    np.testing.assert_array_equal(noted, expected)


def test_a_number_that_has_changed_is_another_cell():
    """Row and column are those of the number before."""

    def f(x, picture):
        found = 0
        cell = x
        for _ in range(4):
            i = cell // 6
            cell = cell + 7
            j = cell % 6
            found += picture[i, j] * (i * 6 + j)
        return found

    picture = np.arange(42).reshape(7, 6)
    for x in (0, 3, 5, 11):
        assert transpile.jit(f)(x, picture) == f(x, picture)


@settings(max_examples=tries(30))
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-40, 40), min_size=1, max_size=9))
def test_walks_are_pythons(cells):
    cells = np.array(cells)
    picture = np.zeros((5, 6), np.int64)
    noted = np.zeros((9, 3), np.int64)
    compiled = transpile.jit(around)
    given_cells = np.concatenate([cells, np.zeros(9 - len(cells), np.int64)])
    compiled(given_cells, picture, noted)
    np.testing.assert_array_equal(noted[:, 0], given_cells + 6)
    np.testing.assert_array_equal(noted[:, 1], given_cells + 1)


def test_sums_wrap_around():
    x, y = Ref("x", INT64), IndexValue(Dim.of(Symbol("i")))
    big = Literal(np.int64(2**62), INT64)
    total = Apply("multiply", (Apply("add", (x, y), INT64), big), INT64)
    total = Apply("subtract", (Apply("multiply", (total, big), INT64), x), INT64)
    atoms = {}
    found = sum_of(total, {}, atoms)
    assert found == {("x",): -1}  # 2**124 is 0
    assert value_of({("x",): 1, (): -3}, atoms) == Apply(
        "subtract", (x, Literal(np.int64(3), INT64)), INT64
    )
    assert sum_of(Apply("add", (Load("a", (0,), INT64), x), INT64), {}, atoms) is None


def test_constants_stand_for_their_sums():
    x = Ref("x", INT64)
    three = Literal(np.int64(3), INT64)
    values = Declare("y", Apply("multiply", (x, three), INT64))
    known = {values.name: values.value}
    assert sum_of(Apply("add", (Ref("y", INT64), x), INT64), known, {}) == {("x",): 4}
