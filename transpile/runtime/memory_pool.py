"""Memory for large arrays, used again when they are gone.

The system gives a new large array its pages one by one, when each is first written to, and takes
them back when the array goes. That can take longer than computing what is written: so the memory of
large results and workspaces is kept for later ones of about the same size; `clear_caches` gives it
back, and so does a call that gets no memory. How much is kept at most, in bytes, says the
environment variable TRANSPILE_RESERVE_BYTES; 0 keeps nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

# Smaller arrays are malloc's: it keeps their memory by itself. In bytes.
LARGE = 1 << 20
DEFAULT_MOST_KEPT = 512 << 20
# Arrays begin at a page. Processors take a load for one of what was stored just before at the same
# place of another page. NumPy's own large arrays begin 16 bytes after a page: then what is read of
# them is always a little ahead of what is written.
_PAGE = 4096

Array = np.ndarray[Any, Any]


class Reserve:
    """Blocks of memory that no array uses, at most so many bytes of them.

    Without locks: an array can go at any moment, in any thread, also while this code runs. What is
    done to shared state are single steps of lists and dicts.
    """

    def __init__(self, most_kept: int) -> None:
        self.most_kept = most_kept
        # Blocks by their size; the sizes that were given back longest ago come first.
        self._unused: dict[int, list[Array]] = {}

    def kept(self) -> int:
        """The bytes that are kept."""
        return sum(size * len(blocks) for size, blocks in tuple(self._unused.items()))

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> Array:
        """An array with any content, of so many bytes, whose memory comes back when nothing refers
        to it, and to no view of it, any more."""
        # Sizes a little apart share blocks; pages that nobody writes to are not there.
        rounded = -(-size // LARGE) * LARGE
        try:
            block = self._unused[rounded].pop()
        except (KeyError, IndexError):
            block = self._new(rounded + _PAGE)
        lent = block.view(_Lent)
        lent.home = self
        address, _ = block.__array_interface__["data"]  # `ctypes` imports at the end of a process
        return np.ndarray(shape, dtype, lent, offset=-address % _PAGE)

    def _new(self, size: int) -> Array:
        """A block of memory that the system gives, or would give without what is kept here."""
        try:
            return _Block((size,), np.uint8)
        except MemoryError:
            if not self.give_back():
                raise
            return _Block((size,), np.uint8)

    def take_back(self, block: Array) -> None:
        """Keep a block that no array uses any more, and let go of what is then too much."""
        size = block.size - _PAGE
        if size > self.most_kept:
            return
        blocks = self._unused.pop(size, [])
        blocks.append(block)
        self._unused.setdefault(size, []).extend(blocks)
        while self.kept() > self.most_kept:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        for size, blocks in tuple(self._unused.items()):
            del blocks[:1]
            if not blocks:
                self._unused.pop(size, None)
            return

    def give_back(self) -> bool:
        """Give everything that is kept back to the system; tell whether that was anything."""
        had = self.kept() > 0
        self.clear()
        return had

    def clear(self) -> None:
        """Give everything that is kept back to the system."""
        self._unused.clear()


class _Block(Array):
    """Memory. NumPy makes an array the base of a view, and not that array's own base, where these
    are of different classes."""


class _Lent(Array):
    """A block in use: the base of a result, which goes when the last view of it does."""

    home: Reserve

    def __del__(self) -> None:
        home = getattr(self, "home", None)
        if home is not None:  # a view that a user has made of it is none
            home.take_back(self.base)


RESERVE: Final = Reserve(DEFAULT_MOST_KEPT)


def _most_kept() -> int:
    given = os.environ.get("TRANSPILE_RESERVE_BYTES", "")
    if given and not given.isdecimal():
        raise ValueError(f"TRANSPILE_RESERVE_BYTES takes a number of bytes, not {given!r}")
    return int(given) if given else DEFAULT_MOST_KEPT


def maker(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[], Array] | None:
    """What makes large arrays of a shape and dtype; None for those that are not large."""
    size = dtype.itemsize
    for length in shape:
        size *= length
    if size < LARGE or dtype.hasobject:
        return None
    RESERVE.most_kept = _most_kept()
    return partial(RESERVE.empty, shape, dtype, size)
