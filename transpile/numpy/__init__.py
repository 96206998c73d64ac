"""NumPy's functions for traced functions: the same names, shapes, dtypes and errors.

`import transpile.numpy as np` gives NumPy's own functions as long as no traced value is among the
arguments, and graph equations when there is one. `numpy.f(...)` on traced values lands here too.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from transpile.dtypes import issubdtype
from transpile.ir import types
from transpile.ir.types import finfo
from transpile.numpy.core.promotion import EXPORTS
from transpile.numpy.keywords import choice, total, with_keywords
from transpile.numpy.subscripts.at import at
from transpile.trace.tracer import RARE_FUNCTIONS
from transpile.util.lazy.imports import imported

# The modules of the functions that most programs use.
_USUAL = (
    "core.coercion",
    "core.creation",
    "core.elementwise",
    "core.reductions",
    "core.ufuncs",
    "manipulation.joins",
    "manipulation.shapes",
    "manipulation.transposes",
    "math.contraction",
    "math.products",
    "subscripts.assignment",
    "subscripts.basic",
)
# The modules that are imported when a trace, or somebody else, uses one of their functions.
_FURTHER = (
    "core.out_argument",
    "core.ranges",
    "core.scans",
    "fft",
    "inspection",
    "linalg",
    "manipulation.windows",
    "mapping",
    "memory_attributes",
    "math.special_functions",
    "math.bits",
    "math.calculus",
    "math.convolutions",
    "math.nan_functions",
    "math.norms",
    "math.polynomials",
    "math.statistics",
    "math.ufunc_methods",
    "math.window_functions",
    "order.histograms",
    "order.quantiles",
    "order.searching",
    "order.sets",
    "order.sorting",
    "order.trimming",
    "padding",
    "subscripts.dtype_views",
    "subscripts.put",
    "subscripts.take",
    "subscripts.triangles",
)


def _import_all(modules: tuple[str, ...]) -> None:
    for module in modules:
        imported(f"{__name__}.{module}")


_import_all(_USUAL)
RARE_FUNCTIONS.comes_from(lambda: _import_all(_FURTHER))

# NumPy's own: constants, dtypes, and functions that ask only for shapes, dtypes or Python numbers.
# fmt: off
_SHARED = [
    "pi", "e", "inf", "nan", "newaxis", "euler_gamma", "False_", "True_", "bool", "bool_", "int8",
    "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128", "byte", "short", "intc", "int_", "long", "longlong",
    "intp", "ubyte", "ushort", "uintc", "uint", "ulong", "ulonglong", "uintp", "half", "single",
    "double", "csingle", "cdouble", "dtype", "generic", "number", "integer",
    "signedinteger", "unsignedinteger", "inexact", "floating", "complexfloating", "promote_types",
    "isdtype", "iinfo", "typename", "mintypecode", "errstate",
    "set_printoptions", "printoptions", "isscalar", "ndindex", "index_exp", "s_",
    "mgrid", "ogrid", "bartlett", "blackman", "hamming", "hanning", "kaiser", "tril_indices",
    "triu_indices", "diag_indices", "mask_indices", "indices", "fromfunction",
    "binary_repr", "base_repr", "character", "flexible", "object_", "get_printoptions",
    "frombuffer", "fromfile", "fromiter", "fromstring", "load", "save", "savez",
]
# Functions with further arguments that they have in jax.numpy, and those that only it has.
_OF_JAX = [
    "argsort", "astype", "delete", "digitize", "dot", "dstack", "einsum", "empty_like",
    "fill_diagonal", "frompyfunc", "full_like", "inner", "isin", "matmul", "ones_like", "place",
    "polydiv", "polymul", "polyval", "put", "put_along_axis", "ravel_multi_index", "roots",
    "searchsorted", "take", "take_along_axis", "tensordot", "ufunc", "zeros_like",
    "vdot", *[name for name in ("matvec", "vecdot", "vecmat") if hasattr(_numpy, name)],
]
# fmt: on


# Names that are no functions of NumPy's: where they are, and what they are called there.
_OWN = {
    "c_": ("core.ranges", "c_"),
    "r_": ("core.ranges", "r_"),
    "__array_namespace_info__": ("inspection", "NamespaceInfo"),
    "ndarray": ("array_class", "Array"),
    **{name: ("jax_compat", name) for name in _OF_JAX},
}
_PLACED = {
    "at": at,
    "finfo": finfo,
    "issubdtype": issubdtype,
    "ComplexWarning": _numpy.exceptions.ComplexWarning,
    "float_": _numpy.float64,
    "complex_": _numpy.complex128,
}


def _named(name: str) -> Any:
    """The function, ufunc, dtype or constant of that name, or None."""
    if name in _PLACED:
        return _PLACED[name]
    if name in _OWN:
        module, own = _OWN[name]
        return getattr(imported(f"{__name__}.{module}"), own)
    value = getattr(_numpy, name, None)
    if name in _SHARED or isinstance(value, _numpy.ufunc):
        return value
    if callable(value) and getattr(value, "__name__", "") in EXPORTS:
        same = EXPORTS[value.__name__]  # an alias, such as `concat`
        return same if same.__wrapped__ is value else None
    return None


def _with_keywords(name: str, value: Any) -> Any:
    """A function with the keywords that it has in JAX besides."""
    if name in ("sum", "prod"):
        return total(value)
    if name == "where":
        return choice(value)
    return with_keywords("numpy", name, value)


def _all() -> list[str]:
    names = {n for n in list(vars(_numpy)) if not n.startswith("_") and _named(n) is not None}
    return sorted({*names, *_SHARED, *_OWN, *_PLACED})


def __dir__() -> list[str]:
    """What there is, imported or not."""
    return sorted({*globals(), *_all()})


def __getattr__(name: str) -> Any:
    """A name that is used for the first time; or say what is missing."""
    if name in ("fft", "linalg"):
        return imported(f"{__name__}.{name}")
    value = _all() if name == "__all__" else _with_keywords(name, _named(name))
    if value is not None or name == "newaxis":
        globals()[name] = value
        return value
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
