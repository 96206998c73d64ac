"""reduce, accumulate, reduceat and outer of every binary ufunc, and the arguments of ufuncs."""

import functools
import itertools
import warnings

import numpy as np
import pytest
from helpers import assert_same, dtypes, evaluate, ordinary, seeds, shapes, values
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile.test_util import check_grads

BINARY = sorted(
    {
        f
        for f in vars(np).values()
        if isinstance(f, np.ufunc)
        and (f.nin, f.nout) == (2, 1)
        and f.signature is None
        and f is not np.ldexp  # its operands differ in kind, so that it folds nothing
    },
    key=lambda f: f.__name__,
)
# Of these the order of combination changes the rounding, or the powers are another formula.
TOLERANCE = 1e-5


def quietly(f):
    @functools.wraps(f)
    def silent(*args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)

    return silent


def operand(ufunc, dtype, shape, seed):
    """Values on which a fold of a ufunc neither overflows nor leaves its domain."""
    x = ordinary(dtype, shape, seed)
    if ufunc in (np.power, np.float_power, np.left_shift, np.right_shift):
        x = np.abs(x).astype(x.dtype)
    return x


def is_computable(ufunc, dtype):
    """Tell whether NumPy folds this dtype in one that is supported here."""
    try:
        found = ufunc.reduce(np.ones(1, dtype)).dtype
        loop = ufunc.resolve_dtypes((np.dtype(dtype), np.dtype(dtype), None))
    except TypeError:
        return False
    return found != np.float16 and np.dtype("f2") not in loop and found.kind != "O"


# NumPy's vector loops of these give f(first, last) for the fold of contiguous elements.
WRONG_IN_NUMPY = {np.arctan2, np.power, np.float_power}


@pytest.mark.parametrize("ufunc", sorted(WRONG_IN_NUMPY, key=str))
def test_fold_of_a_ufunc_that_numpy_folds_wrongly_is_a_fold(ufunc):
    x = np.array([[1.0, 2.0, 0.5, 3.0], [2.0, 0.25, 1.5, 0.75]])
    (found,) = evaluate(lambda a: ufunc.reduce(a, axis=1), x)
    np.testing.assert_allclose(found, [functools.reduce(ufunc, row) for row in x], rtol=1e-14)
    (running,) = evaluate(lambda a: ufunc.accumulate(a, axis=1), x)
    expected = [list(itertools.accumulate(row, ufunc)) for row in x]
    np.testing.assert_allclose(running, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "ufunc", [f for f in BINARY if f not in WRONG_IN_NUMPY], ids=lambda f: f.__name__
)
def test_methods_of_a_ufunc_are_numpys(ufunc):
    for dtype in ("b1", "i4", "u2", "f4", "f8", "c16"):
        if not is_computable(ufunc, dtype):
            continue
        x = operand(ufunc, dtype, (3, 4), 5)
        if dtype == "c16" and ufunc in (np.power, np.float_power):
            continue
        if dtype == "i4" and ufunc in (np.floor_divide, np.remainder, np.fmod):
            x = np.where(x == 0, 3, x).astype(x.dtype)
        for f in (
            lambda a: ufunc.reduce(a),
            lambda a: ufunc.reduce(a, axis=1, keepdims=True),
            lambda a: ufunc.reduce(a, axis=(0, 1)),
            lambda a: ufunc.reduce(a[:0]),
            lambda a: ufunc.reduce(a, initial=1),
            lambda a: ufunc.reduce(a, where=a > 0),
            lambda a: ufunc.reduce(a, axis=1, initial=1, where=a > 0),
            lambda a: ufunc.accumulate(a),
            lambda a: ufunc.accumulate(a, axis=-1),
            lambda a: ufunc.reduceat(a, [0, 2, 1]),
            lambda a: ufunc.reduceat(a, [3, 0, 2], axis=1),
            lambda a: ufunc.reduceat(a, [0, 4], axis=1),
            lambda a: ufunc.outer(a, a[0]),
        ):
            assert_same(quietly(f), x, tolerance=TOLERANCE)


