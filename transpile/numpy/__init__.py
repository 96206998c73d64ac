"""NumPy's functions for traced functions: the same names, shapes, dtypes and errors.

`import transpile.numpy as np` gives NumPy's own functions as long as no traced value is among the
arguments, and graph equations when there is one. `numpy.f(...)` on traced values lands here too.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from transpile import types
from transpile.dtypes import issubdtype
from transpile.numpy import (
    arrays_of_lists,
    assignment,
    bits,
    calculus,
    contraction,
    convolutions,
    creation,
    elementwise,
    fft,
    histograms,
    in_place,
    indexing,
    inspection,
    joins,
    linalg,
    mapping,
    missing,
    norms,
    order_statistics,
    padding,
    placing,
    polynomials,
    products,
    ranges,
    reductions,
    scans,
    searching,
    sets,
    shapes,
    sorting,
    special,
    statistics,
    taking,
    trimming,
    ufunc_methods,
    ufuncs,
)
from transpile.numpy.at import at
from transpile.numpy.inspection import NamespaceInfo as __array_namespace_info__
from transpile.numpy.operands import EXPORTS
from transpile.numpy.ranges import c_, r_
from transpile.types import finfo

_MODULES = (
    arrays_of_lists,
    assignment,
    bits,
    calculus,
    contraction,
    convolutions,
    creation,
    elementwise,
    fft,
    histograms,
    in_place,
    indexing,
    inspection,
    joins,
    linalg,
    mapping,
    missing,
    norms,
    order_statistics,
    padding,
    placing,
    polynomials,
    products,
    ranges,
    reductions,
    scans,
    searching,
    sets,
    shapes,
    sorting,
    special,
    statistics,
    taking,
    trimming,
    ufunc_methods,
    ufuncs,
)

# NumPy's own: constants, dtypes, and functions that ask only for shapes, dtypes or Python numbers.
# fmt: off
_SHARED = [
    "pi", "e", "inf", "nan", "newaxis", "euler_gamma", "False_", "True_", "bool", "bool_", "int8",
    "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128", "byte", "short", "intc", "int_", "long", "longlong",
    "intp", "ubyte", "ushort", "uintc", "uint", "ulong", "ulonglong", "uintp", "half", "single",
    "double", "csingle", "cdouble", "dtype", "ndarray", "generic", "number", "integer",
    "signedinteger", "unsignedinteger", "inexact", "floating", "complexfloating", "promote_types",
    "isdtype", "iinfo", "typename", "mintypecode", "broadcast_shapes", "errstate",
    "set_printoptions", "printoptions", "isscalar", "iterable", "ndindex", "index_exp", "s_",
    "mgrid", "ogrid", "bartlett", "blackman", "hamming", "hanning", "kaiser", "tril_indices",
    "triu_indices", "diag_indices", "mask_indices", "indices", "fromfunction",
    "binary_repr", "base_repr",
]
# fmt: on


def _names() -> dict[str, Any]:
    names = {name: getattr(_numpy, name) for name in _SHARED}
    names |= {"at": at, "c_": c_, "r_": r_, "__array_namespace_info__": __array_namespace_info__}
    names |= {"finfo": finfo, "issubdtype": issubdtype}
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
    """bfloat16, where its package is installed; or name what is missing."""
    if name == "bfloat16":
        if types.BFLOAT16 is not None:
            return types.BFLOAT16.type
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
