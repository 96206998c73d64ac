"""Reductions, statistics and scans against NumPy."""

import functools
import warnings

import numpy as np
import pytest
from helpers import (
    assert_same,
    dtypes,
    evaluate,
    ordinary,
    seeds,
    shapes,
    trace_to_graph,
    values,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile
from transpile import numpy as jnp
from transpile.errors import UnsupportedError
from transpile.ir.dims import Dim
from transpile.ir.types import ArrayType
from transpile.trace.trace import trace_function

FOLDS = [np.sum, np.prod, np.any, np.all, np.max, np.min, np.amax, np.amin, np.count_nonzero]
STATISTICS = [np.mean, np.var, np.std, np.ptp]


def quietly(f):
    """f without NumPy's warnings about empty slices."""

    def silent(*args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)

    return silent


def folded(function, dtype, shape, seed):
    """(An array, the tolerance) to fold. NumPy rounds a product of halves to a half behind each run
    of elements that it goes through at once, which ends at a row's end, or where a mask is False.
    Here it is rounded once. Sums of these few numbers are exact."""
    x = ordinary(dtype, shape, seed)
    if function is not np.prod or dtype != np.float16:
        return x, 1e-6
    near_one = np.sign(x) * (1 + np.abs(x) / 64)  # no part of a product overflows
    return near_one.astype(dtype), (x.size + 1) * float(np.finfo(dtype).eps) / 2


@st.composite
def axes(draw, shape):
    rank = len(shape)
    kind = draw(st.sampled_from(["none", "int", "tuple"]))
    if kind == "none" or not rank:
        return None
    if kind == "int":
        return draw(st.integers(-rank, rank - 1))
    chosen = draw(st.lists(st.integers(0, rank - 1), unique=True))
    return tuple(a - rank if draw(st.booleans()) else a for a in chosen)


@settings(max_examples=tries(300))
@given(st.sampled_from(FOLDS), dtypes, shapes(), seeds, st.booleans(), st.data())
def test_fold_is_numpys(function, dtype, shape, seed, keepdims, data):
    axis = data.draw(axes(shape))
    x, tolerance = folded(function, dtype, shape, seed)
    assert_same(lambda a: function(a, axis=axis, keepdims=keepdims), x, tolerance=tolerance)


@settings(max_examples=tries(200))
@given(st.sampled_from(STATISTICS), dtypes, shapes(), seeds, st.booleans(), st.data())
def test_statistic_is_numpys(function, dtype, shape, seed, keepdims, data):
    axis = data.draw(axes(shape))
    x = ordinary(dtype, shape, seed)
    # NumPy rounds each partial sum of halves to a half where it does not add along the last axis.
    tolerance = 4 * float(np.finfo(dtype).eps) if dtype == np.float16 else 2e-6
    f = quietly(lambda a: function(a, axis=axis, keepdims=keepdims))
    assert_same(f, x, tolerance=tolerance)


@settings(max_examples=100)
@given(
    st.sampled_from([np.sum, np.max, np.min, np.any, np.all, np.mean]),
    st.sampled_from(["f4", "f8"]),
    shapes(),
    seeds,
)
def test_fold_passes_nan_and_infinity_on(function, dtype, shape, seed):
    assert_same(quietly(function), values(dtype, shape, seed), tolerance=1e-6)


@settings(max_examples=100)
@given(st.sampled_from([np.argmax, np.argmin]), dtypes, shapes(), seeds, st.booleans(), st.data())
def test_position_is_numpys(function, dtype, shape, seed, keepdims, data):
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    x = values(dtype, shape, seed)
    assert_same(lambda a: function(a, axis=axis, keepdims=keepdims), x)


@settings(max_examples=100)
@given(st.sampled_from([np.cumsum, np.cumprod]), dtypes, shapes(), seeds, st.data())
def test_scan_is_numpys(function, dtype, shape, seed, data):
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    assert_same(lambda a: function(a, axis=axis), ordinary(dtype, shape, seed), tolerance=1e-6)


@settings(max_examples=100)
@given(st.sampled_from([np.sum, np.prod, np.max, np.min]), dtypes, shapes(), seeds, st.data())
def test_initial_and_where_are_numpys(function, dtype, shape, seed, data):
    axis = data.draw(axes(shape))
    mask = ordinary(bool, shape[-1:], seed) if data.draw(st.booleans()) else True
    x, tolerance = folded(function, dtype, shape, seed)
    assert_same(lambda a: function(a, axis=axis, initial=2, where=mask), x, tolerance=tolerance)


@pytest.mark.parametrize("function", [np.sum, np.prod])
def test_halves_are_rounded_behind_the_initial_value(function):
    large = [[30000, 40000, 0.25], [300, 400, 0.5], [1e-4, 1e-4, 2e3], [7, 9, 11]]
    for initial in (2, -40000, 1e-3, np.inf):
        x = np.array(large, np.float16)
        assert_same(lambda a, i=initial: function(a, axis=-1, initial=i), x)
        assert_same(lambda a, i=initial: function(a[:, :2].ravel(), initial=i), x)


def test_masked_products_of_halves_are_rounded_once():
    x = np.array([2.25, 3.25, 6.75, 5.75, 7.25, 5.0, 5.5], np.float16)
    mask = np.array([True, True, True, False, True, True, True])
    product = functools.partial(np.prod, initial=2, where=mask)
    (got,) = evaluate(product, x)
    assert got == (2 * np.prod(x[mask].astype(np.float64))).astype(np.float16)
    assert got != product(x)  # which is rounded behind the first three, too


@settings(max_examples=60)
@given(st.sampled_from([np.any, np.all, np.mean, np.var]), shapes(min_rank=1), seeds)
def test_where_alone_is_numpys(function, shape, seed):
    mask = ordinary(bool, shape, seed + 1) > 0
    assert_same(
        quietly(lambda a, m: function(a, where=m, axis=0)),
        ordinary("f8", shape, seed),
        mask,
        tolerance=1e-12,
    )


def test_where_without_initial_is_numpys_error():
    assert_same(lambda a: np.max(a, where=np.array([True, False])), np.ones(2))


@pytest.mark.parametrize(("size", "shape"), [(3, (2, 3)), (1, (3,)), (3, (1, 3))])
def test_a_mask_that_is_larger_is_refused(size, shape):
    with pytest.raises(ValueError, match="operand"):
        evaluate(lambda a: np.sum(a, where=np.ones(shape, bool)), np.ones(size))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.sum(a, dtype="i4"),
        lambda a: np.sum(a, dtype=np.float32),
        lambda a: np.sum(a, dtype=bool),
        lambda a: np.prod(a, dtype="c8"),
        lambda a: np.cumsum(a, dtype="f8"),
        lambda a: np.mean(a, dtype="f8"),
        lambda a: np.mean(a, axis=0, dtype="i8"),
        lambda a: np.var(a, dtype="f4"),
        lambda a: np.std(a, ddof=1),
        lambda a: np.var(a, axis=1, correction=1),
        lambda a: np.var(a, ddof=99, axis=0),
        lambda a: np.var(a, mean=np.mean(a)),
        lambda a: a.sum(0),
        lambda a: a.mean(1, keepdims=True),
        lambda a: a.std(axis=0, ddof=1),
        lambda a: a.max(axis=-1),
        lambda a: a.argmin(1),
        lambda a: a.cumsum(0),
        lambda a: a.all(),
        lambda a: np.average(a, axis=0),
        lambda a: np.average(a, weights=np.abs(a) + 1),
        lambda a: np.average(a, axis=1, weights=[1.0, 2.0, 3.0, 0.5]),
        lambda a: np.average(a, axis=1, weights=np.arange(1, 5), returned=True),
        lambda a: np.average(a, returned=True),
        lambda a: np.nansum(a),
        lambda a: np.nanmean(a, 0),
    ],
)
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "c16"])
def test_argument_of_a_reduction_is_numpys(f, dtype):
    quietly(f)(ordinary(dtype, (3, 4)))  # the case itself must work with NumPy
    assert_same(quietly(f), ordinary(dtype, (3, 4)), tolerance=1e-6)


