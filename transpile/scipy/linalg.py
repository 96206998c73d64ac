"""scipy.linalg for traced functions: the functions and arguments of jax.scipy.linalg.

Leading axes are a batch. Integers are computed in float64; the rest in its own precision. The
arguments `overwrite_a`, `overwrite_b`, `check_finite` and `lapack_driver` change nothing. What
SciPy finds out from the values and raises LinAlgError for becomes infinities and NaN; shapes raise
ValueError or LinAlgError. Arrays that are not traced give arrays: the graph of the call is then
computed with NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import lax
from transpile.ir.indices.requirements import is_at_most, is_open
from transpile.ir.types import INT64, broadcast_shapes, real_dtype
from transpile.numpy.core.promotion import Array, Function, as_array, fill, has_tracer, unsupported
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import smaller_of
from transpile.numpy.linalg.common import adjoint, check_square, common_operands, identity, matrices
from transpile.numpy.linalg.factors import with_zeros_below
from transpile.numpy.linalg.solving import triangular
from transpile.primitives.linalg import decompositions as primitives
from transpile.primitives.rules import apply, broadcast
from transpile.scipy.banded import solve_banded, solveh_banded
from transpile.scipy.eigenvalues import eig, eigvals, lstsq
from transpile.scipy.exponential import exponential
from transpile.scipy.factorizations import (
    eigh_tridiagonal,
    expm_frechet,
    funm,
    hessenberg,
    polar,
    qr_multiply,
    rsf2csf,
    schur,
    solve_sylvester,
)
from transpile.scipy.matrices import (
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    leslie,
    pascal,
)
from transpile.trace.trace import bind, trace_function
from transpile.trace.tracer import Tracer, named
from transpile.transforms.interpret import interpret

__all__ = [
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "eig",
    "eigh_tridiagonal",
    "eigvals",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "lstsq",
    "pascal",
    "polar",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve_banded",
    "solve_sylvester",
    "solveh_banded",
]


def _public(implementation: Function) -> Function:
    """The function for traced values, and for others."""

    @functools.wraps(implementation)
    def function(*args: Any, **kwargs: Any) -> Any:
        if has_tracer(args) or has_tracer(kwargs):
            return named(implementation(*args, **kwargs))
        return _computed(functools.partial(implementation, *args, **kwargs))

    __all__.append(implementation.__name__)
    return function  # type: ignore[return-value]


def _computed(function: Callable[[], Any]) -> Any:
    """The result of a function of nothing, traced values in it computed. Pieces that NumPy computes
    at once, of arrays, give no warnings either."""

    def traced() -> tuple[list[Any], Any]:
        result = function()
        parts = list(result) if isinstance(result, tuple) else [result]
        return [p for p in parts if isinstance(p, Tracer)], result

    with np.errstate(all="ignore"):
        graph, result = trace_function(traced, [], [], name="linalg")
    values = iter(interpret(graph, []))
    parts = result if isinstance(result, tuple) else (result,)
    arrays = tuple(next(values)[()] if isinstance(p, Tracer) else p for p in parts)
    return arrays if isinstance(result, tuple) else arrays[0]


# ------------------------------------------------------------------------------------------ LU


@_public
def lu(
    a: Array,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """The LU factors with partial pivoting A = P L U (LAPACK's getrf): P, L and U; with `permute_l`
    P L and U; with `p_indices` P as row indices, int32."""
    x = matrices(a)
    m, n = x.shape[-2:]
    k = smaller_of(m, n)
    # Rows of zeros below are exchanged for none of the others.
    factors, _, permutation = bind(primitives.lu, with_zeros_below(x) if is_open(m, n) else x)
    factors, permutation = factors[..., :m, :], permutation[..., :m]
    upper = np.triu(factors[..., :k, :])
    lower = np.tril(factors[..., :, :k], -1) + identity(m, x.dtype)[:, :k]
    matrix = _exchange(permutation)
    if permute_l:
        return np.matmul(matrix.astype(x.dtype), lower), upper
    if p_indices:
        return np.argsort(permutation, axis=-1).astype(np.int32), lower, upper
    return matrix.astype(real_dtype(x.dtype)), lower, upper


def _exchange(permutation: Any) -> Any:
    """The matrices that undo a permutation of rows: True at (i, j) where row j of the result has
    been row i."""
    *head, m = permutation.shape
    shape = (*head, m, m)
    row = apply("iota", shape=shape, dimension=len(shape) - 2, dtype=INT64)
    return np.equal(row, broadcast(permutation, shape, (*range(len(head)), len(shape) - 1)))


@_public
def lu_factor(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The LU factors with partial pivoting, L and U in one matrix, and the int32 pivots, for
    `lu_solve`."""
    factors, pivots, _ = bind(primitives.lu, matrices(a))
    return factors, pivots.astype(np.int32)


@_public
def lu_solve(
    lu_and_piv: tuple[Array, Array],
    b: Array,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The solution of A x = b from the factors of `lu_factor`; of A^T x = b for trans=1, A^H x = b
    for trans=2.

    Raises ValueError for another `trans`.
    """
    pivots = as_array(lu_and_piv[1]).astype(INT64)
    factors, y, is_vector = _system(lu_and_piv[0], b)
    if trans not in (0, 1, 2):
        raise located(ValueError, "illegal value in 2th argument of internal gesv|posv")
    permutation = bind(primitives.pivots_to_permutation, pivots, size=factors.shape[-1])
    if trans == 0:
        y = triangular(factors, primitives.rows_taken(y, permutation), True, unit_diagonal=True)
        y = triangular(factors, y, False)
    else:
        y = triangular(factors, y, False, form=trans)
        y = triangular(factors, y, True, unit_diagonal=True, form=trans)
        y = primitives.rows_taken(y, np.argmax(_exchange(permutation), axis=-1))
    return y[..., 0] if is_vector else y


def _system(a: Array, b: Array) -> tuple[Any, Any, bool]:
    """A stack of matrices, its right-hand sides as matrices, and whether they are vectors."""
    x, y = as_array(a), as_array(b)
    check_square(x)
    is_vector = y.ndim == 1
    if is_vector:
        y = y[:, None]
    if y.ndim < 2 or y.shape[-2] != x.shape[-1]:
        raise located(ValueError, f"Shapes of a {x.shape} and b {np.shape(b)} are incompatible")
    x, y = common_operands(x, y)
    head: Any = broadcast_shapes([x.shape[:-2], y.shape[:-2]])
    x = np.broadcast_to(x, (*head, *x.shape[-2:]))
    return x, np.broadcast_to(y, (*head, *y.shape[-2:])), is_vector


# ------------------------------------------------------------------------- Cholesky, triangular


@_public
def cholesky(
    a: Array, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The Cholesky factor U of A = U^H U, or with `lower` L of A = L L^H (LAPACK's potrf), from
    that triangle.

    NaN where A is not positive definite, where SciPy raises LinAlgError.
    """
    return _factor(a, lower)


def _factor(a: Array, lower: bool) -> Any:
    x = matrices(a, square=True)
    return bind(primitives.cholesky, x) if lower else adjoint(bind(primitives.cholesky, adjoint(x)))


@_public
def cho_factor(
    a: Array, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The factor of `cholesky`, whose other triangle is zero, and `lower`, for `cho_solve`."""
    return _factor(a, lower), lower


@_public
def cho_solve(
    c_and_lower: tuple[Array, bool],
    b: Array,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The solution of A x = b from the factor of `cho_factor`, by two triangular systems."""
    factor, y, is_vector = _system(c_and_lower[0], b)
    lower = bool(c_and_lower[1])
    y = triangular(factor, y, lower, form=0 if lower else 2)
    y = triangular(factor, y, lower, form=2 if lower else 0)
    return y[..., 0] if is_vector else y


_FORMS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


@_public
def solve_triangular(
    a: Array,
    b: Array,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """The solution of A x = b for a triangular A, of which the other triangle is not read; of A^T
    or A^H by `trans`.

    A zero on the diagonal gives infinities and NaN. Raises ValueError for another `trans`.
    """
    if trans not in _FORMS:
        raise located(ValueError, f"trans is 0, 1, 2, 'N', 'T' or 'C', not {trans!r}")
    x, y, is_vector = _system(a, b)
    y = triangular(x, y, bool(lower), bool(unit_diagonal), _FORMS[trans])
    return y[..., 0] if is_vector else y


@_public
def solve(
    a: Array,
    b: Array,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
    transposed: bool = False,
) -> Any:
    """The solution of A x = b, for a vector or matrices b, by LU factors; by a Cholesky factor for
    assume_a="pos".

    Of symmetric ("sym") and Hermitian ("her") matrices one triangle is read, and LU factors
    computed. A singular matrix gives infinities and NaN.
    """
    x, y, is_vector = _system(a, b)
    if assume_a in ("pos", "positive definite"):
        factor = _factor(x, lower)
        y = triangular(factor, y, lower, form=0 if lower else 2)
        y = triangular(factor, y, lower, form=2 if lower else 0)
    else:
        if assume_a in ("sym", "symmetric", "her", "hermitian"):
            x = _reflected(x, lower, assume_a.startswith("her"))
        y = np.linalg.solve(np.matrix_transpose(x) if transposed else x, y)
    return y[..., 0] if is_vector else y


def _reflected(x: Any, lower: bool, conjugated: bool) -> Any:
    """The symmetric or Hermitian matrix that a triangle stands for."""
    part = np.tril(x, -1) if lower else np.triu(x, 1)
    other = adjoint(part) if conjugated else np.matrix_transpose(part)
    return part + other + x * identity(x.shape[-1], x.dtype)


@_public
def inv(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverses of square matrices, by LU factors; infinities and NaN for singular ones."""
    return np.linalg.inv(_traced(a))


@_public
def det(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinants of square matrices: the products of the pivots of LU factors."""
    return np.linalg.det(_traced(a))


def _traced(a: Array) -> Any:
    """The array as a value of the trace, so that all that is made of it is one."""
    x = as_array(a)
    return x if isinstance(x, Tracer) else broadcast(x, x.shape, range(x.ndim))


# ------------------------------------------------------------- QR, eigenvalues, singular values


@_public
def qr(
    a: Array,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """The QR factors by Householder reflections (LAPACK's geqrf), in the modes full, economic and
    r.

    With `pivoting` also the permutation of columns. Raises UnsupportedError for mode="raw",
    ValueError for others.
    """
    if mode not in ("full", "qr", "r", "economic"):
        text = "Mode argument should be one of ['full', 'r', 'economic', 'raw']"
        raise unsupported("mode='raw' of qr") if mode == "raw" else located(ValueError, text)
    x = matrices(a)
    if pivoting:
        factors = lax.linalg.qr(x, pivoting=True, full_matrices=mode != "economic")
        return factors[1:] if mode == "r" else factors
    m, n = x.shape[-2:]
    if is_open(m, n):
        q, r = np.linalg.qr(x, "reduced" if mode == "economic" else "complete")
        return (r,) if mode == "r" else (q, r)
    q, r = bind(primitives.qr, x, full_matrices=mode != "economic" and not is_at_most(m, n))
    return (r,) if mode == "r" else (q, r)


@_public
def svd(
    a: Array,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """The singular value decomposition U, s, V^H, s in descending order (LAPACK's gesdd); or s
    alone."""
    decompose: Any = np.linalg.svd
    factors = decompose(_traced(a), full_matrices, compute_uv)
    return tuple(factors) if compute_uv else factors


@_public
def eigh(
    a: Array,
    b: Array | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """The eigenvalues, in ascending order, and eigenvectors of Hermitian matrices, from one
    triangle (LAPACK's syevd).

    With b those of a v = w b v, for positive definite b, by its Cholesky factor. Raises
    UnsupportedError for another `type` than 1, and for `eigvals`.
    """
    if type != 1:
        raise unsupported(f"type={type} of eigh")
    if eigvals is not None:
        raise unsupported("eigvals of eigh")
    x = matrices(a, square=True)
    if b is None:
        results = bind(primitives.eigh, x, lower=bool(lower), vectors=not eigvals_only)
        return results if eigvals_only else tuple(results)
    x, y = common_operands(x, b)
    check_square(y)
    factor = _factor(y, True) if lower else adjoint(_factor(y, False))
    inner = triangular(factor, _reflected(x, bool(lower), True), True)
    inner = adjoint(triangular(factor, adjoint(inner), True))
    if eigvals_only:
        return bind(primitives.eigh, inner, lower=True, vectors=False)
    w, v = bind(primitives.eigh, inner, lower=True, vectors=True)
    return w, triangular(factor, v, True, form=2)


# ---------------------------------------------------------------------------- functions of matrices


@_public
def expm(A: Array, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The exponentials of square matrices, by scaling, squaring and Padé approximants of degree 13
    (7 in single precision).

    NaN where the 1-norm is more than about 5 * 2**max_squarings. The number of squarings depends on
    values, so all are computed and some selected. N. Higham, The Scaling and Squaring Method for
    the Matrix Exponential Revisited, 2005.
    """
    return exponential(matrices(A, square=True), upper_triangular, max_squarings)


@_public
def sqrtm(A: Array, blocksize: int = 1) -> Any:
    """The principal square roots of square matrices, by the Schur form; complex always, as in JAX.

    Å. Björck and S. Hammarling, A Schur Method for the Square Root of a Matrix, 1983. Its
    derivative is that of diagonalisable matrices. `blocksize` changes nothing.
    """
    return bind(primitives.sqrtm, matrices(A, square=True))


# -------------------------------------------------------------------------------- special matrices


@_public
def toeplitz(c: Array, r: Array | None = None) -> Any:
    """The Toeplitz matrix with first column c and first row r, whose first element does not count;
    by default the conjugate of c."""
    column = np.atleast_1d(_traced(c))
    row = np.conjugate(column) if r is None else np.atleast_1d(_traced(r))
    m, n = column.shape[-1], row.shape[-1]
    head: Any = broadcast_shapes([column.shape[:-1], row.shape[:-1]])
    dtype = np.result_type(column.dtype, row.dtype)
    if m == 0 or n == 0:
        return fill(0, (*head, m, n), dtype)
    column = np.broadcast_to(column.astype(dtype), (*head, m))
    row = np.broadcast_to(row.astype(dtype), (*head, n))
    values = np.concatenate([np.flip(column, -1), row[..., 1:]], -1)
    down, across = (apply("iota", shape=(m, n), dimension=k, dtype=INT64) for k in (0, 1))
    diagonal = across - down + (m - 1)
    matrix = apply("gather", values, diagonal, axes=(len(head),), mode="promise")
    return np.moveaxis(matrix, (0, 1), (-2, -1))


@_public
def block_diag(*arrs: Array) -> Any:
    """The block diagonal matrix of matrices, in the dtype that they promote to; vectors are rows.

    Raises ValueError for more than two axes.
    """
    parts = [np.atleast_2d(_traced(a)) for a in arrs] or [fill(0, (1, 0), np.dtype("float64"))]
    wide = [k for k, p in enumerate(parts) if p.ndim > 2]
    if wide:
        raise located(
            ValueError,
            f"arguments in the following positions have dimension greater than 2: {wide}",
        )
    dtype = np.result_type(*[p.dtype for p in parts])
    columns = sum(p.shape[1] for p in parts)
    strips, before = [], 0
    for part in parts:
        after = columns - before - part.shape[1]
        strips.append(np.pad(part.astype(dtype), ((0, 0), (before, after))))
        before += part.shape[1]
    return np.concatenate(strips, 0)
