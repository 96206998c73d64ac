"""`jax.lax.linalg`: decompositions of matrices, the last two axes; those before them are a batch.

As in `transpile.scipy.linalg`, what has no decomposition gives NaN. Arguments that choose between
LAPACK's algorithms and other libraries are accepted and change nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.lax.arrays.promotion import (
    Array,
    array,
    of_dtype,
    public,
    same_dtypes,
    spelled,
)
from transpile.lax.linalg import reflections, tridiagonals
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import fill, is_empty, unsupported
from transpile.numpy.linalg.common import adjoint, identity
from transpile.numpy.linalg.solving import triangular
from transpile.primitives.linalg import decompositions as rows
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


class EigImplementation(enum.Enum):
    """Where eigenvalues are computed; here always by LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """How eigenvalues of Hermitian matrices are computed; here as LAPACK does."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """How singular values are computed; here as LAPACK does."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


# -------------------------------------------------------------------------------------- operands


def _matrix(name: str, value: Any, square: bool = False, position: int = 0) -> Any:
    """A stack of matrices of a dtype that LAPACK has."""
    x = array(value, name, position)
    if x.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise located(
            TypeError,
            f"{name} does not accept dtype {x.dtype.name}. Accepted dtypes are subtypes of "
            "float32, float64, complex64, complex128.",
        )
    if x.ndim < 2:
        raise located(
            TypeError,
            f"Input {position} to {name} must have rank at least 2, but got "
            f"shape={spelled(x.shape)}",
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise located(
            ValueError,
            f"The input to {name} must be a square matrix. Got shape {spelled(x.shape)}.",
        )
    return x


def _symmetrized(x: Any) -> Any:
    return (x + adjoint(x)) / 2


# ------------------------------------------------------------------------------ triangular factors


@public
def cholesky(x: Array, *, symmetrize_input: bool = True) -> Any:
    """The lower triangular L with L L^H = x; of (x + x^H) / 2 by default, else of the lower
    triangle. NaN where x is not positive definite."""
    a = _matrix("cholesky", x, square=True)
    return bind(rows.cholesky, _symmetrized(a) if symmetrize_input else a)


@public
def cholesky_update(r_matrix: Array, w_vector: Array) -> Any:
    """The upper triangular factor of R^T R + w w^T, from R and w; real."""
    r, w = _matrix("cholesky_update", r_matrix, square=True), array(w_vector, "cholesky_update", 1)
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
    """L and U in one matrix, the pivots, and the order of rows that they make, both int32."""
    factors, pivots, permutation = bind(rows.lu, _matrix("lu", x))
    return factors, of_dtype(pivots, INT32), of_dtype(permutation, INT32)


@public
def lu_pivots_to_permutation(pivots: Array, permutation_size: int) -> Any:
    """The order of so many rows after each has been exchanged with that of its pivot."""
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
    found = bind(rows.pivots_to_permutation, wide, size=int(permutation_size))
    return of_dtype(found, given.dtype)


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
    transposed or conjugated if asked for. b may lack the axis of several right sides."""
    x, y = array(a, "triangular_solve"), array(b, "triangular_solve", 1)
    dtype = same_dtypes("triangular_solve", [x, y])
    x, y = of_dtype(x, dtype), of_dtype(y, dtype)
    x = _matrix("triangular_solve", x)
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
    found = y if is_empty(y.shape) else triangular(x, y, bool(lower), bool(unit_diagonal), form)
    found = found if left_side else np.matrix_transpose(found)
    if not is_vector:
        return found
    return found[..., 0] if left_side else found[..., 0, :]


# ------------------------------------------------------------------------------ orthogonal factors


@public
def householder_product(a: Array, taus: Array) -> Any:
    """As many columns of the product of I - tau v v^H as `a` has, the vectors v standing below its
    diagonal."""
    x, t = _matrix("householder_product", a), array(taus, "householder_product", 1)
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
        or taus.shape[-1] > min(x.shape[-2:])
    ):
        raise located(
            ValueError,
            f"The second argument to {name} must not have more elements than the minimum of the "
            f"first argument's rows and columns, got shapes {spelled(x.shape)} and "
            f"{spelled(taus.shape)}",
        )


@public
def ormqr(a: Array, taus: Array, c: Array, *, left: bool = True, transpose: bool = False) -> Any:
    """Q c, or c Q, where Q is the product of I - tau v v^H, the vectors v standing below the
    diagonal of a; its adjoint with `transpose`."""
    x, t, y = _matrix("ormqr", a), array(taus, "ormqr", 1), _matrix("ormqr", c, position=2)
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
    """Q and R with Q R = x. With `pivoting` also the order p of columns for which Q R = x[:, p],
    and the elements on R's diagonal do not grow."""
    a = _matrix("qr", x)
    m, n = a.shape[-2:]
    if not pivoting:
        q, r = bind(rows.qr, a, full_matrices=bool(full_matrices) and m > n)
        return q, r
    width = m if full_matrices else min(m, n)

    def one(a: Any) -> Any:
        packed, taus, order = reflections.pivoted_qr(a)
        padded = packed[:, :width]
        if width > n:
            padded = np.concatenate([packed, fill(0, (m, width - n), a.dtype)], 1)
        q = reflections.product_of(padded, taus)
        return q, np.triu(packed)[:width], order

    q, r, order = reflections.over_batch(one, 2)(a)
    return q, r, of_dtype(order, INT32)


@public
def hessenberg(a: Array) -> tuple[Any, Any]:
    """The upper Hessenberg form Q^H a Q, the vectors of Q's reflections below it, and their tau:
    what `householder_product` takes, without the first row and column."""
    x = _matrix("hessenberg", a, square=True)
    found = reflections.over_batch(reflections.hessenberg, 2)(x)
    return found[0], found[1]


@public
def tridiagonal(a: Array, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """The tridiagonal form Q^H a Q of a symmetric or Hermitian matrix, read from a triangle of it:
    that triangle with the vectors of Q's reflections in it, the diagonal, the elements beside it,
    and tau."""
    x = _matrix("tridiagonal", a, square=True)
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


# -------------------------------------------------------------------- eigenvalues, singular values


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
    """The eigenvectors and, in this order, the eigenvalues of (x + x^H) / 2, or of a triangle."""
    a = _matrix("eigh", x, square=True)
    if subset_by_index is not None and tuple(subset_by_index) != (0, a.shape[-1]):
        raise located(NotImplementedError, "subset_by_index not supported on CPU and GPU")
    a = _symmetrized(a) if symmetrize_input else a
    w, v = bind(rows.eigh, a, lower=bool(lower), vectors=True)
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
    """The eigenvalues, the left eigenvectors and the right ones, as far as asked for; complex. The
    left ones are from the inverse of the right ones: NaN or of no meaning where there are fewer
    than rows."""
    a = _matrix("eig", x, square=True)
    if not (compute_left_eigenvectors or compute_right_eigenvectors):
        return [bind(rows.eig, a, vectors=False)]
    w, v = bind(rows.eig, a, vectors=True)
    found = [w]
    if compute_left_eigenvectors:
        found.append(_left_vectors(v))
    if compute_right_eigenvectors:
        found.append(v)
    return found


@public
def schur(
    x: Array,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Any, ...]:
    """The Schur form T and the vectors Z with Z T Z^H = x, or T alone. T is upper triangular, but
    for blocks of two rows where a real matrix has complex eigenvalues."""
    if sort_eig_vals or select_callable is not None:
        raise located(
            NotImplementedError,
            "The function sort_eig_vals of lax.linalg.schur is not supported, as in JAX",
        )
    t, z = bind(rows.schur, _matrix("schur", x, square=True))
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
    """U, the singular values and V^H; or the values alone."""
    a = _matrix("svd", x)
    if subset_by_index is not None:
        if full_matrices and subset_by_index != (0, min(a.shape[-2:])):
            raise located(ValueError, "full_matrices and subset_by_index cannot both be set")
        if subset_by_index != (0, min(a.shape[-2:])):
            raise located(NotImplementedError, "subset_by_index not supported on CPU and GPU")
    if not compute_uv:
        return bind(rows.svd, a, full_matrices=False, vectors=False)
    full = bool(full_matrices) and a.shape[-2] != a.shape[-1]
    u, s, vh = bind(rows.svd, a, full_matrices=full, vectors=True)
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
    """The polar decomposition x = u h, by singular values: u, h, 0 iterations, and whether all of
    it is finite."""
    if dynamic_shape is not None:
        raise unsupported("the argument dynamic_shape of lax.linalg.qdwh")
    a = _matrix("qdwh", x)
    if a.ndim != 2 or a.shape[0] < a.shape[1]:
        raise located(
            ValueError,
            "The input `x` must be a matrix with at least as many rows as columns, got "
            f"{spelled(a.shape)}",
        )
    w, s, vh = bind(rows.svd, a, full_matrices=False, vectors=True)
    u, h = np.matmul(w, vh), np.matmul(adjoint(vh) * s[None, :].astype(a.dtype), vh)
    return u, h, fill(0, (), np.dtype("int64")), np.all(np.isfinite(np.real(h)))


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
    """alpha a a^T + beta c, which is symmetric whether asked for or not where c is."""
    a = _matrix("symmetric_product", a_matrix)
    c = _matrix("symmetric_product", c_matrix, position=1)
    same_dtypes("symmetric_product", [a, c])
    found = np.matmul(a, np.matrix_transpose(a)) * alpha + c * beta
    if symmetrize_output:
        low = np.tril(found)
        found = low + np.matrix_transpose(np.tril(found, -1))
    return found


@public
def tridiagonal_solve(
    dl: Array, d: Array, du: Array, b: Array, *, perturb_singular: bool = False
) -> Any:
    """The solution x of the system with the diagonal d, dl below it (the first element of which
    does not count) and du above it (the last does not)."""
    given = [array(v, "tridiagonal_solve", k) for k, v in enumerate((dl, d, du))]
    right = _matrix("tridiagonal_solve", b, position=3)
    dtype = same_dtypes("tridiagonal_solve", [*given, right])
    if any(v.shape != right.shape[:-1] for v in given):
        shapes = ", ".join(spelled(v.shape) for v in (*given, right))
        raise located(
            TypeError, f"Incompatible shapes for arguments to tridiagonal_solve: {shapes}"
        )
    if is_empty(right.shape):
        return right
    return tridiagonals.solve(*(of_dtype(v, dtype) for v in (*given, right)))
