"""Primitives of array structure: views (broadcast, reshape, transpose, slice, rev), concatenate,
pad and iota.

A view's `index` column maps an index of the result to an index of the operand, so that a view
becomes arithmetic on subscripts and copies nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.graph import Const
from transpile.ir.indices.requirements import extreme
from transpile.ir.indices.row_major import product, row_major, unravel
from transpile.ir.primitive import Axis, Linear, Order, Permuted, Primitive, inverse, register
from transpile.ir.types import ArrayType
from transpile.primitives.kinds import view
from transpile.primitives.rules import apply, broadcast, linear, reshaped, with_batch_axis


def _in_order(values: Sequence[Any], order: Order) -> tuple[Any, ...]:
    """What stands for the axes of an array, with these in another order."""
    return tuple(values[a] for a in order)


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


def _broadcast_transpose(
    ct: Any, x: Linear, *, shape: Shape, broadcast_dimensions: tuple[int, ...]
) -> list[Any]:
    """The sum over the broadcast axes."""
    kept = {
        axis
        for axis, dim in zip(broadcast_dimensions, x.type.shape, strict=True)
        if dim == shape[axis]
    }
    over = tuple(axis for axis in range(len(shape)) if axis not in kept)
    repeated = tuple(axis for axis in over if shape[axis] != 1)
    total = apply("reduce_sum", ct, axes=repeated) if repeated else ct
    return [reshaped(total, x.type.shape)]


def _broadcast_permute(
    order: Order, _: ArrayType, *, shape: Shape, broadcast_dimensions: tuple[int, ...]
) -> Permuted:
    targets = [order.index(d) for d in broadcast_dimensions]
    inner = tuple(sorted(range(len(targets)), key=targets.__getitem__))
    params = {"shape": _in_order(shape, order), "broadcast_dimensions": tuple(sorted(targets))}
    return [inner], params


broadcast_in_dim = view(
    "broadcast_in_dim",
    _broadcast,
    _broadcast_type,
    _broadcast_index,
    transpose=_broadcast_transpose,
    shift=lambda axis, *, shape, broadcast_dimensions: {
        "shape": (axis.size, *shape),
        "broadcast_dimensions": (0, *(d + 1 for d in broadcast_dimensions)),
    },
    permute=_broadcast_permute,
)

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


reshape = view(
    "reshape",
    lambda x, *, shape: np.reshape(x, shape),
    _reshape_type,
    _reshape_index,
    transpose=lambda ct, x, *, shape: [reshaped(ct, x.type.shape)],
    shift=lambda axis, *, shape: {"shape": (axis.size, *shape)},
)


def _transpose_index(index: Shape, x: ArrayType, *, permutation: tuple[int, ...]) -> Shape:
    return tuple(index[permutation.index(axis)] for axis in range(len(permutation)))


transpose = view(
    "transpose",
    lambda x, *, permutation: np.transpose(x, permutation),
    lambda x, *, permutation: x.with_shape(tuple(x.shape[p] for p in permutation)),
    _transpose_index,
    transpose=lambda ct, _, *, permutation: [
        apply("transpose", ct, permutation=inverse(permutation))
    ],
    shift=lambda _, *, permutation: {"permutation": (0, *(p + 1 for p in permutation))},
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


def _slice_transpose(
    ct: Any, x: Linear, *, start: Shape, limit: Shape, strides: tuple[int, ...]
) -> list[Any]:
    """The cotangent padded with zeros where the slice read nothing."""
    padding = tuple(
        (low, size - low - (0 if taken == 0 else (taken - 1) * step + 1), step - 1)
        for size, low, taken, step in zip(x.type.shape, start, ct.shape, strides, strict=True)
    )
    return [apply("pad", ct, Const(np.zeros((), ct.dtype)), padding=padding)]


slice_ = view(
    "slice",
    _slice,
    _slice_type,
    _slice_index,
    transpose=_slice_transpose,
    shift=lambda axis, *, start, limit, strides: {
        "start": (0, *start),
        "limit": (axis.size, *limit),
        "strides": (1, *strides),
    },
    permute=lambda order, _, **params: (
        [order],
        {name: _in_order(values, order) for name, values in params.items()},
    ),
)

rev = view(
    "rev",
    lambda x, *, dimensions: np.flip(x, dimensions),
    lambda x, *, dimensions: x.strong,
    lambda index, x, *, dimensions: tuple(
        x.shape[axis] - 1 - i if axis in dimensions else i for axis, i in enumerate(index)
    ),
    transpose=lambda ct, _, *, dimensions: [apply("rev", ct, dimensions=dimensions)],
    shift=lambda _, *, dimensions: {"dimensions": tuple(d + 1 for d in dimensions)},
    permute=lambda order, _, *, dimensions: (
        [order],
        {"dimensions": tuple(sorted(map(order.index, dimensions)))},
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


def _concatenate_transpose(ct: Any, *operands: Any, dimension: int) -> list[Any]:
    """The cotangent's slice for each operand."""
    cotangents: list[Any] = []
    first: Any = 0
    for x in operands:
        size = (x.type if isinstance(x, Linear) else x).shape[dimension]
        start, limit = [0] * ct.ndim, list(ct.shape)
        start[dimension], limit[dimension] = first, first + size
        params = {"start": tuple(start), "limit": tuple(limit), "strides": (1,) * ct.ndim}
        cotangents.append(apply("slice", ct, **params) if isinstance(x, Linear) else None)
        first = first + size
    return cotangents


