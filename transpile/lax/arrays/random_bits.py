"""`rng_bit_generator`: the random bits of XLA's instruction of that name on a CPU.

Both generators are of J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011, and
elementwise functions of a key and a counter. The state is two numbers of 64 bits: the key, and the
first counter, which goes on by the number of counters that were used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.lax.arrays.enums import RandomAlgorithm
from transpile.lax.arrays.promotion import array, dtype_argument, ints, public
from transpile.numpy.core.promotion import convert
from transpile.numpy.core.promotion import error as located
from transpile.primitives.random import threefry_2x32
from transpile.primitives.reference.threefry import UINT32, UINT64
from transpile.primitives.rules import apply, broadcast
from transpile.trace.trace import bind

__all__ = ["rng_bit_generator"]

_WORD, _MASK = np.uint64(32), np.uint64(0xFFFFFFFF)
# Philox-4x32: the factors of a round, and what is added to the two words of the key after each.
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10


@public
def rng_bit_generator(
    key: Any,
    shape: Sequence[int],
    dtype: Any = UINT32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Any, Any]:
    """The next state of a generator, and random unsigned integers of a shape: the bits that JAX
    gives on a CPU.

    key        the state, uint32[4] or uint64[2]
    dtype      uint8, uint16, uint32 or uint64
    algorithm  Philox-4x32, which is also the default, or Threefry-2x32

    Raises TypeError for another dtype, ValueError for another state.
    """
    state = array(key, "rng_bit_generator")
    kind = dtype_argument(dtype)
    if kind.kind != "u":
        raise located(TypeError, f"rng_bit_generator: unsupported dtype {kind}")
    if (state.shape, state.dtype) not in (((4,), UINT32), ((2,), UINT64)):
        raise located(
            ValueError,
            "rng_bit_generator takes a key of type uint32[4] or uint64[2], not "
            f"{state.dtype}{list(state.shape)}",
        )
    sizes = ints(shape)
    first, second = _numbers(state)
    generator = _threefry if algorithm == RandomAlgorithm.RNG_THREE_FRY else _philox
    count, bits = generator(first, second, sizes, kind.itemsize == 8)
    after = second + np.uint64(count)
    return _like(state, first, after), convert(bits, kind)


def _numbers(state: Any) -> tuple[Any, Any]:
    """The key and the counter of a state; of two words of 32 bits the lower one is first."""
    if state.dtype == UINT64:
        return state[0], state[1]
    words = convert(state, UINT64)
    return words[0] | words[1] << _WORD, words[2] | words[3] << _WORD


def _like(state: Any, key: Any, counter: Any) -> Any:
    if state.dtype == UINT64:
        return np.stack([key, counter])
    return np.stack([convert(w, UINT32) for x in (key, counter) for w in (x, x >> _WORD)])


def _counters(counter: Any, count: int) -> Any:
    return counter + apply("iota", shape=(count,), dimension=0, dtype=UINT64)


def _philox(key: Any, counter: Any, sizes: tuple[int, ...], is_wide: bool) -> tuple[int, Any]:
    """Four words for each counter of 128 bits, whose upper half is the key, one after another; a
    wide element takes two, the lower one first."""
    size = math.prod(sizes)
    count = -(-size // (2 if is_wide else 4))
    if not count:
        return 0, np.zeros(sizes, UINT64)
    low = _counters(counter, count)
    high = key + convert(low < counter, UINT64)  # where the lower half begins again
    words = [low & _MASK, low >> _WORD, high & _MASK, high >> _WORD]
    words = philox_4x32(words, [key & _MASK, key >> _WORD])
    if is_wide:
        words = [words[0] | words[1] << _WORD, words[2] | words[3] << _WORD]
    return count, np.reshape(np.reshape(np.stack(words, axis=-1), -1)[:size], sizes)


def philox_4x32(words: list[Any], key: list[Any]) -> list[Any]:
    """Four random words of 32 bits for a counter of four and a key of two."""
    for turn in range(_ROUNDS):
        own = [
            k + np.uint64(turn * weyl % 2**32) & _MASK for k, weyl in zip(key, _WEYL, strict=True)
        ]
        left, right = _FACTORS[0] * words[0], _FACTORS[1] * words[2]
        words = [
            right >> _WORD ^ words[1] ^ own[0],
            right & _MASK,
            left >> _WORD ^ words[3] ^ own[1],
            left & _MASK,
        ]
    return words


def _threefry(key: Any, counter: Any, sizes: tuple[int, ...], is_wide: bool) -> tuple[int, Any]:
    """A wide element is the two words of its counter. Of others two neighbours along an axis have a
    counter together: along the first axis of an even size, else the longest, whose last elements
    then have one each."""
    axis = next((k for k, n in enumerate(sizes) if n % 2 == 0), None)
    if axis is None and sizes:
        axis = max(range(len(sizes)), key=lambda k: sizes[k])
    halved = list(sizes)
    if axis is not None and not is_wide:
        halved[axis] = -(-sizes[axis] // 2)
    count = math.prod(halved)
    if not count:
        return 0, np.zeros(sizes, UINT64)
    pairs = bind(
        threefry_2x32,
        broadcast(_exchanged(key), (count,), ()),
        _exchanged(_counters(counter, count)),
    )
    if is_wide:
        return count, np.reshape(_exchanged(pairs), sizes)
    words = [pairs >> _WORD, pairs & _MASK]
    if axis is None:
        return count, np.reshape(words[0], sizes)
    both = np.stack([np.reshape(w, halved) for w in words], axis=axis + 1)
    joined = np.reshape(both, [*halved[:axis], 2 * halved[axis], *halved[axis + 1 :]])
    return count, joined[(slice(None),) * axis + (slice(sizes[axis]),)]


def _exchanged(x: Any) -> Any:
    """The two words of 32 bits in the other order: our primitive has the first one in the upper
    half, XLA in the lower one."""
    return x >> _WORD | x << _WORD
