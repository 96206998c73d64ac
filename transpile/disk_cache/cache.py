"""The on-disk cache of compiled programs: one private directory for each program.

`<cache>/<name>-<key>/`, an entry, holds the files that the builder wrote and `meta.json`: the
ingredients of the key, and the size and digest of each file. Beside the entries stand the marker of
the directory (`cache_ownership.py`, which says what may be removed), `building/` (entries that are
being written or removed), `locks/`, and small files with facts about compilers (`compiler-*.json`),
templates (`template-*.json`) and the files of transpile (`transpile-*.json`).

Invariants:
* Publication is atomic. An entry is written in `building/` and renamed into place under a lock of
  its own, so that a reader sees all of it or none.
* Nothing is used unverified. A file's digest is checked through the descriptor that is then read or
  loaded.
* Another process may remove an entry at any time. So callers get no path to use later: `obtain`
  calls their `use` on the entry, first without a lock, and where the entry is damaged or gone, once
  more on one that its lock protects.
* Locks save work and protect entries that are in use; correctness does not depend on them. A
  process that has waited for too long, or waits for a stopped process, builds the program as well,
  and the first rename wins. The kernel releases the locks of a process that dies; its directories
  in `building/` are recognised by their free locks and removed.
"""

import contextlib
import errno
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from typing import TypeVar

from transpile.disk_cache.cache_cleanup import remove_abandoned, remove_unlocked
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
    opened_directory,
    remove_flat,
    temporary_name,
)
from transpile.disk_cache.cache_listing import Usage, entries_named, is_named, usages
from transpile.disk_cache.cache_ownership import Owned, check_own, check_usable, owned
from transpile.disk_cache.concurrent_steps import Steps, finished, in_one_step
from transpile.disk_cache.file_locks import locked
from transpile.disk_cache.process_directory import advised, check_space, temporary_directory
from transpile.errors import CacheWarning, CompilationError, CompilerNotFoundError
from transpile.util.lazy.loggers import Log

__all__ = ["DEFAULT_MAX_BYTES", "Cache", "Entry", "default_cache", "key"]

logger = Log("transpile.cache")

DEFAULT_MAX_BYTES = 1 << 30
# How long, in seconds, a process waits for another one that builds the same program. The compiler
# takes minutes for the longest programs; running it twice is better than waiting without an end.
_PATIENCE = 600.0
_STORAGE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}
_STORAGE_ERRORS |= {errno.EIO, errno.ESTALE, errno.ENAMETOOLONG}


_Used = TypeVar("_Used")


class UnusableError(Exception):
    """The reason why no program can be kept in, or loaded from, the cache's directory."""


