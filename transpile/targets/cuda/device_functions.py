"""Functions of C as functions of the device: helpers of runtime_c, and those of C's complex.h,
which CUDA has not: helpers stand in their place."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from transpile.ir.loop_ir import DType
from transpile.ir.primitive import TABLE
from transpile.util.frozen_records import dataclass

_NAME = re.compile(r"\bc[a-z0-9]+\b")
# What the struct of complex numbers has by itself, and the absolute value, a helper of all dtypes.
_OWN = frozenset(("creal", "cimag", "conj", "cabs"))
_BINARY = {"cpow"}
# What is spelled otherwise. A GPU divides integers as fast as floats: what C does for divisors that
# the compiler knows is right for all of them.
_SPELLED = (
    (re.compile(r"__builtin_constant_p\(y\) \? (.*) : .*;"), r"\1;"),
    (re.compile(r"\bstatic inline "), "static __device__ "),
    (re.compile(r"\bstatic const "), "static __device__ const "),
    (re.compile(r"\bdouble complex\b"), "complex128"),
    (re.compile(r"\bfloat complex\b"), "complex64"),
    (re.compile(r"\brestrict\b"), "__restrict__"),
)


@dataclass(frozen=True)
class ComplexFunction:
    """A function of complex.h: its name for a dtype, and the helper that computes it in double
    precision."""

    name: str
    helper: str
    dtype: DType
    arity: int


def device_text(helper: str) -> str:
    """The text of a helper as CUDA C++."""
    for pattern, spelling in _SPELLED:
        helper = pattern.sub(spelling, helper)
    return helper


def complex_functions(code: str) -> list[ComplexFunction]:
    """The functions of complex.h that a text calls."""
    return [known[name] for name in sorted(set(_NAME.findall(code))) if name in (known := _all())]


@cache
def _all() -> dict[str, ComplexFunction]:
    """Every function, by its name."""
    names = {p.c_library["c"] for p in TABLE.values() if "c" in p.c_library} | _BINARY
    return {
        name + ending: ComplexFunction(
            name + ending, f"complex_{name[1:]}_c128", dtype, 1 + (name in _BINARY)
        )
        for name in names - _OWN
        for ending, dtype in (("f", np.dtype("complex64")), ("", np.dtype("complex128")))
    }
