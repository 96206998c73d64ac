"""Nests whose rows depend on the column: a row has the columns that have so many rows."""

import numpy as np
import pytest
from source_text import function_of
from thorough import THOROUGH, one_in

from transpile import ShapeDtypeStruct, dims, jit
from transpile.machine import Machine

pytestmark = pytest.mark.full_level

BEFORE = "def f(x, y, out):\n    n = len(out)\n    for i in range(n):\n        s = 0.25\n"
BEHIND = "        out[i] = s\n    return out\n"
ENDS = ["n - i", "i", "i + 1", "i + 3", "n - 1 - i", "i + 1, n", "5 - i", "i - 7", "2 * n - i"]
TERMS = [
    "x[j] * y[i + j]",
    "x[i] * y[j + i]",
    "x[i + j] / (1 + y[j] * y[j])",
    "x[j] * y[i - j + n]",
]
TERMS += ["max(s, x[i + j]) - s", "abs(x[i + j] - y[i]) + 0.125 * i * j"]


def drawn(end, term):
    return f"{BEFORE}        for j in range({end}):\n            s += {term}\n{BEHIND}"


def arguments(n):
    random = np.random.default_rng(n)
    return random.normal(size=4 * n + 9), random.normal(size=4 * n + 9), np.zeros(n)


def options(strip):
    machine = Machine(strip=strip, fewest_columns=5, least_parallel_work=1, fewest_shared=2)
    return {"opt_level": 1, "machine": machine, "num_threads": 2}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("term", TERMS if THOROUGH else TERMS[::2])
@one_in(3)
def test_sums_are_those_of_python(end, term):
    function = function_of(drawn(end, term), f"<{end}: {term}>")
    for n, strip in ((133, 8), (160, 16)) if THOROUGH else ((133, 8),):
        x, y, out = arguments(n)
        expected = function(x, y, out.copy())
        found = jit(function, compiler_options=options(strip))(x, y, out)
        np.testing.assert_array_equal(found, expected, err_msg=f"{end}: {term}, {n}")


@pytest.mark.parametrize(
    ("end", "rows", "columns"),
    [
        (
            "n - i",
            "for j in -last + 600..-64*strip + 600",
            "64*strip..min(64*strip + 64, -j + 600)",
        ),
        ("i + 1, n", "for j in -last + 599..-64*strip", "64*strip..min(64*strip + 64, -j + 599)"),
        ("i + 1", "for j in 64*strip + 1..last + 1", "j..min(64*strip + 64, 600)"),
    ],
)
def test_rows_of_all_columns_of_a_strip_are_jammed_and_others_have_those_left(end, rows, columns):
    function = function_of(drawn(end, "x[j] * y[i + j]"), f"<{end}>")
    text = jit(function).lower(*arguments(600)).as_text("loops")
    assert "for group in" in text and "s_own add=" in text, text
    assert rows in text, text
    assert f"for i in {columns} simd" in text.split(rows, 1)[1], text


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128, np.uint8])
@one_in(3)
def test_convolutions_are_those_of_numpy(mode, dtype):
    random = np.random.default_rng(3)
    for n, m in ((150, 150), (97, 64), (64, 97), (300, 9), (31, 500), (70, 1)):
        x, y = (random.integers(-9, 9, k).astype(dtype) for k in (n, m))
        found = jit(lambda x, y: np.convolve(x, y, mode), compiler_options=options(16))(x, y)
        np.testing.assert_array_equal(found, np.convolve(x, y, mode), err_msg=f"{n}, {m}")


def test_nothing_beyond_the_ends_counts():
    x, y = np.ones(90), np.ones(90)
    x[[0, 40, 89]] = np.inf, np.nan, -np.inf
    found = jit(lambda x, y: np.convolve(x, y), compiler_options=options(16))(x, y)
    np.testing.assert_array_equal(found, np.convolve(x, y))


def test_a_window_is_read_in_columns():
    """x[i + j] is contiguous along both loops: sums of columns are not added across lanes."""

    def moving(x, y):
        return np.lib.stride_tricks.sliding_window_view(x, 40) @ y

    x, y = np.random.default_rng(0).normal(size=900), np.random.default_rng(1).normal(size=40)
    lowered = jit(moving).lower(x, y)
    text = lowered.as_text("loops")
    assert "for strip in" in text and "acc_own add=" in text, text
    np.testing.assert_allclose(lowered.compile()(x, y), moving(x, y), rtol=1e-12, atol=1e-12)


def test_one_program_for_every_length():
    function = function_of(drawn("n - i", "x[j] * y[i + j]"), "<every length>")
    n, m = dims("n, m", "2 * n <= m", "8 <= n")
    shapes = [ShapeDtypeStruct((k,), np.float64) for k in (m, m, n)]
    compiled = jit(function, compiler_options=options(8)).lower(*shapes).compile()
    for length in (8, 9, 64, 133):
        x, y, out = arguments(length)
        np.testing.assert_array_equal(compiled(x, y, out.copy()), function(x, y, out.copy()))


def test_a_scalar_that_subscripts_read_in_the_rows_stays():
    def picked(x, k, out):
        for i in range(len(out)):
            at = k[i]
            s = 0.0
            for j in range(len(x) - 20):
                s += x[j + at] * x[j]
            out[i] = s
        return out

    x = np.random.default_rng(0).normal(size=200)
    k = np.arange(160) % 19
    np.testing.assert_array_equal(jit(picked)(x, k, np.zeros(160)), picked(x, k, np.zeros(160)))
