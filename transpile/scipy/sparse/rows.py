"""Products and solutions with sparse matrices that SciPy has made, which are known while tracing.

A matrix is walked row by row as SciPy's `csr_array` has it: `data` and `indices` of row i lie from
`indptr[i]` to `indptr[i + 1]`. Each function is linear in its traced operand, and its transpose is
the same function of the transposed matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import numpy as jnp
from transpile.functional.custom import linear_call
from transpile.lax.control.fori import fori_loop
from transpile.lax.control.fori import map as over
from transpile.numpy.core.promotion import convert, result_dtype
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at

__all__ = ["product", "solver"]

_SHORT = 4  # columns


def product(matrix: Any, x: Any) -> Any:
    """A sparse matrix (m, n) by a traced vector (n,) or matrix (n, k)."""
    if x.ndim not in (1, 2) or x.shape[0] != matrix.shape[1]:
        raise located(
            ValueError,
            f"matmul: a sparse matrix of shape {matrix.shape} and an array of shape {x.shape}",
        )
    dtype = result_dtype(np.empty(0, matrix.dtype), x)
    rows = matrix.astype(dtype)
    return _linear(
        lambda v: _product(rows.tocsr(), v),
        lambda c: _product(rows.T.tocsr(), c),
        convert(x, dtype),
    )


def _linear(forward: Callable[..., Any], transpose: Callable[..., Any], x: Any) -> Any:
    """forward(x), with a transpose of which the transpose is `forward` again."""

    def turned(_: Any, cotangent: Any) -> Any:
        return _linear(transpose, forward, cotangent)

    return linear_call(lambda _, v: forward(v), turned, (), x)


def _product(matrix: Any, x: Any) -> Any:
    """Each row's sum stays in registers where it is short. Long ones are added to where they lie,
    in vector registers."""
    if not matrix.nnz:
        return jnp.zeros((matrix.shape[0], *x.shape[1:]), x.dtype)
    data, indices = jnp.asarray(matrix.data), jnp.asarray(matrix.indices)
    if x.ndim == 2 and not (isinstance(x.shape[1], int) and x.shape[1] < _SHORT):
        count = matrix.shape[0]
        rows = np.repeat(np.arange(count), np.diff(matrix.indptr))
        zeros = jnp.zeros((count, x.shape[1]), x.dtype)
        return at(zeros)[rows].add(data[:, None] * x[indices], indices_are_sorted=True)
    zero = np.zeros(x.shape[1:], x.dtype)

    def row(ends: Any) -> Any:
        def add(k: Any, total: Any) -> Any:
            return total + data[k] * x[indices[k]]

        return fori_loop(ends[0], ends[1], add, zero)

    return over(row, (jnp.asarray(matrix.indptr[:-1]), jnp.asarray(matrix.indptr[1:])))


def solver(factors: Any) -> Callable[..., Any]:
    """What solves with the factors of a matrix that `scipy.sparse.linalg.splu` has computed: Pr A
    Pc = L U, of which the rows and columns of A are exchanged by `perm_r` and `perm_c`."""

    def solve(rhs: Any, trans: str = "N") -> Any:
        lower, upper = factors.L, factors.U
        x = convert(rhs, result_dtype(np.empty(0, lower.dtype), rhs))
        rows, columns = factors.perm_r, factors.perm_c
        from_rows, from_columns = np.argsort(rows), np.argsort(columns)

        def ahead(b: Any) -> Any:
            return _backward(upper, _forward(lower, b[from_rows]))[columns]

        def turned(b: Any) -> Any:
            return _backward(lower.T, _forward(upper.T, b[from_columns]))[rows]

        if trans == "N":
            return _linear(ahead, turned, x)
        if trans == "T":
            return _linear(turned, ahead, x)
        return np.conj(solve(np.conj(x), "T"))

    return solve


def _forward(matrix: Any, b: Any) -> Any:
    """The solution with a lower triangular matrix."""
    return _substituted(matrix.tocsr(), b, range(matrix.shape[0]))


def _backward(matrix: Any, b: Any) -> Any:
    """The solution with an upper triangular matrix."""
    return _substituted(matrix.tocsr(), b, range(matrix.shape[0] - 1, -1, -1))


def _substituted(matrix: Any, b: Any, order: range) -> Any:
    """The rows solved in this order, each for its diagonal element."""
    diagonal = jnp.asarray(matrix.diagonal())
    matrix = matrix.copy()
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    if not matrix.nnz:
        return b / diagonal.reshape(-1, *[1] * (b.ndim - 1))
    data, indices = jnp.asarray(matrix.data), jnp.asarray(matrix.indices)
    ends = jnp.asarray(matrix.indptr)

    def row(step: Any, x: Any) -> Any:
        i = order.start + order.step * step

        def subtract(k: Any, rest: Any) -> Any:
            return rest - data[k] * x[indices[k]]

        return at(x)[i].set(fori_loop(ends[i], ends[i + 1], subtract, x[i]) / diagonal[i])

    return fori_loop(0, len(order), row, b)
