"""Fork-safe locks, which a forked child finds free, and sections that no fork divides.

Of the threads of a process only the one that forks goes on in the child. What another one was
holding then would be locked in the child for ever, and what it was in the middle of would stay half
done.
"""

from __future__ import annotations

import os
import threading
from _thread import RLock
from weakref import WeakSet

# For how long a fork waits for a section that it must not divide, in seconds. Then it goes on.
LONGEST_WAIT = 30.0


class Lock(RLock):  # type: ignore[misc, unused-ignore]
    """A lock that its thread can take again; in a forked child, free unless that thread has it.

    It is C's: `with` runs no line of Python between the lock and the block, where an interrupt
    could leave it locked.
    """

    def __init__(self) -> None:
        _locks.add(self)

    def is_ours(self) -> bool:
        """True if this thread has it."""
        return bool(self._is_owned())  # type: ignore[attr-defined]

    def forget_others(self) -> None:
        """In a forked child: free it, if a thread had it that is not there any more."""
        if not self.is_ours():
            self._at_fork_reinit()  # type: ignore[attr-defined]


_locks: WeakSet[Lock] = WeakSet()


# ------------------------------------------------------------------- sections that are not divided


class _Own(threading.local):
    """The lock that a thread has while it is in such a section, and those that it took to fork.

    No thread waits for the lock of another one, so that they need no order; a fork takes them all.
    """

    def __init__(self) -> None:
        self.taken: list[Lock] = []
        with _beginning:
            self.lock = Lock()
            _sections.add(self.lock)


_beginning = Lock()  # while a process forks, no thread has its first section
_sections: WeakSet[Lock] = WeakSet()
_own = _Own()


def undivided() -> Lock:
    """A context that no fork divides: another thread that forks waits for its end.

    For what is short and comes to an end whatever other threads do, such as the import of a module:
    Python keeps a lock for each that is being imported, and a child would wait for it for ever.
    """
    return _own.lock


def _before_fork() -> None:
    _take(_beginning)  # first: then these are all sections
    for lock in tuple(_sections):
        _take(lock)


def _take(lock: Lock) -> None:
    if not lock.is_ours():
        _own.taken.append(lock)  # before it is taken: an interrupt may come in between
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


for _ in range(2):  # Python loses an interrupt that comes in one of them, with what is left of it
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
    )
