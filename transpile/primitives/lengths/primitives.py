"""`compact`: the elements of vectors where a mask holds, whose number is a length that the program
finds; `require`: an inequality of sizes that has to hold for the call to go on.

All else is built from these: `x[mask]` is a gather at the compacted positions, so that derivatives
are those of gather.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, Shape
from transpile.ir.graph import Equation
from transpile.ir.indices.lengths import Length, refused
from transpile.ir.indices.requirements import may_stretch, stride_of
from transpile.ir.primitive import Axis, Linear, NoRule, Primitive, register
from transpile.ir.types import BOOL, INT64, ArrayType
from transpile.primitives.kinds import view
from transpile.primitives.rules import apply
from transpile.util.frozen_records import replace


def _compact(mask: Any, *values: Any, length: Length) -> list[Any]:
    return [np.int64(np.count_nonzero(mask)), *(x[mask] for x in values)]


def _compact_type(mask: ArrayType, *values: ArrayType, length: Length) -> tuple[ArrayType, ...]:
    if mask.ndim != 1 or mask.dtype != BOOL or any(x.shape != mask.shape for x in values):
        given = ", ".join(map(str, (mask, *values)))
        raise TypeError(f"compact takes a vector of bools and vectors as long, not {given}")
    if length.extent != mask.shape[0] + 1:
        raise TypeError(f"{length} is not the length of what a mask of {mask.shape[0]} selects")
    return ArrayType((), INT64), *(x.with_shape((Dim.of(length),)) for x in values)


def _compact_jvp(
    tangents: Sequence[Any], results: Any, mask: Any, *values: Any, length: Length
) -> list[Any]:
    moving = [t for t in tangents[1:] if t is not None]
    moved = iter(apply("compact", mask, *moving, length=length)[1:])
    return [None, *(None if t is None else next(moved) for t in tangents[1:])]


def _without_unread(equation: Equation, read: Sequence[bool]) -> Equation:
    """The equation without elements that nothing reads; the number is the length of the others."""
    kept = [True, *read[1:]]
    return replace(
        equation,
        inputs=tuple(a for a, k in zip(equation.inputs, kept, strict=True) if k),
        outputs=tuple(v for v, k in zip(equation.outputs, kept, strict=True) if k),
    )


def _batch(axis: Axis, batched: Sequence[bool], *operands: Any, **params: Any) -> Any:
    NoRule(
        "under vmap each example would select another number of elements. numpy.where(mask, x, 0) "
        "keeps the shape of x, and numpy.sum(x, where=mask) is the sum of x[mask]; with size=n "
        "each example gives n elements: x[transpile.numpy.nonzero(mask, size=n)]"
    )()


compact = register(
    Primitive(
        "compact",
        "length",
        _compact,
        _compact_type,
        cost=0,
        jvp=_compact_jvp,
        batch=_batch,
        dce=_without_unread,
        exact=True,
        own_format=True,
        weight=4,
    )
)


def _measured_type(count: ArrayType, *, length: Length) -> tuple[ArrayType, ...]:
    if (count.shape, count.dtype) != ((), INT64):
        raise TypeError(f"a length is an int64 number, not {count}")
    return (count.strong,)


def _unmeasured(axis: Axis, batched: Sequence[bool], *operands: Any, **params: Any) -> Any:
    NoRule(
        "under vmap the result of each example would have a length of its own. With "
        "transpile.numpy.repeat(x, counts, total_repeat_length=n), or "
        "transpile.numpy.bincount(x, length=n), it is n"
    )()


# A number that is a length from here on.
measured = register(
    Primitive(
        "measured",
        "length",
        lambda count, *, length: [np.int64(count)],
        _measured_type,
        cost=0,
        batch=_unmeasured,
        dtypes="i",
    )
)


def _require_type(*, smaller: Index, larger: Index, text: str) -> tuple[ArrayType, ...]:
    return ()


def _require(*, smaller: Any, larger: Any, text: str) -> list[Any]:
    if smaller > larger:
        raise refused(text)
    return []


require = register(
    Primitive("require", "requirement", _require, _require_type, cost=0, effect=True)
)


def _resized_type(x: ArrayType, *, shape: Shape) -> ArrayType:
    if x.ndim != len(shape):
        raise TypeError(f"{x} is not resized to the shape {shape}")
    return x.with_shape(shape)


# An array in another shape that is equal to its own in every call that goes on: `require` says so.
resized = view(
    "resized",
    lambda x, *, shape: x,
    _resized_type,
    lambda index, x, *, shape: index,
    transpose=lambda ct, x, *, shape: [apply("resized", ct, shape=tuple(x.type.shape))],
    shift=lambda axis, *, shape: {"shape": (axis.size, *shape)},
)


def _stretched_type(x: ArrayType, *, shape: Shape) -> ArrayType:
    pairs = zip(x.shape, shape, strict=False)
    if x.ndim != len(shape) or any(d not in (1, e) and not may_stretch(d, e) for d, e in pairs):
        raise TypeError(f"{x} is not stretched to the shape {shape}")
    return x.with_shape(shape)


def _stretched_transpose(ct: Any, x: Linear, *, shape: Shape) -> list[Any]:
    """The sum of the elements that are one: each of them stands as often as the axis is longer."""
    for axis, size in enumerate(x.type.shape):
        if size != shape[axis]:
            times = 1 + (shape[axis] - 1) * (1 - stride_of(size))
            before, after = ct.shape[:axis], ct.shape[axis + 1 :]
            ct = apply("resized", ct, shape=(*before, size * times, *after))
            ct = apply("reshape", ct, shape=(*before, size, times, *after))
            ct = apply("reduce_sum", ct, axes=(axis + 1,))
    return [ct]


# Axes that are broadcast in the calls in which they have one element.
stretched = view(
    "stretched",
    lambda x, *, shape: np.broadcast_to(x, shape),
    _stretched_type,
    lambda index, x, *, shape: tuple(
        i if d == e else i * stride_of(d) for i, d, e in zip(index, x.shape, shape, strict=True)
    ),
    transpose=_stretched_transpose,
    shift=lambda axis, *, shape: {"shape": (axis.size, *shape)},
)