def test_namespace_takes_lists_with_traced_values():
    assert_same(lambda a: jnp.sum([a, a]), ordinary("i4", (3, 4)))
    assert_same(lambda a: jnp.max([a[0], a[1]], axis=0), ordinary("f4", (3, 4)))


def test_functions_of_nan_skip_it():
    x = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    assert_same(quietly(lambda a: np.nansum(a, axis=1)), x)
    assert_same(quietly(lambda a: np.nanmean(a, axis=1, keepdims=True)), x)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.sum(a, axis=2),
        lambda a: np.max(a, axis=-3),
        lambda a: np.sum(a, axis=(0, 0)),
        lambda a: np.sum(a, axis=1.0),
        lambda a: np.argmax(a, axis=5),
        lambda a: a.cumsum(2),
        lambda a: np.max(a[:0]),
        lambda a: np.min(a[:0], axis=0),
        lambda a: np.argmax(a[:0]),
        lambda a: np.average(a, weights=np.ones(3)),
        lambda a: np.average(a, 0, np.ones(7)),
        lambda a: np.var(a, ddof=1, correction=1),
        lambda a: np.ptp(a[:, :0], axis=1),
    ],
)
def test_wrong_argument_of_a_reduction_raises_numpys_error(f):
    with pytest.raises((ValueError, TypeError, IndexError)):
        f(np.ones((2, 3)))
    assert_same(f, np.ones((2, 3)))


