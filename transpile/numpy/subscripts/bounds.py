"""Tests that traced indices are in range, where `jit(f, check_bounds=True)` asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.graph import Graph
from transpile.ir.primitive import TABLE
from transpile.ir.source_info import user_source
from transpile.ir.types import INT64
from transpile.numpy.core.promotion import as_operand, convert
from transpile.primitives.effects.callbacks import Callback, Same
from transpile.primitives.effects.failures import fail
from transpile.primitives.rules import bind_call
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer
from transpile.transforms.closed import close


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

    def failing(index: Any, outside: Any, *extent: Any) -> list[Any]:
        first = _first(index, outside) if index.ndim else index
        callback = Callback("IndexError", raised, Same(raised), failure=f"IndexError: {text}")
        bind(fail, first, *extent, callback=callback)
        return []

    operands: list[Any] = [index, outside, *[extent] * isinstance(size, Dim)]
    inputs = [x.variable for x in operands]
    source = user_source()
    branch = close(failing, inputs, name="out_of_range", source=source)
    nothing = Graph(branch.graph.inputs, (), (), "in_range", source=source)
    graphs = (nothing, branch.graph)
    bind_call(TABLE["cond"], is_outside, *branch.captured, *operands, branches=graphs)


def _first(index: Any, outside: Any) -> Any:
    """The first index that is out of range, in row-major order."""
    place = np.argmax(outside.ravel())
    return np.where(np.arange(index.size) == place, index.ravel(), 0).sum()
