"""Norms: of vectors, and of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import FLOAT64, real_dtype
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    axes_of,
    convert,
    fill,
    implements,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import keep_dimensions, max, min, sum
from transpile.numpy.core.ufuncs import call
from transpile.primitives import elementwise
from transpile.trace.trace import bind


@implements(np.linalg.norm)
def norm(x: Array, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """A norm of the vectors along one axis, of the matrices along two, or of all elements.

    For vectors any number `ord` (2 by default; 0 counts what is not zero; inf and -inf are
    extremes), for matrices "fro" (the default), "nuc", 1, -1, 2, -2, inf, -inf, of which 2, -2 and
    "nuc" need singular values. Not scaled: squares may overflow. float64 for integers, real for
    complex dtypes. Raises ValueError for other orders and more than two axes.
    """
    values = as_array(x)
    if values.dtype.kind not in "fc":
        values = convert(values, FLOAT64)
    axes = axes_of(axis, values.ndim, "Duplicate axes given.")
    if axis is not None and len(axes) not in (1, 2):
        raise located(ValueError, "Improper number of dimensions to norm.")
    if ord is None or (ord == 2 and len(axes) == 1) or (ord in ("fro", "f") and len(axes) == 2):
        result = call(np.sqrt, sum(_squares(values), axes))
    elif len(axes) == 1:
        result = _of_vectors(values, ord, axes[0])
    elif len(axes) == 2:
        result = _of_matrices(values, ord, axes)
    else:
        raise located(ValueError, "Improper number of dimensions to norm.")
    return keep_dimensions(result, values.shape, axes, keepdims)


def _squares(x: Any) -> Any:
    """The squares of absolute values."""
    if x.dtype.kind != "c":
        return call(np.multiply, x, x)
    parts = (bind(part, x) for part in elementwise.COMPLEX_PARTS)
    return call(np.add, *(call(np.multiply, p, p) for p in parts))


def _of_vectors(x: Any, ord: Any, axis: int) -> Any:
    if isinstance(ord, str):
        raise located(ValueError, f"Invalid norm order '{ord}' for vectors")
    if ord == 0:
        size = call(np.absolute, x)
        return sum(convert(call(np.not_equal, x, 0), size.dtype), axis)
    size = call(np.absolute, x)
    if ord == np.inf:
        return max(size, axis, initial=0)
    if ord == -np.inf:
        return min(size, axis)
    if ord == 1:
        return sum(size, axis)
    total = sum(call(np.power, size, ord), axis)
    return call(np.power, total, np.reciprocal(ord, dtype=total.dtype))


def _of_singular_values(x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    last = np.moveaxis(x, axes, (-2, -1))
    if 0 in last.shape[-2:]:
        s = fill(0, (*last.shape[:-2], 0), real_dtype(x.dtype))
    else:
        s = np.linalg.svd(last, compute_uv=False)
    if ord == "nuc":
        return sum(s, -1)
    return max(s, -1, initial=0) if ord == 2 else min(s, -1)


def _of_matrices(x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    if ord in (2, -2, "nuc"):
        return _of_singular_values(x, ord, axes)
    if ord not in (1, -1, np.inf, -np.inf):
        raise located(ValueError, "Invalid norm order for matrices.")
    rows, columns = axes if abs(ord) == 1 else axes[::-1]
    sums = sum(call(np.absolute, x), rows, keepdims=True)
    if ord > 0:
        return sum(max(sums, columns, initial=0, keepdims=True), axes)
    return sum(min(sums, columns, keepdims=True), axes)
