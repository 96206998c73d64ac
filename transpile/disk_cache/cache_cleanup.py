"""Removal from a cache directory of what no process uses: unlocked entries, remains of the dead.

A process holds the lock of the entry, and that of the directory in `building/`, that it is at work
on. So whoever can take these locks without waiting may remove what they protect.
"""

import contextlib
import re

from transpile.disk_cache.cache_files import listed, remove_flat
from transpile.disk_cache.cache_ownership import LOCK, UNFINISHED, Owned
from transpile.disk_cache.file_locks import locked


def remove_unlocked(own: Owned, name: str) -> bool:
    """Remove an entry; False where it is being built or cannot be removed."""
    try:
        with locked(own.locks, name, 0) as ours:
            if ours:
                own.remove(name)
            return ours
    except OSError:
        return False


def remove_abandoned(own: Owned) -> None:
    """Remove what processes that died have left: unfinished entries, locks, temporary files."""
    for name in listed(own.building):
        if parts := re.fullmatch(UNFINISHED, name):
            with (
                contextlib.suppress(OSError),
                locked(own.locks, parts["entry"], 0) as entry,
                locked(own.locks, name, 0) as directory,
            ):
                if entry and directory:
                    remove_flat(name, own.building)
    for name in listed(own.locks):
        if parts := re.fullmatch(LOCK, name):
            with contextlib.suppress(OSError), locked(own.locks, parts["locked"], 0):
                pass  # releasing a lock removes its file
    with contextlib.suppress(OSError):
        own.remove_abandoned_files()
