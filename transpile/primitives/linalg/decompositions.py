"""LAPACK primitives: triangular solves, factorizations, eigenvalues, singular values, and functions
of matrices, with their derivatives.

A matrix is the last two axes of an operand; the axes before them are a batch. Where there is no
decomposition (numbers that are not finite, a matrix that is not positive definite, an iteration
that does not converge) the results are NaN: compiled code raises no errors. JVP rules differentiate
the defining equation and solve it for the tangents of the factors; the docstrings have that
equation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.indices.requirements import extreme, is_at_most
from transpile.ir.primitive import Axis, NoRule, Primitive, TypeRule, register
from transpile.ir.types import INT64, ArrayType, real_dtype
from transpile.primitives.indexing import PROMISED
from transpile.primitives.reference import decompositions as reference
from transpile.primitives.reference.schur import schur as reference_schur
from transpile.primitives.rules import apply, transposed, with_batch_axis, zeros

Results = tuple[ArrayType, ...]


def _check_matrix(x: ArrayType, square: bool = False) -> tuple[Any, Any]:
    """The sizes of a matrix. Raises TypeError unless LAPACK takes it."""
    if x.ndim < 2 or x.dtype.kind not in "fc" or real_dtype(x.dtype).itemsize < 4:
        raise TypeError(
            f"{x} has no decomposition: LAPACK takes matrices of single and double precision"
        )
    m, n = x.shape[-2:]
    if square and m != n:
        raise TypeError(f"the matrices of {x} are not square")
    return m, n


def _routine(
    name: str,
    meaning: Callable[..., Any],
    type_rule: TypeRule,
    jvp: Callable[..., Any] | None = None,
    dtypes: str = "fc",
    library: str = "lapack",
) -> Primitive:
    """Register a primitive of one operand that is called for each matrix of a batch: its batching
    rule is itself."""

    def batch(_: Axis, __: Any, x: Any, **params: Any) -> Any:
        results = apply(name, x, **params)
        return (results, [True] * len(results)) if isinstance(results, list) else (results, True)

    return register(
        Primitive(
            name,
            "routine",
            meaning,
            type_rule,
            dtypes=dtypes,
            library=library,
            jvp=jvp,
            batch=batch,
        )
    )


def _identity(size: Any, dtype: Any) -> Any:
    """The identity matrix by comparing indices, which is inlined; a constant would be stored."""
    row, column = (
        apply("iota", shape=(size, size), dimension=axis, dtype=INT64) for axis in (0, 1)
    )
    return np.equal(row, column).astype(dtype)


def _diagonal(x: Any) -> Any:
    return np.diagonal(x, axis1=-2, axis2=-1)


# ------------------------------------------------------------------------- triangular systems


def _solve_type(
    a: ArrayType, b: ArrayType, *, lower: bool, unit_diagonal: bool, form: int
) -> ArrayType:
    _check_matrix(a, square=True)
    if b.shape[:-1] != a.shape[:-1] or b.dtype != a.dtype:
        raise TypeError(f"a triangular system of {a} cannot have the right side {b}")
    return b.strong


def _adjoint(x: Any, conjugated: bool = True) -> Any:
    matrix = transposed(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    return np.conjugate(matrix) if conjugated and x.dtype.kind == "c" else matrix


def _triangle(x: Any, lower: bool, unit_diagonal: bool = False) -> Any:
    if lower:
        return np.tril(x, -1 if unit_diagonal else 0)
    return np.triu(x, 1 if unit_diagonal else 0)


def _solve_jvp(
    tangents: Any, x: Any, a: Any, b: Any, *, lower: bool, unit_diagonal: bool, form: int
) -> Any:
    """a dx = db - da x."""
    ta, tb = tangents
    total = tb
    if ta is not None:
        ta = _triangle(ta, lower, unit_diagonal)
        change = np.matmul(_adjoint(ta, form == 2) if form else ta, x)
        total = -change if tb is None else tb - change
    params = {"lower": lower, "unit_diagonal": unit_diagonal, "form": form}
    return apply("triangular_solve", a, total, **params)


def _solve_transpose(
    ct: Any, a: Any, b: Any, *, lower: bool, unit_diagonal: bool, form: int
) -> list[Any]:
    """The transposed system, not its adjoint: the pairing is Re(ct t)."""
    if form == 2:
        a = np.conjugate(a)
    params = {"lower": lower, "unit_diagonal": unit_diagonal, "form": 0 if form else 1}
    return [None, apply("triangular_solve", a, ct, **params)]


def _solve_batch(axis: Axis, batched: Any, a: Any, b: Any, **params: Any) -> tuple[Any, bool]:
    """Batched right sides of one matrix are more columns; batched matrices are one more axis."""
    if batched[0]:
        return apply("triangular_solve", a, with_batch_axis(b, axis, batched[1]), **params), True
    *_, n, k = b.shape
    columns_last = transposed(b, (*range(1, b.ndim - 1), 0, b.ndim - 1))  # (..., n, examples, k)
    wide = apply("reshape", columns_last, shape=(*a.shape[:-2], n, axis.size * k))
    solution = apply("triangular_solve", a, wide, **params)
    solution = apply("reshape", solution, shape=tuple(columns_last.shape))
    last = solution.ndim - 1
    return transposed(solution, (last - 1, *range(last - 1), last)), True


triangular_solve = register(
    Primitive(
        "triangular_solve",
        "routine",
        reference.triangular_solve,
        _solve_type,
        dtypes="fc",
        library="lapack",
        jvp=_solve_jvp,
        transpose=_solve_transpose,
        batch=_solve_batch,
    )
)


def _solved(a: Any, b: Any, lower: bool, unit_diagonal: bool = False, form: int = 0) -> Any:
    return apply("triangular_solve", a, b, lower=lower, unit_diagonal=unit_diagonal, form=form)


def _solved_right(a: Any, b: Any, lower: bool, form: int = 0) -> Any:
    """The x of x a = b, or of x a^H = b for the form 2."""
    dual_form = {0: 1, 1: 0, 2: 0}[form]
    a = np.conjugate(a) if form == 2 else a
    return _adjoint(_solved(a, _adjoint(b, False), lower, False, dual_form), False)


# ------------------------------------------------------------------------------ LU, Cholesky, QR


def _permutation_type(pivots: ArrayType, *, size: Any) -> ArrayType:
    if pivots.ndim < 1 or pivots.dtype != INT64:
        raise TypeError(f"pivots are int64 vectors, not {pivots}")
    return pivots.with_shape((*pivots.shape[:-1], size))


pivots_to_permutation = _routine(
    "pivots_to_permutation",
    reference.pivots_to_permutation,
    _permutation_type,
    dtypes="i",
    library="",
)


def _lu_type(x: ArrayType) -> Results:
    m, n = _check_matrix(x)
    head = x.shape[:-2]
    return (
        x.strong,
        ArrayType((*head, extreme(m, n, -1)), INT64),
        ArrayType((*head, m), INT64),
    )


def rows_taken(x: Any, permutation: Any) -> Any:
    """The rows of each matrix (or elements of each vector) of a batch in the order of a
    permutation."""
    shape = tuple(permutation.shape)
    batch = [
        apply("iota", shape=shape, dimension=axis, dtype=INT64) for axis in range(len(shape) - 1)
    ]
    axes = tuple(range(len(shape)))
    return apply("gather", x, *batch, permutation, axes=axes, mode=PROMISED)


def _lu_jvp(tangents: Any, results: Any, x: Any) -> list[Any]:
    """P A = L U: L^-1 P dA U^-1 = L^-1 dL + dU U^-1, a strictly lower and an upper triangle. If A
    is not square, the factors are completed by parts of the identity."""
    lu, _, permutation = results
    *head, m, n = x.shape
    k = extreme(m, n, -1)
    permuted = rows_taken(tangents[0], permutation)
    lower = np.tril(lu[..., :, :k], -1)
    if k != m:
        rest = zeros(ArrayType((*head, m, m - k), x.dtype))
        lower = np.concatenate([lower, rest], -1)
    lower = lower + _identity(m, x.dtype)
    upper = np.triu(lu[..., :k, :])
    if k != n:
        rest = np.broadcast_to(_identity(n, x.dtype)[k:], (*head, n - k, n))
        upper = np.concatenate([upper, rest], -2)
    both = _solved(lower, permuted, lower=True, unit_diagonal=True)
    both = _solved_right(upper, both, lower=False)
    change = np.matmul(lower, np.tril(both, -1)) + np.matmul(np.triu(both), upper)
    return [change, None, None]


lu = _routine("lu", reference.lu, _lu_type, _lu_jvp)


def _cholesky_type(x: ArrayType) -> ArrayType:
    _check_matrix(x, square=True)
    return x.strong


def _of_triangle(t: Any, lower: bool) -> Any:
    """The Hermitian matrix of which one triangle is given."""
    part = _triangle(t, lower, unit_diagonal=True)
    diagonal = t * _identity(t.shape[-1], real_dtype(t.dtype))
    if t.dtype.kind == "c":
        diagonal = np.real(diagonal).astype(t.dtype)
    return part + _adjoint(part) + diagonal


def _cholesky_jvp(tangents: Any, factor: Any, x: Any) -> Any:
    """A = L L^H: L^-1 dA L^-H = L^-1 dL + (L^-1 dL)^H, of which the first term is the lower
    half."""
    inner = _solved(factor, _of_triangle(tangents[0], True), lower=True)
    inner = _solved_right(factor, inner, lower=True, form=2)
    half = np.tril(inner, -1) + inner * (_identity(x.shape[-1], real_dtype(x.dtype)) * 0.5)
    return np.matmul(factor, half)


cholesky = _routine("cholesky", reference.cholesky, _cholesky_type, _cholesky_jvp)


def _qr_type(x: ArrayType, *, full_matrices: bool) -> Results:
    m, n = _check_matrix(x)
    columns = m if full_matrices else extreme(m, n, -1)
    head = x.shape[:-2]
    return x.with_shape((*head, m, columns)), x.with_shape((*head, columns, n))


_WIDE_QR = NoRule(
    "the derivative of qr exists for square matrices, and in mode='reduced' for those with more "
    "rows than columns"
)


def _qr_jvp(tangents: Any, results: Any, x: Any, *, full_matrices: bool) -> list[Any]:
    """A = Q R: Q^H dA R^-1 = Q^H dQ + dR R^-1, a skew-Hermitian matrix and an upper triangle."""
    q, r = results
    m, n = x.shape[-2:]
    if m < n or (full_matrices and m != n):
        _WIDE_QR()
    scaled = _solved_right(r, tangents[0], lower=False)
    inner = np.matmul(_adjoint(q), scaled)
    below = np.tril(inner, -1)
    skew = below - _adjoint(below)
    if x.dtype.kind == "c":  # the diagonal of r stays real, its imaginary part belongs to q
        skew = skew + _identity(n, x.dtype) * (inner - np.real(inner))
    return [np.matmul(q, skew - inner) + scaled, np.matmul(inner - skew, r)]


qr = _routine("qr", reference.qr, _qr_type, _qr_jvp)


def _householder_type(x: ArrayType) -> Results:
    m, n = _check_matrix(x)
    head = x.shape[:-2]
    return x.with_shape((*head, n, m)), x.with_shape((*head, extreme(m, n, -1)))


householder = _routine(
    "householder",
    reference.householder,
    _householder_type,
    NoRule("the packed reflectors of LAPACK have no derivative; take q and r"),
)

# --------------------------------------------------------------------- eigenvalues, singular values


def _eigh_type(x: ArrayType, *, lower: bool, vectors: bool) -> ArrayType | Results:
    n, _ = _check_matrix(x, square=True)
    values = ArrayType((*x.shape[:-2], n), real_dtype(x.dtype))
    return (values, x.strong) if vectors else values


def _inverse_gaps(values: Any) -> Any:
    """1 / (w_j - w_i) at (i, j), and 0 on the diagonal."""
    eye = _identity(values.shape[-1], values.dtype)
    return (1 - eye) / (values[..., None, :] - values[..., :, None] + eye)


def _eigh_jvp(tangents: Any, results: Any, x: Any, *, lower: bool, vectors: bool) -> Any:
    """A V = V W: V^H dA V is dW on the diagonal, and V^H dV times the gaps w_j - w_i elsewhere."""
    if not vectors:
        w, v = apply("eigh", x, lower=lower, vectors=True)
    else:
        w, v = results
    inner = np.matmul(np.matmul(_adjoint(v), _of_triangle(tangents[0], lower)), v)
    dw = np.real(_diagonal(inner))
    if not vectors:
        return dw
    return [dw, np.matmul(v, inner * _inverse_gaps(w))]


eigh = _routine("eigh", reference.eigh, _eigh_type, _eigh_jvp)


def _eig_type(x: ArrayType, *, vectors: bool) -> ArrayType | Results:
    n, _ = _check_matrix(x, square=True)
    dtype = np.result_type(x.dtype, np.complex64)
    values = ArrayType((*x.shape[:-2], n), dtype)
    return (values, ArrayType(x.shape, dtype)) if vectors else values


def _eig_jvp(tangents: Any, results: Any, x: Any, *, vectors: bool) -> Any:
    """A V = V W: V^-1 dA V is dW on the diagonal, and V^-1 dV times the gaps w_j - w_i elsewhere.
    LAPACK normalises each vector to length 1 with a real largest entry, which dV must keep."""
    if not vectors:
        w, v = apply("eig", x, vectors=True)
    else:
        w, v = results
    inner = np.linalg.solve(v, np.matmul(tangents[0].astype(v.dtype), v))
    dw = _diagonal(inner)
    if not vectors:
        return dw
    dv = np.matmul(v, inner * _inverse_gaps(w))
    along = np.sum(np.conjugate(v) * dv, axis=-2, keepdims=True)
    dv = dv - v * np.real(along)
    largest = np.argmax(np.absolute(v), axis=-2)
    index = apply("iota", shape=tuple(v.shape), dimension=v.ndim - 2, dtype=INT64)
    is_largest = np.equal(index, largest[..., None, :])
    ratio = np.sum(np.where(is_largest, dv, 0), -2) / np.sum(np.where(is_largest, v, 0), -2)
    return [dw, dv - v * (1j * np.imag(ratio))[..., None, :]]


eig = _routine("eig", reference.eig, _eig_type, _eig_jvp)


def _svd_type(x: ArrayType, *, full_matrices: bool, vectors: bool) -> ArrayType | Results:
    m, n = _check_matrix(x)
    k, head = extreme(m, n, -1), x.shape[:-2]
    values = ArrayType((*head, k), real_dtype(x.dtype))
    if not vectors:
        return values
    rows, columns = (m, n) if full_matrices else (k, k)
    return x.with_shape((*head, m, rows)), values, x.with_shape((*head, columns, n))


_FULL_SVD = NoRule("the derivative of svd exists for full_matrices=False, or square matrices")


def _svd_jvp(tangents: Any, results: Any, x: Any, *, full_matrices: bool, vectors: bool) -> Any:
    """A = U S V^H: U^H dA V is dS on the diagonal; its Hermitian and skew-Hermitian parts elsewhere
    give U^H dU and V^H dV. If A is not square, the component of dA outside of the range of U, or of
    V, adds to dU, or dV."""
    m, n = x.shape[-2:]
    t = tangents[0]
    if vectors and full_matrices and m != n:
        _FULL_SVD()
    u, s, vh = results if vectors else apply("svd", x, full_matrices=False, vectors=True)
    inner = np.matmul(np.matmul(_adjoint(u), t), _adjoint(vh))
    ds = np.real(_diagonal(inner))
    if not vectors:
        return ds
    size = s.shape[-1]
    column, row = s[..., :, None], s[..., None, :]
    eye = _identity(size, s.dtype)
    inverse_gaps = (1 - eye) / ((row - column) * (row + column) + eye)
    right, left = inner * row, inner * column
    positive = np.where(s == 0, 1, s)
    inverse = np.where(s == 0, 0, 1 / positive)
    phase = (inner - _adjoint(inner)) * (eye * (inverse / 2)[..., None, :])
    du = np.matmul(u, (right + _adjoint(right)) * inverse_gaps + phase)
    v = _adjoint(vh)
    dv = np.matmul(v, (left + _adjoint(left)) * inverse_gaps)
    if not is_at_most(m, n):
        rest = np.matmul(t, v)
        du = du + (rest - np.matmul(u, np.matmul(_adjoint(u), rest))) / row
    if not is_at_most(n, m):
        rest = np.matmul(_adjoint(t), u)
        dv = dv + (rest - np.matmul(v, np.matmul(vh, rest))) / row
    return [du, ds, _adjoint(dv)]


svd = _routine("svd", reference.svd, _svd_type, _svd_jvp)

# --------------------------------------------------------------------------- functions of matrices


def _sqrtm_type(x: ArrayType) -> ArrayType:
    _check_matrix(x, square=True)
    return ArrayType(x.shape, np.result_type(x.dtype, np.complex64))


def _sqrtm_jvp(tangents: Any, root: Any, x: Any) -> Any:
    """X X = A: X dX + dX X = dA, a Sylvester equation, which is diagonal in the eigenvectors of
    A."""
    w, v = apply("eig", x, vectors=True)
    root_w = np.sqrt(w)
    inner = np.linalg.solve(v, np.matmul(tangents[0].astype(v.dtype), v))
    inner = inner / (root_w[..., :, None] + root_w[..., None, :])
    transposed_root = np.linalg.solve(_adjoint(v, False), _adjoint(np.matmul(v, inner), False))
    return _adjoint(transposed_root, False)


sqrtm = _routine("sqrtm", reference.sqrtm, _sqrtm_type, _sqrtm_jvp)
schur = _routine(
    "schur",
    reference_schur,
    lambda x: (_check_matrix(x, square=True), (x.strong, x.strong))[1],
    NoRule("the Schur form has no derivative here, as in JAX"),
)
