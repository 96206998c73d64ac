"""Methods that change an array in place: fill, put, sort, partition."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.numpy.core.promotion import Array
from transpile.trace.tracer import FUNCTIONS, Tracer, add_method


def _fill(x: Tracer, value: Array) -> None:
    """Assign one value to every element, cast to the array's dtype."""
    x[...] = value


def _sort(
    x: Tracer, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    """Sort the array in place along an axis; returns None, unlike `numpy.sort`."""
    x[...] = np.sort(x, axis, kind, order, stable=stable)


def _partition(
    x: Tracer, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> None:
    """Partition the array in place along an axis, see `numpy.partition`; returns None."""
    x[...] = np.partition(x, kth, axis, kind, order)


def _put(x: Tracer, indices: Array, values: Array, mode: str = "raise") -> None:
    """Assign values to the elements at positions of the flattened array; see `numpy.put`."""
    FUNCTIONS[np.put](x, indices, values, mode)


add_method("fill", _fill)
add_method("put", _put)
add_method("sort", _sort)
add_method("partition", _partition)
