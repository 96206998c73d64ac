"""fill, sort, partition and flat: methods that change an array, through views too."""

import numpy as np
import pytest
from helpers import assert_same, ordinary

import transpile

CHANGES = [
    lambda x: x.fill(3),
    lambda x: x[0].fill(2.5),
    lambda x: x.T[1].fill(x[0, 0]),
    lambda x: x.sort(),
    lambda x: x.sort(axis=0),
    lambda x: x[:, 1].sort(),
    lambda x: x.sort(0, stable=True),
    lambda x: x.sort(5),
    lambda x: x.put([1, -2], [5, 6]),
    lambda x: x.flat.__setitem__(slice(1, 5, 2), 7),
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_method_changes_the_array_as_numpys(change, dtype):
    def f(x):
        x = x + 0
        row = x[1]
        assert change(x) is None
        return [x, row]

    assert_same(f, ordinary(dtype, (3, 4), 2))


def test_partition_puts_one_element_in_its_place():
    def f(x):
        x = x + 0
        x.partition(2)
        return x

    x = ordinary("f8", (5, 6), 3)
    found = transpile.jit(f)(x)
    np.testing.assert_array_equal(found[:, 2], np.sort(x)[:, 2])
    np.testing.assert_array_equal(np.sort(found), np.sort(x))


def test_elements_in_a_row_are_numpys():
    assert_same(lambda x: [x.flat[5], x.flat[1:4], x.T.flat[2]], ordinary("f8", (3, 4), 2))
