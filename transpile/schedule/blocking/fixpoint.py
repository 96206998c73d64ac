"""Standstill: whether the elements for which a condition no longer holds stay as they are.

A loop that goes on while the condition holds for any element may then run part by part: an element
that has come to rest is the same however often its part is gone over again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

import numpy as np

from transpile.ir.loop_ir import Apply, Declare, Expr, Literal, Load, Ref, Statement, Store, Update
from transpile.ir.loop_rewrite import expressions, subexpressions
from transpile.ir.types import BOOL

# Larger expressions than this are given up.
LARGEST = 400

Facts = dict[Expr, Expr]


def stands_still(going_on: Expr, steps: Iterable[Statement], state: Iterable[str]) -> bool:
    """Tell whether the statements of an iteration, each about one element of each array, leave the
    arrays `state` as they are, to the bit, where `going_on` does not hold."""
    steps = tuple(steps)
    whole = [going_on, *(e for s in steps for e in expressions(s))]
    if any(map(_is_negative_zero, (p for e in whole for p in subexpressions(e)))):
        return False  # which equals 0.0, and so expressions would that are not the same
    facts = _facts(going_on, False)
    values: dict[Expr, Expr] = {}
    for step in steps:
        match step:
            case Declare(name=name, value=value):
                values[Ref(name, value.dtype)] = _known(value, values, facts)
            case Store(buffer=buffer, index=index, value=value):
                values[Load(buffer, index, value.dtype)] = _known(value, values, facts)
            case Update(target=target, op=op, value=value):
                if op != "set":
                    value = Apply(op, (target, value), target.dtype)
                values[target] = _known(value, values, facts)
            case _:
                return False
        if any(_size(v) > LARGEST for v in values.values()):
            return False
    kept = set(state)
    return all(
        value in (place, facts.get(place, place))
        for place, value in values.items()
        if isinstance(place, Load) and place.buffer in kept
    )


def _is_negative_zero(part: Expr) -> bool:
    if not isinstance(part, Literal) or part.dtype.kind not in "fc":
        return False
    return bool(part.value == 0 and (np.signbit(part.value.real) or np.signbit(part.value.imag)))


def _size(expr: Expr) -> int:
    return sum(1 for _ in subexpressions(expr))


def _facts(condition: Expr, holds: bool) -> Facts:
    """What is known where a condition holds, or does not."""
    facts: Facts = {condition: Literal(np.bool_(holds), BOOL)}
    if is_negation(condition):
        facts |= _facts(condition.args[0], not holds)
    elif follow_all(condition, holds):
        for arg in condition.args:
            facts |= _facts(arg, holds)
    return facts


def is_negation(condition: Expr) -> TypeGuard[Apply]:
    """Tell whether a condition is that another one does not hold."""
    if not isinstance(condition, Apply) or condition.dtype != BOOL:
        return False
    return condition.primitive.involution and condition.args[0].dtype == BOOL


def follow_all(condition: Expr, holds: bool) -> TypeGuard[Apply]:
    """Tell whether a condition is made of others that all hold where it holds (or all fail where it
    fails): if one of them did not, that would decide it."""
    if not isinstance(condition, Apply) or any(a.dtype != BOOL for a in condition.args):
        return False
    decisive = condition.primitive.absorbing(BOOL)
    return decisive is not None and bool(decisive) != holds


def _known(expr: Expr, values: dict[Expr, Expr], facts: Facts) -> Expr:
    """An expression in terms of what the elements were, simplified by the facts."""
    if isinstance(expr, Apply):
        args = tuple(_known(a, values, facts) for a in expr.args)
        expr = _simplified(Apply(expr.op, args, expr.dtype))
    else:
        expr = values.get(expr, expr)
    return facts.get(expr, expr)


def _simplified(expr: Apply) -> Expr:
    """An operation on known numbers, only where the result is the same to the bit."""
    match expr:
        case Apply(op="select", args=(Literal(value=chosen), x, y)):
            return x if chosen else y
        case Apply(op="select", args=(_, x, y)) if x == y:
            return x
        case Apply(args=(Literal(value=value),)) if is_negation(expr):
            return Literal(np.bool_(not value), BOOL)
        case Apply(op="convert_element_type", args=(Literal(value=value),), dtype=dtype):
            if value in (0, 1) and dtype.kind in "biu":
                return Literal(dtype.type(value), dtype)
        case Apply(args=(x, y)) if x.dtype == y.dtype == expr.dtype and expr.dtype.kind in "biu":
            return _of_two(expr, x, y)
        case _:
            pass
    return expr


def _of_two(expr: Apply, x: Expr, y: Expr) -> Expr:
    row, dtype = expr.primitive, expr.dtype
    neutral, absorbing = (
        None if number is None else Literal(number, dtype)
        for number in (row.neutral(dtype), row.absorbing(dtype))
    )
    if absorbing in (x, y):
        return Literal(row.absorbing(dtype), dtype)
    if y == neutral:
        return x
    return y if x == neutral and row.commutative else expr
