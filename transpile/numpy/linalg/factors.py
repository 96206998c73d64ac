"""Decompositions: cholesky, qr, eigenvalues, singular values.

Where NumPy raises a LinAlgError because of the values (a matrix that is not positive definite, an
iteration that does not converge), the results are NaN.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.indices.requirements import extreme, is_at_most, is_open
from transpile.ir.types import real_dtype
from transpile.numpy.core.promotion import Array, fill
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import smaller_of
from transpile.numpy.linalg.common import (
    adjoint,
    identity,
    implements_linalg,
    is_empty,
    matrices,
    with_derivative,
)
from transpile.primitives.elementwise.identities import stop_gradient
from transpile.primitives.linalg import decompositions as primitives
from transpile.trace.trace import bind

EigResult: Any = type(np.linalg.eig(np.eye(1)))
EighResult: Any = type(np.linalg.eigh(np.eye(1)))
QRResult: Any = type(np.linalg.qr(np.eye(1)))
SVDResult: Any = type(np.linalg.svd(np.eye(1)))


@implements_linalg(np.linalg.cholesky)
def cholesky(a: Array, /, *, upper: bool = False) -> Any:
    """The Cholesky factors L of Hermitian positive definite matrices A = L L^H, or U of A = U^H U
    with `upper` (LAPACK's potrf).

    Reads one triangle. A matrix that is not positive definite gives NaN, where NumPy raises
    LinAlgError. Raises LinAlgError for what is not square.
    """
    x = matrices(a, square=True)
    if is_empty(x):
        return x
    if upper:  # A = U^H U, of which the adjoint's lower triangle is A's upper one
        return adjoint(bind(primitives.cholesky, adjoint(x)))
    return bind(primitives.cholesky, x)


@implements_linalg(np.linalg.qr)
def qr(a: Array, mode: str = "reduced") -> Any:
    """The QR factors of a stack of matrices by Householder reflections (LAPACK's geqrf), as a named
    tuple.

    Modes: "reduced" (m, k) and (k, n) with k = min(m, n), "complete" (m, m) and (m, n), "r" the
    second one only, "raw" the reflectors and their factors, which have no derivative. Raises
    ValueError for other modes.
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        mode = _deprecated_mode(mode)
    x = matrices(a)
    *head, m, n = x.shape
    if mode == "economic":
        return x if is_empty(x) else np.matrix_transpose(bind(primitives.householder, x)[0])
    if mode == "raw":
        if is_empty(x):
            return np.matrix_transpose(x), fill(0, (*head, extreme(m, n, -1)), x.dtype)
        h, tau = bind(primitives.householder, x)
        return h, tau
    full = mode == "complete" and not is_at_most(m, n)
    if is_open(m, n):
        # Reflections leave the zeros below as they are, and so the factors of a wide matrix, too.
        q, r = bind(primitives.qr, with_zeros_below(x), full_matrices=full)
        k = m if full else smaller_of(m, n)
        q, r = q[..., :m, :k], r[..., :k, :]
    elif is_empty(x):
        k = m if full else extreme(m, n, -1)
        q, r = identity(m, x.dtype, tuple(head))[..., :k], x[..., :k, :]
    else:
        q, r = bind(primitives.qr, x, full_matrices=full)
    return r if mode == "r" else QRResult(q, r)


def with_zeros_below(x: Any) -> Any:
    """Matrices with as many further rows as they have columns, so that they are not wide."""
    *head, _, n = x.shape
    return np.concatenate([x, fill(0, (*head, n, n), x.dtype)], -2)


def _deprecated_mode(mode: Any) -> str:
    if mode in ("f", "full"):
        text = (
            "The 'full' option is deprecated in favor of 'reduced'.\n"
            "For backward compatibility let mode default."
        )
        warnings.warn(text, DeprecationWarning, stacklevel=3)
        return "reduced"
    if mode in ("e", "economic"):
        warnings.warn("The 'economic' option is deprecated.", DeprecationWarning, stacklevel=3)
        return "economic"
    raise located(ValueError, f"Unrecognized mode '{mode}'")


# --------------------------------------------------------------------------------- eigenvalues


def _is_lower(part: Any) -> bool:
    name = part.upper()
    if name not in ("L", "U"):
        raise located(ValueError, "UPLO argument must be 'L' or 'U'")
    return bool(name == "L")


def _no_values(x: Any, dtype: Any) -> Any:
    *head, m, n = x.shape
    return fill(0, (*head, extreme(m, n, -1)), dtype)


@implements_linalg(np.linalg.eigh)
def eigh(a: Array, UPLO: str = "L") -> Any:
    """The eigenvalues, in ascending order, and orthonormal eigenvectors (columns) of Hermitian
    matrices, as a named tuple (LAPACK's syevd).

    Reads the triangle `UPLO` only. NaN where the iteration does not converge, where NumPy raises
    LinAlgError. Equal eigenvalues have no derivatives of vectors. Raises ValueError for another
    `UPLO`.
    """
    lower = _is_lower(UPLO)
    x = matrices(a, square=True)
    if is_empty(x):
        return EighResult(_no_values(x, real_dtype(x.dtype)), x)
    return EighResult(*bind(primitives.eigh, x, lower=lower, vectors=True))


@implements_linalg(np.linalg.eigvalsh)
def eigvalsh(a: Array, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices in ascending order; see `eigh`."""
    lower = _is_lower(UPLO)
    x = matrices(a, square=True)
    if is_empty(x):
        return _no_values(x, real_dtype(x.dtype))
    return bind(primitives.eigh, x, lower=lower, vectors=False)


@implements_linalg(np.linalg.eig)
def eig(a: Array) -> Any:
    """The eigenvalues and right eigenvectors (columns of length 1) of square matrices, as a named
    tuple (LAPACK's geev).

    Always complex: NumPy's results are real where all eigenvalues are, which depends on values. NaN
    where the iteration does not converge.
    """
    x = matrices(a, square=True)
    if is_empty(x):
        dtype = np.result_type(x.dtype, np.complex64)
        return EigResult(_no_values(x, dtype), x.astype(dtype))
    return EigResult(*bind(primitives.eig, x, vectors=True))


@implements_linalg(np.linalg.eigvals)
def eigvals(a: Array) -> Any:
    """The eigenvalues of square matrices, always complex; see `eig`."""
    x = matrices(a, square=True)
    if is_empty(x):
        return _no_values(x, np.result_type(x.dtype, np.complex64))
    return bind(primitives.eig, x, vectors=False)


# ----------------------------------------------------------------------------- singular values


@implements_linalg(np.linalg.svd)
def svd(
    a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """The singular value decomposition U diag(s) V^H of a stack of matrices, s in descending order,
    as a named tuple (LAPACK's gesdd).

    `full_matrices` makes U and V square, `hermitian` uses eigenvalues instead. NaN where the
    iteration does not converge, where NumPy raises LinAlgError.
    """
    x = matrices(a, square=hermitian)
    *head, m, n = x.shape
    if is_empty(x):
        s = _no_values(x, real_dtype(x.dtype))
        k = extreme(m, n, -1)
        u, vh = identity(m, x.dtype, tuple(head)), identity(n, x.dtype, tuple(head))
        if not full_matrices:
            u, vh = u[..., :, :k], vh[..., :k, :]
        return SVDResult(u, s, vh) if compute_uv else s
    if hermitian:
        return _hermitian_svd(x, compute_uv)
    if not compute_uv and is_open(m, n):
        s = bind(primitives.svd, with_zeros_below(x), full_matrices=False, vectors=False)
        return s[..., : smaller_of(m, n)]
    if not compute_uv:
        return bind(primitives.svd, x, full_matrices=False, vectors=False)
    full = bool(full_matrices) and m != n
    if is_open(m, n):
        return SVDResult(*_svd_by_triangles(x, full))
    return SVDResult(*bind(primitives.svd, x, full_matrices=full, vectors=True))


def _svd_by_triangles(x: Any, full: bool) -> Sequence[Any]:
    """The parts of matrices of which the sizes tell later whether they are wide: those of the
    triangle of x = q r, which is not longer than wide (T. Chan, 1982)."""

    k = smaller_of(*x.shape[-2:])
    triangle = qr(bind(stop_gradient, x), "complete" if full else "reduced")

    def parts(_: Any, q: Any, r: Any) -> list[Any]:
        u, s, vh = bind(primitives.svd, r[..., :k, :], full_matrices=full, vectors=True)
        whole = np.matmul(q[..., :, :k], u)
        return [np.concatenate([whole, q[..., :, k:]], -1) if full else whole, s, vh]

    def rule(operands: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
        results = with_derivative("svd", parts, rule, *operands)
        t, moved = tangents[0], primitives.svd.jvp
        if t is None or moved is None:
            return results, [None] * len(results)
        return results, moved([t], results, operands[0], full_matrices=full, vectors=True)

    return with_derivative("svd", parts, rule, x, *triangle)


def _hermitian_svd(x: Any, vectors: bool) -> Any:
    """By eigenvalues, whose signs go to the right vectors; in descending order."""
    if not vectors:
        s = np.absolute(bind(primitives.eigh, x, lower=True, vectors=False))
        return np.flip(np.sort(s, axis=-1), -1)
    w, v = bind(primitives.eigh, x, lower=True, vectors=True)
    order = np.flip(np.argsort(np.absolute(w), axis=-1), -1)
    w = primitives.rows_taken(w, order)
    u = np.matrix_transpose(primitives.rows_taken(np.matrix_transpose(v), order))
    # Zeros have a sign as well: the vectors stay unit vectors.
    return SVDResult(u, np.absolute(w), adjoint(u * np.copysign(1.0, w)[..., None, :]))


@implements_linalg(getattr(np.linalg, "svdvals", None))
def svdvals(x: Array, /) -> Any:
    """The singular values of a stack of matrices in descending order; see `svd`."""
    return svd(x, compute_uv=False)
