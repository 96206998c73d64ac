"""Arrays that a traced function makes are NumPy's until a traced value is assigned to them."""

import numpy as np
import pytest
from numpy import zeros
from thorough import one_in

import transpile
from transpile import lax
from transpile.errors import UnsupportedError

X = np.arange(1.0, 6.0)
TABLE = np.arange(5.0)


def helper(n, make=np.ones):
    return make(n)


def item(x):
    out = np.zeros(5)
    out[0] = x[0]
    out[3] = 7
    return out


def in_place(x):
    out = zeros(5)
    out += x
    out[1:-1] *= x[1:-1]
    return out


def view(x):
    out = np.zeros((2, 5))
    row = out[1]
    row[:] = x
    row[2] += x[0]
    return out, row


def alias(x):
    kept = {"out": np.full(5, 2.0)}
    same = kept["out"]
    same[1] = x[1]
    return kept["out"] + same


def by_helper(x):
    a, b = helper(5), helper(5)
    a[2] = x[2]
    return a, b


def traced_index(x):
    out = np.zeros(5)
    out[x.argmax()] = 1
    return out, np.array([3.0, 4.0, 5.0, 6.0, 7.0])[x.argmin()]


def copies(x):
    a, b = TABLE.copy(), np.array(TABLE)
    a[0] = x[0]
    b += x
    return a, b, TABLE + 0


def functions(x):
    a, b, c = np.zeros(5), np.arange(5), np.zeros_like(TABLE)
    np.add(x, 1, out=a)
    np.add.at(b, np.array([1, 1]), x[:2].astype(int))
    np.multiply(x, x, c)
    return a, b, c


def known_first(x):
    n = np.zeros(3, int)
    n[1] = 2
    out = np.zeros(n[1] + 3)  # n stays known: its values decide a shape
    out[n[1]] = x[0]
    return out


def in_a_list(x):
    rows = [np.zeros(2) for _ in range(3)]
    for k, row in enumerate(rows):
        row[k % 2] = x[k]
    return np.stack(rows)


def swallowed(x):
    out = np.zeros(5)
    try:
        out[0] = x[0]
    except Exception:
        return None
    return out


FUNCTIONS = [
    item,
    in_place,
    view,
    alias,
    by_helper,
    traced_index,
    copies,
    functions,
    known_first,
    in_a_list,
    swallowed,
]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@one_in(3)
def test_assignments_are_numpys(f):
    found = transpile.tree.leaves(transpile.jit(f)(X))
    expected = transpile.tree.leaves(f(X))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize("f", [item, in_place, alias, by_helper])
@one_in(2)
def test_assignments_in_transformations(f):
    rows = np.stack([X, X + 1, X * 2])
    for inside in (lambda g: g, transpile.jit):
        found = inside(transpile.vmap(f))(rows)
        expected = [f(row) for row in rows]
        for k, row in enumerate(expected):
            for a, b in zip(transpile.tree.leaves(found), transpile.tree.leaves(row), strict=True):
                np.testing.assert_array_equal(a[k], b)

        def total(x):
            return sum((leaf * leaf).sum() for leaf in transpile.tree.leaves(f(x)))

        slope = inside(transpile.grad(total))(X)
        steps = [(total(X + e) - total(X - e)) / 2e-6 for e in 1e-6 * np.eye(5)]
        np.testing.assert_allclose(slope, steps, rtol=1e-5, atol=1e-5)


def test_an_array_that_a_body_makes_is_its_own():
    def body(i, c):
        out = np.zeros(5)
        out[i] = c[i]
        return c + out

    found = transpile.jit(lambda x: lax.fori_loop(0, 5, body, x))(X)
    np.testing.assert_array_equal(found, 2 * X)


def test_a_body_cannot_assign_to_an_array_around_it():
    def f(x):
        out = np.zeros(5)

        def body(i, c):
            out[i] = c[0]
            return c

        lax.fori_loop(0, 5, body, x)
        return out

    with pytest.raises(UnsupportedError, match=r"`out\[i\] = c\[0\]` assigns .* loop's state"):
        transpile.jit(f)(X)


def test_an_array_without_traced_values_stays_numpys():
    kinds = []

    def f(x):
        a = np.zeros(3)
        a[0] = 2
        kinds.append(type(a))
        return x * a[0]

    transpile.jit(f)(X)
    assert kinds == [np.ndarray]


def test_an_array_of_the_surroundings_takes_no_traced_value():
    def f(x):
        TABLE[0] = x[0]
        return x

    with pytest.raises(TypeError, match="not to one of its surroundings"):
        transpile.jit(f)(X)
    assert TABLE[0] == 0


def test_a_function_is_traced_once_more_for_each_call_that_makes_one():
    count = []

    def f(x):
        count.append(1)
        a, b = np.zeros(5), np.ones(5)
        for k in range(5):
            a[k] = x[k]
            b[k] += a[k]
        return b

    np.testing.assert_array_equal(transpile.jit(f)(X), X + 1)
    assert len(count) == 3
