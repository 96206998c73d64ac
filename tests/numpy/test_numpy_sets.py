"""unique and the set functions on traced arrays against NumPy's, with the sizes of its results."""

import numpy as np
import pytest
from helpers import assert_same, evaluate, leaves, ordinary, values
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import transpile
from transpile import numpy as jnp
from transpile.ir.types import DTYPES

# Those that NumPy sorts by itself: it leaves NaN of bfloat16 anywhere.
NUMPYS = st.sampled_from([d for d in DTYPES if d.kind != "V"])
MAKERS = st.sampled_from([ordinary, values])
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
PAIRS = [np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d]


@st.composite
def drawn(draw, most=12):
    return draw(MAKERS)(draw(NUMPYS), (draw(st.integers(0, most)),), draw(st.integers(0, 999)))


def assert_gives(expected, f, *args):
    """The traced f gives these arrays, to the dtype."""
    found, expected = evaluate(f, *args), leaves(expected)
    assert len(found) == len(expected)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, want, strict=True)


def padded(x, count, value):
    return np.concatenate([x, np.full(count, value, x.dtype)])


@given(drawn(), st.booleans())
@settings(max_examples=60)
def test_unique_gives_what_numpy_gives_where_the_size_is_right(x, equal_nan):
    expected = np.unique(x, True, True, True, equal_nan=equal_nan)
    size = len(expected[0])
    options = {"equal_nan": equal_nan, "size": size}
    assert_gives(expected, lambda x: jnp.unique(x, True, True, True, **options), x)
    assert_gives(expected[0], lambda x: jnp.unique(x, **options), x)
    assert_gives(expected[::3], lambda x: jnp.unique(x, return_counts=True, **options), x)
    square = np.stack([x, x])
    expected = np.unique(square, return_inverse=True, return_index=True, equal_nan=equal_nan)
    size = {"equal_nan": equal_nan, "size": len(expected[0])}
    assert_gives(expected, lambda x: jnp.unique(x, True, True, **size), square)


@given(drawn(), st.integers(1, 3))
@settings(max_examples=30)
def test_unique_fills_what_is_too_many_and_drops_what_is_too_few(x, more):
    if not x.size:
        assert_gives(np.zeros(more, x.dtype), lambda x: jnp.unique(x, size=more), x)
        return
    first, index, inverse, counts = np.unique(x, True, True, True)
    size = len(first) + more
    expected = padded(first, more, first[0]), padded(index, more, index[0]), inverse
    expected = *expected, padded(counts, more, 0)
    assert_gives(expected, lambda x: jnp.unique(x, True, True, True, size=size), x)
    expected = padded(first, more, 1)
    assert_gives(expected, lambda x: jnp.unique(x, size=size, fill_value=1), x)
    assert_gives(first[:1], lambda x: jnp.unique(x, size=1), x)


@given(NUMPYS, st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), st.data())
@settings(max_examples=40)
def test_unique_along_an_axis_compares_whole_slices(dtype, shape, data):
    axis = data.draw(st.integers(-3, 2))
    x = ordinary(dtype, shape, data.draw(st.integers(0, 99)))
    x = x % dtype.type(2) if dtype.kind in "iuf" else x
    if 0 in shape:  # there NumPy has special rules of its own
        return
    expected = np.unique(x, True, True, True, axis=axis)
    size = expected[0].shape[axis]
    assert_gives(expected, lambda x: jnp.unique(x, True, True, True, axis, size=size), x)


@given(drawn())
@settings(max_examples=30)
def test_the_array_api_functions_give_named_results(x):
    every = np.unique_all(x)
    size = len(every.values)
    for function in (jnp.unique_all, jnp.unique_counts):
        expected = getattr(np, function.__name__)(x)
        found = []
        assert_gives(expected, lambda x: found.append(function(x, size=size)) or found[-1], x)
        assert found[-1]._fields == expected._fields
    assert_gives((every[0], every[2]), lambda x: tuple(jnp.unique_inverse(x, size=size)), x)
    assert_gives(every[0], lambda x: jnp.unique_values(x, size=size), x)


@given(drawn(), drawn(), st.sampled_from(PAIRS), st.booleans())
@settings(max_examples=80)
def test_functions_of_two_sets(x, y, function, distinct):
    if distinct:
        x, y = np.unique(x), np.unique(y)
    common = np.result_type(x, y)  # of integers it may be float64, in which some become equal
    for v in (x, y):
        assume(len(np.unique(v.astype(common))) == len(np.unique(v)))
    options = {} if function is np.union1d else {"assume_unique": distinct}
    expected = function(x, y, **options)
    mine = getattr(jnp, function.__name__)
    size = len(expected)
    assert_gives(expected, lambda x, y: mine(x, y, size=size, **options), x, y)
    assert_gives(
        padded(expected, 2, 1),
        lambda x, y: mine(x, y, size=size + 2, fill_value=1, **options),
        x,
        y,
    )