class Cache:
    """Compiled programs in `directory`; eviction keeps their size below about `max_bytes`.

    Safe for any number of threads and processes. Where the directory cannot be used, programs are
    kept in a temporary directory until the process ends, and one CacheWarning says so.

    fall_back  False: errors of the directory are raised instead
    patience   for how many seconds the lock of an entry is waited for
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
        """The program's entry, or None where it has to be built. The contents of its files are
        verified when they are opened."""
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
        """The program's entry with all its files verified; see `obtain`."""
        return self.obtain(name, ingredients, build, Entry.verify)

    def obtain(
        self,
        name: str,
        ingredients: Mapping[str, str],
        build: Callable[[Path], None],
        use: Callable[[Entry], _Used],
    ) -> _Used:
        """The result of `use` on the program's entry, which `build` writes first where it is
        missing or damaged.

        `build` gets an empty private directory and writes the program's files there, without
        subdirectories; a `meta.json` among them adds fields to that of the entry. It runs once,
        however many processes ask at the same time. Its exceptions reach the caller, and what it
        wrote is removed.

        `use` raises DamagedError for an entry that must be built again, and UnusableError where
        nothing in this directory can be used. Its errors for the second new entry reach the caller.
        """
        return finished(self.obtaining(name, ingredients, in_one_step(build), use))

    def obtaining(
        self,
        name: str,
        ingredients: Mapping[str, str],
        build: Callable[[Path], Steps[None]],
        use: Callable[[Entry], _Used],
        *,
        alone: bool = True,
    ) -> Steps[_Used]:
        """The steps of `obtain` with a `build` that has steps, during which the lock of the entry
        is held. Whoever takes several at a time takes them in an order that all agree on: two
        processes would else wait for each other.

        alone   False: without the lock, for steps that nobody may have to wait for; several
                processes may then build the entry
        """
        entry = self.get(name, ingredients)
        if entry is not None:
            with contextlib.suppress(DamagedError, UnusableError):  # handled under the lock
                return use(entry)
        if logger.hears_information():
            logger.info("%s", self.explain(name, ingredients))
        if self._substitute is None:
            try:
                return (yield from self._publish(identifier(name), ingredients, build, use, alone))
            except UnusableError as problem:
                self._fall_back_because(problem)
            except CompilationError:
                # The disk may have been full for a moment. A mistake in the program shows again.
                if not self._fall_back:
                    raise
        elsewhere = self._substitute or Cache(temporary_directory(), fall_back=False)
        return (yield from elsewhere.obtaining(name, ingredients, build, use, alone=alone))

    def find(
        self,
        name: str,
        ingredients: Mapping[str, str],
        unknown: Set[str],
        use: Callable[[Entry], _Used],
        missing: CompilerNotFoundError,
    ) -> _Used:
        """The result of `use` on an entry with these ingredients, whatever its `unknown` ones are:
        for processes without a compiler, which any compiler's program serves.

        The first by name that can be used. Where there is none, raises CompilerNotFoundError with
        the text of `missing`.
        """
        wanted = abbreviated(ingredients)
        for entry in self.show(identifier(name)):
            stored = entry.meta["ingredients"]
            if {**wanted, **{n: stored.get(n) for n in unknown}} == stored:
                with contextlib.suppress(DamagedError, UnusableError):
                    return use(entry)
        if self._substitute is not None:
            return self._substitute.find(name, ingredients, unknown, use, missing)
        raise CompilerNotFoundError(
            f"{missing}\n{identifier(name)} was not found in the cache {self.directory} either, "
            "built for this processor with these options by this version of transpile"
        )

    def explain(self, name: str, ingredients: Mapping[str, str]) -> str:
        """Why a program is not in the cache: the ingredients in which it differs from the nearest
        entry of the same name."""
        wanted = abbreviated(ingredients)
        nearest: tuple[int, str, list[str]] | None = None
        for entry in self.show(identifier(name)):
            stored = entry.meta.get("ingredients", {})
            differing = [n for n in sorted({*wanted, *stored}) if wanted.get(n) != stored.get(n)]
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
        return usages(self.directory)

    def show(self, name: str) -> list[Entry]:
        """The undamaged entries called `name`, or whose `name-key` starts with it, by name."""
        return entries_named(self.directory, name)

    def clear(self, name: str = "") -> tuple[int, int]:
        """Remove every entry that is not being built; returns (entries, bytes) removed.

        With a name, those entries that `show` shows for it, and no more. Without one, the facts
        about compilers, templates and transpile's files are removed too. Files that the cache did
        not write stay. Raises OSError where the directory is not the cache's own.
        """
        count = size = 0
        if not self.directory.exists():
            return 0, 0
        with owned(self.directory) as own:
            for usage in self.entries():
                if name and not is_named(usage.directory.name, name):
                    continue
                if remove_unlocked(own, usage.directory.name):
                    count, size = count + 1, size + usage.size
            self._bytes = None
            if not name:
                remove_abandoned(own)
                own.forget()
        return count, size

    def problem(self) -> str:
        """The reason why programs are not kept in the directory, or an empty text."""
        try:
            check_own(self.directory)
        except OSError as error:
            return _reason(error)
        return ""

    # -- building, publishing, evicting ------------------------------------------------------------

    def _publish(
        self,
        name: str,
        ingredients: Mapping[str, str],
        build: Callable[[Path], Steps[None]],
        use: Callable[[Entry], _Used],
        alone: bool,
    ) -> Steps[_Used]:
        """The result of `use` on an entry that its lock protects, if that is wanted: the one that
        another process has built since, or a new one."""
        directory = self.directory / f"{name}-{key(ingredients)}"
        with contextlib.ExitStack() as stack:
            with _storage_errors():
                own = stack.enter_context(owned(self.directory))
                lock = stack.enter_context(contextlib.ExitStack())
                if alone:
                    lock.enter_context(locked(own.locks, directory.name, self._patience))
            with _storage_errors():
                entry = _present(own, directory)
            attempts = 3 if entry is not None else 2  # the stored entry, then two new ones
            while True:
                attempts -= 1
                if entry is None:
                    entry = yield from self._build(own, directory, ingredients, build)
                try:
                    used = use(entry)
                    break
                except DamagedError as problem:
                    logger.warning("damaged: %s: %s", directory.name, problem)
                    with _storage_errors():
                        own.remove(directory.name)
                    if not attempts:
                        raise
                    entry = None
            lock.close()
            remove_abandoned(own)
        return used

    def _build(
        self,
        own: Owned,
        directory: Path,
        ingredients: Mapping[str, str],
        build: Callable[[Path], Steps[None]],
    ) -> Steps[Entry]:
        """Build an entry in `building/` and rename it into place."""
        unfinished = temporary_name(directory.name)
        temporary = self.directory / "building" / unfinished
        owner = os.getpid()
        with contextlib.ExitStack() as stack:
            with _storage_errors():
                # A lock of its own: that of the entry may be another process's, see `_PATIENCE`.
                stack.enter_context(locked(own.locks, unfinished, 0))
                os.mkdir(unfinished, 0o700, dir_fd=own.building)
            try:
                yield from self._fill(temporary, build)
                with _storage_errors():
                    name, _, identity = directory.name.rpartition("-")
                    with opened_directory(unfinished, own.building) as handle:
                        size = complete_entry(handle, name, identity, ingredients)
                    entry = _rename(own, unfinished, directory)
            finally:
                if os.getpid() == owner:  # a signal handler may have forked
                    with contextlib.suppress(OSError):
                        remove_flat(unfinished, own.building)
        self._evict(own, directory.name, size)
        return entry

    def _fill(self, temporary: Path, build: Callable[[Path], Steps[None]]) -> Steps[None]:
        """Run the builder; raises UnusableError where the disk, not the program, is at fault."""
        try:
            yield from build(temporary)
        except OSError as error:
            if error.errno in _STORAGE_ERRORS:
                raise UnusableError(_reason(error)) from error
            raise
        except CompilationError:
            try:
                check_space(temporary)
            except OSError as problem:
                raise UnusableError(_reason(problem)) from problem
            raise

    def _fall_back_because(self, problem: UnusableError) -> None:
        if not self._fall_back:
            cause = problem.__cause__ or problem
            if isinstance(cause, OSError):
                raise advised(cause) from cause
            raise cause
        if self._substitute is not None:  # made since: this build has built a library first
            return
        self._substitute = Cache(temporary_directory(), self.max_bytes, fall_back=False)
        _warn(f"the cache {self.directory}", problem)

    def _evict(self, own: Owned, kept: str, added: int) -> None:
        """Remove the least recently used entries, never `kept`, until the rest fits."""
        if self._bytes is not None and self._bytes + added <= self.max_bytes:
            self._bytes += added  # what other processes add is counted at the next eviction
            return
        entries = self.entries()
        self._bytes = sum(usage.size for usage in entries)
        for usage in reversed(entries):
            if self._bytes <= self.max_bytes:
                break
            name = usage.directory.name
            if name != kept and remove_unlocked(own, name):
                logger.info("evicted: %s", name)
                self._bytes -= usage.size


