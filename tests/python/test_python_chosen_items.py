"""Items that traced values choose: lists with a condition, `next`, `filter` and `takewhile`; texts
that are made by `%` and `format`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import transpile

X = np.array([1.0, -2.0, 3.0, 0.5, -0.5, 2.0, 7.0, -1.0])
CASES = (X, -X, np.abs(X), -np.abs(X))


def check(function, cases=CASES):
    compiled = transpile.jit(function, compiler_options={"opt_level": 0})
    for x in cases:
        wanted, found = function(x), compiled(x)
        assert transpile.tree.structure(found) == transpile.tree.structure(wanted)
        for one, other in zip(*map(transpile.tree.leaves, (found, wanted)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def lists(x):
    above = [2 * v for v in x if v > 0]
    places = [i for i, v in enumerate(x) if v > 0 and i % 2]
    known = [v for k, v in enumerate(x) if k % 2]
    total = 0.0
    for v in above:
        total += v
    return above, places, known, len(above), sum(above), total, np.array(above), len(known)


def long_list(x):
    """Conditions that are known need no list of the program, however long it is."""
    return [float(k) for k in range(200) if k % 50 == 0], sum([v for v in x if v < 1])


def of_iterators(x):
    squares = 0.0
    for v in filter(lambda v: v > 0, x):
        if v > 5:
            break
        squares += v * v
    first = 0.0
    for v in itertools.takewhile(lambda v: abs(v) < 3, x):
        first += v
    small = list(filter(lambda v: v < 1, x))
    before = list(itertools.takewhile(lambda v: abs(v) < 3, x))
    known = list(filter(lambda k: k % 2, range(6)))
    return squares, first, small, before, known, sum(filter(None, [v > 0 for v in x]))


def firsts(x):
    place = next((i for i, v in enumerate(x) if v > 2), -1)
    return place, next((v for v in x if v < -1), 0.5), next(iter([3, 4]))


def test_items_that_traced_values_choose():
    check(lists)
    check(lambda x: (long_list(x), firsts(x)))
    check(of_iterators)


def test_no_item_is_an_exception():
    @transpile.jit
    def first(x):
        return next(v for v in x if v > 5)

    assert first(X) == 7.0
    with pytest.raises(StopIteration):
        first(-X)


def refuses(x, n):
    if x[0] > 2:
        raise ValueError("%s is above %d%% of %5.2f" % (x[0], n, 2 * x[0]))  # noqa: UP031
    if x[0] > 1:
        raise ValueError("{} is {:.3f}, not {name!r:>4}".format(n, x[0], name=x[1]))  # noqa: UP032
    if x[0] > 0:
        raise ValueError("%(x)08.3f" % {"x": x[0]})  # noqa: UP031
    assert "%d of %s" % (n, "x") == "7 of x"  # noqa: UP031
    return x


def test_texts_of_traced_values():
    compiled = transpile.jit(refuses, static_argnums=1)
    for first in (3.0, 1.5, 0.25):
        with pytest.raises(ValueError, match=r".") as wanted:
            refuses(np.array([first, 2.5]), 7)
        with pytest.raises(ValueError, match=r".") as found:
            compiled(np.array([first, 2.5]), 7)
        assert str(found.value) == str(wanted.value)
