"""Views that traced numbers choose: what a trace records of them."""

from __future__ import annotations

from typing import Any

from transpile.ir.dims import Shape
from transpile.numpy.subscripts.advanced import Entry, entries
from transpile.primitives.indexing import gather
from transpile.trace.tracer import Tracer


def note_view(x: Tracer, key: Any, parsed: list[Entry], inner: Tracer, item: Tracer) -> None:
    """Record that an item which traced numbers choose is a view, as NumPy's is."""
    trace, var = item.owner, item.original
    trace.items[var] = (x.original, compared(key))
    while trace.producers[var].primitive is not gather:  # axes in another order, or new ones
        var = trace.producers[var].inputs[0]  # type: ignore[assignment]  # a Var, as it is traced
    is_extended = var is item.original and inner is x and all(not e.is_array for e in parsed)
    trace.picked[item.original] = trace.picked[var] = (
        tuple(e.value for e in parsed if e.value is not Ellipsis) if is_extended else None
    )


def compared(key: Any) -> Any:
    """A key whose traced numbers are compared by what they stand for."""
    if isinstance(key, tuple):
        return tuple(map(compared, key))
    if isinstance(key, slice):
        return slice(*map(compared, (key.start, key.stop, key.step)))
    return key.variable if isinstance(key, Tracer) else key


def extended(picked: tuple[Any, ...], shape: Shape, key: Any) -> tuple[Any, ...] | None:
    """The key of the base for `key` of a view of this shape that was picked by numbers; None where
    one cannot say it so."""
    parsed = [e for e in entries(key, shape) if e.value is not Ellipsis]
    if any(e.axis is None or not (e.is_number or isinstance(e.value, slice)) for e in parsed):
        return None
    rest = iter(e.value for e in parsed)
    return tuple(next(rest) if isinstance(part, slice) else part for part in picked)
