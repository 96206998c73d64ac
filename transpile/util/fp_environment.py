"""The processor's floating-point modes: rounding, and whether subnormal numbers are zeros.

They belong to a thread, and other libraries change them: loading one that was linked with gcc's
`-ffast-math` flushes subnormal numbers to zero from then on. NumPy computes with the modes that are
set, and so do compiled programs. But what is decided while a program is compiled, constants that
are folded above all, goes to the cache, and must be the same in every process.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_LARGEST = 256  # bytes: more than any processor's fenv_t


@functools.cache
def _library() -> ctypes.CDLL:
    """The C library's <fenv.h>."""
    loaded = ctypes.CDLL(None)
    return loaded if hasattr(loaded, "fesetenv") else ctypes.CDLL("libm.so.6")


@functools.cache
def _usual() -> ctypes.c_void_p:
    """FE_DFL_ENV, the modes in which a process starts."""
    if sys.platform == "darwin":
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(_library(), "_FE_DFL_ENV")))
    return ctypes.c_void_p(-1)


def in_usual_modes(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function, computing as in a process that has changed nothing: with the modes in which it
    started, and without NumPy's errors and warnings (`numpy.seterr`)."""

    @functools.wraps(function)
    def computing(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        library, before = _library(), ctypes.create_string_buffer(_LARGEST)
        library.fegetenv(before)
        library.fesetenv(_usual())
        try:
            with np.errstate(all="ignore"):
                return function(*args, **kwargs)
        finally:
            library.fesetenv(before)

    return computing
