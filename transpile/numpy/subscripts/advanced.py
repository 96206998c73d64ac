"""Advanced indices: arrays of integers and known masks, as one gather or scatter.

A key becomes a plan: the basic selection of the axes that no array indexes, the arrays that index
the others, and the position of the axes of these arrays in the result, which is NumPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.ir.dims import Dim, Shape
from transpile.ir.indices.requirements import require_index
from transpile.ir.types import BOOL, INT64, broadcast_shapes
from transpile.numpy.core.promotion import (
    as_operand,
    broadcast_in_dim,
    broadcast_to,
    convert,
    fill,
    has_tracer,
    index_of,
    reshape_to,
    shape_of,
    strengthen,
    transpose_to,
    unsupported,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import require_indices
from transpile.numpy.core.ufuncs import call
from transpile.primitives import axes as primitives
from transpile.primitives import elementwise
from transpile.primitives.indexing import CLIP, FILL, PROMISED, gather
from transpile.trace.lengths import selected
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer
from transpile.trace.views.lists import TracedList
from transpile.util.frozen_records import dataclass
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    from transpile.numpy.subscripts import bounds
else:
    bounds = Later("transpile.numpy.subscripts.bounds")

WRAP = "wrap"
_KINDS = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
    "boolean arrays are valid indices"
)


@dataclass(frozen=True)
class Entry:
    """The part of a key for one axis (or, where `axis` is None, for none: a new axis)."""

    axis: int | None
    value: Any  # a slice, an int, a Dim, an int64 ndarray or a Tracer; None for a new axis;
    # an Ellipsis that stands for no axis, but still between arrays
    is_inside: bool = False  # the indices are those of a mask: in range, and distinct
    is_slice: bool = False  # they are those of a slice, along an axis of their own

    @property
    def is_array(self) -> bool:
        """Whether it is an array of indices with axes of its own."""
        return len(shape_of(self.value)) > 0 if isinstance(self.value, _ARRAYS) else False

    @property
    def is_number(self) -> bool:
        """Whether it selects one element: an integer, known or traced."""
        return isinstance(self.value, int | Dim) or (
            isinstance(self.value, _ARRAYS) and not self.is_array
        )


_ARRAYS = (np.ndarray, Tracer)


def entries(key: Any, shape: Shape) -> list[Entry]:
    """The entries of a key, with the Ellipsis expanded and masks replaced by arrays of indices."""
    parts = [_part(p) for p in (key if isinstance(key, tuple) else (key,))]
    if sum(p is Ellipsis for p in parts) > 1:
        raise located(IndexError, "an index can only have a single ellipsis ('...')")
    consuming = sum(_consumed(p) for p in parts)
    if consuming > len(shape):
        raise located(
            IndexError,
            f"too many indices for array: array is {len(shape)}-dimensional, but "
            f"{consuming} were indexed",
        )
    rest = [slice(None)] * (len(shape) - consuming)
    if not any(p is Ellipsis for p in parts):
        parts.append(Ellipsis)
    parsed: list[Entry] = []
    axis = 0
    for part in parts:
        if part is Ellipsis and not rest:
            parsed.append(Entry(None, Ellipsis))
        for piece in rest if part is Ellipsis else [part]:
            if piece is None:
                parsed.append(Entry(None, None))
                continue
            if _is_mask(piece):
                parsed += _mask_entries(piece, shape, axis)
            else:
                parsed.append(Entry(axis, piece))
            axis += _consumed(piece)
    return parsed


def _consumed(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    return int(part.ndim) if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    return isinstance(part, _ARRAYS) and part.dtype == BOOL


def _part(entry: Any) -> Any:
    """An entry of a key, classified."""
    if entry is None or entry is Ellipsis or isinstance(entry, slice | Dim):
        return entry
    if isinstance(entry, Tracer):
        known = known_value(entry)
        return _part(known) if known is not None else _traced_part(entry)
    if isinstance(entry, list | tuple | range | TracedList):
        if has_tracer(entry):
            return _traced_part(as_operand(entry))
        array = np.asarray(entry)
        return _part(array.astype(INT64) if not array.size else array)
    if isinstance(entry, bool | np.bool_):
        return np.asarray(entry)
    if isinstance(entry, np.ndarray) and (entry.ndim or entry.dtype == BOOL):
        if entry.dtype.kind not in "iub":
            raise located(IndexError, "arrays used as indices must be of integer (or boolean) type")
        return entry if entry.dtype == BOOL else entry.astype(INT64)
    if not hasattr(entry, "__index__") or (
        hasattr(entry, "dtype") and entry.dtype.kind not in "iu"
    ):
        raise located(IndexError, _KINDS)
    return index_of(entry)


def known_value(entry: Tracer) -> Any:
    """The value of a traced index where values are known while tracing; else None."""
    value = entry.owner.value(entry.variable) if entry.owner.known is not None else None
    return value if isinstance(value, np.ndarray | np.generic) else None


def _traced_part(entry: Tracer) -> Any:
    if entry.dtype == BOOL:
        return entry
    if entry.dtype.kind not in "iu":
        words = "arrays used as indices must be of integer (or boolean) type"
        raise located(IndexError, words if entry.ndim else _KINDS)
    return strengthen(convert(entry, INT64))


def _mask_entries(mask: Any, shape: Shape, axis: int) -> list[Entry]:
    """The arrays of indices of a mask."""
    for offset, extent in enumerate(mask.shape):
        if extent and shape[axis + offset] != extent:  # NumPy lets a mask without elements pass
            raise located(
                IndexError,
                f"boolean index did not match indexed array along axis {axis + offset}; size of "
                f"axis is {shape[axis + offset]} but size of corresponding boolean axis is "
                f"{extent}",
            )
    if isinstance(mask, Tracer):
        indices = positions_of(mask)
        if not mask.ndim:
            return [Entry(None, indices[0], is_inside=True)]
        return [Entry(axis + k, i, is_inside=True) for k, i in enumerate(indices)]
    if not mask.ndim:  # a new axis, of one element or none
        return [Entry(None, np.zeros(int(mask), INT64))]
    return [Entry(axis + k, indices) for k, indices in enumerate(np.nonzero(mask))]


def positions_of(mask: Tracer) -> list[Any]:
    """The indices along each axis of the true elements of a traced mask, in row-major order: their
    length depends on values. Of a number that of a vector of it."""
    (flat,) = selected(reshape_to(mask, (mask.size,)), iota_of(mask.size))
    indices: list[Any] = []
    for extent in reversed(mask.shape[1:]):
        indices.insert(0, call(np.remainder, flat, as_operand(extent)))
        flat = call(np.floor_divide, flat, as_operand(extent))
    return [flat, *indices]


def iota_of(extent: Any) -> Any:
    """The numbers below an extent."""
    return bind(primitives.iota, shape=(extent,), dimension=0, dtype=INT64)


# ------------------------------------------------------------------------------------- the plan


@dataclass(frozen=True)
class Plan:
    """How a key takes elements of an array of `shape`.

    basic      the key that takes the slices of the axes without arrays, whole ones elsewhere
    axes       the axes that `indices`, int64 values of the shape `common`, index
    first      where in the result the axes of `indices` begin
    news       where in the result there are new axes
    mode       of the gather or scatter
    distinct   whether it is known that no index is there twice
    """

    basic: tuple[Any, ...]
    axes: tuple[int, ...]
    indices: tuple[Any, ...]
    common: Shape
    first: int
    news: tuple[int, ...]
    mode: str
    distinct: bool

    def arranged(self, gathered: Any) -> Any:
        """The result of a gather, with its axes in NumPy's order."""
        count = len(self.common)
        order = list(range(count, gathered.ndim))
        first = self.first - sum(n < self.first for n in self.news)
        order[first:first] = range(count)
        gathered = transpose_to(gathered, order)
        rank = gathered.ndim + len(self.news)
        kept = [a for a in range(rank) if a not in self.news]
        sides = iter(gathered.shape)
        shape = tuple(1 if a in self.news else next(sides) for a in range(rank))
        return broadcast_in_dim(gathered, shape, kept)

    def restored(self, updates: Any) -> Any:
        """The inverse of `arranged`."""
        shape = shape_of(updates)
        updates = reshape_to(updates, [d for a, d in enumerate(shape) if a not in self.news])
        count = len(self.common)
        first = self.first - sum(n < self.first for n in self.news)
        rank = updates.ndim
        return transpose_to(
            updates,
            [*range(first, first + count), *range(first), *range(first + count, rank)],
        )


