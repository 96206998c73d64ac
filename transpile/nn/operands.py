"""The operands of the functions of `nn`, and calls in and outside of traces.

The functions are written in NumPy's functions, which make equations of traced values and compute
others.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from transpile.functional.flatten_fun import flatten_function, run_outside
from transpile.ir.dims import Dim, Index
from transpile.ir.graph import Const
from transpile.ir.primitive import TABLE
from transpile.ir.types import FLOAT64, PYTHON_SCALARS, check_dtype, is_bfloat16, kind_letter
from transpile.numpy.core.promotion import Array, Function
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.advanced import iota_of
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import Tracer, named


def public(implementation: Function) -> Function:
    """The function, whose result has the name that the user's line gives it, and which is as silent
    about overflow outside of traces as inside."""

    @functools.wraps(implementation)
    def function(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None and any(map(_is_bfloat16, args)):
            return _computed(implementation, args, kwargs)
        with np.errstate(all="ignore"):
            return named(implementation(*args, **kwargs))

    return function  # type: ignore[return-value]


def _is_bfloat16(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) and is_bfloat16(value.dtype)


def _computed(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result by way of the graph: NumPy makes float32 of bfloat16 and a Python number."""
    positions = [k for k, x in enumerate(args) if isinstance(x, np.ndarray | np.generic)]

    def of_arrays(*arrays: Any) -> Any:
        given = list(args)
        for position, array in zip(positions, arrays, strict=True):
            given[position] = array
        return function(*given, **kwargs)

    names = [f"x{k}" for k in positions]
    flat, leaves = flatten_function(of_arrays, [args[k] for k in positions], names=names)
    return flat.out_tree.unflatten(run_outside(flat.closed.graph, leaves))


def numbers_below(size: Index) -> Any:
    """0, 1, ..., size - 1."""
    return np.arange(size) if isinstance(size, int) else iota_of(size)


def operand(function: str, value: Array, position: int = 0) -> Any:
    """A Tracer, an array of a supported dtype or a Python number; else JAX's TypeError."""
    if isinstance(value, Tracer) or type(value) in PYTHON_SCALARS:
        return value
    if isinstance(value, Dim):
        return value.as_value()
    if isinstance(value, Const):
        return value.value
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__"):
        array = np.asarray(value)
        return array.astype(check_dtype(array.dtype), copy=False)[()]
    raise located(
        TypeError,
        f"{function} requires ndarray or scalar arguments, got {type(value)} at position "
        f"{position}.",
    )


def inexact(function: str, value: Array, position: int = 0) -> Any:
    """The operand as a floating-point or complex one: integers and bools become float64."""
    x = operand(function, value, position)
    if type(x) in (bool, int):
        return float(x)
    if type(x) in PYTHON_SCALARS or kind_letter(x.dtype) in "fc":
        return x
    if isinstance(x, Tracer) and x.type.weak:
        return np.multiply(x, 1.0)
    return x.astype(FLOAT64)


def floating(function: str, value: Array) -> Any:
    """The operand of a function that is of floating-point numbers alone; else JAX's TypeError."""
    x = operand(function, value)
    dtype = PYTHON_SCALARS.get(type(x)) or x.dtype
    if kind_letter(dtype) not in "fc":
        raise located(
            TypeError,
            f"{function} does not accept dtype {dtype.name}. Accepted dtypes are subtypes of "
            "floating, complexfloating.",
        )
    return x


def applied(name: str, x: Any) -> Any:
    """A primitive applied to one value: an equation, or what NumPy computes."""
    if isinstance(x, Tracer):
        return bind(TABLE[name], x)
    value = np.asarray(x)
    return np.asarray(TABLE[name].numpy(value)).astype(value.dtype, copy=False)[()]


def array_dtype(x: Any) -> np.dtype[Any]:
    """The dtype of an operand."""
    return PYTHON_SCALARS.get(type(x)) or x.dtype
