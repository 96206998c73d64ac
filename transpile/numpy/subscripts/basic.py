"""Indexing: `x[key]`, and the value of x after an assignment to `x[key]`.

Integers, slices, None and Ellipsis become slices, reversals and reshapes; assignments with them are
updates of a slice. Keys with arrays are planned in `transpile.numpy.subscripts.advanced`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, Shape
from transpile.ir.graph import Const
from transpile.ir.indices.lengths import are_equal_later
from transpile.ir.indices.requirements import is_at_most, may_stretch, require, require_index
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, INT64
from transpile.numpy.core.promotion import (
    as_array,
    as_operand,
    broadcast_in_dim,
    broadcast_to,
    convert,
    index_of,
    reshape_to,
    shape_of,
    strengthen,
    warn_if_imaginary_is_lost,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import (
    dimension_value,
    element_of,
    larger_of,
    offset_of,
    position_of,
)
from transpile.numpy.core.ufuncs import call
from transpile.numpy.subscripts.advanced import Entry, entries, known_value, plan, take_planned
from transpile.numpy.subscripts.slices import halves, has_traced_slice, joined
from transpile.numpy.subscripts.views import compared, note_order, note_view
from transpile.primitives import axes as primitives
from transpile.primitives import elementwise
from transpile.primitives.indexing import (
    COMBINES,
    PROMISED,
    dynamic_update_slice,
    scatter,
)
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer, add_method
from transpile.trace.views.results import equations_so_far
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Selection:
    """The elements of one axis that a basic index selects: start, start + stride, ... below limit,
    perhaps reversed."""

    start: Any
    limit: Any
    stride: Any = 1
    reverse: bool = False
    is_integer: bool = False

    @property
    def size(self) -> Any:
        """The number of elements."""
        return (self.limit - self.start + self.stride - 1) // self.stride


def get_item(x: Tracer, key: Any, mode: str | None = None, fill_value: Any = None) -> Any:
    """The elements `x[key]`. A traced index out of range is clamped to the nearest element, unless
    `mode` says otherwise."""
    array, wanted, since = x, key, equations_so_far()
    masked = _traced_mask(key, x.ndim)
    if masked is not None and masked[0].ndim > 1:
        x, key = _flat_along(x, key, *masked[:2])
    given = entries(key, x.shape)
    is_view = x.original not in x.owner.layouts.flats and all(not e.is_array for e in given)
    if has_traced_slice(given):
        whole = joined(given, x.shape)
        if whole is None:
            first, second = halves(given)
            return get_item(get_item(x, first), second)
        given = whole
    parsed = _as_slice(given, x.shape)
    if not _is_basic(parsed):
        planned = plan(parsed, x.shape, mode, writes=False)
        inner = basic_item(x, entries(planned.basic, x.shape))
        taken = take_planned(inner, planned, fill_value)
        if mode is None and is_view and not _is_scalar(key, taken):
            return note_view(x, key, parsed, inner, taken)
        return note_order(array, wanted, taken, since)
    item = basic_item(x, parsed)
    if is_view and _is_basic(given) and not _is_scalar(key, item):
        item.owner.items[item.original] = (x.original, _selected(x, parsed))
        return item
    if item.original is x.original:
        item = bind(elementwise.copy, item)
    item.owner.layouts.take_own(item.original)
    return note_order(array, wanted, item, since)


def _is_scalar(key: Any, item: Tracer) -> bool:
    """Whether NumPy returns a scalar, which is no view: with an Ellipsis in the key it returns
    arrays."""
    parts = key if isinstance(key, tuple) else (key,)
    return not item.ndim and all(part is not Ellipsis for part in parts)


def is_item(x: Tracer, key: Any, value: Any) -> bool:
    """Whether a value is the very view `x[key]`, as in the second half of `x[key] += 1`: `x[key] =
    value` then changes nothing."""
    if not isinstance(value, Tracer) or value.original not in value.owner.items:
        return False
    base, chosen = value.owner.items[value.original]
    if x.original is not base:
        return False
    if value.original in value.owner.picked:
        return bool(compared(key) == chosen)
    parsed = entries(key, x.shape)
    if has_traced_slice(parsed) or not _is_basic(parsed):
        return False
    return bool(_selected(x, parsed) == chosen)


def _selected(x: Tracer, parsed: list[Entry]) -> tuple[list[Selection], list[Any]]:
    return _selections([e.value for e in parsed if e.value is not Ellipsis], x.shape)


def _is_basic(parsed: list[Entry]) -> bool:
    return not any(isinstance(e.value, np.ndarray | Tracer) for e in parsed)


def _as_slice(parsed: list[Entry], shape: Shape) -> list[Entry]:
    """The entries, with an array of evenly spaced indices, if it is the only one, replaced by a
    slice."""
    arrays = [e for e in parsed if isinstance(e.value, np.ndarray | Tracer)]
    if len(arrays) != 1 or any(e.is_number for e in parsed):
        return parsed
    (entry,) = arrays
    if entry.axis is None or isinstance(entry.value, Tracer) or entry.value.ndim != 1:
        return parsed
    value, size = entry.value, shape[entry.axis]
    if len(value) < 2 or not isinstance(size, int):
        return parsed
    step = int(value[1]) - int(value[0])
    inside = value.min() >= 0 and value.max() < size
    if not step or not inside or (np.diff(value) != step).any():
        return parsed
    stop = int(value[-1]) + (1 if step > 0 else -1)
    even = slice(int(value[0]), None if stop < 0 else stop, step)
    return [Entry(entry.axis, even) if e is entry else e for e in parsed]


def basic_item(x: Any, parsed: list[Entry]) -> Any:
    """The elements that a basic key selects, a view."""
    keys = [e.value for e in parsed if e.value is not Ellipsis]
    selections, shape = _selections(keys, x.shape)
    return _reshape(_slice(x, selections), keys, selections, shape)


def _selections(keys: list[Any], extents: Shape) -> tuple[list[Selection], list[Any]]:
    """The selection of a basic key along each axis, and the shape of the result."""
    selections: list[Selection] = []
    shape: list[Any] = []
    for entry in keys:
        if entry is None:
            shape.append(1)
            continue
        axis = len(selections)
        chosen = _select(entry, axis, extents[axis])
        selections.append(chosen)
        if not chosen.is_integer:
            shape.append(chosen.size)
    return selections, shape


# ------------------------------------------------------------------------------------- updates


def set_item(x: Tracer, key: Any, value: Any, mode: str | None = None, unique: bool = False) -> Any:
    """The value of `x` after `x[key] = value`. A traced index out of range changes nothing, unless
    `mode` says otherwise."""
    return update_item(x, key, value, "set", mode, unique)


def update_item(
    x: Tracer, key: Any, value: Any, combine: str, mode: str | None = None, unique: bool = False
) -> Any:
    """The value of `x` after its elements at `key` were combined with a value: `set`, `add`,
    `multiply`, `minimum` or `maximum`. Repeated indices combine repeatedly."""
    masked = _traced_mask(key, x.ndim)
    if masked is not None and not _is_for_each(value, masked, x.ndim):
        mask, axis, basic = masked
        rows = entries(basic, x.shape)
        inner = basic_item(x, rows)
        changed = _masked(inner, mask, axis, value, combine)
        return changed if inner is x else _update_basic(x, rows, changed, "set")
    if masked is not None and not masked[0].ndim:  # one that selects all of an axis, or nothing
        flat, key = _flat_along(x, key, *masked[:2])
        return reshape_to(update_item(flat, key, value, combine), x.shape)
    parsed = entries(key, x.shape)
    if has_traced_slice(parsed):
        whole = joined(parsed, x.shape)
        if whole is None:
            first, second = halves(parsed)
            inner = get_item(x, first)
            return set_item(x, first, update_item(inner, second, value, combine, mode, unique))
        parsed = whole
    parsed = _as_slice(parsed, x.shape)
    if _is_basic(parsed):
        return _update_basic(x, parsed, value, combine)
    planned = plan(parsed, x.shape, mode, writes=True)
    inner_key = entries(planned.basic, x.shape)
    inner = basic_item(x, inner_key)
    rest = [d for a, d in enumerate(inner.shape) if a not in planned.axes]
    shape = [*rest]
    first = planned.first - sum(n < planned.first for n in planned.news)
    shape[first:first] = planned.common
    for axis in planned.news:
        shape.insert(axis, 1)
    updates = planned.restored(content(value, x.dtype, tuple(shape)))
    if not planned.axes:
        return x if 0 in planned.common else _update_basic(x, inner_key, updates, combine)
    name = combine if combine == "set" or x.dtype != BOOL else TABLE[combine].of_bools or combine
    params = {"mode": planned.mode, "combine": name, "unique": unique or planned.distinct}
    changed = bind(scatter, inner, updates, *planned.indices, axes=planned.axes, **params)
    return changed if inner is x else _update_basic(x, inner_key, changed, "set")


def content(value: Any, dtype: Any, shape: Shape) -> Any:
    """A value in the type of the elements that it replaces, broadcast to them."""
    value = as_operand(value)
    given = shape_of(value)
    extra = len(given) - len(shape)
    if extra > 0 and all(d == 1 for d in given[:extra]):  # NumPy drops leading axes of length one
        value = reshape_to(as_array(value), given[extra:])
    pairs = zip(shape_of(value)[::-1], shape[::-1], strict=False)
    text = (
        f"could not broadcast input array from shape {shape_text(given)} into shape "
        f"{shape_text(shape)}"
    )
    if len(shape_of(value)) > len(shape) or any(
        a not in (1, b) and not may_stretch(a, b) and not are_equal_later(a, b, text)
        for a, b in pairs
    ):
        raise located(ValueError, text)
    warn_if_imaginary_is_lost(as_array(value), dtype)
    value = convert(value, dtype)
    value = value if isinstance(value, Tracer) else Const(np.asarray(value))
    return bind_broadcast(value, shape)


def bind_broadcast(value: Any, shape: Shape) -> Any:
    """A traced value or a Const in a shape that it broadcasts to."""
    own = tuple(value.type.shape)
    if own == tuple(shape) and isinstance(value, Tracer):
        return value
    if isinstance(value, Const) and own == tuple(shape):  # which is to be a traced value
        params = {"shape": own, "broadcast_dimensions": tuple(range(len(own)))}
        return bind(primitives.broadcast_in_dim, value, **params)
    return broadcast_to(value if isinstance(value, Tracer) else value.value, shape)


def shape_text(shape: Shape) -> str:
    """The shape as NumPy's messages write it: (2,3)."""
    return f"({','.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _update_basic(x: Tracer, parsed: list[Entry], value: Any, combine: str) -> Any:
    keys = [e.value for e in parsed if e.value is not Ellipsis]
    selections, shape = _selections(keys, x.shape)
    value = content(value, x.dtype, tuple(shape))
    if combine != "set":
        before = _reshape(_slice(x, selections), keys, selections, shape)
        value = convert(call(COMBINES[combine], before, value), x.dtype)
    return put_selected(x, selections, value)


