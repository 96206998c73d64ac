"""The range of a traced integer, where loops around it and arithmetic say one."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.graph import Atom, Const, Equation
from transpile.python.objects.counters import least_change
from transpile.trace.trace import Trace
from transpile.trace.tracer import Tracer

Interval = tuple[int, int]
# The least and the greatest value: ints, integers of the trace `root`, or None where nobody knows.
# They are one object where the value is known, so to say: the same in each iteration.
Limits = tuple[Any, Any]
_MOST_STEPS = 64
_UNKNOWN: Limits = (None, None)


def range_of(value: Any) -> Interval | None:
    """The least and the greatest value, if both are known while tracing."""
    least, greatest = limits_of(value, None)
    return (least, greatest) if isinstance(least, int) and isinstance(greatest, int) else None


def limits_of(value: Any, root: Trace | None) -> Limits:
    """What a number is at least and at most, by numbers of the trace `root`, which is the active
    one; without it, by numbers that are known while tracing."""
    if isinstance(value, int):
        return value, value
    if isinstance(value, Dim):
        number = None if root is None else value.as_value()
        return number, number
    if isinstance(value, Const):
        return _of_constant(value)
    if not isinstance(value, Tracer):
        return _UNKNOWN
    return _limits(value.owner, value.variable, _MOST_STEPS, root)


def _limits(trace: Trace, atom: Atom, steps: int, root: Trace | None) -> Limits:
    if isinstance(atom, Const):
        return _of_constant(atom)
    if not steps:
        return _UNKNOWN
    if atom in trace.counters:
        return 0, _sum(limits_of(trace.counters[atom], root)[1], -1)
    for tracer, here in trace.captures.values():
        if here is atom:
            return _limits(tracer.owner, tracer.variable, steps - 1, root)
    limits = _of_equation(trace, atom, steps, None if trace is root else root)
    is_number = atom.type.dtype.kind in "iu" and not atom.type.shape
    if trace is root and is_number and not all(isinstance(x, int) for x in limits):
        value = Tracer(root, atom)
        return value, value
    return limits


def _of_constant(atom: Const) -> Limits:
    if atom.value.dtype.kind not in "iu" or atom.value.ndim:
        return _UNKNOWN
    number = int(atom.value)
    return number, number


def _of_equation(trace: Trace, atom: Any, steps: int, root: Trace | None) -> Limits:
    equation = trace.producers.get(atom)
    if equation is None or atom.type.dtype.kind not in "iu":
        return _UNKNOWN
    if equation.primitive.name == "while":
        return _of_loop(trace, equation, equation.outputs.index(atom), steps)
    if len(equation.inputs) > 2:
        return _UNKNOWN
    parts = [_limits(trace, a, steps // 2, root) for a in equation.inputs]
    match equation.primitive.name, parts:
        case ("convert_element_type", [limits]):
            return limits
        case ("add", [(a, b), (c, d)]):
            return _both(_sum, (a, c), (b, d))
        case ("subtract", [(a, b), (c, d)]):
            return _both(_difference, (a, d), (b, c))
        case ("maximum", [(a, b), (c, d)]):
            least, greatest = _both(_larger, (a, c), (b, d))
            return _first(least, a, c), greatest
        case ("minimum", [(a, b), (c, d)]):
            least, greatest = _both(_smaller, (a, c), (b, d))
            return least, _first(greatest, b, d)
        case ("remainder", [_, (int(c), d)]) if c > 0:
            return 0, _sum(d, -1)
        case ("floor_divide", [(a, b), (int(c), int(d))]) if c > 0:
            if isinstance(a, int) and isinstance(b, int):
                return min(a // c, a // d), max(b // c, b // d)
            return _both(_quotient, (a, c), (b, c)) if c == d else _UNKNOWN
        case ("multiply", [limits, (1, 1)]) | ("multiply", [(1, 1), limits]):
            return limits
        case ("multiply", [(int(a), int(b)), (int(c), int(d))]):
            products = a * c, a * d, b * c, b * d
            return min(products), max(products)
    return _UNKNOWN


def _of_loop(trace: Trace, equation: Equation, number: int, steps: int) -> Limits:
    """What is known of a number that each iteration makes larger, or smaller, if it changes it."""
    body, consts = equation.params["body"], equation.params["consts"]
    before = _limits(trace, equation.inputs[consts + number], steps // 2, None)
    known = {body.inputs[consts + number]: 0}
    signs = [least_change(body, [(body.outputs[number], sign)], known) for sign in (1, -1)]
    return tuple(None if s is None else x for s, x in zip(signs, before, strict=True))  # type: ignore[return-value]  # two


def _both(function: Any, of_least: Limits, of_greatest: Limits) -> Limits:
    """The function of both limits; once, where their operands are the same."""
    least = function(*of_least)
    if all(x is y for x, y in zip(of_least, of_greatest, strict=True)):
        return least, least
    return least, function(*of_greatest)


def _first(*values: Any) -> Any:
    """The first one that is known."""
    return next((x for x in values if x is not None), None)


def _sum(x: Any, y: Any) -> Any:
    return None if x is None or y is None else x + y


def _difference(x: Any, y: Any) -> Any:
    return None if x is None or y is None else x - y


def _quotient(x: Any, y: Any) -> Any:
    return None if x is None or y is None else x // y


def _larger(x: Any, y: Any) -> Any:
    if x is None or y is None:
        return None
    return max(x, y) if isinstance(x, int) and isinstance(y, int) else np.maximum(x, y)


def _smaller(x: Any, y: Any) -> Any:
    if x is None or y is None:
        return None
    return min(x, y) if isinstance(x, int) and isinstance(y, int) else np.minimum(x, y)