_default: tuple[tuple[str, ...], Cache] | None = None


def default_cache() -> Cache:
    """The cache that the environment names; the variables are read again at every call.

    TRANSPILE_CACHE_DIR is the directory (see `cache_files.cache_directory`), and
    TRANSPILE_CACHE_MAX_BYTES its size, 1 GiB by default.
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


# -- entries and errors ----------------------------------------------------------------------------


def _present(own: Owned, directory: Path) -> Entry | None:
    """The stored entry, or None; a damaged one is removed. The caller holds its lock."""
    try:
        return read_entry(directory)
    except FileNotFoundError:
        return None
    except DamagedError as problem:
        logger.warning("damaged: %s: %s", directory.name, problem)
        own.remove(directory.name)
        return None


def _rename(own: Owned, unfinished: str, directory: Path) -> Entry:
    """Publish a complete entry; returns it, or the one that another process published first."""
    try:
        os.rename(unfinished, directory.name, src_dir_fd=own.building, dst_dir_fd=own.root)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    return read_entry(directory, touch=False)


@contextlib.contextmanager
def _storage_errors() -> Iterator[None]:
    """Errors inside are faults of the directory, not of the program: they become UnusableError."""
    try:
        yield
    except (OSError, DamagedError) as error:
        raise UnusableError(_reason(error)) from error


def _reason(error: Exception) -> str:
    """The text of an OSError without its number and path (`No space left on device`), or of
    another error."""
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
