"""Loops that count the bits of an integer are one instruction; others stay."""

import numpy as np
from thorough import each

import transpile


def wegner(x):
    n = 0
    while x != 0:
        x &= x - 1
        n += 1
    return n, x


def counted_in_threes(x):
    n, k = 0, 1
    while x:
        n += 3
        x = x & (x - 1)
        k += 1
    return n, k, x


def shifted(x):
    n = 0
    while x > 0:
        n += x & 1
        x >>= 1
    return n, x


def halved(x):
    n = 0
    while x != 0:
        if x & 1:
            n += 1
        x //= 2
    return n, x


def shifted_first(x):
    n = 0
    while x > 0:
        x >>= 1
        n += x & 1
    return n, x


def lowest_zero(x):
    n = 0
    while x & 1:
        n += 1
        x >>= 1
    return n, x


def summed(x):
    """The sum of what is left each time."""
    n = 0
    while x != 0:
        x &= x - 1
        n += x
    return n, x


def doubled(x):
    n = 1
    while x != 0:
        x &= x - 1
        n *= 2
    return n, x


def of_two_bits(x):
    n = 0
    while x != 0:
        x &= x - 2
        n += 1
        x >>= 1
    return n, x


COUNTING = [wegner, counted_in_threes, shifted, halved]
LEFT = [shifted_first, lowest_zero, summed, doubled, of_two_bits]
NUMBERS = [0, 1, 2, 0b1011, 2**40 + 5, 2**62 + 2**61]


@each("f", [*COUNTING, *LEFT], ordinary=[*COUNTING, shifted_first], ids=lambda f: f.__name__)
def test_bits_are_those_of_python(f):
    compiled = transpile.jit(f)
    loops = compiled.lower(3).as_text()
    assert ("while (" in loops) is (f in LEFT)
    for x in NUMBERS:
        assert compiled(x) == f(x), x


@each("dtype", ["u1", "i2", "u4", "i8", "u8"], ordinary=["i2", "u8"])
def test_elements_have_the_bits_of_their_width(dtype):
    def bits(a):
        counts = np.zeros(65, np.int64)
        for i in range(len(a)):
            x, n = a[i], 0
            while x != 0:
                x &= x - 1
                n += 1
            counts[n] += 1
        return counts

    info = np.iinfo(dtype)
    a = np.array([0, 1, 7, 100, info.max, info.max - 4, info.min], dtype)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(transpile.jit(bits)(a), bits(a))


def test_negative_numbers_do_not_begin():
    assert transpile.jit(shifted)(-6) == (0, -6)
