"""What shares memory, beside NumPy: copies that are asked for or not, iterators over elements,
arrays that are read-only, and arguments in other orders of memory."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_same
from helpers import evaluate as interpreted

import transpile
from transpile.errors import UnsupportedError
from transpile.transforms.interpret import interpret

X = np.arange(12.0).reshape(3, 4)

ASTYPE = getattr(np, "astype", lambda a, dtype, copy=True: a.astype(dtype, copy=copy))  # NumPy 2.1

# What is made of a matrix, which is then assigned to.
MADE = {
    "flat": lambda a: a.flat[2:5],
    "flat of columns": lambda a: a.T.flat[:],
    "flat of a vector": lambda a: a[0].flat[1:],
    "flat of a part of flat": lambda a: a.flat[::2].flat,
    "flat at places": lambda a: a.flat[[0, 5]],
    "astype in columns": lambda a: a.astype("f8", order="F", copy=False),
    "astype in rows": lambda a: a.T.astype("f8", order="C", copy=False),
    "astype of columns": lambda a: a.T.astype("f8", order="F", copy=False),
    "astype in any order": lambda a: a[:, ::2].astype("f8", order="A", copy=False),
    "astype": lambda a: a.astype("f8", copy=False),
    "np.astype": lambda a: ASTYPE(a, "f8", copy=False),
    "np.astype, a copy": lambda a: ASTYPE(a, "f8"),
    "array": lambda a: np.array(a),
    "array, no copy": lambda a: np.array(a, copy=False),
    "array, if needed": lambda a: np.array(a, copy=None),
    "array in columns": lambda a: np.array(a, copy=None, order="F"),
    "array of columns": lambda a: np.array(a.T, copy=None, order="F"),
    "array of more axes": lambda a: np.array(a, copy=None, ndmin=3),
    "array of another dtype": lambda a: np.array(a, "f4", copy=None),
    "array of a list": lambda a: np.array([a], copy=None),
    "asarray of a list": lambda a: np.asarray([a]),
    "asarray, a copy": lambda a: np.asarray(a, copy=True),
    "asarray": lambda a: np.asarray(a, copy=False),
    "asarray in columns": lambda a: np.asanyarray(a, "f8", "F"),
    "reshape": lambda a: a.reshape((2, 6), copy=None),
    "reshape, a copy": lambda a: a.reshape((2, 6), copy=True),
    "reshape, no copy": lambda a: np.reshape(a, (2, 6), copy=False),
    "meshgrid": lambda a: np.meshgrid(a[0], a[1]),
    "open meshgrid": lambda a: np.meshgrid(a[0], a[1], sparse=True),
    "open meshgrid of views": lambda a: np.meshgrid(a[0], a[1], sparse=True, copy=False),
    "open meshgrid of columns": lambda a: np.meshgrid(a[:, 0], a, sparse=True, copy=False),
    "meshgrid of one": lambda a: np.meshgrid(a[0]),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_what_is_made_of_an_array_shares_its_memory_as_in_numpy(made):
    def f(x):
        a = x * 1
        results = made(a)
        for b in results if isinstance(results, list | tuple) else [results]:
            b[...] = 99.0
        return a

    assert_same(f, X)


def test_a_copy_that_may_not_be_made_is_an_error():
    for made in (
        lambda a: np.array(a, order="F", copy=False),
        lambda a: np.asarray(a, "f4", copy=False),
        lambda a: np.array([a], copy=False),
        lambda a: a.T.reshape(12, copy=False),
    ):
        with pytest.raises(ValueError, match="Unable to avoid"):
            interpreted(made, X)


def test_views_of_trim_zeros_and_of_grids():
    def trimmed(x):
        a = x * 1
        np.trim_zeros(a[0])[...] = 9.0
        return a

    def grids(x):
        a = x * 1
        first, second = np.meshgrid(a[0], a[1], copy=False)
        a[0, 1] = 44.0
        return first + 0, second + 0

    with pytest.raises(UnsupportedError, match="trim_zeros gives a view"):
        interpreted(trimmed, X)
    assert_same(grids, X)


# Assignments through views of an array that is read-only.
WRITE = {
    "chosen row": lambda y, i: y[i].fill(1),
    "another dtype": lambda y, i: y.view("i8").fill(1),
    "real part": lambda y, i: y.real.fill(1),
    "flat": lambda y, i: y.flat.__setitem__(0, 1.0),
    "at": lambda y, i: np.add.at(y, 0, 1.0),
    "array": lambda y, i: np.array(y, copy=None).fill(1),
}


@pytest.mark.parametrize("write", WRITE.values(), ids=WRITE)
def test_views_of_a_read_only_array_are_read_only(write):
    def f(x):
        y = x * 2
        y.flags.writeable = False
        write(y, x[0].argmax() - 2)
        return y

    with pytest.raises(ValueError, match="read-only"):
        interpreted(f, X)


# Functions of a matrix, and whether what they give depends on how it lies in memory.
def reshape_of_the_argument(a):
    b = a.reshape(-1)
    b[0] = 9.0
    return b


def reshape_of_a_result(a):
    y = a + 1
    y.reshape(-1)[0] = 9.0
    return y


def order_that_is_asked_for(a):
    return a.ravel("K")


def flags(a):
    return np.array((a * 2).flags.c_contiguous)


def copy_in_columns(a):
    b = np.asfortranarray(a)
    b[0] = 5.0
    return b


def in_a_loop(a):
    y, i = a + 1, 0
    while i * a[0, 1] < 3:
        y.reshape(-1)[i] = 7.0
        i += 1
    return y


def reshape_behind_the_assignment(a):
    y = a * 2
    y[0] = 1.0
    return y.reshape(-1), y.ravel()


def reshape_of_a_copy(a):
    y = a.copy()
    y.reshape(-1)[0] = 3.0
    return y


def only_the_reshape(a):
    z = (a + 1).reshape(-1)
    z[0] = 3.0
    return z


def reshape_of_other_arrays(a):
    y = np.zeros((2, 2)) + a.sum()
    y.reshape(-1)[0] = 3.0
    return y, (a @ a.T).reshape(-1)


DEPENDS = [
    reshape_of_the_argument,
    reshape_of_a_result,
    order_that_is_asked_for,
    flags,
    copy_in_columns,
    in_a_loop,
]
DOES_NOT = [
    reshape_behind_the_assignment,
    reshape_of_a_copy,
    only_the_reshape,
    reshape_of_other_arrays,
]


@pytest.mark.parametrize("function", DEPENDS)
def test_an_argument_in_columns_is_refused_where_its_order_shows(function):
    """It is refused before anything is compiled."""
    jitted = transpile.jit(function)
    for x in (np.asfortranarray(X), np.arange(8192.0).reshape(64, 128)[:, ::2]):
        with pytest.raises(UnsupportedError, match=r"'a' of .* does not lie in rows"):
            jitted(x)


def test_an_argument_with_gaps_that_is_assigned_to_through_a_reshape():
    """Where it is small, it has the program for rows."""
    jitted = transpile.jit(reshape_of_the_argument)
    with pytest.raises(UnsupportedError, match="does not lie in rows"):
        jitted(X[:, ::2])


@pytest.mark.parametrize("function", DOES_NOT)
def test_an_argument_in_columns_is_taken_where_its_order_does_not_show(function):
    lowered = transpile.jit(function).lower(X)
    assert lowered.kept_layouts([(1, 0)]) == ((1, 0),)


# What a loop or a branch gives lies in an order that nobody knows, if an operand lies in columns.
def branch_of_columns(x):
    y = x.T + 1 if x[0, 0] > 0 else x.T * 2
    y.reshape(-1)[0] = 4.0
    return y


def loop_from_columns(x):
    y = x.T + 1
    while y[0, 0] < 50:
        y = y * 2
        y.reshape(-1)[1] = 4.0
    return y


def loop_that_transposes(x):
    y = x * 1
    while y[0, 0] < 50:
        y.reshape(-1)[1] = 4.0
        y = y.T * 2 + 1
    return y


@pytest.mark.parametrize("function", [branch_of_columns, loop_from_columns, loop_that_transposes])
def test_reshapes_of_what_loops_and_branches_make_of_columns_are_refused(function):
    with pytest.raises(UnsupportedError, match=r"does not lie in rows|do not lie in rows"):
        transpile.jit(function).lower(X[:, :3])


def test_reshapes_of_what_loops_and_branches_make_of_rows_are_views():
    def f(x):
        y = x + 1 if x[0, 0] > 0 else x * 2
        while y[0, 0] < 50:
            y = y * 2 + 1
            y.reshape(-1)[1] = 4.0
        y.reshape(-1)[0] = 4.0
        return y

    (found,) = interpret(transpile.jit(f).trace(X).jaxpr, [X])
    np.testing.assert_array_equal(found, f(X))


def assigned_through_a_transpose(x, p):
    x.T[0] = 3.0
    if p > 1:
        x.reshape(-1)[0] = 9.0
    return x


def assigned_through_a_vector(x, p):
    y = x + 1
    y.flat[2] = 1.0
    i = 0
    while i < p:
        y[::-1].T[0, i] = 7.0
        i += 1
    return y


@pytest.mark.parametrize("function", [assigned_through_a_transpose, assigned_through_a_vector])
def test_a_branch_assigns_to_an_array_that_was_assigned_to_through_a_view(function):
    """The value that a view was put back by is the array itself, and no view."""
    graph = transpile.jit(function).trace(X, 1).jaxpr
    for p in (1, 2):
        found = interpret(graph, [X, p])[0]
        np.testing.assert_array_equal(found, function(X * 1, p))


def stacked_in_a_branch(x):
    if x[0, 0] > 0:
        x = np.vstack([x])
    x[0] = 5.0
    return x


def padded_in_a_branch(x):
    if x[0, 0] > 0:
        x = np.pad(x, 0)
    x[0] = 5.0
    return x


@pytest.mark.parametrize("function", [stacked_in_a_branch, padded_in_a_branch])
def test_what_a_branch_makes_of_one_array_is_no_view_of_it(function):
    jitted = transpile.jit(function)
    for sign in (1.0, -1.0):
        x, y = sign * np.ones((2, 3)), sign * np.ones((2, 3))
        np.testing.assert_array_equal(jitted(x), function(y))
        np.testing.assert_array_equal(x, y)
