"""Quotients of integers, of which short ones are made of floats in vector lanes: exact ones."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile

pytestmark = pytest.mark.full_level
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def operands(dtype):
    """Pairs of all sizes, of multiples and their neighbours, and of the extreme values."""
    random, info, size = np.random.default_rng(0), np.iinfo(dtype), 4000
    special = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, info.max // 3]
    special = np.array([*special, *([-1, -2, -3] if info.min else [])], dtype)
    x = random.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    y = random.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    y >>= random.integers(0, info.bits, size).astype(dtype)
    with np.errstate(over="ignore"):
        whole = np.floor_divide(x, np.where(y == 0, 1, y).astype(dtype))
    multiples = (whole * y).astype(dtype)
    pairs = [(x, y), (y, x), (multiples, y), (multiples - dtype(1), y), (multiples + dtype(1), y)]
    pairs.append((np.repeat(special, special.size), np.tile(special, special.size)))
    return [np.concatenate(side) for side in zip(*pairs, strict=True)]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("function", [np.floor_divide, np.remainder, np.fmod])
@one_in(6)
def test_quotients_are_numpys(function, dtype):
    x, y = operands(np.dtype(dtype).type)
    divisors = np.array([1, 2, 3, 7, 100], dtype)
    by_constants = transpile.jit(lambda x: [function(x, d) for d in divisors])
    fast = transpile.jit(function)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fast(x, y), function(x, y))
        for divisor, got in zip(divisors, by_constants(x), strict=True):
            want = function(x, divisor)
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(fast(x, np.array(divisor)), want)
        for divisor in {*y[-80:].tolist(), *(y // 2 + 1)[-80:].tolist(), *y[:20].tolist()}:
            scalar = np.array(divisor, dtype)
            np.testing.assert_array_equal(fast(x, scalar), function(x, scalar), str(divisor))
