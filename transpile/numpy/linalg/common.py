"""What the functions of numpy.linalg share: operands, checks of shapes, derivatives of their own.

The arithmetic is that of the operands: LAPACK's single precision for float32, where NumPy computes
in double precision and rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.graph import Var
from transpile.ir.source_info import user_source
from transpile.ir.types import FLOAT64, INT64, type_of
from transpile.numpy.core.promotion import (
    Array,
    Function,
    as_array,
    broadcast_to,
    convert,
    dispatching,
    in_numpys_words,
)
from transpile.numpy.core.promotion import error as located
from transpile.primitives.control.calls import JvpRule, custom_jvp_call
from transpile.primitives.rules import apply, bind_call
from transpile.trace.tracer import FUNCTIONS, Tracer
from transpile.transforms.closed import close

LinAlgError = np.linalg.LinAlgError

# The functions of the namespace by their names, of which several are names in numpy too.
LINALG: dict[str, Any] = {}


def implements_linalg(function: Any) -> Callable[[Function], Function]:
    """Register a traced implementation of a function of numpy.linalg; None is one that the
    installed NumPy does not have."""

    def decorate(implementation: Function) -> Function:
        if function is not None:
            FUNCTIONS[function] = in_numpys_words(function, implementation)
            LINALG[function.__name__] = dispatching(function, FUNCTIONS[function])
        return implementation

    return decorate


# ------------------------------------------------------------------------------------ operands


def inexact(x: Any) -> np.dtype[Any]:
    """The dtype in which an array is decomposed: float64 for integers, or a TypeError."""
    if x.dtype.kind in "biu":
        return FLOAT64
    if x.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise located(TypeError, f"array type {x.dtype.name} is unsupported in linalg")
    dtype: np.dtype[Any] = x.dtype
    return dtype


def common_operands(*arrays: Array) -> list[Any]:
    """The arrays in the dtype of the computation."""
    values = [as_array(a) for a in arrays]
    dtype = np.result_type(*map(inexact, values))
    return [convert(v, dtype) for v in values]


def check_stacked(*arrays: Any) -> None:
    """Raise NumPy's error for what is no stack of matrices."""
    for x in arrays:
        if x.ndim < 2:
            raise located(
                LinAlgError,
                f"{x.ndim}-dimensional array given. Array must be at least two-dimensional",
            )


def check_square(x: Any) -> None:
    """Raise NumPy's error for what is no stack of square matrices."""
    check_stacked(x)
    if x.shape[-1] != x.shape[-2]:
        raise located(LinAlgError, "Last 2 dimensions of the array must be square")


def check_2d(*arrays: Any) -> None:
    """Raise NumPy's error for what is no matrix."""
    for x in arrays:
        if x.ndim != 2:
            raise located(
                LinAlgError, f"{x.ndim}-dimensional array given. Array must be two-dimensional"
            )


def matrices(a: Array, square: bool = False) -> Any:
    """A stack of matrices in the dtype of the computation."""
    x = as_array(a)
    (check_square if square else check_stacked)(x)
    return convert(x, inexact(x))


def is_empty(x: Any) -> bool:
    """Tell whether the matrices have no elements."""
    return 0 in x.shape[-2:]


# -------------------------------------------------------------------------------------- pieces


def adjoint(x: Any) -> Any:
    """The matrices transposed and conjugated."""
    turned = np.matrix_transpose(x)
    return np.conjugate(turned) if x.dtype.kind == "c" else turned


def identity(size: Any, dtype: Any, batch: Shape = ()) -> Any:
    """A traced stack of identity matrices, made where they are used."""
    row, column = (
        apply("iota", shape=(size, size), dimension=axis, dtype=INT64) for axis in (0, 1)
    )
    return broadcast_to(convert(np.equal(row, column), np.dtype(dtype)), (*batch, size, size))


def with_derivative(
    name: str, function: Callable[..., list[Any]], rule: JvpRule, *operands: Any
) -> list[Any]:
    """The results of a function that has a derivative of its own: the rule takes operands and
    tangents, and gives results and their tangents; a zero is None."""
    inputs = [Var(type_of(x).strong, _name(x)) for x in operands]
    closed = close(function, inputs, name=name, source=user_source())
    return bind_call(custom_jvp_call, *operands, graph=closed.graph, jvp=rule, name=name)


def _name(x: Any) -> str:
    return x.variable.name if isinstance(x, Tracer) else ""
