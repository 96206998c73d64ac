"""Rows of `transpile.random`: random bits.

A key is a number of 64 bits, so that arrays of keys are arrays of numbers; what stands for two
words of 32 bits in the literature are its halves, the first word the upper one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.primitives.kinds import elementwise, same_type
from transpile.primitives.rules import flat
from transpile.types import ArrayType

UINT32 = np.dtype("uint32")
UINT64 = np.dtype("uint64")

# Random123's rotations of four rounds, and of the next four; its parity word.
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def _threefry(key: Any, counter: Any) -> Any:
    """Threefry-2x32 with 20 rounds; see runtime_c/threefry.h."""
    key, counter = np.asarray(key, UINT64), np.asarray(counter, UINT64)
    first, second = _words(key)
    schedule = (first, second, first ^ second ^ _PARITY)
    x, y = _words(counter)
    with np.errstate(over="ignore"):  # NumPy warns where scalars wrap around
        x, y = x + schedule[0], y + schedule[1]
        for block in range(5):
            for rotation in _ROTATIONS[block % 2]:
                x = x + y
                y = (y << np.uint32(rotation) | y >> np.uint32(32 - rotation)) ^ x
            x = x + schedule[(block + 1) % 3]
            y = y + schedule[(block + 2) % 3] + np.uint32(block + 1)
    return x.astype(UINT64) << np.uint64(32) | y.astype(UINT64)


def _words(x: Any) -> tuple[Any, Any]:
    return (x >> np.uint64(32)).astype(UINT32), x.astype(UINT32)


def _threefry_type(key: ArrayType, counter: ArrayType) -> ArrayType:
    for operand in (key, counter):
        if operand.dtype != UINT64:
            raise TypeError(f"threefry_2x32 takes uint64 operands, got {key} and {counter}")
    return same_type(key, counter)


threefry_2x32 = elementwise(
    "threefry_2x32",
    _threefry,
    "threefry_2x32(x, y)",
    dtypes="u",
    result=_threefry_type,
    cost=115,
    jvp=(flat, flat),
)
