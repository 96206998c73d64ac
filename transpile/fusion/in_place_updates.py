"""Updates: whether an array may be updated where it lies, element after element."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.fusion.materialize import Scatter
from transpile.ir.dims import Index, bounds, symbols_of
from transpile.ir.loop_ir import Expr, Load
from transpile.ir.loop_rewrite import subexpressions
from transpile.primitives.indexing import dynamic_update_slice


def updates_in_time(found: Scatter, key: str) -> bool:
    """Tell whether the updates of an array, made where it lies, read only what no other one has
    changed: the element that is updated next, or those that none updates."""
    then = found.then
    if not then.order:  # the value of the only element is there before it is put in its place
        return True
    if any(load.buffer == key for load in loads_of(*then.bound.values(), *found.tests)):
        return False
    once = {s for part in then.index for s in symbols_of(part)} >= set(then.order)
    # One start for all elements, or subscripts that are none of an array's.
    plain = then.equation.primitive is dynamic_update_slice or not then.bound
    return all(
        (once and plain and load.index == then.index)
        or any(map(_are_apart, load.index, then.index))
        for load in loads_of(*([then.body] if then.body is not None else []))
        if load.buffer == key
    )


def _are_apart(a: Index, b: Index) -> bool:
    """Tell whether two subscripts never meet, in whatever iterations."""
    (low_a, high_a), (low_b, high_b) = bounds(a), bounds(b)
    return (high_a is not None and low_b is not None and high_a < low_b) or (
        high_b is not None and low_a is not None and high_b < low_a
    )


def loads_of(*expressions: Expr) -> Iterator[Load]:
    """The elements that expressions read."""
    for expression in expressions:
        yield from (p for p in subexpressions(expression) if isinstance(p, Load))
