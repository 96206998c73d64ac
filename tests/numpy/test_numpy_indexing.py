"""Basic indexing against NumPy: random index tuples, and the errors by their words."""

import numpy as np
import pytest
from helpers import assert_same, shapes, trace_to_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from transpile.errors import TracerIntegerConversionError
from transpile.ir.dims import Dim, bounds
from transpile.ir.types import ArrayType
from transpile.trace.trace import trace_function

bound = st.none() | st.integers(-6, 6)
slices = st.builds(slice, bound, bound, st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]))
entries = st.one_of(
    st.integers(-5, 5), st.integers(-2, 2).map(np.int64), slices, st.none(), st.just(Ellipsis)
)


def numbered(shape):
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


@settings(max_examples=tries(400))
@given(shapes(max_rank=4), st.lists(entries, max_size=5).map(tuple))
def test_index_tuple_gives_what_numpy_gives(shape, key):
    """Values and shapes, or IndexError in NumPy's words."""
    assert_same(lambda x: x[key], numbered(shape))


@settings(max_examples=100)
@given(shapes(max_rank=3, min_rank=1), entries)
def test_single_index_gives_what_numpy_gives(shape, key):
    assert_same(lambda x: x[key], numbered(shape))


@given(shapes(max_rank=3), st.data())
def test_index_of_hypothesis_is_numpys(shape, data):
    """Indices that mostly lie inside, which the fuzz above seldom draws for many axes."""
    key = tuple(
        data.draw(st.integers(-d, d - 1) if d and data.draw(st.booleans()) else slices)
        for d in shape
    )
    assert_same(lambda x: x[key], numbered(shape))


def test_iteration_and_unpacking_give_the_rows():
    x = numbered((3, 2))
    assert_same(lambda a: [row * 2 for row in a], x)

    def unpack(a):
        first, *rest = a
        return [first, *rest]

    assert_same(unpack, x)
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        trace_to_graph(lambda a: list(a), np.float64(1))


def test_zero_dimensional_integer_array_is_an_index():
    assert_same(lambda x: x[np.array(1)], numbered((3, 2)))


@pytest.mark.parametrize("key", [1.0, "name", (0, 1.5), slice(0, 2, 0), (..., ...), (0, 0, 0)])
def test_wrong_index_raises_numpys_error(key):
    assert_same(lambda x: x[key], numbered((2, 3)))


def test_traced_bound_of_a_slice_raises_the_tracer_error_with_a_place():
    for f in (lambda x, i: x[:i], lambda x, i: x[0, i:]):
        with pytest.raises(TracerIntegerConversionError, match=r"^test_numpy_indexing.py:\d+: "):
            trace_to_graph(f, numbered((2, 3)), 1)


def test_traced_index_is_its_value_where_values_are_known():
    x = numbered((4, 3))
    seen = []

    def f(a, i):
        seen.append(a[i].shape)
        return [a[i:]], None

    graph, _ = trace_function(
        f,
        [ArrayType((4, 3), x.dtype), ArrayType((), np.dtype(int), True)],
        ["a", "i"],
        known=[x, np.array(2)],
    )
    assert seen == [(3,)]
    assert graph.outputs[0].type.shape == (2, 3)


def test_slices_are_one_equation():
    names = [
        e.primitive.name for e in trace_to_graph(lambda x: x[1:, ::2], numbered((4, 4))).equations
    ]
    assert names == ["slice"]
    names = [
        e.primitive.name for e in trace_to_graph(lambda x: x[::-1], numbered((4, 4))).equations
    ]
    assert names == ["rev"]
    names = [
        e.primitive.name for e in trace_to_graph(lambda x: x[:, None], numbered((4, 4))).equations
    ]
    assert names == ["broadcast_in_dim"]


def shape_of_item(key, *shape):
    graph, _ = trace_function(lambda x: ([x[key]], None), [ArrayType(shape, np.dtype("f8"))], ["x"])
    graph.check()
    return graph.outputs[0].type.shape


def test_runtime_sizes_are_sliced_where_they_are_certainly_large_enough():
    n, m = Dim.symbol("n", lower=2), Dim.symbol("m")
    assert shape_of_item(slice(1, None), n) == (n - 1,)
    assert shape_of_item(slice(None, -2), n) == (n - 2,)
    assert shape_of_item(slice(None, None, -1), n) == (n,)
    assert shape_of_item((-1, slice(None)), n, m) == (m,)
    assert shape_of_item((None, ..., 0), m, n) == (1, m)
    (short,) = shape_of_item(slice(3), n)  # cut where the axis is shorter
    assert bounds(short) == (0, 3)
    (rest,) = shape_of_item(slice(3, None), n)
    assert str(rest) == "n - u" and bounds(rest)[0] == 0
