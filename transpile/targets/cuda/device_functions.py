"""Functions of C as functions of the device: helpers of runtime_c."""

from __future__ import annotations

import re

# What is spelled otherwise. A GPU divides integers as fast as floats: what C does for divisors that
# the compiler knows is right for all of them.
_SPELLED = (
    (re.compile(r"__builtin_constant_p\(y\)"), "true"),
    (re.compile(r"\b\w+\(\((cold, )?noinline\)\)\s*"), ""),
    (re.compile(r"^( *)static (inline )?", re.MULTILINE), r"\1static __device__ "),
    (re.compile(r"\bdouble complex\b"), "complex128"),
    (re.compile(r"\bfloat complex\b"), "complex64"),
    (re.compile(r"\brestrict\b"), "__restrict__"),
)


def device_text(helper: str) -> str:
    """The text of a helper as CUDA C++."""
    for pattern, spelling in _SPELLED:
        helper = pattern.sub(spelling, helper)
    return helper
