"""Which transpile this is: a digest of its files, for the keys of the programs that it makes.

Reading all of them takes longer than a first call should, so the digest is kept in the cache
directory, beside the sizes and times of the files that it belongs to.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from functools import cache
from pathlib import Path

from transpile.directories import (
    cache_directory,
    check_private,
    make_private,
    read_private,
    write_atomically,
)
from transpile.hashes import blake2b
from transpile.paths import PACKAGE, data_directory

# Nanoseconds: a file may change again, to the same size, in the moment after it was looked at.
_SETTLED = 2_000_000_000


@cache
def own_digest() -> str:
    """A hash of transpile itself: whatever changes in it may change the programs it makes."""
    files = _files()
    stamp = blake2b(repr(files).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    try:
        check_private(cache_directory())
        known, digest = read_private(_remembered()).decode("ascii").split()
        if known == stamp:
            return digest
    except (OSError, ValueError):
        pass
    digest = _digest([path for path, _, _ in files])
    if time.time_ns() - max(changed for _, _, changed in files) > _SETTLED:
        # The cache warns about its directory when it stores a program, and once is enough.
        with contextlib.suppress(OSError):
            make_private(cache_directory())
            write_atomically(_remembered(), f"{stamp} {digest}\n".encode())
    return digest


def _remembered() -> Path:
    """The file with the digest of the files in this place, and with the stamp of their state."""
    place = blake2b(str(PACKAGE).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return cache_directory() / f"transpile-{place}.txt"


def _files() -> list[tuple[str, int, int]]:
    """(path, size, time of the last change) of each file that programs may depend on, in order."""
    found: set[tuple[str, int, int]] = set()
    waiting = [str(PACKAGE), str(data_directory("templates")), str(data_directory("runtime_c"))]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.startswith((".", "__pycache__")):
                    continue
                status = entry.stat()
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)
                else:
                    found.add((entry.path, status.st_size, status.st_mtime_ns))
    return sorted(found)


def _digest(paths: list[str]) -> str:
    """The hash of files, whose names count and whose directories' place does not."""
    digest = blake2b(digest_size=16)
    for path in paths:
        with open(path, "rb") as file:
            content = file.read()
        digest.update(f"{os.path.basename(path)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
