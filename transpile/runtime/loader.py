"""Load a compiled program, and the pool of threads for parallel loops, with cffi.

cffi parses C declarations with pycparser, which takes 25 ms to import. So the entry of a program
contains the tables that cffi makes of its declarations, `program.ffi`. Loading from them takes 0.2
ms and needs neither pycparser nor cffi's front end. Nor does building: programs declare the same
functions but for their names, so that their tables are known.

The file that is mapped is the one whose digest has been checked. The dynamic loader takes a path,
which may name another file by then. So it gets the path only where no other user can replace that,
and else a path that starts from a descriptor (`loader_path`).
"""

import ast
import json
import os
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _cffi_backend  # type: ignore[import-untyped, unused-ignore]

from transpile.disk_cache.cache import Cache, Entry, UnusableError
from transpile.disk_cache.cache_entry import PROGRAM, TABLES, THREADS, DamagedError
from transpile.disk_cache.cache_files import (
    opened_directory,
    opened_file,
    others_can_replace,
    read_private,
)
from transpile.disk_cache.process_directory import scratch_directory
from transpile.errors import InternalError, TranspileError
from transpile.util.fork_safe_lock import Lock
from transpile.util.frozen_records import dataclass
from transpile.util.hashing import blake2b
from transpile.util.lazy.imports import Later, importing

if TYPE_CHECKING:
    import ctypes

    import cffi

    from transpile.build import elf
else:
    ctypes = Later("ctypes")
    cffi = Later("cffi")
    elf = Later("transpile.build.elf")


class LoadError(TranspileError):
    """A shared object cannot be loaded; the message says why."""


class DamagedLibraryError(LoadError, DamagedError):
    """A shared object that is truncated, for another machine, or without a function: rebuild it."""


@dataclass(frozen=True)
class Library:
    """A loaded program, which is never unloaded.

    path     of its shared object
    ffi      cffi's FFI with the program's types: `ffi.from_buffer("double[]", x)`
    handle   cffi's library object
    """

    path: Path
    ffi: Any
    handle: Any

    def function(self, name: str) -> Any:
        """A function of the program as a cffi pointer; DamagedLibraryError if it is missing."""
        try:
            return getattr(self.handle, name)
        except (AttributeError, self.ffi.error):
            raise DamagedLibraryError(f"the program {self.path} has no function {name}") from None


# NODELETE: at the end of the process cffi would unload the programs and the pool, whose threads
# still run their code.
_FLAGS = os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_NODELETE

# The pool of threads that all programs share (`build/pool_linking.py`), once one has been loaded.
_pool: list[Any] = []
_pool_lock = Lock()


def load(path: Path, declarations: str, handle: int | None = None) -> Library:
    """Load a shared object whose functions have the C `declarations`.

    path     a private file. The types are read from `program.ffi` beside it, if that was made of
             the same declarations
    handle   a descriptor of the file, if its contents have been checked

    Raises DamagedLibraryError for a file that is no complete shared object for this machine with
    all these functions, and LoadError for one that this process could not run.
    """
    if handle is None:
        try:
            with opened_file(path) as opened:
                return load(path, declarations, opened)
        except OSError as error:
            raise DamagedLibraryError(f"the program {path} cannot be read: {error}") from None
    _check_complete(path, handle)
    ffi = _stored_ffi(path.with_name(TABLES), declarations)
    if ffi is None:
        ffi = _ffi(tables(declarations))
    library = Library(path, ffi, _opened_library(ffi, path, handle))
    for name in dir(library.handle):
        library.function(name)
    return library


def _load_pool(entry: Entry) -> None:
    """Load the pool of threads of an entry, if the process has none; by its soname all programs use
    the first one."""
    with _pool_lock:
        if not _pool:
            with entry.opened(THREADS) as handle:
                path = entry.path(THREADS)
                _check_complete(path, handle)
                _pool.append(_opened_library(_cffi_backend.FFI(), path, handle))


def _opened_library(ffi: Any, path: Path, handle: int) -> Any:
    """cffi's library object for the shared object behind a descriptor."""
    with loader_path(path, handle) as name:
        try:
            return _dlopen(ffi, name)
        except OSError as error:
            problem = DamagedLibraryError(f"the program {path} cannot be loaded: {error}")
            if _is_mapping_refused(str(error)):
                raise UnusableError(f"programs in it cannot be loaded: {error}") from problem
            raise problem from None


