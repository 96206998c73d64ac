"""Fourier transforms of lengths that are known at run time, against NumPy's."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import each, one_in, tries

import transpile
from transpile import ShapeDtypeStruct, grad, jit, vmap

LENGTHS = (1, 2, 3, 8, 15, 16, 31, 64, 101, 103, 206, 254, 1000)
NORMS = (None, "ortho", "forward")


def numbers(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.standard_normal(shape)
    return x.astype(dtype)


def compiled(f, shape, dtype, *constraints):
    """A program for every n, and m."""
    n, m = transpile.dims("n, m", *constraints)
    extents = tuple({"n": n, "m": m}.get(d, d) for d in shape)
    return jit(f).lower(ShapeDtypeStruct(extents, dtype)).compile()


def assert_near(found, expected):
    """Equal within what the transforms are off in the 2-norm."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    eps = np.finfo(found.dtype).eps
    assert np.linalg.norm(found - expected) <= 12 * eps * np.linalg.norm(expected)


def assert_all_lengths(f, shape, dtype, *constraints, lengths=LENGTHS, m=5):
    program = compiled(f, shape, dtype, *constraints)
    for n in lengths:
        x = numbers([{"n": n, "m": m}.get(d, d) for d in shape], dtype, n)
        assert_near(program(x), f(x))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "ihfft"])
@each("dtype", ["f4", "f8", "c8", "c16"], ordinary=["f8", "c8"])
@one_in(4)
def test_transforms_along_an_axis_of_any_length(name, dtype):
    if name in ("rfft", "ihfft") and np.dtype(dtype).kind == "c":
        dtype = "f4"
    transform = getattr(np.fft, name)
    for norm in NORMS:
        assert_all_lengths(lambda x, norm=norm: transform(x, norm=norm), ("m", "n"), dtype)


@pytest.mark.parametrize("name", ["irfft", "hfft"])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@one_in(2)
def test_transforms_to_real_numbers_of_even_and_odd_lengths(name, dtype):
    transform, lengths = getattr(np.fft, name), [n for n in LENGTHS if n > 1]
    assert_all_lengths(transform, ("m", "n"), dtype, "n >= 2", lengths=lengths)
    odd = lambda x: transform(x, 2 * x.shape[1] - 1, norm="ortho")
    assert_all_lengths(odd, ("m", "n"), dtype)


@pytest.mark.parametrize(
    ("shape", "axis"), [(("n",), 0), (("n", "m"), 0), ((3, "n", "m"), 1), (("m", "n", 3, 2), 1)]
)
@one_in(2)
def test_axes_anywhere_and_batches_of_any_size(shape, axis):
    lengths = (1, 7, 64, 131)
    for m in (1, 2, 40):
        assert_all_lengths(lambda x: np.fft.fft(x, axis=axis), shape, "c16", lengths=lengths, m=m)


def test_views_are_transformed_where_they_are():
    views = {
        "reversed": lambda x: np.fft.fft(x[:, ::-1]),
        "transposed": lambda x: np.fft.ifft(x.T),
        "strided": lambda x: np.fft.rfft(x.real[1:, 1:]),
        "doubled": lambda x: np.fft.fft(np.concatenate([x, x], axis=1)),
    }
    for f in views.values():
        assert_all_lengths(f, ("m", "n"), "c16", "n >= 2", "m >= 2", lengths=(2, 9, 64, 107))


@pytest.mark.parametrize("norm", NORMS)
@one_in(3)
def test_several_axes_of_known_and_unknown_lengths(norm):
    for name in ("fftn", "ifftn", "fft2"):
        transform = getattr(np.fft, name)
        for shape in (("m", "n"), ("n", 6), (6, "n")):
            assert_all_lengths(
                lambda x, f=transform: f(x, norm=norm), shape, "c16", lengths=(1, 12, 107)
            )
    for name in ("rfftn", "rfft2"):
        transform = getattr(np.fft, name)
        assert_all_lengths(
            lambda x, f=transform: f(x, norm=norm), ("m", "n"), "f4", lengths=(1, 12, 107)
        )
    assert_all_lengths(
        lambda x: np.fft.irfftn(x, norm=norm), ("m", "n"), "c16", "n >= 2", lengths=(2, 12, 108)
    )


@settings(max_examples=tries(40), deadline=None)
@given(st.integers(1, 5000), st.integers(1, 9), st.sampled_from(["f4", "c16"]))
def test_drawn_lengths_are_within_rounding(n, m, dtype):
    x = numbers((m, n), dtype, n)
    assert_near(drawn(dtype)(x), np.fft.fft(x))


@cache
def drawn(dtype):
    return compiled(np.fft.fft, ("m", "n"), dtype)


def test_long_transforms_and_those_shared_by_threads():
    program = compiled(np.fft.fft, ("m", "n"), "c16")
    for m, n in ((1, 2**17), (1, 65537), (64, 4096), (300, 256), (2, 3**10), (1, 2 * 30011)):
        x = numbers((m, n), "c16", n)
        assert_near(program(x), np.fft.fft(x))


@pytest.mark.parametrize("kind", ["fft", "rfft", "irfft"])
@one_in(3)
def test_derivatives_are_those_of_known_lengths(kind):
    def loss(x):
        y = np.fft.rfft(x) if kind == "rfft" else np.fft.fft(x)
        if kind == "irfft":
            y = np.fft.irfft(np.fft.rfft(x) * 2, 2 * (len(x) // 2) + 1)
        return (np.abs(y) ** 3).sum()

    gradient = jit(grad(loss), dynamic_shapes={"x": ("n",)})
    for n in (1, 6, 7, 64):
        x = numbers(n, "f8", n)
        np.testing.assert_allclose(gradient(x), jit(grad(loss))(x), rtol=1e-9, atol=1e-9)


def test_a_batch_and_a_convolution():
    def circular(x, y):
        return np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y), len(x))

    shapes = {"x": ("m", "n"), "y": ("n",)}
    program = jit(lambda x, y: vmap(lambda row: circular(row, y))(x), dynamic_shapes=shapes)
    for n in (4, 9, 130):
        x, y = numbers((3, n), "f8"), numbers(n, "f8", 1)
        expected = np.stack([circular(row, y) for row in x])
        np.testing.assert_allclose(program(x, y), expected, atol=1e-11)


@pytest.mark.parametrize("function", [np.fft.fft, np.fft.ifftn, np.fft.irfft, np.fft.hfft])
@one_in(2)
def test_of_nothing_the_call_has_the_error_of_numpy(function):
    (n,) = transpile.dims("n", "n >= 0")
    of_any = jit(function).lower(ShapeDtypeStruct((n,), "c16")).compile()
    for count in (0, 1, 2, 5):
        x = numbers(count, "c16")
        try:
            expected = function(x)
        except ValueError:
            with pytest.raises(ValueError, match="Invalid number of FFT data points"):
                of_any(x)
        else:
            assert_near(of_any(x), expected)


def test_numbers_of_points_may_depend_on_the_length():
    known = compiled(lambda x: np.fft.fft(x, 8), ("n",), "c16")  # cropped, or filled with zeros
    for n in (1, 7, 8, 30):
        assert_near(known(numbers(n, "c16")), np.fft.fft(numbers(n, "c16"), 8))
    longer = compiled(lambda x: np.fft.fft(x, 2 * len(x)), ("n",), "c16")
    y = numbers(9, "c16")
    assert_near(longer(y), np.fft.fft(y, 18))
