"""Drawn programs of views, copies and assignments: which results share memory is as in NumPy.

A program makes arrays of others, assigns to some, and returns all. It is traced and interpreted,
for known sizes and for runtime ones. Flags, strides and what owns memory are compared on the way.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from helpers import evaluate as interpreted
from thorough import thorough

import transpile
from transpile.errors import UndecidedSizeError, UnsupportedError
from transpile.ir.graph_rewrite import in_sizes
from transpile.ir.types import ArrayType
from transpile.trace.trace import trace_function
from transpile.trace.tracer import Tracer
from transpile.transforms.interpret import interpret
from transpile.util.frozen_records import replace


def axis_of(r, a):
    return r.randrange(a.ndim)


# Each makes an array of one or two, by numbers drawn for it.
MAKE = {
    "T": lambda r, a, b: a.T,
    "swap": lambda r, a, b: np.swapaxes(a, 0, -1),
    "roll axes": lambda r, a, b: np.moveaxis(a, axis_of(r, a), axis_of(r, a)),
    "new axis": lambda r, a, b: [a[None], a[:, None], a[..., None]][r.randrange(3)],
    "reversed": lambda r, a, b: a[::-1],
    "flip": lambda r, a, b: np.flip(a, axis_of(r, a)),
    "steps": lambda r, a, b: a[..., :: 2 + r.randrange(2)],
    "steps of rows": lambda r, a, b: a[:: 2 + r.randrange(2)],
    "tail": lambda r, a, b: a[..., :1] if r.randrange(2) else a[:1],
    "item": lambda r, a, b: a[0],
    "vector": lambda r, a, b: a.reshape(-1),
    "ravel": lambda r, a, b: a.ravel(),
    "ravel in some order": lambda r, a, b: a.ravel("FAK"[r.randrange(3)]),
    "backwards": lambda r, a, b: a.reshape(a.shape[::-1], order="CFA"[r.randrange(3)]),
    "two axes": lambda r, a, b: a.reshape(a.shape[0], -1),
    "three axes": lambda r, a, b: a.reshape(*a.shape[:1], 1, -1),
    "flatten": lambda r, a, b: a.flatten("CFAK"[r.randrange(4)]),
    "squeeze": lambda r, a, b: a[None].squeeze(0),
    "plus": lambda r, a, b: a + 1,
    "twice": lambda r, a, b: np.multiply(a, 2.0, order="KCFA"[r.randrange(4)]),
    "sum of two": lambda r, a, b: a + b,
    "sum with a transpose": lambda r, a, b: a + b.T,
    "sum with a row": lambda r, a, b: a + b[:1],
    "copy": lambda r, a, b: a.copy(),
    "copy in some order": lambda r, a, b: a.copy("CFAK"[r.randrange(4)]),
    "np.copy": lambda r, a, b: np.copy(a),
    "array": lambda r, a, b: np.array(a, order="CFAK"[r.randrange(4)]),
    "asarray": lambda r, a, b: np.asarray(a, order="CFAK"[r.randrange(4)]),
    "rows": lambda r, a, b: np.ascontiguousarray(a),
    "columns": lambda r, a, b: np.asfortranarray(a),
    "astype": lambda r, a, b: a.astype(float, order="CFAK"[r.randrange(4)]),
    "narrow and back": lambda r, a, b: a.astype(np.float32).astype(float),
    "like": lambda r, a, b: np.zeros_like(a, order="CFAK"[r.randrange(4)]),
    "full like": lambda r, a, b: np.full_like(a, 3.0),
    "picked columns": lambda r, a, b: a[..., [0, 0]],
    "picked rows": lambda r, a, b: a[[0, 0]],
    "taken": lambda r, a, b: np.take(a, [0, 0], axis=axis_of(r, a)),
    "where": lambda r, a, b: np.where(a > 4, a, 1.0),
    "where of two": lambda r, a, b: np.where(a > 4, a, b),
    "concatenated": lambda r, a, b: np.concatenate([a, b], axis=axis_of(r, a)),
    "with itself": lambda r, a, b: np.concatenate([a, a], axis=axis_of(r, a)),
    "stacked": lambda r, a, b: np.stack([a, a], axis=axis_of(r, a)),
    "sum": lambda r, a, b: a.sum(axis=axis_of(r, a)),
    "sum kept": lambda r, a, b: a.max(axis=axis_of(r, a), keepdims=True),
    "cumsum": lambda r, a, b: np.cumsum(a, axis=axis_of(r, a)),
    "sort": lambda r, a, b: np.sort(a, axis=axis_of(r, a)),
    "product": lambda r, a, b: a.T @ a,
    "einsum": lambda r, a, b: np.einsum("ij,kj->ki", a, a),
    "einsum of a view": lambda r, a, b: np.einsum("ij->ji", a),
    "tensordot": lambda r, a, b: np.tensordot(a, a, axes=([0], [0])),
    "outer": lambda r, a, b: np.multiply.outer(a, a[0]),
    "clip": lambda r, a, b: np.clip(a, 2, 9),
    "repeat": lambda r, a, b: np.repeat(a, 2, axis=axis_of(r, a)),
    "roll": lambda r, a, b: np.roll(a, 1, axis=axis_of(r, a)),
    "diagonal": lambda r, a, b: np.diagonal(a),
    "diag": lambda r, a, b: np.diag(a),
    "broadcast": lambda r, a, b: np.broadcast_to(a, (2, *a.shape)),
    "windows": lambda r, a, b: np.lib.stride_tricks.sliding_window_view(a, 1, axis=axis_of(r, a)),
    "conj": lambda r, a, b: a.conj(),
    "real": lambda r, a, b: a.real,
    "imag": lambda r, a, b: a.imag,
    "rot90": lambda r, a, b: np.rot90(a),
    "at least three": lambda r, a, b: np.atleast_3d(a),
    "linspace": lambda r, a, b: np.linspace(a, a + 1, 3, axis=axis_of(r, a)),
    "tril": lambda r, a, b: np.tril(a),
    "gradient": lambda r, a, b: np.gradient(a, axis=0) if a.shape[0] != 1 else a + 0,
    "nan_to_num": lambda r, a, b: np.nan_to_num(a),
    "pad": lambda r, a, b: np.pad(a, 1),
    "tile": lambda r, a, b: np.tile(a, (2, 1)),
    "round": lambda r, a, b: a.round(1),
}


def assign(r, a):
    """An assignment to one element, to a part, or to all of them."""
    match r.randrange(4):
        case 0:
            a[(0,) * a.ndim] = 77.0
        case 1:
            a[-1:] = 55.0
        case 2:
            a += 10
        case 3:
            a[...] = 33.0


REFUSALS = (ValueError, IndexError, np.exceptions.AxisError, UndecidedSizeError)


def drawn(seed, x, see=lambda arrays: None):
    """Run a drawn program; the steps that could be done, the last two of them assignments."""
    r = random.Random(seed)
    arrays, steps = [x * 1], []
    for _ in range(r.randrange(3, 8)):
        step = r.choice(list(MAKE)), r.randrange(1000), -r.randrange(1, 4), r.randrange(100)
        try:
            arrays.append(made(step, arrays))
        except REFUSALS:
            continue
        steps.append(step)
    see(arrays)
    for _ in range(2):
        step = "", r.randrange(1000), r.randrange(100), 0
        try:
            made(step, arrays)
        except (ValueError, IndexError):  # it is read-only
            continue
        steps.append(step)
    return steps, arrays


def made(step, arrays):
    """What a step makes of the arrays that there are."""
    name, number, *places = step
    a, b = (arrays[max(p, -len(arrays)) if p < 0 else p % len(arrays)] for p in places)
    if not 0 < a.ndim < 4:
        raise ValueError("for arrays with axes")
    return MAKE[name](random.Random(number), a, b) if name else assign(random.Random(number), a)


def repeated(steps, x):
    """The arrays that the steps leave."""
    arrays = [x * 1]
    for step in steps:
        array = made(step, arrays)
        if array is not None:
            arrays.append(array)
    return arrays


def owner_of(a):
    """What owns the memory of an array."""
    if isinstance(a, Tracer):
        return a.owner.root_of(a.original)
    while getattr(a, "base", None) is not None:  # windows have something else between
        a = a.base
    return id(a)


def facts(arrays):
    """What arrays say of their memory: strides of axes with several elements, flags, and which of
    them have one owner."""
    owners = [owner_of(a) for a in arrays if a.ndim]
    same = [[x == y for x in owners] for y in owners]
    strides, flags = [], []
    for a in (a for a in arrays if a.ndim):
        one = a.flags
        flags.append((one.c_contiguous, one.f_contiguous, one.writeable))
        strides.append([s for s, n in zip(a.strides, a.shape, strict=True) if n != 1])
    return same, flags, strides


SEEDS = [range(16), pytest.param(range(16, 1000), marks=thorough)]


@pytest.mark.parametrize("seeds", SEEDS)
def test_drawn_programs_of_known_sizes(seeds):
    for seed in seeds:
        shape = random.Random(seed).choice([(4, 3), (3, 3), (1, 3), (4, 1), (2, 4)])
        x = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
        ours, numpys = [], []
        expected = drawn(seed, x, lambda arrays: numpys.append(facts(arrays)))
        found = interpreted(lambda x: values_of(seed, x, lambda a: ours.append(facts(a))), x)
        assert ours == numpys, seed
        for a, b in zip(found, expected[1], strict=True):
            np.testing.assert_allclose(a, b, err_msg=f"seed {seed}")


def values_of(seed, x, see=lambda arrays: None, keep=lambda steps: None):
    """The values that the arrays of a drawn program have at the end."""
    steps, arrays = drawn(seed, x, see)
    keep(steps)
    return [a + 0 for a in arrays]


def traced_for(dims, seed):
    """The graph of a program for a matrix of runtime sizes, and its steps."""
    steps = []
    kind = ArrayType(dims, np.dtype(float))
    graph, _ = trace_function(
        lambda x: (values_of(seed, x, keep=steps.extend), None), [kind], ["x"]
    )
    return graph, steps


def at_sizes(graph, x):
    """The outputs of a graph with runtime sizes for an argument."""
    sizes = {}
    for d, n in zip(graph.inputs[0].type.shape, x.shape, strict=True):
        sizes |= {s: n // s.unit for s in d.symbols()}
    equations = tuple(in_sizes(e, sizes) for e in graph.equations)
    return interpret(replace(graph, equations=equations), [x])


def compare_at(shape, seed, graph, steps):
    """Check what a graph gives for a matrix of this shape, unless sizes do not go together."""
    x = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    try:
        expected, found = repeated(steps, x), at_sizes(graph, x)
    except ValueError as problem:
        assert "broadcast together" in str(problem), seed
        return
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, err_msg=f"seed {seed}, {shape}")


@pytest.mark.parametrize("seeds", SEEDS)
def test_drawn_programs_of_any_runtime_sizes(seeds):
    refused = 0
    for seed in seeds:
        try:
            graph, steps = traced_for(transpile.dims("n, m"), seed)
        except UnsupportedError as problem:
            assert "or not, by " in str(problem), seed
            refused += 1
            continue
        for shape in ((1, 3), (4, 1), (3, 3), (2, 5), (5, 2)):
            compare_at(shape, seed, graph, steps)
    assert 0 < refused < len(seeds) / 3


@pytest.mark.parametrize("seeds", SEEDS)
def test_drawn_programs_of_runtime_sizes_that_decide_what_is_shared(seeds):
    for seed in seeds:
        dims = transpile.dims("n, m", "m >= 36", "m < n", "m % 36 == 0", "n % 36 == 0")
        graph, steps = traced_for(dims, seed)
        for shape in ((72, 36), (108, 72)):
            compare_at(shape, seed, graph, steps)


def test_the_refusal_names_the_constraint():
    def f(x):
        y = x.T.ravel()
        y[0] = 9.0
        return y

    with pytest.raises(
        UnsupportedError, match=r"n is 1 or m is 1 \(declare transpile.dims\('n, m'"
    ):
        transpile.jit(f, dynamic_shapes={"x": ("m", "n")}).lower(np.ones((3, 2)))
    lowered = transpile.jit(f, dynamic_shapes={"x": transpile.dims("m, n", "m >= 2", "n >= 2")})
    assert lowered.lower(np.ones((3, 2)))


# A view of a matrix, and the constraint under which it is known whether its reshape is a copy.
SETTLED = [
    (lambda x: x[:, ::2], ("m % 2 == 0",)),
    (lambda x: x[:, ::11], ("m % 11 == 0",)),
    (lambda x: x[::2], ("n >= 3",)),
    (lambda x: x[::2, ::2], ("n >= 3", "m >= 3")),
    (lambda x: x[1::3, 1:].T[::-1], ("m >= 3", "n >= 5")),
]


@pytest.mark.parametrize(("view", "constraints"), SETTLED)
def test_the_constraint_that_is_named_is_true_and_settles_it(view, constraints):
    def f(x):
        y = view(x).reshape(-1)
        y += 9.0
        return x + 0

    def traced(*constraints):
        kind = ArrayType(transpile.dims("n, m", "n >= 2", "m >= 2", *constraints), np.dtype(float))
        return trace_function(lambda x: ([f(x)], None), [kind], ["x"])[0]

    with pytest.raises(UnsupportedError) as refusal:
        traced()
    needed = ", ".join(map(repr, constraints))
    assert f"{needed})" in str(refusal.value)
    graph = traced(*constraints)
    for n, m in itertools.product(range(2, 8), range(2, 24)):
        if all(eval(c, {"n": n, "m": m}) for c in constraints):
            x = np.arange(1.0, n * m + 1).reshape(n, m)
            assert (at_sizes(graph, x) == f(x * 1)).all(), (n, m)


def test_attributes_of_views():
    def f(x):
        y = x * 1
        y.flags.writeable = False
        known = y.T.base is y, y.T.flags.writeable, y.conj() is y, np.isfortran(y.T)
        return [np.array(k) for k in (*known, (y.T + 1).strides)]

    def written(x):
        np.broadcast_to(x, (2, 3)).flags.writeable = True

    found = interpreted(f, np.ones((4, 3)))
    assert [v.tolist() for v in found] == [True, False, True, True, [8, 24]]
    with pytest.raises(UnsupportedError, match="has elements more than once"):
        interpreted(written, np.ones(3))


def element_of_a_vector(x):
    x.ravel()[1] = 9.0
    return x * 1


def vector_behind_an_assignment(x):
    v = x.ravel()
    x[0] = 5.0
    return v * 1


def contiguous_vector(x):
    v = np.ascontiguousarray(x)
    v[0] = 5.0
    return x * 1


def row_as_a_vector(x):
    v = x[0].ravel()
    v[0] = 5.0
    return x * 1


VECTORS = [element_of_a_vector, vector_behind_an_assignment, contiguous_vector]


@pytest.mark.parametrize("function", VECTORS)
def test_vectors_with_gaps_are_refused_where_it_shows_whether_they_are_copied(function):
    jitted = transpile.jit(function)
    for x in (np.arange(10.0)[::2], np.arange(5.0)[::-1]):
        with pytest.raises(UnsupportedError, match="does not lie in rows"):
            jitted(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.strides[0],
        lambda x: x.flags.c_contiguous,
        lambda x, y: (y + 1, x.strides[0]),
        lambda x: (x + 1, x.strides[0]),
    ],
)
def test_what_is_asked_of_an_order_is_refused_of_small_arrays_with_gaps(function):
    jitted, x = transpile.jit(function), np.arange(12.0)
    others = [x] if jitted.__wrapped__.__code__.co_argcount == 2 else []
    jitted(x[:6], *others)
    for _ in range(3):  # calls of which the program is there
        with pytest.raises(UnsupportedError, match="does not lie in rows"):
            jitted(x[::2], *others)


def flat_value(x):
    x.flat = [1.0, 2.0, 3.0]


def flat_element(x):
    x.flat[5] = 7.0
    x.flat[1:3] += x.flat[0] + 1


def put_and_place(x):
    np.put(x, [1, -1], [7.0, 8.0])
    np.place(x, x > 4, [1.0, 2.0])
    np.putmask(x, x < 0, x * 2)


@pytest.mark.parametrize("function", [flat_value, flat_element, put_and_place])
def test_elements_in_the_order_of_rows_are_assigned_to_wherever_they_lie(function):
    def f(x):
        function(x)
        return x.sum()

    rows, jitted = np.arange(12.0).reshape(3, 4) - 5, transpile.jit(f)
    for x in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=1)[:, ::2]):
        ours, numpys = x.copy(order="K"), x.copy(order="K")
        assert jitted(ours) == f(numpys)
        np.testing.assert_array_equal(ours, numpys)


def test_rows_of_an_argument_in_columns_are_no_vectors_without_gaps():
    with pytest.raises(UnsupportedError, match="does not lie in rows"):
        transpile.jit(row_as_a_vector)(np.asfortranarray(np.ones((3, 3))))


def test_vectors_with_gaps_are_taken_where_it_does_not_show():
    def f(x):
        np.put(x, [0], 3.0)
        x += 1
        return x.ravel() + x.sum()

    x, y = np.arange(10.0)[::2], np.arange(10.0)[::2]
    np.testing.assert_array_equal(transpile.jit(f)(x), f(y))
    np.testing.assert_array_equal(x, y)


def test_all_elements_of_a_runtime_size_are_assigned_to():
    def f(x):
        x.flat = np.array([1.0, 2.0, 3.0])
        y = x * 1
        y.flat = 5.0
        return y

    jitted = transpile.jit(f, dynamic_shapes=True)
    for shape in ((2, 4), (3, 3)):
        x, y = np.zeros(shape), np.zeros(shape)
        np.testing.assert_array_equal(jitted(x), f(y))
        np.testing.assert_array_equal(x, y)
