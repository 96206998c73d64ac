"""numpy.linalg for traced functions: the same names, shapes, dtypes and errors of shapes.

Decompositions are LAPACK's, in the arithmetic of the operands' dtype. What NumPy finds out from the
values and raises a LinAlgError for, a compiled program cannot: singular matrices give infinities
and NaN, and where there is no decomposition the results are NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from transpile.numpy.core.promotion import EXPORTS
from transpile.numpy.keywords import with_keywords
from transpile.numpy.linalg import factors, least_squares, products, solving, symmetric
from transpile.numpy.linalg.common import LINALG

_MODULES = (factors, least_squares, products, solving)


def _names() -> dict[str, Any]:
    return {
        **{name: with_keywords("numpy.linalg", name, f) for name, f in LINALG.items()},
        **symmetric.OF_JAX,
        "norm": EXPORTS["norm"],
        "LinAlgError": _numpy.linalg.LinAlgError,
    }


globals().update(_names())
__all__ = sorted(_names())


def __getattr__(name: str) -> Any:
    """Name what is missing."""
    if hasattr(_numpy.linalg, name):
        raise AttributeError(f"transpile.numpy.linalg has no {name!r} yet, though numpy.linalg has")
    raise AttributeError(f"module 'transpile.numpy.linalg' has no attribute {name!r}")
