"""Which transpile this is: a digest of its files, for the keys of the programs that it makes.

Reading all of them takes longer than a first call should, so the digest is kept in the cache
directory, beside the state of the files that it belongs to: their sizes, inodes and times, and
among these the time of the last change of anything (ctime), which programs that copy and unpack
files cannot set. Where both times are one, on a file system that cannot be written to, they may be
what the maker of an image has chosen; there the files are read.
"""

from __future__ import annotations

import os
import stat
import time
from functools import cache

from transpile.disk_cache.cache_ownership import recall, remember
from transpile.util.data_files import PACKAGE, data_directory
from transpile.util.hashing import blake2b

# Nanoseconds: a file may change again, to the same size, in the moment after it was looked at.
_SETTLED = 2_000_000_000

_File = tuple[str, int, int, int, int]


@cache
def own_digest() -> str:
    """A hash of transpile itself: whatever changes in it may change the programs it makes."""
    files = _files()
    paths = [path for path, *_ in files]
    if _is_image(files):
        return _digest(paths)
    stamp = blake2b(repr(files).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    try:
        known = recall(_remembered())
        if known["stamp"] == stamp:
            return str(known["digest"])
    except (OSError, ValueError, KeyError):
        pass
    digest = _digest(paths)
    if abs(time.time_ns() - max(changed for *_, changed in files)) > _SETTLED:
        remember(_remembered(), {"stamp": stamp, "digest": digest})
    return digest


def _remembered() -> str:
    """The name of the file with the digest of the files in this place, and their state's stamp."""
    place = blake2b(str(PACKAGE).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return f"transpile-{place}.json"


def _is_image(files: list[_File]) -> bool:
    """Tell whether the files may stand in an image, whose maker has chosen one time for each."""
    written = any(contents != anything for *_, contents, anything in files)
    return not written and bool(os.statvfs(PACKAGE).f_flag & os.ST_RDONLY)


def _files() -> list[_File]:
    """(path, size, inode, times of the last change of its contents and of anything) of each file
    that programs may depend on, in order."""
    found: set[_File] = set()
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
                    times = status.st_mtime_ns, status.st_ctime_ns
                    found.add((entry.path, status.st_size, status.st_ino, *times))
    return sorted(found)


def _digest(paths: list[str]) -> str:
    """The hash of files and their names, the same for a checkout and an installed wheel."""
    digest = blake2b(digest_size=16)
    for name, path in sorted((_name(path), path) for path in paths):
        with open(path, "rb") as file:
            content = file.read()
        digest.update(b"%s\0%d\0" % (name, len(content)))
        digest.update(content)
    return digest.hexdigest()


def _name(path: str) -> bytes:
    """The path in the package; a checkout has `templates` and `runtime_c` beside it."""
    package = str(PACKAGE)
    root = package if path.startswith(package + os.sep) else str(PACKAGE.parent)
    return os.fsencode(os.path.relpath(path, root))
