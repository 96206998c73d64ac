"""Views, joins and ranges, and slices that begin where values say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile import lax
from transpile.hlo_import.context import Call, Rules
from transpile.ir.types import INT64
from transpile.primitives.rules import apply


def broadcast(call: Call, x: Any) -> Any:
    """Axes of the operand become these axes of the result; the others repeat it."""
    axes, shape = call.axes("dimensions"), call.instruction.shape
    if len(axes) != x.ndim or len(set(axes)) != len(axes):
        raise call.fail(f"dimensions={axes} do not name the {x.ndim} axes of the operand")
    if x.shape == shape and axes == tuple(range(x.ndim)):
        return x
    order = sorted(range(len(axes)), key=axes.__getitem__)
    if order != list(range(len(axes))):
        x, axes = lax.transpose(x, order), tuple(axes[a] for a in order)
    return lax.broadcast_in_dim(x, shape, axes)


def reshape(call: Call, x: Any) -> Any:
    """The elements in row-major order."""
    return lax.reshape(x, call.instruction.shape)


def bitcast(call: Call, x: Any) -> Any:
    """The same memory as another array: the layouts say in which order the axes lie there."""
    (operand,) = call.instruction.operands
    if x.dtype != call.instruction.dtype:
        x = lax.bitcast_convert_type(x, call.instruction.dtype)
    before, after = operand.layout, call.instruction.layout
    if before is not None:
        x = lax.transpose(x, tuple(before)[::-1])
    if after is None:
        return reshape(call, x)
    order = tuple(after)[::-1]
    x = lax.reshape(x, tuple(call.instruction.shape[a] for a in order))
    return lax.transpose(x, tuple(int(a) for a in np.argsort(order)))


def transpose(call: Call, x: Any) -> Any:
    """The axes in another order."""
    return lax.transpose(x, call.axes("dimensions"))


def reverse(call: Call, x: Any) -> Any:
    """The other way along axes."""
    return lax.rev(x, call.axes("dimensions"))


def part(call: Call, x: Any) -> Any:
    """A strided slice."""
    bounds = call.get("slice", tuple)
    starts, limits, strides = zip(*bounds, strict=True) if bounds else ((), (), ())
    return lax.slice(x, starts, limits, strides)


def pad(call: Call, x: Any, value: Any) -> Any:
    """Elements before, after and between; negative padding leaves elements out."""
    return lax.pad(x, value, call.get("padding", tuple))


def concatenate(call: Call, *parts: Any) -> Any:
    """One after the other."""
    (axis,) = call.axes("dimensions")
    return lax.concatenate(parts, axis)


def iota(call: Call) -> Any:
    """The index along an axis."""
    kind = call.instruction.array
    axis = call.get("iota_dimension", int)
    return lax.broadcasted_iota(kind.dtype, kind.shape, axis)


def _starts(call: Call, starts: Sequence[Any]) -> list[Any]:
    """Where a slice begins along each axis; older modules have one array of them."""
    if len(starts) == 1 and starts[0].ndim == 1:
        return [
            lax.convert_element_type(lax.reshape(lax.slice(starts[0], [k], [k + 1]), ()), INT64)
            for k in range(starts[0].shape[0])
        ]
    if any(s.dtype.kind not in "iu" for s in starts):
        raise call.fail("a slice begins at integers")
    return [s if s.dtype == INT64 else lax.convert_element_type(s, INT64) for s in starts]


def dynamic_slice(call: Call, x: Any, *starts: Any) -> Any:
    """A slice whose start is clamped so that it lies inside."""
    sizes = call.axes("dynamic_slice_sizes")
    return apply("dynamic_slice", x, *_starts(call, starts), sizes=sizes) if x.ndim else x


def dynamic_update(call: Call, x: Any, update: Any, *starts: Any) -> Any:
    """An array with such a slice replaced."""
    return apply("dynamic_update_slice", x, update, *_starts(call, starts)) if x.ndim else update


RULES: Rules = {
    "bitcast": bitcast,
    "broadcast": broadcast,
    "concatenate": concatenate,
    "dynamic-slice": dynamic_slice,
    "dynamic-update-slice": dynamic_update,
    "iota": iota,
    "pad": pad,
    "reshape": reshape,
    "reverse": reverse,
    "slice": part,
    "transpose": transpose,
}
