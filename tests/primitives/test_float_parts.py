"""Remainders, exponents and neighbours of floats: exact functions, whose bits are NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile

pytestmark = pytest.mark.full_level
FLOATS = [np.float32, np.float64]


def assert_bits(function, *arguments):
    """Compare compiled results with NumPy's, but for the bits of NaN."""
    with np.errstate(all="ignore"):
        wanted = function(*arguments)
    results = transpile.jit(function)(*arguments)
    several = isinstance(wanted, tuple)
    for got, want in zip(*((results, wanted) if several else ([results], [wanted])), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
        assert ((np.signbit(got) == np.signbit(want)) | np.isnan(want)).all()


def of_any_bits(dtype, random, size=4000):
    """Floats of all exponents, subnormal numbers and NaN among them."""
    bits = np.finfo(dtype).bits
    return random.integers(0, 2**32, (size, bits // 32), np.uint32).view(dtype)[:, 0]


def special_values(dtype):
    """Values at which functions change, of both signs."""
    info = np.finfo(dtype)
    sizes = [0, 1, 3, np.inf, np.nan, info.max, info.tiny, 1.5 * info.tiny, 2**24, 2**53 - 1]
    values = np.array([*sizes, info.smallest_subnormal, 5 * info.smallest_subnormal], dtype)
    return np.concatenate([values, -values])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("function", [np.fmod, np.remainder, np.floor_divide])
@one_in(3)
def test_remainders_of_floats_are_numpys_to_the_bit(function, dtype):
    """Near whole quotients, of huge ones, of subnormal numbers and special values."""
    random, size = np.random.default_rng(0), 4000
    bits, special = of_any_bits(dtype, random), special_values(dtype)
    wholes = random.integers(-(2**40), 2**40, size) >> random.integers(0, 40, size)
    y = (random.normal(size=size) * 10.0 ** random.integers(-6, 7, size)).astype(dtype)
    near = np.nextafter((wholes * y.astype(np.longdouble)).astype(dtype), np.roll(y, 1))
    pairs = [(bits, np.roll(bits, 1)), (near, y), (wholes.astype(dtype), dtype(0.1)), (bits, y)]
    pairs.append((np.repeat(special, special.size), np.tile(special, special.size)))
    for x, y in pairs:
        assert_bits(function, x, y)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("integer", [np.int16, np.int32, np.int64])
@one_in(3)
def test_ldexp_rounds_once_whatever_the_exponent(dtype, integer):
    random = np.random.default_rng(1)
    x, special = of_any_bits(dtype, random), special_values(dtype)
    for largest in (10, 160, 1200, 2300, np.iinfo(integer).max):
        assert_bits(np.ldexp, x, random.integers(-largest, largest, x.size).astype(integer))
    # into the subnormal numbers
    small = -np.frexp(x)[1] + random.choice([-1074, -1060, -1022, -149, -140, -126], x.size)
    assert_bits(np.ldexp, x, small.astype(integer))
    exponents = np.arange(-2200, 2200, 3).astype(integer)
    assert_bits(np.ldexp, np.repeat(special, exponents.size), np.tile(exponents, special.size))


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours(dtype):
    random = np.random.default_rng(2)
    x, special = of_any_bits(dtype, random), special_values(dtype)
    assert_bits(np.nextafter, x, np.roll(x, 1))
    assert_bits(np.nextafter, x, x)
    assert_bits(np.nextafter, np.repeat(special, special.size), np.tile(special, special.size))
    assert_bits(np.spacing, x)
    assert_bits(np.spacing, special)


@pytest.mark.parametrize("dtype", FLOATS)
def test_mantissas_and_exponents(dtype):
    x = np.concatenate([of_any_bits(dtype, np.random.default_rng(3)), special_values(dtype)])
    assert_bits(np.frexp, x[np.isfinite(x)])
    assert_bits(lambda x: np.frexp(x)[0], x)
    assert not transpile.jit(lambda x: np.frexp(x)[1])(x[~np.isfinite(x)]).any()


def test_exponents_are_summed_beside_a_product_of_significands():
    # gcc 12 moved the addition into a branch of the loop, and lost some lanes of the sum.
    def product(x):
        exponents = np.frexp(x)[1]
        exponent = np.sum(exponents)
        factor = np.prod(np.ldexp(x, -exponents))
        rest = np.frexp(factor)[1]
        return np.ldexp(np.ldexp(factor, -rest), exponent + rest)

    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=64)
        np.testing.assert_allclose(transpile.jit(product)(x), np.prod(x), rtol=1e-13)
