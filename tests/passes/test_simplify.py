"""Simplify: each rule fires where it is exact, to the bit, and nowhere else."""

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph
from passes import SPECIAL, after, graph_of, names, var

from transpile import lax
from transpile.ir.graph import Const, Equation
from transpile.passes.dead_code import eliminate_dead_code
from transpile.passes.simplify import simplify
from transpile.primitives import axes, dot, elementwise, reductions
from transpile.primitives.elementary import primitives as elementary
from transpile.primitives.reductions import identity
from transpile.primitives.rules import apply
from transpile.transforms.interpret import interpret

INTEGERS = np.array([0, 1, -1, 7, 2**63 - 1, -(2**63)])
SMALL = np.array([0, 1, 255], "u1")
BOOLS = np.array([True, False])
COMPLEX = np.array([1 + 2j, complex(np.inf, 1), complex(np.nan, 0), 0])
MATRIX = ordinary("f8", (3, 4))


def tidy(graph):
    return eliminate_dead_code(simplify(graph))


FIRES = {
    "x + 0 of integers": (lambda x: x + 0, INTEGERS),
    "0 + x of integers": (lambda x: 0 + x, INTEGERS),
    "x - 0": (lambda x: x - 0.0, SPECIAL),
    "x * 1": (lambda x: x * 1.0, SPECIAL),
    "1 * x": (lambda x: 1 * x, INTEGERS),
    "x * ones": (lambda x: x * np.ones(x.shape), SPECIAL),
    "x / 1": (lambda x: x / 1.0, SPECIAL),
    "x // 1 of integers": (lambda x: x // 1, INTEGERS),
    "-(-x)": (lambda x: -(-x), SPECIAL),
    "-(-x) of integers": (lambda x: -(-x), INTEGERS),
    "not not x": (lambda x: np.logical_not(np.logical_not(x)), BOOLS),
    "x + -0.0": (lambda x: x + -0.0, SPECIAL),
    "the larger of x and -inf": (lambda x: np.maximum(-np.inf, x), SPECIAL),
    "the larger of x and the least integer": (lambda x: np.maximum(x, 0), SMALL),
    "x and True": (lambda x: np.logical_and(x, True), BOOLS),
    "False or x": (lambda x: np.logical_or(False, x), BOOLS),
    "x == True": (lambda x: x == True, BOOLS),  # noqa: E712
    "False < x": (lambda x: np.less(False, x), BOOLS),
    "x != 0 of bools": (lambda x: x != 0, BOOLS),
    "x > 0.5 of bools": (lambda x: x > 0.5, BOOLS),
    "all bits of x": (lambda x: x & 255, SMALL),
    "~~x": (lambda x: ~~x, INTEGERS),
    "the conjugate of the conjugate": (lambda x: np.conjugate(np.conjugate(x)), COMPLEX),
    "copy": (np.copy, SPECIAL),
    "astype of the same dtype": (lambda x: x.astype("f8"), SPECIAL),
    "where with a known condition": (lambda x: np.where(True, x, x * 2), SPECIAL),
    "where with equal choices": (lambda x: np.where(x > 0, x, x), SPECIAL),
    "reshape to the same shape": (lambda x: x.reshape(3, 4), MATRIX),
    "reshape there and back": (lambda x: x.reshape(12).reshape(3, 4), MATRIX),
    "transpose there and back": (lambda x: x.T.T, MATRIX),
    "the whole slice": (lambda x: x[:, :], MATRIX),
    "broadcast to the same shape": (lambda x: np.broadcast_to(x, (3, 4)), MATRIX),
    "joined with nothing": (lambda x: np.concatenate([x, x[:0]]), MATRIX),
    "a sum over axes of one element": (lambda x: x[:, None].sum(1), INTEGERS),
    "a product over axes of one element": (lambda x: x[:, None].prod(1), SPECIAL),
    "reversed axes of one element": (lambda x: np.flip(x[None], 0)[0], SPECIAL),
}


@pytest.mark.parametrize("name", FIRES)
def test_an_identity_disappears(name):
    f, x = FIRES[name]
    views = ["broadcast_in_dim", "reshape"]  # of x[None], and of the sum that is a reshape
    left = {n: views for n in FIRES if "axes of one element" in n}
    assert after(tidy, f, x) == left.get(name, [])


def test_a_sum_of_one_float_starts_at_zero():
    """Which makes 0.0 of -0.0, as NumPy's does."""
    assert after(tidy, lambda x: x[:, None].sum(1), SPECIAL)[-1] == "add"


BECOMES = {
    "x + -y": (lambda x, y: x + -y, (SPECIAL, SPECIAL[::-1].copy()), ["subtract"]),
    "x / 4": (lambda x: x / 4.0, (SPECIAL,), ["multiply"]),
    "x / -0.5": (lambda x: x / -0.5, (SPECIAL,), ["multiply"]),
    "x // 8 of integers": (lambda x: x // 8, (INTEGERS,), ["right_shift"]),
    "x // 4 of unsigned integers": (lambda x: x // np.uint8(4), (SMALL,), ["right_shift"]),
    "x % 8 of integers": (lambda x: x % 8, (INTEGERS,), ["bitwise_and"]),
    "x % 128 of unsigned integers": (lambda x: x % np.uint8(128), (SMALL,), ["bitwise_and"]),
    "x ^ 5 where another test holds": (
        lambda x: np.where(x % 3 == 1, x ^ 5, x),
        (INTEGERS,),
        ["remainder", "equal", "select", "bitwise_xor"],
    ),
    "x where another test holds, else x + 1": (
        lambda x: np.where(x % 3 == 1, x, x + 1),
        (INTEGERS,),
        ["remainder", "equal", "logical_not", "select", "add"],
    ),
    "one number, of which a constant is subtracted": (
        lambda x: np.where(x % 3 == 1, x - 3, x),
        (np.int64(7),),
        ["remainder", "equal", "convert_element_type", "negative", "bitwise_and", "subtract"],
    ),
    "one number that counts": (
        lambda x, y: np.where(y > 3, x + 1, x),
        (np.int64(7), np.int64(5)),
        ["greater", "convert_element_type", "add"],
    ),
    "x - 3 where another test holds": (
        lambda x: np.where(x % 3 == 1, x - 3, x),
        (INTEGERS,),
        ["remainder", "equal", "select", "subtract"],
    ),
    "two transposes": (
        lambda x: x.transpose(1, 2, 0).transpose(1, 2, 0),
        (ordinary("f8", (2, 3, 4)),),
        ["transpose"],
    ),
    "two reshapes": (lambda x: x.reshape(2, 6).reshape(4, 3), (MATRIX,), ["reshape"]),
    "a bool where another holds": (
        lambda x, y: np.where(x, y, False),
        (np.array([True, False]), np.array([True, True])),
        ["logical_and"],
    ),
    "True where another holds": (
        lambda x, y: np.where(x, True, y),
        (np.array([True, False]), np.array([False, True])),
        ["logical_or"],
    ),
    "x == False": (lambda x: x == False, (BOOLS,), ["logical_not"]),  # noqa: E712
    "x ^ True": (lambda x: True ^ x, (BOOLS,), ["logical_not"]),
    "1 > x of bools": (lambda x: np.greater(1, x), (BOOLS,), ["logical_not"]),
    "x < 2 of bools": (lambda x: x < 2, (BOOLS,), ["broadcast_in_dim"]),
    "x == 2 of one bool": (lambda x: np.sum(x == 2), (np.True_,), []),
    "the order of equal numbers": (
        lambda x: np.sort(np.full_like(x, 3), axis=0),
        (MATRIX,),
        ["broadcast_in_dim"],
    ),
    "the order in rows of one number": (
        lambda x: np.sort(np.broadcast_to(x[:, :1], (3, 5)), axis=1),
        (MATRIX,),
        ["slice", "broadcast_in_dim"],
    ),
    "logaddexp(x, x)": (lambda x: np.logaddexp(x, x), (MATRIX,), ["add"]),
    "a sum over no elements": (
        lambda x: x.sum(0),
        (np.zeros((0, 3)),),
        ["broadcast_in_dim"],
    ),
    "a product over no elements": (
        lambda x, y: x @ y,
        (np.zeros((2, 0)), np.zeros((0, 3))),
        ["broadcast_in_dim"],
    ),
}


@pytest.mark.parametrize("name", BECOMES)
def test_an_expression_becomes_a_simpler_one(name):
    f, args, expected = BECOMES[name]
    assert after(tidy, f, *args) == expected


STAYS = {
    "x + 0.0 turns -0.0 into 0.0": (lambda x: x + 0.0, SPECIAL, "add"),
    "x - -0.0 turns -0.0 into 0.0": (lambda x: x - (-0.0), SPECIAL, "subtract"),
    "x * 0 keeps NaN": (lambda x: x * 0.0, SPECIAL, "multiply"),
    "x - x keeps NaN": (lambda x: x - x, SPECIAL, "subtract"),
    "x / 3": (lambda x: x / 3.0, SPECIAL, "divide"),
    "x + 5 where x is negative": (lambda x: np.where(x < 0, x + 5, x), INTEGERS, "select"),
    "x // 3 of integers": (lambda x: x // 3, INTEGERS, "floor_divide"),
    "x // -2 of integers": (lambda x: x // -2, INTEGERS, "floor_divide"),
    "x // 2 of floats": (lambda x: x // 2.0, SPECIAL, "floor_divide"),
    "x % 0 of integers": (lambda x: x % 0, INTEGERS, "remainder"),
    "x / 0": (lambda x: x / 0.0, SPECIAL, "divide"),
    "x / 2**1023, whose inverse is subnormal": (lambda x: x / 2.0**1023, SPECIAL, "divide"),
    "x / 2**-1074, whose inverse is infinite": (lambda x: x / 5e-324, SPECIAL, "divide"),
    "the larger of x and 0": (lambda x: np.maximum(x, 0.0), SPECIAL, "maximum"),
    "0 - x": (lambda x: 0.0 - x, SPECIAL, "subtract"),
    "complex x * 1": (lambda x: x * (1 + 0j), COMPLEX, "multiply"),
    "complex x / 1": (lambda x: x / (1 + 0j), COMPLEX, "divide"),
    "not of a number": (
        lambda x: np.logical_not(np.logical_not(x)),
        INTEGERS,
        "logical_not",
    ),
    "the order in columns of what is equal in rows": (
        lambda x: np.sort(np.broadcast_to(x[:, :1], (3, 5)), axis=0),
        MATRIX,
        "sort",
    ),
    "a slice with a step": (lambda x: x[::2], SPECIAL, "slice"),
    "a reversal": (lambda x: x[::-1], SPECIAL, "rev"),
    "astype of another dtype": (lambda x: x.astype("f4"), SPECIAL, "convert_element_type"),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_is_not_exact_stays(name):
    f, x, primitive = STAYS[name]
    assert primitive in after(tidy, f, x)


@pytest.mark.parametrize("divisor", [2.0**1022, 2.0**-1022, 1024.0, -0.125])
def test_division_by_a_power_of_two_is_exact_where_it_is_a_product(divisor):
    after(tidy, lambda x: x / divisor, SPECIAL)  # checks the bits


def test_equations_over_constants_are_folded():
    two = Const(np.float64(2))
    y, z, x = var(()), var(()), var(())
    graph = graph_of(
        Equation(elementwise.square, (two,), {}, (y,)),
        Equation(elementwise.add, (y, Const(np.float64(0.5))), {}, (z,)),
        inputs=(x,),
        outputs=(z,),
    )
    folded = tidy(graph)
    assert folded.equations == () and folded.outputs == (Const(np.float64(4.5)),)


def test_a_filled_array_is_computed_as_a_scalar():
    x = ordinary("f8", (5,))
    assert after(tidy, lambda x: x * np.sqrt(np.full(5, 4.0)), x) == ["multiply"]


VIEWS = [lambda a: a.T, lambda a: a[1:3, ::2], lambda a: a[:, ::-1], lambda a: a.reshape(24)]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_a_filled_array_is_one(view):
    def f(x):
        fours = apply("broadcast_in_dim", np.float64(4), shape=(4, 6), broadcast_dimensions=())
        return np.sum(np.sqrt(view(fours))) + x

    x = ordinary("f8", (5,))
    assert "sqrt" not in after(tidy, f, x)


def test_large_constants_are_not_folded():
    table, y = Const(np.arange(100.0)), var((100,))
    graph = graph_of(Equation(elementary.sin, (table,), {}, (y,)), inputs=(), outputs=(y,))
    assert names(simplify(graph)) == ["sin"]


def test_constants_of_equal_bytes_but_unequal_numbers_stay_arrays():
    x = ordinary("f8", (2,))
    assert after(tidy, lambda x: x + np.array([0.0, -0.0]), x) == ["add"]
    graph = simplify(
        graph_of(
            Equation(
                elementwise.copysign,
                (a := var((2,)), Const(np.array([0.0, -0.0]))),
                {},
                (b := var((2,)),),
            ),
            inputs=(a,),
            outputs=(b,),
        )
    )
    np.testing.assert_array_equal(interpret(graph, [np.ones(2)])[0], [1, -1])


@pytest.mark.parametrize("row", [reductions.reduce_max, reductions.reduce_min])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u8", "?"])
def test_extremes_start_from_a_value_that_changes_nothing(row, dtype):
    extremes = (
        np.array([True, False])
        if dtype == "?"
        else np.array([-np.inf, np.inf], dtype)
        if dtype[0] == "f"
        else np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    )
    start = identity(row.combine, np.dtype(dtype)).value
    combine = np.maximum if row is reductions.reduce_max else np.minimum
    np.testing.assert_array_equal(combine(start, extremes), extremes)


def test_a_contraction_of_no_elements_of_bools_is_false():
    x, y, z = var((2, 0), "?"), var((0, 3), "?"), var((2, 3), "?")
    numbers = {"dimension_numbers": (((1,), (0,)), ((), ()))}
    graph = graph_of(Equation(dot.dot_general, (x, y), numbers, (z,)), inputs=(x, y), outputs=(z,))
    found = simplify(graph)
    assert names(found) == [axes.broadcast_in_dim.name]
    assert not interpret(found, [np.ones((2, 0), bool), np.ones((0, 3), bool)])[0].any()


@pytest.mark.parametrize("size", range(1, 6))
def test_a_slice_of_an_update_is_taken_where_the_update_was_moved_to(size):
    x, update = np.arange(5), -np.arange(1, size + 1)
    starts = range(-6, 9)

    def slices(x, update):
        updated = [lax.dynamic_update_slice(x, update, (np.int64(s),)) for s in starts]
        return [y[low:high] for y in updated for low in range(5) for high in range(low + 1, 6)]

    graph = trace_to_graph(slices, x, update)
    simpler = tidy(graph)
    direct = [
        e for e in simpler.equations if e.primitive is axes.slice_ and e.inputs[0] in simpler.inputs
    ]
    assert direct, "no slice is taken from what was put in, or from what was there before"
    for got, want in zip(
        interpret(simpler, (x, update)), interpret(graph, (x, update)), strict=True
    ):
        np.testing.assert_array_equal(got, want)