def plan(key: list[Entry], shape: Shape, mode: str | None, writes: bool) -> Plan:
    """The plan of a key that has arrays, or traced numbers."""
    arrays = any(e.is_array for e in key)
    chosen = [(number, e) for number, e in enumerate(key) if _is_chosen(e, arrays)]
    positions = [p for p, _ in chosen]
    together = positions == list(range(positions[0], positions[-1] + 1))
    common = _common([e.value for _, e in chosen])
    basic: list[Any] = []
    axes: list[int] = []
    indices: list[Any] = []
    sizes: list[tuple[int, Any]] = []
    inside: list[bool] = []
    remaining = 0
    news, first, position = [], 0, 0
    counted = False
    if not (together and arrays):
        position, counted = len(common), True
    for number, entry in enumerate(key):
        if entry.value is Ellipsis:
            continue
        if number in positions:
            if not counted:
                first, position, counted = position, position + len(common), True
            if entry.axis is not None:
                axes.append(remaining)
                indices.append(entry.value)
                sizes.append((entry.axis, shape[entry.axis]))
                inside.append(entry.is_inside)
                basic.append(slice(None))
                remaining += 1
        elif entry.axis is None:
            news.append(position)
            position += 1
        else:
            basic.append(entry.value)
            position += not entry.is_number
            remaining += not entry.is_number
    known = all(b or not isinstance(i, Tracer) for i, b in zip(indices, inside, strict=True))
    checked = tuple(
        i if b else in_range(i, a, size, mode, common)
        for (a, size), i, b in zip(sizes, indices, inside, strict=True)
    )
    default = FILL if writes else CLIP
    kind = PROMISED if known and mode in (None, WRAP) else _MODES.get(mode or "", default)
    return Plan(
        tuple(basic),
        tuple(axes),
        tuple(broadcast_to(_as_counted(i), common) for i in checked),
        common,
        first,
        tuple(news),
        kind,
        all(d == 1 for d in common)
        or (any(inside) and len(common) == 1)
        or all(e.is_slice or not e.is_array for e in key)
        or (not any(inside) and known and _are_distinct(checked, common)),
    )


