"""The operands of `lax.linalg`: stacks of matrices of a dtype that LAPACK has."""

from __future__ import annotations

from typing import Any

from transpile.lax.arrays.promotion import (
    array,
    spelled,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.linalg.common import adjoint


def matrix(name: str, value: Any, square: bool = False, position: int = 0) -> Any:
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


def symmetrized(x: Any) -> Any:
    """The Hermitian part of each matrix."""
    return (x + adjoint(x)) / 2
