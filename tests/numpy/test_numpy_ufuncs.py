"""Every ufunc on every dtype, every operator with every scalar, against NumPy."""

import operator
import warnings

import numpy as np
import pytest
from helpers import (
    NUMPYS,
    arrays,
    assert_equal_values,
    assert_same,
    assert_same_error,
    dtypes,
    evaluate,
    leaves,
    ordinary,
    seeds,
    shapes,
    trace_to_graph,
    values,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

from transpile import jit
from transpile.errors import UnsupportedError
from transpile.ir.types import DTYPES, SHORT_NAMES

UFUNCS = sorted(
    {f for f in vars(np).values() if isinstance(f, np.ufunc)}
    - {
        np.matmul,
        np.isnat,
        *(getattr(np, n) for n in ("vecdot", "matvec", "vecmat") if hasattr(np, n)),
    },
    key=lambda f: f.__name__,
)
# These compute by another formula than NumPy's loop; the others give the same bits.
ROUNDING = {
    "degrees": 1e-6,
    "rad2deg": 1e-6,
    "radians": 1e-6,
    "deg2rad": 1e-6,
    "power": 1e-6,
    "float_power": 1e-15,
}


def check(ufunc, *args):
    """As assert_same; where NumPy computes in a dtype that is not supported, the error says so."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = [np.asarray(r) for r in leaves(ufunc(*args))]
        except (TypeError, ValueError) as problem:
            # The graph cannot know of negative powers that stand in a traced array.
            if "negative integer powers" not in str(problem):
                assert_same_error(ufunc, args, problem)
            return
        kinds = [a.dtype for a in args]
        loop = list(ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout)))
        odd = next((d for d in loop if d not in SHORT_NAMES), None)
        if odd is not None:
            with pytest.raises(UnsupportedError, match=rf"\.py:\d+: .*{odd.name}"):
                trace_to_graph(ufunc, *args)
            return
        found = evaluate(ufunc, *args)
    for got, want in zip(found, expected, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert_equal_values(got, want, ROUNDING.get(ufunc.__name__, 0.0))


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_ufunc_gives_numpys_values_on_every_dtype(ufunc):
    for number, dtype in enumerate(DTYPES):
        x = values(dtype, (24,), number)
        if ufunc.nin == 1:
            check(ufunc, x)
            check(ufunc, x[:1].reshape(()))
            continue
        for second in DTYPES:
            y = values(second, (24,), number + 100)
            if ufunc in (np.left_shift, np.right_shift) and second.kind in "iu":
                y = np.arange(24).astype(second)
            if ufunc in (np.power, np.float_power):
                x, y = ordinary(dtype, (24,), 1), ordinary(second, (24,), 2)
                y = np.abs(y).astype(second)
            check(ufunc, x, y)


@given(
    st.sampled_from([np.add, np.arctan2, np.less, np.maximum, np.logical_xor]),
    dtypes,
    dtypes,
    shapes(),
    st.data(),
)
def test_ufunc_broadcasts_as_numpy(ufunc, first, second, shape, data):
    def part():
        cut = data.draw(st.integers(0, len(shape)))
        return tuple(data.draw(st.sampled_from((1, d))) for d in shape[cut:])

    x, y = values(first, part(), 1), values(second, part(), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(ufunc, x, y)


def test_ufunc_raises_numpys_error_when_shapes_do_not_match():
    assert_same(np.add, np.ones(3), np.ones(4))
    with pytest.raises(
        ValueError,
        match=r"^test_numpy_ufuncs.py:\d+: operands could not be "
        r"broadcast together with shapes \(2,3\) \(4,\) $",
    ):
        trace_to_graph(lambda x, y: x * y, np.ones((2, 3)), np.ones(4))


OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    divmod,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.lshift,
    operator.rshift,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]
SCALARS = [
    True,
    False,
    0,
    1,
    2,
    3,
    7,
    -1,
    -3,
    200,
    300,
    -200,
    2**31,
    2**40,
    2**63,
    -(2**63),
    2**64 + 5,
    -(2**70),
    0.0,
    -0.0,
    0.5,
    1.0,
    2.0,
    -1.0,
    3.7,
    float("nan"),
    float("inf"),
    1e300,
    1j,
    2.5 - 1j,
]


def assert_same_within_rounding(f, x):
    assert_same(f, x, tolerance=1e-6)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
@one_in(4)
def test_operator_with_a_python_scalar_is_numpys_on_both_sides(op):
    for number, dtype in enumerate(NUMPYS):
        x = values(dtype, (12,), number)
        safe = ordinary(dtype, (12,), number)
        for scalar in SCALARS:
            y = safe if op is operator.pow else x
            if op in (operator.lshift, operator.rshift) and not (
                type(scalar) is int and 0 <= scalar < 8
            ):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert_same_within_rounding(lambda a: op(a, scalar), y)
                if op in (operator.lshift, operator.rshift):
                    y = np.abs(safe) % 6 if dtype.kind in "iu" else safe
                if op is operator.pow and dtype.kind == "i":
                    y = np.abs(safe)
                if op is operator.pow and isinstance(scalar, complex):
                    continue
                assert_same_within_rounding(lambda a: op(scalar, a), y)


@pytest.mark.parametrize(
    "op", [operator.neg, operator.pos, abs, operator.invert], ids=lambda f: f.__name__
)
def test_unary_operator_is_numpys(op):
    for dtype in DTYPES:
        assert_same(op, values(dtype, (6,)))


PYTHON = [True, False, 0, 3, -4, 17, 0.5, -2.0, 3.0, 1 + 2j]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
@one_in(3)
def test_operator_between_python_scalars_is_pythons(op):
    """Values, type, and the errors of Python; the result is weak again."""
    for a in PYTHON:
        for b in PYTHON:
            if op in (operator.lshift, operator.rshift) and not 0 <= b.real < 60:
                continue
            if op is operator.pow and (
                isinstance(a, complex)
                or isinstance(b, complex)
                or abs(b) > 4
                or b < 0
                or (a < 0 and b != int(b))
            ):
                continue
            try:
                expected = leaves(op(a, b))
            except ZeroDivisionError:
                continue
            except TypeError as problem:
                assert_same_error(op, (a, b), problem)
                continue
            graph = trace_to_graph(op, a, b)
            for atom, got, want in zip(graph.outputs, evaluate(op, a, b), expected, strict=True):
                assert atom.type.weak
                assert got.dtype == np.asarray(want).dtype, (op, a, b)
                np.testing.assert_allclose(got, want, rtol=1e-15)


def test_python_scalar_results_stay_weak_through_operators_and_not_through_functions():
    x = np.ones(3, np.float32)
    for f, a, n, dtype in (
        (lambda a, n: a * (n * 2 + 1) / n, x, 3, np.float32),
        (lambda a, n: a * np.sin(n), x, 3.0, np.float64),
        (lambda a, n: a * np.positive(n), x, 3.0, np.float64),
        (lambda a, n: a + n, x, 2.5, np.float32),
        (lambda a, n: a + n, x.astype("i2"), 2, np.int16),
    ):
        (found,) = evaluate(f, a, n)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, f(a, n), rtol=1e-6)


def test_negative_power_of_a_python_int_is_a_float():
    assert_same(lambda n: n**-2, 4)


@given(arrays(max_rank=1), st.integers(-(2**63), 2**63 - 1))
def test_comparison_with_a_traced_python_int_is_exact(x, n):
    for op in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
        assert_same(lambda a, k: op(a, k), x, n)


def test_scalar_operand_is_one_equation_with_a_constant_of_the_loops_dtype():
    x = np.ones((2, 3), np.float32)
    for f in (lambda a: a * 2.0, lambda a: 2 * a, lambda a: a * np.full(3, 2, np.float32)):
        (equation,) = trace_to_graph(f, x).equations
        assert equation.primitive.name == "multiply"
        (constant,) = [a for a in equation.inputs if hasattr(a, "value")]
        assert constant.is_scalar and constant.type.dtype == np.float32


def test_nothing_to_do_emits_no_equation():
    x = np.ones((2, 3), np.float32)
    for f in (
        lambda a: a.reshape(2, 3),
        lambda a: a[...],
        lambda a: a.transpose(0, 1),
        lambda a: a.astype("f4", copy=False),
        np.real,
    ):
        assert trace_to_graph(f, x).equations == ()


def test_new_array_of_the_same_values_is_one_copy():
    """Which a pass removes, unless one of the two is assigned to."""
    x = np.ones((2, 3), np.float32)
    for f in (lambda a: +a, lambda a: a.astype("f4"), lambda a: a.copy(), np.copy):
        assert [e.primitive.name for e in trace_to_graph(f, x).equations] == ["copy"]


def test_dtype_argument_chooses_the_loop():
    x = ordinary("i4", (5,))
    assert_same(lambda a: np.add(a, a, dtype="f4", casting="unsafe"), x)
    assert_same(lambda a: np.multiply(a, a, dtype=np.float64), x)
    assert_same(lambda a: np.sin(a, dtype="c16"), x)
    assert_same(lambda a: np.add(a, a, dtype="i4"), ordinary("f8", (5,)))


def test_traced_result_does_not_fit_into_a_plain_array():
    with pytest.raises(TypeError, match=r"test_numpy_ufuncs.py:\d+: a traced result of add"):
        trace_to_graph(lambda x: np.add(x, x, out=np.zeros(2)), np.ones(2))


def test_assignment_into_an_outer_array_is_refused():
    total = np.zeros(2)

    def f(x):
        nonlocal total
        total += x
        return total

    with pytest.raises(TypeError, match=r"test_numpy_ufuncs.py:\d+: a traced result of add"):
        trace_to_graph(f, np.ones(2))


@settings(max_examples=60)
@given(
    st.sampled_from([np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or]),
    dtypes,
    shapes(min_rank=1),
    seeds,
    st.data(),
)
def test_ufunc_reduce_is_numpys(ufunc, dtype, shape, seed, data):
    x = ordinary(dtype, shape, seed)
    axis = data.draw(st.sampled_from([None, 0, -1]))
    keepdims = data.draw(st.booleans())
    assert_same(lambda a: ufunc.reduce(a, axis=axis, keepdims=keepdims), x, tolerance=1e-6)


@settings(max_examples=60)
@given(
    st.sampled_from([np.add, np.multiply, np.maximum, np.minimum]),
    dtypes.filter(lambda d: d.kind != "c"),
    shapes(min_rank=1),
    seeds,
)
def test_ufunc_accumulate_is_numpys(ufunc, dtype, shape, seed):
    assert_same(lambda a: ufunc.accumulate(a), ordinary(dtype, shape, seed), tolerance=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum])
def test_extremes_of_every_pair_keep_nans_and_the_first_of_two_zeros(ufunc, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    special = np.array([0.0, -0.0, tiny, -tiny, 1, -1, np.inf, -np.inf, np.nan, -np.nan], dtype)
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    found, expected = jit(lambda x, y: ufunc(x, y))(x, y), ufunc(x, y)
    np.testing.assert_array_equal(found, expected)
    zeros = (x == 0) & (y == 0)
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(x[zeros]))
    pairs = np.stack([x, y], 1)
    assert_same(lambda a: (ufunc.reduce(a, axis=1), ufunc.accumulate(a, axis=1)), pairs)
    assert_same(lambda a: ufunc.reduce(a.repeat(70, axis=1), axis=1), pairs)
    assert_same(lambda a: (ufunc(a, 0.0), ufunc(0.0, a)), special[2:])


@given(st.sampled_from([np.add, np.less, np.divmod]), shapes(max_rank=2), shapes(max_rank=2))
def test_ufunc_outer_is_numpys(ufunc, first, second):
    assert_same(lambda a, b: ufunc.outer(a, b), ordinary("f8", first), ordinary("f4", second, 1))


@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
@one_in(3)
def test_operator_with_numpy_values_is_numpys_on_both_sides(op):
    """NumPy's scalars and arrays hand their operators over to the traced value."""
    others = [
        np.float32(1.5),
        np.int8(3),
        np.float64(2),
        np.bool_(True),
        np.uint64(7),
        np.array([1, 2, 3], "i2"),
        np.complex64(1 - 2j),
        np.array(2.5),
    ]
    for dtype in ("b1", "u1", "i4", "u8", "f4", "f8", "c8"):
        x = np.abs(ordinary(dtype, (2, 3))).astype(dtype)
        for other in others:
            if op is operator.pow and (dtype[0] == "c" or np.iscomplexobj(other)):
                continue
            if op is operator.pow and np.ndim(other) == 1 and dtype == "b1":
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert_same_within_rounding(lambda a: op(a, other), x)
                assert_same_within_rounding(lambda a: op(other, a), x)


def test_in_place_operators_change_the_array():
    def f(x):
        y = x
        y += 1
        y *= 2
        return [x, y]

    found = evaluate(f, np.ones(3))
    assert found[0].tolist() == found[1].tolist() == [4.0] * 3
