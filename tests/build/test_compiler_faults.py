"""Programs that compilers have compiled wrongly: the flags that are chosen avoid it."""

from __future__ import annotations

import numpy as np
import pytest

import transpile

pytestmark = pytest.mark.full_level

TABLE = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 2, 1, 0], [1, 3, 3, 1]])


@pytest.mark.parametrize("dtype", ["i8", "f8", "c16", "i4", "f4", "u1"])
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
