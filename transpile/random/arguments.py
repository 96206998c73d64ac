"""The arguments that the functions of `transpile.random` share: shapes, dtypes and parameters."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from transpile.dtypes import TypePromotionError
from transpile.ir.dims import Dim, Shape
from transpile.ir.types import FLOAT64, broadcast_shapes, kind_letter
from transpile.numpy.core.promotion import (
    NumpyErrors,
    as_array,
    as_operand,
    convert,
    dtype_argument,
    is_weak,
    result_dtype,
    strengthen,
)
from transpile.numpy.core.promotion import error as located
from transpile.trace.tracer import Tracer

DType = np.dtype[Any]
_KINDS = {"f": "float", "fc": "float or complex", "u": "unsigned int", "iu": "int"}


def canonical_shape(shape: Any) -> Shape:
    """A shape as a tuple of ints; one number stands for one axis."""
    if isinstance(shape, int | np.integer | Dim):
        shape = (shape,)
    with NumpyErrors():
        sizes = tuple(shape)
    if not all(isinstance(d, Dim) or hasattr(d, "__index__") for d in sizes):
        raise located(
            TypeError,
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape}.",
        )
    counts = tuple(d if isinstance(d, Dim) else operator.index(d) for d in sizes)
    if any(isinstance(d, int) and d < 0 for d in counts):
        raise located(ValueError, f"negative dimensions are not allowed, got shape {counts}")
    return counts


def own_dtype(name: str, dtype: Any, default: type, kinds: str = "f") -> DType:
    """The dtype that a user asks for, or the default; a ValueError unless it is of those kinds."""
    wanted = dtype_argument(default if dtype is None else dtype)
    if kind_letter(wanted) not in kinds:
        article = "an" if _KINDS[kinds][0] in "iu" else "a"
        raise located(
            ValueError,
            f"dtype argument to `{name}` must be {article} {_KINDS[kinds]} dtype, got {wanted}",
        )
    return wanted


def joint_shape(*shapes: Shape) -> Shape:
    """The shape that shapes broadcast to; a ValueError in JAX's words."""

    def problem(_: str) -> Exception:
        listed = ", ".join(map(str, shapes))
        return located(ValueError, f"Incompatible shapes for broadcasting: shapes=[{listed}]")

    return broadcast_shapes(shapes, problem)


def sample_shape(name: str, shape: Any, *parameters: Any) -> Shape:
    """The shape of the samples: that of the parameters, or the one asked for, which they fit."""
    own = [tuple(np.shape(p)) for p in parameters]
    if shape is None:
        return joint_shape(*own)
    wanted = canonical_shape(shape)
    joint = joint_shape(wanted, *own)
    if joint != wanted:
        raise located(
            ValueError,
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and the "
            "result of broadcasting the shapes must equal the shape argument, but got result "
            f"{joint} for shape argument {wanted}.",
        )
    return wanted


def check_safe(name: str, dtype: DType, *parameters: Any) -> None:
    """Raise TypePromotionError for parameters that lose precision in a dtype."""
    for p in map(as_operand, parameters):
        if not is_weak(p) and np.result_type(_float(p.dtype), dtype) != dtype:
            raise located(
                TypePromotionError,
                f"In arguments to {name}, cannot safely cast argument of type {p.dtype} to {dtype}",
            )


def _float(dtype: DType) -> DType:
    """The dtype that decides what is lost: integers are cast to any float."""
    return np.dtype("float16") if dtype.kind in "biu" else dtype


def parameter(value: Any, dtype: DType) -> Any:
    """A parameter of a distribution in the dtype of the samples."""
    value = as_operand(value)
    if isinstance(value, Tracer) and value.dtype == dtype and value.type.weak:
        return strengthen(value)
    return as_array(convert(value, dtype))


def own_parameter(value: Any, dtype: DType) -> Any:
    """A parameter that keeps its own dtype; a Python number takes that of the samples."""
    return parameter(value, dtype) if is_weak(as_operand(value)) else as_array(value)


def inexact(*values: Any) -> list[Any]:
    """Arrays of their common dtype, and of float64 where that one is an integer's or a bool's."""
    operands = [as_operand(v) for v in values]
    dtype = result_dtype(*operands)
    if kind_letter(dtype) not in "fc":
        dtype = FLOAT64
    return [parameter(v, dtype) for v in operands]
