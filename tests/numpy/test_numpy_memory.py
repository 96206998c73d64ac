"""What arrays share memory, and what their attributes say of it, as in NumPy."""

import numpy as np
import pytest

import transpile
from transpile.errors import UnsupportedError

X = np.arange(12.0).reshape(4, 3) + 1
Z = np.arange(4.0) * (1 + 2j)

# Views and copies of an array, of which the first element is assigned to.
PARTS = {
    "ravel": lambda x: x.ravel(),
    "ravel of a transpose": lambda x: x.T.ravel(),
    "reshape of a transpose": lambda x: x.T.reshape(-1),
    "reversed rows": lambda x: x[::-1].reshape(-1),
    "reversed columns": lambda x: x[:, ::-1].reshape(-1),
    "some columns": lambda x: x[:, :2].reshape(-1),
    "one column": lambda x: x[:, 1:2].reshape(-1),
    "ravel of one column": lambda x: x[:, 1:2].ravel(),
    "some rows": lambda x: x[1:3].reshape(-1),
    "every other row": lambda x: x[::2].reshape(2, 3, 1),
    "axes of one": lambda x: x.T[:, None].reshape(3, 4, 1),
    "another shape of a transpose": lambda x: x.T.reshape(4, 3),
    "column-major": lambda x: x.reshape(-1, order="F"),
    "column-major of a transpose": lambda x: x.T.reshape(-1, order="F"),
    "as in memory": lambda x: x.T.ravel("K"),
    "as in memory, or not": lambda x: x.T.reshape(12, order="A"),
    "twice": lambda x: x.T.T.ravel(),
    "flat": lambda x: x.T.flat,
    "contiguous": lambda x: np.ascontiguousarray(x.T),
    "contiguous already": lambda x: np.ascontiguousarray(x[1:]),
    "Fortran": lambda x: np.asfortranarray(x),
    "Fortran already": lambda x: np.asfortranarray(x.T),
    "asarray": lambda x: np.asarray(x[:, 0], order="C"),
}


def changed(x, y):
    y[0] = 99
    return x + 0, y[:] + 0


def test_assignments_to_parts_are_seen_where_numpy_shares_memory():
    def f(x):
        return [one(x, make) for make in PARTS.values()]

    def one(x, make):
        own = x * 1
        return changed(own, make(own))

    found = transpile.jit(f)(X)
    for name, (ours, part), (numpys, expected) in zip(PARTS, found, f(X), strict=True):
        np.testing.assert_array_equal(ours, numpys, err_msg=name)
        np.testing.assert_array_equal(part, expected, err_msg=name)


def test_assignments_to_parts_of_runtime_sizes():
    def f(x):
        results = []
        for make in map(PARTS.get, ("ravel", "reshape of a transpose", "ravel of one column")):
            own = x * 1
            results.append(changed(own, make(own)))
        return results

    sizes = transpile.dims("n, m", "n >= 2", "m >= 2")  # of vectors they are no copies
    compiled = transpile.jit(f, dynamic_shapes={"x": sizes})
    for x in (X, X[:3, :2].copy()):
        for (ours, _), (numpys, _) in zip(compiled(x), f(x), strict=True):
            np.testing.assert_array_equal(ours, numpys)


def results_own_their_memory(x):
    results = []
    for y in (np.cumsum(x, 0), np.sort(x, 0), x.T @ x, np.stack([x, x], axis=-1), np.diff(x, 1, 0)):
        y.reshape(-1)[0] = 99
        results.append(y)
    return results


def test_views_of_results():
    found = transpile.jit(results_own_their_memory)(X)
    for ours, numpys in zip(found, results_own_their_memory(X), strict=True):
        np.testing.assert_array_equal(ours, numpys)


def parts_of_numbers(z):
    real = z.real
    z[0] = 5 + 1j
    total = real.sum()
    real[1:] += 2
    z.imag[::2] = 4
    square = z.reshape(2, 2).T
    square.real[0] = 7
    np.multiply(square.imag, 2, out=square.imag)
    if z[1].real > 100:
        z.imag = 3
    for i in range(600):
        row = z.real[i % 3 :]
        row[0] += 1
        z.imag[i % 4] -= real[(i + 1) % 3]
    z[:2].imag = [1, 2]
    return z, real, total


