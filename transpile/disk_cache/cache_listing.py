"""The entries of a cache directory, by name or by last use.

These functions only read. Names that are not those of entries, damaged entries, and entries that
another process removes meanwhile are left out.
"""

import contextlib
import os
import re
from pathlib import Path

from transpile.disk_cache.cache_entry import DamagedError, Entry, read_entry
from transpile.disk_cache.cache_files import listed, opened_directory
from transpile.disk_cache.cache_ownership import ENTRY, is_entry
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Usage:
    """A line of `cache list`: sizes in bytes, times in seconds since 1970."""

    directory: Path
    name: str
    key: str
    size: int
    created: float
    last_used: float


def usages(cache: Path) -> list[Usage]:
    """The size and times of every entry, the most recently used first."""
    entries = []
    for directory in _entry_directories(cache):
        with contextlib.suppress(OSError):
            parts = re.fullmatch(ENTRY, directory.name)
            assert parts is not None
            used = directory.stat().st_mtime
            with os.scandir(directory) as listing:
                files = [file.stat(follow_symlinks=False) for file in listing]
            size = sum(file.st_size for file in files)
            created = max((file.st_mtime for file in files), default=used)
            entries.append(Usage(directory, parts["name"], parts["key"], size, created, used))
    return sorted(entries, key=lambda usage: (-usage.last_used, usage.directory.name))


def entries_named(cache: Path, name: str) -> list[Entry]:
    """The undamaged entries called `name`, or whose `name-key` starts with it, by name."""
    entries = []
    for directory in _entry_directories(cache):
        if is_named(directory.name, name):
            with contextlib.suppress(OSError, DamagedError):
                entries.append(read_entry(directory, touch=False))
    return entries


def is_named(entry: str, name: str) -> bool:
    """True if an entry is called `name`, or its `name-key` starts with it."""
    return entry.startswith(name) and ("-" in name or entry[:-21] == name)


def _entry_directories(cache: Path) -> list[Path]:
    try:
        with opened_directory(cache) as root:
            names = [name for name in listed(root) if re.fullmatch(ENTRY, name)]
            return [cache / name for name in names if is_entry(name, root)]
    except OSError:
        return []
