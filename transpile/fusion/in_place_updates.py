"""Updates in place: whether an array may be updated where it lies, element after element."""

from __future__ import annotations

from transpile.fusion.nodes import Scatter
from transpile.ir.dims import Index, bounds, symbols_of
from transpile.ir.loop_rewrite import loads_of
from transpile.primitives.indexing import dynamic_update_slice


def updates_in_time(scatter: Scatter, key: str) -> bool:
    """Tell whether the updates of an array, made where it lies, read only what no other one has
    changed: the element that is updated next, or those that none updates."""
    then = scatter.then
    if not then.order:  # the value of the only element is there before it is put in its place
        return True
    if any(load.buffer == key for load in loads_of(*then.bound.values(), *scatter.tests)):
        return False
    once = {s for part in then.index for s in symbols_of(part)} >= set(then.order)
    # One start for all elements, or subscripts that are none of an array's.
    plain = scatter.equation.primitive is dynamic_update_slice or not then.bound
    return all(
        (once and plain and load.index == then.index) or any(map(are_apart, load.index, then.index))
        for load in loads_of(then.body)
        if load.buffer == key
    )


def are_apart(a: Index, b: Index) -> bool:
    """Tell whether two subscripts never meet, in whatever iterations."""
    (low_a, high_a), (low_b, high_b) = bounds(a), bounds(b)
    return (high_a is not None and low_b is not None and high_a < low_b) or (
        high_b is not None and low_a is not None and high_b < low_a
    )
