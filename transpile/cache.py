"""The on-disk cache of compiled programs: one private directory for each.

`<cache>/<name>-<key>/` holds whatever the builder put there and `meta.json`, which says what the
key was made of and what each file should look like. Three other things stand beside the entries:
`building/` (directories on their way in or out), `locks/`, and what is known of the compilers
(`compiler-*.json`) and of transpile's own files (`transpile-*.txt`).

An entry is built in `building/` and renamed into place under a lock of its own, so a reader sees
all of it or none. The kernel releases the lock of a process that dies; what such a process left in
`building/` is recognised by its free lock and removed.
"""

import atexit
import contextlib
import errno
import fcntl
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from transpile.directories import cache_directory, check_private, listed, make_private
from transpile.entry import (
    ENTRY,
    DamagedError,
    Entry,
    abbreviated,
    complete_entry,
    identifier,
    key,
    read_entry,
)
from transpile.errors import CacheWarning, CompilationError
from transpile.log import Log
from transpile.on_demand import Later
from transpile.records import dataclass

if TYPE_CHECKING:
    import shutil
    import tempfile
else:
    shutil = Later("shutil")
    tempfile = Later("tempfile")

__all__ = ["DEFAULT_MAX_BYTES", "Cache", "Entry", "Usage", "default_cache", "key"]

logger = Log("transpile.cache")

DEFAULT_MAX_BYTES = 1 << 30
_LOCK = re.compile(ENTRY.pattern + r"\.lock")
_MEMORY = re.compile(r"compiler-[0-9a-f]{16}\.json|transpile-[0-9a-f]{16}\.txt")
_STORAGE_ERRORS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.EIO, errno.ESTALE, errno.ENAMETOOLONG),
}


@dataclass(frozen=True)
class Usage:
    """A line of `cache list`: sizes in bytes, times in seconds since 1970."""

    directory: Path
    name: str
    key: str
    size: int
    created: float
    last_used: float


class _UnusableError(Exception):
    """The reason why the cache's directory cannot be used."""