def put_selected(x: Tracer, selections: list[Selection], value: Any) -> Any:
    """The array with the selected elements replaced by those of a value, in row-major order."""
    sizes = tuple(s.size for s in selections)
    if 0 in sizes:
        return x
    value = reshape_to(value, sizes)
    reversed_axes = tuple(a for a, s in enumerate(selections) if s.reverse)
    if reversed_axes:
        value = bind(primitives.rev, value, dimensions=reversed_axes)
    if all(s.stride == 1 for s in selections):
        if sizes == x.shape:
            return value
        return bind(dynamic_update_slice, x, value, *[_start(s.start) for s in selections])
    return _update_strided(x, selections, sizes, value)


def _start(start: Any) -> Any:
    if isinstance(start, int):
        return Const(np.int64(start))
    return strengthen(convert(dimension_value(start), INT64))


def _update_strided(x: Tracer, selections: list[Selection], sizes: Shape, value: Any) -> Any:
    """Elements at a stride: a scatter whose subscripts are arithmetic."""
    axes = tuple(
        a for a, (s, d) in enumerate(zip(selections, x.shape, strict=True)) if sizes[a] != d
    )
    common = tuple(sizes[a] for a in axes)
    indices = []
    for position, axis in enumerate(axes):
        chosen = selections[axis]
        count = bind(primitives.iota, shape=common, dimension=position, dtype=INT64)
        scaled = call(np.multiply, count, chosen.stride) if chosen.stride != 1 else count
        indices.append(call(np.add, scaled, _offset(chosen.start)) if chosen.start != 0 else scaled)
    order = [*axes, *(a for a in range(x.ndim) if a not in axes)]
    params = {"mode": PROMISED, "combine": "set", "unique": True}
    updates = bind(primitives.transpose, value, permutation=tuple(order))
    return bind(scatter, x, updates, *indices, axes=axes, **params)


