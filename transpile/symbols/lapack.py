"""Find a LAPACK library for decompositions: NumPy's own OpenBLAS where there is one.

Every program that decomposes matrices needs one: there are no decompositions in C. As in `blas.py`,
the names of the functions and the C type of their integers are found in the library itself.
"""

import ctypes
import functools
import os
from collections.abc import Set
from typing import Any

import numpy as np

from transpile.errors import LibraryNotFoundError
from transpile.intrinsics.lapack import DECOMPOSITIONS
from transpile.ir.calls import Call
from transpile.options import Options
from transpile.symbols.blas import (
    Blas,
    Prototype,
    SharedLibrary,
    blas_prototypes,
    candidates,
    path_problem,
    says_64_bits,
)

# (prefix, suffix) of a routine's standard name, such as dgetrf.
_SPELLINGS = (
    ("scipy_", "_64_"),
    ("scipy_", "_"),
    ("", "_64_"),
    ("", "64_"),
    ("", "_"),
)
_SYSTEM_NAMES = ("liblapack.so.3",)
# Routines that a usable library must have.
_WITNESSES = ("dgetrf", "zgesdd", "dtrsm")
ENVIRONMENT = "TRANSPILE_LAPACK"


class Lapack(SharedLibrary):
    """A LAPACK library."""

    kind, usual = "lapack", "liblapack.so.3"


def find_lapack(options: Options) -> Lapack:
    """The LAPACK library for a program.

    It is named by the option `lapack` or the environment variable TRANSPILE_LAPACK. Otherwise it is
    the first with LAPACK of: the library that the option `blas` names, NumPy's bundled OpenBLAS,
    the packages scipy_openblas64 and scipy_openblas32, this Python's own lib directory, the
    system's libraries. Raises LibraryNotFoundError where there is none.
    """
    named, origin = options.lapack, "the compiler option 'lapack'"
    if named in ("", "auto"):
        named, origin = os.environ.get(ENVIRONMENT, ""), f"the environment variable {ENVIRONMENT}"
    if named:
        library = os.path.abspath(named) if os.path.exists(named) else named
        if problem := path_problem(library):
            raise LibraryNotFoundError(f"{named!r}, named by {origin}, {problem}")
        spelling = _spelling(library)
        if spelling is None:
            raise LibraryNotFoundError(
                f"{named!r}, named by {origin}, is not a shared library with LAPACK (dgetrf); give "
                "the path of one, or leave it out"
            )
        return Lapack(library, *spelling, origin)
    blas = []
    if os.path.exists(options.blas):
        blas = [(os.path.abspath(options.blas), "the compiler option 'blas'")]
    for library, origin in (*blas, *candidates(_SYSTEM_NAMES)):
        spelling = _spelling(library)
        if spelling is not None:
            private = os.path.isabs(library) and (library, origin) not in blas
            return Lapack(library, *spelling, origin, private)
    raise LibraryNotFoundError(
        "no LAPACK library was found, which linear algebra needs: NumPy's wheels contain one; "
        "else install the package scipy-openblas32 (pip install 'transpile[lapack]') or the "
        f"system's liblapack, or name a shared library by the compiler option 'lapack' or by "
        f"{ENVIRONMENT}"
    )


@functools.lru_cache(maxsize=64)
def _spelling(library: str) -> tuple[str, str, str] | None:
    """(prefix, suffix, integer type) of a library's routines, or None without LAPACK."""
    try:
        loaded = ctypes.CDLL(library)
    except OSError:
        return None
    for prefix, suffix in _SPELLINGS:
        if all(hasattr(loaded, f"{prefix}{name}{suffix}") for name in _WITNESSES):
            wide = "64" in suffix or says_64_bits(loaded, prefix)
            return prefix, suffix, "int64_t" if wide else "int32_t"
    return None


# ------------------------------------------------------------------------------------ prototypes

_DTYPES: dict[str, tuple[str, np.dtype[Any]]] = {
    "f32": ("s", np.dtype("f4")),
    "f64": ("d", np.dtype("f8")),
    "c64": ("c", np.dtype("c8")),
    "c128": ("z", np.dtype("c16")),
}
_ROUTINES = {routine.name: routine for d in DECOMPOSITIONS for routine in d.routines}

Libraries = tuple[Blas | None, Lapack | None]


def prototypes(libraries: Libraries, routines: Set[tuple[str, str]]) -> list[Prototype]:
    """The prototypes of these routines (name, dtype), as the helpers call them."""
    blas, lapack = libraries
    products = blas_prototypes(blas, routines)
    return products + (_of_lapack(lapack, routines) if lapack is not None else [])


def notes(libraries: Libraries, called: Set[type[Call]]) -> list[str]:
    """The lines of the header of a program that calls these intrinsics about the library that it
    needs, and about matrices that it cannot decompose."""
    lapack = libraries[1]
    if lapack is None:
        return []
    outcomes = dict.fromkeys(d.outcome for d in DECOMPOSITIONS if d in called and d.outcome)
    return [
        "needs LAPACK, which the library names with its directory; link the C file with",
        lapack.library,
        *(["returns 0 for these matrices, too:"] if outcomes else []),
        *(f"  {text}" for text in outcomes),
    ]


def _of_lapack(lapack: Lapack, routines: Set[tuple[str, str]]) -> list[Prototype]:
    made = []
    for name, suffix in sorted(routines):
        routine = _ROUTINES.get(name)
        if routine is not None:
            letter, dtype = _DTYPES[suffix]
            is_complex = dtype.kind == "c"
            symbol = lapack.symbol(letter + routine.symbol(is_complex))
            arguments = routine.arguments(is_complex)
            made.append(Prototype("lapack", name, dtype, symbol, lapack.integer, arguments))
    return made
