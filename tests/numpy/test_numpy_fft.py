"""numpy.fft on traced arrays against NumPy: values, shapes, dtypes and errors."""

import numpy as np
import pytest
from helpers import assert_same, leaves, ordinary
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile import numpy as jnp
from transpile.ir.types import DTYPES

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"]
REAL = {"rfft", "ihfft", "rfftn", "rfft2"}
NORMS = [None, "backward", "ortho", "forward"]
QUICK = {"opt_level": 1}
TOLERANCE = {"float16": 1e-3, "float32": 2e-6, "complex64": 2e-6}


def tolerance(x):
    return TOLERANCE.get(x.dtype.name, 1e-14)


def named(name):
    return getattr(np.fft, name)


def operand(name, dtype, shape, seed):
    """An array that the function takes: no complex numbers where it wants real ones."""
    dtype = np.dtype(dtype)
    if name in REAL and dtype.kind == "c":
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    return ordinary(dtype, shape, seed)


def same_through_c(f, *args, tolerance):
    """The compiled f gives what f gives."""
    found = leaves(transpile.jit(f, compiler_options=QUICK)(*args))
    for got, want in zip(found, map(np.asarray, leaves(f(*args))), strict=True):
        got = np.asarray(got)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        scale = np.max(np.abs(want), initial=0)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


shapes = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)
dtypes = st.sampled_from([d for d in DTYPES if d.name != "bfloat16"])
norms = st.sampled_from(NORMS)
seeds = st.integers(0, 99)


