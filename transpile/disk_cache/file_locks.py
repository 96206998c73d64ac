"""Locks between processes: files under `flock`, which the kernel unlocks when their process dies.

A lock's file is removed before it is unlocked. So whoever locks a file checks that it still has its
name, and starts again where it has not: two processes would else hold locks on different files. A
forked child closes the locks that it inherits, and holds none.
"""

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from io import FileIO

# File objects, not descriptors: a descriptor is reused once it has been closed.
_held_locks: set[FileIO] = set()


@contextlib.contextmanager
def locked(folder: int, name: str, patience: float) -> Iterator[bool]:
    """Hold a lock; yields False where another process holds it for longer than `patience` seconds,
    or is stopped.

    On a file system without locks it yields False at once: there the atomic rename alone protects
    the entries, and programs may be built twice.
    """
    lock = f"{name}.lock"
    limit = time.monotonic() + patience
    while True:
        ours = False
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        file = FileIO(os.open(lock, flags, 0o600, dir_fd=folder), "r+")
        try:
            try:
                _held_locks.add(file)
                ours = _acquire(file.fileno(), limit)
                if not ours or _has_name(file.fileno(), lock, folder):
                    yield ours
                    return
            finally:
                _release(file, lock, folder, ours)
        finally:  # once more, for an interrupt that came while the first one ran
            _release(file, lock, folder, ours)


def _release(file: FileIO, lock: str, folder: int, ours: bool) -> None:
    """Remove, unlock and close the file, unless that has been done, or a forked child runs this for
    a lock of its parent's."""
    if file in _held_locks and not file.closed:
        if ours and _has_name(file.fileno(), lock, folder):
            with contextlib.suppress(OSError):
                os.unlink(lock, dir_fd=folder)
        with contextlib.suppress(OSError):  # closing is not enough: a new child may have it open
            fcntl.flock(file, fcntl.LOCK_UN)
        file.close()
    _held_locks.discard(file)


def _acquire(handle: int, limit: float) -> bool:
    """Lock a file and write the holder's process number into it; False where another process holds
    the lock until `limit`, or is stopped."""
    pause = 0.001
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= limit or _is_stopped(handle):
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.03)
        except OSError:
            return False
        else:
            _write_holder(handle)
            return True


def _write_holder(handle: int) -> None:
    """Write this process's number into a lock, for `_is_stopped`; not into a file that has a second
    name, which may be one of the user's."""
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        with contextlib.suppress(OSError):  # the disk is full
            os.ftruncate(handle, 0)
            os.pwrite(handle, b"%d\n" % os.getpid(), 0)


def _is_stopped(handle: int) -> bool:
    """True if the process that holds the lock is stopped, by a signal or in a debugger."""
    try:
        holder = int(os.pread(handle, 20, 0))
        with open(f"/proc/{holder}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except (OSError, ValueError, IndexError):
        return False  # the number is not written yet, or is that of another process namespace


def _has_name(handle: int, name: str, within: int) -> bool:
    """True if the name in a directory is that of an open file."""
    try:
        named = os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), named)


def _release_inherited_locks() -> None:
    """In a forked child: close the parent's locks, which would else outlive the parent."""
    for file in _held_locks:
        with contextlib.suppress(OSError):
            file.close()
    _held_locks.clear()


os.register_at_fork(after_in_child=_release_inherited_locks)
