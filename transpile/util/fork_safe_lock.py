"""Fork-safe locks, which are free in a forked child, and sections that no fork divides.

Only the forking thread exists in the child. A lock that another thread held would stay locked there
for ever, and what that thread was changing would stay half done.
"""

from __future__ import annotations

import os
import threading
from _thread import RLock
from weakref import WeakSet

# Seconds that a fork waits for the end of sections; then it goes on.
LONGEST_WAIT = 30.0


class Lock(RLock):  # type: ignore[misc, unused-ignore]
    """A re-entrant lock; in a forked child it is free unless the forking thread holds it.

    It is implemented in C: `with` runs no Python code between locking and the block, where an
    interrupt could leave it locked.
    """

    def __init__(self) -> None:
        _locks.add(self)

    def is_ours(self) -> bool:
        """True if this thread holds the lock."""
        return bool(self._is_owned())  # type: ignore[attr-defined]

    def forget_others(self) -> None:
        """In a forked child: free the lock where a thread held it that does not exist here."""
        if not self.is_ours():
            self._at_fork_reinit()  # type: ignore[attr-defined]


_locks: WeakSet[Lock] = WeakSet()


# ------------------------------------------------------------------- sections that are not divided


class _Own(threading.local):
    """The lock that a thread holds in such a section, and those that it has taken to fork.

    Each thread has a lock of its own, which only forks wait for: so they need no order.
    """

    def __init__(self) -> None:
        self.taken: list[Lock] = []
        with _beginning:
            self.lock = Lock()
            _sections.add(self.lock)


_beginning = Lock()  # held by a fork, so that no thread makes its lock meanwhile
_sections: WeakSet[Lock] = WeakSet()
_own = _Own()


def undivided() -> Lock:
    """A context that no fork divides: another thread that forks waits for its end.

    For sections that are short and need no other thread, such as imports: Python holds a lock for
    a module that is being imported, for which a forked child would wait for ever.
    """
    return _own.lock


def _before_fork() -> None:
    _take(_beginning)  # first: from now on `_sections` is complete
    for lock in tuple(_sections):
        _take(lock)


def _take(lock: Lock) -> None:
    if not lock.is_ours():
        _own.taken.append(lock)  # before it is taken, because of interrupts
        lock.acquire(timeout=LONGEST_WAIT)


def _after_fork() -> None:
    for lock in _own.taken:
        if lock.is_ours():
            lock.release()
    _own.taken.clear()


def _after_fork_in_child() -> None:
    _after_fork()
    for lock in tuple(_locks):
        lock.forget_others()


for _ in range(2):  # an interrupt in one of these functions skips the rest of it
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
    )
