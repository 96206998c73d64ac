"""Threefry-2x32, the default: random bits, and keys derived from keys.

The bits of the n-th element in row-major order are Threefry's of the key and n, so that each can be
computed without the others. New keys are such bits, too. Keys are given here as their 64 bits, in a
trace unless it is said otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.graph import Const
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import Primitive
from transpile.numpy.core.promotion import convert, reshape_to
from transpile.primitives.random import threefry_2x32, threefry_2x32_folded
from transpile.primitives.reference.threefry import PARITY, ROTATIONS, UINT64
from transpile.primitives.rules import apply, broadcast
from transpile.random.evaluation import sampled
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import Tracer

DType = np.dtype[Any]

# So many keys are computed as Python's integers, and so many by NumPy.
FEW, MANY = 6, 4096
_MASK = 0xFFFFFFFF


def counters(shape: Shape) -> Any:
    """The number of each element, in row-major order."""
    flat = apply("iota", shape=(product(shape),), dimension=0, dtype=UINT64)
    return reshape_to(flat, shape)


def bits_64(key: Any, shape: Shape) -> Any:
    """Two random words for each element, as one number."""
    return _of_each(threefry_2x32, key, shape)


def bits_of(key: Any, shape: Shape, width: int) -> Any:
    """Unsigned integers of 8, 16, 32 or 64 random bits."""
    if width == 64:
        return bits_64(key, shape)
    return convert(_of_each(threefry_2x32_folded, key, shape), np.dtype(f"u{width // 8}"))


def _of_each(generator: Primitive, key: Any, shape: Shape) -> Any:
    """The generator's bits for the key and the number of each element."""
    if not shape:
        return bind(generator, key, np.zeros((), UINT64))
    scalar = key if isinstance(key, Tracer) else Const(np.asarray(key))
    return bind(generator, broadcast(scalar, shape, ()), counters(shape))


# ------------------------------------------------------------------------------- keys out of keys


def derived(key: Any, number: Any) -> Any:
    """The key that Threefry derives from a key and a number; in a trace or not."""
    if isinstance(key, Tracer) or isinstance(number, Tracer):
        return bind(threefry_2x32, key, number)
    return np.array(_threefry(int(key), int(number)), UINT64)


def _threefry(key: int, counter: int) -> int:
    """Threefry of Python's integers, which is faster than NumPy on scalars."""
    first, second = key >> 32, key & _MASK
    schedule = (first, second, first ^ second ^ PARITY)
    x, y = (counter >> 32) + first & _MASK, counter + second & _MASK
    for block in range(5):
        for left in ROTATIONS[block % 2]:
            x = x + y & _MASK
            y = (y << left & _MASK | y >> 32 - left) ^ x
        x = x + schedule[(block + 1) % 3] & _MASK
        y = y + schedule[(block + 2) % 3] + block + 1 & _MASK
    return x << 32 | y


def split_keys(key: Any, shape: Shape) -> Any:
    """An array of keys derived from one; in a trace or not."""
    if isinstance(key, Tracer):
        return bits_64(key, shape)
    count = product(shape)
    if not isinstance(count, int) or (count > MANY and current_trace() is not None):
        return bits_64(key, shape)
    if count > MANY:
        return sampled(bits_64, key, shape=shape)
    if count <= FEW:
        numbers = [_threefry(int(key), k) for k in range(count)]
        return np.array(numbers, UINT64).reshape(shape)
    keys = threefry_2x32.numpy(np.asarray(key), np.arange(count, dtype=UINT64))
    return keys.reshape(shape)
