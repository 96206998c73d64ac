"""Reductions over a leading axis read memory in order, with columns as lanes."""

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered
from helpers import ordinary

from transpile import hessian, jit
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    For,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import accesses, walk
from transpile.ir.types import FLOAT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.triangular_split import split_triangles
from transpile.schedule.lanes.outer.column_reductions import last_axis_stride, vectorize_columns

pytestmark = pytest.mark.full_level


# Strips of four columns.
MACHINE = Machine(strip=4, fewest_columns=5)
SMALL = Options(machine=MACHINE)


def in_c(f):
    """A function compiled at these thresholds."""
    return jit(f, compiler_options={"machine": MACHINE})


FUNCTIONS = {
    "a sum": lambda x: x.sum(axis=0),
    "a sum and a maximum": lambda x: x.sum(axis=0) * x.max(axis=0),
    "a mean taken off": lambda x: ((x - x.mean(axis=0)) ** 2).sum(axis=0),
    "a running sum": lambda x: np.cumsum(x, axis=0),
    "a sum of maxima": lambda x: x.max(axis=0).sum(),
    "maxima, and what they are": lambda x: (
        np.ptp(x, axis=0),
        np.ptp(x, axis=0).mean(),
        np.any(np.ptp(x, axis=0) > 2),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("width", [5, 7, 8, 9])
def test_the_innermost_loop_walks_along_a_row(name, width):
    x = np.round(ordinary("f8", (16, width)))
    after = assert_steps_agree(lowered(FUNCTIONS[name], x), [x], vectorize_columns, SMALL)
    innermost = [loop for loop in loops_of(after) if not any(isinstance(s, For) for s in loop.body)]
    walked = [
        last_axis_stride(index, loop.symbol)
        for loop in innermost
        for s in loop.body
        for _, index in accesses(s)
    ]
    assert 1 in walked and None not in walked


def test_columns_from_right_to_left_are_columns():
    x, y = np.round(ordinary("f8", (16, 11))), np.round(ordinary("f8", (9, 16))).astype(int)
    for f, values in (
        (lambda x: x[:, ::-1].sum(0), [x]),
        (lambda x, y: y @ x.astype(int)[::-1, ::-1], [x, y]),
    ):
        program = assert_steps_agree(lowered(f, *values), values, vectorize_columns, SMALL)
        innermost = [p for p in loops_of(program) if not any(isinstance(s, For) for s in p.body)]
        strides = {
            last_axis_stride(i, p.symbol)
            for p in innermost
            for s in p.body
            for n, i in accesses(s)
            if n == "x0" and i
        }
        assert strides == {-1}


def test_a_matrix_on_its_side_times_a_vector_walks_along_the_rows_of_the_matrix():
    x, v = np.round(ordinary("f8", (16, 9))), np.round(ordinary("f8", (16,)))
    product = lowered(lambda x, v: (x * v[:, None]).sum(axis=0), x, v)
    after = assert_steps_agree(product, [x, v], vectorize_columns, SMALL)
    inner = [loop for loop in loops_of(after) if not any(isinstance(s, For) for s in loop.body)]
    reads = [(i, loop.symbol) for loop in inner for s in loop.body for _, i in accesses(s)]
    assert any(len(index) == 2 and last_axis_stride(index, symbol) == 1 for index, symbol in reads)
    pairs = lowered(lambda x, y: np.abs(x[:, None] - y).sum(axis=1), v, v)  # no matrix is read
    assert vectorize_columns(pairs, SMALL) == pairs


@pytest.mark.parametrize(
    "f", [lambda x: x.sum(axis=1), np.sum, lambda x: np.sin(x), lambda x: np.cumsum(x, axis=1)]
)
def test_loops_in_order_stay(f):
    program = lowered(f, ordinary("f8", (16, 9)))
    assert vectorize_columns(program, SMALL) == program


def test_narrow_arrays_stay():
    program = lowered(lambda x: x.sum(axis=0), ordinary("f8", (16, 7)))
    assert (
        vectorize_columns(program, Options(machine=Machine(strip=4, fewest_columns=8))) == program
    )


def diagonal_left_out(x, y):
    """Read along columns, in loops that end at the diagonal."""
    return np.where(np.arange(len(x))[:, None] == np.arange(len(x)), 0, x.T * y.T)


def test_loops_that_end_elsewhere_for_each_column_stay():
    x, y = np.round(ordinary("f8", (2, 12, 12)))
    cut = split_triangles(lowered(diagonal_left_out, x, y), SMALL)
    assert vectorize_columns(cut, SMALL) == cut
    np.testing.assert_array_equal(in_c(diagonal_left_out)(x, y), diagonal_left_out(x, y))


@pytest.mark.parametrize(
    "f", [lambda x: np.exp(x[1:] * x[:-1]).sum(), lambda x: (x**3).sum() ** 2 + (x**4).sum()]
)
def test_second_derivatives_of_products_of_neighbours_and_of_sums_compile(f):
    x = ordinary("f8", (30,))
    np.testing.assert_allclose(in_c(hessian(f))(x), hessian(f)(x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("largest, width", [(512, 4), (511, 2), (256, 2), (255, None)])
def test_strips_are_narrower_where_their_rows_would_be_large(largest, width):
    options = Options(machine=Machine(strip=4, fewest_columns=5, row_bytes=largest))
    column, row = Symbol("i", 0, 40), Symbol("j", 0, 16)
    kept, acc = Buffer("kept", (16,), FLOAT64), Ref("acc", FLOAT64)
    keeping = (
        Store("kept", (Dim.of(row),), Load("x", (Dim.of(row), Dim.of(column)), FLOAT64)),
        Update(acc, "add", Load("kept", (Dim.of(row),), FLOAT64)),
    )
    start = Declare("acc", Literal(np.float64(0), FLOAT64), constant=False)
    end = Store("out", (Dim.of(column),), acc)
    nest = For(column, 40, (Alloc(kept), start, For(row, 16, keeping), end))
    arrays = Buffer("x", (16, 40), FLOAT64), Buffer("out", (40,), FLOAT64)
    program = Program("f", arrays[:1], arrays[1:], (Kernel("f_1", (nest,)),))
    if width is None:
        assert vectorize_columns(program, options) == program
        return
    after = assert_steps_agree(
        program, [np.round(ordinary("f8", (16, 40)))], vectorize_columns, options
    )
    found = [s.buffer for s in walk(after.kernels[0].body) if isinstance(s, Alloc)]
    assert {buffer.shape[-1] for buffer in found} == {width}


def products(x, y):
    found = np.zeros((len(x), y.shape[1]), x.dtype)
    for i in range(len(x)):
        for j in range(y.shape[1]):
            total = x[i, 0] * 0
            for k in range(len(y)):
                total += x[i, k] * y[k, j]
            found[i, j] = total
    return found


@pytest.mark.parametrize(("dtype", "width"), [("f8", 4), ("f4", 8), ("i2", 16)])
def test_columns_that_a_loop_reads_again_are_few(dtype, width):
    """They stay in the cache; those that each iteration of the loop has for itself do not."""
    machine = Machine(strip=64, repeated_strip_bytes=32, fewest_strips=1, fewest_columns=5)
    x, y = ordinary(dtype, (3, 40)), ordinary(dtype, (40, 80))
    options = {"machine": machine}
    assert f" {width}*strip" in jit(products, compiler_options=options).lower(x, y).as_text("loops")
    of_each = jit(lambda x: x.sum(1), compiler_options=options).lower(ordinary("f8", (3, 9, 200)))
    assert " 64*strip" in of_each.as_text("loops")


def test_what_is_read_once_for_each_row_makes_no_columns():
    """Numbers and weights of gathered rows, which are read along the first axis."""

    def gathered(x, i, j, w):
        near = np.clip(i, 0, 7), np.clip(j, 0, 7)
        return x[near[0]] * w[0][:, None] + x[near[1]] * w[1][:, None]

    i = np.arange(40) % 9
    before = lowered(gathered, np.ones((8, 12)), i, i, np.ones((2, 40)))
    assert vectorize_columns(before, SMALL) is before


def test_rows_that_a_scalar_of_the_column_bounds_stay():
    def later(x, out):
        n = len(out)
        for i in range(n):
            total = 0.0
            for j in range(i + 1, n):
                total += 1 / (1 + (x[i] - x[j]) ** 2)
            out[i] = total
        return out

    x = np.random.default_rng(0).normal(size=300)
    jitted = jit(later)
    np.testing.assert_array_equal(jitted(x, np.zeros(300)), later(x, np.zeros(300)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_columns_that_lie_in_one_line_of_the_cache_are_columns(dtype):
    x = np.round(ordinary(dtype, (16, 9, 3)))
    wide = np.round(ordinary(dtype, (16, 9 * 8)))
    for f, value in (
        (lambda x: x[:, :, 1].max(axis=0), x),
        (lambda x: x[:, ::7].max(axis=0), wide),
        (lambda x: x[:, ::-2].max(axis=0), wide),
    ):
        after = assert_steps_agree(lowered(f, value), [value], vectorize_columns, SMALL)
        assert any(loop.symbol.name.startswith("strip") for loop in loops_of(after))
    far = lowered(lambda x: x[:, ::8].max(axis=0), wide)
    assert (vectorize_columns(far, SMALL) == far) is (dtype == "f8")


def test_rows_that_lie_in_one_line_of_the_cache_stay_rows():
    x = np.round(ordinary("f8", (9, 16, 3)))
    for f in (
        lambda x: x[:, :, 1].max(axis=1),
        lambda x: x[:, ::2, 0].sum(axis=1),
        lambda x: (x[:, :, 0] * x[:, :, 1]).sum(axis=1),
    ):
        rows = lowered(f, x)
        assert vectorize_columns(rows, SMALL) == rows


def test_of_two_loops_that_one_which_goes_from_element_to_element_has_the_columns():
    """A row of bytes lies in one line of the cache with the next one."""
    x = np.arange(16 * 16 * 20 * 20).reshape(16, 16, 20, 20) % 17 > 0

    def f(x):
        every = np.all(x, axis=0)
        return every, every.mean(axis=2)

    after = assert_steps_agree(lowered(f, x), [x], vectorize_columns)
    (innermost,) = {
        loop.symbol
        for loop in loops_of(after)
        for s in loop.body
        for name, index in accesses(s)
        if name == "x0" and last_axis_stride(index, loop.symbol) == 1
    }
    assert innermost in {s.symbol for s in loops_of(after) if s.limit is not None or s.start != 0}
