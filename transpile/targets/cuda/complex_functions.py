"""The functions of C's complex.h that programs call: CUDA has those of C++ in their place."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from transpile.ir.loop_ir import DType
from transpile.ir.primitive import TABLE
from transpile.util.frozen_records import dataclass

_NAME = re.compile(r"\bc[a-z0-9]+\b")
# What the struct of complex numbers has by itself.
_OWN = frozenset(("creal", "cimag", "conj"))
_BINARY = {"cpow"}


@dataclass(frozen=True)
class ComplexFunction:
    """A function: its name in C for a dtype, and the name that all dtypes have in C++."""

    name: str
    of_cpp: str
    dtype: DType
    arity: int


def complex_functions(code: str) -> list[ComplexFunction]:
    """The functions that a text calls."""
    return [known[name] for name in sorted(set(_NAME.findall(code))) if name in (known := _all())]


@cache
def _all() -> dict[str, ComplexFunction]:
    """Every function, by its name."""
    names = {p.c_library["c"] for p in TABLE.values() if "c" in p.c_library} | _BINARY
    return {
        name + ending: ComplexFunction(name + ending, name[1:], dtype, 1 + (name in _BINARY))
        for name in names - _OWN
        for ending, dtype in (("f", np.dtype("complex64")), ("", np.dtype("complex128")))
    }
