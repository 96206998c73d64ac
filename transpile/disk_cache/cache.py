"""The on-disk cache of compiled programs: one private directory for each.

`<cache>/<name>-<key>/` holds whatever the builder put there and `meta.json`, which says what the
key was made of and what each file should look like. Beside the entries stand the marker of the
directory (`transpile.disk_cache.cache_ownership`, which says what may be removed), `building/`
(directories on their way in or out), `locks/`, and what is known of the compilers
(`compiler-*.json`) and of transpile's own files (`transpile-*.json`).

An entry is built in `building/` and renamed into place under a lock of its own, so a reader sees
all of it or none. The kernel releases the lock of a process that dies; what such a process left in
`building/` is recognised by its free locks and removed. Locks save work and protect what is being
used; nothing depends on them: who has waited too long for one, for that of a stopped process say,
builds the program too, and the first rename counts.

What is found is not believed before it is checked, and may be removed by others at any time. So an
entry is used, loaded say, by a function that `obtain` calls: with an entry that was found first,
and where that is damaged or gone, with one that is held by its lock.
"""

import contextlib
import errno
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from typing import TypeVar

from transpile.disk_cache.cache_entry import (
    DamagedError,
    Entry,
    abbreviated,
    complete_entry,
    identifier,
    key,
    read_entry,
)
from transpile.disk_cache.cache_files import (
    cache_directory,
    listed,
    opened_directory,
    remove_flat,
    temporary_name,
)
from transpile.disk_cache.cache_ownership import (
    ENTRY,
    LOCK,
    UNFINISHED,
    Owned,
    check_own,
    check_usable,
    is_entry,
    owned,
)
from transpile.disk_cache.file_locks import locked
from transpile.disk_cache.process_directory import temporary_directory
from transpile.errors import CacheWarning, CompilationError, CompilerNotFoundError
from transpile.util.frozen_records import dataclass
from transpile.util.lazy_logging import Log

__all__ = ["DEFAULT_MAX_BYTES", "Cache", "Entry", "Usage", "default_cache", "key"]

logger = Log("transpile.cache")

DEFAULT_MAX_BYTES = 1 << 30
# How long a process waits for another one that builds the same program, in seconds. The compiler
# takes minutes for the longest ones; it is run twice rather than waited for without an end.
_PATIENCE = 600.0
_STORAGE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}
_STORAGE_ERRORS |= {errno.EIO, errno.ESTALE, errno.ENAMETOOLONG}


@dataclass(frozen=True)
class Usage:
    """A line of `cache list`: sizes in bytes, times in seconds since 1970."""

    directory: Path
    name: str
    key: str
    size: int
    created: float
    last_used: float


_Used = TypeVar("_Used")


class UnusableError(Exception):
    """The reason why the cache's directory cannot be used."""


