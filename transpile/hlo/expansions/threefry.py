"""The generator Threefry-2x32 (J. Salmon, M. Moraes, R. Dror and D. Shaw, Parallel random numbers:
as easy as 1, 2, 3, 2011), in additions, rotations and exclusive ors of 32-bit words."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.hlo.builder import Rules
from transpile.primitives.reference.threefry import PARITY, ROTATIONS, UINT32, UINT64


def threefry(key: Any, counter: Any) -> Any:
    """Two random words, as a uint64, for a key and a counter of two words each."""
    first, second = _encrypted(key, counter)
    return (first.astype(UINT64) << np.uint64(32)) | second.astype(UINT64)


def folded(key: Any, counter: Any) -> Any:
    """The exclusive or of the two words."""
    first, second = _encrypted(key, counter)
    return first ^ second


def _encrypted(key: Any, counter: Any) -> tuple[Any, Any]:
    """Twenty rounds; after every fourth one words of the key are added, and the block's number."""
    first, second = _words(key)
    schedule = (first, second, first ^ second ^ np.uint32(PARITY))
    x, y = _words(counter)
    x, y = x + schedule[0], y + schedule[1]
    for block in range(5):
        for rotation in ROTATIONS[block % 2]:
            x = x + y
            y = ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))) ^ x
        x = x + schedule[(block + 1) % 3]
        y = y + schedule[(block + 2) % 3] + np.uint32(block + 1)
    return x, y


def _words(x: Any) -> tuple[Any, Any]:
    return (x >> np.uint64(32)).astype(UINT32), x.astype(UINT32)


EXPANSIONS: Rules = {"threefry_2x32": threefry, "threefry_2x32_folded": folded}
