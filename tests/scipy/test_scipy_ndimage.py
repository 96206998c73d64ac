"""Filters and morphology of images, against SciPy."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy_oracle import assert_as_scipy
from thorough import thorough, tries

from transpile import grad, jit, vmap
from transpile.errors import UnsupportedError
from transpile.scipy import ndimage as ours

MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
DTYPES = ("uint8", "int16", "int64", "float32", "float64", "complex128")
RANDOM = np.random.default_rng(0)
IMAGE = RANDOM.normal(size=(7, 9))
BYTES = RANDOM.integers(0, 255, (7, 9)).astype(np.uint8)
DISK = np.hypot(*np.indices((5, 5)) - 2) < 2.5


check = functools.partial(assert_as_scipy, rtol=1e-9, atol=1e-11)


def test_sums_of_windows():
    def several(x, y, w):
        return [
            ndimage.gaussian_filter(x, 1.0),
            ndimage.gaussian_filter(x, [0.5, 2], order=[0, 1], mode=["wrap", "nearest"]),
            ndimage.gaussian_filter1d(x, 9.0, output=np.float32),
            ndimage.uniform_filter(x, [3, 20], mode="mirror"),
            ndimage.convolve(x, w, mode="constant", cval=2.0),
            ndimage.correlate(y, DISK, output="int32"),
            ndimage.convolve1d(x + 1j * y, [1.0, 2j], axis=0),
            ndimage.sobel(x),
            ndimage.laplace(x, mode=["wrap", "constant"]),
            ndimage.gaussian_laplace(x, 1.0, truncate=2.0),
            ndimage.gaussian_gradient_magnitude(x, [0.6, 1.0]),
        ]

    check(several, IMAGE, BYTES, np.arange(6.0).reshape(2, 3), rtol=1e-7)


@thorough
def test_orders_of_windows():
    def several(x, y):
        return [
            ndimage.median_filter(x, 3),
            ndimage.median_filter(y, (4, 5), mode="wrap"),
            ndimage.rank_filter(y, -2, 2, mode="constant", cval=-3.0),
            ndimage.maximum_filter(x, 3),
            ndimage.maximum_filter(y, footprint=DISK, mode="constant", cval=300),
            ndimage.minimum_filter(x, (1, 7), mode=["wrap", "nearest"]),
            ndimage.grey_dilation(y, footprint=DISK[1:]),
            ndimage.grey_opening(x, structure=DISK * 0.5),
            ndimage.grey_closing(y, (2, 3)),
            ndimage.binary_erosion(x > -1, DISK[:2]),
            ndimage.binary_dilation(y > 200, iterations=3, mask=y > 100),
            ndimage.binary_closing(y, iterations=0),
        ]

    check(several, IMAGE, BYTES)


@st.composite
def filters(draw):
    """A filter's name, an array and arguments."""
    shape = draw(st.lists(st.integers(1, 7), min_size=2, max_size=3))
    seed = np.random.default_rng(draw(st.integers(0, 2**32)))
    name, dtype = draw(st.sampled_from(sorted(DRAWN))), draw(st.sampled_from(DTYPES))
    if DRAWN[name][1] and dtype == "complex128":
        dtype = "uint8"
    x = (seed.normal(size=shape) * 20).astype(dtype)
    sizes = [draw(st.integers(1, 4)) for _ in shape]
    keywords = {"mode": draw(st.sampled_from(MODES)), "cval": draw(st.sampled_from([0.0, 3.0]))}
    return name, x, *DRAWN[name][0](seed, sizes, keywords)


