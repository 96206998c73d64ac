"""Tests that traced numbers are in range: indices, where `jit(f, check_bounds=True)` asks for them,
and what has to be."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.indices.requirements import may_be_0
from transpile.ir.types import BOOL, INT64
from transpile.numpy.core.promotion import as_operand, convert
from transpile.numpy.core.promotion import error as located
from transpile.primitives.effects.failures import fail_where
from transpile.trace.bytecode.handlers import refuse_handled
from transpile.trace.trace import the_trace
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD


def check_index(index: Tracer, axis: int, size: Any) -> None:
    """Test indices where somebody asks for that; raise where the user's code would handle the
    exception."""
    is_below = THREAD.python is not None and THREAD.python.is_below(index, size)
    if not is_below:
        refuse_handled(IndexError, the_trace())
    if THREAD.checks_bounds:
        check_bounds(index, axis, size)


def check_bounds(index: Tracer, axis: int, size: Any) -> None:
    """End the program with NumPy's IndexError where one of the indices is out of range."""
    if 0 in index.shape:
        return
    index = convert(index, INT64)
    extent = as_operand(size) if isinstance(size, Dim) else np.int64(size)
    outside = np.logical_or(index < -extent, index >= extent)
    known = "{}" if isinstance(size, Dim) else size
    text = f"index {{}} is out of bounds for axis {axis} with size {known}"
    fail_outside(index, outside, IndexError, text, *[extent] * isinstance(size, Dim))


def check_powers(exponent: Any) -> None:
    """Raise NumPy's ValueError, in a trace or in the program, where an integer's power is
    negative."""
    text = "Integers to negative integer powers are not allowed."
    if not isinstance(exponent, Tracer):
        if (exponent < 0).any():
            raise located(ValueError, text)
    elif exponent.dtype.kind == "i":
        fail_outside(exponent, np.less(exponent, 0), ValueError, text)


def fail_outside(
    numbers: Any, outside: Any, error: type[Exception], text: str, *further: Any
) -> None:
    """End the program where one of these numbers is outside a range, with an error whose text
    tells the first that is, and further values, at its `{}`, if it has any."""

    def raised(*values: Any) -> None:
        raise error(text.format(*values))

    def first(numbers: Any, outside: Any, *further: Any) -> list[Any]:
        if "{}" not in text:
            return []
        return [_first(numbers, outside) if numbers.ndim else numbers, *further]

    is_outside = outside.any() if numbers.ndim else outside
    operands = [numbers, outside, *further]
    fail_where(is_outside, operands, raised, f"{error.__name__}: {text}", first)


def _first(index: Any, outside: Any) -> Any:
    """The first number that is out of range, in row-major order."""
    index, outside = index.ravel(), outside.ravel()
    if may_be_0(index.shape[0]):  # one behind them, so that there is one to read
        index = np.concatenate([index, np.zeros(1, index.dtype)])
        outside = np.concatenate([outside, np.ones(1, BOOL)])
    return np.take(index, np.argmax(outside), mode="clip")
