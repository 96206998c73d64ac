"""Loops over halves: converted in blocks, by calls, with NumPy's results whatever the length."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.ir.types import BFLOAT16

EVERY = np.arange(1 << 16).astype(np.uint16).view(np.float16)
QUIET = EVERY[~np.isnan(EVERY) | (EVERY.view(np.uint16) & 0x200 != 0)]


def text_of(f, *args):
    return transpile.jit(f).lower(*args).as_text()


def same(got, want):
    np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), want.view(f"u{want.itemsize}"))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_every_half_is_widened_and_rounded_as_by_numpy():
    widen = transpile.jit(lambda x: (x.astype(np.float32), np.sqrt(x), np.maximum(x, x[::-1])))
    for got, want in zip(
        widen(QUIET),
        (QUIET.astype("f4"), np.sqrt(QUIET), np.maximum(QUIET, QUIET[::-1])),
        strict=True,
    ):
        np.testing.assert_array_equal(got, want)
    floats = (
        np.random.default_rng(0).integers(0, 1 << 32, 50_000).astype(np.uint32).view(np.float32)
    )
    floats[np.isnan(floats)] = np.nan
    same(transpile.jit(lambda x: x.astype(np.float16))(floats), floats.astype(np.float16))


@pytest.mark.parametrize("n", [15, 16, 255, 256, 257, 1000])
@one_in(2)
def test_blocks_end_where_arrays_do(n):
    x, y = EVERY[15000 : 15000 + n], EVERY[40000 : 40000 + n]
    f = transpile.jit(lambda x, y: (x * y, np.sqrt(abs(x)), x + 1))
    for got, want in zip(f(x, y), (x * y, np.sqrt(abs(x)), x + np.float16(1)), strict=True):
        same(got, want)


def test_a_runtime_length_is_a_loop_over_blocks():
    shape = transpile.ShapeDtypeStruct(("n",), np.float16)
    compiled = transpile.jit(np.sqrt).lower(shape).compile()
    assert "widen_each_f16(256, " in compiled.as_text("c")
    for n in (1, 256, 700):
        x = EVERY[15000 : 15000 + n]
        same(compiled(x), np.sqrt(x))


def test_the_loop_in_between_reads_floats():
    text = text_of(lambda x, y: np.sqrt(x) * 2 + y, EVERY, EVERY)
    kernel = text[text.index("_kernel(") :]
    assert kernel.count("widen_each_f16(") == 2
    assert kernel.count("round_each_f16(") == 1
    assert "convert_f16_f32" not in kernel


def test_what_is_read_under_a_condition_or_with_gaps_is_converted_in_lanes():
    def pad(x):
        return np.sqrt(np.pad(x, 3)) + x[0]

    x = EVERY[15000:15300]
    same(transpile.jit(pad)(x), pad(x))
    text = text_of(lambda x: x[::3].astype(np.float32), EVERY)
    assert "widen_each_f16" not in text


def test_an_argument_is_updated_where_it_lies():
    def scale(x):
        x *= 3

    got, want = EVERY[15000:16000].copy(), EVERY[15000:16000].copy()
    transpile.jit(scale)(got)
    scale(want)
    same(got, want)


@pytest.mark.parametrize("dtype", ["f2", "bf16"])
def test_signs_are_bits(dtype):
    x = EVERY if dtype == "f2" else EVERY.view(BFLOAT16)
    f = transpile.jit(lambda x: (np.negative(x), abs(x)))
    bits = EVERY.view(np.uint16)
    for got, want in zip(f(x), (bits ^ 0x8000, bits & 0x7FFF), strict=True):
        same(got, want)
    text = text_of(lambda x: (-x, abs(x)), x)
    assert "convert_" not in text


def test_angles_that_are_halves_are_ordinary():
    text = text_of(np.sin, EVERY)
    assert "sin_near_f32" in text
    assert "sin_f32(" not in text
    want = transpile.jit(np.sin)(EVERY.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(transpile.jit(np.sin)(EVERY), want)
