"""Rows that move elements: views, which are index arithmetic, and those that join or make arrays.

A view's `index` column maps an index of the result to the index of the operand; nothing is copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.dims import Shape, product, row_major, unravel
from transpile.primitive import Primitive, register
from transpile.primitives.kinds import view
from transpile.types import ArrayType

# ----------------------------------------------------------------------------------- broadcasts


def _broadcast_type(
    x: ArrayType, *, shape: Shape, broadcast_dimensions: tuple[int, ...]
) -> ArrayType:
    for axis, dim in zip(broadcast_dimensions, x.shape, strict=True):
        if dim not in (1, shape[axis]):
            raise TypeError(f"{x} does not broadcast to {shape}")
    return x.with_shape(shape)


def _broadcast(x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> Any:
    aligned = [1] * len(shape)
    for axis, dim in zip(broadcast_dimensions, x.shape, strict=True):
        aligned[axis] = dim
    return np.broadcast_to(np.reshape(x, aligned), shape)


def _broadcast_index(
    index: Shape, x: ArrayType, *, shape: Shape, broadcast_dimensions: tuple[int, ...]
) -> Shape:
    return tuple(
        0 if dim == 1 else index[axis]
        for axis, dim in zip(broadcast_dimensions, x.shape, strict=True)
    )


broadcast_in_dim = view("broadcast_in_dim", _broadcast, _broadcast_type, _broadcast_index)

# ------------------------------------------------------------------------------ reshape, transpose


def _reshape_type(x: ArrayType, *, shape: Shape) -> ArrayType:
    if product(shape) != x.size:
        raise TypeError(f"cannot reshape {x} into shape {shape}")
    return x.with_shape(shape)


def _reshape_index(index: Shape, x: ArrayType, *, shape: Shape) -> Shape:
    wide = [(i, d) for i, d in zip(index, shape, strict=True) if d != 1]
    squeezed = tuple(d for d in x.shape if d != 1)
    if tuple(d for _, d in wide) == squeezed:
        inner = iter([i for i, _ in wide])
        return tuple(0 if d == 1 else next(inner) for d in x.shape)
    return unravel(row_major(index, shape), x.shape)


reshape = view("reshape", lambda x, *, shape: np.reshape(x, shape), _reshape_type, _reshape_index)


def _transpose_index(index: Shape, x: ArrayType, *, permutation: tuple[int, ...]) -> Shape:
    return tuple(index[permutation.index(axis)] for axis in range(len(permutation)))


transpose = view(
    "transpose",
    lambda x, *, permutation: np.transpose(x, permutation),
    lambda x, *, permutation: x.with_shape(tuple(x.shape[p] for p in permutation)),
    _transpose_index,
)

# ------------------------------------------------------------------------------- slices, reversals


def _slice_type(x: ArrayType, *, start: Shape, limit: Shape, strides: tuple[int, ...]) -> ArrayType:
    return x.with_shape(
        tuple((b - a + step - 1) // step for a, b, step in zip(start, limit, strides, strict=True))
    )


def _slice(
    x: Any, *, start: tuple[int, ...], limit: tuple[int, ...], strides: tuple[int, ...]
) -> Any:
    return x[tuple(slice(a, b, s) for a, b, s in zip(start, limit, strides, strict=True))]


def _slice_index(
    index: Shape, x: ArrayType, *, start: Shape, limit: Shape, strides: tuple[int, ...]
) -> Shape:
    return tuple(i * s + a for i, a, s in zip(index, start, strides, strict=True))


slice_ = view("slice", _slice, _slice_type, _slice_index)

rev = view(
    "rev",
    lambda x, *, dimensions: np.flip(x, dimensions),
    lambda x, *, dimensions: x.strong,
    lambda index, x, *, dimensions: tuple(
        x.shape[axis] - 1 - i if axis in dimensions else i for axis, i in enumerate(index)
    ),
)

# ---------------------------------------------------------------------------------- joins, makers


def _concatenate_type(*types: ArrayType, dimension: int) -> ArrayType:
    first = types[0]
    for other in types[1:]:
        if (
            other.dtype != first.dtype
            or other.ndim != first.ndim
            or any(
                a != b
                for axis, (a, b) in enumerate(zip(first.shape, other.shape, strict=True))
                if axis != dimension
            )
        ):
            raise TypeError(f"cannot concatenate {', '.join(map(str, types))} along {dimension}")
    total = sum((t.shape[dimension] for t in types[1:]), start=first.shape[dimension])
    return first.with_shape((*first.shape[:dimension], total, *first.shape[dimension + 1 :]))


concatenate = register(
    Primitive(
        "concatenate",
        "piecewise",
        lambda *xs, dimension: np.concatenate(xs, axis=dimension),
        _concatenate_type,
        cost=0,
    )
)


def _pad_type(
    x: ArrayType, value: ArrayType, *, padding: tuple[tuple[int, int, int], ...]
) -> ArrayType:
    if value.shape or value.dtype != x.dtype:
        raise TypeError(f"the padding value of {x} is {value}, not a scalar of its dtype")
    shape = []
    for dim, (low, high, interior) in zip(x.shape, padding, strict=True):
        inner = (
            dim + (dim - 1) * interior if (isinstance(dim, int) and dim == 0) or interior else dim
        )
        shape.append((0 if dim == 0 else inner) + low + high)
    return x.with_shape(tuple(shape))


def _pad(x: Any, value: Any, *, padding: tuple[tuple[int, int, int], ...]) -> Any:
    spread = np.full(
        [max(0, d + (d - 1) * p[2]) for d, p in zip(x.shape, padding, strict=True)], value, x.dtype
    )
    spread[tuple(slice(None, None, p[2] + 1) for p in padding)] = x
    positive = [(max(0, low), max(0, high)) for low, high, _ in padding]
    wide = np.pad(spread, positive, constant_values=value)
    inside = tuple(
        slice(max(0, -low), n - max(0, -high))
        for n, (low, high, _) in zip(wide.shape, padding, strict=True)
    )
    return wide[inside]


pad = register(Primitive("pad", "piecewise", _pad, _pad_type, cost=0))


def _iota(*, shape: tuple[int, ...], dimension: int, dtype: np.dtype[Any]) -> Any:
    aligned = [1] * len(shape)
    aligned[dimension] = shape[dimension]
    return np.broadcast_to(np.arange(shape[dimension]).astype(dtype).reshape(aligned), shape)


iota = register(
    Primitive(
        "iota",
        "generate",
        _iota,
        lambda *, shape, dimension, dtype: ArrayType(shape, dtype),
        cost=0,
    )
)
