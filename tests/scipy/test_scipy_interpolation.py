"""map_coordinates, RegularGridInterpolator, trapezoid and vq, against SciPy."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as drawn_with
from hypothesis import strategies as st

import transpile
from transpile import tree_util
from transpile.scipy import cluster, integrate, interpolate, ndimage
from transpile.test_util import check_grads

reference = pytest.importorskip("scipy")
import scipy.cluster  # noqa: E402
import scipy.integrate  # noqa: E402
import scipy.interpolate  # noqa: E402
import scipy.ndimage  # noqa: E402

DRAW = np.random.default_rng(0)
# Our modes, and SciPy's for the same.
MODES = {
    "constant": "grid-constant",
    "nearest": "nearest",
    "wrap": "grid-wrap",
    "mirror": "mirror",
    "reflect": "reflect",
    "grid-mirror": "grid-mirror",
    "grid-wrap": "grid-wrap",
    "grid-constant": "grid-constant",
}


@drawn_with(max_examples=50)
@given(
    st.sampled_from(sorted(MODES)),
    st.sampled_from([0, 1]),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.sampled_from(["f8", "f4", "i4", "u1"]),
    st.integers(0, 2**32 - 1),
)
def test_samples_of_drawn_arrays_are_those_of_scipy(mode, order, shape, dtype, seed):
    draw = np.random.default_rng(seed)
    x = (draw.uniform(0, 50, shape)).astype(dtype)
    points = draw.uniform(-12, 12, (len(shape), 6))
    points += np.where(order == 0, 0.1 * (np.abs(points % 1 - 0.5) < 1e-3), 0)  # no halves
    want = scipy.ndimage.map_coordinates(x, points, order=order, mode=MODES[mode], cval=7)
    found = ndimage.map_coordinates(x, points, order, mode, 7)
    assert found.dtype == x.dtype
    if x.dtype.kind == "f":
        np.testing.assert_allclose(found, want, rtol=1e-5 if dtype == "f4" else 1e-12, atol=1e-12)
    else:  # SciPy rounds halves up, and computes them differently
        assert np.max(np.abs(found.astype(int) - want.astype(int))) <= (order == 1)


def test_samples_in_programs_and_their_derivatives():
    x, points = DRAW.normal(size=(4, 5)), DRAW.uniform(-2, 6, (2, 3, 2))

    def every(x, points):
        return [ndimage.map_coordinates(x, points, k, m, 2.0) for m in MODES for k in (0, 1)]

    for found, want in zip(transpile.jit(every)(x, points), every(x, points), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12)
    sample = lambda x, p: ndimage.map_coordinates(x, [p[0], p[1]], 1, "reflect")
    check_grads(sample, (x, points), order=1, rtol=1e-5, atol=1e-6)
    images = np.stack([x, x + 1])
    found = transpile.vmap(lambda x: ndimage.map_coordinates(x, points, 1, "wrap"))(images)
    np.testing.assert_allclose(found[1], ndimage.map_coordinates(x, points, 1, "wrap") + 1)


def test_halves_go_away_from_zero_and_whole_coordinates_stay():
    x = np.arange(10.0, 15)
    halves = np.array([-0.5, 0.5, 1.5, 2.5, 0.49999999999999994])
    np.testing.assert_array_equal(
        ndimage.map_coordinates(x, [halves], 0, cval=-1.0), [-1, 11, 12, 13, 10]
    )
    np.testing.assert_array_equal(ndimage.map_coordinates(x, [np.arange(3)], 1), x[:3])
    far = np.array([1e300, -1e300, 2.0**40 + 3, -(2.0**40) - 1])
    for order in (0, 1):
        for points in (far, far[2:].astype(int)):
            found = ndimage.map_coordinates(x, [points], order, "nearest")
            np.testing.assert_array_equal(found, np.where(points > 0, 14, 10))
            wrapped = ndimage.map_coordinates(x, [points[-2:]], order, "wrap")
            np.testing.assert_array_equal(wrapped, x[[(2**40 + 3) % 5, (-(2**40) - 1) % 5]])


def test_refused_samples():
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match=re.escape("of length input.ndim, but 1 != 2")):
        ndimage.map_coordinates(x, [np.ones(2)], 1)
    with pytest.raises(NotImplementedError, match="does not yet support mode x"):
        ndimage.map_coordinates(x, [np.ones(2)] * 2, 1, "x")
    with pytest.raises(NotImplementedError, match="requires order<=1"):
        ndimage.map_coordinates(x, [np.ones(2)] * 2, 2)


# ------------------------------------------------------------------------------------------- grids

GRID = (np.array([0.0, 0.7, 1.0, 2.5]), np.array([-1.0, 0.0, 3.0]))
VALUES = DRAW.normal(size=(4, 3, 2))
POINTS = np.array([[0.3, 0.1], [0.7, 0.0], [-0.1, 1], [2.5, 3.0], [9, 9], [np.nan, 0], [0.85, 1.5]])


@pytest.mark.parametrize("fill", [np.nan, -2.0, None])
@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_interpolation_on_grids_is_scipys(method, fill):
    for grid, values in ((GRID, VALUES), ((GRID[0][::-1], GRID[1]), VALUES[:, :, 0])):
        arguments = (grid, values, method, False, fill)
        ours = interpolate.RegularGridInterpolator(*arguments)
        theirs = scipy.interpolate.RegularGridInterpolator(*arguments)
        np.testing.assert_allclose(ours(POINTS), theirs(POINTS), rtol=1e-12, atol=1e-14)
        columns = (POINTS[:, :1], POINTS[:2, 1])
        np.testing.assert_allclose(ours(columns), theirs(columns), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(ours([0.3, 0.1], "nearest"), theirs([0.3, 0.1], "nearest"))
    line = interpolate.RegularGridInterpolator((GRID[0],), VALUES[:, 0, 0], method)
    want = scipy.interpolate.RegularGridInterpolator((GRID[0],), VALUES[:, 0, 0], method)
    inside = np.array([0.0, 0.35, 2.4])
    np.testing.assert_allclose(line(inside), want(inside), rtol=1e-12)


def test_interpolation_in_programs_and_its_derivatives():
    ours = interpolate.RegularGridInterpolator(GRID, VALUES)
    found = transpile.jit(lambda f, x: f(x))(ours, POINTS)
    np.testing.assert_allclose(found, ours(POINTS), rtol=1e-12)
    same = tree_util.tree_map(lambda x: x, ours)
    np.testing.assert_array_equal(same(POINTS[:2], "nearest"), ours(POINTS[:2], "nearest"))

    def value(values, x):
        return interpolate.RegularGridInterpolator(GRID, values, fill_value=None)(x)

    check_grads(value, (VALUES, POINTS[[0, 2, 4, 6]]), order=1, rtol=1e-5, atol=1e-6)


def test_refused_grids():
    make = interpolate.RegularGridInterpolator
    with pytest.raises(ValueError, match="method 'x' is not defined"):
        make(GRID, VALUES, "x")
    with pytest.raises(NotImplementedError, match="bounds_error"):
        make(GRID, VALUES, bounds_error=True)
    with pytest.raises(ValueError, match="2 point arrays, but values has 1 dimensions"):
        make(GRID, np.ones(4))
    with pytest.raises(ValueError, match="There are 3 points and 4 values on dimension 0"):
        make(GRID[::-1], VALUES)
    with pytest.raises(ValueError, match="strictly ascending or descending"):
        make((np.array([0.0, 2, 1, 3]), GRID[1]), VALUES)
    with pytest.raises(ValueError, match="compatible with values"):
        make(GRID, VALUES, fill_value=1j)
    with pytest.raises(ValueError, match="have dimension 3, but this"):
        make(GRID, VALUES)(np.ones((2, 3)))


# ----------------------------------------------------------------------------- integrals, codebooks


def test_integrals_by_trapezoids():
    y, x = DRAW.normal(size=(3, 5)), np.sort(DRAW.uniform(size=5))
    for arguments, settings in (((y,), {}), ((y, x), {}), ((y,), {"dx": 0.3, "axis": 0})):
        want = scipy.integrate.trapezoid(*arguments, **settings)
        np.testing.assert_allclose(integrate.trapezoid(*arguments, **settings), want, rtol=1e-13)
        found = transpile.jit(lambda *a: integrate.trapezoid(*a, **settings))(*arguments)
        np.testing.assert_allclose(found, want, rtol=1e-13)
    assert integrate.trapezoid(np.arange(4)).dtype == np.float64


def test_nearest_codes():
    points, codes = DRAW.normal(size=(9, 3)), DRAW.normal(size=(4, 3))
    want_code, want = scipy.cluster.vq.vq(points, codes)
    for function in (cluster.vq.vq, transpile.jit(cluster.vq.vq)):
        code, distance = function(points, codes)
        np.testing.assert_array_equal(code, want_code)
        np.testing.assert_allclose(distance, want, rtol=1e-13)
    code, _ = cluster.vq.vq(np.arange(4.0), np.array([0.0, 2.0, 2.0]))
    np.testing.assert_array_equal(code, [0, 0, 1, 1])
    check_grads(lambda p, c: cluster.vq.vq(p, c)[1], (points, codes), order=1, rtol=1e-5)
    with pytest.raises(ValueError, match="should have the same rank"):
        cluster.vq.vq(points, codes[0])
    with pytest.raises(ValueError, match="ndim different than 1 or 2"):
        cluster.vq.vq(points[None], codes[None])
