"""The functions of numpy.linalg that numpy has under the same or another name, and multi_dot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.numpy.core.promotion import Array, as_array, axes_of, axis_of, refuse, reshape_to
from transpile.numpy.core.promotion import error as located
from transpile.numpy.linalg.common import check_2d, implements_linalg
from transpile.numpy.math.norms import norm


@implements_linalg(getattr(np.linalg, "matmul", None))
def matmul(x1: Array, x2: Array, /) -> Any:
    """The matrix product of stacks of matrices; see `numpy.matmul`."""
    return np.matmul(x1, x2)


@implements_linalg(getattr(np.linalg, "tensordot", None))
def tensordot(x1: Array, x2: Array, /, *, axes: Any = 2) -> Any:
    """The sum of products over axes of both arrays; see `numpy.tensordot`."""
    return np.tensordot(x1, x2, axes=axes)


@implements_linalg(getattr(np.linalg, "vecdot", None))
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Any:
    """The inner products of vectors along an axis, the first operand conjugated."""
    if axis == -1:
        return np.vecdot(x1, x2)
    x, y = as_array(x1), as_array(x2)
    return np.vecdot(np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1))


@implements_linalg(getattr(np.linalg, "matrix_transpose", None))
def matrix_transpose(x: Array, /) -> Any:
    """The matrices of a stack transposed: the last two axes exchanged."""
    return np.matrix_transpose(x)


@implements_linalg(getattr(np.linalg, "diagonal", None))
def diagonal(x: Array, /, *, offset: int = 0) -> Any:
    """The diagonals of the matrices of a stack, along a new last axis."""
    return np.diagonal(x, offset, axis1=-2, axis2=-1)


@implements_linalg(getattr(np.linalg, "trace", None))
def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the matrices of a stack."""
    return np.trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)


@implements_linalg(getattr(np.linalg, "cross", None))
def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Any:
    """The vector product of vectors with three components along an axis; raises ValueError for
    others."""
    x, y = as_array(x1), as_array(x2)
    sizes = [a.shape[axis_of(axis, a.ndim)] for a in (x, y)]
    if sizes != [3, 3]:
        raise located(
            ValueError,
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {sizes[0]} and {sizes[1]} dimensional instead.",
        )
    return np.cross(x, y, axis=axis)


@implements_linalg(getattr(np.linalg, "outer", None))
def outer(x1: Array, x2: Array, /) -> Any:
    """The products of all pairs of elements of two vectors; raises ValueError for other shapes."""
    x, y = as_array(x1), as_array(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise located(
            ValueError,
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={x.ndim} and x2.ndim={y.ndim}.",
        )
    return np.outer(x, y)


@implements_linalg(getattr(np.linalg, "matrix_norm", None))
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """A norm of each matrix of a stack, the Frobenius norm by default; see `norm`."""
    return norm(x, ord, (-2, -1), keepdims)


@implements_linalg(getattr(np.linalg, "vector_norm", None))
def vector_norm(x: Array, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """A norm of the vectors along axes, which are one vector together where there are several; the
    2-norm by default."""
    values = as_array(x)
    if axis is not None and not isinstance(axis, tuple):
        return norm(values, ord, axis, keepdims)
    axes = axes_of(axis, values.ndim)
    rest = tuple(a for a in range(values.ndim) if a not in axes)
    size = product(values.shape[a] for a in axes)
    kept = [values.shape[a] for a in rest]
    flat = reshape_to(np.transpose(values, (*axes, *rest)), (size, *kept))
    norms = norm(flat, ord, 0)
    if not keepdims:
        return norms
    return reshape_to(norms, [1 if a in axes else d for a, d in enumerate(values.shape)])


# ------------------------------------------------------------------------------------ multi_dot


@implements_linalg(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Array], *, out: Any = None) -> Any:
    """The product of a chain of matrices, the first and last of which may be vectors, in the order
    of the fewest multiplications.

    That order is found by dynamic programming while tracing (matrix-chain multiplication in T.
    Cormen et al., Introduction to Algorithms, 3rd edition, section 15.2). Raises ValueError for
    fewer than two arrays, LinAlgError for other shapes.
    """
    refuse("linalg.multi_dot", out=out)
    if len(arrays) < 2:
        raise located(ValueError, "Expecting at least two arrays.")
    parts = [as_array(a) for a in arrays]
    if len(parts) == 2:
        return np.dot(*parts)
    first_is_vector, last_is_vector = parts[0].ndim == 1, parts[-1].ndim == 1
    if first_is_vector:
        parts[0] = parts[0][None, :]
    if last_is_vector:
        parts[-1] = parts[-1][:, None]
    check_2d(*parts)
    product = _chained(parts, _best_splits([*(p.shape[0] for p in parts), parts[-1].shape[1]]))
    if first_is_vector and last_is_vector:
        return product[0, 0]
    return np.ravel(product) if first_is_vector or last_is_vector else product


def _best_splits(sizes: Sequence[Index]) -> dict[tuple[int, int], int]:
    """Where the product of the factors i to j is split, sizes[i] and sizes[i + 1] being those of
    factor i; of runtime sizes by what they are estimated at."""
    extents = [estimate(d) for d in sizes]
    count = len(extents) - 1
    costs = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            choices = [
                (costs[i, k] + costs[k + 1, j] + extents[i] * extents[k + 1] * extents[j + 1], k)
                for k in range(i, j)
            ]
            costs[i, j], splits[i, j] = min(choices)
    return splits


def _chained(parts: Sequence[Any], splits: dict[tuple[int, int], int]) -> Any:
    def between(i: int, j: int) -> Any:
        if i == j:
            return parts[i]
        split = splits[i, j]
        return np.dot(between(i, split), between(split + 1, j))

    return between(0, len(parts) - 1)
