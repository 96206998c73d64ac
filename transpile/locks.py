"""Locks that stay with no one when a process forks.

Of the threads of a process only the one that forks goes on in the child. What another one was
holding then would be locked in the child for ever.
"""

from __future__ import annotations

import os
import threading
from weakref import WeakSet


class Lock:
    """A lock that its thread can take again; in a forked child, free unless that thread has it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _forget_others(self) -> None:
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_locks: WeakSet[Lock] = WeakSet()


def _forget_others() -> None:
    for lock in tuple(_locks):
        lock._forget_others()


os.register_at_fork(after_in_child=_forget_others)
