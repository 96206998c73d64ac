"""Pictures in other sizes: against sums written out element by element, and closed forms."""

import math
import re

import numpy as np
import pytest
from graphs import lowered
from thorough import one_in

import transpile
from transpile import image
from transpile.analysis.oracle.loop_interpreter import run
from transpile.intrinsics.products import Product
from transpile.ir.loop_rewrite import walk
from transpile.test_util import check_grads

DRAW = np.random.default_rng(0)
METHODS = ["linear", "cubic", "lanczos3", "lanczos5", "cubic-pytorch"]


def kernel(method, x):
    x = abs(x)
    if method == "linear":
        return max(0.0, 1 - x)
    if method.startswith("lanczos"):
        radius = int(method[-1])
        return float(np.sinc(x) * np.sinc(x / radius)) if x <= radius else 0.0
    a = -0.75 if method == "cubic-pytorch" else -0.5
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def sampled(row, size, scale, shift, method, antialias):
    """The samples of a row, one by one."""
    repeats = 2 if method == "cubic-pytorch" and not antialias else 0
    method = "cubic" if method == "cubic-pytorch" and antialias else method
    width = max(1 / scale, 1) if antialias else 1
    result = []
    for i in range(size):
        centre = (i + 0.5 - shift) / scale - 0.5
        places = range(-repeats, len(row) + repeats)
        weights = [kernel(method, (centre - j) / width) for j in places]
        values = [row[min(max(j, 0), len(row) - 1)] for j in places]
        inside = repeats or -0.5 <= centre <= len(row) - 0.5
        result.append(np.dot(weights, values) / sum(weights) if inside else 0.0)
    return result


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_samples_are_sums_of_elements_times_weights(method, antialias):
    for old, new in ((7, 3), (5, 9), (31, 10), (1, 4)):
        x = DRAW.normal(size=(2, old))
        want = [sampled(row, new, new / old, 0.0, method, antialias) for row in x]
        found = image.resize(x, (2, new), method, antialias)
        np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-7)  # sinc near 0 is 1, as in JAX
        single = image.resize(x.astype("f4"), (2, new), method, antialias)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3"])
def test_scaled_and_translated_pictures(method):
    x = DRAW.normal(size=(6, 5))
    scale, shift = np.array([1.7, 0.6]), np.array([-1.23, 2.03])
    once = [sampled(row, 7, scale[1], shift[1], method, True) for row in x]
    want = np.transpose(
        [sampled(row, 8, scale[0], shift[0], method, True) for row in np.transpose(once)]
    )
    for function in (
        lambda s, t: image.scale_and_translate(x, (8, 7), (0, 1), s, t, method),
        transpile.jit(lambda s, t: image.scale_and_translate(x, (8, 7), (0, -1), s, t, method)),
    ):
        np.testing.assert_allclose(function(scale, shift), want, rtol=1e-6, atol=1e-7)
    check_grads(
        lambda x, s, t: image.scale_and_translate(x, (8, 7), (0, 1), s, t, method),
        (x, scale, shift),
        order=1,
        rtol=1e-3,
        atol=1e-3,
    )


def test_areas_are_means_of_what_they_cover():
    x = DRAW.normal(size=(6, 8))
    blocks = x.reshape(3, 2, 2, 4).mean(axis=(1, 3))
    np.testing.assert_allclose(image.resize(x, (3, 2), "area"), blocks, rtol=1e-14)
    thirds = image.resize(np.array([3.0, 6.0, 9.0]), (2,), "area")
    np.testing.assert_allclose(thirds, [(3 + 0.5 * 6) / 1.5, (0.5 * 6 + 9) / 1.5])


def test_the_nearest_elements_keep_their_dtype():
    x = np.arange(12).reshape(3, 4)
    found = image.resize(x, (6, 2), image.ResizeMethod.NEAREST)
    np.testing.assert_array_equal(found, np.repeat(x, 2, axis=0)[:, [1, 3]])
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(
        transpile.jit(lambda x: image.resize(x, (6, 2), "nearest"))(x), found
    )


def test_closed_forms():
    ramp = np.arange(32.0)
    centres = (np.arange(80) + 0.5) * 0.4 - 0.5
    inner = (centres > 6) & (centres < 25)
    for method in ("linear", "cubic"):
        found = image.resize(ramp, (80,), method)
        np.testing.assert_allclose(found[inner], centres[inner], rtol=1e-12)
    found = image.resize(ramp**2, (80,), "cubic")
    np.testing.assert_allclose(found[inner], centres[inner] ** 2, rtol=1e-12)
    for method in (*METHODS, "area", "nearest"):
        np.testing.assert_allclose(image.resize(np.full((5, 7), 3.0), (11, 4), method), 3.0)
    assert image.resize(ramp, (32,), "cubic") is not None
    assert image.resize(np.ones((3, 4)), (0, 4), "linear").shape == (0, 4)
    assert math.isfinite(image.resize(np.arange(5), (3,), "lanczos5").sum())


def test_pictures_in_programs_and_batches():
    x = DRAW.normal(size=(40, 30, 3))

    def every(x):
        return [image.resize(x, (13, 33, 3), m, a) for m in (*METHODS, "area") for a in (0, 1)]

    for found, want in zip(transpile.jit(every)(x), every(x), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-12)
    planes = transpile.vmap(lambda p: image.resize(p, (13, 33), "cubic"), -1, -1)(x)
    np.testing.assert_allclose(planes, image.resize(x, (13, 33, 3), "cubic"), atol=1e-13)
    gradient = transpile.grad(lambda x: image.resize(x, (13, 33, 3), "linear").sum())(x)
    np.testing.assert_allclose(gradient.sum(), 13 * 33 * 3, rtol=1e-12)  # weights add up to 1


def test_refused_pictures():
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match='Unknown resize method "x"'):
        image.resize(x, (3, 3), "x")
    with pytest.raises(ValueError, match=re.escape("shape must have length equal to")):
        image.resize(x, (3,), "linear")
    with pytest.raises(ValueError, match="Nearest neighbor resampling"):
        image.scale_and_translate(x, (2, 2), (0,), np.ones(1), np.ones(1), "nearest")


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", ["linear", "lanczos3", "cubic", "cubic-pytorch", "area"])
@one_in(3)
def test_windows_of_runtime_sizes_have_the_weights_of_known_ones(method, antialias):
    def resized(x, v):
        return image.resize(x, (len(v), 2), method, antialias=antialias)

    types = [transpile.ShapeDtypeStruct(shape, np.float64) for shape in (("n", 2), ("m",))]
    program = lowered(resized, *types)
    assert not any(isinstance(s, Product) for k in program.kernels for s in walk(k.body))
    for old, new in (5, 12), (12, 5), (9, 1), (1, 3), (7, 8):
        x, v = np.sin(np.arange(2.0 * old)).reshape(old, 2), np.zeros(new)
        (found,) = run(program, [x, v])
        (expected,) = run(lowered(resized, x, v), [x, v])
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