@settings(max_examples=tries(200))
@given(
    st.sampled_from(ONE),
    dtypes,
    shapes,
    st.one_of(st.none(), st.integers(-1, 9)),
    st.integers(-3, 2),
    norms,
    seeds,
)
def test_transforms_along_an_axis_equal_numpy(name, dtype, shape, n, axis, norm, seed):
    x = operand(name, dtype, shape, seed)
    f = named(name)
    assert_same(lambda x: f(x, n, axis, norm), x, tolerance=tolerance(x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@settings(max_examples=tries(200))
@given(st.sampled_from(SEVERAL), st.data(), dtypes, shapes, norms, seeds)
def test_transforms_along_several_axes_equal_numpy(name, data, dtype, shape, norm, seed):
    x = operand(name, dtype, shape, seed)
    f = named(name)
    axes = data.draw(
        st.one_of(st.none(), st.lists(st.integers(-3, 2), min_size=0, max_size=3), st.just((0, 0)))
    )
    sizes = st.integers(-1, 7)
    count = len(shape) if axes is None else len(axes)
    s = data.draw(st.one_of(st.none(), st.lists(sizes, min_size=count, max_size=count)))
    if axes is not None:
        assert_same(lambda x: f(x, s, axes, norm), x, tolerance=tolerance(x))
    elif s is None:
        assert_same(lambda x: f(x, norm=norm), x, tolerance=tolerance(x))
    else:
        assert_same(lambda x: f(x, s, norm=norm), x, tolerance=tolerance(x))


@settings(max_examples=60)
@given(st.sampled_from(["fftshift", "ifftshift"]), dtypes, shapes, st.data(), seeds)
def test_shifts_equal_numpy(name, dtype, shape, data, seed):
    axis = st.integers(-3, 2)
    axes = data.draw(st.one_of(st.none(), axis, st.lists(axis, max_size=2).map(tuple)))
    x = ordinary(dtype, shape, seed)
    assert_same(lambda x: named(name)(x, axes), x)


def test_empty_arrays_equal_numpy():
    for name in ("fft", "rfft", "irfft"):
        assert_same(lambda x, f=named(name): f(x), np.ones((0, 3)))
        assert_same(lambda x, f=named(name): f(x, axis=0), np.ones((0, 3)))
        if name != "irfft":  # NumPy reads elements that are not there
            assert_same(lambda x, f=named(name): f(x, 4, 0), np.ones((0, 3)))


@pytest.mark.parametrize("name", ONE)
def test_wrong_arguments_are_numpys_errors(name):
    f, x = named(name), np.ones((3, 4))
    for arguments in (
        {"n": 0},
        {"n": -2},
        {"n": 2.5},
        {"axis": 2},
        {"axis": -3, "n": 4},
        {"norm": "orthogonal"},
        {"axis": None},
    ):
        assert_same(lambda x, a=arguments: f(x, **a), x)
    assert_same(f, np.float64(3))
    assert_same(f, np.ones(1))
    assert_same(f, np.ones(3, complex))


@pytest.mark.parametrize("name", SEVERAL)
def test_wrong_arguments_of_several_axes_are_numpys_errors(name):
    f, x = named(name), np.ones((3, 4))
    for arguments in (
        {"s": (3,), "axes": (0, 1)},
        {"s": (3, 0), "axes": (0, 1)},
        {"axes": (0, 2)},
        {"norm": "orthogonal"},
    ):
        assert_same(lambda x, a=arguments: f(x, **a), x)


def test_frequencies_for_a_traced_distance_equal_numpy():
    for n in (1, 2, 7, 8):
        for name in ("fftfreq", "rfftfreq"):
            f = getattr(jnp.fft, name)
            assert_same(lambda d, f=f, n=n: f(n, d), np.float64(0.25))
            np.testing.assert_array_equal(f(n, 0.5), named(name)(n, 0.5))
    with pytest.raises(ValueError, match="n should be an integer"):
        jnp.fft.fftfreq(2.5)


def test_namespace_is_complete_and_numpys_own_on_plain_arrays():
    assert set(jnp.fft.__all__) == set(np.fft.__all__)
    x = np.arange(6.0)
    for name in np.fft.__all__:
        argument = 6 if name.endswith("freq") else x.reshape(2, 3)
        np.testing.assert_array_equal(getattr(jnp.fft, name)(argument), named(name)(argument))
    graph = transpile.make_jaxpr(lambda x: jnp.fft.fft(jnp.fft.fftshift(x)))(x)
    assert "fft" in {e.primitive.name for e in graph.equations}


def test_several_axes_are_one_equation_and_padding_comes_late():
    graph = transpile.make_jaxpr(np.fft.fft2)(np.ones((4, 6)))
    assert [e.primitive.name for e in graph.equations] == ["fft"]
    graph = transpile.make_jaxpr(lambda x: np.fft.fftn(x, (9, 4), (0, 1)))(np.ones((4, 6)))
    names = [e.primitive.name for e in graph.equations]
    assert names.index("slice") < names.index("fft") < names.index("pad")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@one_in(2)
def test_compiled_transforms_of_many_lengths_equal_numpy(dtype):
    """A program has all of them, of lengths with all sorts of factors, along both axes."""
    lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 30, 49, 64, 101, 103, 128, 210, 289, 300]
    x = operand("fft", dtype, (20, 33), 1)

    def f(x):
        return [
            named(name)(x.real if name in REAL else x, n, axis, NORMS[n % 4])
            for name in ONE
            for n in lengths
            for axis in (0, 1)
        ]

    same_through_c(f, x, tolerance=tolerance(x))


def test_compiled_transforms_of_views_and_expressions_equal_numpy():
    x = ordinary("complex128", (6, 8, 10), 3)

    def f(x):
        return [
            np.fft.fft(x[::-1, 1:7:2, ::3], axis=1),
            np.fft.ifft2(x.transpose(2, 0, 1)),
            np.fft.fft(np.broadcast_to(x[0, 0], (3, 10))),
            np.fft.fft(x.reshape(48, 10)[5:25], axis=0) * 2 - x.reshape(48, 10)[0],
            np.fft.irfftn(x + 1, axes=(2, 0)),
            np.fft.rfft(x.real, axis=1),
            np.fft.fft(x.imag),
            np.fft.ifft(np.zeros((2, 5))),
            np.fft.fft(np.ones(7)[:, None] + 0 * x[0, 0, 0].real, axis=0),
            np.fft.fftn(x, (7, 8, 9), (0, 1, 2)),
        ]

    same_through_c(f, x, tolerance=1e-14)


def test_a_long_transform_of_a_program_with_threads_equals_numpy():
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape) for shape in ((1 << 18,), (300, 256), (512, 300))]

    def f(*arrays):
        return [np.fft.fftn(x) for x in arrays]

    found = transpile.jit(f, compiler_options={"num_threads": 2})(*arrays)
    for got, want in zip(found, f(*arrays), strict=True):
        assert np.linalg.norm(got - want) <= 2e-14 * np.linalg.norm(want)


def test_parseval_linearity_and_the_shift_theorem_hold():
    random = np.random.default_rng(5)
    x, y = random.standard_normal((2, 360)) + 1j * random.standard_normal((2, 360))
    f = transpile.jit(np.fft.fft)
    np.testing.assert_allclose(np.sum(abs(f(x)) ** 2) / 360, np.sum(abs(x) ** 2), rtol=1e-14)
    np.testing.assert_allclose(f(2 * x - 3j * y), 2 * f(x) - 3j * f(y), rtol=0, atol=1e-12)
    turned = np.exp(-2j * np.pi * 7 * np.arange(360) / 360) * f(x)
    np.testing.assert_allclose(f(np.roll(x, 7)), turned, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.fft.ifft(f(x)), x, rtol=0, atol=1e-14)
