"""`conv_general_dilated`: convolution with strides, padding, dilations of both operands, groups and
any layout.

Its transposes are convolutions with strides and dilations exchanged, and for the weights with batch
and features exchanged. Under vmap, batch axes become features or groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.primitive import Axis, Linear, Primitive, register
from transpile.ir.types import ArrayType, computed_dtype, type_of
from transpile.primitives.rules import apply, reshaped, transposed, zeros, zeros_like
from transpile.primitives.windows import (
    Ints,
    Pairs,
    dilated,
    padding_back,
    taps_of,
    windowed_shape,
)
from transpile.util.settings.product_precision import FULL

# The axes of the operand: batch, features, space...; of the weights: output features, input
# features, space...; of the result: batch, features, space...
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
    precision: str = FULL,
) -> ArrayType:
    lhs, rhs, to = dimension_numbers
    if x.dtype != w.dtype:
        raise TypeError(f"a convolution takes equal dtypes, not {x} and {w}")
    if x.shape[lhs[1]] != w.shape[rhs[1]] * feature_group_count:
        raise TypeError(
            f"the features of {x} are not those of weights {w} in {feature_group_count} groups"
        )
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
    """A matrix product for each tap and group."""
    lhs, rhs, to = params["dimension_numbers"]
    groups, batches = params["feature_group_count"], params["batch_group_count"]
    dtype = computed_dtype(x.dtype)
    left, weights = (np.transpose(v, spec).astype(dtype) for v, spec in ((x, lhs), (w, rhs)))
    if batches > 1:  # batch groups become feature groups
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
    total = np.zeros((n, count, o // count, math.prod(space)), dtype)
    for g in range(count):
        for k in range(taps.shape[-1]):
            total[:, g] += np.matmul(grouped[g, :, :, k], flat[:, g, :, :, k])
    result = total.reshape(n, o, *space).astype(x.dtype)
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
        return [_transpose_operand(ct, x, w, **params), None]
    return [None, _transpose_weights(ct, x, w, **params)]


def _transpose_operand(
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
    **precision: str,
) -> Any:
    """The convolution of the cotangent with the reversed weights, their features exchanged."""
    lhs, rhs, to = dimension_numbers
    if 0 in ct.shape:
        return zeros_like(x)
    count = feature_group_count * batch_group_count
    if count > 1:
        w = _merged(_split(w, rhs[0], count), rhs[0], rhs[1] + (rhs[1] > rhs[0]))
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
    cotangent = apply(
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
        **precision,
    )
    if batch_group_count > 1:
        cotangent = _split(cotangent, lhs[1], batch_group_count)
        cotangent = _merged(cotangent, lhs[1], lhs[0] + (lhs[0] > lhs[1]))
    return cotangent


def _transpose_weights(
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
    **precision: str,
) -> Any:
    """The convolution of the operand with the cotangent, batch and features of both exchanged, and
    feature groups and batch groups."""
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
        **precision,
    )


# -------------------------------------------------------------------------------------- batching


def _merged(x: Any, source: int, axis: int) -> Any:
    """The array with the axis `source` merged into `axis`, of which it becomes the major part; the
    other axes keep their order."""
    rest = [a for a in range(x.ndim) if a != source]
    at = rest.index(axis)
    x = transposed(x, (*rest[:at], source, *rest[at:]))
    shape = tuple(x.shape)
    return reshaped(x, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]))


def _split(x: Any, axis: int, count: Any) -> Any:
    """The array with an axis split in two, the major one of `count` elements."""
    shape = tuple(x.shape)
    return reshaped(x, (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :]))


def _to_front(x: Any, axis: int) -> Any:
    return transposed(x, (axis, *(a for a in range(x.ndim) if a != axis)))


def _conv_batch(
    axis: Axis, batched: Sequence[bool], x: Any, w: Any, **params: Any
) -> tuple[Any, bool]:
    """Examples become groups if both operands are batched, part of the batch if x is, and output
    features if the weights are."""
    lhs, rhs, to = params["dimension_numbers"]
    groups, batches = params["feature_group_count"], params["batch_group_count"]
    if axis.size == 0:  # no groups
        kinds = [type_of(v) for v in (x, w)]
        one = [k.with_shape(k.shape[b:]) for k, b in zip(kinds, batched, strict=True)]
        result = _conv_type(*one, **params)
        return zeros(result.with_shape((0, *result.shape))), True
    if all(batched):
        name = "batch_group_count" if batches > 1 else "feature_group_count"
        x = _merged(x, 0, 1 + (lhs[0] if batches > 1 else lhs[1]))
        w = _merged(w, 0, 1 + rhs[0])
        result = apply("conv_general_dilated", x, w, **(params | {name: params[name] * axis.size}))
        return _to_front(_split(result, to[1], axis.size), to[1]), True
    spec, to_axis = (lhs[0], to[0]) if batched[0] else (rhs[0], to[1])
    inner = batches if batched[0] else groups * batches
    operand = x if batched[0] else w
    if inner > 1:  # groups are major, examples minor
        operand = _split(operand, 1 + spec, inner)
        operand = _merged(operand, 0, 2 + spec)
        operand = _merged(operand, spec, spec + 1)
    else:
        operand = _merged(operand, 0, 1 + spec)
    operands = (operand, w) if batched[0] else (x, operand)
    result = apply("conv_general_dilated", *operands, **params)
    if batched[0] or inner == 1:
        return _to_front(_split(result, to_axis, axis.size), to_axis), True
    result = _split(_split(result, to_axis, inner), to_axis + 1, axis.size)
    return _merged(_to_front(result, to_axis + 1), 1 + to_axis, 2 + to_axis), True


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
