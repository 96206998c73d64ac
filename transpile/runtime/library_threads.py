"""Keep the option `num_threads` in a BLAS or LAPACK that has threads of its own.

OpenBLAS, and what is made of it, has one number of threads for the whole process, which its users
read and set. While calls of programs with `num_threads` run, it is the least that one of them asks
for; the last one gives back what it was before the first. A library without such functions, as the
reference BLAS, runs on the thread that calls it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any

from transpile.util.fork_safe_lock import Lock
from transpile.util.interrupt_safety import between
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import ctypes
else:
    ctypes = Later("ctypes")

# How libraries spell the functions `openblas_get_num_threads` and `openblas_set_num_threads`. Those
# that end in an underscore are for Fortran, and take an address.
_SPELLINGS = (("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", ""))

Entry = Callable[[Any], int]


class LibraryThreads:
    """The number of threads of a library, made less while calls ask for that."""

    def __init__(self, get: Callable[[], int], set_: Callable[[int], object]) -> None:
        self._get = get
        self._set = set_
        self._lock = Lock()
        self._asked: dict[object, tuple[int, int]] = {}  # for each call its number, and its thread
        self._before = 0  # what the library had before the first of them
        self._present = 0

    def begin(self, call: object, threads: int) -> None:
        """The library has at most so many threads until the end of this call."""
        with self._lock:
            if not self._asked:
                self._before = self._present = self._get()
            self._asked[call] = threads, get_ident()
            self._settle()

    def end(self, call: object) -> None:
        """End a call; again, or without a beginning, that does nothing."""
        with self._lock:
            self._asked.pop(call, None)
            self._settle()

    def forget_others(self) -> None:
        """In a forked child: end the calls of threads that do not exist here."""
        self._asked = {
            k: (n, thread) for k, (n, thread) in self._asked.items() if thread == get_ident()
        }
        self._settle()

    def _settle(self) -> None:
        wanted = min([self._before, *(threads for threads, _ in self._asked.values())])
        if wanted != self._present:
            self._present = 0  # unknown, until the next statement is done
            self._set(wanted)
            self._present = wanted


_lock = Lock()
# By the address of the function that sets the number: a library may have several names.
_known: dict[int, LibraryThreads] = {}


def of_library(library: str) -> LibraryThreads | None:
    """The threads of a shared library, by its path or name; None where it cannot be asked."""
    loaded = ctypes.CDLL(library)
    for prefix, suffix in _SPELLINGS:
        names = (f"{prefix}openblas_{word}_num_threads{suffix}" for word in ("get", "set"))
        get, set_ = (getattr(loaded, name, None) for name in names)
        if get is not None and set_ is not None:
            get.argtypes, get.restype = (), ctypes.c_int
            set_.argtypes, set_.restype = (ctypes.c_int,), None
            address = int(ctypes.cast(set_, ctypes.c_void_p).value or 0)
            with _lock:
                return _known.setdefault(address, LibraryThreads(get, set_))
    return None


def limited(entry: Entry, libraries: Sequence[str], threads: int) -> Entry | None:
    """The entry of a program, called while these libraries have at most so many threads; None where
    none of them can be asked."""
    asked = tuple(dict.fromkeys(x for x in map(of_library, libraries) if x is not None))
    if not asked:
        return None

    def run(pointers: Any) -> int:
        call = object()

        def begin() -> None:
            for library in asked:
                library.begin(call, threads)

        def end() -> None:
            for library in asked:
                library.end(call)

        return between(begin, lambda: entry(pointers), end)

    return run


def _after_fork_in_child() -> None:
    for library in tuple(_known.values()):
        library.forget_others()


os.register_at_fork(after_in_child=_after_fork_in_child)