class Cache:
    """Compiled programs in `directory`, at most about `max_bytes` of them.

    Safe for any number of threads and processes. Where the directory cannot be used, programs live
    in a temporary directory until the process ends, and one CacheWarning says so.
    """

    def __init__(
        self,
        directory: Path,
        max_bytes: int = DEFAULT_MAX_BYTES,
        *,
        fall_back: bool = True,
        patience: float = _PATIENCE,
    ) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self._fall_back = fall_back
        self._patience = patience
        self._substitute: Cache | None = None
        self._bytes: int | None = None  # of all entries, as far as this process knows

    @property
    def path(self) -> Path:
        """The directory that programs built from now on are stored in."""
        return self._substitute.path if self._substitute is not None else self.directory

    def get(self, name: str, ingredients: Mapping[str, str]) -> Entry | None:
        """The program's entry, or None where it has to be built; its files are checked when they
        are opened."""
        directory = self.directory / f"{identifier(name)}-{key(ingredients)}"
        try:
            check_usable(self.directory)
            entry = read_entry(directory)
        except (OSError, DamagedError):
            return self._substitute.get(name, ingredients) if self._substitute else None
        logger.debug("hit: %s", directory.name)
        return entry

    def get_or_build(
        self, name: str, ingredients: Mapping[str, str], build: Callable[[Path], None]
    ) -> Entry:
        """The program's entry, all its files checked; see `obtain`."""
        return self.obtain(name, ingredients, build, Entry.verify)

    def obtain(
        self,
        name: str,
        ingredients: Mapping[str, str],
        build: Callable[[Path], None],
        use: Callable[[Entry], _Used],
    ) -> _Used:
        """What `use` makes of the program's entry; where it is missing or damaged, `build` makes it
        first.

        `build` is given an empty private directory and puts the program's files there, without
        subdirectories; it may leave a `meta.json` with fields of its own. It runs once, however
        many processes ask at the same time; what it raises goes to the caller, and nothing of the
        program stays behind.

        `use` raises DamagedError for an entry that must be built again, and UnusableError where
        nothing in this directory can be used. What it raises for the second program goes to the
        caller.
        """
        entry = self.get(name, ingredients)
        if entry is not None:
            with contextlib.suppress(DamagedError, UnusableError):  # and say so under the lock
                return use(entry)
        if logger.hears_information():
            logger.info("%s", self.explain(name, ingredients))
        if self._substitute is None:
            try:
                return self._publish(identifier(name), ingredients, build, use)
            except UnusableError as problem:
                self._fall_back_because(problem)
            except CompilationError:
                # The disk may have been full for a moment; a mistake is found elsewhere, too.
                if not self._fall_back:
                    raise
        elsewhere = self._substitute or Cache(temporary_directory(), fall_back=False)
        return elsewhere.obtain(name, ingredients, build, use)

    def find(
        self,
        name: str,
        ingredients: Mapping[str, str],
        unknown: Set[str],
        use: Callable[[Entry], _Used],
        missing: CompilerNotFoundError,
    ) -> _Used:
        """What `use` makes of an entry with these ingredients, and any for the `unknown` ones: what
        serves where nothing can be built, because there is no compiler.

        Of several it is the first by name. Where there is none, `missing` is raised, and says so.
        """
        wanted = abbreviated(ingredients)
        for entry in self.show(identifier(name)):
            there = entry.meta["ingredients"]
            if {**wanted, **{n: there.get(n) for n in unknown}} == there:
                with contextlib.suppress(DamagedError, UnusableError):
                    return use(entry)
        if self._substitute is not None:
            return self._substitute.find(name, ingredients, unknown, use, missing)
        raise CompilerNotFoundError(
            f"{missing}\n{identifier(name)} was not found in the cache {self.directory} either, "
            "built for this processor with these options by this version of transpile"
        )

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
                parts = re.fullmatch(ENTRY, directory.name)
                assert parts is not None
                used = directory.stat().st_mtime
                with os.scandir(directory) as listing:
                    files = [file.stat(follow_symlinks=False) for file in listing]
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
        not make stay. Raises OSError where the directory is not the cache's own.
        """
        count = size = 0
        if not self.directory.exists():
            return 0, 0
        with owned(self.directory) as own:
            for usage in self.entries():
                if _try_remove(own, usage.directory.name):
                    count, size = count + 1, size + usage.size
            self._bytes = None
            _sweep(own)
            own.forget()
        return count, size

    def problem(self) -> str:
        """Why programs are not kept in the directory, or nothing."""
        try:
            check_own(self.directory)
        except OSError as error:
            return _reason(error)
        return ""

    # -- the inside --------------------------------------------------------------------------------

    def _directories(self) -> list[Path]:
        try:
            with opened_directory(self.directory) as root:
                names = [name for name in listed(root) if re.fullmatch(ENTRY, name)]
                return [self.directory / name for name in names if is_entry(name, root)]
        except OSError:
            return []

    def _publish(
        self,
        name: str,
        ingredients: Mapping[str, str],
        build: Callable[[Path], None],
        use: Callable[[Entry], _Used],
    ) -> _Used:
        """Use an entry that nobody removes meanwhile: the one that somebody else has built since,
        or a new one."""
        directory = self.directory / f"{name}-{key(ingredients)}"
        with contextlib.ExitStack() as stack:
            with _storage_errors():
                own = stack.enter_context(owned(self.directory))
                lock = stack.enter_context(contextlib.ExitStack())
                lock.enter_context(locked(own.locks, directory.name, self._patience))
            damage = DamagedError("")
            for entry in self._candidates(own, directory, ingredients, build):
                try:
                    used = use(entry)
                    break
                except DamagedError as problem:
                    damage = problem
                    logger.warning("damaged: %s: %s", directory.name, problem)
                    with _storage_errors():
                        own.remove(directory.name)
            else:
                raise damage
            lock.close()
            _sweep(own)
        return used

    def _candidates(
        self,
        own: Owned,
        directory: Path,
        ingredients: Mapping[str, str],
        build: Callable[[Path], None],
    ) -> Iterator[Entry]:
        """The entry that is there, if it is sound, then a new one, and then another one."""
        with _storage_errors():
            entry = _present(own, directory)
        if entry is not None:
            yield entry
        for _ in range(2):
            yield self._build(own, directory, ingredients, build)

    def _build(
        self,
        own: Owned,
        directory: Path,
        ingredients: Mapping[str, str],
        build: Callable[[Path], None],
    ) -> Entry:
        """Build an entry aside and rename it into place."""
        unfinished = temporary_name(directory.name)
        temporary = self.directory / "building" / unfinished
        with contextlib.ExitStack() as stack:
            with _storage_errors():
                # Its own lock, beside that of the entry: the latter may be somebody else's.
                stack.enter_context(locked(own.locks, unfinished, 0))
                os.mkdir(unfinished, 0o700, dir_fd=own.building)
            try:
                self._fill(temporary, build)
                with _storage_errors():
                    name, _, identity = directory.name.rpartition("-")
                    with opened_directory(unfinished, own.building) as handle:
                        size = complete_entry(handle, name, identity, ingredients)
                    entry = _rename(own, unfinished, directory)
            finally:
                with contextlib.suppress(OSError):
                    remove_flat(unfinished, own.building)
        self._evict(own, directory.name, size)
        return entry

    def _fill(self, temporary: Path, build: Callable[[Path], None]) -> None:
        """Run the builder, and tell a full or broken disk from a fault of the program's."""
        try:
            build(temporary)
        except OSError as error:
            if error.errno in _STORAGE_ERRORS:
                raise UnusableError(_reason(error)) from error
            raise
        except CompilationError as error:
            # A compiler that finds the disk full fails like one that finds a mistake.
            try:
                with open(temporary / "space", "wb") as file:
                    file.write(bytes(1 << 20))
            except OSError as problem:
                raise UnusableError(_reason(problem)) from error
            raise

    def _fall_back_because(self, problem: UnusableError) -> None:
        if not self._fall_back:
            raise problem.__cause__ or problem
        if self._substitute is not None:  # since this build began: it has built a library first
            return
        self._substitute = Cache(temporary_directory(), self.max_bytes, fall_back=False)
        _warn(f"the cache {self.directory}", problem)

    def _evict(self, own: Owned, kept: str, added: int) -> None:
        """Remove the least recently used entries, never `kept`, until the rest fits."""
        if self._bytes is not None and self._bytes + added <= self.max_bytes:
            self._bytes += added  # other processes count what they add themselves
            return
        entries = self.entries()
        self._bytes = sum(usage.size for usage in entries)
        for usage in reversed(entries):
            if self._bytes <= self.max_bytes:
                break
            name = usage.directory.name
            if name != kept and _try_remove(own, name):
                logger.info("evicted: %s", name)
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
            _default = (settings, Cache(temporary_directory(), limit, fall_back=False))
            _warn("the user's cache directory", error)
    return _default[1]


