"""rng_bit_generator: the bits of XLA's instruction, as JAX 0.10.2 gives them on a CPU."""

import numpy as np
import pytest

import transpile
from transpile import lax

DEFAULT, THREEFRY, PHILOX = lax.RandomAlgorithm
STATE = np.array([1, 2, 3, 4], np.uint32)
WIDE = np.array([1, 2], np.uint64)
LAST = np.full(2, 2**64 - 1, np.uint64)

# fmt: off
FACTS = [
    (STATE, (5,), "u1", DEFAULT, [1, 2, 5, 4], [100, 215, 190, 1, 123]),
    (STATE, (2, 3), "u2", PHILOX, [1, 2, 5, 4], [[59492, 3031, 51646], [37377, 18555, 22166]]),
    (STATE, (), "u4", DEFAULT, [1, 2, 4, 4], 512747620),
    (STATE, (3,), "u8", PHILOX, [1, 2, 5, 4],
     [5574906407289874532, 3272025663544478142, 7043725020835825787]),
    (WIDE, (9,), "u4", DEFAULT, [1, 5],
     [2100602697, 2847456232, 2074354647, 800269529, 1828267006, 3135207875, 3972719319,
      2171987788, 433598563]),
    (LAST, (9,), "u4", DEFAULT, [2**64 - 1, 2],
     [1083123565, 1103641358, 2718681030, 1834242557, 1923381001, 356992825, 2671882271,
      578394714, 436131089]),
    (STATE, (5,), "u4", THREEFRY, [1, 2, 6, 4],
     [1576285164, 2249660814, 740599976, 2425682526, 2436392515]),
    (STATE, (2, 3), "u1", THREEFRY, [1, 2, 6, 4], [[236, 168, 67], [142, 94, 25]]),
    (STATE, (), "u8", THREEFRY, [1, 2, 4, 4], 9662219624799024108),
    (STATE, (5,), "u8", THREEFRY, [1, 2, 8, 4],
     [9662219624799024108, 10418227120389269672, 6433701140276733507, 9707638358252452699,
      16980371968582007637]),
    (WIDE, (3, 5), "u1", THREEFRY, [1, 11],
     [[84, 59, 211, 3, 211], [96, 52, 173, 229, 23], [208, 130, 101, 78, 242]]),
    (LAST, (3,), "u4", THREEFRY, [2**64 - 1, 1], [481924860, 3137350631, 1094285764]),
]
# Where the bits of Threefry of a vector stand in other shapes, and how many counters they take.
ORDERS = [
    ((3, 4), 6, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
    ((2, 4, 2), 8, [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]),
    ((3, 5), 9, [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16]),
    ((5, 3), 9, [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11, 12, 14, 16]),
    ((3, 3), 6, [0, 2, 4, 1, 3, 5, 6, 8, 10]),
    ((1, 7), 4, [0, 1, 2, 3, 4, 5, 6]),
    ((1, 1), 1, [0]),
    ((3, 0), 0, []),
]
# fmt: on


@pytest.mark.parametrize(("state", "shape", "dtype", "algorithm", "after", "bits"), FACTS)
def test_bits_are_those_of_xla(state, shape, dtype, algorithm, after, bits):
    found, values = lax.rng_bit_generator(state, shape, dtype, algorithm)
    assert found.dtype == state.dtype and values.dtype == dtype
    np.testing.assert_array_equal(found, np.array(after, state.dtype))
    np.testing.assert_array_equal(values, np.array(bits, dtype))


@pytest.mark.parametrize(("shape", "counters", "order"), ORDERS)
def test_neighbours_have_a_counter_of_threefry_together(shape, counters, order):
    _, line = lax.rng_bit_generator(WIDE, (20,), "u4", THREEFRY)
    after, found = lax.rng_bit_generator(WIDE, shape, "u4", THREEFRY)
    np.testing.assert_array_equal(found, line[order].reshape(shape))
    assert after[1] == WIDE[1] + counters


def test_philox_gives_what_its_authors_published():
    _, bits = lax.rng_bit_generator(np.zeros(2, np.uint64), (4,), algorithm=PHILOX)
    assert [f"{word:08x}" for word in bits] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


def test_bits_in_programs_and_batches():
    def draws(state):
        state, wide = lax.rng_bit_generator(state, (2, 5), np.uint64)
        return lax.rng_bit_generator(state, (7, 3), "u2", THREEFRY), wide

    (after, narrow), wide = transpile.jit(draws)(STATE)
    (after_, narrow_), wide_ = draws(STATE)
    for found, want in ((after, after_), (narrow, narrow_), (wide, wide_)):
        np.testing.assert_array_equal(found, want)
    states = np.stack([STATE, STATE + 1])
    rows = transpile.vmap(lambda s: lax.rng_bit_generator(s, (6,))[1])(states)
    np.testing.assert_array_equal(rows[1], lax.rng_bit_generator(STATE + 1, (6,))[1])


def test_refused_states_and_dtypes():
    with pytest.raises(ValueError, match=r"uint32\[4\] or uint64\[2\], not uint32\[2\]"):
        lax.rng_bit_generator(STATE[:2], (3,))
    with pytest.raises(ValueError, match=r"not int64\[4\]"):
        lax.rng_bit_generator(STATE.astype(int), (3,))
    with pytest.raises(TypeError, match="unsupported dtype int32"):
        lax.rng_bit_generator(STATE, (3,), np.int32)
