"""Constants that lanes shift are variables, and all shifts are NumPy's."""

import numpy as np
import pytest
from thorough import one_in

from transpile import jit

pytestmark = pytest.mark.full_level

COUNTS = [0, 1, 5, 62, 63, 64, 65, -1, -64, 7]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("base", [1, 3, 2**62 + 5])
@one_in(2)
def test_a_constant_of_64_bits_is_hidden(dtype, base):
    number = dtype(base)

    def shifted(x):
        return np.left_shift(number, x), np.right_shift(number, x), np.left_shift(x, x)

    jitted, x = jit(shifted), np.array(COUNTS * 4).astype(dtype)
    text = jitted.lower(x).as_text()
    assert text.count(f"const {np.dtype(dtype).name}_t base = opaque_") == 1
    for one, other in zip(jitted(x), shifted(x), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.left_shift(x, np.int64(3)),
        lambda x: np.left_shift(np.int32(1), x.astype(np.int32)),
        lambda x: np.left_shift(np.int64(1), x[0]),
    ],
)
def test_others_stay(function):
    x = np.arange(40)
    assert "opaque_i" not in jit(function).lower(x).as_text()
    np.testing.assert_array_equal(jit(function)(x), function(x))


def test_bit_masks_of_a_loop_of_python():
    def subsets(words, out):
        for i in range(len(words)):
            mask = 0
            for j in range(4):
                mask |= 1 << (words[i] >> 3 * j & 7)
            out[i] = mask & (1 << i % 7)
        return out

    words = np.random.default_rng(0).integers(0, 4096, 100)
    jitted = jit(subsets)
    assert "opaque_i64(1)" in jitted.lower(words, np.zeros(100, np.int64)).as_text()
    expected = subsets(words, np.zeros(100, np.int64))
    np.testing.assert_array_equal(jitted(words, np.zeros(100, np.int64)), expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.where(x > 1, 0.5, x * 2) > 0.7,
        lambda x: np.greater(0.7, np.where(x > 1, 0.5, np.where(x < -1, -0.5, x))),
        lambda x: (np.fmax(x, 0.5) < 0.6) | (x > 3),
        lambda x: np.logical_or(np.fmin(0.25, x), np.cosh(x)),
        lambda x: np.logical_xor(np.where(x > 0, 1.0, x), x),
        lambda x: np.sign(x) == 1,
        lambda x: np.where(x > 1, 0.0, x).astype(bool),
        lambda x: np.where(x > 1, 5, (x > 0) * 2 + (x > 0.5)) > 3,
    ],
)
def test_bounds_of_choices_of_constants_are_hidden(function):
    x = np.random.default_rng(0).normal(size=1000) * 2
    x[:6] = np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0
    for values in (x, x.astype(np.float32)):
        jitted = jit(function)
        assert "bound = opaque_" in jitted.lower(values).as_text()
        np.testing.assert_array_equal(jitted(values), function(values))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2 > 0.7,
        lambda x: np.where(x > 1, x, -x) > 0.7,
        lambda x: np.where(x > 1, 0.5, x * 2) > x,
        lambda x: np.maximum(x, 0.5) > 0.7,
    ],
)
def test_other_bounds_stay(function):
    x = np.random.default_rng(0).normal(size=1000)
    assert "opaque_f" not in jit(function).lower(x).as_text()
    np.testing.assert_array_equal(jit(function)(x), function(x))


def test_scalars_that_name_each_other_twice_are_looked_through_once():
    def f(x):
        for k in range(60):
            x = x * x + k
        return np.where(x > 0, x, 0.5) > 0.25

    assert jit(f).lower(np.zeros(100)).as_text()