PIECES = {
    "of one length": np.arange(1, 400, 3),
    "of two lengths": np.arange(400).reshape(-1, 5)[:, [0, 2]].ravel(),
    "of any length": np.arange(0, 400)[np.random.default_rng(3).random(400) < 0.3],
    "in any order": np.random.default_rng(4).integers(0, 400, 90),
}


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize(
    "ufunc", [np.add, np.minimum, np.logical_and, np.bitwise_and, np.fmax, np.subtract]
)
@one_in(3)
def test_reduceat_of_many_pieces_is_numpys(ufunc, pieces):
    x = ordinary("i4" if ufunc == np.bitwise_and else "f8", (2, 400), 5)
    assert_same(lambda a: ufunc.reduceat(a, PIECES[pieces], axis=1), x, tolerance=TOLERANCE)
    assert_same(lambda a: ufunc.reduceat(a.T, PIECES[pieces]), x, tolerance=TOLERANCE)


@settings(max_examples=120)
@given(
    st.sampled_from([np.bitwise_xor, np.gcd, np.fmax, np.hypot, np.subtract, np.logical_xor]),
    dtypes,
    shapes(max_side=9),
    seeds,
    st.booleans(),
    st.data(),
)
def test_reduction_without_a_row_is_numpys(ufunc, dtype, shape, seed, keepdims, data):
    if not is_computable(ufunc, dtype):
        return
    axis = data.draw(st.integers(-len(shape), len(shape) - 1)) if shape else 0
    x = ordinary(dtype, shape, seed)
    assert_same(lambda a: ufunc.reduce(a, axis=axis, keepdims=keepdims), x, tolerance=TOLERANCE)
    assert_same(lambda a: ufunc.accumulate(a, axis=axis), x, tolerance=TOLERANCE)


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum])
@pytest.mark.parametrize("axis", [0, 1])
def test_running_extremes_of_complex_numbers(ufunc, axis):
    """Ties of real parts, and what has a NaN, which stays."""
    draw = np.random.default_rng(0)
    x = np.empty((40, 30), np.complex128)
    x.real, x.imag = draw.choice([0, 1, -1, np.inf, -np.inf, np.nan, *range(9)], (2, 40, 30))
    x.imag[np.isnan(x.imag) & (draw.random(x.shape) < 0.9)] = 2
    for dtype in (np.complex64, np.complex128):
        assert_same(lambda a: ufunc.accumulate(a, axis=axis), x.astype(dtype))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.logical_or])
@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_reduceat_at_traced_indices_is_numpys(ufunc, dtype):
    x = ordinary(dtype, (3, 5), 2)
    assert_same(lambda a, i: ufunc.reduceat(a, i, axis=1), x, np.array([0, 3, 1, 4]))
    assert_same(lambda a, i: ufunc.reduceat(a, i), x, np.array([2, 0]))


