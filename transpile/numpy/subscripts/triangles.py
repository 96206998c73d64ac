"""Indices of the triangles of matrices, of runtime sizes too: those of a known one are NumPy's own.

A triangle that begins in a corner of a square has n*(n + 1)//2 elements, which are a shape, and the
row of each follows from its number. How many elements other parts have the program finds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Index
from transpile.ir.types import BOOL, FLOAT64, INT64
from transpile.numpy.core.creation import makes, ones, tri
from transpile.numpy.core.promotion import Array, as_array, convert, implements
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import extent_of, larger_of
from transpile.numpy.core.ufuncs import call
from transpile.numpy.subscripts.advanced import iota_of, positions_of
from transpile.trace.bytecode.call_resolution import resolved


@makes(np.tril_indices)
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, Any]:
    """The rows and the columns of the elements of an (n, m) matrix on and below its k-th diagonal,
    in row-major order."""
    rows, columns, offset = _extents(n, k, m)
    if rows == columns and isinstance(offset, int) and offset <= 0:
        row, column = _corner(larger_of(rows + offset, 0))
        return call(np.subtract, row, offset), column
    return _where(tri(rows, columns, offset, dtype=BOOL))


@makes(np.triu_indices)
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, Any]:
    """The rows and the columns of the elements of an (n, m) matrix on and above its k-th diagonal,
    in row-major order."""
    rows, columns, offset = _extents(n, k, m)
    if rows == columns and isinstance(offset, int) and offset >= 0:
        # Those of the lower triangle, backwards.
        size = larger_of(rows - offset, 0)
        row, column = (x[::-1] for x in _corner(size))
        return call(np.subtract, size - 1, row), call(np.subtract, rows - 1, column)
    return _where(call(np.logical_not, tri(rows, columns, offset - 1, dtype=BOOL)))


def _extents(n: Any, k: Any, m: Any) -> tuple[Index, Index, Index]:
    rows = extent_of(n)
    return rows, rows if m is None else extent_of(m), extent_of(k)


def _corner(size: Index) -> tuple[Any, Any]:
    """The rows and columns of a lower triangle with the main diagonal. In front of row r there are
    r*(r + 1)//2 elements; what a square root is off by rounding is put right."""
    number = iota_of(size * (size + 1) // 2)
    root = call(np.sqrt, call(np.add, call(np.multiply, convert(number, FLOAT64), 8.0), 1.0))
    row = convert(call(np.floor, call(np.multiply, call(np.subtract, root, 1.0), 0.5)), INT64)
    row = call(np.subtract, row, convert(call(np.greater, _before(row), number), INT64))
    is_next = call(np.less_equal, _before(call(np.add, row, 1)), number)
    row = call(np.add, row, convert(is_next, INT64))
    return row, call(np.subtract, number, _before(row))


def _before(row: Any) -> Any:
    """How many elements of a lower triangle stand in front of a row."""
    return call(np.right_shift, call(np.multiply, row, call(np.add, row, 1)), 1)


def _where(mask: Any) -> tuple[Any, Any]:
    row, column = positions_of(mask)
    return row, column


@makes(np.mask_indices)
def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> tuple[Any, ...]:
    """The rows and the columns of the elements of an (n, n) matrix that a function such as
    `numpy.triu` does not make zero."""
    size = extent_of(n)
    masked = resolved(mask_func)(ones((size, size), INT64), k)
    return tuple(positions_of(convert(as_array(masked), BOOL)))


def _of_matrix(arr: Array) -> tuple[Any, Any]:
    shape = as_array(arr).shape
    if len(shape) != 2:
        raise located(ValueError, "input array must be 2-d")
    return shape[0], shape[1]


@implements(np.tril_indices_from)
def tril_indices_from(arr: Array, k: Any = 0) -> tuple[Any, Any]:
    """The indices of the lower triangle of a matrix of this shape; known while tracing, unless it
    has runtime sizes."""
    rows, columns = _of_matrix(arr)
    if isinstance(rows, int) and isinstance(columns, int):
        return np.tril_indices(rows, k, columns)
    return tril_indices(rows, k, columns)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Array, k: Any = 0) -> tuple[Any, Any]:
    """The indices of the upper triangle of a matrix of this shape; known while tracing, unless it
    has runtime sizes."""
    rows, columns = _of_matrix(arr)
    if isinstance(rows, int) and isinstance(columns, int):
        return np.triu_indices(rows, k, columns)
    return triu_indices(rows, k, columns)