def _dlopen(ffi: Any, path: str) -> Any:
    """cffi's library object for a path. cffi encodes paths as UTF-8; a library with another one is
    opened by ctypes, and cffi gets its handle."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return ffi.dlopen(ffi.cast("void *", ctypes.CDLL(path, _FLAGS)._handle))
    return ffi.dlopen(path, _FLAGS)


def _is_mapping_refused(message: str) -> bool:
    """True if the system forbids to map executable code from that directory, whatever the file."""
    refused = ("Operation not permitted", "Permission denied")
    return "failed to map segment" in message and message.endswith(refused)


def load_or_build(
    cache: Cache, name: str, ingredients: Mapping[str, str], build: Callable[[Path], None]
) -> tuple[Entry, Library]:
    """A program of the cache, loaded; built first where it is missing, damaged or unloadable.

    `build(directory)` writes `program.so` and a `meta.json` whose field `declarations` has the C
    declarations of the program's functions; see `Cache.obtain`. A new program that cannot be loaded
    is built once more; then the error reaches the caller.
    """
    return cache.obtain(name, ingredients, with_tables(build), load_entry)


def with_tables(build: Callable[[Path], None]) -> Callable[[Path], None]:
    """A builder that adds `program.ffi`, the tables for the declarations in `meta.json`."""

    def build_with_tables(directory: Path) -> None:
        build(directory)
        meta = json.loads((directory / "meta.json").read_bytes())
        (directory / TABLES).write_text(tables(meta["declarations"]), encoding="utf-8")

    return build_with_tables


def load_entry(entry: Entry) -> tuple[Entry, Library]:
    """An entry and its program, loaded; DamagedError where one of its files is damaged."""
    declarations = entry.meta.get("declarations")
    if not isinstance(declarations, str):
        raise DamagedLibraryError(f"{entry.directory} does not declare its functions")
    if entry.has(THREADS):
        _load_pool(entry)
    with entry.opened(PROGRAM) as handle:
        return entry, load(entry.path(PROGRAM), declarations, handle)


# -- types -----------------------------------------------------------------------------------------


# The tables that cffi makes of what `templates/declarations.h.j2` declares for a program called
# `?`, without and with callbacks, by the digest of that text.
_USUAL: dict[str, dict[str, Any]] = {
    "620bc9b5f695fafc2609d8692e2d1e9e": {
        "_version": 0x2601,
        "_types": b"\x00\x00\x06\r\x00\x00\x07\x01\x00\x00\x00\x0f\x00\x00\x01\r\x00\x00\x08"
        b"\x03\x00\x00\x00\x0f\x00\x00\x07\x03\x00\x00\x02\x01\x00\x00\t\x03\x00\x00\x00\x01",
        "_globals": (b"\x00\x00\x03#?_call", 0, b"\x00\x00\x00#?_error", 0),
    },
    "958596223e866a471e2101794df45512": {
        "_version": 0x2601,
        "_types": b"\x00\x00\x0c\r\x00\x00\x07\x01\x00\x00\x00\x0f\x00\x00\x01\r\x00\x00\x07\x03"
        b"\x00\x00\x00\x0f\x00\x00\x01\r\x00\x00\x0f\x03\x00\x00\x07\x01\x00\x00\x0e\x03\x00\x00"
        b"\x04\x11\x00\x00\x00\x0f\x00\x00\r\x03\x00\x00\x02\x01\x00\x00\x0f\x03\x00\x00\x00\x01",
        "_globals": (b"\x00\x00\x03#?_call", 0, b"\x00\x00\x00#?_error", 0),
        "_typenames": (b"\x00\x00\x00\x06?_callback",),
    },
}


def tables(declarations: str) -> str:
    """The text of `program.ffi`: a digest, then cffi's tables for these C declarations.

    Raises InternalError where cffi cannot parse the declarations.
    """
    values = _usual_tables(declarations) or _parsed_tables(declarations)
    text = f"{values!r}\n"
    return f"{_digest(declarations, text)}\n{text}"


def ffi_of(declarations: str) -> Any:
    """The FFI of C declarations, for functions of a library that is no program."""
    return _ffi(f"\n{_parsed_tables(declarations)!r}")


def _usual_tables(declarations: str) -> dict[str, Any] | None:
    """The tables of a program's declarations; None for others, and for a cffi that makes others."""
    name = declarations.partition("_call(")[0].rpartition(" ")[2]
    unnamed = declarations.replace(f"{name}_", "?_").encode()
    usual = _USUAL.get(blake2b(unnamed, digest_size=16).hexdigest())
    if usual is None:
        return None
    values = {
        key: tuple(
            item.replace(b"?", name.encode()) if isinstance(item, bytes) else item for item in value
        )
        if isinstance(value, tuple)
        else value
        for key, value in usual.items()
    }
    try:
        _cffi_backend.FFI("program", **values)
    except ImportError:  # a cffi that reads tables of another version
        return None
    return values


def _parsed_tables(declarations: str) -> dict[str, Any]:
    """The tables that cffi makes of C declarations."""
    ffi = importing(lambda: _parsed_declarations(declarations))
    ffi.set_source("program", None, compiler_verbose=0)
    with scratch_directory() as directory:
        module = Path(directory) / "program.py"
        ffi.emit_python_code(str(module))
        statement = ast.parse(module.read_text(encoding="utf-8")).body[-1]
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
    return {str(word.arg): ast.literal_eval(word.value) for word in statement.value.keywords}


