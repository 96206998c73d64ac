"""Nests over short rows are vectorised over rows."""

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered
from helpers import assert_same, ordinary, values
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.calls import Call
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
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
from transpile.ir.loop_rewrite import accesses, substitute_index, walk
from transpile.ir.loop_verifier import check
from transpile.ir.types import FLOAT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.blocking.gemm_fusion import fuse_products
from transpile.schedule.lanes.outer.column_reductions import last_axis_stride
from transpile.schedule.lanes.outer.outer_vectorize import vectorize_outer

pytestmark = pytest.mark.full_level


# Strips of four rows, or of three.
SMALL = Options(machine=Machine(row_strips=(4, 3), fewest_row_strips=2))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def normalised(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1)


def nearest(points, centres):
    squares = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return squares.argmin(axis=1)[:, None] == np.arange(len(centres))


EXACT = {
    "a largest element": lambda x: x.max(axis=1),
    "its place": lambda x: x.argmax(axis=1),
    "what is left of the mean": lambda x: x - np.round(x.sum(axis=1) / 16)[:, None],
    "two results": lambda x: (x * x.max(axis=1)[:, None], x.sum(axis=1) * x.min(axis=1)),
    "a part of the row": lambda x: x[:, 1:7] - x[:, 2:].max(axis=1)[:, None],
    "a running sum": lambda x: np.cumsum(x, axis=1),
    "the row backwards": lambda x: x[:, ::-1] * x.max(axis=1, keepdims=True),
    "an element where a table says": lambda x: np.arange(25.0)[
        (x[:, 0, None] > np.arange(-12, 12)).sum(axis=1)
    ],
    "how many of a table are less": lambda x: (x[:, 0, None] > np.arange(-20, 20)).sum(axis=1),
}


@pytest.mark.parametrize("rows", [8, 9, 13, 18])
@pytest.mark.parametrize("name", EXACT)
@one_in(3)
def test_the_innermost_loops_go_from_row_to_row(name, rows):
    x = np.round(ordinary("f8", (rows, 11)))
    program = lowered(EXACT[name], x)
    after = assert_steps_agree(program, [x], vectorize_outer, SMALL)
    assert after != program
    inner = [loop for loop in loops_of(after) if not any(isinstance(s, For) for s in loop.body)]
    computing = [p for p in inner if not (len(p.body) == 1 and _is_copy(p.body[0]))]
    walked = [
        last_axis_stride(i, p.symbol) for p in computing for s in p.body for _, i in accesses(s)
    ]
    assert computing and set(walked) <= {0, 1}


PARTLY_THERE = {
    "padded": lambda x: np.pad(x, ((2, 1), (0, 0)), constant_values=7),
    "padded and shorter": lambda x: np.pad(x[1:-2], ((3, 1), (0, 0))),
    "joined": lambda x: np.concatenate((x[2:], 2 * x, x[:3])),
    "backwards": lambda x: np.concatenate((x[::-1], np.pad(x, ((0, 2), (0, 0))))),
}


@pytest.mark.parametrize("name", PARTLY_THERE)
def test_only_rows_that_exist_are_copied_on_their_side(name):
    x = np.round(ordinary("f8", (9, 7)))
    # The interpreter raises where a subscript is outside of its axis.
    program = lowered(lambda x: EXACT["two results"](PARTLY_THERE[name](x)), x)
    assert_steps_agree(program, [x], vectorize_outer, SMALL)


def _is_copy(statement):
    return isinstance(statement, Store) and len(list(accesses(statement))) == 2


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sum(axis=1),
        lambda x: (x > 1).any(axis=1),
        np.sin,
        lambda x: np.tril(x @ x.T).max(axis=1),
    ],
)
def test_other_nests_stay(f):
    program = lowered(f, ordinary("f8", (9, 9)))
    assert vectorize_outer(program, SMALL) == program


def test_long_rows_and_few_rows_stay():
    for shape in ((9, 25), (7, 11)):
        program = lowered(softmax, ordinary("f8", shape))
        assert vectorize_outer(program, SMALL) == program


FEW = Options(machine=Machine(fewest_short_rows=2))


