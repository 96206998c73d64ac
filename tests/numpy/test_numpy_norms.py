"""numpy.linalg.norm against NumPy."""

import numpy as np
import pytest
from helpers import assert_same, ordinary
from thorough import one_in

ORDERS = [None, 2, -2, "nuc", 1, 0, 3, -1, 0.5, np.inf, -np.inf, "fro", "nonsense"]


@pytest.mark.parametrize("ord", ORDERS, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c16"])
@one_in(3)
def test_norms(ord, dtype):
    x = ordinary(dtype, (3, 4, 5))
    for axis in (1, -1, (0, 2), (2, 0)):
        for keepdims in (False, True):
            assert_same(lambda x: np.linalg.norm(x, ord, axis, keepdims), x, tolerance=1e-5)
    assert_same(lambda x: np.linalg.norm(x[0], ord), x, tolerance=1e-5)
    assert_same(lambda x: np.linalg.norm(x[0, 0], ord), x, tolerance=1e-5)


def test_norms_of_everything():
    x = ordinary("f8", (3, 4, 5))
    assert_same(np.linalg.norm, x, tolerance=1e-15)
    assert_same(lambda x: np.linalg.norm(x, 1), x)
    assert_same(lambda x: np.linalg.norm(x, axis=(0, 0)), x)
    assert_same(np.linalg.norm, x[:0], tolerance=1e-15)
