"""Private directories and files: where the cache is, and which of its files may be read.

Programs from the cache are loaded into the process, so a file that another user could have written
is never read. A directory or a file is private if it belongs to the effective user and neither its
group nor the world can write to it. What is not private is refused; permissions are never changed.
Check and use cannot differ: a file is opened once, without following a link or waiting for a
writer, and checked through its descriptor.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from transpile.util.data_files import checkout_cache, is_checkout

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Neither follows a link in the last component nor waits for the other end of a FIFO.
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def cache_directory() -> Path:
    """The absolute path of the cache directory, which need not exist.

    The first of: TRANSPILE_CACHE_DIR; `cache/` of a checkout that belongs to the user;
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


# -- checks of privacy -----------------------------------------------------------------------------


def is_private(status: os.stat_result) -> bool:
    """True if a file or directory belongs to this user and only this user can write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS


def check_private(directory: Path) -> None:
    """Raise OSError, with the reason, unless `directory` exists and is private."""
    _check_directory(directory, os.stat(directory))


def _check_directory(name: Path | str, status: os.stat_result) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(f"{name} is not a directory")
    if status.st_uid != os.geteuid():
        raise PermissionError(f"{name} belongs to another user (uid {status.st_uid})")
    if status.st_mode & _WRITABLE_BY_OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise PermissionError(
            f"others can write to {name} (mode {mode:o}); if it is for you alone, `chmod go-w` it"
        )


def others_can_replace(path: str) -> bool:
    """True if another user could replace what `path`, which contains no links, names.

    That takes the right to rename a component of it: the directory above belongs to another user,
    or others can write to it and it is not sticky.
    """
    while path != (parent := os.path.dirname(path)):
        status = os.lstat(parent)
        open_to_others = status.st_mode & _WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX
        if open_to_others or status.st_uid not in (0, os.geteuid()):
            return True
        path = parent
    return False


# -- directories -----------------------------------------------------------------------------------


def make_private(directory: Path) -> None:
    """Make `directory` and its parents with mode 0700 where they are missing, then check it."""
    with contextlib.suppress(FileExistsError):
        os.makedirs(directory, mode=0o700)
    check_private(directory)


@contextlib.contextmanager
def opened_directory(path: Path | str, within: int | None = None) -> Iterator[int]:
    """A descriptor of a private directory; OSError, with the reason, where it is not private.

    within   the descriptor that `path` is relative to; then `path` must not be a link
    """
    flags = _DIRECTORY | (os.O_NOFOLLOW if within is not None else 0)
    try:
        handle = os.open(path, flags, dir_fd=within)
    except NotADirectoryError:
        raise NotADirectoryError(f"{path} is not a directory") from None
    try:
        _check_directory(path, os.fstat(handle))
        yield handle
    finally:
        os.close(handle)


def listed(directory: Path | int) -> list[str]:
    """The names in a directory, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def check_flat(name: str, within: int) -> None:
    """Raise OSError unless `name` is a directory of this user without subdirectories."""
    with _flat(name, within):
        pass


def remove_flat(name: str, within: int) -> None:
    """Remove a directory of this user and the files in it, following no link.

    Raises OSError, and removes nothing, where `check_flat` does.
    """
    with _flat(name, within) as (handle, files):
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file, dir_fd=handle)
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=within)


@contextlib.contextmanager
def _flat(name: str, within: int) -> Iterator[tuple[int, list[str]]]:
    handle = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=within)
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            raise PermissionError(f"{name} belongs to another user")
        with os.scandir(handle) as listing:
            files = list(listing)
        if any(file.is_dir(follow_symlinks=False) for file in files):
            raise IsADirectoryError(f"there is a directory in {name}, which the cache did not make")
        yield handle, [file.name for file in files]
    finally:
        os.close(handle)


# -- files -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def opened_file(path: Path | str, within: int | None = None) -> Iterator[int]:
    """A descriptor of a private regular file; OSError where it is missing or anything else."""
    handle = os.open(path, _FILE, dir_fd=within)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not is_private(status):
            raise PermissionError(f"{path} is not a private file")
        yield handle
    finally:
        os.close(handle)


def read_private(path: Path | str, within: int | None = None) -> bytes:
    """The bytes of a private regular file; OSError where it is missing or anything else."""
    with opened_file(path, within) as handle, open(handle, "rb", closefd=False) as file:
        return file.read()


def temporary_name(name: str) -> str:
    """The name with random digits behind it, so that no other call returns the same."""
    return f"{name}.{os.urandom(4).hex()}"


def unnamed_file(directory: Path) -> BinaryIO:
    """A new file in a private directory, which is gone when it is closed. `tempfile` has it, too,
    but takes longer to import than a compiler to start: with `random` and all that unpacks files.
    """
    path = directory / temporary_name("unnamed")
    file = open(path, "x+b")  # noqa: SIM115 (the caller closes it)
    os.unlink(path)
    return file


def write_atomically(name: str, data: bytes, within: int) -> None:
    """Write a private file into a directory by rename: a reader sees all of it or none.

    Raises OSError.
    """
    temporary = temporary_name(f".{name}")
    handle = os.open(temporary, _NEW_FILE, 0o600, dir_fd=within)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, name, src_dir_fd=within, dst_dir_fd=within)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=within)
        raise
