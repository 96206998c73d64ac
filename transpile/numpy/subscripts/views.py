"""Views that traced numbers choose: what a trace records of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.numpy.core.promotion import has_tracer
from transpile.numpy.subscripts.advanced import Entry, entries
from transpile.primitives.indexing import gather
from transpile.trace.tracer import Tracer
from transpile.trace.views.memory import lock_as
from transpile.trace.views.results import get_item as take_item
from transpile.trace.views.results import note_results


def note_view(x: Tracer, key: Any, parsed: list[Entry], inner: Tracer, item: Tracer) -> Tracer:
    """Record that an item which traced numbers choose is a view, as NumPy's is; returns it."""
    trace, var = item.owner, item.original
    lock_as(trace, x.original, var)
    trace.items[var] = (x.original, compared(key))
    while trace.producers[var].primitive is not gather:  # axes in another order, or new ones
        var = trace.producers[var].inputs[0]  # type: ignore[assignment]  # a Var, as it is traced
    is_extended = var is item.original and inner is x and all(not e.is_array for e in parsed)
    trace.picked[item.original] = trace.picked[var] = (
        tuple(e.value for e in parsed if e.value is not Ellipsis) if is_extended else None
    )
    return item


def note_order(x: Tracer, key: Any, item: Any, since: int) -> Any:
    """Record which index made an array, which decides how it lies in memory; returns it."""
    if len(item.shape) > 1:
        parts = key if isinstance(key, tuple) else (key,)
        known = [np.asarray(p) if isinstance(p, list) and not has_tracer(p) else p for p in parts]
        note_results(take_item, (x, tuple(known)), {}, item, since)
    return item


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
