"""Locks between processes: files that the kernel unlocks when their process dies."""

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from io import FileIO

# Files, not their numbers, which the next file that is opened may have.
_held_locks: set[FileIO] = set()


@contextlib.contextmanager
def locked(folder: int, name: str, patience: float) -> Iterator[bool]:
    """Hold a lock; yields False where somebody else has it for longer than `patience` seconds, or
    is stopped.

    Also False, after waiting for nothing, on a file system without locks: there the atomic rename
    alone protects the entries, and programs may be built twice.
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
                ours = _take(file.fileno(), limit)
                # The holder removes the file before it lets go: we may have a lock on nothing.
                if not ours or _is_there(file.fileno(), lock, folder):
                    yield ours
                    return
            finally:
                _let_go(file, lock, folder, ours)
        finally:  # once more, for an interrupt that came while the first one ran
            _let_go(file, lock, folder, ours)


def _let_go(file: FileIO, lock: str, folder: int, ours: bool) -> None:
    """Unlock and close, unless that has been done, or this is a forked child, and the lock its
    parent's."""
    if file in _held_locks and not file.closed:
        if ours and _is_there(file.fileno(), lock, folder):
            with contextlib.suppress(OSError):
                os.unlink(lock, dir_fd=folder)
        with contextlib.suppress(OSError):  # a process that was forked just now may have it open
            fcntl.flock(file, fcntl.LOCK_UN)
        file.close()
    _held_locks.discard(file)


def _take(handle: int, limit: float) -> bool:
    """Take a lock, and write down who has it, unless another process keeps it until `limit`."""
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
            _sign(handle)
            return True


def _sign(handle: int) -> None:
    """Write this process's number into a lock, which nothing depends on; not into a file that has
    another name, too."""
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        with contextlib.suppress(OSError):  # the disk is full
            os.ftruncate(handle, 0)
            os.pwrite(handle, b"%d\n" % os.getpid(), 0)


def _is_stopped(handle: int) -> bool:
    """Tell whether the process that has the lock is stopped: by a signal, or in a debugger."""
    try:
        holder = int(os.pread(handle, 20, 0))
        with open(f"/proc/{holder}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except (OSError, ValueError, IndexError):
        return False  # it writes its number just now, or lives where its number is another one


def _is_there(handle: int, name: str, within: int) -> bool:
    try:
        there = os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), there)


def _release_inherited_locks() -> None:
    """In a forked child: keep no lock of the parent's alive after the parent has died."""
    for file in _held_locks:
        with contextlib.suppress(OSError):
            file.close()
    _held_locks.clear()


os.register_at_fork(after_in_child=_release_inherited_locks)
