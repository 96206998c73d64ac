"""Functions that move elements: views, joins, splits, pads, against NumPy on the same arrays."""

import warnings

import numpy as np
import pytest
from helpers import arrays, assert_same, dtypes, ordinary, seeds, shapes, trace_to_graph, values
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile import numpy as jnp
from transpile.errors import UnsupportedError
from transpile.ir.dims import Dim
from transpile.ir.types import DTYPES, ArrayType
from transpile.trace.trace import trace_function
from transpile.trace.tracer import FUNCTIONS as FUNCTIONS_OF_NUMPY

A = ordinary("f4", (2, 3, 4), 7)
M = ordinary("i4", (3, 3), 5)
V = ordinary("f8", (5,), 3)

# Each of them is run on every array that its lambda accepts; where NumPy raises, so must we.
FUNCTIONS = [
    lambda x: x.T,
    lambda x: x.mT,
    lambda x: np.transpose(x),
    lambda x: x.ravel(),
    lambda x: x.flatten("F"),
    lambda x: np.ravel(x, order="F"),
    lambda x: x.reshape(-1),
    lambda x: x.reshape(4, -1),
    lambda x: x.reshape((2, 12)),
    lambda x: x.reshape(2, -1, order="F"),
    lambda x: np.reshape(x, (3, 8), order="F"),
    lambda x: np.reshape(x, ()),
    lambda x: np.reshape(x, (-1, -1)),
    lambda x: np.reshape(x, (0, -1)),
    lambda x: x.reshape(7),
    lambda x: np.transpose(x, (1, 0)),
    lambda x: x.transpose(2, 0, 1),
    lambda x: x.transpose((0, -1, 1)),
    lambda x: np.transpose(x, (0, 0, 1)),
    lambda x: np.swapaxes(x, 0, -1),
    lambda x: x.swapaxes(1, 2),
    lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.moveaxis(x, (0, 1), (1, 0)),
    lambda x: np.moveaxis(x, 0, (0, 1)),
    lambda x: np.moveaxis(x, [2, 0], [0, 1]),
    lambda x: np.rollaxis(x, 1),
    lambda x: np.rollaxis(x, 0, 2),
    lambda x: np.rollaxis(x, -1, -2),
    lambda x: np.matrix_transpose(x),
    lambda x: np.permute_dims(x),
    lambda x: np.expand_dims(x, 0),
    lambda x: np.expand_dims(x, (0, -1)),
    lambda x: np.expand_dims(x, (0, 0)),
    lambda x: np.expand_dims(x, 9),
    lambda x: np.squeeze(x),
    lambda x: np.squeeze(x[:1]),
    lambda x: np.squeeze(x[:1], 0),
    lambda x: x.squeeze(0),
    lambda x: np.squeeze(np.expand_dims(x, (1, 2)), (1, 2)),
    lambda x: np.atleast_1d(x),
    lambda x: np.atleast_2d(x),
    lambda x: np.atleast_3d(x),
    lambda x: np.atleast_2d(x, x.ravel()),
    lambda x: np.flip(x),
    lambda x: np.flip(x, 0),
    lambda x: np.flip(x, (0, -1)),
    lambda x: np.flipud(x),
    lambda x: np.fliplr(x),
    lambda x: np.rot90(x),
    lambda x: np.rot90(x, 2),
    lambda x: np.rot90(x, -1, (1, 0)),
    lambda x: np.rot90(x, 4),
    lambda x: np.rot90(x, 1, (0, 0)),
    lambda x: np.diagonal(x),
    lambda x: x.diagonal(1),
    lambda x: np.diagonal(x, -1),
    lambda x: np.diagonal(x, 5),
    lambda x: np.diagonal(x, -2, 0, -1),
    lambda x: np.diagonal(x, 0, 1, 0),
    lambda x: np.diagonal(x, 0, 0, 0),
    lambda x: np.trace(x),
    lambda x: np.trace(x, 1),
    lambda x: x.trace(-1, 0, -1),
    lambda x: np.tril(x),
    lambda x: np.triu(x),
    lambda x: np.tril(x, 1),
    lambda x: np.triu(x, -1),
    lambda x: np.diag(x),
    lambda x: np.diag(x, 1),
    lambda x: np.diag(x, -2),
    lambda x: np.diagflat(x),
    lambda x: np.diagflat(x, 1),
    lambda x: np.vander(x),
    lambda x: np.vander(x, 3, True),
    lambda x: np.vander(x, 0),
    lambda x: np.broadcast_to(x, (2, *x.shape)),
    lambda x: np.broadcast_to(x, (2, 3, 4)),
    lambda x: np.broadcast_to(x, ()),
    lambda x: np.broadcast_arrays(x, np.ones(4)),
    lambda x: np.broadcast_arrays(x, x[..., :1]),
    lambda x: np.roll(x, 1),
    lambda x: np.roll(x, -2, 0),
    lambda x: np.roll(x, (1, 2), (0, 1)),
    lambda x: np.roll(x, 100, -1),
    lambda x: np.roll(x, 1, (0, 1)),
    lambda x: np.roll(x, 1, 9),
    lambda x: np.repeat(x, 2),
    lambda x: np.repeat(x, 3, 0),
    lambda x: x.repeat(0, -1),
    lambda x: np.repeat(x, [1, 0, 2], 1),
    lambda x: np.repeat(x, [1, 2], 0),
    lambda x: np.repeat(x, -1),
    lambda x: np.tile(x, 2),
    lambda x: np.tile(x, (2, 3)),
    lambda x: np.tile(x, (2, 1, 1, 1)),
    lambda x: np.tile(x, ()),
    lambda x: np.tile(x, 0),
    lambda x: np.concatenate([x, x]),
    lambda x: np.concatenate([x, x[:1], x[:0]]),
    lambda x: np.concatenate([x, x], axis=-1),
    lambda x: np.concatenate([x, x], axis=None),
    lambda x: np.concatenate([x, np.ones(3)]),
    lambda x: np.concatenate([x], 5),
    lambda x: np.concatenate([x, x.astype("f8")], dtype="c8"),
    lambda x: np.stack([x, x]),
    lambda x: np.stack([x, x + 1], axis=-1),
    lambda x: np.stack([x, x, x], 1),
    lambda x: np.stack([x, x.ravel()]),
    lambda x: np.stack([x, x], 7),
    lambda x: np.vstack([x, x]),
    lambda x: np.hstack([x, x]),
    lambda x: np.dstack([x, x]),
    lambda x: np.column_stack([x, x]),
    lambda x: np.append(x, x),
    lambda x: np.append(x, 3.5),
    lambda x: np.append(x, x, 0),
    lambda x: np.split(x, 2),
    lambda x: np.split(x, [1, 2], -1),
    lambda x: np.split(x, 3, 1),
    lambda x: np.split(x, [2, 1, 9]),
    lambda x: np.split(x, 7),
    lambda x: np.array_split(x, 2, -1),
    lambda x: np.array_split(x, 0),
    lambda x: np.array_split(x, 5),
    lambda x: np.hsplit(x, 1),
    lambda x: np.vsplit(x, [1]),
    lambda x: np.dsplit(x, 2),
    lambda x: np.unstack(x),
    lambda x: np.unstack(x, axis=-1),
    lambda x: np.meshgrid(x, [1, 2]),
    lambda x: np.meshgrid(x, x, [1.5], indexing="ij"),
    lambda x: np.meshgrid(x, x, sparse=True),
    lambda x: np.pad(x, 1),
    lambda x: np.pad(x, (1, 2), constant_values=7),
    lambda x: np.pad(x, [(1, 0)] * x.ndim, constant_values=(1, 2)),
    lambda x: np.pad(x, ((0, 1),), mode="edge"),
    lambda x: np.pad(x, 4, mode="wrap"),
    lambda x: np.pad(x, (5, 6), mode="reflect"),
    lambda x: np.pad(x, (7, 3), mode="symmetric"),
    lambda x: np.pad(x, {0: 2}),
    lambda x: np.pad(x, -1),
    lambda x: np.pad(x, [(1, 2, 3)]),
    lambda x: np.pad(x, ((0, 3),), mode="wrap"),
    lambda x: np.pad(x, 0),
    lambda x: np.diff(x),
    lambda x: np.diff(x, axis=0),
    lambda x: np.diff(x, 2),
    lambda x: np.diff(x, 0),
    lambda x: np.diff(x, -1),
    lambda x: np.diff(x, prepend=0),
    lambda x: np.diff(x, append=x[..., :2]),
    lambda x: np.diff(x, 9),
    lambda x: np.zeros_like(x),
    lambda x: np.ones_like(x, dtype="i2"),
    lambda x: np.full_like(x, 3),
    lambda x: np.full_like(x, 2.5, shape=(2,)),
    lambda x: np.empty_like(x, shape=(0, 3)),
    lambda x: np.copy(x),
    lambda x: x.copy(),
    lambda x: np.shape(x),
    lambda x: np.ndim(x),
    lambda x: np.size(x),
    lambda x: len(x),
]
OPERANDS = [
    A,
    M,
    V,
    A[:, :1],
    A[0, 0, 0],
    np.float64(2.5),
    ordinary("c8", (1,)),
    ordinary("i8", (2, 0)),
    ordinary(bool, (2, 2)),
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_function_is_numpys_on_arrays_of_many_ranks(f):
    for x in OPERANDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same(f, np.asarray(x), tolerance=1e-6)


@settings(max_examples=150)
@given(arrays(max_rank=4), st.data())
def test_reshape_and_transpose_are_numpys(x, data):
    order = data.draw(st.permutations(range(x.ndim)))
    cut = data.draw(st.integers(0, x.ndim))
    shape = (*x.shape[:cut], int(np.prod(x.shape[cut:])))
    layout = data.draw(st.sampled_from("CF"))
    assert_same(lambda a: np.transpose(a, order), x)
    assert_same(lambda a: a.reshape(shape, order=layout), x)
    assert_same(lambda a: a.transpose(order).reshape(-1), x)


@settings(max_examples=100)
@given(
    shapes(max_rank=2, max_side=5, min_rank=1),
    st.data(),
    st.sampled_from(["constant", "edge", "wrap", "reflect", "symmetric"]),
)
def test_pad_is_numpys(shape, data, mode):
    widths = [(data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))) for _ in shape]
    assert_same(lambda a: np.pad(a, widths, mode=mode), ordinary("i4", shape))


