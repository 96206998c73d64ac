"""Ownership: which directory is the cache's, and what in it may be removed.

The cache removes and replaces only what it wrote:
* A directory is its own if it is private (`cache_files.py`) and contains its marker, a CACHEDIR.TAG
  with a line of transpile's. A missing or empty directory is marked. So is one without a marker in
  which every name has the form of the cache's names: earlier versions wrote no marker. Any other
  directory is refused and left as it is; the OSError names a file in it that is not the cache's.
* In its own directory only names of its own forms are removed or replaced: `<name>-<key>` with a
  meta.json, where the key has 20 hexadecimal digits; in `building/` and `locks/` these with a
  suffix; and the files of `remember`. A directory with a subdirectory is not removed.
* Names are resolved relative to the descriptor of the directory that was checked, and links are not
  followed (`dir_fd`, `O_NOFOLLOW`).

CACHEDIR.TAG follows the Cache Directory Tagging Specification, by which backups leave caches out.
"""

import contextlib
import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from transpile.disk_cache.cache_files import (
    cache_directory,
    check_flat,
    check_private,
    listed,
    make_private,
    opened_directory,
    read_private,
    remove_flat,
    temporary_name,
    write_atomically,
)
from transpile.disk_cache.sealed_json import seal, unseal
from transpile.util.frozen_records import dataclass

META = "meta.json"
# Patterns of names. They are compiled where something is removed, which a warm start does not do.
ENTRY = r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)-(?P<key>[0-9a-f]{20})"
UNFINISHED = rf"(?P<entry>{ENTRY})\.[a-z0-9_]{{8}}"
LOCK = rf"(?P<locked>{ENTRY}(\.[a-z0-9_]{{8}})?)\.lock"
_BUILDING, _LOCKS, _TAG = "building", "locks", "CACHEDIR.TAG"
_MARK = b"Signature: 8a477f597d28d172789f06886806bc55\n# The cache of transpile.\n"
_EXPLAINED = (
    b"# Each directory here is a program that transpile has compiled; any of them can be deleted\n"
    b"# at any time. Without this file transpile neither writes nor removes anything here.\n"
)
_MEMORY = r"(compiler|template)-[0-9a-f]{16}\.json|transpile-[0-9a-f]{16}\.(json|txt)"
_TEMPORARY = rf"\.({_MEMORY}|CACHEDIR\.TAG)\.[a-z0-9_]{{8}}"
# Names with which a directory still counts as empty.
_PLACEHOLDERS = {".gitignore", ".gitkeep", "lost+found"}
_ABANDONED = 3600.0  # seconds: no process takes so long to write a small file
_NO_EXECUTION = getattr(os, "ST_NOEXEC", 0)


@dataclass(frozen=True)
class Owned:
    """Descriptors of the cache's own directory, of `building/` and of `locks/`, for changes."""

    root: int
    building: int
    locks: int

    def remove(self, name: str) -> None:
        """Remove an entry, or a file that has its name: a reader sees all of it or none.

        Raises OSError, and leaves it, where it is another user's or has a subdirectory.
        """
        try:
            status = os.stat(name, dir_fd=self.root, follow_symlinks=False)
        except FileNotFoundError:
            return
        if status.st_uid != os.geteuid():
            raise PermissionError(f"{name} belongs to another user (uid {status.st_uid})")
        if not stat.S_ISDIR(status.st_mode):
            os.unlink(name, dir_fd=self.root)
            return
        check_flat(name, self.root)
        unpublished = temporary_name(name)
        os.rename(name, unpublished, src_dir_fd=self.root, dst_dir_fd=self.building)
        remove_flat(unpublished, self.building)

    def forget(self) -> None:
        """Remove the files of `remember`; a temporary one may be renamed in a moment, and stays."""
        for name in listed(self.root):
            if re.fullmatch(_MEMORY, name):
                self._unlink(name)

    def remove_abandoned_files(self) -> None:
        """Remove the temporary files of processes that died while they wrote them."""
        for name in listed(self.root):
            if re.fullmatch(_TEMPORARY, name):
                with contextlib.suppress(FileNotFoundError):
                    changed = os.stat(name, dir_fd=self.root, follow_symlinks=False).st_mtime
                    if abs(time.time() - changed) > _ABANDONED:
                        self._unlink(name)

    def _unlink(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.root)


