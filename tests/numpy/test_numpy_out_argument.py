"""fill, sort, partition and flat: methods that change an array, through views too; `out` by
position."""

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


INTO = [
    (lambda x, out: np.clip(x, 1, 2, out), (3, 4)),
    (lambda x, out: x.clip(1, 2, out), (3, 4)),
    (lambda x, out: np.round(x, 1, out), (3, 4)),
    (lambda x, out: np.fix(x, out), (3, 4)),
    (lambda x, out: np.add(x, 1, out), (3, 4)),
    (lambda x, out: np.multiply(x[0], 2, out=out), (3, 4)),
    (lambda x, out: np.exp(x[0, 0], out), (2,)),
    (lambda x, out: np.cumsum(x, 1, None, out), (3, 4)),
    (lambda x, out: x.cumprod(0, None, out), (3, 4)),
    (lambda x, out: np.mean(x, 0, None, out), (4,)),
    (lambda x, out: x.sum(1, None, out), (3,)),
    (lambda x, out: np.median(x, 0, out), (4,)),
    (lambda x, out: np.percentile(x, 30, 1, out), (3,)),
    (lambda x, out: np.dot(x, x.T, out), (3, 3)),
    (lambda x, out: np.concatenate([x, 2 * x], 1, out), (3, 8)),
    (lambda x, out: np.take(x, [1, 0], 0, out), (2, 4)),
    (lambda x, out: x.compress([True, False, True], 0, out), (2, 4)),
    (lambda x, out: np.outer(x[0], x[1], out), (4, 4)),
]


def test_results_go_where_a_position_says(shared_cache):
    x = ordinary("f8", (3, 4), 2)

    def all_of(x, *outs):
        return [f(x, out) for (f, _), out in zip(INTO, outs, strict=True)]

    expected, found = ([np.full(shape, 7.0) for _, shape in INTO] for _ in range(2))
    all_of(x, *expected)
    results = transpile.jit(all_of)(x, *found)
    for k, (one, other, result) in enumerate(zip(expected, found, results, strict=True)):
        np.testing.assert_allclose(other, one, rtol=1e-14, err_msg=str(k))
        np.testing.assert_array_equal(result, other)
