"""A digest of transpile's own files: an ingredient of the key of every program.

Reading all files takes longer than a first call should. So the digest is kept, beside Python's
compiled modules or in the cache directory, together with a stamp of the files' metadata, and is
computed again where the stamp differs. The stamp has sizes, inodes, and both times: mtime and
ctime, which programs that copy or unpack files cannot set. The maker of a read-only image can;
there, where both times are equal, the files are read.
"""

from __future__ import annotations

import os
import time
from functools import cache
from importlib.util import cache_from_source

from transpile.disk_cache.cache_ownership import recall_compiled, remember_compiled
from transpile.util.data_files import PACKAGE, data_directory
from transpile.util.hashing import blake2b

# Nanoseconds that must have passed since the last change, before the digest is kept: a second
# change within the clock's resolution, to the same size, would leave the stamp as it is.
_SETTLED = 2_000_000_000

_File = tuple[str, int, int, int, int]


@cache
def own_digest() -> str:
    """The digest of transpile's files, any of which may change the programs that it makes."""
    files = _files()
    paths = [path for path, *_ in files]
    if _is_image(files):
        return _digest(paths)
    stamp = blake2b(repr(files).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    try:
        stored = recall_compiled(*_file_names())
        if stored["stamp"] == stamp:
            return str(stored["digest"])
    except (OSError, ValueError, KeyError):
        pass
    digest = _digest(paths)
    if abs(time.time_ns() - max(changed for *_, changed in files)) > _SETTLED:
        remember_compiled(*_file_names(), {"stamp": stamp, "digest": digest})
    return digest


def _file_names() -> tuple[str, str]:
    """The file beside compiled modules, and the name in the cache directory, for the digest and the
    stamp of the package at this path."""
    location = blake2b(str(PACKAGE).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return cache_from_source(str(PACKAGE / f"files-{location}.py")), f"transpile-{location}.json"


def _is_image(files: list[_File]) -> bool:
    """True if the files may be in a read-only image, whose maker chose one time for each file."""
    changed = any(mtime != ctime for *_, mtime, ctime in files)
    return not changed and bool(os.statvfs(PACKAGE).f_flag & os.ST_RDONLY)


def _files() -> list[_File]:
    """(path, size, inode, mtime, ctime) of each file that programs may depend on, sorted."""
    files: set[_File] = set()
    waiting = [str(PACKAGE), str(data_directory("templates")), str(data_directory("runtime_c"))]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.startswith((".", "__pycache__")):
                    continue
                if entry.is_dir():
                    waiting.append(entry.path)
                    continue
                status = entry.stat()
                times = status.st_mtime_ns, status.st_ctime_ns
                files.add((entry.path, status.st_size, status.st_ino, *times))
    return sorted(files)


def _digest(paths: list[str]) -> str:
    """The hash of files and their names, the same for a checkout and an installed wheel."""
    digest = blake2b(digest_size=16)
    for name, path in sorted((_name(path), path) for path in paths):
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        digest.update(b"%s\0%d\0" % (name, len(content)))
        digest.update(content)
    return digest.hexdigest()


def _name(path: str) -> bytes:
    """The path within an installed package; a checkout has `templates` and `runtime_c` beside the
    package."""
    package = str(PACKAGE)
    root = package if path.startswith(package + os.sep) else str(PACKAGE.parent)
    return os.fsencode(path.removeprefix(root + os.sep))
