"""Eigenvalues, Schur forms, singular values and the polar decomposition of `lax.linalg`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.lax.arrays.promotion import (
    Array,
    public,
    spelled,
)
from transpile.lax.linalg.operands import matrix, symmetrized
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import fill, unsupported
from transpile.numpy.linalg.common import adjoint
from transpile.primitives.linalg import decompositions as primitives
from transpile.trace.trace import bind


class EigImplementation(enum.Enum):
    """The library that computes eigenvalues in JAX; here always LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """The algorithm for eigenvalues of Hermitian matrices in JAX; here LAPACK's divide and conquer
    (syevd, heevd)."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """The algorithm for singular values in JAX; here LAPACK's divide and conquer (gesdd)."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


@public
def eigh(
    x: Array,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """The eigenvectors and, in this order, the eigenvalues in ascending order of (x + x^H) / 2, or
    of a triangle (LAPACK's syevd).

    Raises NotImplementedError for a part of the eigenvalues.
    """
    a = matrix("eigh", x, square=True)
    if subset_by_index is not None and tuple(subset_by_index) != (0, a.shape[-1]):
        raise located(NotImplementedError, "subset_by_index not supported on CPU and GPU")
    a = symmetrized(a) if symmetrize_input else a
    w, v = bind(primitives.eigh, a, lower=bool(lower), vectors=True)
    return v, w


@public
def eig(
    x: Array,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """The eigenvalues and, as requested, the left and the right eigenvectors, as a list; always
    complex (LAPACK's geev).

    Left ones come from the inverse of the right ones: infinite, NaN or meaningless for a defective
    matrix.
    """
    a = matrix("eig", x, square=True)
    if not (compute_left_eigenvectors or compute_right_eigenvectors):
        return [bind(primitives.eig, a, vectors=False)]
    w, v = bind(primitives.eig, a, vectors=True)
    results = [w]
    if compute_left_eigenvectors:
        results.append(_left_vectors(v))
    if compute_right_eigenvectors:
        results.append(v)
    return results


@public
def schur(
    x: Array,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Any, ...]:
    """The Schur form T and the vectors Z with Z T Z^H = x, or T alone (LAPACK's gees).

    T is upper triangular, but for 2 by 2 blocks where a real matrix has complex eigenvalues. Raises
    NotImplementedError for a requested order of eigenvalues.
    """
    if sort_eig_vals or select_callable is not None:
        raise located(
            NotImplementedError,
            "The function sort_eig_vals of lax.linalg.schur is not supported, as in JAX",
        )
    t, z = bind(primitives.schur, matrix("schur", x, square=True))
    return (t, z) if compute_schur_vectors else (t,)


def _left_vectors(v: Any) -> Any:
    """The vectors u with u^H a = w u^H: of length 1, the largest part of each of them real."""
    u = adjoint(np.linalg.inv(v))
    u = u / np.linalg.norm(u, axis=-2, keepdims=True)
    largest = np.argmax(np.abs(u), axis=-2)
    chosen = np.take_along_axis(u, largest[..., None, :], axis=-2)
    return u * (np.conjugate(chosen) / np.abs(chosen))


@public
def svd(
    x: Array,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """The singular value decomposition: U, the singular values in descending order, and V^H; or the
    values alone (LAPACK's gesdd).

    Raises NotImplementedError for a part of the values.
    """
    a = matrix("svd", x)
    if subset_by_index is not None:
        if full_matrices and subset_by_index != (0, min(a.shape[-2:])):
            raise located(ValueError, "full_matrices and subset_by_index cannot both be set")
        if subset_by_index != (0, min(a.shape[-2:])):
            raise located(NotImplementedError, "subset_by_index not supported on CPU and GPU")
    if not compute_uv:
        return np.linalg.svd(a, compute_uv=False)
    u, s, vh = np.linalg.svd(a, bool(full_matrices))
    return u, s, vh


@public
def qdwh(
    x: Array,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The polar decomposition x = u h, by singular values, whatever the name says: u, h, 0
    iterations, and whether h is finite.

    JAX iterates (Y. Nakatsukasa, Z. Bai and F. Gygi, 2010). Raises ValueError for fewer rows than
    columns and for stacks.
    """
    if dynamic_shape is not None:
        raise unsupported("the argument dynamic_shape of lax.linalg.qdwh")
    a = matrix("qdwh", x)
    if a.ndim != 2 or a.shape[0] < a.shape[1]:
        raise located(
            ValueError,
            "The input `x` must be a matrix with at least as many rows as columns, got "
            f"{spelled(a.shape)}",
        )
    w, s, vh = bind(primitives.svd, a, full_matrices=False, vectors=True)
    u, h = np.matmul(w, vh), np.matmul(adjoint(vh) * s[None, :].astype(a.dtype), vh)
    return u, h, fill(0, (), np.dtype("int64")), np.all(np.isfinite(np.real(h)))