def _offset(start: Any) -> Any:
    return start if isinstance(start, int) else dimension_value(start)


def _traced_mask(key: Any, rank: int) -> tuple[Tracer, int, tuple[Any, ...]] | None:
    """The mask of a key whose values are not known while tracing, if all else in it are slices and
    an Ellipsis; the axis at which it stands; and the key with slices of whole axes in its place."""
    parts = key if isinstance(key, tuple) else (key,)
    masks = [at for at, p in enumerate(parts) if isinstance(p, Tracer) and p.dtype == BOOL]
    if len(masks) != 1 or known_value(parts[masks[0]]) is not None:
        return None
    (at,) = masks
    mask, before, behind = parts[at], parts[:at], parts[at + 1 :]
    if not all(p is Ellipsis or isinstance(p, slice) for p in (*before, *behind)):
        return None
    axis = rank - mask.ndim - len(behind) if Ellipsis in before else at
    return mask, axis, (*before, *[slice(None)] * mask.ndim, *behind)


def _flat_along(x: Tracer, key: Any, mask: Tracer, axis: int) -> tuple[Tracer, tuple[Any, ...]]:
    """An array with the axes of a mask as one, and the key for it."""
    _check_mask(x, mask, axis)
    behind = axis + mask.ndim
    flat = reshape_to(x, (*x.shape[:axis], mask.size, *x.shape[behind:]))
    parts = key if isinstance(key, tuple) else (key,)
    return flat, tuple(reshape_to(mask, (mask.size,)) if p is mask else p for p in parts)