def _concatenate_batch(
    axis: Axis, batched: Sequence[bool], *operands: Any, dimension: int
) -> tuple[Any, bool]:
    parts = [with_batch_axis(x, axis, b) for x, b in zip(operands, batched, strict=True)]
    return apply("concatenate", *parts, dimension=dimension + 1), True


concatenate = register(
    Primitive(
        "concatenate",
        "piecewise",
        lambda *xs, dimension: np.concatenate(xs, axis=dimension),
        _concatenate_type,
        cost=0,
        jvp=linear("concatenate"),
        transpose=_concatenate_transpose,
        batch=_concatenate_batch,
        permute=lambda order, *xs, dimension: (
            [order] * len(xs),
            {"dimension": order.index(dimension)},
        ),
        weight=0,
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
    inner = [max(0, d + (d - 1) * p[2]) for d, p in zip(x.shape, padding, strict=True)]
    wide = np.full(
        [d + max(0, p[0]) + max(0, p[1]) for d, p in zip(inner, padding, strict=True)],
        value,
        x.dtype,
    )
    wide[
        tuple(
            slice(max(0, p[0]), max(0, p[0]) + d, p[2] + 1)
            for d, p in zip(inner, padding, strict=True)
        )
    ] = x
    return wide[
        tuple(
            slice(max(0, -low), n - max(0, -high))
            for n, (low, high, _) in zip(wide.shape, padding, strict=True)
        )
    ]


Padding = tuple[tuple[int, int, int], ...]


def _pad_transpose(ct: Any, x: Any, value: Any, *, padding: Padding) -> list[Any]:
    """The operand's cotangent is a slice of the result's; the value's is the sum of the rest."""
    inner = _unpadded(ct, padding) if isinstance(x, Linear) or isinstance(value, Linear) else None
    everything = tuple(range(ct.ndim))
    rest = None
    if isinstance(value, Linear):
        total = apply("reduce_sum", ct, axes=everything)
        rest = total - apply("reduce_sum", inner, axes=everything)
    return [inner if isinstance(x, Linear) else None, rest]


def _unpadded(ct: Any, padding: Padding) -> Any:
    """The elements of a padded array that come from its operand, zero where the padding, being
    negative, dropped them."""
    zero = Const(np.zeros((), ct.dtype))
    grown = tuple((extreme(-low, 0, 1), extreme(-high, 0, 1), 0) for low, high, _ in padding)
    wide = apply("pad", ct, zero, padding=grown) if any(map(any, grown)) else ct
    start = tuple(extreme(low, 0, 1) for low, _, _ in padding)
    limit = tuple(
        size - extreme(high, 0, 1) for size, (_, high, _) in zip(wide.shape, padding, strict=True)
    )
    return apply("slice", wide, start=start, limit=limit, strides=tuple(p[2] + 1 for p in padding))


def _pad_batch(
    axis: Axis, batched: Sequence[bool], x: Any, value: Any, *, padding: Padding
) -> tuple[Any, bool]:
    x = with_batch_axis(x, axis, batched[0])
    wider = ((0, 0, 0), *padding)
    if not batched[1]:
        return apply("pad", x, value, padding=wider), True
    # A padding value for each example is selected where a mask says so.
    padded = apply("pad", x, Const(np.zeros((), x.dtype)), padding=wider)
    inside = apply("pad", broadcast(Const(True), x.shape, ()), Const(False), padding=wider)
    return np.where(inside, padded, broadcast(value, padded.shape, (0,))), True


pad = register(
    Primitive(
        "pad",
        "piecewise",
        _pad,
        _pad_type,
        cost=0,
        jvp=linear("pad"),
        transpose=_pad_transpose,
        batch=_pad_batch,
        permute=lambda order, x, value, *, padding: (
            [order, ()],
            {"padding": _in_order(padding, order)},
        ),
        weight=0,
    )
)


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
        permute=lambda order, *, shape, dimension, dtype: (
            [],
            {
                "shape": _in_order(shape, order),
                "dimension": order.index(dimension),
                "dtype": dtype,
            },
        ),
        weight=0,
        nonnegative="iuf",
    )
)
