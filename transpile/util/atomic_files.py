"""Replace a set of a user's files atomically: all of them change, or none does.

A process may have the old library mapped, and writing to a mapped file can kill it (SIGBUS). So
files are never opened for writing: new ones are written to a staging directory and renamed over the
old ones, which stay intact for processes that have them open.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import shutil
else:
    shutil = Later("shutil")


def replace_files(directory: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write these files, by name, into `directory`; returns their paths.

    The directory and its parents are made where they are missing. First all contents are written
    and flushed to a private staging directory in `directory`; then the files are renamed in the
    order of `contents`. On an error or interrupt the old files are restored. A killed process or a
    power cut between two renames can leave new files beside old ones: so files come after those
    that they refer to, and the one that processes load comes last.

    A replaced file's permissions are kept. A link is replaced, not followed. Raises OSError:
    FileExistsError where a directory or a device has the name of a file.
    """
    directory.mkdir(parents=True, exist_ok=True)
    # The name exists before the directory, so that an interrupt in between leaves none behind.
    staging = directory / f".transpile-{os.urandom(8).hex()}"
    paths = [directory / name for name in contents]
    try:
        staging.mkdir(mode=0o700)
        for number, data in enumerate(contents.values()):
            _write(staging / f"new-{number}", data, _permissions(paths[number]))
        for number, path in enumerate(paths):
            _back_up(path, staging / f"old-{number}")
        _rename(staging, paths)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _flush(directory)
    return paths


def _permissions(path: Path) -> int | None:
    """The permissions of a file; None where there is no file, or a link."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        return None
    if not stat.S_ISREG(mode):
        raise FileExistsError(f"{path} is not a file, and is not replaced by one")
    return stat.S_IMODE(mode) & 0o777


def _write(path: Path, data: bytes, permissions: int | None) -> None:
    """Write a new file and flush it to the disk: some file systems report errors only then."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        if permissions is not None:
            os.fchmod(file.fileno(), permissions)
        os.fsync(file.fileno())


def _back_up(path: Path, backup: Path) -> None:
    """Make a hard link to a file, or a copy where that is not possible; none to a missing file."""
    try:
        os.link(path, backup, follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError:  # no hard links in this file system, or none to another user's file
        shutil.copy2(path, backup, follow_symlinks=False)


def _rename(staging: Path, paths: Sequence[Path]) -> None:
    """Rename the new files to their paths, all or none of them."""
    try:
        for number, path in enumerate(paths):
            os.replace(staging / f"new-{number}", path)
    except BaseException:
        _roll_back(staging, paths)
        raise


def _roll_back(staging: Path, paths: Sequence[Path]) -> None:
    """Undo the renames: those whose new file is no longer in the staging directory."""
    for number, path in enumerate(paths):
        if (staging / f"new-{number}").exists():
            continue
        try:
            os.replace(staging / f"old-{number}", path)
        except FileNotFoundError:  # there was no old file
            path.unlink(missing_ok=True)


def _flush(directory: Path) -> None:
    """Flush the new names to the disk, where the file system supports that."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