def _check_mask(x: Any, mask: Tracer, axis: int) -> None:
    """Raise NumPy's IndexError for a mask that does not fit the axes from one on."""
    if axis + mask.ndim > x.ndim:
        raise located(
            IndexError,
            f"too many indices for array: array is {x.ndim}-dimensional, but "
            f"{axis + mask.ndim} were indexed",
        )
    for offset, size in enumerate(mask.shape):
        if size != x.shape[axis + offset]:
            raise located(
                IndexError,
                f"boolean index did not match indexed array along axis {axis + offset}; size of "
                f"axis is {x.shape[axis + offset]} but size of corresponding boolean axis is "
                f"{size}",
            )


def _along_selected(given: Shape, mask: Tracer, axis: int, rank: int) -> int:
    """The axis of a value of this shape for what a mask selects; negative where it has none."""
    return len(given) - (rank - axis - mask.ndim) - 1


def _is_for_each(value: Any, masked: tuple[Tracer, int, tuple[Any, ...]], rank: int) -> bool:
    """Whether a value has an element for each one that a mask selects, and not one for all."""
    mask, axis, _ = masked
    given = shape_of(as_operand(value))
    along = _along_selected(given, mask, axis, rank)
    return 0 <= along < len(given) and given[along] != 1


def _masked(x: Any, mask: Tracer, axis: int, value: Any, combine: str) -> Any:
    """An update where a traced mask of the axes from one on holds, by a selection: of a value whose
    shape does not depend on the mask."""
    _check_mask(x, mask, axis)
    given = shape_of(as_operand(value))
    along = _along_selected(given, mask, axis, x.ndim)
    if along >= 0:
        ones = (1,) * mask.ndim
        value = reshape_to(as_array(value), (*given[:along], *ones, *given[along + 1 :]))
    full = content(value, x.dtype, x.shape)
    if combine != "set":
        full = convert(call(COMBINES[combine], x, full), x.dtype)
    chosen = broadcast_in_dim(mask, x.shape, range(axis, axis + mask.ndim))
    return bind(elementwise.select, chosen, full, x)