@pytest.mark.parametrize("rows", [2, 3, 32, 33, 50])
@pytest.mark.parametrize("name", ["its place", "two results", "a part of the row"])
@one_in(3)
def test_few_rows_go_together_where_their_lanes_are_costly_to_combine(name, rows):
    x = np.round(ordinary("f8", (rows, 11)))
    program = lowered(EXACT[name], x)
    after = assert_steps_agree(program, [x], vectorize_outer, FEW)
    strips = [loop.extent for loop in loops_of(after) if loop.symbol.name == "strip"]
    assert set(strips) == {1 if rows <= 48 else 2}


def test_few_rows_stay_that_are_longer_or_are_summed_once():
    def scaled(x):
        return x / (x * x).sum(axis=1, keepdims=True)

    for f, shape, is_turned in (
        (softmax, (20, 15), True),
        (softmax, (20, 16), False),
        (softmax, (7, 11), False),
        (softmax, (128, 16), True),
        (normalised, (20, 11), True),
        (scaled, (20, 11), False),
        (scaled, (128, 11), True),
    ):
        program = lowered(f, ordinary("f8", shape))
        assert (vectorize_outer(program, Options()) != program) == is_turned


def test_strips_that_do_not_stay_in_cache_are_not_made():
    program = lowered(softmax, ordinary("f8", (256, 10)))
    assert vectorize_outer(program, Options()) != program
    machine = Machine(row_strip_bytes=3 * 10 * 32 * 8 + 2 * 32 * 8 - 1)
    assert vectorize_outer(program, Options(machine=machine)) == program


def test_an_odd_number_of_rows_ends_with_a_shorter_strip():
    loops = list(loops_of(vectorize_outer(lowered(softmax, ordinary("f8", (131, 10))), Options())))
    assert {loop.limit for loop in loops if loop.symbol.name == "i"} == {131}
    loops = list(loops_of(vectorize_outer(lowered(softmax, ordinary("f8", (144, 10))), Options())))
    assert loops[0].extent == 9 and all(loop.limit is None for loop in loops)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(["f4", "f8"]),
    st.sampled_from([128, 131, 160]),
    st.integers(2, 24),
    st.integers(0, 100),
)
def test_short_rows_agree_with_numpy_through_c(dtype, rows, columns, seed):
    x = ordinary(dtype, (rows, columns), seed)
    tolerance = 1e-5 if dtype == "f4" else 1e-13
    assert_same(lambda x: (softmax(x), normalised(x)), x, tolerance=tolerance)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_places_and_extremes_of_any_numbers_agree_with_numpy_through_c(dtype):
    x = values(dtype, (150, 13))

    def extremes(x):
        return x.argmin(axis=1), x.argmax(axis=1), x.max(axis=1), x - x.min(axis=1)[:, None]

    with np.errstate(invalid="ignore"):
        assert_same(extremes, x)


def test_the_first_of_equal_numbers_is_found_and_any_nan_before_it():
    x = np.tile(np.array([[3.0, 1, 1, -0.0, 0.0, 1, 7, 7, 0, 2]]), (140, 1))
    x[1, 7] = x[2, 0] = x[2, 9] = np.nan
    x[3] = np.inf
    x[4] = -np.inf
    assert_same(lambda x: (x.argmin(axis=1), x.argmax(axis=1)), x)


def test_the_nearest_centre_is_found_through_c():
    rng = np.random.default_rng(3)
    points = rng.integers(-9, 9, (133, 5)).astype("f4")
    assert_same(nearest, points, rng.integers(-9, 9, (12, 5)).astype("f4"))


def test_the_turned_nest_reads_each_row_once():
    program = vectorize_outer(lowered(normalised, ordinary("f8", (256, 10))), Options())
    (kernel,), (x,) = program.kernels, program.inputs
    assert [n for s in walk(kernel.body) for n, _ in accesses(s)].count(x.name) == 1


def classify(x, w, b):
    return softmax(np.maximum(x @ w[0] + b[0], 0) @ w[1] + b[1])


def in_blocks(f, *args):
    """The program after products were made block by block."""
    program = fuse_products(lowered(f, *args), Options())
    assert any(
        isinstance(s, Call) for k in program.kernels for loop in k.body for s in walk((loop,))
    )
    return program


def layers(rows, classes, dtype="f4"):
    random = np.random.default_rng(rows + classes)
    shapes = (rows, 80), (80, 64), (64,), (64, classes), (classes,)
    x, w1, b1, w2, b2 = (random.standard_normal(s).astype(dtype) / 4 for s in shapes)
    return x, (w1, w2), (b1, b2)


