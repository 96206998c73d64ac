"""The generators that JAX has beside Threefry-2x32: what their bits and derived keys are.

`philox2x32`, `philox4x32` and `threefry4x32` are functions of a key and a counter (J. Salmon, M.
Moraes, R. Dror and D. Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011), which is the number
of an element in row-major order. `rbg` and `unsafe_rbg` take the bits of `lax.rng_bit_generator`,
Philox-4x32 on a CPU; the keys that are derived in `rbg` are Threefry's, of both halves of a key,
and in `unsafe_rbg` they are such bits. Words of 32 bits are kept in numbers of 64. In a trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.dtypes import KeyType
from transpile.ir.dims import Shape
from transpile.lax.arrays.promotion import ints
from transpile.lax.arrays.random_bits import philox_4x32, rng_bit_generator
from transpile.numpy.core.promotion import broadcast_to, convert
from transpile.primitives.reference.threefry import PARITY, UINT32, UINT64
from transpile.random.generators import threefry
from transpile.random.key_arrays import KeyArray, from_words, keys_of, words
from transpile.util.frozen_records import dataclass

Words = Sequence[Any]

_WORD, _MASK = np.uint64(32), np.uint64(0xFFFFFFFF)
_ZERO = np.uint64(0)
_ROUNDS = 10
# Of a round of Philox-2x32: the factor, and what is added to the key after it.
_FACTOR, _WEYL = np.uint64(0xD256D193), 0x9E3779B9
# The rotations of Threefry-4x32, two for each of eight rounds, and the words that each round mixes.
_ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
_MIXED = (((0, 1), (2, 3)), ((0, 3), (2, 1)))


def _halves(x: Any) -> Words:
    return [x >> _WORD, x & _MASK]


def _joined(high: Any, low: Any) -> Any:
    return high << _WORD | low


# -------------------------------------------------------------------------------- hash functions


def _philox_2x32(key: Words, counter: Words) -> Words:
    """The two words of a key of one word and a counter of two."""
    x, y = counter
    for turn in range(_ROUNDS):
        product_of_words = _FACTOR * x
        own = key[0] + np.uint64(turn * _WEYL % 2**32) & _MASK
        x, y = product_of_words >> _WORD ^ y ^ own, product_of_words & _MASK
    return [x, y]


def _threefry_4x32(key: Words, counter: Words) -> Words:
    """The four words of a key and a counter of four: 20 rounds."""
    last = key[0] ^ key[1] ^ key[2] ^ key[3] ^ np.uint64(PARITY)
    schedule = [*key, last]
    x = [a + b & _MASK for a, b in zip(counter, key, strict=True)]
    for turn in range(20):
        for (a, b), left in zip(_MIXED[turn % 2], _ROTATIONS[turn % 8], strict=True):
            x[a] = x[a] + x[b] & _MASK
            turned = (x[b] << np.uint64(left) | x[b] >> np.uint64(32 - left)) & _MASK
            x[b] = turned ^ x[a]
        if turn % 4 == 3:
            block = turn // 4 + 1
            x = [v + schedule[(block + k) % 5] & _MASK for k, v in enumerate(x)]
            x[3] = x[3] + np.uint64(block) & _MASK
    return x


# ------------------------------------------------------------------------------------- generators


@dataclass(frozen=True)
class _Hash:
    """A generator that hashes a key and a counter.

    `at(high, low)` is the counter of the n-th element's bits, whose number has these halves, and
    `derived(high, low)` that of the n-th key; `seeded(high, low)` are the key and the counter of a
    seed. The words of a derived key are the first of those that the hash gives.
    """

    kind: KeyType
    hash: Callable[[Words, Words], Words]
    at: Callable[[Any, Any], Words]
    derived: Callable[[Any, Any], Words]
    seeded: Callable[[Any, Any], tuple[Words, Words]]
    wide: Callable[[Words], Words]

    def _keys(self, found: Words) -> KeyArray:
        return from_words(self.kind, np.stack([convert(w, UINT64) for w in found], axis=-1))

    def _hashed(self, key: KeyArray, counter: Words) -> Words:
        shape = max((np.shape(c) for c in counter), key=len)
        own = [w for part in key.parts for w in _halves(part)][-self.kind.words :]
        return self.hash(*([broadcast_to(w, shape) for w in words] for words in (own, counter)))

    def seed(self, seed: Any) -> KeyArray:
        key, counter = self.seeded(*_halves(seed))
        return self._keys(self.hash(key, counter)[: self.kind.words])

    def split(self, key: KeyArray, shape: Shape) -> KeyArray:
        counter = self.derived(*_halves(threefry.counters(shape)))
        return self._keys(self._hashed(key, counter)[: self.kind.words])

    def fold_in(self, key: KeyArray, number: Any) -> KeyArray:
        return self._keys(self._hashed(key, self.derived(_ZERO, number))[: self.kind.words])

    def bits(self, key: KeyArray, shape: Shape, width: int) -> Any:
        found = self._hashed(key, self.at(*_halves(threefry.counters(shape))))
        if width == 64:
            return _joined(*self.wide(found))
        folded = found[0]
        for word in found[1:]:
            folded = folded ^ word
        return convert(folded, np.dtype(f"u{width // 8}"))


class _Rbg:
    """Bits of `rng_bit_generator`; new keys by Threefry, of the halves of a key."""

    kind = KeyType("rbg", "rbg", 4)

    def seed(self, seed: Any) -> KeyArray:
        return keys_of(self.kind, [seed, seed])

    def split(self, key: KeyArray, shape: Shape) -> KeyArray:
        return keys_of(self.kind, [threefry.split_keys(part, shape) for part in key.parts])

    def fold_in(self, key: KeyArray, number: Any) -> KeyArray:
        return key.each(lambda part: threefry.derived(part, number))

    def bits(self, key: KeyArray, shape: Shape, width: int) -> Any:
        return rng_bit_generator(words(key), ints(shape), np.dtype(f"u{width // 8}"))[1]


class _UnsafeRbg(_Rbg):
    """New keys by the generator itself: each tenth block of bits is one."""

    kind = KeyType("unsafe_rbg", "urbg", 4)
    _BLOCKS = 10

    def _blocks(self, key: KeyArray, count: int) -> Any:
        return rng_bit_generator(words(key), (self._BLOCKS * count, 4), UINT32)[1]

    def split(self, key: KeyArray, shape: Shape) -> KeyArray:
        found = self._blocks(key, math.prod(ints(shape)))[:: self._BLOCKS]
        return from_words(self.kind, found.reshape(*shape, 4))

    def fold_in(self, key: KeyArray, number: Any) -> KeyArray:
        mixed = words(key) ^ self._blocks(self.seed(number), 1)[-1]
        return from_words(self.kind, mixed)


_ALL = (
    _Hash(
        KeyType("philox2x32", "phx2", 1),
        _philox_2x32,
        at=lambda high, low: [high, low],
        derived=lambda high, low: [high, low],
        seeded=lambda high, low: ([_ZERO], [high, low]),
        wide=lambda found: found,
    ),
    _Hash(
        KeyType("philox4x32", "phx4", 2),
        lambda key, counter: philox_4x32(list(counter), list(key)),
        at=lambda high, low: [high, low, _ZERO, _ZERO],
        derived=lambda high, low: [_ZERO, _ZERO, high, low],
        seeded=lambda high, low: ([_ZERO] * 2, [high, low, _ZERO, _ZERO]),
        wide=lambda found: found[:2],
    ),
    _Hash(
        KeyType("threefry4x32", "fry4", 4),
        _threefry_4x32,
        at=lambda high, low: [high, low, _ZERO, _ZERO],
        derived=lambda high, low: [_ZERO, _ZERO, high, low],
        seeded=lambda high, low: ([high, low, _ZERO, _ZERO], [_ZERO] * 4),
        wide=lambda found: [found[0] ^ found[2], found[1] ^ found[3]],
    ),
    _Rbg(),
    _UnsafeRbg(),
)
GENERATORS: dict[str, _Hash | _Rbg] = {g.kind.implementation: g for g in _ALL}


def _of(key: KeyArray) -> _Hash | _Rbg:
    return GENERATORS[key.dtype.implementation]


def seeded(seed: Any, name: str) -> KeyArray:
    """The key of a seed of 64 bits."""
    return GENERATORS[name].seed(seed)


def split_keys(key: KeyArray, shape: Shape) -> KeyArray:
    """An array of keys derived from one."""
    return _of(key).split(key, shape)


def folded(key: KeyArray, number: Any) -> KeyArray:
    """The key derived from a key and a number."""
    return _of(key).fold_in(key, number)


def bits_of(key: KeyArray, shape: Shape, width: int) -> Any:
    """Unsigned integers of 8, 16, 32 or 64 random bits."""
    return _of(key).bits(key, shape, width)
