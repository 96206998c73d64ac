"""Run-time alias tests: which arrays share memory, with each other or, by strides, with themselves.

A program requires that the arrays that it writes alias no other one. So a result takes the memory
of a donated argument only if no other argument aliases that, and an argument that the function
assigns to must not have two elements at one address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_FEW = 4  # arrays: up to so many, a test of each pair takes less time than sorting addresses
# The limit for NumPy's exact test, which is exponential at worst; views by slices need little work.
_MOST_WORK: Any = 100_000


def unshared(arrays: Sequence[Array], wanted: Sequence[int]) -> list[Array | None]:
    """The wanted arrays, by position; None for one that is read-only or overlaps another of the
    arrays. All are contiguous, so that comparing addresses is exact."""
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
    overlapping: set[int] = set()
    last, owner = 0, -1  # the largest end so far, and the array that it is of
    for start, end, position in ranges:
        if start < last:  # any other earlier array that it overlaps overlaps the owner too
            overlapping |= {position, owner}
        if end > last:
            last, owner = end, position
    return overlapping


def overlap(one: Array, other: Array) -> bool:
    """True if two arrays of any strides share memory, or if that is too expensive to decide."""
    try:
        return np.shares_memory(one, other, max_work=_MOST_WORK)
    except np.exceptions.TooHardError:
        return True


def overlaps_itself(array: Array) -> bool:
    """True if two elements of an array share memory, as in windows made by `as_strided`."""
    if array.flags.forc or not array.size:
        return False
    axes = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    reach = array.itemsize  # bytes that the axes so far span; in a slice a stride is no smaller
    for stride, count in axes:
        if stride < reach:
            break
        reach = stride * (count - 1) + reach
    else:
        return False
    offsets = np.zeros((), np.intp)
    for stride, count in axes:
        offsets = np.add.outer(offsets, np.arange(count, dtype=np.intp) * stride)
    return bool(np.any(np.diff(np.sort(offsets, axis=None)) < array.itemsize))