@settings(max_examples=60)
@given(dtypes, dtypes, shapes(min_rank=1), seeds, st.data())
def test_concatenate_promotes_as_numpy(first, second, shape, seed, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x, y = ordinary(first, shape, seed), ordinary(second, shape, seed + 1)
    assert_same(lambda a, b: np.concatenate([a, b], axis), x, y)
    assert_same(lambda a: np.stack([a, y], axis), x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_astype_is_numpys(dtype):
    for source in DTYPES:
        x = (
            values(source, (20,))
            if dtype.kind == "b" or source.kind != "f"
            else ordinary(source, (20,))
        )
        if source.kind == "c":
            x = values("c8", (20,)) if dtype.kind == "c" else ordinary(source, (20,))
        if dtype.kind == "u" and source.kind in "fc":
            x = np.abs(x).astype(source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same(lambda a: a.astype(dtype), x)
            assert_same(lambda a: np.astype(a, dtype), x)
            assert_same(lambda a: a.astype(dtype, casting="safe"), x)


def test_astype_from_complex_to_real_warns_as_numpy():
    with pytest.warns(np.exceptions.ComplexWarning):
        trace_to_graph(lambda a: a.astype("f4"), np.ones(2, complex))


def test_astype_refuses_other_dtypes_with_a_place():
    for name in ("g", object, "U3"):
        with pytest.raises(UnsupportedError, match=r"^test_numpy_shapes.py:\d+: dtype"):
            trace_to_graph(lambda a: a.astype(name), np.ones(2))
    with pytest.raises(TypeError, match=r"^test_numpy_shapes.py:\d+: data type 'nonsense'"):
        trace_to_graph(lambda a: a.astype("nonsense"), np.ones(2))


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: jnp.array([a, b]),
        lambda a, b: jnp.asarray([[a, 1], [2.5, b]]),
        lambda a, b: jnp.array([a, b], dtype="f4", ndmin=3),
        lambda a, b: jnp.full((2, 3), b),
        lambda a, b: jnp.full(3, a, "f4"),
        lambda a, b: jnp.asarray(a, dtype="c8"),
        lambda a, b: jnp.linspace(a, b, 5),
        lambda a, b: jnp.linspace(a, b, 4, endpoint=False),
        lambda a, b: jnp.linspace(a, b, 5, dtype=int),
        lambda a, b: jnp.linspace(a, b, 1),
        lambda a, b: jnp.linspace(a, [b, 2.0], 3, axis=1),
        lambda a, b: jnp.linspace(a, b, 7, retstep=True),
        lambda a, b: jnp.linspace(a, [b, 2.0], 1, retstep=True)[0],
        lambda a, b: jnp.linspace(a, b, 0),
        lambda a, b: jnp.linspace(a, b, -1),
    ],
)
def test_creation_from_traced_values_is_numpys(f):
    assert_same(f, np.int32(3), np.float64(7.25), tolerance=1e-15)
    assert_same(f, 3, 7.25, tolerance=1e-15)


@pytest.mark.parametrize("count", [0, 1])
def test_the_step_of_one_sample_is_a_number_as_numpy_has_it(count):
    bounds = np.zeros(2), np.ones(2)
    _, step = transpile.jit(lambda a, b: np.linspace(a, b, count, retstep=True))(*bounds)
    assert np.isnan(step) and np.shape(step) == np.shape(
        np.linspace(*bounds, count, retstep=True)[1]
    )


def test_creation_without_traced_values_is_numpys_own():
    assert isinstance(jnp.zeros((2, 3)), np.ndarray)
    assert_same(lambda a: a + jnp.arange(3) * jnp.eye(3), np.ones(3))
    x = jnp.array([1, 2], dtype="i2")
    assert isinstance(x, np.ndarray) and x.dtype == np.int16
    assert jnp.sum(np.ones(3)) == 3.0
    assert jnp.sin is np.sin and jnp.float32 is np.float32 and jnp.pi == np.pi


def test_traced_number_cannot_make_a_shape():
    for f in (
        lambda n: jnp.arange(n),
        lambda n: jnp.zeros(n),
        lambda n: jnp.full((2, n), 1.0),
        lambda n: np.reshape(n, (n,)),
        lambda n: jnp.linspace(0, 1, n),
    ):
        with pytest.raises(TypeError, match=r"^test_numpy_shapes.py:\d+: "):
            trace_to_graph(f, 3)


def test_every_function_stands_in_the_namespace_under_all_its_names():
    for function in FUNCTIONS_OF_NUMPY:
        module = (function.__module__ or "").removeprefix("numpy").removeprefix(".")
        if module.startswith("lib."):  # as in NumPy, where these have no name in the namespace
            assert not hasattr(np, function.__name__) and not hasattr(jnp, function.__name__)
            continue
        space = getattr(jnp, module) if module in ("linalg", "fft") else jnp
        found = getattr(space, function.__name__)
        if function in (np.astype, np.linalg.eigvalsh):  # with JAX's arguments, not NumPy's
            assert found is not function and found.__name__ == function.__name__
            continue
        while found is not function:  # JAX's further arguments are one more layer
            found = found.__wrapped__
    assert jnp.abs is np.absolute and jnp.amax is not jnp.max
    for alias, name in (("concat", "concatenate"), ("permute_dims", "transpose")):
        assert getattr(jnp, alias).__wrapped__ is getattr(np, alias)
        assert getattr(jnp, alias).__name__ == name
    assert set(jnp.__all__) <= set(dir(jnp))


ROLLS = {
    "flat": lambda x, k: np.roll(x, k),
    "one axis": lambda x, k: np.roll(x, k, axis=-1) + 1,
    "a traced and a known one": lambda x, k: np.roll(x, (k, 1), axis=(0, 1)),
    "an array of shifts": lambda x, k: np.roll(x, np.array([1, 0]) * k + 2, axis=(0, 1)),
    "one for both axes": lambda x, k: np.roll(x, k, axis=(0, 1)),
    "nothing": lambda x, k: np.roll(x[:, :0], k, axis=1),
}


@pytest.mark.parametrize("name", ROLLS)
@one_in(2)
def test_shifts_may_be_traced(name):
    function, x = ROLLS[name], np.arange(15.0).reshape(3, 5)
    compiled = transpile.jit(function)
    for k in (0, 1, -2, 7, 100, -(2**62)):
        np.testing.assert_array_equal(compiled(x, k), function(x, k))


def test_traced_shifts_are_batched_and_differentiated():
    x = np.arange(15.0).reshape(3, 5)
    each = transpile.jit(transpile.vmap(lambda row, k: jnp.roll(row, k)))
    want = [np.roll(row, k) for row, k in zip(x, (1, 0, -1), strict=True)]
    np.testing.assert_array_equal(each(x, np.array([1, 0, -1])), want)
    product = lambda x, k: (np.roll(x, k, 1) * np.roll(x, 1, 1)).sum()
    traced = transpile.jit(transpile.grad(product))
    np.testing.assert_array_equal(traced(x, 2), np.roll(x, 1, 1) + np.roll(x, -1, 1))
    with pytest.raises(TypeError, match="shifts are integers, not float64"):
        transpile.jit(np.roll)(x, 1.5)


def test_missing_functions_are_named():
    with pytest.raises(AttributeError, match=r"transpile\.numpy has no 'loadtxt' yet"):
        _ = jnp.loadtxt
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = jnp.nonsense


def type_of_result(f, *shape):
    graph, _ = trace_function(lambda x: ([f(x)], None), [ArrayType(shape, np.dtype("f4"))], ["x"])
    graph.check()
    return str(graph.outputs[0].type)


def test_runtime_sizes_stay_symbols():
    n = Dim.symbol("n", lower=1)
    assert type_of_result(lambda x: x.reshape(-1), n, 3) == "f32[3*n]"
    assert type_of_result(lambda x: x.reshape(-1, 3), 3 * n) == "f32[n,3]"
    assert type_of_result(lambda x: x.T @ x, n, 3) == "f32[3,3]"
    assert type_of_result(lambda x: np.concatenate([x, x, np.ones((1, 2), "f4")]), n, 2) == (
        "f32[2*n + 1,2]"
    )
    assert type_of_result(lambda x: x * np.ones(4, "f4"), n, 1) == "f32[n,4]"
    assert type_of_result(lambda x: jnp.zeros(x.shape) + x, n) == "f64[n]"
    assert type_of_result(lambda x: x + jnp.arange(x.shape[0]), n) == "f64[n]"
    assert type_of_result(lambda x: np.tril(x), n, n) == "f32[n,n]"
    assert type_of_result(lambda x: x + jnp.eye(x.shape[0]), n, n) == "f64[n,n]"
    assert type_of_result(lambda x: np.pad(x, 1), n) == "f32[n + 2]"
    assert type_of_result(lambda x: np.diff(x), n) == "f32[n - 1]"
    assert type_of_result(lambda x: np.tile(x, 2), n) == "f32[2*n]"
    assert type_of_result(lambda x: x / x.shape[0], n) == "f32[n]"


@pytest.mark.parametrize("dtype", ["i4", "f4", "c16"])
@pytest.mark.parametrize("increasing", [False, True])
@one_in(2)
def test_many_powers_are_one_loop(dtype, increasing):
    x = np.linspace(0, 1.5, 40).astype(dtype)
    lengths = []
    for count in (40, 400):
        jitted = transpile.jit(lambda x, n=count: np.vander(x, n, increasing))
        lengths.append(len(jitted.lower(x).as_text("loops")))
        np.testing.assert_array_equal(jitted(x), np.vander(x, count, increasing), strict=True)
    assert lengths[1] < 1.2 * lengths[0]


@pytest.mark.parametrize("axis", [None, 0, 1, (1, 1), (0, 1)])
@one_in(2)
def test_shifts_along_an_axis_are_one_shift(axis):
    x, shifts = np.arange(35).reshape(5, 7), np.array([2**62, 2**62 + 3])
    want = np.roll(x, shifts.tolist(), axis)
    np.testing.assert_array_equal(transpile.jit(lambda x, s: np.roll(x, s, axis))(x, shifts), want)
    np.testing.assert_array_equal(
        transpile.jit(lambda x, s: np.roll(x, (s[0], shifts[1]), axis))(x, shifts), want
    )
