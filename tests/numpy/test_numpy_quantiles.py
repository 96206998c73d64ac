"""Medians and quantiles on traced arrays against NumPy's, and their derivatives."""

import numpy as np
import pytest
from helpers import arrays, assert_same, evaluate, ordinary, values
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile.test_util import check_grads

METHODS = [
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"),
    *("hazen", "weibull", "linear", "median_unbiased", "normal_unbiased"),
    *("lower", "higher", "midpoint", "nearest"),
]
QUANTILES = [0.3, 0.5, 1, [0.0, 0.25, 1.0], np.float32(0.4), np.array([[0.1, 0.9], [0.5, 0.0]])]
AXES = st.sampled_from([None, 0, -1, 1, (0, 1), (2, 0)])
KEPT = st.booleans()
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def numpy_can_sort(x):
    """NumPy leaves NaN of bfloat16 anywhere; and sorted halves are averaged in another way."""
    return x.dtype.kind != "V" and x.dtype != np.float16


@given(arrays(values), AXES, KEPT)
@settings(max_examples=60)
def test_median_equals_numpys(x, axis, kept):
    assume(numpy_can_sort(x))
    assume(x.size or not isinstance(axis, tuple))  # which NumPy cannot reshape
    assert_same(lambda x: np.median(x, axis, keepdims=kept), x, tolerance=1e-6)
    x = ordinary(x.dtype, x.shape, 5)
    assert_same(lambda x: np.median(x, axis, keepdims=kept), x, tolerance=1e-6)


@given(arrays(values), AXES, KEPT)
@settings(max_examples=40)
def test_nanmedian_leaves_nan_out(x, axis, kept):
    assume(numpy_can_sort(x) and x.dtype.kind != "c")
    assert_same(lambda x: np.nanmedian(x, axis, keepdims=kept), x, tolerance=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float32", "float64"])
@one_in(2)
def test_quantiles_by_every_method(method, dtype):
    for shape in ((7,), (4, 5), (1,)):
        x = ordinary(dtype, shape, 3)
        for q in QUANTILES:
            assert_same(lambda x: np.quantile(x, q, -1, method=method), x, tolerance=1e-6)
        assert_same(lambda x: np.percentile(x, [3, 50], 0, method=method), x, tolerance=1e-6)
        assert_same(
            lambda x, q: np.quantile(x, q, method=method), x, np.array([0.2, 0.7]), tolerance=1e-6
        )


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_without_nan_by_every_method(method):
    x = values("float64", (3, 9), 3)
    x[np.isinf(x)] = 2.25
    x[1] = np.nan
    for q in QUANTILES:
        assert_same(lambda x: np.nanquantile(x, q, 1, method=method), x, tolerance=1e-12)
    assert_same(lambda x: np.nanpercentile(x, 33.0, method=method), x, tolerance=1e-12)
    assert_same(lambda x: np.nanquantile(x, 0.2, 0, method=method, keepdims=True), x)


@given(arrays(values, max_rank=3), AXES, KEPT, st.sampled_from(QUANTILES))
@settings(max_examples=50)
def test_quantiles_over_axes_with_nan_and_infinities(x, axis, kept, q):
    assume(numpy_can_sort(x))
    assume(x.size or not isinstance(axis, tuple))  # which NumPy cannot reshape
    assert_same(lambda x: np.quantile(x, q, axis, keepdims=kept), x, tolerance=1e-6)
    assume(x.size)
    assert_same(lambda x: np.percentile(x, 40, axis, keepdims=kept), x, tolerance=1e-6)


@pytest.mark.parametrize("function", [np.quantile, np.nanquantile])
def test_weighted_quantiles(function):
    x, w = ordinary("float64", (4, 6), 1), np.random.default_rng(1).random((4, 6))
    w[0, 0] = w[2, 3] = 0
    options = {"method": "inverted_cdf"}
    for q in (0.0, 0.3, [0.1, 0.5, 1.0]):
        for axis in (None, 0, 1, (0, 1)):
            assert_same(lambda x, w: function(x, q, axis, weights=w, **options), x, w)
        if function is np.quantile:
            assert_same(lambda x, w: function(x, q, 1, weights=w, **options), x, w[0])
    x[0, 2] = x[2, 2] = np.nan
    assert_same(lambda x, w: function(x, [0.2, 0.8], 1, weights=w, **options), x, w)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.quantile(x, 1.5),
        lambda x: np.quantile(x, [0.5, -0.1]),
        lambda x: np.percentile(x, 101),
        lambda x: np.nanpercentile(x, [5, np.nan]),
        lambda x: np.quantile(x, 0.5, method="best"),
        lambda x: np.quantile(x * 1j, 0.5),
        lambda x: np.quantile(x, 0.5, axis=2),
        lambda x: np.quantile(x, 0.5, axis=(0, 0)),
        lambda x: np.quantile(x, np.full((1, 1, 1), 0.5)),
        lambda x: np.quantile(x[:0], 0.5),
        lambda x: np.quantile(x, 0.5, weights=x),
        lambda x: np.quantile(x, 0.5, weights=np.ones(2), method="inverted_cdf"),
        lambda x: np.quantile(x, 0.5, 0, weights=np.ones(2), method="inverted_cdf"),
        lambda x: np.median(x, axis=3),
    ],
)
def test_errors_are_numpys(function):
    assert_same(function, ordinary("float64", (3, 4), 0))