def test_parts_of_complex_numbers_are_views():
    ours, numpys = Z.copy(), Z.copy()
    found, expected = transpile.jit(parts_of_numbers)(ours), parts_of_numbers(numpys)
    for a, b in zip((*found, ours), (*expected, numpys), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


NAMES = ("c_contiguous", "f_contiguous", "contiguous", "forc", "carray", "farray", "fnc")
ITEMS = ("C_CONTIGUOUS", "F", "OWNDATA", "O", "WRITEABLE", "W", "ALIGNED")


def flags(x):
    own = x * 1
    whole = [own, own + 1, np.cumsum(own, 0), own[[0, 1]], own.T.ravel()]
    views = [own.T, own[:, 1], own[1], own[:, ::-1], own.reshape(3, 4), own[None], own[:, :2]]
    arrays = [*whole, *views, (own + 0j).real, own.T.reshape(3, 2, 2), own[1:2].T]
    found = [[bool(getattr(y.flags, n)) for n in NAMES] for y in arrays]
    named = [[bool(y.flags[n]) for n in ITEMS] for y in arrays]
    rest = [(y.flags.owndata, y.flags.writeable, y.base is None) for y in arrays]
    is_same = own[1:].base.sum() == own.sum()
    return np.array(found), np.array(named), np.array(rest), is_same


def test_flags_and_base():
    for ours, numpys in zip(transpile.jit(flags)(X), flags(X), strict=True):
        np.testing.assert_array_equal(ours, numpys)


def test_names_of_flags_that_are_none():
    for ask, kind in (
        (lambda x: x.flags.nonsense, AttributeError),
        (lambda x: x.flags["NONSENSE"], KeyError),
        (lambda x: x.flags.__setitem__("ALIGNED", False), KeyError),
    ):
        with pytest.raises(kind):
            transpile.jit(ask)(X)


def test_read_only_arrays():
    def by_item(x):
        y = x * 2
        y.flags.writeable = False
        y[0] = 1
        return y

    def in_place(x):
        y = x * 2
        y.flags["WRITEABLE"] = False
        y += 1
        return y

    def again(x):
        y = x * 2
        y.flags.writeable = False
        y.flags.writeable = True
        y[0] = 1
        return y, y.flags.writeable

    with pytest.raises(ValueError, match="assignment destination is read-only"):
        transpile.jit(by_item)(X)
    with pytest.raises(ValueError, match="output array is read-only"):
        transpile.jit(in_place)(X)
    found, is_writeable = transpile.jit(again)(X)
    np.testing.assert_array_equal(found, again(X)[0])
    assert is_writeable


def shaped(x):
    y = x * 2
    same, row = y, y[1]
    y.shape = (3, -1)
    y[0] = 9
    row[0] = 7
    same.shape = y.size
    y.shape = 12
    z = np.atleast_2d(x[0])
    z.shape = (3, 1)
    return same, y + 1, row, z


def test_an_assignment_to_the_shape():
    for ours, numpys in zip(transpile.jit(shaped)(X), shaped(X), strict=True):
        np.testing.assert_array_equal(ours, numpys)


def assigned(name, value, make=lambda x: x * 2):
    def f(x):
        y = make(x)
        setattr(y, name, value)
        return y

    return f


def test_attributes_that_cannot_be_assigned():
    with pytest.raises(AttributeError, match="Incompatible shape for in-place modification"):
        transpile.jit(assigned("shape", 12, lambda x: x.T))(X)
    with pytest.raises(ValueError, match="cannot reshape array of size 12"):
        transpile.jit(assigned("shape", (5, -1)))(X)
    with pytest.raises(UnsupportedError, match=r"Write x = x.reshape\(shape\)"):
        transpile.jit(assigned("shape", 12, lambda x: x))(X)
    with pytest.raises(AttributeError, match=r"Write x = x.view\('int64'\)"):
        transpile.jit(assigned("dtype", np.int64))(X)


def test_an_assignment_to_flat():
    f = assigned("flat", [1.0, 2.0])
    np.testing.assert_array_equal(transpile.jit(f)(X), f(X))


# Functions that make vectors of their argument: a vector with gaps stays a view of its array.
OF_VECTORS = {
    "flatten": lambda c: c.flatten(),
    "ravel": np.ravel,
    "ravel in columns": lambda c: np.ravel(c, "F"),
    "take": lambda c: np.take(c, [0, 1]),
    "repeat": lambda c: np.repeat(c, 2),
    "append": lambda c: np.append(c, 1.0),
    "roll": lambda c: np.roll(c, 1),
    "outer": lambda c: np.outer(c, c),
    "vdot": lambda c: np.vdot(c, c),
    "meshgrid": lambda c: np.meshgrid(c, c)[0],
    "concatenate": lambda c: np.concatenate([c, c], axis=None),
    "sort": lambda c: np.sort(c, axis=None),
    "compress": lambda c: np.compress([True, False, True], c),
    "resize": lambda c: np.resize(c, 5),
}


def test_a_vector_with_gaps_stays_a_view_behind_functions_of_it():
    def f(x):
        return [one(x, function) for function in OF_VECTORS.values()]

    def one(x, function):
        own = x * 1
        column, last = own[:, 1], own[::2, 0]
        total = function(column).sum() + function(own[:3, 0]).sum()
        column -= total
        last.flat[0] = 9.0
        return own

    for name, found, expected in zip(OF_VECTORS, transpile.jit(f)(X), f(X), strict=True):
        np.testing.assert_allclose(found, expected, err_msg=name)


# Views by which a matrix is read whose diagonal is a view, too.
OF_MATRICES = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "every other row": lambda x: x[::2],
    "inside": lambda x: x[1:3, 1:3],
    "some columns": lambda x: x[:, :2],
}


def test_diagonals_of_views_are_views():
    def f(x):
        return [one(x, view) for view in OF_MATRICES.values()]

    def one(x, view):
        own = x * 1
        diagonal = np.diagonal(view(own))
        own[0, 0], own[1, 1] = 40.0, 50.0
        return diagonal + 0

    for name, found, expected in zip(OF_MATRICES, transpile.jit(f)(X), f(X), strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_an_argument_that_a_function_changed_and_returned_stays_a_view():
    def f(x):
        own = x * 1
        view = own[:, ::2]
        np.nan_to_num(view, copy=False)
        view[1] = 9.0
        return own

    np.testing.assert_array_equal(transpile.jit(f)(X), f(X))
