"""The operands of the functions of `scipy.special`, and primitives applied to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.primitive import TABLE
from transpile.ir.types import FLOAT32, FLOAT64, PYTHON_SCALARS, kind_letter
from transpile.nn.operands import operand, public
from transpile.numpy.core.promotion import Array, convert, fit_all, has_tracer, result_dtype
from transpile.numpy.core.promotion import error as located
from transpile.trace.trace import bind

__all__ = ["Array", "applied", "located", "promoted", "public", "real", "single_or_double"]


def promoted(function: str, *operands: Array) -> list[Any]:
    """The operands in the floating-point or complex dtype that they have in common; that of
    integers and bools is float64."""
    values = [operand(function, v, k) for k, v in enumerate(operands)]
    dtype = result_dtype(*values)
    if kind_letter(dtype) not in "fc":
        dtype = FLOAT64
    return [_as(v, dtype) for v in values]


def _as(value: Any, dtype: np.dtype[Any]) -> Any:
    converted = convert(value, dtype)
    return converted[()] if isinstance(converted, np.ndarray) else converted


def real(function: str, *operands: Array) -> list[Any]:
    """The promoted operands of a function of real numbers alone; else JAX's ValueError."""
    values = promoted(function, *operands)
    if values[0].dtype.kind == "c":
        raise located(ValueError, f"{function} does not support complex-valued inputs.")
    return values


def single_or_double(function: str, x: Array) -> Any:
    """The operand of a function of float32 and float64 alone; else JAX's TypeError."""
    value = operand(function, x)
    dtype = PYTHON_SCALARS.get(type(value)) or value.dtype
    if dtype not in (FLOAT32, FLOAT64):
        raise located(
            TypeError,
            f"x.dtype={np.dtype(dtype).name} is not supported, see docstring for supported types.",
        )
    return promoted(function, value)[0]


def applied(row: str, *operands: Any) -> Any:
    """A primitive applied to operands of one dtype, whose shapes broadcast: an equation, or what
    NumPy computes."""
    if has_tracer(operands):
        dtype = result_dtype(*operands)
        return bind(TABLE[row], *fit_all(operands, [dtype] * len(operands)))
    return TABLE[row].numpy(*map(np.asarray, operands))[()]
