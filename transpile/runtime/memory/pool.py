"""A pool of memory for large arrays: blocks of freed results and workspaces are reused.

The system maps the pages of a new large array at their first writes, and unmaps them when the array
is freed. That can take longer than computing the values. So freed blocks are kept for later arrays
of about the same size. `clear_caches` frees them, and so does a call that runs out of memory. The
environment variable TRANSPILE_RESERVE_BYTES limits the bytes that are kept; 0 keeps nothing.

Workspaces of up to MOST_SPARE bytes, which no user sees, wait for the next call in lists that all
programs with workspaces of about that size share: to take one from a list is the work of some
nanoseconds, and to make one of a block that of microseconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

# In bytes. malloc reuses the memory of smaller arrays; that of larger ones it gives back to the
# system, where freed arrays lie beside each other at the end of its memory.
LARGE = 1 << 18
DEFAULT_MOST_KEPT = 512 << 20
# In bytes. The workspace of a product whose sizes are all known at run time takes 6.5 MB.
MOST_SPARE = 16 << 20
# Arrays are aligned to pages. Processors take a load to depend on an earlier store if the low 12
# bits of their addresses are equal (4K aliasing). NumPy's own large arrays begin 16 bytes behind a
# page, so that loads from them are ahead of the stores to an array of the pool.
_PAGE = 4096
_LINE = 64

Array = np.ndarray[Any, Any]


class MemoryPool:
    """Free blocks, at most `most_kept` bytes of them.

    There are no locks: an array can be freed at any moment, in any thread, also while this code
    runs. Shared state is changed by atomic operations of lists and dicts.
    """

    def __init__(self, most_kept: int) -> None:
        self.most_kept = most_kept
        # Blocks by size; the least recently freed sizes come first.
        self._unused: dict[int, list[_Block]] = {}
        self._spare: dict[int, list[Array]] = {}  # workspaces by size

    def bytes_kept(self) -> int:
        """The bytes of all free blocks."""
        kept = 0
        for size, blocks in tuple(self._unused.items()):
            kept += size * len(blocks)
        return kept

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> Array:
        """An uninitialised array of `size` bytes, whose block returns to the pool when the array
        and all its views are freed."""
        # Similar sizes share blocks; pages behind the array are never written, and so not mapped.
        rounded = -(-size // LARGE) * LARGE
        try:
            block = self._unused[rounded].pop()
        except (KeyError, IndexError):
            block = self._new(rounded + _PAGE)
        owner = block.view(_Owner)
        owner.pool = self
        return np.ndarray(shape, dtype, owner, offset=block.first)

    def spare(self, size: int) -> list[Array] | None:
        """The free workspaces of `workspace_room(size)` bytes, to take from and to return to; None
        where programs do not keep any."""
        room = workspace_room(size)
        if room >= LARGE and room > min(MOST_SPARE, self.most_kept):
            return None
        return self._spare.setdefault(room, [])

    def _new(self, size: int) -> _Block:
        """A new block; where the system has no memory, after the free blocks have been released."""
        try:
            block = _Block((size,), np.uint8)
        except MemoryError:
            if not self.release_all():
                raise
            block = _Block((size,), np.uint8)
        # Not block.ctypes, which imports: at the end of a process that fails.
        address, _ = block.__array_interface__["data"]
        block.first = -address % _PAGE
        return block

    def reclaim(self, block: Any) -> None:
        """Keep a block that no array uses any more, and release the oldest ones above the limit."""
        size = block.size - _PAGE
        if size > self.most_kept:
            return
        blocks = self._unused.pop(size, None)
        if blocks is None:
            blocks = []
        blocks.append(block)
        kept = self._unused.setdefault(size, blocks)
        if kept is not blocks:  # another thread has kept a block of this size meanwhile
            kept.extend(blocks)
        while self.bytes_kept() > self.most_kept:
            self._release_oldest()

    def _release_oldest(self) -> None:
        for size, blocks in tuple(self._unused.items()):
            del blocks[:1]
            if not blocks:
                self._unused.pop(size, None)
            return

    def release_all(self) -> bool:
        """Release all free blocks to the system; True if there were any."""
        spare = tuple(self._spare.values())  # the lists are those of programs
        had = self.bytes_kept() > 0 or any(spare)
        self._unused.clear()
        for workspaces in spare:
            workspaces.clear()
        return had


class _Block(Array):
    """A block. It has a class of its own, so that the base of a view of an `_Owner` is the owner:
    NumPy skips a base of the same class. `first` is the place of its first page."""

    first: int


class _Owner(Array):
    """The base of an array of the pool; it is freed with the last view of the array."""

    pool: MemoryPool | None = None  # a user's view of it is no owner

    def __del__(self) -> None:
        if self.pool is not None:
            self.pool.reclaim(self.base)


MEMORY_POOL: Final = MemoryPool(DEFAULT_MOST_KEPT)


def _most_kept() -> int:
    given = os.environ.get("TRANSPILE_RESERVE_BYTES", "")
    if given and not given.isdecimal():
        raise ValueError(f"TRANSPILE_RESERVE_BYTES takes a number of bytes, not {given!r}")
    return int(given) if given else DEFAULT_MOST_KEPT


def workspace_room(size: int) -> int:
    """The bytes of the arrays that serve as workspaces of `size` bytes: a power of two up
    to MOST_SPARE."""
    return size if size > MOST_SPARE or not size else 1 << (size - 1).bit_length()


def workspace_maker(room: int) -> Callable[[], Array]:
    """The constructor of workspaces of so many bytes."""
    from_pool = maker((room,), np.dtype("u1"))
    return partial(aligned, room) if from_pool is None else from_pool


def aligned(size: int) -> Array:
    """An uninitialised array of so many bytes, from the beginning of a cache line on, so that no
    vector of a workspace lies across two."""
    block = np.empty(size + _LINE, np.uint8)
    address, _ = block.__array_interface__["data"]
    first = -address % _LINE
    return block[first : first + size]


def maker(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[], Array] | None:
    """The constructor of arrays of a shape and dtype from the pool; None where they are not
    large."""
    size = dtype.itemsize
    for length in shape:
        size *= length
    if size < LARGE or dtype.hasobject:
        return None
    MEMORY_POOL.most_kept = _most_kept()
    return partial(MEMORY_POOL.empty, shape, dtype, size)