@given(drawn(), drawn())
@settings(max_examples=30)
def test_an_intersection_says_where_its_elements_stand(x, y):
    # Where integers become equal in float64, NumPy gets lost.
    common = np.result_type(x, y)
    assume(all(len(np.unique(a)) == len(np.unique(a.astype(common))) for a in (x, y)))
    expected = np.intersect1d(x, y, return_indices=True)
    size = len(expected[0])

    def f(x, y):
        return jnp.intersect1d(x, y, return_indices=True, size=size)

    assert_gives(expected, f, x, y)


@given(drawn(), drawn(5), st.booleans(), st.sampled_from([None, "sort"]))
@settings(max_examples=60)
def test_isin_equals_numpys(x, y, invert, kind):
    assert_same(lambda x, y: np.isin(x, y, invert=invert, kind=kind), np.stack([x, x]), y)
    assert_same(lambda x: np.isin(x, y, invert=invert), x)


@pytest.mark.parametrize("count", [1, 32, 33])
@pytest.mark.parametrize("dtype", ["?", "b", "q", "e", "f", "d", "D"])
def test_isin_compares_with_few_and_searches_in_more(count, dtype):
    x = np.arange(-8, 60).astype(dtype)
    x[::9] = 0
    if x.dtype.kind in "fc":
        x[3], x[5], x[7] = np.nan, np.inf, -0.0
    tests = np.concatenate([x[3:9], np.arange(60)])[:count]
    assert_same(lambda x, y: np.isin(x, y), x, tests)
    assert_same(lambda x: np.isin(x, tests.astype(np.int32)), x)


def test_an_unknown_kind_of_isin_is_refused():
    assert_same(lambda x: np.isin(x, [1], kind="hash"), np.arange(3))


@pytest.mark.parametrize(
    "function",
    [
        np.unique,
        np.unique_all,
        np.unique_counts,
        np.unique_inverse,
        lambda x: np.sort(np.unique_values(x)),  # NumPy from 2.3 on gives them in any order
        lambda x: np.union1d(x, x),
        lambda x: np.intersect1d(x, [1]),
        lambda x: np.setdiff1d(x, [1]),
        lambda x: np.setxor1d([1], x),
    ],
)
def test_without_a_size_the_length_is_that_of_the_values(function):
    assert_same(function, np.array([1, 5, 1, 0, 5, 5]))
    assert_same(function, np.array([0.0, np.nan, -0.0, np.nan]))
    assert_same(function, np.zeros(0))


def test_a_negative_size_is_refused():
    with pytest.raises(ValueError, match="size must not be negative, but is -1"):
        evaluate(lambda x: jnp.unique(x, size=-1), np.arange(3))


def test_plain_arrays_take_a_size_too():
    x = np.array([3, 1, 3])
    np.testing.assert_array_equal(jnp.unique(x), [1, 3])
    np.testing.assert_array_equal(jnp.unique(x, size=3, fill_value=9), [1, 3, 9])
    found = jnp.unique_counts(x, size=2)
    np.testing.assert_array_equal(found.counts, [1, 2])
    np.testing.assert_array_equal(jnp.union1d(x, [7], size=3), [1, 3, 7])


def test_c_gives_the_same_sets(shared_cache):
    x, y = ordinary("int32", (40,), 1), ordinary("int32", (30,), 2) * 2
    sizes = [len(f(x, y)) for f in PAIRS]

    def f(x, y):
        return (
            *(getattr(jnp, f.__name__)(x, y, size=n) for f, n in zip(PAIRS, sizes, strict=True)),
            *jnp.unique(x, True, True, True, size=len(np.unique(x_known))),
            np.isin(x, y),
        )

    x_known = x
    expected = [*(f(x, y) for f in PAIRS), *np.unique(x, True, True, True), np.isin(x, y)]
    for got, want in zip(transpile.jit(f)(x, y), expected, strict=True):
        np.testing.assert_array_equal(got, want, strict=True)


def test_vmap_and_gradients_go_through_unique():
    x = np.array([[3.0, 1.0, 3.0], [2.0, 2.0, 2.0]])
    found = transpile.vmap(lambda x: jnp.unique(x, size=2))(x)
    np.testing.assert_array_equal(found, [[1, 3], [2, 2]])
    slopes = transpile.grad(lambda x: jnp.unique(x, size=2) @ np.array([1.0, 10.0]))(x[0])
    np.testing.assert_array_equal(slopes, [10, 1, 0])