def _max_bytes(text: str) -> int:
    if not text:
        return DEFAULT_MAX_BYTES
    if not text.isdecimal():
        raise ValueError(f"TRANSPILE_CACHE_MAX_BYTES takes a number of bytes, not {text!r}")
    return int(text)


# -- names and files -------------------------------------------------------------------------------


def _present(own: Owned, directory: Path) -> Entry | None:
    """The entry that is there; a damaged one is removed. The caller holds its lock."""
    try:
        return read_entry(directory)
    except FileNotFoundError:
        return None
    except DamagedError as problem:
        logger.warning("damaged: %s: %s", directory.name, problem)
        own.remove(directory.name)
        return None


def _rename(own: Owned, unfinished: str, directory: Path) -> Entry:
    """Publish a complete entry, or take the one that somebody else published first."""
    try:
        os.rename(unfinished, directory.name, src_dir_fd=own.building, dst_dir_fd=own.root)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    return read_entry(directory, touch=False)


def _try_remove(own: Owned, name: str) -> bool:
    """Remove an entry unless it is being built or cannot be removed."""
    try:
        with locked(own.locks, name, 0) as ours:
            if ours:
                own.remove(name)
            return ours
    except OSError:
        return False


def _sweep(own: Owned) -> None:
    """Remove what processes that died have left: their locks are free."""
    for name in listed(own.building):
        if parts := re.fullmatch(UNFINISHED, name):
            with (
                contextlib.suppress(OSError),
                locked(own.locks, parts["entry"], 0) as entry,
                locked(own.locks, name, 0) as directory,
            ):
                if entry and directory:
                    remove_flat(name, own.building)
    for name in listed(own.locks):
        if parts := re.fullmatch(LOCK, name):
            with contextlib.suppress(OSError), locked(own.locks, parts["locked"], 0):
                pass  # taking it removes it
    with contextlib.suppress(OSError):
        own.sweep_files()


@contextlib.contextmanager
def _storage_errors() -> Iterator[None]:
    """Whatever goes wrong inside goes wrong because of the directory, not of the program."""
    try:
        yield
    except (OSError, DamagedError) as error:
        raise UnusableError(_reason(error)) from error


def _reason(error: Exception) -> str:
    """`No space left on device`, without the number and the path; or a sentence of our own."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)


def _warn(what: str, problem: Exception) -> None:
    warnings.warn(
        f"{what} cannot be used ({problem}); the programs that this process compiles are kept in "
        f"{temporary_directory()} until it ends; name another directory in the environment "
        "variable TRANSPILE_CACHE_DIR",
        CacheWarning,
        stacklevel=4,
    )
