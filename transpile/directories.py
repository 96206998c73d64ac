"""Private directories and files: where the cache is, and what may be trusted in it.

Programs from the cache are loaded into the process, so whatever somebody else could have written
is never read: a directory or a file counts as private when it belongs to the effective user and
neither its group nor the world can write to it.
"""

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from transpile.on_demand import Later
from transpile.paths import checkout_cache, is_checkout

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = Later("tempfile")

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def cache_directory() -> Path:
    """The cache directory that the environment asks for, absolute; it need not exist.

    In this order: TRANSPILE_CACHE_DIR; in a checkout of the user's own its `cache/`;
    `$XDG_CACHE_HOME/transpile` where that variable holds an absolute path; `~/.cache/transpile`.
    Raises OSError where the user has no home directory.
    """
    if named := os.environ.get("TRANSPILE_CACHE_DIR", ""):
        return Path(os.path.abspath(_expand(named)))
    if is_checkout() and _is_ours(checkout_cache().parent):
        return checkout_cache()
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base if os.path.isabs(base) else _expand("~/.cache")) / "transpile"


def _is_ours(directory: Path) -> bool:
    """False for a checkout that is read-only or another user's, as in some containers."""
    return os.stat(directory).st_uid == os.geteuid() and os.access(directory, os.W_OK)


def _expand(path: str) -> str:
    expanded = os.path.expanduser(path)
    if expanded.startswith("~") or os.environ.get("HOME") == "":
        raise FileNotFoundError(f"the home directory in {path!r} is unknown: HOME is not set")
    return expanded


def is_private(status: os.stat_result) -> bool:
    """Tell whether a file or directory belongs to this user and only this user can write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS


def check_private(directory: Path) -> None:
    """Raise OSError, with the reason, unless `directory` exists and is private.

    A directory of the user's own that others can write to (a checkout made with umask 002, say)
    loses those permissions here; its other permissions stay as they are.
    """
    status = os.stat(directory)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(f"{directory} is not a directory")
    if status.st_uid != os.geteuid():
        raise PermissionError(f"{directory} belongs to another user (uid {status.st_uid})")
    if status.st_mode & _WRITABLE_BY_OTHERS:
        os.chmod(directory, stat.S_IMODE(status.st_mode) & ~_WRITABLE_BY_OTHERS)


def make_private(directory: Path) -> None:
    """Make `directory`, parents included, with mode 0700 if it is missing; then check it."""
    with contextlib.suppress(FileExistsError):
        os.makedirs(directory, mode=0o700)
    check_private(directory)


def read_private(path: Path) -> bytes:
    """The bytes of a private regular file; OSError where it is missing or anything else."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not is_private(status):
            raise PermissionError(f"{path} is not a private file")
        return file.read()


def write_atomically(path: Path, data: bytes) -> None:
    """Write a private file so that a reader sees either all of it or none; OSError on failure."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def listed(directory: Path) -> list[Path]:
    """What is in a directory, by name; nothing where it cannot be read."""
    try:
        return [directory / name for name in sorted(os.listdir(directory))]
    except OSError:
        return []
