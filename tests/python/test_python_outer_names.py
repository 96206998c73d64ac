"""Names that a condition binds (`:=`), or that belong to an outer scope, as Python has them."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors

K = np.array([3, 1, 4, 1, 5, 9, 2, 6])
X = np.array([3.0, -1.0, 4.0, 1.5, -5.0, 9.0])


def halves(x):
    n = 0
    while (x := x / 2) > 1:
        if (n := n + 1) > 20:
            break
    return x, n


def searches(k):
    i = 0
    while (x := k[i]) != 9 and i < 7:
        i += 1
    else:
        i += 100
    return i, x


def leaves_the_loop_around(k):
    total = 0
    for i in range(len(k)):
        j = i
        while (y := k[j % 8] * 2) > 3 and j < 40:
            if y > 10:
                break
            j += y
        else:
            continue
        total += j + y
    return total


def decides(k):
    s = 0
    q = 0
    for i in range(len(k)):
        if (y := k[i]) > 3:
            s += y
        elif (z := y * 2) > 5:
            s += z
        if k[i] > 1 and (q := k[i] * 2) > 5:
            s += q
        if k[i] > 5 or i + (r := k[i] + i) < 4 or (r := r * 2) > 20:
            s += r if k[i] <= 5 else 1
    return s, q


def of_functions_inside(k):
    def largest(n):
        best = 0
        while n > 0 and (best := max(best, k[n - 1])) < 9:
            n -= 1
        return best, n

    return largest(4), largest(8)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (halves, (100.0,)),
        (halves, (0.5,)),
        (searches, (K,)),
        (searches, (K[::-1].copy(),)),
        (leaves_the_loop_around, (K,)),
        (decides, (K,)),
        (of_functions_inside, (K,)),
    ],
)
@one_in(2)
def test_conditions_that_bind(f, args):
    found, wanted = transpile.jit(f)(*args), f(*args)
    for one, other in zip(transpile.tree.leaves(found), transpile.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_evaluated_before_is_not_evaluated_later():
    """`next_one()` is called before what the condition names is bound."""

    def f(x):
        calls = []

        def next_one():
            calls.append(1)
            return len(calls)

        while next_one() < (n := 3):
            x = x + n
        if x > 0:
            x = x * 2
        return x

    assert transpile.jit(f)(1.0) == f(1.0)


COUNT = 0


def counts(v):
    n = 0

    def step(x):
        nonlocal n
        n += 1
        return x * n

    s = 0.0
    if v[0] > 0:
        s = s + 1
    return s + step(v[0]) + step(v[1]), n


def counts_in_the_module(v):
    def step():
        global COUNT
        COUNT += 1

    s = 0.0
    for x in v:
        if x > 0:
            step()
            s += x
    return s


def all_inside(v):
    s = 0.0
    for x in v:
        if x > 0:
            n = 0

            def step(x):
                nonlocal n
                n += 1
                return x * n

            s += step(x) + step(x + 1)
    return s


def test_variables_of_a_scope_around():
    for f in (counts, all_inside):
        found, wanted = transpile.jit(f)(X), f(X)
        np.testing.assert_allclose(transpile.tree.leaves(found), transpile.tree.leaves(wanted))


def _note_one():
    """A straight line, which has nothing else that is to be converted."""
    global COUNT
    COUNT += 1


def counts_by_a_helper(v):
    for x in v:
        if x > 0:
            _note_one()
    return COUNT


def _counter():
    count = 0

    def note():
        nonlocal count
        count += 1
        return count

    return note


NOTE = _counter()


def counts_by_a_closure(v):
    k = 0
    while v[0] > k:
        k = NOTE()
    return k


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (counts_in_the_module, "COUNT"),
        (counts_by_a_helper, "COUNT"),
        (counts_by_a_closure, "count"),
    ],
)
def test_variables_of_outer_scopes_are_of_no_iteration(f, name):
    with pytest.raises(errors.UnsupportedError, match=f": {name} of an outer scope"):
        transpile.jit(f)(X)


def test_truths_of_python_add_up():
    def f(v):
        s = 0
        for i in range(3):
            s += any(v > 8) + all(v > -10) + bool(v[i] > 1) + bool(v[0] > 1)
            s += (not v[i] < 1) + (not v[0] < 1) + (v[i] in (3.0, 4.0)) + (v[2] in (3.0, 4.0))
            s += all([v[0] > 1, v[2] > 2]) + any([v[0] > 1, v[2] > 2])
            s += any(x > 1 for x in v[: i + 1]) + all(x > -9 for x in v[: i + 1])
        return s

    assert transpile.jit(f)(X) == f(X)
