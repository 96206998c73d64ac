"""Eigenvalues of general matrices and least squares, with the results of `scipy.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import INT64
from transpile.nn.operands import operand, public
from transpile.numpy.core.promotion import unsupported
from transpile.scipy.special.operands import Array, promoted

__all__ = ["eig", "eigvals", "lstsq"]


@public
def eig(a: Array, b: None = None, left: bool = False, right: bool = True) -> Any:
    """The complex eigenvalues (..., n) and right eigenvectors (..., n, n), columns of length 1, of
    square matrices; eigenvalues alone unless `right`.

    UnsupportedError for left eigenvectors, and for pairs of matrices.
    """
    if b is not None or left:
        raise unsupported("scipy.linalg.eig with b= or left= of traced values")
    return tuple(np.linalg.eig(operand("eig", a))) if right else eigvals(a)


@public
def eigvals(a: Array, b: None = None) -> Any:
    """The complex eigenvalues (..., n) of square matrices. UnsupportedError for pairs of them."""
    if b is not None:
        raise unsupported("scipy.linalg.eigvals with b= of traced values")
    return np.linalg.eigvals(operand("eigvals", a))


@public
def lstsq(a: Array, b: Array, cond: Array | None = None) -> Any:
    """The solution of least squares for a matrix (m, n) and a right side (m,) or (m, k), by its
    singular values; those up to `cond` times the largest count as zero, rounding by default.

    Returns (x, residues, rank, singular values). The residues, sums of squares, are those of a
    matrix of full rank with m > n, and have no elements for m <= n; what they are of a smaller
    rank, where SciPy has none, depends on the values.
    """
    matrix, rhs = promoted("lstsq", operand("lstsq", a), operand("lstsq", b))
    cutoff = np.finfo(matrix.dtype).eps if cond is None else cond
    x, _, rank, values = np.linalg.lstsq(matrix, rhs, rcond=cutoff)
    rank = np.astype(rank, INT64)
    if matrix.shape[0] <= matrix.shape[1]:
        return x, np.zeros(0, values.dtype), rank, values
    return x, np.sum(np.square(np.abs(rhs - matrix @ x)), axis=0), rank, values
