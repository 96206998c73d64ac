"""Long lines along other axes than the last one are sorted as rows of a transpose."""

import numpy as np
import pytest
from helpers import ordinary
from passes import after

from transpile import jit
from transpile.machine import Machine
from transpile.passes.layouts.sorted_rows import sort_along_rows

SMALL = Machine(lines_in_lanes=4)
X = ordinary("f8", (9, 5), 1)
CUBE = ordinary("f8", (6, 7, 3), 2)


def names(f, *args):
    return after(lambda graph: sort_along_rows(graph, SMALL), f, *args)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: np.sort(x, axis=0), X, ["transpose", "sort", "transpose"]),
        (lambda x: np.sort(x.T, axis=0), X.T.copy().T, ["transpose", "sort", "transpose"]),
        (lambda x: np.argsort(x, axis=1), CUBE, ["transpose", "argsort", "transpose"]),
        (lambda x: np.sort(x, axis=1), X, ["sort"]),
        (lambda x: np.sort(x[:4], axis=0), X, ["slice", "sort"]),
        (lambda x: np.sort(x, axis=0), X[:, :1].copy(), ["sort"]),
    ],
    ids=["matrix", "transposed", "cube", "rows", "short", "single"],
)
def test_which_sorts_have_rows(f, x, expected):
    found = names(f, x)
    assert [name for name in found if name in ("transpose", "sort", "argsort", "slice")] == expected


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_long_lines_have_numpys_order(axis, order):
    x = np.array(ordinary("f8", (600, 3, 2), 3).swapaxes(0, axis), order=order).round(1)

    def several(x):
        middle = np.median(x, axis=axis)
        return np.sort(x, axis=axis), np.argsort(x, axis=axis, kind="stable"), middle

    for got, want in zip(jit(several)(x), several(x), strict=True):
        np.testing.assert_array_equal(got, want)
