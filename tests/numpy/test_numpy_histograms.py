"""bincount and histograms on traced arrays against NumPy's."""

import numpy as np
import pytest
from helpers import assert_same, evaluate, ordinary
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile
from transpile import numpy as jnp
from transpile.errors import UnsupportedError
from transpile.test_util import check_grads

NUMBERS = st.sampled_from(["bool", "uint8", "int32", "int64", "float32", "float64"])
WEIGHTS = st.sampled_from([None, "int64", "float32", "float64", "complex128"])
BINS = st.sampled_from([1, 4, 7, [0, 1, 2, 3], [0.0, 0.5, 0.5, 2.0, 2.0], [-3, -1, 0, 3.5], [2.0]])
RANGES = st.sampled_from([None, (-1, 2), (0.25, 0.25), (-2.5, 3.75)])
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def weights_of(dtype, shape, seed):
    return None if dtype is None else ordinary(dtype, shape, seed + 1)


@given(NUMBERS, WEIGHTS, BINS, RANGES, st.integers(0, 20), st.integers(0, 999), st.booleans())
@settings(max_examples=80)
def test_histogram_equals_numpys(dtype, kind, bins, limits, count, seed, density):
    x = ordinary(dtype, (count,), seed)
    w = weights_of(kind, x.shape, seed)
    options = {"bins": bins, "range": limits, "density": density}
    if w is None:
        assert_same(lambda x: np.histogram(x, **options), x, tolerance=1e-6)
    else:
        assert_same(lambda x, w: np.histogram(x, weights=w, **options), x, w, tolerance=1e-6)
    assert_same(lambda x: np.histogram_bin_edges(x, bins, limits), x, tolerance=1e-6)


def test_values_at_edges_fall_into_numpys_bins():
    x = np.concatenate([np.linspace(-1, 3, 41), np.nextafter(np.linspace(-1, 3, 41), -9)])
    for bins in (10, 40, np.linspace(-1, 3, 11)):
        assert_same(lambda x: np.histogram(x, bins), x.reshape(2, -1))
        assert_same(lambda x: np.histogram(x, bins, (-0.9, 2.9)), x)
    with_nan = np.array([np.nan, 1.0, np.inf, -np.inf, 2.0, 5.0])
    assert_same(lambda x: np.histogram(x, [0, 1, 2]), with_nan)
    assert_same(lambda x: np.histogram(x, 4, (0, 4)), with_nan)


@given(NUMBERS, BINS, st.integers(0, 12), st.integers(0, 999), st.booleans(), st.booleans())
@settings(max_examples=tries(60))
def test_histograms_of_several_dimensions(dtype, bins, count, seed, density, weighted):
    points = ordinary(dtype, (count, 3), seed)
    if points.dtype == bool:
        points = points.astype(int)
    w = ordinary("float64", (count,), seed) if weighted else None
    options = {"density": density, "weights": w}
    assert_same(lambda x: np.histogramdd(x, bins=[2, bins, 3], **options), points, tolerance=1e-6)
    assert_same(lambda x, y: np.histogram2d(x, y, bins, **options), *points.T[:2], tolerance=1e-6)
    limits = [[-2, 2], [0, 1.5]]
    assert_same(
        lambda x, y: np.histogram2d(x, y, [3, bins], limits, **options),
        points[:, 0],
        points[:, 1],
        tolerance=1e-6,
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.histogram(x, 0),
        lambda x: np.histogram(x, 1.5),
        lambda x: np.histogram(x, [3, 1]),
        lambda x: np.histogram(x, [[1, 2]]),
        lambda x: np.histogram(x, 3, (2, 1)),
        lambda x: np.histogram(x, 3, (0, np.inf)),
        lambda x: np.histogram(x, 3, weights=np.ones(2)),
        lambda x: np.histogram(x, "auto", weights=x),
        lambda x: np.histogram2d(x, x[:2]),
        lambda x: np.histogram2d(x, x, [0, 2]),
        lambda x: np.histogram2d(x, x, [[2, 1], 2]),
        lambda x: np.histogram2d(x, x, [[[2]], 2]),
        lambda x: np.histogramdd((x, x), [2, 2, 2]),
        lambda x: np.histogramdd((x, x), range=[(0, 1)]),
        lambda w: np.bincount([1, 2], w),
        lambda w: np.bincount(np.ones(4), w),
        lambda w: np.bincount([-1, 1, 1, 2], w),
        lambda w: np.bincount([0, 1, 1, 2], w, minlength=-1),
    ],
)
def test_errors_are_numpys(function):
    assert_same(function, np.arange(4.0))