# ------------------------------------------------------------------------------ basic selections


def _select(entry: Any, axis: int, size: Any) -> Selection:
    if isinstance(entry, slice):
        return _select_slice(entry, size)
    index = entry if isinstance(entry, Dim) else index_of(entry)
    if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
        raise located(
            IndexError, f"index {index} is out of bounds for axis {axis} with size {size}"
        )
    start = element_of(index, size)
    if not (isinstance(index, int) and isinstance(size, int)):
        require_index(index, axis, size, start)
    return Selection(start, start + 1, is_integer=True)


def _select_slice(entry: slice, size: Any) -> Selection:
    step = 1 if entry.step is None else offset_of(entry.step)
    if step == 0:
        raise located(ValueError, "slice step cannot be zero")
    if any(isinstance(d, Dim) for d in (size, entry.start, entry.stop, step)):
        return _select_runtime(entry, size, step)
    start, stop = (None if v is None else index_of(v) for v in (entry.start, entry.stop))
    taken = range(*slice(start, stop, step).indices(size))
    if not taken:
        return Selection(0, 0)
    if len(taken) == 1:
        return Selection(taken[0], taken[0] + 1)
    if step > 0:
        return Selection(taken[0], taken[-1] + 1, step)
    return Selection(taken[-1], taken[0] + 1, -step, reverse=True)


def _select_runtime(entry: slice, size: Any, step: Index) -> Selection:
    """A slice of an axis whose size, or whose bounds, are known at run time only."""
    if entry.start is None and entry.stop is None and step in (1, -1):
        return Selection(0, size, reverse=step == -1)
    is_backwards = not is_at_most(0, step) and step < 1
    length = -step if is_backwards else step
    require(1, length, f"the step {step} of a slice", "slice step cannot be zero")
    if is_backwards:
        return _select_backwards(entry, size, length)
    start, stop = _cut(entry.start, size, 0), _cut(entry.stop, size, size)
    if isinstance(start, int) and isinstance(entry.stop, int) and 0 <= entry.stop <= start:
        return Selection(0, 0)
    count = larger_of(stop - start, 0)
    return Selection(start, start + count, step)


def _cut(value: Any, size: Any, default: Any) -> Any:
    """A bound of a slice forwards; NumPy cuts short what is beyond the ends of an axis."""
    if value is None:
        return default
    return position_of(value if isinstance(value, Dim) else index_of(value), size)


def _select_backwards(entry: slice, size: Any, step: Index) -> Selection:
    """The slice with this step backwards, as one forwards from its last element."""
    limit, first = _cut_behind(entry.start, size, size), _cut_behind(entry.stop, size, 0)
    is_known = is_at_most(first, limit)
    span = limit - first if is_known else larger_of(limit - first, 0)
    count = (span + step - 1) // step
    covered = (count - 1) * step + 1
    if not is_known and step != 1:
        covered = larger_of(covered, 0)
    return Selection(limit - covered, limit, step, reverse=True)


def _cut_behind(value: Any, size: Any, default: Any) -> Any:
    """How many elements stand up to a bound of a slice backwards, which NumPy cuts short."""
    if value is None:
        return default
    return position_of(value if isinstance(value, Dim) else index_of(value), size, behind=1)


def _slice(x: Tracer, selections: list[Selection]) -> Any:
    result: Any = x
    if any(
        s.start != 0 or s.limit != d or s.stride != 1
        for s, d in zip(selections, x.shape, strict=True)
    ):
        result = bind(
            primitives.slice_,
            x,
            start=tuple(s.start for s in selections),
            limit=tuple(s.limit for s in selections),
            strides=tuple(s.stride for s in selections),
        )
    reversed_axes = tuple(a for a, s in enumerate(selections) if s.reverse)
    return bind(primitives.rev, result, dimensions=reversed_axes) if reversed_axes else result


def _reshape(result: Any, keys: list[Any], selections: list[Selection], shape: list[Any]) -> Any:
    if not any(s.is_integer for s in selections):
        kept = [position for position, entry in enumerate(keys) if entry is not None]
        return broadcast_in_dim(result, tuple(shape), kept)
    return reshape_to(result, shape)


add_method("__getitem__", get_item)
