"""Tests that traced indices are in range, where `jit(f, check_bounds=True)` asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.types import INT64
from transpile.numpy.core.promotion import as_operand, convert
from transpile.primitives.effects.failures import fail_where
from transpile.trace.tracer import Tracer


def check_bounds(index: Tracer, axis: int, size: Any) -> None:
    """End the program with NumPy's IndexError where one of the indices is out of range."""
    if 0 in index.shape:
        return
    index = convert(index, INT64)
    extent = as_operand(size) if isinstance(size, Dim) else np.int64(size)
    outside = np.logical_or(index < -extent, index >= extent)
    is_outside = outside.any() if index.ndim else outside
    known = "{}" if isinstance(size, Dim) else size
    text = f"index {{}} is out of bounds for axis {axis} with size {known}"

    def raised(*values: Any) -> None:
        raise IndexError(text.format(*values))

    def first(index: Any, outside: Any, *extent: Any) -> list[Any]:
        return [_first(index, outside) if index.ndim else index, *extent]

    operands: list[Any] = [index, outside, *[extent] * isinstance(size, Dim)]
    fail_where(is_outside, operands, raised, f"IndexError: {text}", first)


def _first(index: Any, outside: Any) -> Any:
    """The first index that is out of range, in row-major order."""
    place = np.argmax(outside.ravel())
    return np.where(np.arange(index.size) == place, index.ravel(), 0).sum()
