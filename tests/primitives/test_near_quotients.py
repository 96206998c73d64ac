"""Rests and quotients of floats in lanes (`fmod`, `%`, `//`, `divmod`): the bits of NumPy's, for
ordinary quotients, for huge ones, and where neighbours are of the other kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import each, tries

import transpile

pytestmark = pytest.mark.full_level
FUNCTIONS = {
    "fmod": np.fmod,
    "remainder": np.remainder,
    "floor_divide": np.floor_divide,
    "divmod": np.divmod,
}
LENGTH = 3000  # of several blocks
_compiled = {}


def assert_bits(name, x, y):
    """The results are NumPy's, signs of zeros and NaNs included."""
    if name not in _compiled:
        _compiled[name] = transpile.jit(FUNCTIONS[name])
    with np.errstate(all="ignore"):
        wanted = np.asarray(FUNCTIONS[name](x, y))
    got = np.asarray(_compiled[name](x, y))
    np.testing.assert_array_equal(got, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(wanted[numbers]))


def ordinary(x, y):
    """The pairs whose quotients are ordinary, or by 0 or of infinities, again and again to fill the
    length."""
    with np.errstate(all="ignore"):
        kept = np.flatnonzero(~(np.abs(x / y) > 2.0**28) | (y == 0) | np.isinf(x))
    kept = np.resize(kept, LENGTH)
    return x[kept], y[kept]


def edges(dtype):
    info = np.finfo(dtype)
    values = [0, 1, 3, 0.1, info.eps, info.max, info.tiny, info.smallest_subnormal, 2**28, np.inf]
    values = np.array([*values, 7.5, 2**24 + 1, np.nan], dtype)
    return np.concatenate([values, -values])


@each("name", FUNCTIONS, ordinary=("remainder", "floor_divide"))
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_edges(name, dtype, shared_cache):
    values = edges(dtype)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    assert_bits(name, np.resize(x, LENGTH), np.resize(y, LENGTH))
    assert_bits(name, *ordinary(x, y))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@given(st.integers(0, 2**31), st.sampled_from(sorted(FUNCTIONS)), st.integers(0, 28))
@settings(max_examples=tries(8), deadline=None)
def test_just_beside_whole_quotients(dtype, seed, name, bits):
    """Where the quotient rounds to the next integer, the rest is a little less than the divisor."""
    random = np.random.default_rng(seed)
    y = (random.normal(size=LENGTH) * 2.0 ** random.integers(-30, 30, LENGTH)).astype(dtype)
    x = (y * random.integers(0, 2**bits + 1, LENGTH)).astype(dtype)
    for _ in range(random.integers(3)):
        x = np.nextafter(x, random.choice([-np.inf, np.inf], LENGTH).astype(dtype))
    assert_bits(name, x, y)
    assert_bits(name, *ordinary(x, y))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_any_two_numbers(name, dtype, shared_cache):
    """Quotients up to the largest by the smallest, of which a rest is found in many steps, also of
    and by subnormal numbers, and just beside whole multiples."""
    random = np.random.default_rng(len(name))
    unsigned = np.dtype(dtype.replace("f", "u"))
    bits = random.integers(0, np.iinfo(unsigned).max, (2, LENGTH), unsigned, endpoint=True)
    x, y = bits.view(dtype)
    y[::7] = (bits[1] % 1000)[::7].astype(unsigned).view(dtype)
    with np.errstate(all="ignore"):
        x[::5] = (y * (x % 2.0**90))[::5]
        x[::15] = np.nextafter(x[::15], np.dtype(dtype).type(0))
    assert_bits(name, x, y)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("odd", [(1e30, 1e-3), (1.0, 0.0), (np.inf, 2.0), (0.0, 0.0), (np.nan, 1)])
def test_results_do_not_depend_on_others(odd, dtype, shared_cache):
    random = np.random.default_rng(0)
    x, y = (random.normal(size=LENGTH).astype(dtype) for _ in range(2))
    x[1500], y[1500] = odd
    for name in ("fmod", "floor_divide"):
        assert_bits(name, x, y)


def test_what_is_fused_with_a_rest_runs_in_lanes():
    x = np.random.default_rng(0).normal(size=LENGTH)
    text = transpile.jit(lambda x: np.exp(np.fmod(x, 3))).lower(x).as_text("c")
    assert "exp_f64(fmod_near_f64(x[i], 3.0))" in text
    assert "!= 0.0" not in text  # 2.0 is no divisor that may be 0
    assert "exp_f64(fmod_f64(x[i], 3.0))" in text
