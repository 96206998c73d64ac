"""The default floating-point environment: rounding to nearest, subnormals not flushed to zero.

The environment belongs to a thread, and other libraries change it: loading one that was linked with
gcc's `-ffast-math` sets flush-to-zero. NumPy and compiled programs compute in the current one. But
what is decided at compile time, constant folding above all, goes to the cache, and must be the same
in every process.
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

_FENV_BYTES = 256  # more than sizeof(fenv_t) on any processor


@functools.cache
def _library() -> ctypes.CDLL:
    """The library that has the functions of <fenv.h>."""
    loaded = ctypes.CDLL(None)
    return loaded if hasattr(loaded, "fesetenv") else ctypes.CDLL("libm.so.6")


@functools.cache
def _default() -> ctypes.c_void_p:
    """FE_DFL_ENV, the environment in which a process starts."""
    if sys.platform == "darwin":
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(_library(), "_FE_DFL_ENV")))
    return ctypes.c_void_p(-1)


def in_default_fp_environment(
    function: Callable[Parameters, Result],
) -> Callable[Parameters, Result]:
    """A decorator: the function runs in the default environment, and ignores floating-point errors
    whatever `numpy.seterr` says."""

    @functools.wraps(function)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        library, saved = _library(), ctypes.create_string_buffer(_FENV_BYTES)
        library.fegetenv(saved)
        library.fesetenv(_default())
        try:
            with np.errstate(all="ignore"):
                return function(*args, **kwargs)
        finally:
            library.fesetenv(saved)

    return wrapped
