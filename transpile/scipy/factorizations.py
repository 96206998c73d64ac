"""Decompositions and functions of matrices that jax.scipy.linalg has beside the usual ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.functional.custom import stop_gradient
from transpile.functional.differentiate import jvp
from transpile.ir.dims import Dim
from transpile.lax import linalg
from transpile.lax.arrays.promotion import Array, as_value, public, traced
from transpile.lax.control.fori import fori_loop
from transpile.lax.linalg.reflections import column, index_vector, only, over_batch
from transpile.numpy.core.promotion import convert
from transpile.numpy.core.promotion import error as located
from transpile.numpy.linalg.common import (
    adjoint,
    check_square,
    check_stacked,
    common_operands,
    identity,
    inexact,
)
from transpile.numpy.linalg.solving import triangular
from transpile.primitives.linalg import decompositions as primitives
from transpile.scipy.exponential import exponential
from transpile.scipy.sized_arrays import ones
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.trace import bind

__all__ = [
    "eigh_tridiagonal",
    "expm_frechet",
    "funm",
    "hessenberg",
    "polar",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve_sylvester",
]


def _matrix(value: Any, name: str) -> Any:
    """A stack of square matrices as a value of the trace, in a dtype that LAPACK has."""
    x = traced(as_value(value, name))
    check_square(x)
    return convert(x, inexact(x))


def _complex(x: Any) -> Any:
    return x if x.dtype.kind == "c" else x.astype(np.result_type(x.dtype, np.complex64))


@public
def schur(a: Array, output: str = "real") -> tuple[Any, Any]:
    """The Schur form a = Z T Z^H, T and Z (LAPACK's gees): triangular T, for real matrices with 2
    by 2 blocks where eigenvalues are complex.

    With output="complex" T is triangular for real matrices too. Raises ValueError for another
    output.
    """
    if output not in ("real", "complex"):
        raise located(
            ValueError, f"Expected 'output' to be either 'real' or 'complex', got output={output}."
        )
    x = _matrix(a, "schur")
    t, z = bind(primitives.schur, _complex(x) if output == "complex" else x)
    return t, z


@public
def rsf2csf(T: Array, Z: Array, check_finite: bool = True) -> tuple[Any, Any]:
    """The complex Schur form T, Z of a real one: the Schur form of T, with Z multiplied."""
    t, z = (_complex(_matrix(v, "rsf2csf")) for v in (T, Z))
    form, turn = bind(primitives.schur, t)
    return form, np.matmul(z, turn)


@public
def hessenberg(
    a: Array, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The upper Hessenberg form H, and with `calc_q` the unitary Q of a = Q H Q^H, by Householder
    reflections."""
    x = _matrix(a, "hessenberg")
    packed, taus = linalg.hessenberg(x)
    h = np.triu(packed, -1)
    if not calc_q:
        return h
    n = x.shape[-1]
    if isinstance(n, int) and n < 2:
        return h, identity(n, x.dtype, x.shape[:-2])
    inner = linalg.householder_product(packed[..., 1:, :-1], taus)
    q = np.pad(inner, [(0, 0)] * (x.ndim - 2) + [(1, 0), (1, 0)])
    corner = only(identity(n, x.dtype), np.equal(index_vector(n), 0)[None, :])
    return h, q + corner


@public
def qr_multiply(
    a: Array,
    c: Array,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """The product c Q, or Q c for mode="left", and R, for a = Q R; with `pivoting` also the
    permutation of columns.

    Raises ValueError for another mode and for sizes that do not match.
    """
    if mode not in ("left", "right"):
        raise located(ValueError, f"mode must be 'right' or 'left', got {mode!r}")
    x, y = common_operands(*(traced(as_value(v, "qr_multiply")) for v in (a, c)))
    is_vector = y.ndim == 1
    if is_vector:
        y = y[:, None] if mode == "left" else y[None, :]
    _check_product(x, y, mode)
    q, r, *order = linalg.qr(x, pivoting=pivoting, full_matrices=False)
    q = np.conjugate(q) if conjugate else q
    product = np.matmul(q, y) if mode == "left" else np.matmul(y, q)
    product = np.ravel(product) if is_vector else product
    return (product, r, *order)


def _check_product(x: Any, y: Any, mode: str) -> None:
    """Refuse a factor whose size is not that of Q."""
    if mode == "left":
        product, side, what = "Q @ c", "columns", "rows"
        size, given = min(x.shape[-2:]), y.shape[-2]
    else:
        product, side, what = "c @ Q", "rows", "columns"
        size, given = x.shape[-2], y.shape[-1]
    if given != size:
        raise located(
            ValueError,
            f"Array shapes are not compatible for {product} operation: a has shape "
            f"{tuple(x.shape)} so Q has {size} {side}, but c has {given} {what} (expected {size}).",
        )


@public
def eigh_tridiagonal(
    d: Array,
    e: Array,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """The eigenvalues, in ascending order, of a real symmetric tridiagonal matrix, and its
    eigenvectors, computed as those of a dense matrix.

    With select="i" those with indices in `select_range`. Raises NotImplementedError for select="v",
    TypeError for dtypes and ValueError for shapes that do not fit.
    """
    x, y = (traced(as_value(v, "eigh_tridiagonal")) for v in (d, e))
    if x.dtype != y.dtype:
        raise located(
            TypeError,
            "diagonal and off-diagonal values must have same dtype, "
            f"got {x.dtype.name} and {y.dtype.name}",
        )
    n = x.shape[-1]
    if x.ndim != 1 or y.shape != (n - 1,):
        raise located(
            ValueError,
            "d and e must be vectors, the second one shorter by one, got "
            f"shapes {x.shape} and {y.shape}",
        )
    if select == "v":
        raise located(NotImplementedError, "eigh_tridiagonal(..., select='v') is not implemented")
    if select not in ("a", "i"):
        raise located(ValueError, "'select must have a value in {'a', 'i', 'v'}.")
    matrix = np.diag(x) + np.diag(y, -1)
    first, last = (0, n - 1) if select == "a" or select_range is None else map(int, select_range)
    chosen = slice(first, last + 1)
    if eigvals_only:
        return bind(primitives.eigh, matrix, lower=True, vectors=False)[chosen]
    w, v = bind(primitives.eigh, matrix, lower=True, vectors=True)
    return w[chosen], v[:, chosen]


@public
def expm_frechet(
    A: Array, E: Array, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """The exponential of A and its Fréchet derivative in the direction E, by forward
    differentiation of `expm`; raises ValueError for shapes that differ."""
    x, t = common_operands(*(traced(as_value(v, "expm_frechet")) for v in (A, E)))
    check_square(x)
    if x.shape != t.shape:
        raise located(
            ValueError, f"expected A and E to be the same shape, got {x.shape}, {t.shape}"
        )
    value, moved = jvp(lambda a: exponential(a, False, 16), (x,), (t,))
    return (value, moved) if compute_expm else moved


@public
def funm(A: Array, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a matrix, by the values of `func` at its eigenvalues and Parlett's recurrence
    on the Schur form; complex.

    B. Parlett, A Recurrence Among the Elements of Functions of Triangular Matrices, 1976. Repeated
    eigenvalues of a matrix that is not normal give wrong results, as in SciPy. With disp=False also
    an estimate of the relative error. Raises ValueError for a stack.
    """
    x = _matrix(A, "funm")
    if x.ndim != 2:
        raise located(ValueError, "expected square array_like input")
    t, z = bind(primitives.schur, _complex(x))
    n = x.shape[0]
    position = index_vector(n)
    values = np.diagonal(t)
    eye = identity(n, t.dtype)
    gap = values[None, :] - values[:, None]
    safe = np.where(gap == 0, 1, gap)

    def diagonal(p: Any, f: Any) -> Any:
        """The p-th diagonal above, which T F = F T gives from those below it."""
        rest = np.matmul(t, f) - np.matmul(f, t)
        at = np.equal(position[None, :] - position[:, None], p)
        return f + only(rest / safe, at)

    f = resolved(func)(values).astype(t.dtype)[None, :] * eye
    f = fori_loop(1, n, diagonal, f) if isinstance(n, Dim) or n > 1 else f
    value = np.matmul(np.matmul(z, f), adjoint(z))
    if disp:
        return value
    eps = np.finfo(t.dtype).eps
    least = np.min(np.where(np.triu(ones((n, n)), 1) > 0, np.abs(gap), np.inf))
    error = np.maximum(
        eps, eps / np.where(least == 0, eps, least) * np.linalg.norm(np.triu(t, 1), 1)
    )
    return value, np.minimum(1.0, error)


@public
def solve_sylvester(
    A: Array, B: Array, C: Array, *, method: str = "schur", tol: float = 1e-8
) -> Any:
    """The solution X of A X + X B = C, by the Schur forms of A and B (R. Bartels and G. Stewart,
    1972), or by eigenvectors for method="eigen", which has a derivative.

    NaN where an eigenvalue of A and one of -B are nearer than `tol`. Raises ValueError for another
    method and for shapes that do not fit.
    """
    if method not in ("schur", "eigen"):
        raise located(
            ValueError,
            f'Unrecognized method {method}. The two valid methods are either "schur" or "eigen".',
        )
    a, b, c = common_operands(*(traced(as_value(v, "solve_sylvester")) for v in (A, B, C)))
    check_square(a)
    check_square(b)
    if c.shape != (*a.shape[:-1], b.shape[-1]):
        raise located(
            ValueError,
            f"Expected C to be of shape {(*a.shape[:-1], b.shape[-1])}, got {c.shape}",
        )
    solve = _by_eigenvectors if method == "eigen" else over_batch(_by_schur_forms, 2, 2, 2)
    solution = solve(*map(_complex, (a, b, c)))
    gaps = np.absolute(_eigenvalues(a)[..., :, None] + _eigenvalues(b)[..., None, :])
    singular = np.any(gaps < tol, axis=(-2, -1))[..., None, None]
    solution = np.where(singular, np.nan, solution)
    return solution if c.dtype.kind == "c" else np.real(solution)


def _eigenvalues(x: Any) -> Any:
    return np.diagonal(bind(primitives.schur, _complex(stop_gradient(x)))[0], axis1=-2, axis2=-1)


def _by_eigenvectors(a: Any, b: Any, c: Any) -> Any:
    (wa, va), (wb, vb) = (bind(primitives.eig, v, vectors=True) for v in (a, b))
    inner = np.linalg.solve(va, np.matmul(c, vb)) / (wa[..., :, None] + wb[..., None, :])
    return np.matmul(va, np.matmul(inner, np.linalg.inv(vb)))


def _by_schur_forms(a: Any, b: Any, c: Any) -> Any:
    """R Y + Y S = U^H C V for triangular R and S, column after column."""
    (r, u), (s, v) = (bind(primitives.schur, x) for x in (a, b))
    right = np.matmul(adjoint(u), np.matmul(c, v))
    n, eye = b.shape[0], identity(a.shape[0], a.dtype)
    position = index_vector(n)

    def one(k: Any, y: Any) -> Any:
        own = column(s, k)
        shift = np.sum(only(own, np.equal(position, k)))
        rest = column(right, k) - np.matmul(y, own)
        solved = triangular(r + shift * eye, rest[:, None], False)
        return y + solved * np.equal(position, k)[None, :].astype(y.dtype)

    y = fori_loop(0, n, one, np.zeros_like(c)) if n else c
    return np.matmul(u, np.matmul(y, adjoint(v)))


@public
def polar(
    a: Array,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> Any:
    """The polar decomposition a = u p, or a = p u for side="left", with positive semidefinite p, by
    singular values whatever the method, to which `eps` and `max_iterations` belong."""
    if side not in ("right", "left"):
        raise located(ValueError, "`side` must be either 'right' or 'left'")
    x = traced(as_value(a, "polar"))
    check_stacked(x)
    x = convert(x, inexact(x))
    w, s, vh = np.linalg.svd(x, full_matrices=False)
    if side == "right":
        return np.matmul(w, vh), np.matmul(adjoint(vh) * s[..., None, :], vh)
    return np.matmul(w, vh), np.matmul(w * s[..., None, :], adjoint(w))
