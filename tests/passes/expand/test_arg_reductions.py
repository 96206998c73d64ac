"""Positions of extremes in long rows: found in the blocks that have them."""

import numpy as np
import pytest
from helpers import assert_equal_values, trace_to_graph
from passes import names
from thorough import each, one_in

import transpile
from transpile.machine import USUAL
from transpile.passes.expand.decompose import decompose
from transpile.primitives.elementwise.bits import order_key
from transpile.trace.trace import bind
from transpile.transforms.interpret import interpret

BLOCK = USUAL.search_block
DTYPES = ["?", "i1", "u1", "i4", "u8", "f2", "f4", "f8"]
LENGTHS = [2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 1, 5 * BLOCK + 17]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan]


def drawn(dtype, shape, seed):
    """Numbers with many ties."""
    return np.random.default_rng(seed).integers(0, 60, shape).astype(dtype)


def assert_as_numpy(x, axis=None):
    def positions(x):
        return np.argmax(x, axis=axis), np.argmin(x, axis=axis)

    for got, want in zip(transpile.jit(positions)(x), positions(x), strict=True):
        assert_equal_values(got, np.asarray(want))


@each("dtype", DTYPES, ordinary=("u1", "f4"))
@each("length", LENGTHS, ordinary=(2 * BLOCK, 5 * BLOCK + 17))
def test_the_first_of_equal_numbers_is_taken(dtype, length, shared_cache):
    x = drawn(dtype, length, length)
    for where in (0, BLOCK - 1, length - BLOCK, length - 1):
        x[where:] = 63  # the last block begins in the one before
        assert_as_numpy(x)


@pytest.mark.parametrize(
    "shape", [(3, 2 * BLOCK + 5), (2, 3, 3 * BLOCK), (2 * BLOCK + 5, 3), (2, 2 * BLOCK, 2, 3)]
)
@one_in(2)
def test_each_row_has_a_block_of_its_own(shape, shared_cache):
    x = np.random.default_rng(0).normal(size=shape)
    for axis in (None, *range(x.ndim)):
        assert_as_numpy(x, axis)
        assert_as_numpy((x * 2).astype(np.int8), axis)
    assert_as_numpy(x.T, 0)


@pytest.mark.parametrize("dtype", ["i1", "f4"])
@one_in(2)
def test_blocks_of_short_rows_and_of_columns_are_short(dtype, shared_cache):
    for size, shape, axis in (
        (USUAL.shortest_search_block, (3, -1), 1),
        (USUAL.column_search_block, (-1, 3), 0),
    ):
        for length in (size, size + 1, 2 * size - 1, 5 * size // 2 + 7, 4 * size):
            x = drawn(dtype, 3 * length, length).reshape(shape)
            assert_as_numpy(x, axis)
            x[...] = 63
            assert_as_numpy(x, axis)


@pytest.mark.parametrize("length", [USUAL.shortest_row_of_parts - 1, 300])
def test_complex_numbers_are_compared_by_their_real_parts_first(length, shared_cache):
    x = drawn("f4", (4, length), 1) + 1j * drawn("f4", (4, length), 2)
    assert_as_numpy(x.astype("c8"), 1)
    x[1, length // 2] = complex(0, np.nan)
    x[2, 9:12] = complex(-np.inf, np.inf), complex(np.inf, -np.inf), complex(np.nan, 3)
    x[3] = complex(np.inf, -np.inf)
    assert_as_numpy(x, 1)
    assert_as_numpy(x)


@pytest.mark.parametrize("extreme", [np.max, np.min], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(300,), (7, 40), (3, 20, 5), (2, 3, 17), (2, 1300)])
@one_in(2)
def test_complex_extremes_are_the_first_of_equal_ones_to_the_bit(extreme, shape, shared_cache):
    random = np.random.default_rng(len(shape))
    parts = random.choice(SPECIAL[:6], (2, *shape), p=[0.2, 0.2, 0.25, 0.25, 0.05, 0.05])
    x = np.empty(shape, "c16")
    x.real, x.imag = parts
    y = x.copy()
    y.reshape(-1)[[5, 40, 60]] = complex(np.nan, 1), complex(1, -np.nan), 2
    axes = [None, *range(len(shape)), *([(0, 1), (1, 2), (0, 2)] if len(shape) > 2 else [])]
    for axis in axes:
        found = transpile.jit(lambda x, axis=axis: extreme(x, axis))
        others = (np.asfortranarray(x), np.asfortranarray(y)) if axis is None else ()
        for values in (x, y, x.astype("c8"), y.astype("c8"), *others):
            want = np.asarray(extreme(values, axis))
            got = np.asarray(found(values))
            same = np.array_equal(got, want, equal_nan=True)
            assert same and np.array_equal(np.signbit(got.real), np.signbit(want.real))
            assert np.array_equal(np.signbit(got.imag), np.signbit(want.imag))


def test_complex_extremes_of_transposes_are_compared_in_the_order_of_memory(shared_cache):
    x = drawn("f4", (30, 20, 40), 1) + 1j * drawn("f4", (30, 20, 40), 2)
    x[3, :, 5:7] = complex(1, np.nan)
    for turn in ((2, 1, 0), (1, 0, 2), (2, 0, 1)):
        y = x.transpose(turn)
        for axis in (None, 0, 1, 2, (0, 1), (1, 2), (0, 2)):
            found = transpile.jit(lambda x, axis=axis: (x.max(axis), (2 * x).min(axis)))(y)
            want = y.max(axis), (2 * y).min(axis)
            for got, expected in zip(found, want, strict=True):
                np.testing.assert_array_equal(got, expected)


@each("dtype", ["f4", "f8"], ordinary=("f8",))
def test_the_first_nan_is_the_extreme(dtype, shared_cache):
    x = np.zeros(3 * BLOCK + 7, dtype)
    assert_as_numpy(x)
    for value in (-0.0, -np.inf, np.inf, np.nan):
        for where in (len(x) - 1, len(x) - BLOCK, 2 * BLOCK, 5):
            x[where] = value
            assert_as_numpy(x)
        x[:] = value
        assert_as_numpy(x)


SHORT = (3, 7, 12, 30, USUAL.longest_row_of_keys, USUAL.longest_row_of_keys + 1)


@each("dtype", ["f2", "f4", "f8"], ordinary=("f2", "f4"))
@each("length", SHORT, ordinary=(30, USUAL.longest_row_of_keys))
def test_short_rows_are_compared_as_integers(dtype, length, shared_cache):
    random = np.random.default_rng(length)
    x = random.choice(SPECIAL, (200, length), p=[0.2, 0.2, 0.2, 0.2, 0.05, 0.05, 0.05, 0.05])
    least = np.finfo(dtype).smallest_subnormal
    x[::3] = random.choice([0.0, -0.0, -np.inf], (67, length))
    x[1::3] = random.choice([-least, least, 2 * least, 0.0, -0.0], (67, length))
    assert_as_numpy(x.astype(dtype), 1)
    assert_as_numpy(x[1::3].astype(dtype).T.copy(), 0)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "f2"])