@pytest.mark.parametrize("rows, classes, dtype", [(512, 10, "f4"), (200, 9, "f8"), (128, 24, "f4")])
@one_in(3)
def test_rows_that_a_product_makes_are_walked_many_at_a_time(rows, classes, dtype):
    x, w, b = layers(rows, classes, dtype)
    program = in_blocks(lambda x, w1, w2, b1, b2: classify(x, (w1, w2), (b1, b2)), x, *w, *b)
    after = vectorize_outer(program, Options())
    strips = [s for k in after.kernels for s in walk(k.body) if isinstance(s, Alloc)]
    assert any(s.buffer.name.endswith("_strip") for s in strips)
    expected = classify(x.astype("f8"), [a.astype("f8") for a in w], [a.astype("f8") for a in b])
    found = transpile.jit(classify)(x, w, b)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=2e-5 if dtype == "f4" else 1e-12)


def test_rows_between_products_and_those_of_a_stack():
    x, w, _ = layers(512, 12)

    def between(x, w1, w2, v):
        return softmax(softmax(x @ w1 @ w2) @ v)

    v = np.random.default_rng(0).standard_normal((12, 20)).astype("f4")
    expected = between(x.astype("f8"), *w, v)
    np.testing.assert_allclose(transpile.jit(between)(x, *w, v), expected, rtol=3e-5)
    stack = np.random.default_rng(1).standard_normal((2, 256, 80)).astype("f4") / 4
    others = np.random.default_rng(2).standard_normal((2, 80, 9)).astype("f4") / 4

    def stacked(x, w):
        scores = x @ w
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    expected = stacked(stack.astype("f8"), others)
    np.testing.assert_allclose(transpile.jit(stacked)(stack, others), expected, rtol=2e-5)


ROW = Symbol("i", 0, 256)
COLUMN = Symbol("j", 0, 8)


def in_place(*body, before=()):
    """A program that changes rows of 8 numbers in the array that it reads."""
    largest = Declare("most", Literal(np.float64(-np.inf), FLOAT64), constant=False)
    element = Load("out", (Dim.of(ROW), Dim.of(COLUMN)), FLOAT64)
    search = For(COLUMN, 8, (Update(Ref("most", FLOAT64), "maximum", element),))
    rows = For(ROW, 256, (largest, *before, search, For(COLUMN, 8, body)))
    out = Buffer("out", (256, 8), FLOAT64)
    start = Buffer("x", (256, 8), FLOAT64)
    fill = For(ROW, 256, (For(COLUMN, 8, (_stored("out", _of("x")),)),))
    return Program("f", (start,), (out,), (Kernel("f_1", (fill,)), Kernel("f_2", (rows,))))


def _of(name, row=0, column=0):
    return Load(name, (Dim.of(ROW) + row, Dim.of(COLUMN) + column), FLOAT64)


def _stored(name, value, row=0):
    return Store(name, (Dim.of(ROW) + row, Dim.of(COLUMN)), value)


def _less(value):
    return Apply("subtract", (value, Ref("most", FLOAT64)), FLOAT64)


def test_rows_that_are_changed_in_place_have_one_copy():
    program = in_place(_stored("out", _less(_of("out"))))
    check(program)
    after = vectorize_outer(program, Options())
    check(after)
    copies = {s.buffer.name for s in walk(after.kernels[1].body) if isinstance(s, Alloc)}
    assert copies == {"out_strip", "most"}
    x = np.random.default_rng(0).standard_normal((256, 8))
    for each in (program, after):
        np.testing.assert_array_equal(run(each, [x])[0], x - x.max(axis=1, keepdims=True))


@pytest.mark.parametrize(
    "body, before",
    [
        ((Update(_of("out"), "add", Ref("most", FLOAT64)),), ()),  # updates are not copied back
        ((_stored("out", _less(_of("out"))),), (_stored("out", _of("x")),)),  # outside of a nest
        (
            (_stored("out", _less(_of("out"))),),
            (For(COLUMN, 8, (_stored("out", _of("x")),)),),  # written before it is read
        ),
    ],
)
def test_rows_that_are_changed_otherwise_stay(body, before):
    before = tuple(map(_at_first_column, before))
    program = in_place(*body, before=before)
    check(program)
    assert vectorize_outer(program, Options()).kernels[1] == program.kernels[1]


def _at_first_column(statement):
    return statement if isinstance(statement, For) else substitute_index(statement, COLUMN, 0)
