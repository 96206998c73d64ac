"""Functions of the singular values: least squares, pseudo-inverses, ranks and condition numbers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from transpile.ir.indices.requirements import extreme, is_at_most, is_open, may_be_0
from transpile.ir.types import INT64, real_dtype
from transpile.numpy.core.promotion import NOTHING, Array, as_array, fill
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import dimension_value, larger_of, smaller_of
from transpile.numpy.linalg.common import (
    LinAlgError,
    adjoint,
    check_2d,
    common_operands,
    implements_linalg,
    is_empty,
    matrices,
    with_derivative,
)
from transpile.numpy.linalg.factors import svd, with_zeros_below
from transpile.numpy.linalg.solving import inverse
from transpile.numpy.math.norms import norm

INT32 = np.dtype("int32")


def _longest(x: Any) -> Any:
    """The larger size of matrices: a number, traced where it depends on runtime sizes."""
    m, n = x.shape[-2:]
    if not is_open(m, n):
        return extreme(m, n, 1)
    return np.maximum(dimension_value(m), dimension_value(n))


def _epsilon(x: Any) -> Any:
    """The singular values that count for nothing, relative to the largest: a number, traced for a
    runtime size."""
    return _longest(x) * float(np.finfo(x.dtype).eps)


# ------------------------------------------------------------------------------ pseudo-inverses


def _parts(a: Any, cutoff: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """u, the reciprocals of the singular values that count, and vh."""
    u, s, vh = _singular_parts(a, hermitian)
    counts = s > as_array(cutoff)[..., None] * _largest(s, keepdims=True)
    return u, np.where(counts, 1 / np.where(counts, s, 1), 0), vh


def _largest(s: Any, keepdims: bool = False) -> Any:
    """The largest singular value of each matrix; 0 where there may be none."""
    empty: dict[str, Any] = {"initial": 0} if may_be_0(s.shape[-1]) else {}
    return np.max(s, axis=-1, keepdims=keepdims, **empty)


def _singular_parts(a: Any, hermitian: bool = False) -> Any:
    """u, s and vh; vectors for singular values of 0 count for nothing."""
    m, n = a.shape[-2:]
    if not is_open(m, n):
        return svd(a, False, True, hermitian)
    u, s, vh = svd(with_zeros_below(a), False)
    k = smaller_of(m, n)
    return u[..., :m, :k], s[..., :k], vh[..., :k, :]


def _pseudo_inverse(a: Any, cutoff: Any, *, hermitian: bool) -> list[Any]:
    u, inverted, vh = _parts(a, cutoff, hermitian)
    return [np.matmul(adjoint(vh), inverted[..., :, None] * adjoint(u))]


def _pseudo_inverse_rule(
    operands: Any, tangents: Any, *, hermitian: bool
) -> tuple[list[Any], list[Any]]:
    """G. Golub and V. Pereyra, The differentiation of pseudo-inverses, 1973: where the rank stays
    what it is."""
    a, t = operands[0], tangents[0]
    p = pseudo_inverse(a, operands[1], hermitian)
    if t is None:
        return [p], [None]
    moved = -np.matmul(np.matmul(p, t), p)
    left = np.matmul(np.matmul(p, adjoint(p)), adjoint(t))
    right = np.matmul(adjoint(t), np.matmul(adjoint(p), p))
    moved = moved + left - np.matmul(np.matmul(left, a), p)
    return [p], [moved + right - np.matmul(p, np.matmul(a, right))]


def pseudo_inverse(a: Any, cutoff: Any, hermitian: bool = False) -> Any:
    """The pseudo-inverse of a stack of matrices; singular values up to cutoff times the largest
    are zeros."""
    (inverse,) = with_derivative(
        "pinv",
        functools.partial(_pseudo_inverse, hermitian=hermitian),
        functools.partial(_pseudo_inverse_rule, hermitian=hermitian),
        a,
        cutoff,
    )
    return inverse


@implements_linalg(np.linalg.pinv)
def pinv(a: Array, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NOTHING) -> Any:
    """The Moore-Penrose pseudo-inverses of a stack of matrices, by singular values; those up to
    `rcond` times the largest count as zero.

    The default of 1e-15 is for single precision max(m, n) eps. The derivative is that at constant
    rank (G. Golub and V. Pereyra, 1973). Raises ValueError where both `rcond` and `rtol` are given.
    """
    x = matrices(a, square=hermitian)
    if rcond is None:
        if rtol is NOTHING:
            is_single = real_dtype(x.dtype).itemsize == 4
            rcond = np.maximum(1e-15, _epsilon(x)) if is_single else 1e-15
        else:
            rcond = _epsilon(x) if rtol is None else rtol
    elif rtol is not NOTHING:
        raise located(ValueError, "`rtol` and `rcond` can't be both set.")
    *head, m, n = x.shape
    if is_empty(x):
        return fill(0, (*head, n, m), as_array(a).dtype)
    return pseudo_inverse(x, as_array(rcond).astype(real_dtype(x.dtype)), bool(hermitian))


# -------------------------------------------------------------------------------- least squares


def _nearest(a: Any, b: Any, cutoff: Any) -> list[Any]:
    u, inverted, vh = _parts(a, cutoff, False)
    return [np.matmul(adjoint(vh), inverted[:, None] * np.matmul(adjoint(u), b))]


def _nearest_rule(operands: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
    """That of x = p b for the pseudo-inverse p."""
    (a, b, cutoff), (ta, tb, _) = operands, tangents
    x = nearest(a, b, cutoff)
    moved = None if tb is None else nearest(a, tb, cutoff)
    if ta is not None:
        p = pseudo_inverse(a, cutoff)
        rest = np.matmul(adjoint(ta), b - np.matmul(a, x))
        below = np.matmul(adjoint(ta), np.matmul(adjoint(p), x))
        share = np.matmul(np.matmul(p, adjoint(p)), rest) - np.matmul(p, np.matmul(ta, x))
        share = share + below - np.matmul(p, np.matmul(a, below))
        moved = share if moved is None else moved + share
    return [x], [moved]


def nearest(a: Any, b: Any, cutoff: Any) -> Any:
    """The x of smallest norm that minimises the norm of a x - b."""
    (x,) = with_derivative("lstsq", _nearest, _nearest_rule, a, b, cutoff)
    return x


@implements_linalg(np.linalg.lstsq)
def lstsq(a: Array, b: Array, rcond: Any = None) -> Any:
    """The solution of smallest norm of the least-squares problem a x = b, with residuals, rank
    (int32) and singular values.

    Singular values up to `rcond` times the largest count as zero, max(m, n) eps by default. Where a
    has more rows than columns the residuals are always given: NumPy's are empty for a low rank,
    which depends on values. Raises LinAlgError for shapes that do not match.
    """
    x, y = as_array(a), as_array(b)
    is_vector = y.ndim == 1
    if is_vector:
        y = y[:, None]
    check_2d(x, y)
    if x.shape[0] != y.shape[0]:
        raise located(LinAlgError, "Incompatible dimensions")
    x, y = common_operands(x, y)
    m, n = x.shape
    real = real_dtype(x.dtype)
    if is_empty(x):
        solution = fill(0, (n, y.shape[1]), x.dtype)
        s, rank = fill(0, (0,), real), fill(0, (), INT32)
    else:
        cutoff = as_array(_epsilon(x) if rcond is None else rcond).astype(real)
        s = _singular_parts(x)[1]
        solution = nearest(x, y, cutoff)
        rank = np.count_nonzero(s > cutoff * _largest(s)).astype(INT32)
    residuals = fill(0, (0,), real)
    if not is_at_most(m, n):
        apart = y - np.matmul(x, solution) if n else y
        residuals = np.sum(np.square(np.real(apart)) + np.square(np.imag(apart)), axis=0)
        is_tall = smaller_of(larger_of(m - n, 0), 1)  # others have none
        residuals = residuals[: is_tall * y.shape[1]]
    return solution[:, 0] if is_vector else solution, residuals, rank, s


# ------------------------------------------------------------------------- ranks, condition numbers


@implements_linalg(np.linalg.matrix_rank)
def matrix_rank(A: Array, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The number of singular values above a tolerance, by default the largest times max(m, n) eps;
    for a vector whether it is not zero.

    Raises ValueError where both `tol` and `rtol` are given.
    """
    if rtol is not None and tol is not None:
        raise located(ValueError, "`tol` and `rtol` can't be both set.")
    x = as_array(A)
    if x.ndim < 2:
        return np.any(np.not_equal(x, 0)).astype(INT64)
    s = svd(x, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        limit = as_array(tol)[..., None]
    else:
        share = as_array(_longest(x) * np.finfo(s.dtype).eps if rtol is None else rtol)
        if rtol is not None:
            share = share[..., None]
        limit = np.max(s, axis=-1, keepdims=True, initial=0) * share
    return np.count_nonzero(s > limit, axis=-1)


@implements_linalg(np.linalg.cond)
def cond(x: Array, p: Any = None) -> Any:
    """The condition numbers of a stack of matrices, in the 2-norm by singular values, in others by
    the inverse; infinite for singular ones.

    Raises LinAlgError for empty matrices.
    """
    a = as_array(x)
    if a.ndim >= 2 and is_empty(a):
        raise located(LinAlgError, "cond is not defined on empty arrays")
    a = matrices(a, square=not (p is None or p in (2, -2)))
    if p is None or p in (2, -2):
        s = svd(a, compute_uv=False)
        largest, least = s[..., 0], s[..., -1]
        number = least / largest if p == -2 else largest / least
    else:
        number = norm(a, p, axis=(-2, -1)) * norm(inverse(a), p, axis=(-2, -1))
    lost = np.logical_and(np.isnan(number), np.logical_not(np.any(np.isnan(a), axis=(-2, -1))))
    return np.where(lost, number.dtype.type(np.inf), number)
