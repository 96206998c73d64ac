"""Programs that compilers have compiled wrongly: the flags that are chosen avoid it."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.build.toolchain import find_compiler
from transpile.codegen.plan.gcc_faults import is_repeated_too_often
from transpile.options import Options

pytestmark = pytest.mark.full_level

TABLE = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 2, 1, 0], [1, 3, 3, 1]])


@pytest.mark.parametrize("dtype", ["i8", "f8", "c16", "i4", "f4", "u1"])
@one_in(2)
def test_constant_arrays_that_end_in_zeros_are_copied_as_they_are(dtype):
    """gcc 12 broadcast the words before the zeros, where it stored 32 bytes at once."""
    words = TABLE.astype("i8").tobytes()  # which decide, not the numbers
    for table in (TABLE.astype(dtype), np.frombuffer(words, dtype)):
        copied = transpile.jit(table.copy)
        np.testing.assert_array_equal(copied(), table)


def test_a_table_is_copied_beside_other_results():
    got = transpile.jit(lambda x: (TABLE.copy(), x + TABLE, TABLE.astype(float)))(2.0)
    for value, want in zip(got, (TABLE, 2.0 + TABLE, TABLE.astype(float)), strict=True):
        np.testing.assert_array_equal(value, want)


@pytest.mark.parametrize("level", ["-O2", "-O3"])
def test_saved_programs_copy_them_as_they_are_with_any_flags(level, tmp_path):
    compiled = transpile.jit(TABLE.copy).lower().compile()
    compiled.save(tmp_path, name="table")
    command = [*find_compiler(Options()).command, level, "-march=native", "-shared", "-fPIC"]
    subprocess.run([*command, "table.c", "-o", "own.so", "-lm"], cwd=tmp_path, check=True)
    got = np.full_like(TABLE, 9)
    assert ctypes.CDLL(tmp_path / "own.so").table(got.ctypes.data_as(ctypes.c_void_p), None) == 0
    np.testing.assert_array_equal(got, TABLE)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([1, 1, 0, 0], True),
        ([7, 2, 2, 2, 0], True),
        ([-5, -5, -1, -1], True),
        ([3, 3, 3, 3, 0, 0, 0, 0], True),
        ([1, 1, 1, 1], False),
        ([0, 0, 0, 0], False),
        ([1, 1, 0, 1], False),
        ([1, 1, -1, -1], False),
        ([1, 0, 0, 0], False),
        ([1, 1, 0], False),
        ([], False),
    ],
)
def test_which_words_gcc_could_repeat_too_often(words, expected):
    words = np.array(words, "i8")
    assert is_repeated_too_often(words) == expected
    for dtype in ("i1", "f4", "c16")[: 3 if len(words) % 2 == 0 else 2]:
        assert is_repeated_too_often(words.view(dtype)) == expected
    if len(words):  # whatever number of elements is before them
        assert is_repeated_too_often(np.append(np.int8(9), words.view("i1"))) == expected
