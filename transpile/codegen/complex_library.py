"""Functions of C's complex.h, and the helpers that stand in their place: where there is no such
library, as on GPUs, or where its functions are not accurate, as those of musl and Windows are not.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache

import numpy as np

from transpile.codegen.dialect import Dialect
from transpile.ir.loop_ir import DType
from transpile.ir.primitive import TABLE
from transpile.machine.platforms import platform_of
from transpile.options import Options
from transpile.symbols import c_helpers
from transpile.symbols.c_helpers import Item
from transpile.util.frozen_records import dataclass, replace

_NAME = re.compile(r"\bc[a-z0-9]+\b")
# What complex numbers have by themselves, and the absolute value, which is hypot.
_OWN = frozenset(("creal", "cimag", "conj", "cabs"))
_BINARY = {"cpow"}


@dataclass(frozen=True)
class ComplexFunction:
    """A function of complex.h: its name for a dtype, and the helper that computes it in double
    precision; there is one for each dtype."""

    name: str
    helper: str
    dtype: DType
    arity: int

    @property
    def same_dtype(self) -> str:
        """The helper for this dtype, which calls the other one where it is another."""
        return self.helper if self.dtype.itemsize == 16 else self.helper.replace("c128", "c64")


def complex_functions(code: str) -> list[ComplexFunction]:
    """The functions of complex.h that a text calls."""
    return [known[name] for name in sorted(set(_NAME.findall(code))) if name in (known := _all())]


def with_own_complex(dialect: Dialect, options: Options) -> Dialect:
    """A dialect of C in which helpers stand in for functions of complex.h that are not accurate. A
    float-only program keeps the library's: the helpers compute in double precision."""
    if options.float_only or platform_of(options.target).has_accurate_complex:
        return dialect
    return replace(dialect, helpers={name: own.same_dtype for name, own in _all().items()})


def needed_helpers(names: Set[str], options: Options, dialect: Dialect) -> list[Item]:
    """These helpers and all that they call, with those of the dialect in them."""
    threads, own = options.num_threads, dialect.helpers
    items = c_helpers.needed(names, threads, single=options.float_only)
    if not own:
        return items
    called = {own[name] for item in items for name in c_helpers.calls_in(item.text) if name in own}
    return [
        replace(item, text=_NAME.sub(lambda name: own.get(name[0], name[0]), item.text))
        for item in c_helpers.needed(names | called, threads)
    ]


@cache
def _all() -> dict[str, ComplexFunction]:
    """Every function, by its name."""
    names = {p.c_library["c"]: p.name for p in TABLE.values() if "c" in p.c_library}
    names |= dict.fromkeys(_BINARY, "complex_pow")
    return {
        name + ending: ComplexFunction(name + ending, f"{own}_c128", dtype, 1 + (name in _BINARY))
        for name, own in names.items()
        if name not in _OWN
        for ending, dtype in (("f", np.dtype("complex64")), ("", np.dtype("complex128")))
    }
