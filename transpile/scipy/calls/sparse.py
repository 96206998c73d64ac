"""Sparse matrices of SciPy in traced code: `matrix @ x`, `x @ matrix`, `matrix.dot(x)`, and systems
that `splu` and `spsolve` solve."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import as_array, unsupported
from transpile.scipy.calls.choice import if_traced
from transpile.scipy.sparse import rows
from transpile.trace.tracer import Tracer

__all__ = ["is_sparse", "operand", "sparse"]


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse matrix or array of SciPy's."""
    theirs = sys.modules.get("scipy.sparse")
    return theirs is not None and isinstance(value, theirs.spmatrix | theirs.sparray)


def operand(left: Any, right: Any) -> Any:
    """What is multiplied in the place of the left operand of `left @ right`."""
    if isinstance(right, Tracer) and is_sparse(left):
        return _Left(lambda: rows.product(left, right))
    if isinstance(left, Tracer) and is_sparse(right):
        return _Left(lambda: _product_from_the_left(left, right))
    return left


class _Left:
    """The left operand of a product that is computed when `@` asks for it."""

    def __init__(self, product: Callable[[], Any]) -> None:
        self._product = product

    def __matmul__(self, right: Any) -> Any:
        return self._product()


def _product_from_the_left(x: Any, matrix: Any) -> Any:
    return rows.product(matrix.T, x.T).T


def sparse(callee: Any) -> Callable[..., Any] | None:
    """What is called in the place of a method of a sparse matrix or of its factors, or of
    `spsolve`."""
    theirs = sys.modules.get("scipy.sparse.linalg")
    owner, name = getattr(callee, "__self__", None), getattr(callee, "__name__", "")
    if name == "dot" and is_sparse(owner):
        return if_traced(callee, functools.partial(_dot, owner))
    if theirs is not None and name == "solve" and isinstance(owner, theirs.SuperLU):
        return if_traced(callee, rows.solver(owner))
    if theirs is not None and callee is theirs.spsolve:
        return if_traced(callee, functools.partial(_spsolve, theirs.splu))
    return None


def _dot(matrix: Any, other: Any) -> Any:
    return other * matrix if np.ndim(other) == 0 else rows.product(matrix, as_array(other))


def _spsolve(splu: Any, A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """`spsolve` of a known matrix: its factors are SciPy's."""
    if not is_sparse(A):
        raise unsupported("spsolve of a matrix that is not a sparse one of SciPy's")
    x = rows.solver(splu(A.tocsc(), permc_spec=permc_spec))(as_array(b))
    return x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
