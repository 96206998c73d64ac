"""Where NumPy's answer is easily missed: signs of zeros, infinities beyond the ends, counts that a
dtype does not hold, Python's numbers out of range, `where=None`, arrays of nothing."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz_numpy.programs import quiet
from helpers import assert_equal_values, assert_same, evaluate
from thorough import one_in

import transpile
from transpile.errors import UnsupportedError
from transpile.ir.types import DTYPES

INF, NAN = np.inf, np.nan
QUICK = {"opt_level": 0}


def assert_compiled(functions, *arguments, tolerance=0.0):
    """All functions, compiled as one program, give what NumPy gives, to the sign of a zero."""
    with quiet():
        wanted = [np.asarray(f(*arguments)) for f in functions]
    found = transpile.jit(lambda *x: [f(*x) for f in functions], compiler_options=QUICK)(*arguments)
    for k, (got, want) in enumerate(zip(found, wanted, strict=True)):
        got = np.asarray(got)
        assert (got.dtype, got.shape) == (want.dtype, want.shape), k
        assert_equal_values(got, want, tolerance)
        if want.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got)[want == 0], np.signbit(want)[want == 0])


# ------------------------------------------------------------------------------- signs of zeros

# Of x, (2, 4) of -0.0, and y, (4, 2) of ones.
SUMS_OF_ZEROS = [
    *(lambda x, y, f=f: f(x) for f in (np.sum, np.mean, np.median, np.nanmean, np.nanmedian)),
    *(lambda x, y, f=f: f(x, axis=1) for f in (np.sum, np.mean, np.median, np.nanmedian)),
    *(lambda x, y, f=f: f(x[:, :3], axis=1) for f in (np.sum, np.median, np.nanmedian)),
    *(lambda x, y, f=f: f(x[:, :1], axis=1) for f in (np.sum, np.mean, np.nansum, np.median)),
    *(lambda x, y, f=f: f(x[0, 0]) for f in (np.sum, np.nanmean, np.median, np.prod)),
    *(lambda x, y, f=f: f(x, axis=0) for f in (np.cumsum, np.nancumsum, np.cumprod)),
    lambda x, y: np.sum(x, axis=()),
    lambda x, y: np.average(x[0], weights=y[:, 0]),
    lambda x, y: np.trace(x),
    lambda x, y: x @ y,
    lambda x, y: x[:, :1] @ y[:1],
    lambda x, y: np.dot(x[0], y[:, 0]),
    lambda x, y: np.dot(x, y[0, 0]),
    lambda x, y: np.inner(x[:, :1], y[:, :1]),
    lambda x, y: np.inner(x, y[0, 0]),
    lambda x, y: np.outer(x[0], y[0]),
    lambda x, y: np.vdot(x[0, :1], y[:1, 0]),
    lambda x, y: np.tensordot(x, y, 0),
    lambda x, y: np.einsum("...i,...i->...", x[:, :1], y[:1, 0]),
    lambda x, y: np.einsum("ij,j->ij", x, y[:, 0]),
    lambda x, y: np.einsum("ij->ij", x),
    lambda x, y: np.einsum("ij->i", x),
    lambda x, y: np.kron(x[0], y[0]),
    lambda x, y: np.convolve(x[0], y[0]),
    lambda x, y: np.convolve(np.repeat(x[0], 9), np.repeat(y[:, 0], 5), "same"),
    lambda x, y: np.trapezoid(x, axis=0),
    lambda x, y: np.sum(x * x, axis=1),
    lambda x, y: np.sum(np.abs(x), axis=1),
]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@one_in(3)
def test_zeros_have_the_sign_that_numpys_have(dtype):
    assert_compiled(SUMS_OF_ZEROS, np.full((2, 4), -0.0, dtype), np.ones((4, 2), dtype))


def test_short_sums_of_what_is_never_minus_zero_start_with_their_first_term():
    lowered = transpile.jit(lambda x: np.sum(x * x)).lower(np.ones(3))
    assert "x[0] * x[0] + x[1] * x[1]" in lowered.as_text("c")
    assert "0.0 + " not in lowered.as_text("c")


# ---------------------------------------------------------------------------------- convolutions


@pytest.mark.parametrize("lengths", [(1, 1), (4, 2), (5, 5), (9, 30), (40, 12), (50, 20), (17, 17)])
@one_in(3)
def test_convolutions_count_nothing_beyond_the_ends(lengths):
    """No infinity reaches an element of whose sum it is no term."""
    random = np.random.default_rng(sum(lengths))
    x, y = (np.round(random.normal(size=n) * 8) / 8 for n in lengths)
    x[random.integers(len(x))], y[random.integers(len(y))] = INF, -INF
    modes = ("full", "same", "valid")
    functions = [
        lambda x, y, f=f, m=m: f(x, y, m) for f in (np.convolve, np.correlate) for m in modes
    ]
    assert_compiled(functions, x, y)
    assert_compiled(functions, x.astype("f4"), y.astype("f4"))
    assert_compiled(functions, np.isinf(x), y > 0)


def test_convolutions_of_halves_round_once():
    random = np.random.default_rng(1)
    x, y = (random.normal(size=n).astype("float16") for n in (60, 13))
    found = transpile.jit(np.convolve)(x, y).astype(float)
    exact = np.convolve(x.astype(float), y.astype(float))
    np.testing.assert_allclose(found, exact, rtol=2**-11, atol=1e-6)


# ----------------------------------------------------------------------------------- large counts


@pytest.mark.parametrize("count", [2049, 65519, 65520, 70000])
@one_in(2)
def test_moments_of_many_halves(count):
    """NumPy divides by the count as an int64; float16 does not hold it."""
    x = (np.random.default_rng(0).normal(size=count) * 0.1).astype(np.float16)
    functions = [np.var, np.std, np.nanvar, np.nanstd, lambda x: np.var(x[None], axis=1, ddof=1)]
    assert_compiled(functions, x, tolerance=2e-3)
    assert_compiled([np.mean, np.nanmean], np.abs(x), tolerance=2e-3)


# -------------------------------------------------------------------------- numbers out of range


@pytest.mark.parametrize("number", [-1, 300, 70000, -70000, 2**40, 2**63, True, 1.5, NAN, 2j])
@pytest.mark.parametrize("letter", "?bBHiQefd")
def test_where_and_isclose_take_pythons_numbers_as_numpy_does(letter, number):
    x = np.array([1, 0, 1, 5]).astype(letter)
    assert_same(lambda x: np.where(x == 0, x, number), x)
    assert_same(lambda x: np.where(x == 0, number, x), x)
    assert_same(lambda x: np.isclose(x, number), x)
    assert_same(lambda x: np.isclose(number, x), x)
    assert_same(lambda x: np.select([x > 2, x == 0], [x, x], number), x)


def test_powers_of_no_integers_may_be_negative():
    assert_same(lambda x: x**-1, np.zeros(0, int))
    assert_same(lambda x: x**-1, np.zeros(3, int))


# ------------------------------------------------------------------------------------- where=None


MASKED = [np.sum, np.prod, np.any, np.all, np.nansum, np.nanprod, np.add.reduce]


@pytest.mark.parametrize("function", MASKED)
def test_where_none_is_false_as_in_numpy(function):
    x = np.array([[1.5, NAN, -2.0], [INF, 2, 3]])
    assert_same(lambda x: function(x, where=None), x)
    assert_same(lambda x: np.max(x, where=None, initial=3), x)


@pytest.mark.parametrize("function", [np.mean, np.var, np.std])
def test_where_none_counts_nothing(function):
    assert_same(lambda x: function(x, where=None), np.ones(3))


def test_ufuncs_with_where_none_compute_nothing():
    (found,) = evaluate(lambda x: np.add(x, 1, where=None), np.ones(3))
    np.testing.assert_array_equal(found, np.zeros(3))


# --------------------------------------------------------- programs that did not compile, or failed


def test_arrays_of_nothing_and_known_scalars():
    x = np.arange(40.0).reshape(2, 5, 4)
    functions = [
        lambda x: np.cos(x[:, 3:4, np.array([0, 2, 1, 1])]),
        lambda x: np.sum(np.pad(x[0, 0], 2, mode="linear_ramp")),
        lambda x: np.sort(np.full_like(x[0, 0, 0], 3), axis=None),
        lambda x: np.median(np.nanmean(x[:0])),
        lambda x: np.diag(np.concatenate([np.ravel(x[:0]), np.ravel(x[:0])]), 1),
        lambda x: np.sin(x[0, 1] * 2) + np.cos(x[0, 1] * 2),
    ]
    assert_compiled(functions, x, tolerance=1e-15)


# ----------------------------------------------------------------------- every ufunc, every dtype

UFUNCS = sorted(
    (f for f in vars(np).values() if isinstance(f, np.ufunc) and f.signature is None),
    key=lambda f: f.__name__,
)


def accepts(ufunc, dtype):
    """Tell whether NumPy has a loop of a ufunc for operands of a dtype."""
    try:
        loop = ufunc.resolve_dtypes((dtype,) * ufunc.nin + (None,) * ufunc.nout)
    except TypeError:
        return False
    return all(d.kind not in "OmMSUg" and d.itemsize < 32 for d in loop)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind != "V"], ids=str)
@one_in(6)
def test_every_ufunc_compiles_for_every_dtype_that_numpy_accepts(dtype):
    """Or it is unsupported by name: no other error reaches a user."""
    x = np.ones(3, dtype)
    chosen = [f for f in set(UFUNCS) if accepts(f, dtype)]

    def supported(f):
        try:
            transpile.jit(lambda x: f(*[x] * f.nin)).trace(x)
        except UnsupportedError:
            return False
        return True

    left = sorted(filter(supported, chosen), key=lambda f: f.__name__)
    assert len(left) > (15 if dtype.kind == "b" else 40)
    found = transpile.jit(lambda x: [f(*[x] * f.nin) for f in left], compiler_options=QUICK)(x)
    with np.errstate(all="ignore"):
        for f, got in zip(left, found, strict=True):
            wanted = f(*[x] * f.nin)
            for g, w in zip(*[p if f.nout > 1 else (p,) for p in (got, wanted)], strict=True):
                assert np.asarray(g).dtype == w.dtype, f.__name__
                np.testing.assert_allclose(
                    g, w, rtol=1e-2 if dtype == "f2" else 1e-5, err_msg=f.__name__
                )


@pytest.mark.parametrize("dtype", ["e", "f", "d"])
@pytest.mark.parametrize("count", [1, 7, 33])
@one_in(3)
def test_of_two_zeros_the_first_is_the_extreme_and_fmax_takes_one_that_is_there(dtype, count):
    plus, minus = np.zeros(count, dtype), -np.zeros(count, dtype)

    @transpile.jit
    def f(x, y):
        known = (np.maximum(x, -0.0), np.minimum(-0.0, x), np.minimum(y, 0.0))
        return [g(a, b) for g in (np.maximum, np.minimum) for a, b in ((x, y), (y, x))], known

    found, known = f(plus, minus)
    assert [np.unique(np.signbit(z)).tolist() for z in found] == [[False], [True]] * 2
    assert [np.unique(np.signbit(z)).tolist() for z in known] == [[False], [True], [True]]
    for g in (np.fmax, np.fmin):
        one, same, other = transpile.jit(lambda x, y, g=g: (g(x, y), g(x, x), g(y, y)))(plus, minus)
        np.testing.assert_array_equal(one, plus)
        assert not np.signbit(same).any() and np.signbit(other).all()
