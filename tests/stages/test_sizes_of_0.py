"""Functions of arrays that turn out to have no elements: of runtime sizes that may be 0, and of
lengths that depend on values. Their programs read no other memory."""

import re

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct, lax, nn
from transpile.analysis.oracle.loop_interpreter import run

N, M = transpile.dims("n, m", "n >= 0", "m >= 0")
TYPES = [ShapeDtypeStruct((size,), np.float64) for size in (N, M)]
VALUES = [[], [2.0], [-1.0], [1.0, 0.0, 2.0], [0.0, 0.0, 1.0, -3.0, 0.0]]


def put(x, indices, values):
    np.put(x, indices, values)
    return x


def putmask(x, mask, values):
    np.putmask(x, mask, values)
    return x


AS_NUMPY = {
    "isin": lambda x, y: np.isin(x, y),
    "isin of what a mask leaves": lambda x, y: np.isin(x, y[y > 0], invert=True),
    "intersect1d": lambda x, y: np.intersect1d(x, y, return_indices=True),
    "setdiff1d": lambda x, y: np.setdiff1d(x, y),
    "setxor1d": lambda x, y: np.setxor1d(x, y[y > 0]),
    "union1d": lambda x, y: np.union1d(x, y),
    "unique": lambda x, y: np.unique(np.concatenate([x, y[y > 0]]), True, True, True),
    "unique rows": lambda x, y: np.unique(np.stack([x, x], 1), True, axis=0),
    "digitize": lambda x, y: np.digitize(x, np.sort(y)),
    "digitize, right": lambda x, y: np.digitize(x, np.sort(y)[::-1], right=True),
    "histogram": lambda x, y: np.histogram(x[x > 0], 4),
    "histogram_bin_edges": lambda x, y: np.histogram_bin_edges(x, 3),
    "interp": lambda x, y: np.interp(x, np.unique(y), np.unique(y) * 2),
    "gradient": lambda x, y: np.gradient(x),
    "polyadd": lambda x, y: (np.polyadd(x, y), np.polysub(x, y[y > 0])),
    "windows": lambda x, y: np.lib.stride_tricks.sliding_window_view(x, 3),
    "max, default": lambda x, y: max(x, default=-1.0),
    "min": lambda x, y: min(abs(v) for v in x),
    "put": lambda x, y: put(np.zeros(5), np.arange(x.size), y),
    "putmask": lambda x, y: putmask(x * 2, x > 0, y),
    "resize": lambda x, y: (np.resize(x, 4), np.resize(x, (2, y.size)), np.resize(x[x > 0], 3)),
    "cov": lambda x, y: (np.cov(x), np.cov([x[x > 0], -x[x > 0]], ddof=0)),
    "sum, where": lambda x, y: (
        np.sum(x, where=x > 0),
        x.mean(where=x > 0),
        np.std(x, where=x > 0),
    ),
    "max, where": lambda x, y: np.max(np.outer(x, y), 1, where=y > 0, initial=-9),
    "any, where": lambda x, y: (np.any(x, where=x < 0), np.all(np.outer(x, y), 0, where=y == 0)),
    "reduce": lambda x, y: (np.hypot.reduce(x), np.logaddexp.reduce(np.outer(x, y), None)),
    "reduce of bits": lambda x, y: np.bitwise_xor.reduce(x[x > 0].astype(int)),
    "reduce, where": lambda x, y: np.subtract.reduce(np.outer(x, y), 0, initial=2, where=y > 0),
    "reduce of bools": lambda x, y: np.logical_xor.reduce(x > 0),
    "reduce without identity": lambda x, y: np.subtract.reduce(x),
    "accumulate": lambda x, y: (np.subtract.accumulate(x), np.hypot.accumulate(x[x > 0])),
    "accumulate rows": lambda x, y: np.logaddexp.accumulate(np.outer(x, y), 1),
}

