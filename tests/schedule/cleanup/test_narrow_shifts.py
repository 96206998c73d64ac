"""Shifts of which the lower half is kept: what Python computes with integers of any length."""

import numpy as np
import pytest

import transpile

SEEDS = (0, 1, 2463534242, 2**32 - 1, 2**40 + 12345, 2**53 + 7)


def text_of(f, *args):
    return transpile.jit(f).lower(*args).as_text()


@pytest.mark.parametrize("count", [0, 1, 5, 13, 31])
def test_generators_of_32_bits(count):
    def drawn(state, n):
        for _ in range(n):
            state ^= (state << count) & 0xFFFFFFFF
            state ^= state >> 17
            state ^= 0xFFFFFFFF & (state << 5)
        return state

    jitted = transpile.jit(drawn)
    assert "left_shift_u32((uint32_t)" in text_of(drawn, 1, 3)
    for seed in SEEDS:
        assert jitted(seed, 9) == drawn(seed, 9)


def test_negative_numbers_and_words_without_sign():
    def mixed(state, n):
        total = state
        for k in range(n):
            total ^= ((total - k) << 7) & 0xFFFFFFFF
        return total

    jitted = transpile.jit(mixed)
    for seed in (-1, -5, -(2**31), -(2**33) - 3):
        assert jitted(seed, 6) == mixed(seed, 6)
    words = transpile.jit(lambda x, n: mixed(x[0], n))
    assert words(np.array([2**63 + 5], np.uint64), 6) == mixed(2**63 + 5, 6)


def test_other_shifts_stay():
    def by_a_number(state, n):
        for k in range(n):
            state ^= (state << k) & 0xFFFFFFFF
        return state

    def beyond(state, n):
        for _ in range(n):
            state ^= (state << 32) & 0xFFFFFFFF
            state += 1
        return state

    def other_masks(state, n):
        for _ in range(n):
            state ^= (state << 3) & 0x7FFFFFFF
            state ^= (state << 3) & 0x1FFFFFFFF
        return state

    for f in (by_a_number, beyond, other_masks):
        assert "left_shift_u32" not in text_of(f, 1, 3)
        for seed in SEEDS[:5]:
            assert transpile.jit(f)(seed, 8) == f(seed, 8)


def test_lanes_keep_their_masks():
    def hashed(x):
        return (x << 13) & 0xFFFFFFFF

    x = np.arange(1000) * 12345678901
    assert "left_shift_u32" not in text_of(hashed, x)
    np.testing.assert_array_equal(transpile.jit(hashed)(x), hashed(x))
