"""Arrays that share memory: with each other, and, by their strides, with themselves.

A program reads arrays that do not overlap what it writes. So a result takes the memory of a donated
argument only where no other argument lies there, and an argument that the function assigns to has
each of its elements in a place of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_FEW = 4  # arrays: up to here a test of each pair takes less time than sorting addresses
# How many steps NumPy's exact test may take. It is exponential at worst; views by slices need few.
_MOST_WORK: Any = 100_000


def unshared(arrays: Sequence[Array], wanted: Sequence[int]) -> list[Array | None]:
    """Those of the wanted arrays, by position, that can be written to and overlap none of the
    others; None for the rest. All are contiguous, so that the test by addresses is exact."""
    if len(arrays) <= _FEW:
        return [_alone(arrays, position) for position in wanted]
    shared = _overlapping(arrays)
    return [arrays[p] if p not in shared and arrays[p].flags.writeable else None for p in wanted]


def _alone(arrays: Sequence[Array], position: int) -> Array | None:
    """As `unshared`, for one of few arrays, pair by pair."""
    array = arrays[position]
    if not array.flags.writeable:
        return None
    for number, other in enumerate(arrays):
        if number != position and np.may_share_memory(array, other):
            return None
    return array


def _overlapping(arrays: Sequence[Array]) -> set[int]:
    """The positions of contiguous arrays that overlap another one."""
    ranges = sorted(
        (start, start + x.nbytes, position)
        for position, x in enumerate(arrays)
        if x.size
        for start in [x.__array_interface__["data"][0]]
    )
    found: set[int] = set()
    last, owner = 0, -1  # where the array ends that reaches furthest so far, and which it is
    for start, end, position in ranges:
        if start < last:  # whichever earlier one lies here overlaps the owner, or is it
            found |= {position, owner}
        if end > last:
            last, owner = end, position
    return found


def overlap(one: Array, other: Array) -> bool:
    """Tell whether two arrays of any strides share memory; also where that is too hard to find."""
    try:
        return np.shares_memory(one, other, max_work=_MOST_WORK)
    except np.exceptions.TooHardError:
        return True


def overlaps_itself(array: Array) -> bool:
    """Tell whether two elements of an array share memory, as in `as_strided` windows."""
    if array.flags.forc or not array.size:
        return False
    axes = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    reach = array.itemsize  # what the axes so far span; slices of arrays step over all of it
    for stride, count in axes:
        if stride < reach:
            break
        reach = stride * (count - 1) + reach
    else:
        return False
    places = np.zeros((), np.intp)
    for stride, count in axes:
        places = np.add.outer(places, np.arange(count, dtype=np.intp) * stride)
    return bool(np.any(np.diff(np.sort(places, axis=None)) < array.itemsize))
