"""Prove that elements for which a condition is false are a fixpoint of a loop body.

A loop that runs while the condition holds for any element may then run tile by tile: more
iterations leave finished elements as they are. The proof executes the body symbolically, with the
condition false, and compares each result with the initial value. It is exact to the bit, and gives
up on expressions of more than `LARGEST` parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

import numpy as np

from transpile.ir.loop_ir import Apply, Declare, Expr, Literal, Load, Ref, Statement, Store, Update
from transpile.ir.loop_rewrite import expressions, subexpressions
from transpile.ir.types import BOOL

# The proof gives up on larger expressions: substituted into each other they grow without bounds.
LARGEST = 400

Facts = dict[Expr, Expr]


def is_fixpoint(active: Expr, statements: Iterable[Statement], state: Iterable[str]) -> bool:
    """True if the statements of an iteration, each about one element of each array, leave the
    arrays `state` unchanged to the bit where `going_on` is false."""
    statements = tuple(statements)
    exprs = [active, *(e for s in statements for e in expressions(s))]
    if any(map(_is_negative_zero, (p for e in exprs for p in subexpressions(e)))):
        return False  # -0.0 == 0.0: different expressions would compare equal
    facts = _facts(active, False)
    values: dict[Expr, Expr] = {}
    for statement in statements:
        match statement:
            case Declare(name=name, value=value):
                values[Ref(name, value.dtype)] = _evaluated(value, values, facts)
            case Store(buffer=buffer, index=index, value=value):
                values[Load(buffer, index, value.dtype)] = _evaluated(value, values, facts)
            case Update(target=target, op=op, value=value):
                if op != "set":
                    value = Apply(op, (target, value), target.dtype)
                values[target] = _evaluated(value, values, facts)
            case _:
                return False
        if any(_size(v) > LARGEST for v in values.values()):
            return False
    carried = set(state)
    return all(
        value in (element, facts.get(element, element))
        for element, value in values.items()
        if isinstance(element, Load) and element.buffer in carried
    )


def _is_negative_zero(part: Expr) -> bool:
    if not isinstance(part, Literal) or part.dtype.kind not in "fc":
        return False
    return bool(part.value == 0 and (np.signbit(part.value.real) or np.signbit(part.value.imag)))


def _size(expr: Expr) -> int:
    return sum(1 for _ in subexpressions(expr))


def _facts(condition: Expr, holds: bool) -> Facts:
    """The subexpressions whose values follow from the truth of a condition."""
    facts: Facts = {condition: Literal(np.bool_(holds), BOOL)}
    if is_negation(condition):
        facts |= _facts(condition.args[0], not holds)
    elif follow_all(condition, holds):
        for arg in condition.args:
            facts |= _facts(arg, holds)
    return facts


def is_negation(condition: Expr) -> TypeGuard[Apply]:
    """True if a condition is the negation of another one."""
    if not isinstance(condition, Apply) or condition.dtype != BOOL:
        return False
    return condition.primitive.involution and condition.args[0].dtype == BOOL


def follow_all(condition: Expr, holds: bool) -> TypeGuard[Apply]:
    """True if the operands of a condition all hold where it holds (a conjunction), or all fail
    where it fails (a disjunction)."""
    if not isinstance(condition, Apply) or any(a.dtype != BOOL for a in condition.args):
        return False
    decisive = condition.primitive.absorbing(BOOL)
    return decisive is not None and bool(decisive) != holds


def _evaluated(expr: Expr, values: dict[Expr, Expr], facts: Facts) -> Expr:
    """An expression in terms of initial values, simplified by facts."""
    if isinstance(expr, Apply):
        args = tuple(_evaluated(a, values, facts) for a in expr.args)
        expr = _simplified(Apply(expr.op, args, expr.dtype))
    else:
        expr = values.get(expr, expr)
    return facts.get(expr, expr)


def _simplified(expr: Apply) -> Expr:
    """The operation folded where the result is the same to the bit."""
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
            return _fold_neutral(expr, x, y)
        case _:
            pass
    return expr


def _fold_neutral(expr: Apply, x: Expr, y: Expr) -> Expr:
    """The operation with a neutral or absorbing operand folded."""
    primitive, dtype = expr.primitive, expr.dtype
    neutral, absorbing = (
        None if number is None else Literal(number, dtype)
        for number in (primitive.neutral(dtype), primitive.absorbing(dtype))
    )
    if absorbing in (x, y):
        return Literal(primitive.absorbing(dtype), dtype)
    if y == neutral:
        return x
    return y if x == neutral and primitive.commutative else expr
