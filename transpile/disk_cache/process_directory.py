"""Temporary directories: scratch ones, and the one that replaces a cache which cannot be used."""

import atexit
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from transpile.disk_cache.cache_files import check_private
from transpile.disk_cache.cache_ownership import check_execution
from transpile.util.fork_safe_lock import undivided
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import shutil
    import tempfile
else:
    shutil = Later("shutil")
    tempfile = Later("tempfile")

_ADVICE = (
    "compiled programs are kept in the directory that the environment variable TRANSPILE_CACHE_DIR "
    "names, and compilers work in that of TMPDIR: name directories with some megabytes of space"
)
_SPACE = 1 << 20  # bytes, of which a compiler needs fewer for a small program

_temporary: Path | None = None


def advised(error: OSError) -> OSError:
    """An error of the last directory that there is, with what to do; class and number stay."""
    said = error.strerror or str(error)
    if _ADVICE in said:
        return error
    said = f"{said}; {_ADVICE}"
    if error.errno is None:
        return type(error)(said)
    return type(error)(error.errno, said, error.filename)


@contextlib.contextmanager
def advising() -> Iterator[None]:
    """OSErrors inside say what to do."""
    try:
        yield
    except OSError as error:
        told = advised(error)
        if told is error:
            raise
        raise told from error


def check_space(directory: Path) -> None:
    """Raise OSError on a full disk, where a compiler fails as it does for a mistake in C."""
    with open(directory / "space", "wb") as file:
        file.write(bytes(_SPACE))


def temporary_directory() -> Path:
    """The private directory of this process for programs, made at the first call and removed when
    the process ends."""
    global _temporary
    if _temporary is None or not _is_own(_temporary):
        with undivided():  # as in `scratch_directory`
            _temporary = _executable_directory()
        atexit.register(_remove_temporary_directory, _temporary, os.getpid())
    return _temporary


def scratch_directory() -> "tempfile.TemporaryDirectory[str]":
    """A new temporary directory, which is removed at the end of a `with` block.

    At the first one `tempfile` looks for a usable directory, under a lock of its own. A child
    forked at that moment would wait for the lock for ever, so forks wait.
    """
    with undivided(), advising():
        return tempfile.TemporaryDirectory(prefix="transpile-")


def _executable_directory() -> Path:
    """A new private directory from which programs can be loaded: /tmp may be mounted noexec."""
    with advising():
        usual = tempfile.gettempdir()
    others = ["/var/tmp", os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm"]
    for parent in [usual, *filter(os.path.isabs, others)]:
        with contextlib.suppress(OSError):
            check_execution(Path(parent))
            return Path(tempfile.mkdtemp(prefix="transpile-", dir=parent))
    with advising():
        return Path(tempfile.mkdtemp(prefix="transpile-"))


def _is_own(directory: Path) -> bool:
    """False after the process has become another user, or the directory has been deleted."""
    try:
        check_private(directory)
    except OSError:
        return False
    return True


def _remove_temporary_directory(directory: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child leaves it to its parent
        shutil.rmtree(directory, ignore_errors=True)