# `size=` gives other lengths than NumPy's: as programs of known sizes.
AS_KNOWN_SIZES = {
    "nanmedian": lambda x, y: np.nanmedian(x),
    "unique": lambda x, y: np.unique(np.concatenate([x, y]), return_index=True, size=3),
    "unique, filled": lambda x, y: np.unique(x[x > 0], size=3, fill_value=-1),
    "union1d": lambda x, y: np.union1d(x, y, size=2),
    "intersect1d": lambda x, y: np.intersect1d(x, y, return_indices=True, size=3),
    "setxor1d": lambda x, y: np.setxor1d(x, y, size=3),
    "setdiff1d": lambda x, y: np.setdiff1d(x, y, size=3),
    "compress": lambda x, y: np.compress(x > 0, x, size=3),
    "nonzero": lambda x, y: np.nonzero(np.outer(x, y), size=4, fill_value=(7, 8)),
    "histogram of edges": lambda x, y: np.histogram(x, np.sort(y)),
    "logsumexp": lambda x, y: (nn.logsumexp(x), nn.logsumexp(np.outer(x, y), 1)),
    "derivative of logsumexp": lambda x, y: transpile.grad(nn.logsumexp)(x),
    "second derivative of logsumexp": lambda x, y: transpile.hessian(nn.logsumexp)(x),
    "softmax": lambda x, y: (nn.softmax(x), nn.log_softmax(np.outer(x, y), 0)),
    "associative_scan": lambda x, y: lax.associative_scan(np.hypot, x, reverse=True),
    "associative_scan of pairs": lambda x, y: lax.associative_scan(
        lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (np.outer(y, x), np.outer(y + 1, x)), axis=1
    ),
    "top_k": lambda x, y: lax.top_k(x, 2),
    "dynamic_slice": lambda x, y: lax.dynamic_slice(x, (y.size - 1,), (1,)),
    "dynamic_update_slice": lambda x, y: lax.dynamic_update_slice(x, y, (1,)),
}


def outcome(function, *args):
    try:
        return transpile.tree.leaves(function(*args))
    except (ValueError, IndexError, TypeError) as error:
        return error


def assert_agree(found, expected):
    """Equal results, or errors of equal words; JAX's TypeErrors are ValueErrors of calls."""
    assert isinstance(found, Exception) == isinstance(expected, Exception), (found, expected)
    if isinstance(found, Exception):
        first = str(expected).rpartition("py:")[2].partition(": ")[2] or str(expected)
        assert first.partition(" elements")[0].partition("got")[0] in str(found)
        return
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, strict=True)


def check(function, expected):
    lowered = transpile.jit(function, keep_unused=True).lower(*TYPES)
    compiled, program = lowered.compile(), lowered._lowering.program()
    for x in map(np.array, VALUES):
        for y in map(np.array, VALUES[:4]):
            want = outcome(expected, x, y)
            assert_agree(outcome(compiled, x, y), want)
            if not isinstance(want, Exception):
                run(program, [x, y])  # an IndexError outside of the arrays


def test_convolutions_of_nothing_are_refused_with_the_words_of_numpy():
    compiled = transpile.jit(np.convolve).lower(*TYPES).compile()
    for x, y in (([], [1.0]), ([1.0], []), ([], []), ([2.0], [3.0])):
        want = outcome(np.convolve, np.array(x), np.array(y))
        assert_agree(outcome(compiled, np.array(x), np.array(y)), want)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # means of nothing
@pytest.mark.parametrize("name", AS_NUMPY)
@one_in(3)
def test_sizes_that_turn_out_to_be_0_are_as_in_numpy(name):
    check(AS_NUMPY[name], AS_NUMPY[name])


@pytest.mark.parametrize("name", AS_KNOWN_SIZES)
@one_in(3)
def test_sizes_that_turn_out_to_be_0_are_as_known_ones(name):
    check(AS_KNOWN_SIZES[name], transpile.jit(AS_KNOWN_SIZES[name]))