def test_reduceat_at_traced_indices_without_an_identity_is_refused():
    with pytest.raises(NotImplementedError, match="has no identity"):
        evaluate(lambda a, i: np.subtract.reduceat(a, i), np.ones(3), np.array([0]))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.add.reduce(a, dtype="f4"),
        lambda a: np.maximum.reduce(a, dtype="f8"),
        lambda a: np.hypot.reduce(a, dtype="f8"),
        lambda a: np.multiply.accumulate(a, dtype="f8"),
        lambda a: np.add(a, 2, dtype="f8"),
        lambda a: np.add(a, 2, dtype="i1", casting="unsafe"),
        lambda a: np.add(a, 2, dtype="i1"),
        lambda a: np.add(a, 2.5, casting="no"),
        lambda a: np.add(a, a, casting="equiv"),
        lambda a: np.add(a, 1, signature="dd->d"),
        lambda a: np.add(a, 1, sig="dd->d"),
        lambda a: np.add(a, 1, signature=("f8", "f8", "f8")),
        lambda a: np.add(a, 1, signature=(None, None, "f8")),
        lambda a: np.add(a, 1, signature="d"),
        lambda a: np.divmod(a, 3, dtype="f8"),
        lambda a: np.add.outer(a, a, dtype="f8"),
        lambda a: np.sin(a, dtype="f4"),
        lambda a: np.add.accumulate(a, axis=3),
        lambda a: np.add.accumulate(a[0, 0]),
        lambda a: np.add.reduce(a[0, 0]),
        lambda a: np.isnat(a),
    ],
)
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
def test_argument_of_a_ufunc_is_numpys(f, dtype):
    assert_same(quietly(f), ordinary(dtype, (3, 4), 4), tolerance=1e-6)


def test_where_computes_only_where_a_mask_holds():
    x, mask = values("f8", (3, 4)), ordinary(bool, (4,), 3)
    (found,) = evaluate(lambda a, m: np.add(a, 1, where=m), x, mask)
    np.testing.assert_array_equal(found, np.where(mask, x + 1, 0))
    quotient, rest = evaluate(lambda a, m: np.divmod(a, 3, where=m), x, mask)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(quotient, np.where(mask, x // 3, 0))
        np.testing.assert_array_equal(rest, np.where(mask, x % 3, 0))
    (wide,) = evaluate(lambda a, m: np.negative(a, where=m), 2.0, np.array([True, False]))
    np.testing.assert_array_equal(wide, [-2.0, 0.0])
    assert_same(quietly(lambda a: np.add(a, 1, where=np.arange(4))), x)


def test_folds_give_the_same_through_c():
    x = ordinary("f8", (5, 7), 1)
    y = ordinary("i4", (5, 7), 2)

    @transpile.jit
    def folds(x, y):
        return (
            np.logaddexp.reduce(x, axis=1),
            np.subtract.reduce(x),
            np.bitwise_xor.reduce(y, axis=(0, 1)),
            np.gcd.accumulate(y, axis=1),
            np.fmax.accumulate(x),
            np.add.reduceat(x, [0, 3, 1], axis=1),
        )

    expected = (
        np.logaddexp.reduce(x, axis=1),
        np.subtract.reduce(x),
        np.bitwise_xor.reduce(y, axis=(0, 1)),
        np.gcd.accumulate(y, axis=1),
        np.fmax.accumulate(x),
        np.add.reduceat(x, [0, 3, 1], axis=1),
    )
    for got, want in zip(folds(x, y), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.logaddexp.reduce(x, axis=1),
        lambda x: np.divide.reduce(x, axis=0),
        lambda x: np.hypot.accumulate(x, axis=1),
        lambda x: np.add.reduceat(x, [0, 3, 1], axis=1),
        lambda x: np.multiply.outer(x, x[0]),
    ],
)
def test_derivative_of_a_fold_is_right(f):
    check_grads(f, (np.linspace(0.5, 1.7, 12).reshape(3, 4),), order=1)


def into_rows(x):
    c = x * 0
    np.add.reduce(x, axis=0, out=c[0])
    np.maximum.reduce(x, 1, None, c[:, 1])
    np.add.reduceat(x, [0, 2], axis=0, out=c[2:])
    return c


def into_an_array(x):
    c = x * 0
    np.hypot.accumulate(x, axis=1, out=c)
    d = c * 0
    np.multiply.outer(x[0], x[1], out=d)
    return [c, d]


@pytest.mark.parametrize("f", [into_rows, into_an_array])
def test_methods_write_into_arrays_as_numpys(f):
    x = ordinary("f8", (4, 4), 3)
    assert_same(f, x, tolerance=1e-13)
    for got, want in zip(transpile.jit(f)(x), f(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)
