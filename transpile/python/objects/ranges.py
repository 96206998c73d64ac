"""The range of a traced integer, where loops around it and arithmetic say one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.graph import Atom, Const, Equation
from transpile.ir.types import BOOL, FLOAT64, INT64
from transpile.primitives import elementwise
from transpile.primitives.elementwise import bits
from transpile.python.objects.counters import least_change
from transpile.trace.trace import Trace
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

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
    if root is None and is_number:
        limits = _within(limits, trace, atom)
    if trace is root and is_number and not all(isinstance(x, int) for x in limits):
        value = Tracer(root, atom)
        return value, value
    return limits


def is_nonzero(value: Any) -> bool:
    """True for a number that cannot be 0, as its range says, or the branches around it."""
    limits = range_of(value)
    if limits is not None and not limits[0] <= 0 <= limits[1]:
        return True
    if not isinstance(value, Tracer) or value.shape:
        return False
    own = _origin(value.owner, value.variable)
    return any(
        (number < 0) - (number > 0) not in signs
        for signs, other, number in _conditions()
        if other == own or _is_size_of(other, own)
    )


_Origin = tuple[Trace, Atom]
# What signs the difference of a value and a number may have.
_Comparison = tuple[frozenset[int], _Origin, Any]
_SIGNS = frozenset((-1, 0, 1))


def _conditions() -> Iterator[_Comparison]:
    """The comparisons with numbers that hold where a branch is traced."""
    python = THREAD.python
    for condition, holds in () if python is None else python.conditions:
        yield from _comparisons(condition.owner, condition.variable, holds)


def _comparisons(trace: Trace, atom: Atom, holds: bool) -> Iterator[_Comparison]:
    trace, atom = _origin(trace, atom)
    equation = None if isinstance(atom, Const) else trace.producers.get(atom)
    if equation is None or atom.type.dtype != BOOL:
        return
    primitive = equation.primitive
    all_of = bits.bitwise_and if holds else bits.bitwise_or
    if primitive is elementwise.logical_not or primitive is bits.invert:
        yield from _comparisons(trace, equation.inputs[0], not holds)
    elif (primitive.bitwise or primitive.name) == all_of.name:
        for part in equation.inputs:
            yield from _comparisons(trace, part, holds)
    elif primitive.signs:
        signs = frozenset(primitive.signs) if holds else _SIGNS - {*primitive.signs}
        for k, (one, other) in enumerate(permutations(equation.inputs)):
            if isinstance(other, Const) and _is_ordered(other.value):
                turned = frozenset(-s for s in signs) if k else signs
                yield turned, _origin(trace, one), other.value.item()


def _is_ordered(number: Any) -> bool:
    """True for a number that others are below, equal to or above."""
    return not number.ndim and number.dtype.kind in "biuf" and bool(number == number)


def _origin(trace: Trace, atom: Atom) -> _Origin:
    """The value that an atom is, of the outermost trace, before conversions of it."""
    while True:
        outer = next((t for t, here in trace.captures.values() if here is atom), None)
        equation = None if isinstance(atom, Const) else trace.producers.get(atom)
        if outer is not None:
            trace, atom = outer.owner, outer.variable
        elif equation is not None and equation.primitive is elementwise.convert:
            if equation.inputs[0].type.dtype.kind not in "iuf" or _is_narrowed(equation):
                return trace, atom
            atom = equation.inputs[0]
        else:
            return trace, atom


def _is_narrowed(equation: Equation) -> bool:
    """True for a conversion that is not one of any integer, or float, to a wider one."""
    one, other = equation.inputs[0].type.dtype, equation.outputs[0].type.dtype
    return not np.can_cast(one, other, "safe") and not (one == INT64 and other == FLOAT64)


def _is_size_of(one: _Origin, other: _Origin) -> bool:
    """True for the absolute value of another value."""
    trace, atom = one
    equation = None if isinstance(atom, Const) else trace.producers.get(atom)
    if equation is None or equation.primitive is not elementwise.absolute:
        return False
    return _origin(trace, equation.inputs[0]) == other


def _within(limits: Limits, trace: Trace, atom: Atom) -> Limits:
    """Limits that the branches around a number narrow."""
    least, greatest = limits
    own = _origin(trace, atom)
    for signs, other, number in _conditions():
        if other != own or not isinstance(number, int):
            continue
        if -1 not in signs:
            told = number + (0 not in signs)
            least = told if least is None else max(least, told)
        if 1 not in signs:
            told = number - (0 not in signs)
            greatest = told if greatest is None else min(greatest, told)
    return least, greatest


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