def test_no_index_is_outside_where_there_is_none():
    """Also where a check names the first of them that is."""
    table, index = np.arange(3.0), np.array([0, -1])
    taken = transpile.jit(lambda x, i: x[i[i > 0]], check_bounds=True)
    assert taken(table, index).shape == (0,)
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
        taken(table, np.array([1, 7]))
    counted = transpile.jit(lambda i: np.bincount(i[i > 0], minlength=2))
    np.testing.assert_array_equal(counted(index), [0, 0])
    of_size = transpile.jit(lambda x, i: x[i], check_bounds=True)
    compiled = of_size.lower(ShapeDtypeStruct((3,), "f8"), ShapeDtypeStruct((N,), "i8")).compile()
    assert compiled(table, index[:0]).shape == (0,)


def test_segments_begin_inside_of_the_array():
    segments = transpile.jit(lambda x: np.add.reduceat(x, [0, 2, 1])).lower(TYPES[0]).compile()
    for n in (3, 5):
        np.testing.assert_array_equal(segments(np.ones(n)), np.add.reduceat(np.ones(n), [0, 2, 1]))
    with pytest.raises(IndexError, match="index 2 out-of-bounds in add"):
        segments(np.ones(2))


def test_the_number_of_bins_is_never_less_than_0():
    with pytest.raises(ValueError, match="too big"):
        transpile.jit(np.bincount)(np.array([2**63 - 1]))


def test_calls_read_no_row_of_an_array_that_may_be_null():
    """Its first row is none, also where only the address is taken."""
    x, k = ShapeDtypeStruct((N, 3, 8, 8), "f4"), ShapeDtypeStruct((4, 3, 3, 3), "f4")
    convolve = transpile.jit(lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME"))
    lowered = convolve.lower(x, k)
    assert not re.search(r"\b(x|out)\[0\]\[0\]", lowered.as_text())
    assert lowered.compile()(np.ones((0, 3, 8, 8), "f4"), np.ones((4, 3, 3, 3), "f4")).size == 0


def taken_in_turn(x, i):
    total = np.zeros(2)
    for k in i:
        total = total * 2 + np.take(x, [k, 0], mode="clip")
    return total


OF_NOTHING = {
    "take": lambda x, i: np.take(x, i, mode="clip"),
    "take, wrapped": lambda x, i: np.take(np.stack([x, x]), i, axis=1, mode="wrap"),
    "take, where there are": lambda x, i: np.take(x, i[i != 5], mode="wrap"),
    "take, in turn": taken_in_turn,
    "take of no rows": lambda x, i: np.take(np.outer(x, x), i, axis=1, mode="wrap"),
    "positions": lambda x, i: np.ravel_multi_index((i, i), (x.size, 9), mode="clip"),
}


@pytest.mark.parametrize("name", OF_NOTHING)
def test_indices_of_an_axis_without_elements_are_numpy_s_error_where_there_are_some(name):
    function = OF_NOTHING[name]
    compiled = transpile.jit(function).lower(TYPES[0], ShapeDtypeStruct((M,), np.int64)).compile()
    for size in 0, 1, 4:
        for indices in [], [0], [5, -3]:
            x, i = np.arange(1.0, size + 1), np.array(indices, np.int64)
            if size == 0 and len(i) and "rows" not in name:
                with pytest.raises((IndexError, ValueError)) as expected:
                    function(x, i)
                with pytest.raises(expected.type, match=re.escape(str(expected.value))):
                    compiled(x, i)
            else:
                np.testing.assert_array_equal(compiled(x, i), function(x, i), strict=True)


def test_known_indices_of_an_axis_of_a_runtime_size():
    def near(x):
        return np.take(x, [0, 7, -2], mode="clip"), np.unravel_index(2, (x.size, 3))

    compiled = transpile.jit(near).lower(TYPES[0]).compile()
    for x in np.ones(1), np.arange(9.0):
        for found, expected in zip(compiled(x), near(x), strict=True):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(IndexError, match="non-empty take from an empty axes"):
        compiled(np.ones(0))
