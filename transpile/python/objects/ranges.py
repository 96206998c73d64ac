"""The range of a traced integer, where loops around it and arithmetic say one."""

from __future__ import annotations

from typing import Any

from transpile.ir.graph import Atom, Const
from transpile.trace.trace import Trace
from transpile.trace.tracer import Tracer

Interval = tuple[int, int]
_MOST_STEPS = 64


def range_of(value: Any) -> Interval | None:
    """The least and the greatest value, if both are known."""
    if isinstance(value, int):
        return value, value
    if not isinstance(value, Tracer):
        return None
    return _range(value.owner, value.variable, _MOST_STEPS)


def _range(trace: Trace, atom: Atom, steps: int) -> Interval | None:
    if isinstance(atom, Const):
        return (int(atom.value), int(atom.value)) if atom.value.dtype.kind in "iu" else None
    if not steps:
        return None
    if atom in trace.counters:
        return 0, trace.counters[atom] - 1
    for tracer, here in trace.captures.values():
        if here is atom:
            return _range(tracer.owner, tracer.variable, steps - 1)
    equation = trace.producers.get(atom)
    if equation is None or atom.type.dtype.kind not in "iu" or len(equation.inputs) > 2:
        return None
    parts = [_range(trace, a, steps // 2) for a in equation.inputs]
    match equation.primitive.name, parts:
        case ("convert", [(low, high)]):
            return low, high
        case ("add", [(a, b), (c, d)]):
            return a + c, b + d
        case ("subtract", [(a, b), (c, d)]):
            return a - d, b - c
        case ("maximum", [(a, b), (c, d)]):
            return max(a, c), max(b, d)
        case ("minimum", [(a, b), (c, d)]):
            return min(a, c), min(b, d)
        case ("remainder", [_, (c, d)]) if c > 0:
            return 0, d - 1
        case ("floor_divide", [(a, b), (c, d)]) if c > 0:
            return min(a // c, a // d), max(b // c, b // d)
        case ("multiply", [(a, b), (c, d)]):
            products = a * c, a * d, b * c, b * d
            return min(products), max(products)
    return None
