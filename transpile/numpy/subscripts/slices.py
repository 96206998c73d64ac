"""Slices whose bounds only the program has: their length is one that it finds, at most that of the
axis, and they are views as others are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, Shape
from transpile.ir.graph import Atom, Const, Var
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.types import INT64
from transpile.numpy.core.promotion import convert, index_of, reshape_to, strengthen, unsupported
from transpile.numpy.core.runtime_sizes import dimension_value
from transpile.numpy.subscripts.advanced import Entry, from_start, iota_of, known_value
from transpile.trace.lengths import measured
from transpile.trace.trace import Trace
from transpile.trace.tracer import Tracer
from transpile.util.frozen_records import replace
from transpile.util.interrupt_safety import THREAD

_WHOLE = slice(None)
# Operations behind each other that are followed from a number to those that it is made of.
_FOLLOWED = 32


def has_traced_slice(parsed: list[Entry]) -> bool:
    """Whether a key has slices of traced bounds, in a function that is converted from source: in
    others a bound is asked for its value."""
    return THREAD.python is not None and any(map(_is_traced, parsed))


def _is_traced(entry: Entry) -> bool:
    part = entry.value
    if not isinstance(part, slice):
        return False
    return any(map(_is_found_later, (part.start, part.stop, part.step)))


def _is_found_later(value: Any) -> bool:
    return isinstance(value, Tracer) and known_value(value) is None


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
    if _is_found_later(part.step):
        step = _int64(part.step)
        numbers, low = _stepped_span(part, size, step)
    else:
        step = 1 if part.step is None else index_of(part.step)
        if not step:
            raise ValueError("slice step cannot be zero")
        numbers, low = _known_span(part, size, step) or _found_span(part, size, step)
    scaled = numbers if type(step) is int and step == 1 else numbers * step
    positions = strengthen(scaled + low)
    if behind:
        positions = reshape_to(positions, (*positions.shape, *[1] * behind))
    return replace(entry, value=positions, is_inside=True, is_slice=True)


def _found_span(part: slice, size: Any, step: int) -> tuple[Any, Any]:
    """The numbers of the elements, as many as the program finds, and the position of the first."""
    low, span = (_upwards if step > 0 else _downwards)(part, size)
    count = np.maximum(span, 0)
    most = _most(part, size)
    if abs(step) != 1:
        count = (count + (abs(step) - 1)) // abs(step)
        most = (most + (abs(step) - 1)) // abs(step)
    return iota_of(measured(_int64(count), most)), low


def _upwards(part: slice, size: Any) -> tuple[Any, Any]:
    """The first position of a slice with a positive step, and how far the end is from there."""
    extent = dimension_value(size) if isinstance(size, Dim) else size
    low, high = (_bound(v, extent, 0, extent, d) for v, d in ((part.start, 0), (part.stop, extent)))
    return low, high - low


def _downwards(part: slice, size: Any) -> tuple[Any, Any]:
    """As `_upwards`, with a negative step."""
    extent = dimension_value(size) if isinstance(size, Dim) else size
    low, high = (
        _bound(v, extent, -1, extent - 1, d) for v, d in ((part.start, extent - 1), (part.stop, -1))
    )
    return low, low - high


def _stepped_span(part: slice, size: Any, step: Any) -> tuple[Any, Any]:
    """As `_found_span`, with a step that only the program has."""
    low, span = _upwards(part, size)
    by = step
    least = _extreme_of(_sum_of_atom(step.owner, step.variable, _FOLLOWED), -1)
    if least is None or not is_at_most(1, least):
        THREAD.python.require(1, abs(step), "slice step cannot be zero")
        is_up = step > 0
        pair = _downwards(part, size)
        low, span = (np.where(is_up, a, b) for a, b in zip((low, span), pair, strict=True))
        by = np.maximum(abs(step), 1)
    count = (np.maximum(span, 0) + (by - 1)) // by
    return iota_of(measured(_int64(count), size)), low


def _known_span(part: slice, size: Any, step: int) -> tuple[Any, Any] | None:
    """As `_found_span`, of a length that is known while tracing: of bounds that counters of loops,
    by the ends of these, keep inside of the axis, and that lie a size apart. None of others."""
    begin, end = (_sum_of(v) for v in (part.start, part.stop))
    if step < 1 or begin is None or end is None:
        return None
    length = _less(end, begin)
    if length.terms or not is_at_most(0, length.rest):
        return None
    least, greatest = _extreme_of(begin, -1), _extreme_of(end, 1)
    if least is None or greatest is None:
        return None
    if not (is_at_most(0, least) and is_at_most(greatest, size)):
        return None
    low = _int64(part.start) if isinstance(part.start, Tracer) else dimension_value(part.start)
    return iota_of((length.rest + (step - 1)) // step), low


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


@dataclass(frozen=True)
class _Sum:
    """A size, and multiples of integers that are known in the program alone: Vars with the traces
    that they belong to."""

    rest: Index
    terms: dict[Var, tuple[Index, Trace]]


def _less(one: _Sum, other: _Sum) -> _Sum:
    return _plus(one, other, -1)


def _plus(one: _Sum, other: _Sum, times: Index) -> _Sum:
    terms = dict(one.terms)
    for var, (factor, trace) in other.terms.items():
        total = (terms[var][0] if var in terms else 0) + factor * times
        if total == 0:
            del terms[var]
        else:
            terms[var] = total, trace
    return _Sum(one.rest + other.rest * times, terms)


def _sum_of(value: Any) -> _Sum | None:
    """A bound of a slice, or the number of iterations of a loop, as a sum."""
    if isinstance(value, int | Dim | np.integer) and not isinstance(value, bool):
        return _Sum(value if isinstance(value, Dim) else int(value), {})
    if not isinstance(value, Tracer) or value.shape or value.dtype.kind not in "iu":
        return None
    return _sum_of_atom(value.owner, value.variable, _FOLLOWED)


def _sum_of_atom(trace: Trace, atom: Atom, further: int) -> _Sum:
    if isinstance(atom, Const):
        return _Sum(int(atom.value), {})
    if atom in trace.sizes:
        return _Sum(trace.sizes[atom], {})
    for tracer, here in trace.captures.values():
        if here is atom:
            return _sum_of_atom(tracer.owner, tracer.variable, further)
    equation = trace.producers.get(atom)
    # Narrower integers wrap around.
    if equation is not None and further and _are_numbers(atom, *equation.inputs):
        parts = [_sum_of_atom(trace, x, further // 2) for x in equation.inputs]
        match equation.primitive.name, parts:
            case ("convert_element_type", [part]):
                return part
            case ("add", [one, other]):
                return _plus(one, other, 1)
            case ("subtract", [one, other]):
                return _plus(one, other, -1)
            case ("multiply", [one, other]) if not other.terms:
                return _plus(_Sum(0, {}), one, other.rest)
            case ("multiply", [one, other]) if not one.terms:
                return _plus(_Sum(0, {}), other, one.rest)
    return _Sum(0, {atom: (1, trace)})


def _are_numbers(*atoms: Atom) -> bool:
    return all((x.type.dtype, x.type.shape) == (INT64, ()) for x in atoms)


def _extreme_of(number: _Sum, sign: int) -> Index | None:
    """What a sum of counters is at most (of sign 1) or at least, in an iteration: those of inner
    loops, whose ends may depend on outer ones, have these first. None of other numbers."""
    for _ in range(_FOLLOWED):
        if not number.terms:
            return number.rest
        var = max(number.terms, key=lambda var: _depth(number.terms[var][1]))
        factor, trace = number.terms[var]
        if var not in trace.counters:
            return None
        rest = _Sum(number.rest, {v: t for v, t in number.terms.items() if v is not var})
        if is_at_most(0, factor * sign):
            last = _iterations(trace.counters[var])
            if last is None:
                return None
            number = _plus(_plus(rest, last, factor), _Sum(1, {}), -factor)
        elif is_at_most(factor * sign, 0):
            number = rest  # it begins at 0
        else:
            return None
    return None


def _depth(trace: Trace) -> int:
    return THREAD.traces.index(trace) if trace in THREAD.traces else -1


def _iterations(count: Any) -> _Sum | None:
    """How many iterations a loop has that runs: the greater of a number and 0 is the number."""
    if isinstance(count, Tracer):
        equation = count.owner.producers.get(count.variable)
        match equation and (equation.primitive.name, equation.inputs):
            case ("maximum", (Var() as inner, Const(value=least))) if least == 0:
                return _sum_of_atom(count.owner, inner, _FOLLOWED)
    return _sum_of(count)


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
