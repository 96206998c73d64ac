"""Indices and offsets that are computed of runtime sizes, of either sign: they are NumPy's, also
where they are none of the axis."""

import numpy as np
import pytest

import transpile
from transpile import ShapeDtypeStruct


def put(x, indices):
    x = x.copy()
    np.put(x, indices, 9.0)
    return x


def assigned(x, indices):
    x = x.copy()
    x[indices] = 9.0
    return x


def added_at(x, indices):
    x = x.copy()
    np.add.at(x, indices, 1.0)
    return x


def put_along(x, indices):
    x = x.copy()
    np.put_along_axis(x, indices, 9.0, 0)
    return x


INDICES = {
    "index": lambda x: x[len(x) - 5],
    "list": lambda x: x[[len(x) - 5]],
    "list of several": lambda x: x[[0, len(x) - 5, -1]],
    "rows of a list": lambda x: x[[[len(x) - 5, 0], [1, len(x) // 2 - 3]]],
    "array": lambda x: x[np.array([len(x) // 2 - 3, 0])],
    "with an array": lambda x: np.outer(x, x)[[0, 1], len(x) - 5],
    "take": lambda x: np.take(x, len(x) // 2 - 3),
    "take some": lambda x: np.take(x, [len(x) // 2 - 3, 1]),
    "take, clip": lambda x: np.take(x, [len(x) // 2 - 3, 1], mode="clip"),
    "take, wrap": lambda x: np.take(x, [len(x) - 9, 1], mode="wrap"),
    "take along an axis": lambda x: np.take_along_axis(x, np.array([len(x) - 5, 0]), 0),
    "put along an axis": lambda x: put_along(x, np.array([len(x) - 5, 0])),
    "put": lambda x: put(x, len(x) - 5),
    "put some": lambda x: put(x, [len(x) - 5, 0]),
    "assigned": lambda x: assigned(x, [len(x) - 5, 0]),
    "added": lambda x: added_at(x, [len(x) - 5, 0, 0]),
    "delete": lambda x: np.delete(x, len(x) - 5),
    "delete some": lambda x: np.delete(x, [len(x) - 5, 0]),
    "insert": lambda x: np.insert(x, len(x) - 5, 9.0),
    "insert some": lambda x: np.insert(x, [len(x) - 5, 0], 9.0),
    "insert, too far": lambda x: np.insert(x, [2 * len(x) - 4], 9.0),
}
OFFSETS = {
    "diag": lambda x, m: np.diag(x, len(x) - 4),
    "diag of a matrix": lambda x, m: np.diag(m, len(x) - 4),
    "diagonal": lambda x, m: np.diagonal(m, 3 - len(x)),
    "sums of diagonals": lambda x, m: np.trace(m, len(x) - 4),
    "diagflat": lambda x, m: np.diagflat(x, 4 - len(x)),
    "eye": lambda x, m: np.eye(len(x), m.shape[1], k=len(x) - 4),
    "tri": lambda x, m: np.tri(len(x), 5, k=4 - len(x)),
    "triu": lambda x, m: np.triu(m, m.shape[1] - 4),
    "tril": lambda x, m: np.tril(m, len(x) - m.shape[1]),
    "triu_indices": lambda x, m: np.triu_indices(len(x), len(x) - 4, m.shape[1]),
}


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except IndexError as error:
        return type(error)


@pytest.mark.parametrize("dynamic_shapes", [{"x": ("n",)}, True])
@pytest.mark.parametrize("name", INDICES)
def test_an_index_is_numpys(name, dynamic_shapes):
    compiled = transpile.jit(INDICES[name], dynamic_shapes=dynamic_shapes)
    for size in (2, 3, 4, 5, 9):
        x = np.arange(1.0, size + 1)
        found, want = (outcome(f, x) for f in (compiled, INDICES[name]))
        assert found is IndexError if want is IndexError else np.array_equal(found, want), size


@pytest.mark.parametrize("name", OFFSETS)
def test_an_offset_is_numpys(name):
    compiled = transpile.jit(OFFSETS[name], dynamic_shapes={"x": ("n",), "m": ("n", "m")})
    for size, other in (1, 3), (2, 2), (3, 7), (4, 4), (6, 3), (9, 5):
        arguments = np.arange(1.0, size + 1), np.arange(1.0, size * other + 1).reshape(size, other)
        np.testing.assert_array_equal(compiled(*arguments), OFFSETS[name](*arguments))


def test_an_offset_has_a_gradient():
    def total(x):
        return (np.diag(x, len(x) - 4) * np.tri(len(x) + abs(len(x) - 4))).sum()

    gradient = transpile.jit(transpile.grad(total), dynamic_shapes={"x": ("n",)})
    for size in (2, 4, 6):
        assert np.array_equal(gradient(np.ones(size)), np.full(size, float(size <= 4)))


def test_an_index_in_a_body_asks_for_a_constraint():
    def chosen(x, y):
        return transpile.vmap(lambda row: row * x[[len(x) - 5]])(y)

    y = ShapeDtypeStruct(("m",), float)
    with pytest.raises(transpile.errors.UndecidedSizeError, match="the index n - 5 of"):
        transpile.jit(chosen).lower(ShapeDtypeStruct(("n",), float), y)
    (n,) = transpile.dims("n", "n >= 3")
    compiled = transpile.jit(chosen).lower(ShapeDtypeStruct((n,), float), y).compile()
    assert np.array_equal(compiled(np.arange(3.0), np.ones(2)), [[1.0], [1.0]])


def test_a_multiple_that_is_more_than_any_integer_is_refused():
    for function in (lambda x: x * (len(x) << 64), lambda x: x + len(x) * 2**70):
        with pytest.raises(OverflowError, match="too large"):
            transpile.jit(function).lower(ShapeDtypeStruct(("n",), float))
    found = transpile.jit(lambda x: x * (len(x) << 40), dynamic_shapes={"x": ("n",)})(np.ones(3))
    assert np.array_equal(found, np.full(3, 3.0 * 2**40))
