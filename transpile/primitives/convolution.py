"""The general convolution: strides, padding, dilations of both operands, groups, any layout.

Its derivatives are convolutions again, with strides and dilations in each other's places and with
batch and features exchanged. Batches of operands become features, or groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.primitive import Axis, Linear, Primitive, register
from transpile.ir.types import ArrayType, computed_dtype
from transpile.primitives.rules import apply, reshaped, transposed, zeros_like
from transpile.primitives.windows import (
    Ints,
    Pairs,
    dilated,
    padding_back,
    taps_of,
    windowed_shape,
)

# The axes of the operand: batch, features, space; of the weights: features of the result, of the
# operand, space; of the result: batch, features, space.
Numbers = tuple[Ints, Ints, Ints]


def _in_space(shape: Shape, spec: Ints) -> Shape:
    return tuple(shape[a] for a in spec[2:])


def _conv_type(
    x: ArrayType,
    w: ArrayType,
    *,
    window_strides: Ints,
    padding: Pairs,
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    dimension_numbers: Numbers,
    feature_group_count: int,
    batch_group_count: int,
) -> ArrayType:
    lhs, rhs, to = dimension_numbers
    if x.dtype != w.dtype:
        raise TypeError(f"a convolution takes equal dtypes, not {x} and {w}")
    if x.shape[lhs[1]] != w.shape[rhs[1]] * feature_group_count:
        raise TypeError(f"{x} has not the features of {w} in {feature_group_count} groups")
    space = windowed_shape(
        _in_space(x.shape, lhs),
        _in_space(w.shape, rhs),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
    )
    batch = x.shape[lhs[0]]
    if batch_group_count > 1:
        batch = batch // batch_group_count
    shape = dict(zip(to, (batch, w.shape[rhs[0]], *space), strict=True))
    return ArrayType(tuple(shape[a] for a in range(len(to))), x.dtype)


def _conv(x: Any, w: Any, **params: Any) -> Any:
    """Tap by tap: a product of matrices for each group."""
    lhs, rhs, to = params["dimension_numbers"]
    groups, batches = params["feature_group_count"], params["batch_group_count"]
    dtype = computed_dtype(x.dtype)
    left, weights = (np.transpose(v, spec).astype(dtype) for v, spec in ((x, lhs), (w, rhs)))
    if batches > 1:  # batch groups are groups of features
        n, c, *space = left.shape
        left = np.moveaxis(left.reshape(batches, n // batches, c, *space), 0, 1)
        left = left.reshape(n // batches, batches * c, *space)
    rank, none = left.ndim, (1, 1)
    taps = taps_of(
        left,
        0,
        window_dimensions=(*none, *weights.shape[2:]),
        window_strides=(*none, *params["window_strides"]),
        padding=((0, 0), (0, 0), *params["padding"]),
        base_dilation=(*none, *params["lhs_dilation"]),
        window_dilation=(*none, *params["rhs_dilation"]),
    )
    count = groups * batches
    n, c, *space = taps.shape[:rank]
    o, i = weights.shape[:2]
    flat = taps.reshape(n, count, c // count, math.prod(space), taps.shape[-1])
    grouped = weights.reshape(count, o // count, i, taps.shape[-1])
    found = np.zeros((n, count, o // count, math.prod(space)), dtype)
    for g in range(count):
        for k in range(taps.shape[-1]):
            found[:, g] += np.matmul(grouped[g, :, :, k], flat[:, g, :, :, k])
    result = found.reshape(n, o, *space).astype(x.dtype)
    return np.transpose(result, tuple(map(to.index, range(rank))))


# ------------------------------------------------------------------------------------ derivatives


def _conv_jvp(tangents: Sequence[Any], _: Any, x: Any, w: Any, **params: Any) -> Any:
    parts = [
        apply("conv_general_dilated", *operands, **params)
        for t, operands in zip(tangents, ((tangents[0], w), (x, tangents[1])), strict=True)
        if t is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _conv_transpose(ct: Any, x: Any, w: Any, **params: Any) -> list[Any]:
    if isinstance(x, Linear):
        return [_into_operand(ct, x, w, **params), None]
    return [None, _into_weights(ct, x, w, **params)]


def _into_operand(
    ct: Any,
    x: Linear,
    w: Any,
    *,
    window_strides: Ints,
    padding: Pairs,
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    dimension_numbers: Numbers,
    feature_group_count: int,
    batch_group_count: int,
) -> Any:
    """The convolution of the cotangent with the reversed weights, whose features change places."""
    lhs, rhs, to = dimension_numbers
    if 0 in ct.shape:
        return zeros_like(x)
    count = feature_group_count * batch_group_count
    if count > 1:
        w = _into(_out_of(w, rhs[0], count), rhs[0], rhs[1] + (rhs[1] > rhs[0]))
    back = [
        padding_back(*of_axis)
        for of_axis in zip(
            _in_space(x.type.shape, lhs),
            _in_space(w.shape, rhs),
            window_strides,
            _in_space(ct.shape, to),
            padding,
            lhs_dilation,
            rhs_dilation,
            strict=True,
        )
    ]
    found = apply(
        "conv_general_dilated",
        ct,
        apply("rev", w, dimensions=tuple(rhs[2:])),
        window_strides=lhs_dilation,
        padding=tuple(back),
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=(to, (rhs[1], rhs[0], *rhs[2:]), lhs),
        feature_group_count=count,
        batch_group_count=1,
    )
    if batch_group_count > 1:
        found = _into(_out_of(found, lhs[1], batch_group_count), lhs[1], lhs[0] + (lhs[0] > lhs[1]))
    return found


def _into_weights(
    ct: Any,
    x: Any,
    w: Linear,
    *,
    window_strides: Ints,
    padding: Pairs,
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    dimension_numbers: Numbers,
    feature_group_count: int,
    batch_group_count: int,
) -> Any:
    """The convolution of the operand with the cotangent, batch and features of both exchanged:
    groups of features become groups of the batch, and the other way round."""
    lhs, rhs, to = dimension_numbers
    if 0 in ct.shape or 0 in x.shape:
        return zeros_like(w)
    back = []
    for size, window, stride, out, (low, _), base, apart in zip(
        _in_space(x.shape, lhs),
        _in_space(w.type.shape, rhs),
        window_strides,
        _in_space(ct.shape, to),
        padding,
        lhs_dilation,
        rhs_dilation,
        strict=True,
    ):
        reach = dilated(out, stride) - dilated(size, base) + dilated(window, apart) - low - 1
        back.append((low, reach))
    return apply(
        "conv_general_dilated",
        x,
        ct,
        window_strides=rhs_dilation,
        padding=tuple(back),
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=(
            (lhs[1], lhs[0], *lhs[2:]),
            (to[1], to[0], *to[2:]),
            (rhs[1], rhs[0], *rhs[2:]),
        ),
        feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
    )


# --------------------------------------------------------------------------------------- batches


def _into(x: Any, source: int, axis: int) -> Any:
    """The array with an axis moved in front of another one and made one with it; both are numbered
    with all axes there, and the other ones keep their order."""
    rest = [a for a in range(x.ndim) if a != source]
    place = rest.index(axis)
    x = transposed(x, (*rest[:place], source, *rest[place:]))
    shape = tuple(x.shape)
    return reshaped(x, (*shape[:place], shape[place] * shape[place + 1], *shape[place + 2 :]))


def _out_of(x: Any, axis: int, count: Any) -> Any:
    """The array with an axis made two, of which the first has `count` elements."""
    shape = tuple(x.shape)
    return reshaped(x, (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :]))


def _to_front(x: Any, axis: int) -> Any:
    return transposed(x, (axis, *(a for a in range(x.ndim) if a != axis)))


def _conv_batch(
    axis: Axis, batched: Sequence[bool], x: Any, w: Any, **params: Any
) -> tuple[Any, bool]:
    """Examples of both operands: groups. Of the operand: a larger batch. Of the weights: more
    features."""
    lhs, rhs, to = params["dimension_numbers"]
    groups, batches = params["feature_group_count"], params["batch_group_count"]
    if all(batched):
        name = "batch_group_count" if batches > 1 else "feature_group_count"
        x = _into(x, 0, 1 + (lhs[0] if batches > 1 else lhs[1]))
        w = _into(w, 0, 1 + rhs[0])
        found = apply("conv_general_dilated", x, w, **(params | {name: params[name] * axis.size}))
        return _to_front(_out_of(found, to[1], axis.size), to[1]), True
    spec, to_axis = (lhs[0], to[0]) if batched[0] else (rhs[0], to[1])
    inner = batches if batched[0] else groups * batches
    operand = x if batched[0] else w
    if inner > 1:  # the examples stand inside the groups
        operand = _out_of(operand, 1 + spec, inner)
        operand = _into(operand, 0, 2 + spec)
        operand = _into(operand, spec, spec + 1)
    else:
        operand = _into(operand, 0, 1 + spec)
    operands = (operand, w) if batched[0] else (x, operand)
    found = apply("conv_general_dilated", *operands, **params)
    if batched[0] or inner == 1:
        return _to_front(_out_of(found, to_axis, axis.size), to_axis), True
    found = _out_of(_out_of(found, to_axis, inner), to_axis + 1, axis.size)
    return _into(_to_front(found, to_axis + 1), 1 + to_axis, 2 + to_axis), True


conv_general_dilated = register(
    Primitive(
        "conv_general_dilated",
        "convolve",
        _conv,
        _conv_type,
        dtypes="iufc",
        jvp=_conv_jvp,
        transpose=_conv_transpose,
        batch=_conv_batch,
    )
)
