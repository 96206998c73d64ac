"""Find a CBLAS library for matrix products: NumPy's own OpenBLAS where there is one.

The library that NumPy has loaded already adds no load time and no second pool of threads. Libraries
decorate the names of functions (`scipy_cblas_dgemm64_`, `cblas_dgemm`) and differ in the C type of
their integers; both are found by looking up symbols in the library, not by its name.
"""

import ctypes
import functools
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from transpile.intrinsics.lapack_routines import Argument
from transpile.options import Options
from transpile.util.frozen_records import dataclass

# (prefix, suffix) of a function's standard name; the suffix 64_ means 64-bit integers.
_SPELLINGS = (("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", ""))

# Sonames on Linux distributions, the faster libraries first.
_SYSTEM_NAMES = ("libopenblas.so.0", "libblis.so.4", "libcblas.so.3", "libblas.so.3")


@dataclass(frozen=True)
class SharedLibrary:
    """A library to link with.

    library   its absolute path, or the name by which the dynamic loader finds it
    prefix    of its symbols before the standard name: `scipy_` or nothing
    suffix    after the standard name: `64_`, `_64_`, `_` or nothing
    integer   the C type of its sizes: `int32_t` or `int64_t`
    origin    where it was found, for messages
    private   True if it belongs to this installation of Python and the user has not named it:
              saved programs must not depend on it
    """

    library: str
    prefix: str
    suffix: str
    integer: str
    origin: str
    private: bool = False

    kind: ClassVar[str]
    usual: ClassVar[str]

    def symbol(self, name: str) -> str:
        """The symbol of a function: `cblas_dgemm` may be `scipy_cblas_dgemm64_`."""
        return f"{self.prefix}{name}{self.suffix}"

    @property
    def link_flags(self) -> tuple[str, ...]:
        """The linker's arguments, with which the program finds the library when it runs.

        `--no-as-needed`: the functions may be defined in another library that this one depends on,
        and the linker would drop this one.
        """
        before, after = "-Wl,--push-state,--no-as-needed", "-Wl,--pop-state"
        if os.path.isabs(self.library):
            directory = os.path.dirname(self.library)
            return (before, self.library, "-Xlinker", "-rpath", "-Xlinker", directory, after)
        return (before, f"-l:{self.library}", after)

    @property
    def identity(self) -> str:
        """An ingredient of the cache key: path, spelling, size and modification time."""
        state: tuple[str, ...] = ()
        if os.path.isabs(self.library):
            status = os.stat(self.library)
            state = (str(status.st_size), str(status.st_mtime_ns))
        return " ".join((self.library, self.symbol("*"), self.integer, *state))


class Blas(SharedLibrary):
    """A CBLAS library. `kind` is the option that names one, `usual` its name on most systems."""

    kind, usual = "blas", "libblas.so.3"


def find_blas(options: Options) -> Blas | None:
    """The CBLAS library that the options ask for, or None for plain C.

    `none` gives None; a path gives that library; `auto` looks at the environment variable
    TRANSPILE_BLAS (same values), NumPy's bundled OpenBLAS, the packages scipy_openblas64 and
    scipy_openblas32, this Python's own lib directory, then the system's libraries. Raises
    ValueError where a library that was named is missing or has no `cblas_dgemm`.
    """
    wanted, origin = options.blas or "auto", "the compiler option 'blas'"
    if wanted == "auto":
        wanted = os.environ.get("TRANSPILE_BLAS", "") or "auto"
        origin = "the environment variable TRANSPILE_BLAS"
    if wanted == "none":
        return None
    if wanted != "auto":
        return _named(wanted, origin)
    for library, origin in candidates():
        spelling = _spelling(library)
        if spelling is not None:
            return Blas(library, *spelling, origin, private=os.path.isabs(library))
    return None


def _named(wanted: str, origin: str) -> Blas:
    library = os.path.abspath(wanted) if os.path.exists(wanted) else wanted
    if problem := path_problem(library):
        raise ValueError(f"{wanted!r}, named by {origin}, {problem}")
    spelling = _spelling(library)
    if spelling is None:
        raise ValueError(
            f"{wanted!r}, named by {origin}, is not a shared library with cblas_dgemm; give the "
            "path of one, 'auto' or 'none'"
        )
    return Blas(library, *spelling, origin=origin)


def path_problem(library: str) -> str:
    """Why programs cannot be linked with a library of this path, or "".

    The run path of a program is a list separated by colons, in which the loader replaces `$ORIGIN`.
    """
    if not re.search("[:$]", library):
        return ""
    return (
        "has a colon or a dollar sign in its path, which has a meaning to the dynamic loader; give "
        "a path without one, of a link for instance"
    )


def candidates(further: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """(library, its origin) in order of preference; `further` system libraries last."""
    for package, folder, origin in (
        ("numpy", "../numpy.libs", "NumPy's own library"),
        ("scipy_openblas64", "lib", "the package scipy-openblas64"),
        ("scipy_openblas32", "lib", "the package scipy-openblas32"),
    ):
        for directory in _package_directories(package):
            for path in sorted(Path(directory, folder).resolve().glob("*openblas*.so*")):
                if not path_problem(str(path)):
                    yield str(path), origin
    for name in (*_SYSTEM_NAMES, *further):
        path = Path(sys.prefix, "lib", name)
        if path.exists():
            yield str(path), f"{sys.prefix}/lib"
    # The loader finds these by name in microseconds; ctypes.util.find_library runs ldconfig and
    # gcc.
    for name in (*_SYSTEM_NAMES, *further):
        yield name, "the system's libraries"


def _package_directories(package: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    return list(spec.submodule_search_locations or ()) if spec is not None else []


@functools.lru_cache(maxsize=64)
def _spelling(library: str) -> tuple[str, str, str] | None:
    """(prefix, suffix, integer type) of a library's `cblas_dgemm`, or None without one."""
    try:
        loaded = ctypes.CDLL(library)
    except OSError:
        return None
    for prefix, suffix in _SPELLINGS:
        if hasattr(loaded, f"{prefix}cblas_dgemm{suffix}"):
            wide = suffix == "64_" or says_64_bits(loaded, prefix)
            return prefix, suffix, "int64_t" if wide else "int32_t"
    return None


def says_64_bits(loaded: ctypes.CDLL, prefix: str) -> bool:
    """True if an OpenBLAS with plain names was built with 64-bit integers."""
    try:
        describe = getattr(loaded, f"{prefix}openblas_get_config")
    except AttributeError:
        return False
    describe.restype = ctypes.c_char_p
    return b"USE64BITINT" in (describe() or b"")


@dataclass(frozen=True)
class Prototype:
    """The prototype of a library function that helpers call.

    library    `blas` or `lapack`
    routine    its standard name without the letter of the dtype
    dtype      of its matrices
    symbol     its name for the linker
    integer    the C type of its sizes
    arguments  those of LAPACK's
    """

    library: str
    routine: str
    dtype: np.dtype[Any]
    symbol: str
    integer: str
    arguments: tuple[Argument, ...] = ()


def blas_prototypes(blas: Blas | None, routines: Set[tuple[str, str]]) -> list[Prototype]:
    """The prototypes of matrix products, as the helper blas_matmul calls them."""
    if blas is None:
        return []
    return [
        Prototype("blas", "gemm", np.dtype(name), blas.symbol(f"cblas_{letter}gemm"), blas.integer)
        for ending, name, letter in (("f32", "f4", "s"), ("f64", "f8", "d"))
        if ("gemm", ending) in routines
    ]
