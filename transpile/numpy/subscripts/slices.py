"""Slices whose bounds only the program has: their length is one that it finds, at most that of the
axis, and they are views as others are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, Shape
from transpile.ir.graph import Const, Var
from transpile.ir.types import INT64
from transpile.numpy.core.promotion import convert, index_of, reshape_to, strengthen, unsupported
from transpile.numpy.core.runtime_sizes import dimension_value
from transpile.numpy.subscripts.advanced import Entry, from_start, iota_of, known_value
from transpile.trace.lengths import measured
from transpile.trace.tracer import Tracer
from transpile.util.frozen_records import replace
from transpile.util.interrupt_safety import THREAD

_WHOLE = slice(None)


def has_traced_slice(parsed: list[Entry]) -> bool:
    """Whether a key has slices of traced bounds, in a function that is converted from source: in
    others a bound is asked for its value."""
    return THREAD.python is not None and any(map(_is_traced, parsed))


def _is_traced(entry: Entry) -> bool:
    part = entry.value
    if not isinstance(part, slice):
        return False
    return any(isinstance(v, Tracer) and known_value(v) is None for v in (part.start, part.stop))


def joined(parsed: list[Entry], shape: Shape) -> list[Entry] | None:
    """The key with the positions that its slice takes, beside the numbers that stand next to it;
    None where it is to be taken in two steps."""
    if any(e.is_array for e in parsed):
        raise unsupported(
            "a slice of traced bounds beside an array of indices is not supported: write two "
            "subscripts, a[indices][:, i:j]"
        )
    chosen = [number for number, e in enumerate(parsed) if e.is_number or _is_traced(e)]
    if chosen[-1] - chosen[0] >= len(chosen):
        return None
    for number in chosen:
        size = shape[parsed[number].axis or 0]
        if isinstance(size, Dim) and isinstance(parsed[number].value, int | Dim):
            return None
    rank = sum(map(_is_traced, parsed))
    whole: list[Entry] = []
    for entry in parsed:
        if _is_traced(entry):
            rank -= 1  # the axes of the slices behind it
            whole.append(_positions(entry, shape[entry.axis or 0], rank))
        else:
            whole.append(entry)
    return whole


def halves(parsed: list[Entry]) -> tuple[Any, Any]:
    """Two keys: of all but the last slice of traced bounds, and of this one in what the first
    gives."""
    last = max(number for number, e in enumerate(parsed) if _is_traced(e))
    first = [_WHOLE if number == last else e.value for number, e in enumerate(parsed)]
    axes = [e for e in parsed[:last] if not e.is_number and e.value is not Ellipsis]
    return tuple(first), (*[_WHOLE] * len(axes), parsed[last].value)


def _positions(entry: Entry, size: Any, behind: int) -> Entry:
    """The entry with the positions that a slice takes, before as many axes of others."""
    part = entry.value
    step = 1 if part.step is None else index_of(part.step)
    if not step:
        raise ValueError("slice step cannot be zero")
    extent = dimension_value(size) if isinstance(size, Dim) else size
    if step > 0:
        low, high = (
            _bound(v, extent, 0, extent, d) for v, d in ((part.start, 0), (part.stop, extent))
        )
        span = high - low
    else:
        low, high = (
            _bound(v, extent, -1, extent - 1, d)
            for v, d in ((part.start, extent - 1), (part.stop, -1))
        )
        span = low - high
    count = np.maximum(span, 0)
    most = _most(part, size)
    if abs(step) != 1:
        count = (count + (abs(step) - 1)) // abs(step)
        most = (most + (abs(step) - 1)) // abs(step)
    numbers = iota_of(measured(_int64(count), most))
    scaled = numbers if step == 1 else numbers * step
    positions = strengthen(scaled + low)
    if behind:
        positions = reshape_to(positions, (*positions.shape, *[1] * behind))
    return replace(entry, value=positions, is_inside=True, is_slice=True)


def _int64(value: Any) -> Any:
    return strengthen(convert(value, INT64))


def _bound(value: Any, extent: Any, lowest: Any, highest: Any, default: Any) -> Any:
    """A bound of a slice, in range."""
    if value is None:
        return default
    if isinstance(value, Tracer) and known_value(value) is None:
        start = from_start(_int64(value), extent)
        return np.minimum(np.maximum(start, lowest), highest)
    number = index_of(value)
    if number < 0:
        number = number + extent
    if isinstance(number, int) and isinstance(highest, int):
        return min(max(number, lowest), highest)
    return np.minimum(np.maximum(number, lowest), highest)


def _most(part: slice, size: Index) -> Index:
    """The greatest length of a slice: that between bounds which are one value and numbers."""
    begin, end = map(_linear, (part.start, part.stop))
    if begin is None or end is None or begin[0] is not end[0]:
        return size
    span = abs(end[1] - begin[1])
    return min(span, size) if isinstance(size, int) else size


def _linear(value: Any) -> tuple[Var, int] | None:
    """A traced bound as a value and a number that is added to it."""
    if not isinstance(value, Tracer):
        return None
    var, offset = value.variable, 0
    while (equation := value.owner.producers.get(var)) is not None:
        match equation.primitive.name, equation.inputs:
            case ("add", (Var() as inner, Const(value=number))):
                offset += int(number)
            case ("add", (Const(value=number), Var() as inner)):
                offset += int(number)
            case ("subtract", (Var() as inner, Const(value=number))):
                offset -= int(number)
            case _:
                break
        var = inner
    return var, offset
