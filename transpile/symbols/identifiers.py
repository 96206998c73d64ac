"""C identifiers: the user's names where possible, unique in their scope, never a reserved name."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from functools import lru_cache

from transpile.symbols.c_helpers import find
from transpile.symbols.reserved_names import (
    is_function_of_family,
    is_macro_of_family,
    is_symbol,
    is_word,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Functions of <math.h>, <complex.h>, <stdlib.h> and <string.h> that a value must not hide.
_LIBRARY = frozenset(
    base + suffix
    for suffix in ("", "f", "l")
    for base in _words("""
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim
floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2
logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalbln
scalbn signbit sin sinh sqrt tan tanh tgamma trunc y0 y1 yn gamma cabs cacos cacosh carg casin
casinh catan catanh ccos ccosh
cexp cimag clog conj cpow cproj creal csin csinh csqrt ctan ctanh abs labs
div exit free malloc calloc realloc qsort rand srand abort atexit memcpy memmove memset memcmp index
isnan isinf isfinite strlen time clock""")
)

LOOP_NAMES = ("i", "j", "k", "l", "m", "n", "p", "q", "r", "s", "u", "v", "w")
# Names that templates use in the exported functions.
_ENTRY = _words("""
communicator transpile_communicator
workspace callback_function callback_context callback_code callback_before callback_context_before
printf fputs fwrite
size_code strided_code tensor_code transpile_tensor workspace_bytes threads threads_before
omp_get_max_threads omp_set_num_threads aligned_alloc
larger_f32 larger_f64 smaller_f32 smaller_f64
""")
# Suffixes of the names that a program has at file scope: see templates/program.c.j2.
_EXPORTED = (
    "",
    "_workspace_size",
    "_error",
    "_on_threads",
    "_strided",
    "_strided_workspace_size",
    "_strided_with_callback",
    "_dlpack",
    "_dlpack_with_callback",
    "_abi_version",
    "_ABI_VERSION",
    "_WORKSPACE_BYTES",
    "_workspace",
    "_arguments",
    "_results",
    "_sizes",
    "_new_workspace",
    "_with_callback",
    "_callback",
    "_complex64",
    "_complex128",
)
_ASKING = ("_processor", "_processor_asked")
_INTERNAL = ("_refused", "_print", "_called", "_body", "_provenance", *_ASKING)
# Those of the build for Python: see templates/python_entry.c.j2.
_FOR_PYTHON = ("_call",)
# File names have at most 255 characters, with an extension.
LONGEST = 200


def identifier(text: str) -> str:
    """The text as a C identifier: other characters become underscores."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_")[:LONGEST].rstrip("_") or "x"
    if name[0].isdigit():
        name = "x" + name
    return name


def _numbered(base: str, number: int) -> str:
    return f"{base}_{number}" if base[-1].isdigit() else f"{base}{number}"


@lru_cache(maxsize=4096)
def _allowed(hint: str) -> str:
    """The hint as an identifier that is not reserved."""
    base = identifier(hint)
    if is_macro_of_family(base):  # with an underscore behind it, too
        base = f"x_{base}"
    while is_reserved(base):
        base += "_"
    return base


def is_reserved(name: str) -> bool:
    """True if a name has a meaning of its own anywhere in a program."""
    return (
        is_word(name)
        or name in _LIBRARY
        or name in _ENTRY
        or keyword.iskeyword(name)
        or find(name) is not None
    )


def program_name(hint: str) -> str:
    """The name of the C function for a Python function: the same if it is a C identifier and
    neither it nor a name derived from it belongs to C or its libraries."""
    name = _allowed(hint)
    # `omp` has `omp_call`, which no number of underscores behind it mends.
    if is_function_of_family(name) or is_function_of_family(f"{name}_"):
        name = f"x_{name}"
    while not _is_free(name):
        name += "_"
    return name


def _is_free(program: str) -> bool:
    exported = (*_EXPORTED, *_FOR_PYTHON)
    return not any(is_symbol(program + ending) for ending in exported) and not any(
        map(is_reserved, names_at_file_scope(program))
    )


def exported_names(program: str) -> set[str]:
    """The names that a program has for others."""
    return {program + ending for ending in _EXPORTED}


def exported_in(header: str, program: str) -> tuple[str, ...]:
    """The functions of a program that its header declares."""
    declared = re.findall(r"\b(\w+)\([^;{}]*?\);", header)
    return tuple(sorted(exported_names(program).intersection(declared)))


def names_at_file_scope(program: str) -> set[str]:
    """The names that a program defines besides its kernels."""
    return {program + ending for ending in (*_EXPORTED, *_INTERNAL, *_FOR_PYTHON)}


class Names:
    """A scope of unique identifiers, which are also different from those of the outer scope."""

    def __init__(self, taken: Iterable[str] = (), outer: Names | None = None) -> None:
        self._taken = set(taken)
        self._outer = outer
        self._numbers: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken or (self._outer is not None and name in self._outer)

    @property
    def taken(self) -> frozenset[str]:
        """The names of this scope."""
        return frozenset(self._taken)

    def take(self, names: Iterable[str]) -> None:
        """Reserve these names."""
        self._taken.update(names)

    def new(self, hint: str) -> str:
        """A new identifier: the hint, with a number where it is taken."""
        base = _allowed(hint)
        name = _numbered(base, self._first_free(base)) if base in self else base
        self._taken.add(name)
        return name

    def _first_free(self, base: str) -> int:
        """The first number from 2 on with which the name is free; it increases monotonically."""
        number = self._numbers.get(base)
        if number is None:
            number = 2 if self._outer is None else self._outer._first_free(base)
        while (name := _numbered(base, number)) in self or is_reserved(name):
            number += 1
        self._numbers[base] = number
        return number

    def inner(self) -> Names:
        """A scope inside this one."""
        return Names(outer=self)