def _is_chosen(entry: Entry, arrays: bool) -> bool:
    """Whether an entry becomes indices: arrays, and numbers; known ones beside traced ones, too, so
    that an element is written where it lies."""
    if entry.is_array or not entry.is_number:
        return entry.is_array
    return arrays or isinstance(entry.value, Tracer | int)


_MODES = {
    "clip": CLIP,
    "fill": FILL,
    "drop": FILL,
    WRAP: CLIP,
    "promise_in_bounds": CLIP,  # a promise that is broken still reads and writes nothing foreign
}


def check_mode(mode: Any) -> str | None:
    """The name of a mode, or None; another one is an error."""
    if mode is None or mode in _MODES:
        return None if mode is None else str(mode)
    raise located(
        ValueError, f"the mode of an index is one of {', '.join(sorted(_MODES))}, not {mode!r}"
    )


def _common(values: list[Any]) -> Shape:
    shapes = [shape_of(v) if isinstance(v, _ARRAYS) else () for v in values]
    try:
        return broadcast_shapes(shapes)
    except ValueError:
        texts = [f"({','.join(map(str, s))}{',' * (len(s) == 1)})" for s in shapes if s]
        listed = " ".join(texts)
        raise located(
            IndexError,
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            f"{listed} ",
        ) from None