class Cache:
    """Compiled programs in `directory`, at most about `max_bytes` of them.

    Safe for any number of threads and processes. Where the directory cannot be used, programs live
    in a temporary directory until the process ends, and one CacheWarning says so.
    """

    def __init__(
        self, directory: Path, max_bytes: int = DEFAULT_MAX_BYTES, *, fall_back: bool = True
    ) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self._fall_back = fall_back
        self._substitute: Cache | None = None
        self._bytes: int | None = None  # of all entries, as far as this process knows

    @property
    def path(self) -> Path:
        """The directory that programs built from now on are stored in."""
        return self._substitute.path if self._substitute is not None else self.directory

    def get(self, name: str, ingredients: Mapping[str, str]) -> Entry | None:
        """The program's entry, checked, or None where it has to be built."""
        directory = self.directory / f"{identifier(name)}-{key(ingredients)}"
        try:
            check_private(self.directory)
            entry = read_entry(directory)
        except (OSError, DamagedError):
            return self._substitute.get(name, ingredients) if self._substitute else None
        logger.debug("hit: %s", directory.name)
        return entry

    def get_or_build(
        self, name: str, ingredients: Mapping[str, str], build: Callable[[Path], None]
    ) -> Entry:
        """The program's entry; where it is missing or damaged, `build` makes it first.

        `build` is given an empty private directory and puts the program's files there, without
        subdirectories; it may leave a `meta.json` with fields of its own. It runs once, however
        many processes ask at the same time; what it raises goes to the caller, and nothing of the
        program stays behind.
        """
        entry = self.get(name, ingredients)
        if entry is not None:
            return entry
        if logger.hears_information():
            logger.info("%s", self.explain(name, ingredients))
        if self._substitute is None:
            try:
                return self._publish(identifier(name), ingredients, build)
            except _UnusableError as problem:
                self._fall_back_because(problem)
        assert self._substitute is not None
        return self._substitute.get_or_build(name, ingredients, build)

    def discard(self, entry: Entry) -> None:
        """Remove an entry that turned out to be damaged; the next request builds it again."""
        logger.warning("damaged: %s", entry.directory.name)
        with contextlib.suppress(OSError), self._locked(entry.directory.name):
            self._remove(entry.directory)

    def explain(self, name: str, ingredients: Mapping[str, str]) -> str:
        """Why a program is not in the cache: how it differs from the nearest of the same name."""
        wanted = abbreviated(ingredients)
        nearest: tuple[int, str, list[str]] | None = None
        for entry in self.show(identifier(name)):
            there = entry.meta.get("ingredients", {})
            differing = [n for n in sorted({*wanted, *there}) if wanted.get(n) != there.get(n)]
            if nearest is None or (len(differing), entry.directory.name) < nearest[:2]:
                nearest = (len(differing), entry.directory.name, differing)
        title = f"miss: {identifier(name)}-{key(ingredients)}"
        if nearest is None:
            return f"{title}: the first program of that name"
        if not nearest[0]:
            return f"{title}: the stored one is damaged"
        return f"{title}: differs from {nearest[1]} in {', '.join(nearest[2])}"

    def entries(self) -> list[Usage]:
        """Every entry, the most recently used first."""
        found = []
        for directory in self._directories():
            with contextlib.suppress(OSError):
                parts = ENTRY.fullmatch(directory.name)
                assert parts is not None
                used = directory.stat().st_mtime
                files = [file.stat(follow_symlinks=False) for file in os.scandir(directory)]
                size = sum(file.st_size for file in files)
                created = max((file.st_mtime for file in files), default=used)
                found.append(Usage(directory, parts["name"], parts["key"], size, created, used))
        return sorted(found, key=lambda usage: (-usage.last_used, usage.directory.name))

    def show(self, name: str) -> list[Entry]:
        """The undamaged entries called `name`, or whose `name-key` starts with it, by name."""
        found = []
        for directory in self._directories():
            if directory.name.startswith(name) and ("-" in name or directory.name[:-21] == name):
                with contextlib.suppress(OSError, DamagedError):
                    found.append(read_entry(directory, touch=False))
        return found

    def clear(self) -> tuple[int, int]:
        """Remove every entry that is not being built; (how many, how many bytes) went.

        What is known of the compilers and of transpile's files goes too. Files that the cache did
        not make stay. Raises OSError where the directory is not the user's own.
        """
        count = size = 0
        if self.directory.exists():
            check_private(self.directory)
        for usage in self.entries():
            if self._try_remove(usage.directory):
                count, size = count + 1, size + usage.size
        self._bytes = None
        self._sweep()
        for path in listed(self.directory):
            if _MEMORY.fullmatch(path.name):
                path.unlink(missing_ok=True)
        for path in listed(self._locks):
            if _LOCK.fullmatch(path.name):  # left by a process that died: taking it removes it
                with contextlib.suppress(OSError), self._locked(path.stem, wait=False):
                    pass
        return count, size

    # -- the inside --------------------------------------------------------------------------------

    @property
    def _locks(self) -> Path:
        return self.directory / "locks"

    @property
    def _building(self) -> Path:
        return self.directory / "building"

    def _directories(self) -> list[Path]:
        return [path for path in listed(self.directory) if ENTRY.fullmatch(path.name)]

    def _publish(
        self, name: str, ingredients: Mapping[str, str], build: Callable[[Path], None]
    ) -> Entry:
        """Build an entry under its lock, unless somebody else has done so in the meantime."""
        identity = key(ingredients)
        directory = self.directory / f"{name}-{identity}"
        with contextlib.ExitStack() as stack:
            with _storage_errors():
                for folder in (self.directory, self._locks, self._building):
                    make_private(folder)
                stack.enter_context(self._locked(directory.name))
                try:
                    return read_entry(directory)
                except FileNotFoundError:
                    pass
                except DamagedError as problem:
                    logger.warning("damaged: %s: %s", directory.name, problem)
                    self._remove(directory)
                temporary = tempfile.mkdtemp(prefix=f"{directory.name}.", dir=self._building)
            try:
                self._fill(Path(temporary), build)
                with _storage_errors():
                    size = complete_entry(Path(temporary), name, identity, ingredients)
                    entry = _rename(Path(temporary), directory)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
        self._sweep()
        self._evict(directory, size)
        return entry

    def _fill(self, temporary: Path, build: Callable[[Path], None]) -> None:
        """Run the builder, and tell a full or broken disk from a fault of the program's."""
        try:
            build(temporary)
        except OSError as error:
            if error.errno in _STORAGE_ERRORS:
                raise _UnusableError(_reason(error)) from error
            raise
        except CompilationError as error:
            # A compiler that finds the disk full fails like one that finds a mistake.
            try:
                with open(temporary / "space", "wb") as file:
                    file.write(bytes(1 << 20))
            except OSError as problem:
                raise _UnusableError(_reason(problem)) from error
            raise

    def _fall_back_because(self, problem: _UnusableError) -> None:
        if not self._fall_back:
            raise problem.__cause__ or problem
        self._substitute = Cache(_temporary_directory(), self.max_bytes, fall_back=False)
        _warn(f"the cache {self.directory}", problem)

    @contextlib.contextmanager
    def _locked(self, entry: str, *, wait: bool = True) -> Iterator[bool]:
        """Hold the lock of an entry; without `wait`, yields False where somebody else has it.

        Also False, after waiting for nothing, on a file system without locks: there the atomic
        rename alone protects the entries, and programs may be built twice.
        """
        path = self._locks / f"{entry}.lock"
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                ours = True
            except OSError:
                ours = False
            except BaseException:
                os.close(handle)
                raise
            # The holder removes the file before it lets go: what we got may be a lock on nothing.
            if not ours or _same_file(handle, path):
                break
            os.close(handle)
        _held_locks.add(handle)
        try:
            yield ours
        finally:
            if handle in _held_locks:  # else this is a forked child, and the lock its parent's
                _held_locks.remove(handle)
                if ours:
                    with contextlib.suppress(OSError):
                        path.unlink()
                    fcntl.flock(handle, fcntl.LOCK_UN)
                os.close(handle)

    def _remove(self, directory: Path) -> None:
        """Take an entry out of sight at once, then delete it. The caller holds its lock."""
        with contextlib.suppress(FileNotFoundError):
            aside = tempfile.mkdtemp(prefix=f"{directory.name}.", dir=self._building)
            os.rename(directory, os.path.join(aside, "removed"))
            shutil.rmtree(aside, ignore_errors=True)

    def _try_remove(self, directory: Path) -> bool:
        """Remove an entry unless it is being built or cannot be removed."""
        try:
            with self._locked(directory.name, wait=False) as ours:
                if ours:
                    self._remove(directory)
                return ours
        except OSError:
            return False

    def _sweep(self) -> None:
        """Delete what builders that died have left in `building/`: their locks are free."""
        for path in listed(self._building):
            entry = path.name.partition(".")[0]
            with contextlib.suppress(OSError), self._locked(entry, wait=False) as ours:
                if ours:
                    shutil.rmtree(path, ignore_errors=True)

    def _evict(self, kept: Path, added: int) -> None:
        """Remove the least recently used entries, never `kept`, until the rest fits."""
        if self._bytes is not None and self._bytes + added <= self.max_bytes:
            self._bytes += added  # other processes count what they add themselves
            return
        entries = self.entries()
        self._bytes = sum(usage.size for usage in entries)
        for usage in reversed(entries):
            if self._bytes <= self.max_bytes:
                break
            if usage.directory != kept and self._try_remove(usage.directory):
                logger.info("evicted: %s", usage.directory.name)
                self._bytes -= usage.size


