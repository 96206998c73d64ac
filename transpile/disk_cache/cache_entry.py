"""An entry of the cache: its key and directory name, its meta.json, the verification of its files.

`meta.json` begins with a digest of its own contents (`sealed_json.py`) and holds the size and the
digest of every other file. It is verified when the entry is read; each other file when it is
opened, through the descriptor that is then read or loaded.
"""

import contextlib
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from transpile.disk_cache.cache_files import (
    is_private,
    listed,
    opened_file,
    read_private,
    write_atomically,
)
from transpile.disk_cache.cache_ownership import META
from transpile.disk_cache.sealed_json import seal, unseal
from transpile.errors import TranspileError
from transpile.util.frozen_records import dataclass
from transpile.util.hashing import blake2b

# The compiled program, the pool of threads of a program with parallel loops, and cffi's tables.
PROGRAM = "program.so"
PROGRAM_OBJECT = "program.o"  # of a program for C, which is linked into libraries
LINKED = "program.dll.a"  # by which programs are linked with a library of Windows
THREADS = "threads.so"
TABLES = "program.ffi"

_TOUCH_AFTER = 60.0  # seconds: the resolution of "least recently used"


@dataclass(frozen=True)
class Entry:
    """A program in the cache: its directory, the parts of that name, and its meta.json."""

    directory: Path
    name: str
    key: str
    meta: Mapping[str, Any]

    def path(self, filename: str) -> Path:
        """The path of one of the entry's files."""
        return self.directory / filename

    def has(self, filename: str) -> bool:
        """True if such a file belongs to the entry."""
        return filename in self.meta["files"]

    @contextlib.contextmanager
    def opened(self, filename: str) -> Iterator[int]:
        """A descriptor of one of the entry's files, which is private and has its digest; else
        raises DamagedError."""
        with self._checked(filename) as (handle, _):
            yield handle

    def read(self, filename: str) -> bytes:
        """The contents of one of the entry's files; DamagedError where its digest is another."""
        with self._checked(filename) as (_, data):
            return data

    def verify(self) -> "Entry":
        """The entry itself, after all its files; DamagedError where one is damaged."""
        for filename in self.meta["files"]:
            self.read(filename)
        return self

    @contextlib.contextmanager
    def _checked(self, filename: str) -> Iterator[tuple[int, bytes]]:
        with contextlib.ExitStack() as stack:
            try:
                expected = self.meta["files"][filename]
                handle = stack.enter_context(opened_file(self.path(filename)))
                with open(handle, "rb", closefd=False) as file:
                    data = file.read()
                if _digest(data) != expected["blake2b"]:
                    raise DamagedError(f"{filename} has other contents than when it was built")
            except (OSError, KeyError, TypeError) as error:
                raise _damaged(error) from error
            yield handle, data


class DamagedError(TranspileError):
    """The reason why an entry must not be used."""


def key(ingredients: Mapping[str, str]) -> str:
    """The key of a program, 20 hexadecimal digits: a hash of named texts, whatever their order."""
    digest = blake2b(digest_size=10)
    for name in sorted(ingredients):
        for text in (name, ingredients[name]):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))  # the concatenation is unambiguous
            digest.update(data)
    return digest.hexdigest()


def identifier(name: str) -> str:
    """`name` as a C identifier of at most 48 characters: others than ASCII become underscores."""
    cleaned = "".join(c if c.isascii() and c.isalnum() else "_" for c in name[:48])
    return cleaned if cleaned and not cleaned[0].isdigit() else f"_{cleaned}"[:48]


def abbreviated(ingredients: Mapping[str, str]) -> dict[str, str]:
    """The ingredients as in meta.json: a digest stands for each long text."""
    return {
        name: text if len(text) <= 400 else f"blake2b {key({name: text})}, {len(text)} characters"
        for name, text in ingredients.items()
    }


def read_entry(directory: Path, *, touch: bool = True) -> Entry:
    """The entry in a directory, with its meta.json verified, and the sizes of its files; their
    contents are verified when they are opened.

    Raises FileNotFoundError where there is no entry, and DamagedError where it is damaged.

    touch   note the time as that of its last use, which eviction goes by
    """
    status = os.lstat(directory)
    if not stat.S_ISDIR(status.st_mode) or not is_private(status):
        raise DamagedError("the directory is not private")
    name, _, identity = directory.name.rpartition("-")
    try:
        meta = unseal(read_private(directory / META))
        if (meta["name"], meta["key"]) != (name, identity):
            raise DamagedError("meta.json belongs to another entry")
        for filename, expected in meta["files"].items():
            size = os.lstat(directory / filename).st_size
            if size != expected["size"]:
                raise DamagedError(
                    f"{filename} has {size} bytes in the place of {expected['size']}"
                )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(error) from error
    if touch and abs(time.time() - status.st_mtime) > _TOUCH_AFTER:
        with contextlib.suppress(OSError):
            os.utime(directory)
    return Entry(directory, name, identity, meta)


def complete_entry(directory: int, name: str, key: str, ingredients: Mapping[str, str]) -> int:
    """Set the permissions and write the meta.json of a directory that a builder has filled, given
    by its descriptor; returns its size in bytes.

    It adds no time and no path, so that entries differ in what their builders put there alone.
    """
    own: dict[str, Any] = {}
    files: dict[str, dict[str, Any]] = {}
    size = 0
    for filename in listed(directory):
        status = os.stat(filename, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            continue
        handle = os.open(filename, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=directory)
        with open(handle, "rb") as file:
            data = file.read()
            os.fchmod(handle, stat.S_IMODE(status.st_mode) & 0o700)
        if filename == META:
            own = json.loads(data)
            continue
        files[filename] = {"size": len(data), "blake2b": _digest(data)}
        size += len(data)
    meta = {**own, "name": name, "key": key, "files": files}
    meta["ingredients"] = abbreviated(ingredients)
    data = seal(meta)
    write_atomically(META, data, directory)
    return size + len(data)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


def _damaged(error: Exception) -> DamagedError:
    return DamagedError(f"{type(error).__name__}: {error}")
