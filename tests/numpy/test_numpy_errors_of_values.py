"""Exceptions that NumPy raises because of values, or dtypes of index arrays: so does the call."""

import numpy as np
import pytest
from thorough import one_in

import transpile

QUICK = {"opt_level": 0}
NAN, INF = np.nan, np.inf


def outcome(f, *args):
    """The values of a call, or the exception and its text, without the user's line."""
    try:
        result = f(*args)
    except (ValueError, TypeError, IndexError) as error:
        return type(error), str(error).rpartition(f"{__file__.rpartition('/')[2]}:")[2][-60:]
    return [np.asarray(x).tolist() for x in (result if isinstance(result, tuple) else (result,))]


def assert_same_outcome(f, *args, fails):
    wanted = outcome(f, *args)
    assert isinstance(wanted, tuple) == fails
    assert outcome(transpile.jit(f, compiler_options=QUICK), *args) == wanted


POWERS = [
    lambda x, k: x**k,
    lambda x, k: np.power(x, k),
    lambda x, k: 2**k,
    lambda x, k: x ** k[0],
    lambda x, k: np.power(x[0] > 0, k),
    lambda x, k: np.power.outer(x, k),
    lambda x, k: np.where(k < 0, 1, x ** np.maximum(k, 0)),
]


@pytest.mark.parametrize("dtype", ["i8", "i2"])
@pytest.mark.parametrize("k", [[-1, 2, 3], [1, 0, 3]])
@pytest.mark.parametrize("f", POWERS)
@one_in(3)
def test_integers_have_no_negative_powers(f, k, dtype):
    fails = k[0] < 0 and f is not POWERS[-1]
    assert_same_outcome(f, np.array([1, 2, 3], dtype), np.array(k, dtype), fails=fails)


def test_a_python_exponent_is_tested_with_an_array():
    for k in (-1, 2):
        assert_same_outcome(lambda x, k: x**k, np.array([1, 2]), k, fails=k < 0)


def test_unsigned_and_inexact_powers_have_no_test():
    for base, exponent in (("i8", "u1"), ("f8", "i8"), ("i8", "f4"), ("u4", "bool")):
        graph = transpile.make_jaxpr(lambda x, k: x**k)(np.ones(3, base), np.ones(3, exponent))
        assert "cond" not in str(graph)


def test_an_int_to_a_negative_power_is_an_error_where_arithmetic_is_checked():
    checked = transpile.jit(lambda a, b: a**b, check_arithmetic=True)
    assert checked(2, 3) == 8
    with pytest.raises(ValueError, match=r"write float\(a\) \*\* b"):
        checked(2, -1)
    with pytest.raises(ZeroDivisionError):
        checked(0, -1)


HISTOGRAMS = [
    lambda x: np.histogram(x),
    lambda x: np.histogram(x, 3, weights=x),
    lambda x: np.histogram_bin_edges(x, 4),
    lambda x: np.histogram2d(x, x, 2)[0],
    lambda x: np.histogramdd(x[:, None], 2)[0],
]


@pytest.mark.parametrize("odd", [NAN, INF, -INF, 5.0])
@pytest.mark.parametrize("f", HISTOGRAMS)
@one_in(3)
def test_histograms_have_finite_edges(f, odd):
    assert_same_outcome(f, np.array([1.0, odd, 2.0]), fails=not np.isfinite(odd))


@pytest.mark.parametrize("ends", [(0.0, NAN), (3.0, 1.0), (-INF, 0.0), (1.0, 1.0), (0.0, 3.0)])
def test_a_traced_range_is_tested(ends):
    fails = not np.isfinite(ends).all() or ends[0] > ends[1]
    f = lambda x, a, b: np.histogram(x, 3, (a, b))
    assert_same_outcome(f, np.arange(3.0), *map(np.float64, ends), fails=fails)


@pytest.mark.parametrize("bins", [[0.0, 2.0, 1.0], [0.0, 1.0, 1.0]])
def test_traced_edges_rise(bins):
    x, bins = np.arange(3.0), np.array(bins)
    fails = bins[2] < bins[1]
    assert_same_outcome(lambda x, bins: np.histogram(x, bins)[0], x, bins, fails=fails)
    assert_same_outcome(lambda x, bins: np.histogram2d(x, x, [2, bins])[0], x, bins, fails=fails)


def test_bins_without_width_are_too_many():
    f = lambda x: np.histogram(x, 10)
    assert_same_outcome(f, np.array([1e300, np.nextafter(1e300, INF)]), fails=True)


@pytest.mark.parametrize("dtype", ["u8", "i8", "u4", "bool"])
@one_in(2)
def test_index_arrays_are_cast_as_numpy_casts_them(dtype):
    x, i = np.arange(3.0), np.array([1, 0, 1], dtype)

    def put(x, i):
        np.put(x, i, 9.0)
        return x

    unsafe = dtype == "u8"
    assert_same_outcome(lambda x, i: np.choose(i, [x, -x]), x, i, fails=unsafe)
    assert_same_outcome(put, x.copy(), i, fails=unsafe)
    assert_same_outcome(lambda x, i: np.take(x, i), x, i, fails=False)