def _window(seed, sizes, keywords):
    origin = [int(seed.integers(-(n // 2), (n - 1) // 2 + 1)) for n in sizes]
    return [], {"size": sizes, "origin": origin, **keywords}


def _footprint(seed, sizes, keywords):
    footprint = seed.random(sizes) > 0.3
    footprint.flat[0] = True
    return [], {"footprint": footprint, **keywords}


def _structure(seed, sizes, keywords):
    return [], {"structure": seed.normal(size=sizes).round(1), **keywords}


def _of_bits(seed, sizes, keywords):
    chosen = {"iterations": int(keywords["cval"]), "border_value": keywords["mode"] > "n"}
    return [seed.random([min(n, 3) for n in sizes]) > 0.3], chosen


def _weights(seed, sizes, keywords):
    return [seed.normal(size=sizes).round(1)], keywords


def _line(seed, sizes, keywords):
    line = seed.normal(size=sizes[0]).round(1)
    symmetry = seed.integers(-1, 2)
    return [line + symmetry * line[::-1]], {"axis": 0, **keywords}


def _of_sigma(seed, sizes, keywords):
    return [sizes[0] / 3], keywords


def _of_size(seed, sizes, keywords):
    return [sizes[0] * 3], {"axis": -1, "origin": -1, **keywords}


def _of_share(seed, sizes, keywords):
    return [float(seed.integers(-100, 101))], {"size": sizes, **keywords}


def _of_rank(seed, sizes, keywords):
    args, chosen = _footprint(seed, sizes, keywords)
    return [int(seed.integers(0, chosen["footprint"].sum())), *args], chosen


def _of_nothing(seed, sizes, keywords):
    return [], keywords


# By name: how the arguments are drawn, and whether complex arrays are refused.
DRAWN = {
    "uniform_filter1d": (_of_size, False),
    "minimum_filter1d": (_of_size, True),
    "prewitt": (_of_nothing, True),
    "binary_opening": (_of_bits, True),
    "percentile_filter": (_of_share, True),
    "rank_filter": (_of_rank, True),
    "morphological_gradient": (_structure, True),
    "uniform_filter": (_window, False),
    "maximum_filter": (_window, True),
    "minimum_filter": (_footprint, True),
    "median_filter": (_window, True),
    "grey_dilation": (_structure, True),
    "grey_closing": (_footprint, True),
    "binary_erosion": (_of_bits, True),
    "binary_dilation": (_of_bits, True),
    "correlate": (_weights, False),
    "convolve": (_weights, False),
    "convolve1d": (_line, False),
    "gaussian_filter": (_of_sigma, False),
    "gaussian_laplace": (_of_sigma, True),
}


@settings(max_examples=tries(200))
@given(filters())
def test_drawn_filters(drawn):
    name, x, args, keywords = drawn
    wanted = getattr(ndimage, name)(x, *args, **keywords)
    got = getattr(ours, name)(x, *args, **keywords)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    tolerance = 1e-5 if got.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def test_derivatives_and_batches():
    # The derivative of a sum of a linear filter is the filter of ones, transposed.
    x, w = IMAGE, RANDOM.normal(size=(3, 2))
    filtered = jit(lambda x: ndimage.correlate(x, w, mode="wrap"))
    backwards = ndimage.convolve(IMAGE, w, mode="wrap")
    inner = grad(lambda x: (filtered(x) * IMAGE).sum())(x)
    np.testing.assert_allclose(inner, backwards)
    slope = grad(lambda x: ndimage.median_filter(x, 3).sum())(x)
    assert slope.sum() == pytest.approx(63)
    assert set(np.unique(slope)) <= set(range(10))
    batch = vmap(lambda x: ndimage.maximum_filter(ndimage.uniform_filter(x, 3), 2))(
        x[None] * [[[1]], [[-2]]]
    )
    np.testing.assert_allclose(
        batch[1], ndimage.maximum_filter(ndimage.uniform_filter(-2 * x, 3), 2), atol=1e-12
    )


def test_weights_that_are_traced():
    check(
        lambda x, w: [ndimage.convolve(x, w), ndimage.correlate1d(x, w[0])], IMAGE, DISK[:3] + 0.5
    )


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda x: ndimage.correlate1d(x, [1.0], origin=1), ValueError, "Invalid origin"),
        (
            lambda x: ndimage.uniform_filter(x, mode="x"),
            RuntimeError,
            "boundary mode not supported",
        ),
        (lambda x: ndimage.maximum_filter(x), RuntimeError, "no footprint provided"),
        (lambda x: ndimage.rank_filter(x, 9, 3), RuntimeError, "rank not within filter footprint"),
        (lambda x: ndimage.uniform_filter(x, [3]), RuntimeError, "sequence argument must have"),
        (lambda x: ndimage.sobel(x, 2), ValueError, "axis 2 is out of bounds"),
        (lambda x: ndimage.grey_erosion(x), ValueError, "size, footprint, or structure must"),
        (lambda x: ndimage.convolve(x, DISK[0]), RuntimeError, r"weights.ndim \(1\) must match"),
        (lambda x: ndimage.median_filter(x * 1j, 3), TypeError, "Complex type not supported"),
        (lambda x: ndimage.gaussian_filter(x, x[0, 0]), UnsupportedError, "a traced sigma"),
        (
            lambda x: ndimage.laplace(x, output=np.empty((7, 9))),
            UnsupportedError,
            "output= of a traced value may be a dtype",
        ),
    ],
)
def test_what_is_refused(f, error, text):
    with pytest.raises(error, match=text) as e:
        jit(f)(IMAGE)
    assert "test_scipy_ndimage.py" in str(e.value)