def in_range(index: Any, axis: int, size: Any, mode: str | None, common: Shape) -> Any:
    """An index counted from the beginning; a known one that is out of range is an error, unless a
    mode says what it means."""
    if isinstance(index, Dim):
        index = _traced_part(as_operand(index))
    if isinstance(index, Tracer):
        if size == 0 and 0 not in common and _MODES.get(mode or "", CLIP) == CLIP:
            raise located(IndexError, f"index 0 is out of bounds for axis {axis} with size 0")
        if mode == WRAP:
            return call(np.remainder, index, size)
        if mode is None:
            require_indices(index, axis, size)
            bounds.check_index(index, axis, size)
        return from_start(index, size)
    if isinstance(index, np.ndarray | int) and isinstance(size, Dim) and mode is None:
        return _known_in_range(np.asarray(index, INT64), axis, size)
    if isinstance(size, Dim):
        raise unsupported(f"an axis of size {size} is not indexed by arrays and {index!r} together")
    array = np.asarray(index, INT64)
    if mode == WRAP:
        return array % max(size, 1)
    outside = array[(array < -size) | (array >= size)]
    if outside.size and mode is None:
        raise located(
            IndexError,
            f"index {outside.flat[0]} is out of bounds for axis {axis} with size {size}",
        )
    return np.where(array < 0, array + size, array)


def _known_in_range(index: Any, axis: int, size: Dim) -> Any:
    """Known indices into an axis of a runtime size, counted from its beginning."""
    if not index.size:
        return index
    for number in (int(index.min()), int(index.max())):
        require_index(number, axis, size, number + size if number < 0 else number)
    if index.min() >= 0:
        return index
    return bind(elementwise.select, index < 0, call(np.add, index, as_operand(size)), index)


def from_start(index: Tracer, size: Any) -> Any:
    """A traced index with negative values counted from the beginning."""
    equation = index.owner.producers.get(index.variable)
    if equation is not None and index.dtype.kind in equation.primitive.nonnegative:
        return index
    return bind(
        elementwise.select,
        call(np.less, index, 0),
        call(np.add, index, as_operand(size)),
        index,
    )


def _are_distinct(indices: tuple[Any, ...], common: Shape) -> bool:
    """Whether known indices are pairwise different."""
    if not indices:
        return False
    shape = tuple(int(d) for d in common)  # known, as the indices are
    points = np.stack([np.broadcast_to(i, shape).ravel() for i in indices])
    return bool(np.unique(points, axis=1).shape == points.shape)


def _as_counted(index: Any) -> Any:
    """An index, with evenly spaced known values along one axis as arithmetic instead of an
    array."""
    if isinstance(index, Tracer):
        return index
    long = [a for a, d in enumerate(index.shape) if d != 1]
    steps = np.diff(index.ravel())
    if len(long) != 1 or not len(steps) or not steps[0] or (steps != steps[0]).any():
        return index
    count = bind(primitives.iota, shape=index.shape, dimension=long[0], dtype=INT64)
    scaled = count if steps[0] == 1 else call(np.multiply, count, steps[0])
    first = index.flat[0]
    return scaled if first == 0 else call(np.add, scaled, first)


def take_planned(x: Any, plan: Plan, fill_value: Any = None) -> Any:
    """The elements of an array (its basic part) that the indices of a plan select."""
    if not plan.axes:  # a mask without axes
        shape = (*plan.common, *x.shape)
        return plan.arranged(broadcast_in_dim(x, shape, range(len(plan.common), len(shape))))
    taken = bind(gather, x, *plan.indices, axes=plan.axes, mode=plan.mode)
    if fill_value is not None and plan.mode == FILL:
        taken = filled(taken, x, plan, fill_value)
    return plan.arranged(taken)


def filled(taken: Any, x: Any, plan: Plan, fill_value: Any) -> Any:
    """The gathered elements, with another value where an index is out of range."""
    inside: Any = None
    for axis, index in zip(plan.axes, plan.indices, strict=True):
        known = not isinstance(index, Tracer)
        size = x.shape[axis]
        here = (
            (index >= 0) & (index < size)
            if known
            else call(np.logical_and, call(np.greater_equal, index, 0), call(np.less, index, size))
        )
        inside = here if inside is None else np.logical_and(inside, here)
    inside = inside if isinstance(inside, Tracer) else bind(elementwise.copy, inside)
    inside = broadcast_in_dim(inside, taken.shape, range(len(plan.common)))
    return bind(elementwise.select, inside, taken, fill(fill_value, taken.shape, taken.dtype))