@contextlib.contextmanager
def owned(directory: Path) -> Iterator[Owned]:
    """The cache's own directory, which is made and marked first where that is allowed; OSError,
    with the reason, where it cannot be the cache's own."""
    make_private(directory)
    with contextlib.ExitStack() as stack:
        root = stack.enter_context(opened_directory(directory))
        check_execution(root)
        if not _is_marked(directory, root):
            write_atomically(_TAG, _MARK + _EXPLAINED, root)
        folders = []
        for name in (_BUILDING, _LOCKS):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=root)
            folders.append(stack.enter_context(opened_directory(name, root)))
        yield Owned(root, *folders)


def check_usable(directory: Path) -> None:
    """Raise OSError, with the reason, unless programs can be read and loaded from there."""
    check_private(directory)
    check_execution(directory)


def check_execution(directory: Path | int) -> None:
    """Raise OSError for a directory on a file system from which no program can be loaded."""
    if os.statvfs(directory).f_flag & _NO_EXECUTION:
        raise PermissionError("its file system is mounted noexec: no program can be loaded from it")


def check_own(directory: Path) -> None:
    """Raise OSError, with the reason, for a directory that cannot be the cache's own; nothing is
    said of a missing one."""
    with contextlib.suppress(FileNotFoundError), opened_directory(directory) as root:
        check_execution(root)
        _is_marked(directory, root)


def _is_marked(directory: Path, root: int) -> bool:
    """True if the directory has the marker; OSError, with the reason, if it cannot be marked."""
    with contextlib.suppress(FileNotFoundError):
        tag = read_private(_TAG, root)
        if tag.startswith(_MARK):
            return True
        if tag.strip(b"\0") and not _MARK.startswith(tag):  # nor the remains of a marker
            raise FileExistsError(f"its {_TAG} is not transpile's: name another directory")
    for name in listed(root):
        if foreign := _foreign_file(name, root):
            raise FileExistsError(
                f"it is not empty and not transpile's: there is {foreign!r}; name a directory that "
                f"is empty or not there yet, such as {directory / 'transpile'}"
            )
    return False


def _foreign_file(name: str, root: int) -> str:
    """The path under a name in an unmarked directory that is not of the cache's forms, or ""."""
    if name in _PLACEHOLDERS or re.fullmatch(_MEMORY, name) or re.fullmatch(_TEMPORARY, name):
        return ""
    if name in (_BUILDING, _LOCKS):
        form = UNFINISHED if name == _BUILDING else LOCK
        with opened_directory(name, root) as handle:
            return next(
                (f"{name}/{each}" for each in listed(handle) if not re.fullmatch(form, each)), ""
            )
    return "" if name == _TAG or (re.fullmatch(ENTRY, name) and is_entry(name, root)) else name


def is_entry(name: str, root: int) -> bool:
    """True if a name is that of a directory of this user with a meta.json in it."""
    with contextlib.suppress(OSError):
        status = os.stat(name, dir_fd=root, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            os.stat(f"{name}/{META}", dir_fd=root, follow_symlinks=False)
            return True
    return False


# -- small files -----------------------------------------------------------------------------------


def recall(name: str) -> dict[str, Any]:
    """The values that `remember` has kept under a name; OSError or ValueError where there are
    none."""
    directory = cache_directory()
    check_private(directory)
    return unseal(read_private(directory / name))


def remember(name: str, values: Mapping[str, Any]) -> None:
    """Keep values in a file of the cache directory, whose name matches `_MEMORY`.

    Nothing is kept where the directory cannot be used; no warning, as the cache gives one when it
    stores a program.
    """
    with contextlib.suppress(OSError), owned(cache_directory()) as own:
        write_atomically(name, seal(values), own.root)


def recall_compiled(beside: str, name: str) -> dict[str, Any]:
    """The values that `remember_compiled` has kept; OSError or ValueError where there are none."""
    with contextlib.suppress(OSError, ValueError):
        return unseal(Path(beside).read_bytes())
    return recall(name)


def remember_compiled(beside: str, name: str, values: Mapping[str, Any]) -> None:
    """Keep values that are made of transpile's files in the file `beside` among the modules that
    Python has compiled: what may be written there is trusted as they are. Where Python keeps
    nothing (PYTHONDONTWRITEBYTECODE), or the directory cannot be written, as `remember` does."""
    if not sys.dont_write_bytecode:
        data = seal(values)
        # As for a module: by rename, with missing directories, and silent where it fails.
        SourceFileLoader("kept", beside).set_data(beside, data)
        with contextlib.suppress(OSError):
            if Path(beside).read_bytes() == data:
                return
    remember(name, values)