def test_a_strategy_for_bins_needs_known_data():
    with pytest.raises(UnsupportedError, match="bins='auto' chooses the number of bins"):
        evaluate(lambda x: np.histogram(x, "auto"), np.arange(4.0))
    known = np.arange(30.0) ** 2
    assert_same(lambda x: np.histogram_bin_edges(known, "auto", (0, 100)) + x, np.ones(()))


def test_bincount_takes_a_length_where_numbers_are_traced():
    x = np.array([3, 0, 3, 7, -2, 1])
    with pytest.raises(ValueError, match="'list' argument must have no negative elements"):
        transpile.jit(np.bincount)(x)
    (found,) = evaluate(lambda x: jnp.bincount(x, length=5), x)
    np.testing.assert_array_equal(found, [2, 1, 0, 2, 0], strict=True)
    (found,) = evaluate(lambda x: jnp.bincount(x, weights=x, length=4), x)
    np.testing.assert_array_equal(found, [-2.0, 1, 0, 6], strict=True)
    np.testing.assert_array_equal(jnp.bincount(x[:4], length=3), [1, 0, 0])


@given(st.lists(st.integers(0, 9), max_size=12), WEIGHTS, st.integers(0, 12))
@settings(max_examples=40)
def test_bincount_of_known_numbers_is_numpys(numbers, kind, least):
    x = np.array(numbers, int)
    w = weights_of(kind or "int8", x.shape, 1)
    assert_same(lambda w: np.bincount(x, w, least), w)
    if x.size:
        length = max(least, x.max() + 1)
        (found,) = evaluate(lambda x: jnp.bincount(x, length=int(length)), x)
        np.testing.assert_array_equal(found, np.bincount(x, minlength=least), strict=True)


def test_derivatives_go_to_the_weights():
    x, w = np.array([0.2, 1.5, 0.4, 2.9]), np.array([1.0, 2.0, 3.0, 4.0])
    check_grads(lambda w: np.histogram(x, 3, weights=w)[0] ** 2, (w,), order=2)
    check_grads(lambda w: np.bincount([0, 2, 0, 1], w) ** 3, (w,), order=2)
    check_grads(lambda x: np.histogram(x, 3)[1], (x,), order=2)


def test_c_counts_as_numpy_does(shared_cache):
    x, w = np.random.default_rng(1).standard_normal((2, 2000))

    def f(x):
        return (
            *np.histogram(x, 20),
            np.histogram(x, [-1, 0, 0.5, 2], weights=w)[0],
            np.histogram2d(x[:1000], x[1000:], 4)[0],
        )

    numbers = (np.abs(x) * 5).astype(int)
    for got, want in zip(transpile.jit(f)(x), f(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, strict=True)
    count = transpile.jit(lambda n: jnp.bincount(n, length=40))(numbers)
    np.testing.assert_array_equal(count, np.bincount(numbers, minlength=40))


def test_vmap_is_a_loop():
    x = np.random.default_rng(1).standard_normal((3, 50))
    counts, edges = transpile.vmap(lambda x: np.histogram(x, 5))(x)
    for row, count, edge in zip(x, counts, edges, strict=True):
        wanted = np.histogram(row, 5)
        np.testing.assert_array_equal(count, wanted[0])
        np.testing.assert_allclose(edge, wanted[1])


LIMITS = st.sampled_from(
    [(-4, 4), (0, 1), (-1.3, 2.9), (0.1, 0.7), (1e-30, 3e-30), (-1e30, 1e30), (1000, 1000.03)]
)


@given(st.sampled_from(["float32", "float64"]), st.sampled_from([1, 3, 64, 100, 511]), LIMITS)
@settings(max_examples=60)
def test_numbers_beside_edges_fall_into_numpys_bins(dtype, bins, limits):
    """In single precision distances are multiplied where NumPy divides in double precision."""
    low, high = np.array(limits, dtype)
    try:
        edges = np.histogram_bin_edges(np.zeros(1, dtype), bins, limits)
    except ValueError:  # more bins than numbers
        edges = np.linspace(low, high, bins + 1)
    near = [edges]
    for _ in range(2):
        near = [np.nextafter(near[0], -np.inf), *near, np.nextafter(near[-1], np.inf)]
    odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38]
    x = np.concatenate([*near, np.random.default_rng(bins).uniform(low, high, 99), odd])
    x = x.astype(dtype)
    assert_same(lambda x: np.histogram(x, bins, limits), x)


def test_more_bins_than_single_precision_tells_apart():
    x = np.random.default_rng(0).uniform(-0.1, 1.1, 3000).astype("float32")
    for bins in (65536, 65537, 200_000):
        assert_same(lambda x, bins=bins: np.histogram(x, bins, (0, 1))[0], x)
