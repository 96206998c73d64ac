"""Branches that only read elements beside those that are read in any case become selects."""

import numpy as np
import pytest

import transpile
from transpile import ShapeDtypeStruct


def lives(g):
    """Conway's game of life (1970): three neighbours give life, two keep it."""
    h = np.zeros_like(g)
    for i in range(1, g.shape[0] - 1):
        for j in range(1, g.shape[1] - 1):
            s = g[i - 1, j - 1] + g[i - 1, j] + g[i - 1, j + 1] + g[i, j - 1] + g[i, j + 1]
            s += g[i + 1, j - 1] + g[i + 1, j] + g[i + 1, j + 1]
            h[i, j] = 1 if s == 3 or (s == 2 and g[i, j] == 1) else 0
    return h


def rises(x):
    """The next element is read in any case; behind the last one stands the first."""
    count = 0
    for i in range(len(x)):
        if x[i] > 0.25 and x[i + 1 if i + 1 < len(x) else 0] > x[i]:
            count += 1
    return count


def ordered(x):
    y = x.copy()
    for i in range(len(x) - 1):
        y[i] = x[i] if x[i] < 0.5 else (x[i + 1] if x[i + 1] < 0.5 else -1.0)
    return y


X = np.random.default_rng(5).random((9, 11))


@pytest.mark.parametrize(
    ("function", "x"), [(lives, (X > 0.5).astype(int)), (rises, X[0]), (ordered, X[1])]
)
def test_no_branch_is_left(function, x, shared_cache):
    np.testing.assert_array_equal(transpile.jit(function)(x), function(x))
    assert "cond[" not in transpile.jit(function).lower(x).as_text("graph")


def test_arrays_of_runtime_sizes(shared_cache):
    lowered = transpile.jit(rises).lower(ShapeDtypeStruct(("n",), np.float64))
    compiled = lowered.compile()
    for n in (1, 2, 11):
        assert compiled(X[2, :n].copy()) == rises(X[2, :n])


def test_indices_out_of_range_are_errors_where_they_are_asked_for():
    def beyond(x, k):
        return x[0] + x[k] if x[0] > 0.5 and x[k] > 0.0 else x[0]

    checked = transpile.jit(beyond, check_bounds=True)
    assert checked(np.array([0.25, 1.0]), 5) == 0.25
    with pytest.raises(IndexError):
        checked(np.array([0.75, 1.0]), 5)
