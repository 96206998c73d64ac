"""`jax.lax.linalg`: decompositions of matrices, the last two axes; those before them are a batch.

As in `transpile.scipy.linalg`, what has no decomposition gives NaN. Arguments that choose between
algorithms of LAPACK and other libraries change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.indices.requirements import extreme, is_at_most
from transpile.lax.arrays.promotion import (
    Array,
    array,
    of_dtype,
    public,
    same_dtypes,
    spelled,
)
from transpile.lax.linalg import reflections, tridiagonals
from transpile.lax.linalg.operands import matrix, symmetrized
from transpile.lax.linalg.spectral import (
    EighImplementation,
    EigImplementation,
    SvdAlgorithm,
    eig,
    eigh,
    qdwh,
    schur,
    svd,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import fill, is_empty
from transpile.numpy.linalg.common import adjoint, identity
from transpile.numpy.linalg.solving import triangular
from transpile.primitives.linalg import decompositions as primitives
from transpile.trace.trace import bind

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]
INT32 = np.dtype("int32")


# ------------------------------------------------------------------------------ triangular factors


@public
def cholesky(x: Array, *, symmetrize_input: bool = True) -> Any:
    """The Cholesky factor: the lower triangular L with L L^H = x (LAPACK's potrf); NaN where x is
    not positive definite.

    Of (x + x^H) / 2 by default, else of the lower triangle. Raises ValueError for what is not
    square, TypeError for other dtypes than LAPACK's, as all functions here.
    """
    a = matrix("cholesky", x, square=True)
    return bind(primitives.cholesky, symmetrized(a) if symmetrize_input else a)


@public
def cholesky_update(r_matrix: Array, w_vector: Array) -> Any:
    """The upper triangular Cholesky factor of R^T R + w w^T, from R and w, which are real.

    By Givens rotations (G. Golub and C. Van Loan, Matrix Computations, 4th edition, section 6.5.4).
    Raises ValueError for shapes that do not match.
    """
    r, w = matrix("cholesky_update", r_matrix, square=True), array(w_vector, "cholesky_update", 1)
    dtype = same_dtypes("cholesky_update", [r, w])
    if w.shape != r.shape[:-1]:
        raise located(
            ValueError,
            "Rank-1 update to Cholesky decomposition takes a square matrix and a vector of the "
            f"same size as input. Got shapes {spelled(r.shape)} and {spelled(w.shape)} instead",
        )
    update = reflections.over_batch(reflections.updated_factor, 2, 1)
    return update(of_dtype(r, dtype), of_dtype(w, dtype))


@public
def lu(x: Array) -> tuple[Any, Any, Any]:
    """The LU factors with partial pivoting (LAPACK's getrf): L and U in one matrix, the pivots, and
    the permutation of rows, both int32."""
    factors, pivots, permutation = bind(primitives.lu, matrix("lu", x))
    return factors, of_dtype(pivots, INT32), of_dtype(permutation, INT32)


@public
def lu_pivots_to_permutation(pivots: Array, permutation_size: int) -> Any:
    """The permutation of rows that successive exchanges with the pivots make.

    Raises TypeError for pivots that are no integers, ValueError for more of them than
    `permutation_size`.
    """
    given = array(pivots, "lu_pivots_to_permutation")
    if given.dtype.kind not in "iu":
        raise located(TypeError, f"The pivots are integers, got {given.dtype.name}")
    if given.ndim < 1:
        raise located(ValueError, f"The pivots have an axis, got shape {spelled(given.shape)}")
    if permutation_size < given.shape[-1]:
        raise located(
            ValueError,
            f"Output permutation size {permutation_size} has to exceed the trailing dimension of "
            f"the pivots. Got pivots size {given.shape[-1]}",
        )
    wide = of_dtype(given, np.dtype("int64"))
    permutation = bind(primitives.pivots_to_permutation, wide, size=int(permutation_size))
    return of_dtype(permutation, given.dtype)


@public
def triangular_solve(
    a: Array,
    b: Array,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """The solution x of x A = b, or of A x = b with `left_side`, where A is a triangle of a,
    transposed or conjugated on request.

    Reads that triangle only; b may lack the axis of several right-hand sides. A zero on the
    diagonal gives infinities and NaN. Raises ValueError for shapes that do not match.
    """
    x, y = array(a, "triangular_solve"), array(b, "triangular_solve", 1)
    dtype = same_dtypes("triangular_solve", [x, y])
    x, y = of_dtype(x, dtype), of_dtype(y, dtype)
    x = matrix("triangular_solve", x)
    if x.shape[-1] != x.shape[-2]:
        raise located(
            ValueError,
            "The first input to triangular_solve must be a square matrix. Got shape "
            f"{spelled(x.shape)}.",
        )
    is_vector = y.ndim == x.ndim - 1
    if is_vector:
        y = y[..., None] if left_side else y[..., None, :]
    common = -2 if left_side else -1
    if y.ndim != x.ndim or y.shape[:-2] != x.shape[:-2] or y.shape[common] != x.shape[-1]:
        raise located(
            ValueError,
            f"Incompatible shapes for arguments to triangular_solve: {spelled(x.shape)} and "
            f"{spelled(np.shape(b))}.",
        )
    if conjugate_a and dtype.kind == "c":
        x = np.conjugate(x)
    # x A = b is A^T x^T = b^T.
    form = int(bool(transpose_a) == bool(left_side))
    y = y if left_side else np.matrix_transpose(y)
    solution = y if is_empty(y.shape) else triangular(x, y, bool(lower), bool(unit_diagonal), form)
    solution = solution if left_side else np.matrix_transpose(solution)
    if not is_vector:
        return solution
    return solution[..., 0] if left_side else solution[..., 0, :]


# ------------------------------------------------------------------------------ orthogonal factors


@public
def householder_product(a: Array, taus: Array) -> Any:
    """The first columns, as many as `a` has, of the product of Householder reflections I - tau v
    v^H, whose v are below its diagonal.

    LAPACK's orgqr, by the compact WY form (C. Puglisi, 1992). Raises ValueError for more columns
    than rows, or more taus than columns.
    """
    x, t = matrix("householder_product", a), array(taus, "householder_product", 1)
    m, n = x.shape[-2:]
    if m < n:
        raise located(
            ValueError,
            "The first argument to householder_product must have at least as many rows as columns, "
            f"got shape {spelled(x.shape)}",
        )
    _check_taus("householder_product", x, t)
    return reflections.over_batch(reflections.product_of, 2, 1)(x, of_dtype(t, x.dtype))


def _check_taus(name: str, x: Any, taus: Any) -> None:
    same_dtypes(name, [x, taus])
    if (
        taus.ndim != x.ndim - 1
        or taus.shape[:-1] != x.shape[:-2]
        or taus.shape[-1] > extreme(x.shape[-2], x.shape[-1], -1)
    ):
        raise located(
            ValueError,
            f"The second argument to {name} must not have more elements than the minimum of the "
            f"first argument's rows and columns, got shapes {spelled(x.shape)} and "
            f"{spelled(taus.shape)}",
        )


@public
def ormqr(a: Array, taus: Array, c: Array, *, left: bool = True, transpose: bool = False) -> Any:
    """Q c, or c Q, for the product Q of Householder reflections I - tau v v^H, whose v are below
    the diagonal of a; Q^H with `transpose`.

    Raises ValueError for shapes that do not match.
    """
    x, t, y = matrix("ormqr", a), array(taus, "ormqr", 1), matrix("ormqr", c, position=2)
    _check_taus("ormqr", x, t)
    same_dtypes("ormqr", [x, y])
    if y.shape[-2 if left else -1] != x.shape[-2] or y.shape[:-2] != x.shape[:-2]:
        raise located(
            ValueError,
            f"Incompatible shapes for arguments to ormqr: {spelled(x.shape)} and "
            f"{spelled(y.shape)}.",
        )

    def one(x: Any, t: Any, y: Any) -> Any:
        return reflections.multiplied(x, t, y, bool(left), bool(transpose))

    return reflections.over_batch(one, 2, 1, 2)(x, of_dtype(t, x.dtype), y)


@public
def qr(
    x: Array, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> Any:
    """The QR factors Q R = x by Householder reflections (LAPACK's geqrf).

    With `pivoting` also the int32 permutation p for which Q R = x[:, p], by the largest remaining
    column at each position (P. Businger and G. Golub, 1965), which has LAPACK's interface of geqp3
    and is a loop here.
    """
    a = matrix("qr", x)
    m, n = a.shape[-2:]
    if not pivoting:
        q, r = bind(primitives.qr, a, full_matrices=bool(full_matrices) and not is_at_most(m, n))
        return q, r
    width = m if full_matrices else extreme(m, n, -1)

    def one(a: Any) -> Any:
        packed, taus, order = reflections.pivoted_qr(a)
        padded = packed[:, :width]
        if not is_at_most(width, n):
            padded = np.concatenate([packed, fill(0, (m, width - n), a.dtype)], 1)
        q = reflections.product_of(padded, taus)
        return q, np.triu(packed)[:width], order

    q, r, order = reflections.over_batch(one, 2)(a)
    return q, r, of_dtype(order, INT32)


@public
def hessenberg(a: Array) -> tuple[Any, Any]:
    """The upper Hessenberg form Q^H a Q with the vectors of Q's Householder reflections below it,
    and their taus.

    `householder_product` takes both without the first row and column. G. Golub and C. Van Loan,
    Matrix Computations, algorithm 7.4.2.
    """
    x = matrix("hessenberg", a, square=True)
    factors = reflections.over_batch(reflections.hessenberg, 2)(x)
    return factors[0], factors[1]


@public
def tridiagonal(a: Array, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """The tridiagonal form Q^H a Q of a Hermitian matrix: its triangle with the vectors of Q's
    reflections in it, the diagonal, the elements beside it, and taus.

    Reads one triangle. Raises ValueError for matrices without rows.
    """
    x = matrix("tridiagonal", a, square=True)
    if x.shape[-1] < 1:
        raise located(ValueError, "tridiagonal takes matrices of at least one row")
    packed, d, e, taus = reflections.over_batch(_tridiagonal_of_one(bool(lower)), 2)(x)
    return packed, d, e, taus


def _tridiagonal_of_one(lower: bool) -> Callable[[Any], tuple[Any, ...]]:
    def one(a: Any) -> tuple[Any, ...]:
        # The upper triangle, backwards along both axes, is the lower one of a matrix of that kind.
        x = a if lower else np.flip(a, (0, 1))
        part = np.tril(x, -1)
        eye = identity(x.shape[0], x.dtype)
        whole = part + adjoint(part) + np.real(x) * eye
        h, taus = reflections.hessenberg(whole.astype(x.dtype))
        d = np.real(np.diagonal(h))
        e = np.real(np.diagonal(h, -1))
        packed = np.tril(h) + np.triu(x, 1)
        if not lower:
            return np.flip(packed, (0, 1)), np.flip(d), np.flip(e), np.flip(taus)
        return packed, d, e, taus

    return one


# ------------------------------------------------------------------------------------------- others


@public
def symmetric_product(
    a_matrix: Array,
    c_matrix: Array,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """The product alpha a a^T + beta c, from its lower triangle with `symmetrize_output`."""
    a = matrix("symmetric_product", a_matrix)
    c = matrix("symmetric_product", c_matrix, position=1)
    same_dtypes("symmetric_product", [a, c])
    product = np.matmul(a, np.matrix_transpose(a)) * alpha + c * beta
    if symmetrize_output:
        low = np.tril(product)
        product = low + np.matrix_transpose(np.tril(product, -1))
    return product


@public
def tridiagonal_solve(
    dl: Array, d: Array, du: Array, b: Array, *, perturb_singular: bool = False
) -> Any:
    """The solution x of systems with tridiagonal matrices: dl below the diagonal d, du above it,
    for right-hand sides (..., n, k).

    The first of dl and the last of du do not count. Gaussian elimination with partial pivoting, as
    LAPACK's gtsv. A singular matrix gives infinities and NaN, or with `perturb_singular` a large
    finite solution: pivots are then at least the machine epsilon times the largest element of the
    triangular factor. Raises TypeError for shapes that do
    not match.
    """
    given = [array(v, "tridiagonal_solve", k) for k, v in enumerate((dl, d, du))]
    right = matrix("tridiagonal_solve", b, position=3)
    dtype = same_dtypes("tridiagonal_solve", [*given, right])
    if any(v.shape != right.shape[:-1] for v in given):
        shapes = ", ".join(spelled(v.shape) for v in (*given, right))
        raise located(
            TypeError, f"Incompatible shapes for arguments to tridiagonal_solve: {shapes}"
        )
    if is_empty(right.shape):
        return right
    operands = [of_dtype(v, dtype) for v in (*given, right)]
    return tridiagonals.solve(*operands, perturb_singular=perturb_singular)
