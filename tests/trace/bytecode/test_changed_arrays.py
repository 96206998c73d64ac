"""Known arrays that a traced function changes: where a traced value decides whether, by functions
and methods that change their argument, and arrays that expressions make."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.errors import UnsupportedError

TABLE = np.arange(4.0)
X = np.array([3.0, 1.0, 2.0, 0.0])


def deeper(k):
    k[2:] *= 2


def flattened(k):
    k.flat[1] = 9.0


# What changes `k` or `q`, in a branch.
CHANGES = {
    "copyto": lambda k, q: np.copyto(k, q),
    "fill": lambda k, q: k.fill(3),
    "sort": lambda k, q: k[::-1].sort(),
    "partition": lambda k, q: k[::-1].partition(2),
    "out": lambda k, q: np.add(k, q, out=k),
    "third": lambda k, q: np.add(k, q, k),
    "at": lambda k, q: np.add.at(k, [1, 1], 2.0),
    "put": lambda k, q: np.put(q, [0], 5),
    "cumsum": lambda k, q: np.cumsum(q, out=k),
    "diagonal": lambda k, q: np.fill_diagonal(q.reshape(2, 2), 4),
    "concatenate": lambda k, q: np.concatenate([q[:2], q[:2]], out=k),
    "putmask": lambda k, q: np.putmask(k, q > 0, 8.0),
    "clip": lambda k, q: k.clip(1, 2, out=k),
    "accumulate": lambda k, q: np.add.accumulate(k, out=q),
    "flat": lambda k, q: flattened(k),
    "method": lambda k, q: k.cumsum(out=q),
    "helper": lambda k, q: deeper(k),
}


@pytest.mark.parametrize("name", CHANGES)
@one_in(3)
def test_a_change_happens_where_the_traced_value_says_so(name):
    change = CHANGES[name]

    def f(x):
        k, q = TABLE * 2, np.ones(4)
        k = k + 1
        if x[0] > x[1]:
            change(k, q)
        return x + k + q, k, q

    compiled = transpile.jit(f)
    for x in (X, X[::-1].copy()):
        for found, expected in zip(compiled(x), f(x), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("change", [lambda: np.copyto(TABLE, 3), lambda: TABLE.fill(3)])
def test_surroundings_are_not_changed_in_a_branch(change):
    def f(x):
        if x[0] > x[1]:
            change()
        return x

    with pytest.raises(UnsupportedError, match="array of the function's surroundings"):
        transpile.jit(f)(X)
    np.testing.assert_array_equal(TABLE, np.arange(4.0))


def of_traced_values(x):
    a, b, c, d, e = np.empty(4), np.zeros(4), np.zeros(4), np.zeros((4, 4)), np.zeros(4)
    np.put_along_axis(a, np.argsort(x), x, axis=-1)
    np.copyto(b, x)
    np.putmask(b, x > 1, 9.0)
    np.put(b, [1], x[0])
    c.fill(x[0])
    c.put([1], x[2])
    np.fill_diagonal(d, x)
    np.place(e, x > 1, [7.0])
    return a, b, c, d, e


def test_functions_put_traced_values_into_made_arrays():
    for found, expected in zip(
        transpile.jit(of_traced_values)(X), of_traced_values(X), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_functions_put_no_traced_values_into_surroundings():
    with pytest.raises(TypeError, match="copyto changes its first argument, which is not traced"):
        transpile.jit(lambda x: np.copyto(TABLE, x))(X)
    with pytest.raises(TypeError, match="fill changes its array, which is not traced"):
        transpile.jit(lambda x: TABLE.fill(x[0]))(X)


def held(kept, array):
    kept.append(array)
    return array


def of_expressions(x):
    if x.sum() > 0:
        a = TABLE * 2
        a[1] = 7.0
        b = a[a > 2]
        b += 1
        at = np.atleast_1d(-1)
        at[at < 0] = 2
        kept = []
        c = held(kept, np.ones(4))
        c[0] = 5.0
        return x * b.sum() + a + TABLE[at] + kept[0]
    return x


def of_loops(x):
    w = TABLE * 2
    for i in range(600):
        w[i % 4] += x[i % 4]
        t = TABLE + 1
        t[0] = 9
        if x[1] > i:
            t[1:] *= 2
        x = x + t * 1e-3
    return w, x


def of_a_number(x):
    out = np.empty(())
    out[()] = x[0]
    if x[1] > 0:
        out[...] = x[2]
    return out[()]


@pytest.mark.parametrize("f", [of_expressions, of_loops, of_a_number])
def test_arrays_of_expressions_are_the_functions_own(f):
    found = transpile.tree.leaves(transpile.jit(f)(X.copy()))
    for one, other in zip(found, transpile.tree.leaves(f(X.copy())), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)


def identity(array):
    return array


def test_what_somebody_else_holds_is_no_array_of_the_function():
    def f(x):
        if x.sum() > 0:
            a = identity(TABLE)
            a[0] = 3.0
            return x + a
        return x

    with pytest.raises(UnsupportedError, match="array of the function's surroundings"):
        transpile.jit(f)(X)
    np.testing.assert_array_equal(TABLE, np.arange(4.0))


def test_a_known_array_by_a_traced_mask():
    def f(x):
        weights = np.broadcast_to(np.asarray(2.0), (4,))
        if x[0] > 0:
            return weights[x > 1].sum()
        return x[0]

    assert transpile.jit(f)(X) == f(X)


def test_arrays_over_memory_of_others_are_not_the_function_s_own():
    """What is assigned to them would be lost for the array whose memory it is."""
    known = np.zeros(4)

    def f(x):
        window = np.lib.stride_tricks.as_strided(known, (2, 2), (16, 8))
        if x[0] > x[1]:
            x = x + 1
        window[0, 0] = x[1]
        return x + known

    with pytest.raises(transpile.errors.TracerError):
        transpile.jit(f)(X)
    np.testing.assert_array_equal(known, 0)


def test_a_traced_choice_of_arrays_that_expressions_make_is_one_of_them():
    def f(x):
        a = TABLE * 2
        b = a if x[0] > x[1] else TABLE * 3
        b[0] = 100
        return a, b

    def among_two(x):
        a, b = TABLE * 2, TABLE * 3
        c: np.ndarray = a if x[0] > x[1] else b
        c[1:] = x[0]
        return a, b, c

    for function in (f, among_two):
        compiled = transpile.jit(function)
        for x in (X, X[::-1].copy()):
            for found, expected in zip(compiled(x), function(x), strict=True):
                np.testing.assert_array_equal(found, expected)


def test_a_part_that_a_traced_value_chose_and_that_changes_is_refused():
    def f(x):
        a = TABLE * 2
        b = a[1:] if x[0] > x[1] else a[:-1]
        b += 1
        return a, b

    with pytest.raises(UnsupportedError, match="may share memory"):
        transpile.jit(f)(X)


def test_arrays_of_which_one_attempt_has_found_that_they_change_are_traced_in_the_next():
    begun = []

    def f(x):
        begun.append(None)
        a, b, c = np.zeros(9), np.zeros(9), np.zeros(9)
        for i in range(9):
            a[i] = x[i]
            while a[i] > 3:
                b[i] += 1
                a[i] -= 3
            while b[i] > 2:
                c[i] += 1
                b[i] -= 2
        return a, b, c

    x = np.arange(9.0) ** 2
    for got, expected in zip(transpile.jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert len(begun) <= 8  # and the call of Python's own; 11 where each attempt found all anew
