"""Basic indexing: integers, slices, None and Ellipsis, as slices, reversals and reshapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from transpile.dims import Dim, bounds
from transpile.numpy.operands import (
    broadcast_in_dim,
    index_of,
    reshape_to,
    unsupported,
)
from transpile.numpy.operands import error as located
from transpile.primitives import axes as rows
from transpile.trace import bind
from transpile.tracer import Tracer, add_method

_KINDS = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
    "boolean arrays are valid indices"
)


@dataclass(frozen=True)
class Selection:
    """What an index takes of one axis: start, start + stride, ... below limit, perhaps reversed."""

    start: Any
    limit: Any
    stride: int = 1
    reverse: bool = False
    is_integer: bool = False

    @property
    def size(self) -> Any:
        """The number of elements."""
        return (self.limit - self.start + self.stride - 1) // self.stride


def get_item(x: Tracer, key: Any) -> Any:
    """`x[key]` for a basic index."""
    keys = _complete(key if isinstance(key, tuple) else (key,), x.ndim)
    selections: list[Selection] = []
    shape: list[Any] = []
    for entry in keys:
        if entry is None:
            shape.append(1)
            continue
        axis = len(selections)
        chosen = _select(entry, axis, x.shape[axis])
        selections.append(chosen)
        if not chosen.is_integer:
            shape.append(chosen.size)
    result = _slice(x, selections)
    return _reshape(result, keys, selections, shape)


def _complete(keys: tuple[Any, ...], ndim: int) -> list[Any]:
    """The entries of an index with the Ellipsis written out: one an axis, and the Nones."""
    for entry in keys:
        _check(entry)
    consuming = [k for k in keys if k is not None and k is not Ellipsis]
    if len(keys) - len([k for k in keys if k is not Ellipsis]) > 1:
        raise located(IndexError, "an index can only have a single ellipsis ('...')")
    if len(consuming) > ndim:
        raise located(
            IndexError,
            f"too many indices for array: array is {ndim}-dimensional, but "
            f"{len(consuming)} were indexed",
        )
    rest = [slice(None)] * (ndim - len(consuming))
    complete: list[Any] = []
    found = False
    for entry in keys:
        if entry is Ellipsis:
            complete += rest
            found = True
        else:
            complete.append(entry)
    return complete if found else complete + rest


def _check(entry: Any) -> None:
    """Refuse an entry that is not basic, by what it is."""
    if entry is None or entry is Ellipsis or isinstance(entry, slice | Dim):
        return
    if isinstance(entry, bool | np.bool_ | list | range) or _is_mask(entry):
        raise unsupported(
            "indexing with arrays, lists or booleans is not supported on traced arrays yet: "
            f"the index is {entry!r}. numpy.where(mask, x, 0) keeps the shape of x."
        )
    if getattr(entry, "ndim", 0):
        raise unsupported(
            "indexing with integer arrays is not supported on traced arrays yet: the index is "
            f"{entry!r}"
        )
    if not hasattr(entry, "__index__") or (
        hasattr(entry, "dtype") and entry.dtype.kind not in "iu"
    ):
        raise located(IndexError, _KINDS)


def _is_mask(entry: Any) -> bool:
    return getattr(entry, "dtype", None) == np.bool_


def _select(entry: Any, axis: int, size: Any) -> Selection:
    if isinstance(entry, slice):
        return _select_slice(entry, size)
    index = entry if isinstance(entry, Dim) else index_of(entry)
    if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
        raise located(
            IndexError, f"index {index} is out of bounds for axis {axis} with size {size}"
        )
    start = index + size if isinstance(index, int) and index < 0 else index
    return Selection(start, start + 1, is_integer=True)


def _select_slice(entry: slice, size: Any) -> Selection:
    step = 1 if entry.step is None else index_of(entry.step)
    if step == 0:
        raise located(ValueError, "slice step cannot be zero")
    if not isinstance(size, int) or isinstance(entry.start, Dim) or isinstance(entry.stop, Dim):
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


def _select_runtime(entry: slice, size: Any, step: int) -> Selection:
    """A slice of an axis whose size, or whose bounds, are known at run time only."""
    if entry.start is None and entry.stop is None and step in (1, -1):
        return Selection(0, size, reverse=step == -1)
    if step < 1:
        raise unsupported(f"a slice with step {step} of an axis of size {size} is not supported")
    start, stop = (
        _bound(v, size, default) for v, default in ((entry.start, 0), (entry.stop, size))
    )
    return Selection(start, stop, step)


def _bound(value: Any, size: Any, default: Any) -> Any:
    if value is None:
        return default
    bound = value if isinstance(value, Dim) else index_of(value)
    if isinstance(bound, int) and bound < 0:
        bound = bound + size
    low, slack = bounds(bound)[0], bounds(size - bound)[0]
    if low is None or low < 0 or slack is None or slack < 0:
        raise unsupported(
            f"the slice bound {value} may lie outside an axis of size {size}; the smallest size "
            "decides, and it is not known to be large enough"
        )
    return bound


def _slice(x: Tracer, selections: list[Selection]) -> Any:
    result: Any = x
    if any(
        s.start != 0 or s.limit != d or s.stride != 1
        for s, d in zip(selections, x.shape, strict=True)
    ):
        result = bind(
            rows.slice_,
            x,
            start=tuple(s.start for s in selections),
            limit=tuple(s.limit for s in selections),
            strides=tuple(s.stride for s in selections),
        )
    reversed_axes = tuple(a for a, s in enumerate(selections) if s.reverse)
    return bind(rows.rev, result, dimensions=reversed_axes) if reversed_axes else result


def _reshape(result: Any, keys: list[Any], selections: list[Selection], shape: list[Any]) -> Any:
    if not any(s.is_integer for s in selections):
        kept = [place for place, entry in enumerate(keys) if entry is not None]
        return broadcast_in_dim(result, tuple(shape), kept)
    return reshape_to(result, shape)


add_method("__getitem__", get_item)
