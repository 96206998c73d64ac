"""NumPy's functions for traced functions: the same names, shapes, dtypes and errors.

`import transpile.numpy as np` gives NumPy's own functions as long as no traced value is among the
arguments, and graph equations when there is one. `numpy.f(...)` on traced values lands here too.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from transpile.numpy import (
    calculus,
    contraction,
    creation,
    elementwise,
    indexing,
    joins,
    missing,
    norms,
    products,
    reductions,
    scans,
    shapes,
    ufunc_methods,
    ufuncs,
)
from transpile.numpy.operands import EXPORTS
from transpile.types import BFLOAT16, finfo

_MODULES = (
    calculus,
    contraction,
    creation,
    elementwise,
    indexing,
    joins,
    missing,
    norms,
    products,
    reductions,
    scans,
    shapes,
    ufunc_methods,
    ufuncs,
)

# NumPy's own: constants, dtypes, and functions that ask only for shapes, dtypes or Python numbers.
# fmt: off
_SHARED = [
    "pi", "e", "inf", "nan", "newaxis", "euler_gamma", "bool_", "int8", "int16", "int32",
    "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64",
    "complex128", "dtype", "ndarray", "generic", "number", "integer", "signedinteger",
    "unsignedinteger", "inexact", "floating", "complexfloating",
    "promote_types", "can_cast", "issubdtype", "iinfo",
    "broadcast_shapes", "errstate", "set_printoptions", "printoptions", "isscalar", "ndindex",
    "index_exp", "s_", "linalg",
]
# fmt: on


def _names() -> dict[str, Any]:
    names = {name: getattr(_numpy, name) for name in _SHARED}
    names["finfo"] = finfo
    if BFLOAT16 is not None:
        names["bfloat16"] = BFLOAT16.type
    for name, value in vars(_numpy).items():
        if isinstance(value, _numpy.ufunc):
            names[name] = value
        elif callable(value) and getattr(value, "__name__", None) in EXPORTS:
            same = EXPORTS[value.__name__]  # an alias, such as `concat`
            if same.__wrapped__ is value:
                names[name] = same
    return names


globals().update(_names())
__all__ = sorted(_names())


def __getattr__(name: str) -> Any:
    """Name what is missing."""
    if name == "bfloat16":
        raise AttributeError(
            "transpile.numpy.bfloat16 is the dtype of the package ml_dtypes, which is not "
            "installed: pip install transpile[bfloat16]"
        )
    if hasattr(_numpy, name):
        raise AttributeError(
            f"transpile.numpy has no {name!r} yet, though numpy has; numpy.{name} works on arrays "
            "that are not traced"
        )
    raise AttributeError(f"module 'transpile.numpy' has no attribute {name!r}")
