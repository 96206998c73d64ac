"""Gather, scatter, dynamic_slice and dynamic_update_slice: subscripts that are values.

Index operands are int64 arrays of one shape, one for each indexed axis. Out of range, mode `clip`
clamps them, `fill` reads a fill value and drops an update, `promise` asserts that none is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.graph import Atom, Const, Equation
from transpile.ir.primitive import Axis, Linear, NoRule, Primitive, register
from transpile.ir.types import INT64, ArrayType, kind_letter
from transpile.primitives.rules import (
    apply,
    broadcast,
    is_scalar_constant,
    is_zero,
    transposed,
    with_batch_axis,
    zeros_like,
)

CLIP, FILL, PROMISED = "clip", "fill", "promise"
Axes = tuple[int, ...]


def fill_value(dtype: np.dtype[Any]) -> Any:
    """What mode `fill` reads out of range: NaN, True, the least int or the greatest unsigned
    one."""
    if kind_letter(dtype) in "fc":
        return dtype.type(np.nan)
    if dtype.kind == "b":
        return np.True_
    info = np.iinfo(dtype)
    return dtype.type(info.min if dtype.kind == "i" else info.max)


def index_operands(equation: Equation) -> tuple[Atom, ...]:
    """The index operands of a gather or scatter; none for other equations."""
    first = _FIRST_INDEX.get(equation.primitive)
    return () if first is None else equation.inputs[first:]


def _check_indices(x: ArrayType, indices: Sequence[ArrayType], axes: Axes) -> Shape:
    """The shape of the indexed elements: that of the index arrays, then the axes not indexed."""
    shapes = {t.shape for t in indices}
    if any(t.dtype != INT64 for t in indices) or len(shapes) != 1 or len(indices) != len(axes):
        raise TypeError(f"{x} cannot be indexed by {', '.join(map(str, indices))} along {axes}")
    return (*next(iter(shapes)), *(d for a, d in enumerate(x.shape) if a not in axes))


def _in_front(x: Any, axes: Axes) -> Any:
    return np.moveaxis(x, axes, range(len(axes)))


def _valid(x: Any, indices: Sequence[Any], axes: Axes) -> Any:
    """The mask of where all indices are in range."""
    inside = [(i >= 0) & (i < x.shape[a]) for a, i in zip(axes, indices, strict=True)]
    return reduce(np.logical_and, inside)


def _clipped(x: Any, indices: Sequence[Any], axes: Axes) -> tuple[Any, ...]:
    return tuple(np.clip(i, 0, x.shape[a] - 1) for a, i in zip(axes, indices, strict=True))


def _subscript_ranges(x: Any, *operands: Any, axes: Axes, **_: Any) -> list[Any]:
    """The index operands of a gather or scatter, the last ones, with their axes and extents."""
    return [(i, a, x.shape[a]) for i, a in zip(operands[-len(axes) :], axes, strict=True)]


def _start_ranges(shape: Shape, sizes: Shape, starts: Sequence[Any]) -> list[Any]:
    """The starts of a slice, with their axes and the first that is out of range."""
    pairs = enumerate(zip(shape, sizes, strict=True))
    return [(starts[axis], axis, extent - size + 1) for axis, (extent, size) in pairs]


# ----------------------------------------------------------------------------------------- gather


def _gather_type(x: ArrayType, *indices: ArrayType, axes: Axes, mode: str) -> ArrayType:
    return x.with_shape(_check_indices(x, indices, axes))


def _gather(x: Any, *indices: Any, axes: Axes, mode: str) -> Any:
    shape = indices[0].shape + tuple(d for a, d in enumerate(x.shape) if a not in axes)
    if not np.prod(shape, dtype=int) or any(x.shape[a] == 0 for a in axes):
        return np.full(shape, fill_value(x.dtype), x.dtype)
    elements = _in_front(x, axes)[_clipped(x, indices, axes)]
    if mode == FILL:
        valid = _valid(x, indices, axes)
        valid = valid.reshape(valid.shape + (1,) * (len(shape) - valid.ndim))
        elements = np.where(valid, elements, fill_value(x.dtype))
    return elements


def _gather_jvp(tangents: Sequence[Any], _: Any, x: Any, *indices: Any, **params: Any) -> Any:
    t = apply("gather", tangents[0], *indices, **params)
    if params["mode"] != FILL:
        return t
    return _zero_outside(t, x, indices, params["axes"])  # a fill value is a constant


def _zero_outside(elements: Any, x: Any, indices: Sequence[Any], axes: Axes) -> Any:
    """The gathered elements, zero where an index is out of range."""
    inside = [(i >= 0) & (i < x.shape[a]) for a, i in zip(axes, indices, strict=True)]
    valid = reduce(np.logical_and, inside)
    return np.where(
        broadcast(valid, elements.shape, range(valid.ndim)), elements, zeros_like(elements)
    )


def _gather_transpose(ct: Any, x: Linear, *indices: Any, axes: Axes, mode: str) -> list[Any]:
    params = {"axes": axes, "mode": mode, "combine": "add", "unique": False}
    return [apply("scatter", zeros_like(x), ct, *indices, **params), *[None] * len(indices)]


def _gather_batch(
    axis: Axis, batched: Sequence[bool], x: Any, *indices: Any, axes: Axes, mode: str
) -> tuple[Any, bool]:
    if not any(batched[1:]):  # the batch axis of the result comes after those of the indices
        elements = apply("gather", x, *indices, axes=tuple(a + 1 for a in axes), mode=mode)
        at = np.ndim(indices[0])
        return transposed(elements, (at, *(a for a in range(elements.ndim) if a != at))), True
    indices = _batched_indices(axis, batched[1:], indices)
    if not batched[0]:
        return apply("gather", x, *indices, axes=axes, mode=mode), True
    example = _example_index(axis, indices[0].shape)
    axes = (0, *(a + 1 for a in axes))
    return apply("gather", x, example, *indices, axes=axes, mode=mode), True


def _batched_indices(
    axis: Axis, batched: Sequence[bool], indices: Sequence[Any]
) -> tuple[Any, ...]:
    return tuple(with_batch_axis(i, axis, b) for i, b in zip(indices, batched, strict=True))


def _example_index(axis: Axis, shape: Shape) -> Any:
    """The index along the batch axis for index operands of a shape."""
    return apply("iota", shape=tuple(shape), dimension=0, dtype=INT64)


gather = register(
    Primitive(
        "gather",
        "piecewise",
        _gather,
        _gather_type,
        cost=0,
        jvp=_gather_jvp,
        transpose=_gather_transpose,
        batch=_gather_batch,
        weight=4,
        picks=True,
        index_ranges=_subscript_ranges,
    )
)

# ---------------------------------------------------------------------------------------- scatter

COMBINES = {
    "add": np.add,
    "multiply": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "logical_or": np.logical_or,
    "logical_and": np.logical_and,
}


def _scatter_type(
    x: ArrayType,
    updates: ArrayType,
    *indices: ArrayType,
    axes: Axes,
    mode: str,
    combine: str,
    unique: bool,
) -> ArrayType:
    if combine != "set" and combine not in COMBINES:
        raise TypeError(f"a scatter does not combine by {combine}")
    if updates.shape != _check_indices(x, indices, axes) or updates.dtype != x.dtype:
        raise TypeError(f"updates of type {updates} do not fit the indexed axes {axes} of {x}")
    return x.strong


def _scatter(
    x: Any, updates: Any, *indices: Any, axes: Axes, mode: str, combine: str, unique: bool
) -> Any:
    result = np.array(x)
    if not updates.size or not result.size:
        return result
    view = _in_front(result, axes)
    if mode == CLIP:
        indices = _clipped(x, indices, axes)
    valid = _valid(x, indices, axes)
    where = tuple(np.asarray(i)[valid] for i in indices)
    if combine == "set":
        view[where] = updates[valid]
    else:
        COMBINES[combine].at(view, where, updates[valid])
    return result


def _scatter_jvp(
    tangents: Sequence[Any], result: Any, x: Any, updates: Any, *indices: Any, **params: Any
) -> Any:
    t, tu = (
        zeros_like(v) if d is None else d for d, v in zip(tangents[:2], (x, updates), strict=True)
    )
    combine = params["combine"]
    if combine in ("set", "add"):  # linear in both together
        return apply("scatter", t, tu, *indices, **params)
    gathered, added = {"axes": params["axes"], "mode": CLIP}, {**params, "combine": "add"}
    if combine == "multiply":
        if not params["unique"]:
            _repeated_products()
        scaled = apply("scatter", t, updates, *indices, **params)
        before = apply("gather", x, *indices, **gathered)
        return apply("scatter", scaled, tu * before, *indices, **added)
    # The mean of the tangents of all that are equal to the extreme.
    from_x = (x == result).astype(t.dtype)
    extreme = apply("gather", result, *indices, **gathered)
    from_updates = (updates == extreme).astype(t.dtype)
    total = apply("scatter", from_x * t, from_updates * tu, *indices, **added)
    return total / apply("scatter", from_x, from_updates, *indices, **added)


_repeated_products = NoRule(
    "the derivative of a scatter that multiplies needs unique_indices=True: with repeated indices "
    "it is not the product rule for each alone"
)


def _scatter_transpose(
    ct: Any,
    x: Any,
    updates: Any,
    *indices: Any,
    axes: Axes,
    mode: str,
    combine: str,
    unique: bool,
) -> list[Any]:
    subscript: dict[str, Any] = {"axes": axes, "mode": mode}
    rest = [None] * len(indices)
    to_x = to_updates = None
    if combine == "multiply":  # by known updates
        params = {**subscript, "combine": combine, "unique": unique}
        return [apply("scatter", ct, updates, *indices, **params), None, *rest]
    unique = unique or prod(np.shape(indices[0])) == 1
    stored = {**subscript, "combine": "set", "unique": unique}
    # The read of the cotangent comes before its update, which may then be in place.
    if isinstance(updates, Linear):
        to_updates = _gathered_or_zero(ct, indices, subscript)
        if combine == "set" and not unique:
            to_updates = np.where(
                _is_last(ct, to_updates.shape, indices, stored), to_updates, zeros_like(updates)
            )
    if isinstance(x, Linear):
        zero = zeros_like(updates)
        to_x = ct if combine == "add" else apply("scatter", ct, zero, *indices, **stored)
    return [to_x, to_updates, *rest]


def _gathered_or_zero(ct: Any, indices: Sequence[Any], subscript: dict[str, Any]) -> Any:
    """The elements at the indices, zero where an index is out of range."""
    elements = apply("gather", ct, *indices, **subscript)
    is_filled = subscript["mode"] == FILL
    return _zero_outside(elements, ct, indices, subscript["axes"]) if is_filled else elements


def _is_last(ct: Any, shape: Shape, indices: Sequence[Any], stored: dict[str, Any]) -> Any:
    """The mask of the updates that no later one overwrites: those whose number, scattered like the
    updates, is still there."""
    size = int(np.prod(np.shape(indices[0]), dtype=int))
    flat = apply("iota", shape=(size,), dimension=0, dtype=INT64)
    numbers = apply("reshape", flat, shape=tuple(np.shape(indices[0])))
    numbers = broadcast(numbers, shape, range(np.ndim(indices[0])))
    nobody = broadcast(Const(np.int64(-1)), tuple(ct.shape), ())
    owners = apply("scatter", nobody, numbers, *indices, **stored)
    mode = CLIP if stored["mode"] == FILL else stored["mode"]
    return apply("gather", owners, *indices, axes=stored["axes"], mode=mode) == numbers


def _scatter_batch(
    axis: Axis, batched: Sequence[bool], x: Any, updates: Any, *indices: Any, **params: Any
) -> tuple[Any, bool]:
    x, updates = with_batch_axis(x, axis, batched[0]), with_batch_axis(updates, axis, batched[1])
    axes = tuple(a + 1 for a in params["axes"])
    if not any(batched[2:]):  # the batch axis of the updates comes after those of the indices
        at = np.ndim(indices[0])
        updates = transposed(updates, (*range(1, at + 1), 0, *range(at + 1, updates.ndim)))
        return apply("scatter", x, updates, *indices, **{**params, "axes": axes}), True
    indices = _batched_indices(axis, batched[2:], indices)
    example = _example_index(axis, indices[0].shape)
    params = {**params, "axes": (0, *axes)}
    return apply("scatter", x, updates, example, *indices, **params), True


def _scatter_accumulate(total: Any, x: Any, *operands: Any, **params: Any) -> Any:
    if params["combine"] != "add" or not is_zero(x):
        return None
    return apply("scatter", total, *operands, **params)


scatter = register(
    Primitive(
        "scatter",
        "scatter",
        _scatter,
        _scatter_type,
        cost=0,
        jvp=_scatter_jvp,
        transpose=_scatter_transpose,
        batch=_scatter_batch,
        accumulate=_scatter_accumulate,
        weight=0,
        puts=True,
        index_ranges=_subscript_ranges,
    )
)

# -------------------------------------------------------------------------------- dynamic slices


def clamped_starts(shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Any]) -> list[int]:
    """The starts of a dynamic slice of static sizes, clamped so that it lies inside the array."""
    return [int(np.clip(s, 0, d - n)) for s, d, n in zip(starts, shape, sizes, strict=True)]


def _check_starts(x: ArrayType, sizes: Shape, starts: Sequence[ArrayType]) -> None:
    if len(starts) != x.ndim or len(sizes) != x.ndim:
        raise TypeError(f"a slice of {x} needs {x.ndim} starts and sizes")
    if any(t.shape or t.dtype != INT64 for t in starts):
        raise TypeError(
            f"the starts of a slice are int64 scalars, not {', '.join(map(str, starts))}"
        )
    for size, extent in zip(sizes, x.shape, strict=True):
        if isinstance(size, int) and isinstance(extent, int) and not 0 <= size <= extent:
            raise TypeError(f"a slice of sizes {sizes} does not fit into {x}")


def _dynamic_slice_type(x: ArrayType, *starts: ArrayType, sizes: Shape) -> ArrayType:
    _check_starts(x, sizes, starts)
    return x.with_shape(sizes)


def _dynamic_slice(x: Any, *starts: Any, sizes: tuple[int, ...]) -> Any:
    first = clamped_starts(x.shape, sizes, starts)
    return x[tuple(slice(s, s + n) for s, n in zip(first, sizes, strict=True))]


def _slice_indices(
    axis: Axis, batched: Sequence[bool], starts: Sequence[Any], shape: Shape, sizes: Shape
) -> list[Any]:
    """Index arrays of the slices of all examples, whose starts differ."""
    whole = (axis.size, *sizes)
    indices = []
    for number, (start, b, extent, size) in enumerate(
        zip(starts, batched, shape, sizes, strict=True)
    ):
        highest: Any = extent - size
        first = np.clip(start, 0, highest)
        first = broadcast(first, whole, (0,) if b else ())
        indices.append(first + apply("iota", shape=whole, dimension=number + 1, dtype=INT64))
    return indices


def _dynamic_slice_batch(
    axis: Axis, batched: Sequence[bool], x: Any, *starts: Any, sizes: Shape
) -> tuple[Any, bool]:
    if not any(batched[1:]):
        zero = np.int64(0)
        return apply("dynamic_slice", x, zero, *starts, sizes=(axis.size, *sizes)), True
    shape = x.shape[1:] if batched[0] else x.shape
    indices = _slice_indices(axis, batched[1:], starts, tuple(shape), sizes)
    axes = tuple(range(x.ndim))
    if batched[0]:
        indices = [_example_index(axis, indices[0].shape), *indices]
    return apply("gather", x, *indices, axes=axes, mode=PROMISED), True


dynamic_slice = register(
    Primitive(
        "dynamic_slice",
        "piecewise",
        _dynamic_slice,
        _dynamic_slice_type,
        cost=0,
        jvp=lambda tangents, _, x, *starts, sizes: apply(
            "dynamic_slice", tangents[0], *starts, sizes=sizes
        ),
        transpose=lambda ct, x, *starts, sizes: [
            apply("dynamic_update_slice", zeros_like(x), ct, *starts),
            *[None] * len(starts),
        ],
        batch=_dynamic_slice_batch,
        weight=0,
        picks=True,
        index_ranges=lambda x, *starts, sizes: _start_ranges(x.shape, sizes, starts),
    )
)


def _dynamic_update_type(x: ArrayType, update: ArrayType, *starts: ArrayType) -> ArrayType:
    _check_starts(x, update.shape, starts)
    if update.dtype != x.dtype:
        raise TypeError(f"a slice of {x} cannot be updated with {update}")
    return x.strong


def _dynamic_update_slice(x: Any, update: Any, *starts: Any) -> Any:
    result = np.array(x)
    first = clamped_starts(x.shape, update.shape, starts)
    result[tuple(slice(s, s + n) for s, n in zip(first, update.shape, strict=True))] = update
    return result


def sliced(x: Any, starts: Sequence[Any], sizes: Shape) -> Any:
    """A dynamic slice, or a view where the starts and sizes are constants."""
    shape = [d for d in x.shape if isinstance(d, int)]
    known = [d for d in sizes if isinstance(d, int)]
    if not all(is_scalar_constant(s) for s in starts) or (
        len(shape) < len(starts) or len(known) < len(starts)
    ):
        return apply("dynamic_slice", x, *starts, sizes=sizes)
    first = tuple(clamped_starts(shape, known, starts))
    limit = tuple(a + n for a, n in zip(first, known, strict=True))
    return apply("slice", x, start=first, limit=limit, strides=(1,) * len(sizes))


def _dynamic_update_jvp(tangents: Sequence[Any], _: Any, x: Any, update: Any, *starts: Any) -> Any:
    t, tu = (
        zeros_like(v) if d is None else d for d, v in zip(tangents[:2], (x, update), strict=True)
    )
    return apply("dynamic_update_slice", t, tu, *starts)


def _dynamic_update_transpose(ct: Any, x: Any, update: Any, *starts: Any) -> list[Any]:
    to_x = to_update = None
    sizes = tuple((update.type if isinstance(update, Linear) else update).shape)
    # The read of the cotangent comes before its update, which may then be in place.
    if isinstance(update, Linear):
        to_update = sliced(ct, starts, sizes)
    if isinstance(x, Linear):
        to_x = apply("dynamic_update_slice", ct, zeros_like(update), *starts)
    return [to_x, to_update, *[None] * len(starts)]


def _dynamic_update_batch(
    axis: Axis, batched: Sequence[bool], x: Any, update: Any, *starts: Any
) -> tuple[Any, bool]:
    x, update = with_batch_axis(x, axis, batched[0]), with_batch_axis(update, axis, batched[1])
    if not any(batched[2:]):
        return apply("dynamic_update_slice", x, update, np.int64(0), *starts), True
    shape, sizes = tuple(x.shape[1:]), tuple(update.shape[1:])
    indices = _slice_indices(axis, batched[2:], starts, shape, sizes)
    indices = [_example_index(axis, indices[0].shape), *indices]
    params = {"axes": tuple(range(x.ndim)), "mode": PROMISED, "combine": "set", "unique": True}
    return apply("scatter", x, update, *indices, **params), True


FEW = 4  # an update is sparse if the array has at least so many times its elements


def _dynamic_update_accumulate(total: Any, x: Any, update: Any, *starts: Any) -> Any:
    if not is_zero(x) or not all(isinstance(d, int) for d in (*update.shape, *total.shape)):
        return None
    if prod(update.shape) * FEW > prod(total.shape):
        return None
    before = apply("dynamic_slice", total, *starts, sizes=tuple(update.shape))
    return apply("dynamic_update_slice", total, before + update, *starts)


dynamic_update_slice = register(
    Primitive(
        "dynamic_update_slice",
        "piecewise",
        _dynamic_update_slice,
        _dynamic_update_type,
        cost=0,
        jvp=_dynamic_update_jvp,
        transpose=_dynamic_update_transpose,
        batch=_dynamic_update_batch,
        accumulate=_dynamic_update_accumulate,
        weight=0,
        puts=True,
        index_ranges=lambda x, update, *starts: _start_ranges(x.shape, update.shape, starts),
    )
)

_FIRST_INDEX = {gather: 1, scatter: 2}
