"""Indexing by arrays and masks against NumPy: random keys, known and traced, read and written."""

from random import Random

import numpy as np
import pytest
from helpers import assert_same, evaluate, trace_to_graph
from thorough import one_in

import transpile
from transpile.numpy.subscripts.basic import set_item, update_item
from transpile.test_util import check_grads


class Drawn:
    """Random shapes and keys: integers, slices, arrays, lists, masks, None and an Ellipsis."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.rng = np.random.default_rng(seed)

    def shape(self):
        least = 0 if self.random.random() < 0.1 else 1
        return tuple(self.random.randint(least, 4) for _ in range(self.random.randint(0, 4)))

    def slice(self):
        starts, stops = (None, 0, 1, -2), (None, 2, -1)
        steps = (None, 1, 2, -1)
        return slice(*(self.random.choice(c) for c in (starts, stops, steps)))

    def array(self, size, common):
        shape = common[self.random.randint(0, len(common)) :]
        if self.random.random() < 0.1:
            shape = (5,)  # which need not fit to the others
        if not size:
            return np.zeros(shape, int)
        array = self.rng.integers(-size, size, shape)
        return array.tolist() if array.ndim and self.random.random() < 0.3 else array

    def key(self, shape):
        common = self.random.choice([(2,), (3, 2), (1,), (2, 1), (0,)])
        axes, axis, found = self.random.randint(0, len(shape)), 0, []
        while axis < axes:
            size = shape[axis]
            kind = self.random.choice(["number", "slice", "array", "array", "mask", "new", "even"])
            if kind == "mask":
                rank = self.random.randint(1, min(2, len(shape) - axis))
                found.append(self.rng.random(shape[axis : axis + rank]) < 0.5)
                axis += rank
                continue
            if kind == "new":
                found.append(None)
                continue
            if kind == "number":
                beyond = self.random.random() < 0.05
                found.append(self.random.randint(-size - beyond, max(size - 1, 0)))
            elif kind == "slice":
                found.append(self.slice())
            elif kind == "even":
                found.append(np.arange(0, size, 2))
            else:
                found.append(self.array(size, common))
            axis += 1
        if self.random.random() < 0.4:
            found.insert(self.random.randint(0, len(found)), Ellipsis)
        return tuple(found) if self.random.random() < 0.9 or not found else found[0]


def is_index(entry):
    return isinstance(entry, int) or (isinstance(entry, np.ndarray) and entry.dtype != bool)


def indices_of(key):
    """The integers and arrays of a key."""
    return [np.asarray(e) for e in key if is_index(e)]


def with_indices(key, indices):
    """The key with others in their place."""
    rest = iter(indices)
    return tuple(next(rest) if is_index(e) else e for e in key)


@pytest.mark.parametrize("seed", range(8))
@one_in(2)
def test_keys_with_arrays_read_and_write_as_in_numpy(seed):
    drawn = Drawn(seed)
    for _ in range(60):
        shape = drawn.shape()
        x, key = np.arange(np.prod(shape), dtype="f4").reshape(shape), drawn.key(shape)
        assert_same(lambda a, key=key: a[key], x)
        try:
            want = x[key]
        except IndexError:
            continue
        key = key if isinstance(key, tuple) else (key,)
        indices = indices_of(key)
        assert_same(lambda a, *i, key=key: a[with_indices(key, i)], x, *indices)
        values = np.arange(want.size, dtype="f8").reshape(want.shape) + 100
        if values.ndim and len(values) and drawn.random.random() < 0.3:
            values = values[0]
        for combine in ("set", "add"):
            changed = x.copy()
            if combine == "set":
                changed[key] = values
            else:
                np.add.at(changed, key, values)

            def update(a, v, *i, key=key, combine=combine):
                return update_item(a, with_indices(key, i) if i else key, v, combine)

            for given in ((), indices):
                (got,) = evaluate(update, x, values, *given)
                np.testing.assert_array_equal(got, changed, strict=True)


@pytest.mark.parametrize(
    "key",
    [
        np.array([0, 9]),
        [[0, 1], [0, -3]],
        ([0, 1], [0, 1, 2]),
        np.array([True, False, True]),
        (0, np.array([[True]])),
        np.array([0.5]),
        ([0], [0], [0]),
        "name",
    ],
)
def test_wrong_arrays_raise_numpys_error(key):
    assert_same(lambda x: x[key], np.ones((2, 3)))


def test_lists_of_traced_numbers_are_arrays_of_indices():
    x = np.arange(12.0).reshape(4, 3)
    assert_same(lambda a, i: a[[i, 0], [1, i]], x, np.int64(2))


def test_a_traced_mask_selects_as_many_elements_as_it_has_true():
    def assigned(x, v):
        x = x.copy()
        x[x > 0] = v
        return x

    x = np.array([1.0, -2.0, 3.0, 0.0])
    assert_same(lambda x: x[x > 0], x)
    assert_same(lambda x, m: x[m], x[0], np.array(True))
    assert_same(assigned, x, np.array([7.0, 8.0]))
    assert_same(lambda x, m: x[m], x, np.ones(3, bool))


def test_index_out_of_range_at_run_time_is_clipped_when_read_and_dropped_when_written():
    x = np.arange(4.0)
    read = transpile.jit(lambda a, i: a[i])
    np.testing.assert_array_equal(read(x, np.array([7, -9, -1, 2])), x[[3, 0, 3, 2]])
    write = transpile.jit(lambda a, i: set_item(a, i, -1.0))
    np.testing.assert_array_equal(write(x, np.array([7, -9, -1])), [0, 1, 2, -1])


def test_known_and_even_indices_are_slices():
    graph = trace_to_graph(lambda x: x[np.arange(0, 8, 2)], np.ones(9))
    assert [e.primitive.name for e in graph.equations] == ["slice"]


def test_even_updates_need_no_array_of_indices():
    text = transpile.jit(lambda x, v: set_item(x, slice(1, None, 2), v)).lower(
        np.ones(9), np.ones(4)
    )
    assert "out[2*i + 1] = v[i]" in text.as_text("loops")


def test_updates_of_rows_are_made_in_place():
    def rows(x, v):
        for i in range(50):
            x = set_item(x, i, x[i] * 2 + v[i])
        return x

    x = np.arange(400.0).reshape(50, 8)
    lowered = transpile.jit(rows).lower(x, x)
    assert not lowered.compiler_ir("loops").temporaries
    np.testing.assert_array_equal(lowered.compile()(x, x), x * 3)


def test_a_row_is_read_at_one_subscript():
    text = transpile.jit(lambda x, i: x[i] * 2).lower(np.ones((6, 8)), np.array([1, 2])).as_text()
    assert "const int64_t at = " in text
    assert text.index("const int64_t at") < text.index("x[at][")


def test_derivatives_of_indexing():
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(5, 3)), np.array([0, 2, 1, 2, 2])
    check_grads(lambda a: a[np.arange(5), labels], (x,), order=2)
    check_grads(lambda a: a[labels - 3] ** 2, (x,), order=2)
    places, even = rng.permutation(5), (slice(None, None, 2), 1)
    for f, v in (
        (lambda a, v: set_item(a, (places, 1), v) ** 2, x[:, 0] * 3),
        (lambda a, v: set_item(a, (labels, 1), v) ** 2, x[:, 0] * 3),
        (lambda a, v: update_item(a, labels, v, "add") ** 2, x * 2),
        (lambda a, v: update_item(a, labels, v, "maximum") ** 2, x * 2),
        (lambda a, v: set_item(a, even, v) ** 2, x[:3, 0] * 3),
    ):
        check_grads(transpile.jit(f), (x, v), order=2)


def test_gradient_of_chosen_losses_scatters():
    x, labels = np.ones((4, 3)), np.array([0, 2, 1, 1])
    got = transpile.grad(lambda a, i: a[np.arange(4), i].sum())(x, labels)
    want = np.zeros((4, 3))
    want[np.arange(4), labels] = 1
    np.testing.assert_array_equal(got, want)


def test_vmap_of_indexing_is_a_loop():
    rng = np.random.default_rng(1)
    x, i, v = rng.normal(size=(6, 4, 3)), rng.integers(-4, 4, (6, 5)), rng.normal(size=(6, 5, 3))
    got = transpile.vmap(lambda a, i: a[i])(x, i)
    np.testing.assert_array_equal(got, [a[k] for a, k in zip(x, i, strict=True)])
    got = transpile.vmap(lambda a, k, u: update_item(a, k, u, "add"))(x, i, v)
    for a, k, u, result in zip(x, i, v, got, strict=True):
        want = a.copy()
        np.add.at(want, k, u)
        np.testing.assert_allclose(result, want)
    shared = transpile.vmap(lambda a, k: a[1:, k[0]], in_axes=(None, 0))
    got = transpile.jit(shared)(x[0], i % 3)
    np.testing.assert_array_equal(got, [x[0][1:, k[0]] for k in i % 3])


CUBE = np.random.default_rng(5).normal(size=(4, 5, 6))
ROWS, COLUMNS, LAST = CUBE[:, 0, 0] > 0, CUBE[0, :, 0] > 0, CUBE[0, 0] > 0


@pytest.mark.parametrize(
    ("key", "mask", "value"),
    [
        (lambda m: (slice(None), m), COLUMNS, 0.0),
        (lambda m: (slice(None), m), COLUMNS, CUBE[0, 0]),
        (lambda m: (slice(None), m), COLUMNS, CUBE[:, :1]),
        (lambda m: (..., m), LAST, CUBE[..., :1]),
        (lambda m: (slice(1, 3), m), COLUMNS, 2),
        (lambda m: (slice(None, None, -2), m), CUBE[0] > 0, CUBE[:2, 0, :1]),
        (lambda m: (m, slice(2, 4)), CUBE[..., 0] > 0, CUBE[0, 0, :2]),
        (lambda m: (m, ..., slice(1, 2)), ROWS, 1.0),
        (lambda m: m, ROWS, CUBE[:1]),
        (lambda m: m, CUBE > 0, [7.0]),
    ],
)
@one_in(3)
def test_assignments_where_a_traced_mask_among_slices_holds(key, mask, value):
    def assigned(x, mask):
        y = x.copy()
        y[key(mask)] = value
        return y

    np.testing.assert_array_equal(transpile.jit(assigned)(CUBE, mask), assigned(CUBE, mask))


def test_masks_among_slices_that_do_not_fit():
    def assigned(x, mask, value):
        x[:, mask] = value

    f = transpile.jit(assigned)
    for mask, value, error, text in (
        (LAST, 0.0, IndexError, "along axis 1; size of axis is 5 but size of .* axis is 6"),
        (CUBE > 0, 0.0, IndexError, "too many indices"),
        (COLUMNS, np.ones(7), ValueError, "could not broadcast"),
        (COLUMNS, np.ones((4, 3, 6)), ValueError, "could not broadcast"),
    ):
        with pytest.raises(error, match=text):
            f(CUBE.copy(), mask, value)


def where_a_number_says_so(x):
    mask = x[0] > 0
    y, z, number = x * 2, x.reshape(2, 2) * 3, np.asarray(x[1])
    y[mask] = x[mask]
    z[:, mask] = x.reshape(2, 2)[:, mask]
    z[mask] += 1
    number[mask] = x[2, ...][mask]
    return y, z, number


def test_assignments_of_what_a_traced_bool_selects():
    compiled = transpile.jit(where_a_number_says_so)
    for x in (np.arange(4.0) + 1, -np.arange(4.0) - 1):
        for found, expected in zip(compiled(x), where_a_number_says_so(x), strict=True):
            np.testing.assert_array_equal(found, expected)
