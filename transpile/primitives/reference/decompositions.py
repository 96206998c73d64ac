"""Reference semantics in NumPy of the primitives of `transpile.primitives.linalg.decompositions`.

NumPy has no LU factorization and no triangular solve: these are loops over columns, vectorised over
the batch. Where NumPy raises a LinAlgError, the results are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def triangular_solve(a: Any, b: Any, *, lower: bool, unit_diagonal: bool, form: int) -> Any:
    """The solution x of a x = b, by substitution; a transposed for form 1, and conjugated for 2."""
    if form:
        a = np.swapaxes(a, -2, -1)
        a = np.conjugate(a) if form == 2 else a
        lower = not lower
    x = np.array(b)
    size = a.shape[-1]
    for i in range(size) if lower else reversed(range(size)):
        if not unit_diagonal:
            x[..., i, :] = x[..., i, :] / a[..., i, i, None]
        rest = slice(i + 1, size) if lower else slice(0, i)
        x[..., rest, :] -= a[..., rest, i, None] * x[..., i, None, :]
    return x


def lu(x: Any) -> tuple[Any, Any, Any]:
    """The packed factors, pivots and permutation, by Gaussian elimination with partial pivoting."""
    factors = np.array(x, order="C")
    *head, m, n = x.shape
    flat = factors.reshape(-1, m, n)
    permutation = np.tile(np.arange(m), (len(flat), 1))
    pivots = np.zeros((len(flat), min(m, n)), np.int64)
    each = np.arange(len(flat))
    for j in range(min(m, n)):
        column = flat[:, j:, j]
        size = np.abs(column.real) + np.abs(column.imag)
        other = j + np.argmax(np.nan_to_num(size, nan=-1.0, posinf=np.inf), axis=1)
        pivots[:, j] = other
        for rows in (flat, permutation):
            first, second = rows[:, j].copy(), rows[each, other].copy()
            rows[:, j], rows[each, other] = second, first
        pivot = flat[:, j, j, None]
        flat[:, j + 1 :, j] /= np.where(pivot == 0, 1, pivot)
        flat[:, j + 1 :, j + 1 :] -= flat[:, j + 1 :, j, None] * flat[:, None, j, j + 1 :]
    return factors, pivots.reshape(*head, min(m, n)), permutation.reshape(*head, m)


def pivots_to_permutation(pivots: Any, *, size: int) -> Any:
    """The permutation of `size` rows by successive exchanges with the pivots."""
    flat = pivots.reshape(-1, pivots.shape[-1])
    permutation = np.tile(np.arange(size), (len(flat), 1))
    each = np.arange(len(flat))
    for j in range(flat.shape[1]):
        first, second = permutation[:, j].copy(), permutation[each, flat[:, j]].copy()
        permutation[:, j], permutation[each, flat[:, j]] = second, first
    return permutation.reshape(*pivots.shape[:-1], size)


def _each(
    function: Callable[[Any], Sequence[Any]], x: Any, shapes: Sequence[Any], dtypes: Sequence[Any]
) -> tuple[Any, ...]:
    """A function of one matrix applied to each of a batch; NaN where it raises a LinAlgError."""
    head = x.shape[:-2]
    results = tuple(np.empty((*head, *s), d) for s, d in zip(shapes, dtypes, strict=True))
    for index in np.ndindex(*head):
        try:
            parts: Sequence[Any] = function(x[index])
        except np.linalg.LinAlgError:
            parts = [np.nan] * len(results)
        for result, part in zip(results, parts, strict=True):
            result[index] = part
    return results


def cholesky(x: Any) -> Any:
    """numpy.linalg.cholesky, NaN in the lower triangle where x is not positive definite."""
    shape = x.shape[-2:]
    (factor,) = _each(lambda a: [np.linalg.cholesky(a)], x, [shape], [x.dtype])
    return np.where(np.tri(shape[0], dtype=bool), factor, 0).astype(x.dtype)


def qr(x: Any, *, full_matrices: bool) -> tuple[Any, Any]:
    """numpy.linalg.qr, reduced or complete."""
    q, r = np.linalg.qr(x, mode="complete" if full_matrices else "reduced")
    return q, r


def householder(x: Any) -> tuple[Any, Any]:
    """numpy.linalg.qr in mode raw: the packed reflectors, transposed, and their factors."""
    h, tau = np.linalg.qr(x, mode="raw")
    return h, tau


def eigh(x: Any, *, lower: bool, vectors: bool) -> Any:
    """numpy.linalg.eigh and eigvalsh."""
    n = x.shape[-1]
    part: Any = "L" if lower else "U"
    real = np.empty(0, x.dtype).real.dtype
    shapes, dtypes = [(n,), (n, n)], [real, x.dtype]
    if vectors:
        return _each(lambda a: np.linalg.eigh(a, part), x, shapes, dtypes)
    return _each(lambda a: [np.linalg.eigvalsh(a, part)], x, shapes[:1], dtypes[:1])[0]


def eig(x: Any, *, vectors: bool) -> Any:
    """numpy.linalg.eig and eigvals, always complex."""
    n, dtype = x.shape[-1], np.result_type(x.dtype, np.complex64)
    if vectors:
        return _each(np.linalg.eig, x, [(n,), (n, n)], [dtype, dtype])
    return _each(lambda a: [np.linalg.eigvals(a)], x, [(n,)], [dtype])[0]


def svd(x: Any, *, full_matrices: bool, vectors: bool) -> Any:
    """numpy.linalg.svd and svdvals."""
    m, n = x.shape[-2:]
    k = min(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    real = np.empty(0, x.dtype).real.dtype
    if not vectors:
        return _each(lambda a: [np.linalg.svd(a, compute_uv=False)], x, [(k,)], [real])[0]
    shapes, dtypes = [(m, rows), (k,), (columns, n)], [x.dtype, real, x.dtype]
    return _each(lambda a: np.linalg.svd(a, full_matrices), x, shapes, dtypes)


def sqrtm(x: Any) -> Any:
    """The principal square root of matrices, always complex: by eigenvectors, or by the
    Denman-Beavers iteration (1976) where the eigenvectors are ill-conditioned."""
    dtype = np.result_type(x.dtype, np.complex64)
    return _each(lambda a: [_square_root(a)], x, [x.shape[-2:]], [dtype])[0]


def _square_root(a: Any) -> Any:
    wide = a.astype(np.complex128)
    w, v = np.linalg.eig(wide)
    if np.linalg.cond(v) < 1e6:
        return (v * np.sqrt(w)) @ np.linalg.inv(v)
    y, z = wide, np.eye(len(a), dtype=wide.dtype)
    for _ in range(40):
        y, z = (y + np.linalg.inv(z)) / 2, (z + np.linalg.inv(y)) / 2
    return y
