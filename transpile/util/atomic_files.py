"""Files that users keep, written as a set: all of them change, or none does.

A process may have the old library mapped, and writing into a mapped file kills it (SIGBUS). So no
file is opened for writing in its place: each is written aside, in full, and renamed over the old
one, whose contents live on for those who have them open.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from transpile.util.lazy_imports import Later

if TYPE_CHECKING:
    import shutil
else:
    shutil = Later("shutil")


def replace_files(directory: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write these files, by name, into `directory`; their paths are returned.

    The directory and its parents are made where they are missing. Nothing changes before all
    contents are on the disk, in a private directory beside their destination; then the files are
    renamed in the order of `contents`. What fails, a full disk or an interrupt, puts back the files
    that were there. Only a killed process or a power cut between two renames can leave new files
    beside old ones; so put first what later files refer to, and what is loaded last.

    A file that is replaced hands its permissions on. A link is replaced, not followed. Raises
    OSError: FileExistsError where a directory or a device has the name of a file.
    """
    directory.mkdir(parents=True, exist_ok=True)
    # Named before it is made, so that an interrupt just afterwards leaves nothing behind.
    staging = directory / f".transpile-{os.urandom(8).hex()}"
    try:
        staging.mkdir(mode=0o700)
        places = [directory / name for name in contents]
        for number, data in enumerate(contents.values()):
            _write(staging / f"new-{number}", data, _permissions(places[number]))
        for number, place in enumerate(places):
            _keep(place, staging / f"old-{number}")
        _rename(staging, places)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _flush(directory)
    return places


def _permissions(path: Path) -> int | None:
    """Those of the file that stands there; None where there is no file, or a link."""
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
    """Write a new file, on the disk when this returns: some file systems fail only then."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        if permissions is not None:
            os.fchmod(file.fileno(), permissions)
        os.fsync(file.fileno())


def _keep(path: Path, name: Path) -> None:
    """Give a file a second name, or copy it where that is not possible; a missing one is fine."""
    try:
        os.link(path, name, follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError:  # no hard links in this file system, or none to another user's file
        shutil.copy2(path, name, follow_symlinks=False)


def _rename(staging: Path, places: Sequence[Path]) -> None:
    """Put the new files in their places, or none of them."""
    try:
        for number, place in enumerate(places):
            os.replace(staging / f"new-{number}", place)
    except BaseException:
        _put_back(staging, places)
        raise


def _put_back(staging: Path, places: Sequence[Path]) -> None:
    """Undo the renames that have been done: of those whose new file is no longer aside."""
    for number, place in enumerate(places):
        if (staging / f"new-{number}").exists():
            continue
        try:
            os.replace(staging / f"old-{number}", place)
        except FileNotFoundError:  # there was none before
            place.unlink(missing_ok=True)


def _flush(directory: Path) -> None:
    """Have the new names on the disk too, where the file system can be asked for that."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
