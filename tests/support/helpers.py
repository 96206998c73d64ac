"""What many tests share: trace a function, run its graph with NumPy, compare with plain NumPy."""

from __future__ import annotations

import os
import random

import numpy as np
from hypothesis import strategies as st

from transpile import numpy as jnp
from transpile.errors import TranspileError
from transpile.ir.graph import Graph
from transpile.ir.types import DTYPES, kind_letter, type_of
from transpile.trace.trace import trace_function
from transpile.transforms.interpret import interpret

assert jnp.sin is np.sin  # importing it registers the traced functions

# The dtypes that NumPy has itself. It knows bfloat16 only half: its own sums of it, for instance,
# stop growing at 256. What transpile makes of that is in test_half_precision.
NUMPYS = tuple(d for d in DTYPES if d.kind != "V")
EXTREMES = {
    "b": [False, True],
    "f": [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-3, 7.25, np.nan, np.inf, -np.inf],
    "c": [0, 1, -1j, 1 + 2j, -3.5 + 0.25j, complex(np.nan, 1), complex(2, np.inf)],
}


def fresh_seed():
    """A seed that nobody has tried; a fixed one in continuous integration, as in conftest."""
    return 6 if os.environ.get("CI") == "true" else random.randrange(10**6)


def leaves(result):
    """The arrays of a result: of one, or of lists and tuples of them."""
    if isinstance(result, list | tuple):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def trace_to_graph(f, *args) -> Graph:
    """The checked graph of f; its results are the leaves of what f returns."""
    names = [f"x{k}" for k in range(len(args))]
    types = [type_of(a) for a in args]
    graph, _ = trace_function(lambda *tracers: (leaves(f(*tracers)), None), types, names)
    graph.check()
    return graph


def evaluate(f, *args):
    """The results of f, traced and interpreted."""
    return interpret(trace_to_graph(f, *args), args)


def assert_same(f, *args, tolerance=0.0):
    """The traced f gives what f gives: dtype, shape and values, or the same error and words."""
    with np.errstate(all="ignore"):
        try:
            expected = leaves(f(*args))
        except (ValueError, TypeError, IndexError, OverflowError) as problem:
            assert_same_error(f, args, problem)
            return
        found = evaluate(f, *args)
    assert len(found) == len(expected)
    for got, want in zip(found, map(np.asarray, expected), strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert_equal_values(got, want, tolerance)


def assert_same_error(f, args, problem):
    """Tracing f fails as NumPy fails, with a place before NumPy's words."""
    try:
        evaluate(f, *args)
    except (ValueError, TypeError, LookupError, ArithmeticError, TranspileError) as found:
        assert isinstance(problem, type(found)), f"{found!r} instead of {problem!r}"
        text = str(found)
    else:
        raise AssertionError(f"no error, where NumPy raises {problem!r}")
    place, _, words = text.partition(": ")
    assert place.rpartition(":")[2].isdigit(), f"no place in {text!r}"
    assert words.strip() == str(problem).strip()


def assert_equal_values(got, want, tolerance=0.0):
    """Equal, NaN where NaN, zeros of one sign; or within a relative tolerance of the largest."""
    assert got.dtype == want.dtype
    if want.dtype.kind == "V":  # bfloat16, whose NaNs NumPy's tests do not know
        got, want = got.astype(np.float32), want.astype(np.float32)
    if tolerance and want.size and kind_letter(want.dtype) in "fc":
        finite = np.isfinite(want)
        assert np.array_equal(np.isnan(got), np.isnan(want))
        scale = np.max(np.abs(want[finite]), initial=0)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)
        return
    np.testing.assert_array_equal(got, want, strict=True)
    if kind_letter(want.dtype) == "f":
        zeros = want == 0
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


def values(dtype, shape, seed=0):
    """An array with the extremes of its dtype among its values."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        pool = np.array([0, 1, 2, 3, 5, 7, limits.min, limits.max, limits.max - 1], dtype)
        if dtype.kind == "i":
            pool = np.append(pool, np.array([-1, -2, -5], dtype))
    else:
        pool = np.array(EXTREMES[kind_letter(dtype)], dtype)
    return pool[random.integers(0, len(pool), size=shape)]


def ordinary(dtype, shape, seed=0):
    """An array of small values without NaN or infinities."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    low, high = (0, 5) if dtype.kind in "ub" else (-4, 5)
    array = random.integers(low, high, size=shape)
    if kind_letter(dtype) in "fc":
        array = array + random.integers(0, 4, size=shape) / 4
    if dtype.kind == "c":
        array = array + 1j * random.integers(-4, 5, size=shape)
    return np.asarray(array).astype(dtype)


dtypes = st.sampled_from(NUMPYS)
seeds = st.integers(0, 2**16)


def shapes(max_rank=3, max_side=4, min_rank=0):
    """Shapes, those with empty and size-1 axes among them."""
    return st.lists(st.integers(0, max_side), min_size=min_rank, max_size=max_rank).map(tuple)


def arrays(make=values, **limits):
    """Arrays of any dtype and shape."""
    return st.builds(make, dtypes, shapes(**limits), seeds)
