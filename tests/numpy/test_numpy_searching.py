"""searchsorted, digitize and interp on traced arrays against NumPy's."""

import numpy as np
import pytest
from helpers import arrays, assert_same, dtypes, evaluate, ordinary, seeds, values
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile
from transpile.test_util import check_grads

SIDES = st.sampled_from(["left", "right"])


@given(arrays(values), dtypes, st.integers(0, 9), seeds, SIDES)
@settings(max_examples=40)
def test_searchsorted_finds_numpys_places(v, dtype, count, seed, side):
    for make in (values, ordinary):
        a = np.sort(make(dtype, (count,), seed))
        assert_same(lambda a, v: np.searchsorted(a, v, side), a, v)
        assert_same(lambda a, v: a.searchsorted(v, side), a, v)


@given(dtypes, st.integers(0, 9), seeds, SIDES)
@settings(max_examples=30)
def test_searchsorted_takes_a_sorter(dtype, count, seed, side):
    a, v = values(dtype, (count,), seed), values(dtype, (2, 3), seed + 1)
    order = np.argsort(a, kind="stable")
    assert_same(lambda a, v, s: np.searchsorted(a, v, side, s), a, v, order)
    assert_same(lambda a, v: np.searchsorted(a, v, side, order), a, v)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 1000])
def test_every_place_of_a_long_array_is_found(count):
    a = np.arange(count) * 2
    v = np.arange(-1, 2 * count + 2)
    for side in ("left", "right"):
        assert_same(lambda a, v: np.searchsorted(a, v, side), a, v)


@given(arrays(values), dtypes, st.integers(0, 6), seeds, st.booleans(), st.booleans())
@settings(max_examples=40)
def test_digitize_by_rising_and_falling_bins(x, dtype, count, seed, right, falling):
    bins = np.sort(ordinary(dtype, (count,), seed))
    bins = bins[::-1].copy() if falling else bins
    assert_same(lambda x: np.digitize(x, bins, right), x)
    if count > 1 and bins[0] != bins[-1]:
        assert_same(lambda x, bins: np.digitize(x, bins, right), x, bins)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.searchsorted(x, 1.0, side="middle"),
        lambda x: np.searchsorted(x.reshape(2, 2), 1.0),
        lambda x: np.searchsorted(x, 1.0, sorter=np.arange(3)),
        lambda x: np.searchsorted(x, 1.0, sorter=np.ones(4)),
        lambda x: np.digitize(x, [1, 3, 2]),
        lambda x: np.digitize(x * 1j, [1, 2]),
        lambda x: np.digitize(x, [[1, 2]]),
        lambda x: np.interp(0.5, x, x[:2]),
        lambda x: np.interp(0.5, x[:0], x[:0]),
        lambda x: np.interp(0.5, x.reshape(2, 2), x.reshape(2, 2)),
        lambda x: np.interp(0.5, x, x, period=0),
        lambda x: np.interp(0.5, x, x[:2], period=1),
    ],
)
def test_errors_are_numpys(function):
    assert_same(function, np.arange(4.0))


# --------------------------------------------------------------------------------- interpolation

PLACES = np.array([-5.0, 0.0, 0.3, 0.7, 1.5, 2.0, 9.0, np.nan, np.inf, -np.inf])


@given(st.integers(1, 8), seeds, st.sampled_from(["f4", "f8", "i4", "c16"]))
@settings(max_examples=tries(40))
def test_interp_equals_numpys(count, seed, dtype):
    random = np.random.default_rng(seed)
    xp = np.cumsum(random.random(count) + 0.01) - 0.5
    fp = ordinary(dtype, (count,), seed)
    x = np.concatenate([PLACES, xp])
    assert_same(np.interp, x, xp, fp, tolerance=1e-14)
    assert_same(lambda x, xp, fp: np.interp(x, xp, fp, -7, 8.5), x, xp, fp, tolerance=1e-14)
    assert_same(lambda x: np.interp(x, xp, fp), x[:6].reshape(2, 3), tolerance=1e-14)
    assert_same(lambda xp, fp: np.interp(0.25, xp, fp), xp, fp, tolerance=1e-14)
    assert_same(lambda x, xp, fp: np.interp(x, xp, fp, period=-3.5), x, xp, fp, tolerance=1e-12)


def test_interp_beside_infinities_and_at_steps():
    xp = np.array([0.0, 1.0, 1.0, 2.0, np.inf])
    fp = np.array([1.0, np.inf, 3.0, -np.inf, 5.0])
    assert_same(np.interp, np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf]), xp, fp)
    equal = np.array([np.inf, np.inf, 2.0])
    assert_same(np.interp, np.array([0.2, 0.9, 1.0, 1.5]), np.arange(3.0), equal)


def test_derivatives_of_interp_are_those_of_its_lines():
    xp, fp = np.array([0.0, 1.0, 2.5, 4.0]), np.array([1.0, -2.0, 0.5, 3.0])
    x = np.array([[0.3, 1.7], [3.1, 2.2]])
    check_grads(np.interp, (x, xp, fp), order=2)
    check_grads(lambda x, fp: np.interp(x, xp, fp, period=5.0), (x, fp), order=2)
    slope = transpile.grad(lambda x: np.interp(x, xp, fp))
    assert [slope(v) for v in (-1.0, 0.5, 9.0)] == [0.0, -3.0, 0.0]
    # At a point, as in JAX, the line after it; at the last point the one before it.
    np.testing.assert_allclose([slope(v) for v in xp], [-3, 2.5 / 1.5, 2.5 / 1.5, 2.5 / 1.5])
    by_points = transpile.grad(lambda xp: np.interp(1.0, xp, fp))(xp)
    np.testing.assert_allclose(by_points, [0, -2.5 / 1.5, 0, 0])
    repeated = np.array([0.0, 1.0, 1.0])
    slopes = transpile.grad(lambda x: np.interp(x, repeated, fp[:3]))
    assert [slopes(v) for v in (0.5, 1.0)] == [-3.0, 0.0]


def test_c_finds_the_same_places(shared_cache):
    a, v = np.sort(ordinary("float32", (100,), 1)), values("float32", (50,), 2)
    xp, fp = np.arange(9.0), np.sin(np.arange(9.0))

    def f(a, v, x):
        return np.searchsorted(a, v), np.digitize(v, a, right=True), np.interp(x, xp, fp)

    x = np.linspace(-1, 10, 37)
    for got, want in zip(transpile.jit(f)(a, v, x), f(a, v, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_vmap_is_a_loop():
    a, v = np.sort(ordinary("int16", (4, 6), 1), 1), ordinary("int16", (4, 5), 2)
    found = transpile.vmap(np.searchsorted)(a, v)
    np.testing.assert_array_equal(
        found, [np.searchsorted(*pair) for pair in zip(a, v, strict=True)]
    )
    found = transpile.vmap(np.searchsorted, in_axes=(None, 0))(a[0], v)
    np.testing.assert_array_equal(found, np.searchsorted(a[0], v))
    fp = np.sin(np.arange(24.0)).reshape(4, 6)
    found = transpile.vmap(lambda f: np.interp(2.5, np.arange(6.0), f))(fp)
    (wanted,) = evaluate(lambda f: (f[:, 2] + f[:, 3]) / 2, fp)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
