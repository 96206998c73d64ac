"""Numbers as text: the fewest digits that give them back, whatever the process is set to."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile.codegen.dialect import c_literal
from transpile.ir.loop_ir import Literal
from transpile.ir.number_text import bits_of, nan_bits, number_text
from transpile.ir.types import BFLOAT16

HALF, SINGLE, DOUBLE = (np.dtype(n) for n in ("float16", "float32", "float64"))


@pytest.mark.parametrize("dtype", [d for d in (HALF, BFLOAT16) if d is not None], ids=str)
@one_in(2)
def test_every_half_is_given_back_by_its_text(dtype):
    for bits, value in enumerate(np.arange(1 << 16, dtype=np.uint16).view(dtype)):
        assert bits_of(value, dtype) == bits
        text = number_text(value, dtype)
        if value == value:
            assert np.array(float(text)).astype(dtype).view(np.uint16) == bits, text
        else:
            assert "nan" in text and text.startswith("-") == (bits >= 1 << 15)


@given(st.integers(0, 2**32 - 1))
def test_a_float32_has_the_fewest_digits_that_give_it_back(bits):
    value = np.uint32(bits).view(SINGLE)
    text = number_text(value, SINGLE)
    if np.isfinite(value):
        assert np.float32(text).view(np.uint32) == bits
        shortest = np.format_float_scientific(value, unique=True)
        assert float(text) == float(shortest) and len(digits(text)) == len(digits(shortest))


def digits(text):
    """The digits of a number without sign, point, exponent and zeros around them."""
    return text.partition("e")[0].replace("-", "").replace(".", "").strip("0")


@given(st.one_of(st.floats(allow_nan=False), st.integers(0, 2**64 - 1)))
def test_a_float64_has_the_text_that_python_gives_it(number):
    value = (
        number if isinstance(number, float) else struct.unpack("<d", struct.pack("<Q", number))[0]
    )
    if value == value:
        assert number_text(value, DOUBLE) == repr(value)
    else:
        assert bits_of(value, DOUBLE) == number


@given(st.integers(-1074, 1023), st.sampled_from([-1, 0, 1]))
def test_powers_of_two_and_their_neighbours_have_the_text_that_python_gives_them(power, step):
    value = (np.float64(2.0**power).view(np.int64) + step).view(np.float64)
    assert number_text(value, DOUBLE) == repr(float(value))


@given(st.complex_numbers(allow_nan=False))
def test_a_complex_number_has_the_text_that_python_gives_it(value):
    assert number_text(value, np.dtype(complex)) == repr(value)


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_integer_is_its_digits(number):
    assert number_text(np.int64(number), np.dtype(np.int64)) == str(number)


NANS = {
    0x7FF8000000000000: "NAN",
    0xFFF8000000000000: "-NAN",
    0x7FF8000000000123: '__builtin_nan("0x123")',
    0xFFF4000000000001: '-__builtin_nans("0x4000000000001")',
}


@pytest.mark.parametrize("bits", NANS)
def test_a_nan_keeps_its_bits(bits):
    value = np.uint64(bits).view(DOUBLE)
    assert c_literal(value, DOUBLE) == NANS[bits]
    assert nan_bits(value, DOUBLE)[1] == bits & (2**51 - 1)
    constant = np.array([value, 1.0])
    found = transpile.jit(lambda x: (constant, x + 1))(np.ones(2))[0]
    np.testing.assert_array_equal(found.view(np.uint64), constant.view(np.uint64))


def test_the_sign_of_a_nan_that_a_choice_gives_is_kept():
    def choose(x):
        return np.where(x > 1, -np.nan, x), np.where(x > 1, np.nan, x)

    x = np.array([0.0, 2.0])
    for found, wanted in zip(transpile.jit(choose)(x), choose(x), strict=True):
        np.testing.assert_array_equal(found.view(np.uint64), wanted.view(np.uint64))


def test_literals_are_equal_that_have_equal_bits():
    assert Literal(0, DOUBLE) == Literal(0.0, DOUBLE) and Literal(0.0, DOUBLE) != Literal(
        0.0, SINGLE
    )
    assert Literal(0.0, DOUBLE) != Literal(-0.0, DOUBLE)
    assert Literal(np.nan, DOUBLE) == Literal(np.nan, DOUBLE) != Literal(-np.nan, DOUBLE)
    assert len({Literal(x, DOUBLE) for x in (0.0, -0.0, 0, np.nan, np.nan)}) == 3


def test_products_with_both_zeros_are_two():
    """They were taken for one, as 0.0 == -0.0."""

    def both(x):
        return 1 / (x * 0.0), 1 / (x * -0.0)

    with np.errstate(divide="ignore"):
        for found, wanted in zip(transpile.jit(both)(np.ones(3)), both(np.ones(3)), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_a_complex_zero_with_a_negative_part_is_subtracted():
    """x - 0 is x, but -0.0 - -0.0 is 0.0, in each part."""

    def less(x):
        return x - complex(0.0, -0.0), x - complex(-0.0, 0.0), x - complex(0.0, 0.0)

    x = np.array([complex(-0.0, -0.0)])
    for found, wanted in zip(transpile.jit(less)(x), less(x), strict=True):
        np.testing.assert_array_equal(found.view(np.uint64), wanted.view(np.uint64))