_default: tuple[tuple[str, ...], Cache] | None = None


def default_cache() -> Cache:
    """The cache that the environment asks for; the variables are read again at every call.

    TRANSPILE_CACHE_DIR names the directory (see `directories.cache_directory`), and
    TRANSPILE_CACHE_MAX_BYTES its size, 1 GiB unless given.
    """
    global _default
    variables = ("TRANSPILE_CACHE_DIR", "TRANSPILE_CACHE_MAX_BYTES", "XDG_CACHE_HOME", "HOME")
    settings = tuple(os.environ.get(name, "") for name in variables)
    if _default is None or _default[0] != settings:
        limit = _max_bytes(settings[1])
        try:
            _default = (settings, Cache(cache_directory(), limit))
        except OSError as error:
            _default = (settings, Cache(_temporary_directory(), limit, fall_back=False))
            _warn("the user's cache directory", error)
    return _default[1]


def _max_bytes(text: str) -> int:
    if not text:
        return DEFAULT_MAX_BYTES
    if not text.isdecimal():
        raise ValueError(f"TRANSPILE_CACHE_MAX_BYTES takes a number of bytes, not {text!r}")
    return int(text)


# -- names and files -------------------------------------------------------------------------------


def _rename(built: Path, directory: Path) -> Entry:
    """Publish a complete entry, or take the one that somebody else published first."""
    try:
        os.rename(built, directory)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    return read_entry(directory, touch=False)


@contextlib.contextmanager
def _storage_errors() -> Iterator[None]:
    """Whatever goes wrong inside goes wrong because of the directory, not of the program."""
    try:
        yield
    except (OSError, DamagedError) as error:
        raise _UnusableError(_reason(error)) from error


def _reason(error: Exception) -> str:
    """`No space left on device`, without the number and the path; or a sentence of our own."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)


def _warn(what: str, problem: Exception) -> None:
    warnings.warn(
        f"{what} cannot be used ({problem}); the programs that this process compiles are kept in "
        f"{_temporary_directory()} until it ends; name another directory in the environment "
        "variable TRANSPILE_CACHE_DIR",
        CacheWarning,
        stacklevel=4,
    )


# -- the process -----------------------------------------------------------------------------------

_held_locks: set[int] = set()
_temporary: Path | None = None


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _release_inherited_locks() -> None:
    """In a forked child: keep no lock of the parent's alive after the parent has died."""
    for handle in _held_locks:
        with contextlib.suppress(OSError):
            os.close(handle)
    _held_locks.clear()


os.register_at_fork(after_in_child=_release_inherited_locks)


def _temporary_directory() -> Path:
    """The private directory of this process, made at the first call and removed at its end."""
    global _temporary
    if _temporary is None or not _is_own(_temporary):
        _temporary = Path(tempfile.mkdtemp(prefix="transpile-"))
        atexit.register(_remove_temporary_directory, _temporary, os.getpid())
    return _temporary


def _is_own(directory: Path) -> bool:
    """False after the process has become another user, or the directory has been deleted."""
    try:
        check_private(directory)
    except OSError:
        return False
    return True


def _remove_temporary_directory(directory: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not a forked child, whose parent still needs it
        shutil.rmtree(directory, ignore_errors=True)
