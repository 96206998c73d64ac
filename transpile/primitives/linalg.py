"""The general contraction, from which matmul, dot, tensordot and einsum are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.dims import Shape
from transpile.primitive import Primitive, register
from transpile.types import ArrayType

Axes = tuple[int, ...]
DimensionNumbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


def free_axes(rank: int, contracting: Axes, batch: Axes) -> Axes:
    """The axes of an operand that are neither contracted nor batched."""
    return tuple(a for a in range(rank) if a not in contracting and a not in batch)


def _dot_general_type(
    x: ArrayType, y: ArrayType, *, dimension_numbers: DimensionNumbers
) -> ArrayType:
    (cx, cy), (bx, by) = dimension_numbers
    if x.dtype != y.dtype:
        raise TypeError(f"dot_general takes equal dtypes, not {x} and {y}")
    if [x.shape[a] for a in cx] != [y.shape[a] for a in cy] or [x.shape[a] for a in bx] != [
        y.shape[a] for a in by
    ]:
        raise TypeError(f"dot_general cannot contract {x} and {y} over {dimension_numbers}")
    shape: Shape = (
        *(x.shape[a] for a in bx),
        *(x.shape[a] for a in free_axes(x.ndim, cx, bx)),
        *(y.shape[a] for a in free_axes(y.ndim, cy, by)),
    )
    return ArrayType(shape, x.dtype)


def _dot_general(x: Any, y: Any, *, dimension_numbers: DimensionNumbers) -> Any:
    (cx, cy), (bx, by) = dimension_numbers
    rank = x.ndim + y.ndim
    x_axes = list(range(x.ndim))
    y_axes = list(range(x.ndim, rank))
    for a, b in zip((*cx, *bx), (*cy, *by), strict=True):
        y_axes[b] = x_axes[a]
    out = [x_axes[a] for a in (*bx, *free_axes(x.ndim, cx, bx))]
    out += [y_axes[a] for a in free_axes(y.ndim, cy, by)]
    return np.asarray(np.einsum(x, x_axes, y, y_axes, out, optimize=False), dtype=x.dtype)


dot_general = register(Primitive("dot_general", "contract", _dot_general, _dot_general_type))
