"""Rows that index by values: gather, scatter, and slices whose start is a value.

Index operands are int64 arrays of one shape, one for each axis that they index. `mode` says what an
index out of range does: `clip` takes the nearest element, `fill` gives a fill value (and changes
nothing, in a scatter), `promise` is the caller's word that there is none.
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
    in_front,
    is_scalar_constant,
    is_zero,
    spread,
    transposed,
    zeros_like,
)

CLIP, FILL, PROMISED = "clip", "fill", "promise"
Axes = tuple[int, ...]


def fill_value(dtype: np.dtype[Any]) -> Any:
    """What `fill` gives for an element that is not there: NaN, True, or the extreme integer."""
    if kind_letter(dtype) in "fc":
        return dtype.type(np.nan)
    if dtype.kind == "b":
        return np.True_
    info = np.iinfo(dtype)
    return dtype.type(info.min if dtype.kind == "i" else info.max)


def index_operands(equation: Equation) -> tuple[Atom, ...]:
    """The operands of an equation that are arrays of indices."""
    first = _FIRST_INDEX.get(equation.primitive)
    return () if first is None else equation.inputs[first:]


def _check_indices(x: ArrayType, indices: Sequence[ArrayType], axes: Axes) -> Shape:
    """The shape of the index arrays, which leave the other axes of the operand."""
    shapes = {t.shape for t in indices}
    if any(t.dtype != INT64 for t in indices) or len(shapes) != 1 or len(indices) != len(axes):
        raise TypeError(f"{x} cannot be indexed by {', '.join(map(str, indices))} along {axes}")
    return (*next(iter(shapes)), *(d for a, d in enumerate(x.shape) if a not in axes))


def _in_front(x: Any, axes: Axes) -> Any:
    return np.moveaxis(x, axes, range(len(axes)))


def _valid(x: Any, indices: Sequence[Any], axes: Axes) -> Any:
    """Where all indices are in range."""
    inside = [(i >= 0) & (i < x.shape[a]) for a, i in zip(axes, indices, strict=True)]
    return reduce(np.logical_and, inside)


def _clipped(x: Any, indices: Sequence[Any], axes: Axes) -> tuple[Any, ...]:
    return tuple(np.clip(i, 0, x.shape[a] - 1) for a, i in zip(axes, indices, strict=True))


# ----------------------------------------------------------------------------------------- gather


def _gather_type(x: ArrayType, *indices: ArrayType, axes: Axes, mode: str) -> ArrayType:
    return x.with_shape(_check_indices(x, indices, axes))


def _gather(x: Any, *indices: Any, axes: Axes, mode: str) -> Any:
    shape = indices[0].shape + tuple(d for a, d in enumerate(x.shape) if a not in axes)
    if not np.prod(shape, dtype=int) or any(x.shape[a] == 0 for a in axes):
        return np.full(shape, fill_value(x.dtype), x.dtype)
    found = _in_front(x, axes)[_clipped(x, indices, axes)]
    if mode == FILL:
        valid = _valid(x, indices, axes)
        valid = valid.reshape(valid.shape + (1,) * (len(shape) - valid.ndim))
        found = np.where(valid, found, fill_value(x.dtype))
    return found


def _gather_jvp(tangents: Sequence[Any], _: Any, x: Any, *indices: Any, **params: Any) -> Any:
    moved = apply("gather", tangents[0], *indices, **params)
    if params["mode"] != FILL:
        return moved
    return _zero_outside(moved, x, indices, params["axes"])  # a fill value does not move


def _zero_outside(found: Any, x: Any, indices: Sequence[Any], axes: Axes) -> Any:
    """What was found at indices, zero where one is out of range."""
    inside = [(i >= 0) & (i < x.shape[a]) for a, i in zip(axes, indices, strict=True)]
    valid = reduce(np.logical_and, inside)
    return np.where(spread(valid, found.shape, range(valid.ndim)), found, zeros_like(found))


def _gather_transpose(ct: Any, x: Linear, *indices: Any, axes: Axes, mode: str) -> list[Any]:
    params = {"axes": axes, "mode": mode, "combine": "add", "unique": False}
    return [apply("scatter", zeros_like(x), ct, *indices, **params), *[None] * len(indices)]


def _gather_batch(
    axis: Axis, batched: Sequence[bool], x: Any, *indices: Any, axes: Axes, mode: str
) -> tuple[Any, bool]:
    if not any(batched[1:]):  # the new axis comes after those of the indices
        found = apply("gather", x, *indices, axes=tuple(a + 1 for a in axes), mode=mode)
        place = np.ndim(indices[0])
        return transposed(found, (place, *(a for a in range(found.ndim) if a != place))), True
    of_all = _batched_indices(axis, batched[1:], indices)
    if not batched[0]:
        return apply("gather", x, *of_all, axes=axes, mode=mode), True
    example = _example_numbers(axis, of_all[0].shape)
    axes = (0, *(a + 1 for a in axes))
    return apply("gather", x, example, *of_all, axes=axes, mode=mode), True


def _batched_indices(axis: Axis, batched: Sequence[bool], indices: Sequence[Any]) -> list[Any]:
    return [in_front(i, axis, b) for i, b in zip(indices, batched, strict=True)]


def _example_numbers(axis: Axis, shape: Shape) -> Any:
    """For each index the number of its example."""
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
        raise TypeError(f"a scatter does not know how to {combine}")
    if updates.shape != _check_indices(x, indices, axes) or updates.dtype != x.dtype:
        raise TypeError(f"{updates} does not fit into the places of {x} along {axes}")
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
    places = {"axes": params["axes"], "mode": params["mode"]}
    if combine == "multiply":
        if not params["unique"]:
            _repeated_products()
        scaled = apply("scatter", t, updates, *indices, **params)
        before = apply("gather", x, *indices, **{**places, "mode": CLIP})
        return apply("scatter", scaled, tu * before, *indices, **{**params, "combine": "add"})
    # The extreme's derivative is shared by all that equal it.
    added = {**params, "combine": "add"}
    from_x = (x == result).astype(t.dtype)
    chosen = apply("gather", result, *indices, **{**places, "mode": CLIP})
    from_updates = (updates == chosen).astype(t.dtype)
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
    places: dict[str, Any] = {"axes": axes, "mode": mode}
    rest = [None] * len(indices)
    to_x = to_updates = None
    if combine == "multiply":  # by known updates
        params = {**places, "combine": combine, "unique": unique}
        return [apply("scatter", ct, updates, *indices, **params), None, *rest]
    unique = unique or prod(np.shape(indices[0])) == 1  # one update is the last one
    taken = {**places, "combine": "set", "unique": unique}
    # First what reads the cotangent, then what changes it: that may happen in its place.
    if isinstance(updates, Linear):
        to_updates = _gathered_or_zero(ct, indices, places)
        if combine == "set" and not unique:
            to_updates = np.where(
                _is_last(ct, to_updates.shape, indices, taken), to_updates, zeros_like(updates)
            )
    if isinstance(x, Linear):
        nothing = zeros_like(updates)
        to_x = ct if combine == "add" else apply("scatter", ct, nothing, *indices, **taken)
    return [to_x, to_updates, *rest]


def _gathered_or_zero(ct: Any, indices: Sequence[Any], places: dict[str, Any]) -> Any:
    """The elements at the indices, zero where an index is out of range."""
    found = apply("gather", ct, *indices, **places)
    return _zero_outside(found, ct, indices, places["axes"]) if places["mode"] == FILL else found


def _is_last(ct: Any, shape: Shape, indices: Sequence[Any], taken: dict[str, Any]) -> Any:
    """Which updates were written last to their place, and so are the ones that count."""
    size = int(np.prod(np.shape(indices[0]), dtype=int))
    flat = apply("iota", shape=(size,), dimension=0, dtype=INT64)
    numbers = apply("reshape", flat, shape=tuple(np.shape(indices[0])))
    numbers = spread(numbers, shape, range(np.ndim(indices[0])))
    nobody = spread(Const(np.int64(-1)), tuple(ct.shape), ())
    owners = apply("scatter", nobody, numbers, *indices, **taken)
    places = {"axes": taken["axes"], "mode": CLIP if taken["mode"] == FILL else taken["mode"]}
    return apply("gather", owners, *indices, **places) == numbers


def _scatter_batch(
    axis: Axis, batched: Sequence[bool], x: Any, updates: Any, *indices: Any, **params: Any
) -> tuple[Any, bool]:
    x, updates = in_front(x, axis, batched[0]), in_front(updates, axis, batched[1])
    axes = tuple(a + 1 for a in params["axes"])
    if not any(batched[2:]):  # the examples' axis stands after those of the indices
        place = np.ndim(indices[0])
        order = (*range(1, place + 1), 0, *range(place + 1, updates.ndim))
        return apply(
            "scatter", x, transposed(updates, order), *indices, **{**params, "axes": axes}
        ), True
    indices_of_all = _batched_indices(axis, batched[2:], indices)
    example = _example_numbers(axis, indices_of_all[0].shape)
    params = {**params, "axes": (0, *axes)}
    return apply("scatter", x, updates, example, *indices_of_all, **params), True


def _scatter_added(total: Any, x: Any, *operands: Any, **params: Any) -> Any:
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
        added=_scatter_added,
        weight=0,
        puts=True,
    )
)

# --------------------------------------------------------------------------- slices with a start


def clamped_starts(shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Any]) -> list[int]:
    """Where a slice of known sizes begins in an array of known shape: moved until it is inside."""
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
    """Index arrays that take the slices of all examples, each where it begins."""
    whole = (axis.size, *sizes)
    found = []
    for place, (start, b, extent, size) in enumerate(
        zip(starts, batched, shape, sizes, strict=True)
    ):
        highest: Any = extent - size
        begin = np.clip(start, 0, highest)
        begin = spread(begin, whole, (0,) if b else ())
        found.append(begin + apply("iota", shape=whole, dimension=place + 1, dtype=INT64))
    return found


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
        indices = [_example_numbers(axis, indices[0].shape), *indices]
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
    )
)


def _dynamic_update_type(x: ArrayType, update: ArrayType, *starts: ArrayType) -> ArrayType:
    _check_starts(x, update.shape, starts)
    if update.dtype != x.dtype:
        raise TypeError(f"a slice of {x} cannot become {update}")
    return x.strong


def _dynamic_update_slice(x: Any, update: Any, *starts: Any) -> Any:
    result = np.array(x)
    first = clamped_starts(x.shape, update.shape, starts)
    result[tuple(slice(s, s + n) for s, n in zip(first, update.shape, strict=True))] = update
    return result


def sliced(x: Any, starts: Sequence[Any], sizes: Shape) -> Any:
    """The slice of a value, a view of it where the starts are known."""
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
    if isinstance(update, Linear):  # before the cotangent changes: that may happen in its place
        to_update = sliced(ct, starts, sizes)
    if isinstance(x, Linear):
        nothing = zeros_like(update)
        to_x = apply("dynamic_update_slice", ct, nothing, *starts)
    return [to_x, to_update, *[None] * len(starts)]


def _dynamic_update_batch(
    axis: Axis, batched: Sequence[bool], x: Any, update: Any, *starts: Any
) -> tuple[Any, bool]:
    x, update = in_front(x, axis, batched[0]), in_front(update, axis, batched[1])
    if not any(batched[2:]):
        return apply("dynamic_update_slice", x, update, np.int64(0), *starts), True
    shape, sizes = tuple(x.shape[1:]), tuple(update.shape[1:])
    indices = _slice_indices(axis, batched[2:], starts, shape, sizes)
    indices = [_example_numbers(axis, indices[0].shape), *indices]
    params = {"axes": tuple(range(x.ndim)), "mode": PROMISED, "combine": "set", "unique": True}
    return apply("scatter", x, update, *indices, **params), True


FEW = 4  # a slice is few elements where the array has so many times more


def _dynamic_update_added(total: Any, x: Any, update: Any, *starts: Any) -> Any:
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
        added=_dynamic_update_added,
        weight=0,
        puts=True,
    )
)

_FIRST_INDEX = {gather: 1, scatter: 2}
