"""Calls that change a known array in ways that only they know, in branches and loops that traced
values decide: they do so when the program says it, or are errors. Python is the oracle."""

import operator
import random

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.errors import UnsupportedError

TABLE = np.arange(4.0)
X = np.array([3.0, 1.0, 2.0, 0.0])

# What changes `k`.
CHANGES = {
    "clip": lambda k, q: np.clip(k, 1, 2, k),
    "round": lambda k, q: np.round(k + 0.6, 0, k),
    "cumsum": lambda k, q: np.cumsum(q, None, None, k),
    "take": lambda k, q: np.take(q, [0, 0, 0, 0], None, k),
    "dot": lambda k, q: np.dot(np.eye(4), q, k),
    "method": lambda k, q: k.clip(1, 2, k),
    "view": lambda k, q: k[::-2].clip(1, 1, k[::-2]),
    "shuffle": lambda k, q: random.Random(3).shuffle(k),
    "setitem": lambda k, q: k.__setitem__(0, 9),
    "operator": lambda k, q: operator.setitem(k, slice(1, None), 9),
    "iadd": lambda k, q: operator.iadd(k, 1),
    "in place": lambda k, q: k.__iadd__(1),
}
# Those that NumPy's own code cannot do to a traced array.
REFUSED = {
    "out of a method": lambda k, q: q.cumsum(None, None, k),
    "draws": lambda k, q: np.random.default_rng(1).random(out=k),
    "descriptor": lambda k, q: np.ndarray.fill(k, 9),
    "shape": lambda k, q: setattr(k, "shape", (2, 2)),
}


def in_branch(change):
    def f(x):
        k, q = TABLE * 2, np.ones(4)
        if x[0] > x[1]:
            change(k, q)
        return x + k, k

    return f


def in_loop(change):
    def f(x):
        k, q = TABLE * 2, np.ones(4)
        i = 0
        while i < x[0]:
            change(k, q)
            i += 1
        return x + k, k

    return f


@pytest.mark.parametrize("statement", [in_branch, in_loop])
@pytest.mark.parametrize("name", CHANGES)
@one_in(3)
def test_a_call_changes_an_array_where_the_traced_value_says_so(name, statement):
    f = statement(CHANGES[name])
    compiled = transpile.jit(f)
    for x in (X, X[::-1].copy()):
        for found, expected in zip(compiled(x), f(x), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::transpile.errors.FrozenDrawWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_a_call_that_takes_no_traced_array_is_refused(name):
    with pytest.raises((TypeError, ValueError, UnsupportedError)):
        transpile.jit(in_branch(REFUSED[name]))(X)


def test_surroundings_stay_what_they_are():
    known = np.arange(4.0)
    for change in (*CHANGES.values(), *REFUSED.values()):

        def f(x, change=change):
            if x[0] > x[1]:
                change(known, np.ones(4))
            return x

        with pytest.raises((TypeError, UnsupportedError), match=r"surroundings|is not traced"):
            transpile.jit(f)(X)
        np.testing.assert_array_equal(known, np.arange(4.0))


def test_arrays_of_the_branch_itself_stay_known():
    def f(x):
        if x[0] > x[1]:
            k = np.arange(4)
            operator.setitem(k, 0, 3)
            return x[: int(k[0])].sum()
        return x[0]

    compiled = transpile.jit(f)
    for x in (X, X[::-1].copy()):
        assert compiled(x) == f(x)