def test_short_rows_of_small_integers_are_reduced_once(dtype):
    kind = np.dtype(dtype)
    info = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
    longest = USUAL.longest_row_of_keys // kind.itemsize
    random = np.random.default_rng(0)
    for length in (2, 7, longest, longest + 1):
        x = np.array([info.min, 0, 1, info.max], kind)[random.integers(0, 4, (60, length))]
        x[:4], x[4, -1] = info.min, info.max
        if kind.kind == "f":
            x[-5:, -2:] = np.nan
        for f in (np.argmax, np.argmin):
            graph = decompose(trace_to_graph(lambda x, f=f: f(x, axis=1), x))
            np.testing.assert_array_equal(interpret(graph, [x])[0], f(x, axis=1))
            is_once = names(graph).count("reduce_max") + names(graph).count("reduce_min") == 1
            assert is_once == (length <= longest)


@each("dtype", ["f2", "f4", "f8"], ordinary=("f2",))
def test_keys_have_the_order_of_the_numbers(dtype):
    bits = np.random.default_rng(0).integers(0, 1 << 16, 3000).astype("u2")
    x = np.concatenate([bits.view("f2").astype(dtype), np.asarray(SPECIAL, dtype)])
    keys = transpile.jit(lambda x: bind(order_key, x))(x)
    assert_equal_values(keys, order_key.numpy(x))
    numbers = x[~np.isnan(x)]
    of_numbers = keys[~np.isnan(x)]
    by_key, by_number = (np.argsort(v, kind="stable") for v in (of_numbers, numbers))
    np.testing.assert_array_equal(by_key, by_number)
    assert (keys[np.isnan(x)] > of_numbers.max()).all()


def test_an_operand_that_is_computed_is_so_where_it_is_looked_for(shared_cache):
    x = np.random.default_rng(1).normal(size=4 * BLOCK)
    got = transpile.jit(lambda x: np.argmax(np.abs(x) * 3))(x)
    assert got == np.argmax(np.abs(x))


def test_everything_is_read_once():
    text = transpile.jit(np.argmax).lower(np.ones(10 * BLOCK)).as_text("loops")
    assert text.count(str(10 * BLOCK)) == text.count(f"[{10 * BLOCK}]")  # no loop over all of it
