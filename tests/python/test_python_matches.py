"""`match` on sequences and on True and False, as Python does it, and `is` of bools."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors

CASES = [(0, 0), (0, 3), (0, 9), (4, 0), (2, 2), (5, 1)]


def pairs(i, j):
    match (i, j):
        case (0, 0):
            r = 0
        case (0, k) if k > 5:
            r = 100 + k
        case (0, k):
            r = k
        case [k, 0]:
            r = 10 * k
        case (k, m) as both if k == m:
            r = 7 + both[0]
        case (k, m):
            r = k - m
    return r


def in_each_other(i, j):
    match [i, (j, i + j), 1.0]:
        case [0, (3 | 9, total), x]:
            r = total + x
        case [_, _]:
            r = -1.0
        case [_, (_, _) as inner, _]:
            r = inner[1] * 2.0
    return r


def bools(i, j):
    r = 0
    match i > j:
        case True:
            r = 1
        case False:
            r = 2
    match (i > 0, j > 2):
        case (True, True):
            r += 10
        case (True, False) | (False, True):
            r += 20
        case (False, _):
            r += 30
    return r


def returned(i, j):
    match i > j:
        case None:
            return 5
        case False:
            return 1
        case True:
            return 2


def identities(i, j):
    less = i < j
    if less is True:
        return 1
    return 2 if (i > j) is not False else 3


@pytest.mark.parametrize("function", [pairs, in_each_other, bools, returned, identities])
@one_in(2)
def test_matches(function):
    compiled = transpile.jit(function)
    for case in CASES:
        assert compiled(*case) == function(*case)


def is_true(x, flag):
    return x if flag is True else -x


def test_a_flag_of_python():
    """Its program is one for each value, as NumPy's True is not Python's."""
    compiled = transpile.jit(is_true)
    for flag in (True, False):
        assert compiled(2.0, flag) == is_true(2.0, flag)


def of_an_element(x):
    match x[0] > 1:
        case True:
            return 1.0
        case _:
            return 2.0


def test_a_bool_that_may_be_of_numpy_is_an_error():
    with pytest.raises(errors.TracerBoolConversionError, match="case True"):
        transpile.jit(of_an_element)(np.ones(2))


def products(x):
    a, b = x
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    return matrix @ [a, b], matrix @ ((a, b), (1.0, a))


def test_products_with_lists_of_traced_values():
    x = np.array([0.5, -3.0])
    for one, other in zip(transpile.jit(products)(x), products(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