def test_derivatives_are_those_of_the_neighbours():
    x = np.random.default_rng(2).permutation(np.linspace(-2, 3, 15)).reshape(3, 5)
    for f in (
        lambda x: np.median(x, 0),
        lambda x: np.median(x**2, 1),
        lambda x: np.quantile(x, [0.1, 0.61], 1) ** 2,
        lambda x: np.percentile(x, 35, method="hazen"),
        lambda x: np.quantile(x, 0.4, method="nearest", axis=0),
    ):
        check_grads(f, (x,), order=2)
    check_grads(lambda x, q: np.quantile(x, q, 0), (x, np.array([0.2, 0.7])), order=2)
    with_nan = np.array([[3.0, np.nan, 1.0, 2.0], [5.0, 4.0, 9.0, 7.0]])
    slopes = transpile.grad(lambda x: np.nanmedian(x, 1).sum())(with_nan)
    np.testing.assert_array_equal(slopes, [[0, 0, 0, 1], [0.5, 0, 0, 0.5]])
    slopes = transpile.grad(lambda x: np.nanquantile(x, 0.25, 1).sum())(with_nan)
    np.testing.assert_array_equal(slopes, [[0, 0, 0.5, 0.5], [0.75, 0.25, 0, 0]])


def test_c_gives_the_same(shared_cache):
    x = values("float32", (6, 11), 9)
    x[:3] = ordinary("float32", (3, 11), 2)

    def f(x):
        return (
            np.median(x, 1),
            np.nanmedian(x, 0),
            np.quantile(x[:3], [0.2, 0.9], 1),
            np.nanpercentile(x, 30.0, 1, method="midpoint"),
        )

    with np.errstate(all="ignore"):
        wanted = f(x)
    for got, want in zip(transpile.jit(f)(x), wanted, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_vmap_is_a_loop():
    x = ordinary("float64", (4, 3, 5), 3)
    for f in (lambda x: np.median(x, 0), lambda x: np.nanquantile(x, [0.3, 0.5], 1)):
        found = transpile.vmap(f)(x)
        np.testing.assert_allclose(found, np.stack([evaluate(f, v)[0] for v in x]), rtol=1e-15)


@pytest.mark.parametrize("dtype", ["e", "f", "d", "F", "D"])
@pytest.mark.parametrize("length", [1, 2, 7, 600, 601])
@one_in(8)
def test_medians_beside_any_number_of_nans(length, dtype):
    random = np.random.default_rng(length)
    rows = []
    for missing in (0, 1, 2, 3, length // 2, length - 1, length):
        row = np.round(random.normal(size=length) * 8).astype(dtype)
        if row.dtype.kind == "c":
            row = row + 1j * np.round(random.normal(size=length))
        else:  # NumPy divides complex infinities, which makes them NaN
            row[random.integers(length)] = np.inf if missing % 2 else -np.inf
        row[random.permutation(length)[: min(missing, length)]] = np.nan
        rows.append(row.astype(dtype))
    x = np.array(rows)
    with np.errstate(all="ignore"):
        found = [transpile.jit(np.nanmedian)(row) for row in rows]
        found += [*transpile.jit(medians_of_rows)(x)]
        for got, row in zip(found, [*rows, *rows], strict=True):
            np.testing.assert_array_equal(got, np.nanmedian(row))


def medians_of_rows(x):
    return np.nanmedian(x, axis=1)


def test_the_derivative_of_a_long_median_beside_nans():
    x = np.random.default_rng(2).normal(size=601)
    x[::7] = np.nan
    slope = transpile.grad(np.nanmedian)(x)
    (at,) = np.flatnonzero(x == np.nanmedian(x))
    np.testing.assert_array_equal(slope, np.arange(601) == at)