def _parsed_declarations(declarations: str) -> Any:
    """The FFI of cffi's front end; it imports a parser and takes a lock, hence `importing`."""
    ffi = cffi.FFI()
    try:
        ffi.cdef(declarations)
    except (cffi.CDefError, cffi.FFIError) as error:
        raise InternalError(
            f"cffi cannot parse these declarations: {error}\n{declarations}"
        ) from error
    return ffi


def _digest(declarations: str, text: str) -> str:
    return blake2b(f"{len(declarations)} {declarations}{text}".encode()).hexdigest()


def _ffi(stored: str) -> Any:
    return _cffi_backend.FFI("program", **ast.literal_eval(stored.partition("\n")[2]))


def _stored_ffi(path: Path, declarations: str) -> Any:
    """The FFI of a `program.ffi`, or None where it is missing, damaged or of another cffi."""
    try:
        stored = read_private(path).decode()
        digest, _, text = stored.partition("\n")
        return _ffi(stored) if digest == _digest(declarations, text) else None
    except (OSError, ValueError, SyntaxError, TypeError, ImportError):
        return None


# -- shared objects --------------------------------------------------------------------------------


def _check_complete(path: Path, handle: int) -> None:
    """Raise unless the file is as long as its ELF headers say, and the process can load it.

    The dynamic loader maps a truncated file without an error, and the process is killed by SIGBUS
    at the first access behind its end. A program with the address sanitizer ends a process that was
    started without it.
    """
    try:
        head, size = os.pread(handle, 1 << 16, 0), os.fstat(handle).st_size
    except OSError as error:
        raise DamagedLibraryError(f"the program {path} cannot be read: {error}") from None
    if sys.platform != "linux":
        return
    try:
        complete = head[:4] == b"\x7fELF" and _elf_size(head) <= size
    except struct.error:
        complete = False
    if not complete:
        raise DamagedLibraryError(f"{path} is not a complete shared object: rebuild it")
    if (
        b"__asan_init" in head
        and "__asan_init" in elf.dynamic_section(os.pread(handle, size, 0)).names
        and not _has_address_sanitizer()
    ):
        raise LoadError(
            f"{path} was built with the address sanitizer, which has to be loaded when Python "
            "starts: set LD_PRELOAD to the output of `gcc -print-file-name=libasan.so`, and "
            "ASAN_OPTIONS to detect_leaks=0"
        )


@contextmanager
def loader_path(path: Path, handle: int) -> Iterator[str]:
    """A path by which the dynamic loader maps the file behind a descriptor.

    It is the path itself, which debuggers read, where no other user can replace the file. Where a
    directory above the cache is open to others, the path starts from a descriptor of the entry's
    directory: that and the cache are private, so that no other user can rename anything in them.
    Raises DamagedLibraryError where the path names another file.
    """
    real = os.path.realpath(path)
    try:
        with opened_directory(os.path.dirname(real)) as directory:
            if others_can_replace(real):
                entry = os.path.basename(os.path.dirname(real))
                real = f"/proc/self/fd/{directory}/../{entry}/{os.path.basename(real)}"
            if not os.path.samestat(os.stat(real), os.fstat(handle)):
                raise DamagedLibraryError(f"{path} has been replaced while it was loaded")
            yield _unique_path(real, handle)
    except OSError as error:
        raise DamagedLibraryError(f"{path} cannot be loaded: {error}") from None


# (device, inode) of the files that were loaded by each path.
_loaded_files: dict[str, list[tuple[int, int]]] = {}


def _unique_path(path: str, handle: int) -> str:
    """The path, with a different spelling (`/./`) for each file that it has named.

    The dynamic loader returns the library that it has loaded by an equal path: after a rebuild that
    would be the damaged one.
    """
    status = os.fstat(handle)
    files = _loaded_files.setdefault(path, [])
    file = (status.st_dev, status.st_ino)
    if file not in files:
        files.append(file)
    return os.path.join(os.path.dirname(path), *["."] * files.index(file), os.path.basename(path))


def _elf_size(head: bytes) -> int:
    """The least size of a 64-bit ELF file, from its segments; 0 for a 32-bit one."""
    if head[4] != 2:
        return 0
    order = "<" if head[5] == 1 else ">"
    (start,) = struct.unpack_from(f"{order}Q", head, 32)
    each, count = struct.unpack_from(f"{order}HH", head, 54)
    ends = [0]
    for n in range(count):
        offset, _, _, length = struct.unpack_from(f"{order}4Q", head, start + n * each + 8)
        ends.append(offset + length)
    return max(ends)


def _has_address_sanitizer() -> bool:
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
        return "/libasan.so" in maps or "/libclang_rt.asan" in maps
    except OSError:
        return True  # unknown: the loader decides
