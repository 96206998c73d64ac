"""Images at coordinates between their elements, against SciPy."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy_oracle import assert_as_scipy
from thorough import tries

from transpile import grad, jit, vmap
from transpile.errors import UnsupportedError
from transpile.scipy.ndimage import affine_transform, resampling, rotate, shift, zoom

MODES = (
    *("constant", "grid-constant", "grid-mirror", "grid-wrap", "mirror", "nearest", "reflect"),
    "wrap",
)
RANDOM = np.random.default_rng(0)
IMAGE = RANDOM.normal(size=(7, 9))
POINTS = RANDOM.uniform(-3, 12, (2, 5))


check = functools.partial(assert_as_scipy, rtol=1e-9, atol=1e-9)


def test_calls_of_scipy():
    def several(x, p):
        return [
            ndimage.map_coordinates(x, p, mode="reflect"),
            ndimage.map_coordinates(x, p, order=1, cval=2.0),
            ndimage.zoom(x, (2, 0.5)),
            ndimage.shift(x, [0.25, -1], order=1, mode="wrap"),
            ndimage.rotate(x, 30.0, order=1),
            ndimage.affine_transform(x, p[:, :2] / 5, offset=[1, 2], order=0, output_shape=(3, 4)),
        ]

    check(several, IMAGE, POINTS)


@st.composite
def samplings(draw):
    """An array, the order, the mode and other arguments."""
    seed = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.lists(st.integers(1, 7), min_size=2, max_size=3))
    x = seed.normal(size=shape) * 20
    x = x + 1j * seed.normal(size=shape) if draw(st.booleans()) else x
    keywords = {
        "order": draw(st.integers(0, 5)),
        "mode": draw(st.sampled_from(MODES)),
        "cval": draw(st.sampled_from([0.0, -2.5])),
        "prefilter": draw(st.sampled_from([True, True, False])),
    }
    return seed, x, keywords


@settings(max_examples=tries(240))
@given(samplings())
def test_drawn_coordinates(drawn):
    seed, x, keywords = drawn
    points = seed.uniform(-2.0, 2.0, (x.ndim, 6)) * np.array(x.shape)[:, None]
    compared(ndimage.map_coordinates, resampling.map_coordinates, x, points, **keywords)
    factors, steps = seed.uniform(0.3, 2.5, x.ndim), seed.normal(size=x.ndim)
    compared(ndimage.zoom, zoom, x, factors, **keywords)
    compared(ndimage.shift, shift, x, steps, **keywords)
    compared(ndimage.affine_transform, affine_transform, x, factors, steps, **keywords)
    matrix = seed.normal(size=(x.ndim, x.ndim + 1))
    compared(ndimage.affine_transform, affine_transform, x, matrix, **keywords)
    # The middle of a turned image is often half of an element: which one is nearest, rounding says.
    keywords["order"] = max(keywords["order"], 1)
    angle = float(seed.uniform(-200, 200))
    compared(ndimage.rotate, rotate, x, angle, axes=(0, x.ndim - 1), **keywords)
    compared(ndimage.rotate, rotate, x, angle, reshape=False, **keywords)


def compared(theirs, ours, x, *args, **keywords):
    """That ours gives what SciPy's does."""
    wanted, got = theirs(x, *args, **keywords), ours(x, *args, **keywords)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8)


def test_coordinates_on_elements_on_edges_and_in_the_middle():
    x = IMAGE[0]
    points = np.arange(-40, 41)[None] / 2
    for mode in MODES:
        for order in (0, 1, 2, 3):
            keywords = {"order": order, "mode": mode}
            compared(ndimage.map_coordinates, resampling.map_coordinates, x, points, **keywords)
    turned = {"order": 0, "reshape": False, "mode": "mirror"}
    compared(ndimage.rotate, rotate, IMAGE, 90, **turned)


def test_whole_numbers_are_rounded_and_limited():
    x = np.array([[0, 255, 3], [250, 1, 2]], np.uint8)
    compared(ndimage.zoom, zoom, x, 2.1)
    compared(ndimage.shift, shift, x.astype(np.int16) - 99, 0.3, order=1)
    compared(ndimage.shift, shift, x / 7, 0.3, output=np.float64, mode="grid-wrap")
    compared(ndimage.zoom, zoom, x / 7, 1.7, grid_mode=True, mode="reflect")


def test_derivatives_and_batches():
    # The derivative by a shift is minus the slope of the image.
    ramp = 3.0 * np.arange(8.0) + 1
    slope = grad(lambda s: ndimage.shift(ramp, s, order=1, mode="nearest")[4])(0.3)
    assert slope == pytest.approx(-3)
    turned = grad(lambda a: (ndimage.rotate(IMAGE, a, reshape=False) ** 2).sum())(20.0)
    near = [(ndimage.rotate(IMAGE, 20 + h, reshape=False) ** 2).sum() for h in (1e-5, -1e-5)]
    assert turned == pytest.approx((near[0] - near[1]) / 2e-5, rel=1e-4)
    batch = vmap(lambda x: ndimage.zoom(x, 2))(np.stack([IMAGE, 2 * IMAGE]))
    np.testing.assert_allclose(batch[1], 2 * ndimage.zoom(IMAGE, 2), atol=1e-9)


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda x: ndimage.zoom(x, 2, order=6), RuntimeError, "spline order not supported"),
        (lambda x: ndimage.shift(x, 1, mode="x"), RuntimeError, "boundary mode not supported"),
        (lambda x: ndimage.map_coordinates(x, [x[0]]), RuntimeError, "invalid shape for"),
        (lambda x: ndimage.affine_transform(x, np.eye(4)), RuntimeError, "wrong number of rows"),
        (lambda x: ndimage.rotate(x, 3, axes=(0, 0)), ValueError, "invalid rotation plane"),
        (lambda x: ndimage.rotate(x, x[0, 0]), UnsupportedError, "a traced angle"),
        (lambda x: ndimage.zoom(x, x[0, 0]), UnsupportedError, "a traced zoom"),
    ],
)
def test_what_is_refused(f, error, text):
    with pytest.raises(error, match=text) as e:
        jit(f)(IMAGE)
    assert "test_scipy_resampling.py" in str(e.value)
