"""Samples of large arrays, by which a change in place of most of their elements is noticed.

A call cannot compare millions of elements. It compares the first one, the last one, and one of each
of so many stretches of equal length in memory, so that no change of two neighbouring stretches
escapes it. Where in its stretch an element lies follows the multiples of the golden ratio, which
keep to no row length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

STRETCHES = 32
# Of the arrays after the first so many that a function has captured, only a few elements.
MOST_ARRAYS, FEW_STRETCHES = 16, 4
_GOLDEN = 0x9E3779B97F4A7C15  # 2 ** 64 / 1.618...


def can_be_sampled(array: Any) -> bool:
    """True for elements that lie in memory without gaps, and are no references."""
    flags = array.flags
    return (
        array.size > 0 and not array.dtype.hasobject and (flags.c_contiguous or flags.f_contiguous)
    )


def sampled(array: Any, number: int) -> tuple[Any, ...]:
    """What the guard of an array compares: its dtype and shape, the sampled elements, and their
    offsets in memory in bytes, as int64. It is the `number`th array that is sampled."""
    stretches = STRETCHES if number <= MOST_ARRAYS else FEW_STRETCHES
    size, positions = array.size, {0, array.size - 1}
    for stretch in range(stretches):
        start, end = size * stretch // stretches, size * (stretch + 1) // stretches
        positions.add(start + ((end - start) * (_GOLDEN * (stretch + 1) % 2**64) >> 64))
    offsets = (np.array(sorted(positions), np.int64) * array.itemsize).tobytes()
    return array.dtype, array.shape, sample(array, offsets), offsets


def sample(array: Any, offsets: bytes) -> bytes:
    """The elements at these offsets, one after the other; b"" for an array with gaps."""
    if not can_be_sampled(array):
        return b""
    elements = array.view(np.ndarray).ravel(order="K")
    return bytes(elements[np.frombuffer(offsets, np.int64) // array.itemsize].tobytes())
