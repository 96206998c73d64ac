"""Threefry-2x32 with 20 rounds (J. Salmon, M. Moraes, R. Dror and D. Shaw, 2011), with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

UINT32 = np.dtype("uint32")
UINT64 = np.dtype("uint64")

# Random123's rotations of four rounds, and of the next four; its parity word.
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


def threefry(key: Any, counter: Any) -> Any:
    """Two random 32-bit words, as a uint64, for a key and a counter of two words each."""
    key, counter = np.asarray(key, UINT64), np.asarray(counter, UINT64)
    first, second = _words(key)
    schedule = (first, second, first ^ second ^ np.uint32(PARITY))
    x, y = _words(counter)
    with np.errstate(over="ignore"):  # NumPy warns where scalars wrap around
        x, y = x + schedule[0], y + schedule[1]
        for block in range(5):
            for rotation in ROTATIONS[block % 2]:
                x = x + y
                y = (y << np.uint32(rotation) | y >> np.uint32(32 - rotation)) ^ x
            x = x + schedule[(block + 1) % 3]
            y = y + schedule[(block + 2) % 3] + np.uint32(block + 1)
    return x.astype(UINT64) << np.uint64(32) | y.astype(UINT64)


def folded(key: Any, counter: Any) -> Any:
    """The exclusive or of the two words that `threefry` makes: 32 random bits."""
    first, second = _words(threefry(key, counter))
    return first ^ second


def _words(x: Any) -> tuple[Any, Any]:
    return (x >> np.uint64(32)).astype(UINT32), x.astype(UINT32)