def test_longdouble_and_out_that_is_not_traced_are_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"test_numpy_reductions.py:\d+: .*float\d+"):
        trace_to_graph(lambda a: np.sum(a, dtype="g"), np.ones(3))
    with pytest.raises(TypeError, match=r"test_numpy_reductions.py:\d+: a traced result of sum"):
        trace_to_graph(lambda a: np.sum(a, out=np.zeros(())), np.ones(3))


def names(f, *args):
    """The primitives of the equations that the results need."""
    graph = trace_to_graph(f, *args)
    needed, found = set(graph.outputs), []
    for equation in reversed(graph.equations):
        if needed & set(equation.outputs):
            needed |= set(equation.inputs)
            found.append(equation.primitive.name)
    return found[::-1]


def test_graphs_of_common_formulas_are_small():
    x = np.ones((3, 4), np.float32)
    assert names(np.mean, x) == ["reduce_sum", "divide"]
    assert names(lambda a: a.sum(axis=0), x) == ["reduce_sum"]

    def softmax(a):
        e = np.exp(a - a.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    assert names(softmax, x) == [
        "reduce_max",
        "broadcast_in_dim",
        "subtract",
        "exp",
        "reduce_sum",
        "broadcast_in_dim",
        "divide",
    ]
    assert_same(softmax, ordinary("f4", (3, 4)))


def test_runtime_sizes_can_be_averaged():
    n = Dim.symbol("n")
    graph, _ = trace_function(
        lambda x: ([np.mean(x, axis=0, keepdims=True)], None),
        [ArrayType((n, 4), np.dtype("f4"))],
        ["x"],
    )
    graph.check()
    assert str(graph.outputs[0].type) == "f32[1,4]"


def test_result_of_a_reduction_of_a_python_scalar_is_strong():
    (out,) = trace_to_graph(lambda n: np.sum(n), 3.0).outputs
    assert not out.type.weak
    assert evaluate(lambda n: np.max(n), 3.0)[0] == 3.0


def test_an_initial_value_comes_before_complex_elements_that_are_equal():
    zeros = [complex(a, b) for a in (0.0, -0.0) for b in (0.0, -0.0)]
    for initial in zeros:
        for function in (np.max, np.min):
            f = transpile.jit(lambda x, g=function, v=initial: g(x, axis=1, initial=v))
            x = np.array([[zero, other] for zero in zeros for other in zeros])
            found, want = f(x), function(x, axis=1, initial=initial)
            assert np.array_equal(np.signbit(found.view(float)), np.signbit(want.view(float)))
