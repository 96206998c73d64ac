"""`scipy.sparse.linalg` for traced functions: the iterative solvers of `jax.scipy.sparse.linalg`.

Operators are functions of vectors, or matrices; a vector is a pytree of arrays. A solution has the
derivatives of the linear system (`lax.custom_linear_solve`), whatever the iteration does: one more
solution with the operator, or with its transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import lax
from transpile.ir.dims import Index
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import smaller_of
from transpile.scipy.sparse import vectors
from transpile.scipy.sparse.krylov import conjugate_gradients, restarted, stabilised
from transpile.scipy.special.operands import Array, public

__all__ = ["bicgstab", "cg", "gmres"]


@public
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Array = 1e-5,
    atol: Array = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """The solution of A x = b for a Hermitian positive definite A by conjugate gradients, and None.

    A        a function of a vector, or a square matrix
    b        a pytree of arrays; integers become float64
    x0       a first guess, 0 by default
    tol, atol  it ends where |b - A x| is at most tol |b| or atol
    maxiter  the most iterations, ten times the number of elements by default
    M        a preconditioner, an approximation of the inverse of A, likewise

    The method is that of M. Hestenes and E. Stiefel, Methods of Conjugate Gradients for Solving
    Linear Systems, 1952. Whether it converged is not said. Raises ValueError for shapes that do not
    fit, TypeError for what is no operator.
    """
    return _solved(conjugate_gradients, A, b, x0, tol, atol, maxiter, M, is_symmetric=True)


@public
def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Array = 1e-5,
    atol: Array = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """The solution of A x = b by stabilised biconjugate gradients, and None.

    Arguments and errors are those of `cg`; A need not be Hermitian. The method is that of H. van
    der Vorst, Bi-CGSTAB: A Fast and Smoothly Converging Variant of Bi-CG, 1992. It ends, too, where
    it breaks down.
    """
    return _solved(stabilised, A, b, x0, tol, atol, maxiter, M, is_symmetric=False)


def _solved(
    method: Callable[..., Any],
    A: Any,
    b: Any,
    x0: Any,
    tol: Any,
    atol: Any,
    maxiter: int | None,
    M: Any,
    is_symmetric: bool,
) -> tuple[Any, None]:
    of, preconditioner, right, guess, most = _arguments(A, b, x0, maxiter, M)
    is_real = vectors.dtype_of(right).kind != "c"

    def solve(matrix: vectors.Operator, y: Any) -> Any:
        bound = np.maximum(np.square(tol) * vectors.square(y), np.square(atol))
        return method(matrix, y, guess, bound, most, preconditioner)

    x = lax.custom_linear_solve(of, right, solve, solve, symmetric=is_symmetric and is_real)
    return x, None


def _arguments(
    A: Any, b: Any, x0: Any, maxiter: int | None, M: Any
) -> tuple[vectors.Operator, vectors.Operator, Any, Any, Index]:
    """The operators, the right side, the first guess and the most iterations."""
    right = vectors.vector("b", b)
    guess = vectors.zeros_like(right) if x0 is None else vectors.vector("x0", x0)
    vectors.check_guess(guess, right)
    most = 10 * vectors.size_of(right) if maxiter is None else maxiter
    preconditioner = vectors.identity if M is None else vectors.operator_of(M)
    return vectors.operator_of(A), preconditioner, right, guess, most


@public
def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Array = 1e-5,
    atol: Array = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """The solution of A x = b by the generalized minimal residual method, and 0, or -1 where it is
    NaN.

    restart       the size of the Krylov space, after which the iteration starts again
    maxiter       the most restarts, ten times the number of elements by default
    solve_method  "incremental" ends within a space as soon as the residual is small enough,
                  "batched" fills each space

    Other arguments and errors are those of `cg`; M is applied from the left, and the norm is that
    of the preconditioned residual. Raises ValueError for another `solve_method`. The method is that
    of Y. Saad and M. Schultz, GMRES: A Generalized Minimal Residual Algorithm for Solving
    Nonsymmetric Linear Systems, 1986, with Gram-Schmidt's orthogonalisation, twice, and Givens
    rotations.
    """
    if solve_method not in ("incremental", "batched"):
        raise located(
            ValueError,
            f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'",
        )
    of, preconditioner, right, guess, most = _arguments(A, b, x0, maxiter, M)
    space = smaller_of(restart, vectors.size_of(right))

    def solve(matrix: vectors.Operator, y: Any) -> Any:
        size = np.sqrt(vectors.square(y))
        bound = np.maximum(tol * size, atol)
        inner = np.sqrt(vectors.square(preconditioner(y))) * np.minimum(1, bound / size)
        within = inner if solve_method == "incremental" else np.zeros_like(inner)
        return restarted(matrix, y, guess, bound, within, most, space, preconditioner)

    x = lax.custom_linear_solve(of, right, solve, solve)
    is_nan = np.isnan(vectors.square(x))
    return x, np.where(is_nan, -1, 0)
