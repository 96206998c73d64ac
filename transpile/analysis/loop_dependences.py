"""Dependences that loops carry through accumulators: what may be computed in parts, by lanes,
blocks, or threads.

That iterations are otherwise independent is `is_independent` of `ir/loop_rewrite.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.ir.loop_ir import Declare, For, Ref, Statement, Update
from transpile.ir.loop_rewrite import (
    expressions,
    is_independent,
    subexpressions,
    walk,
    with_bodies,
)
from transpile.util.frozen_records import memoized, replace


def outer_updates(loop: For) -> dict[str, str]:
    """The operation of each accumulator that the loop updates and that is declared outside it."""
    inside = {s.name for s in walk(loop.body) if isinstance(s, Declare)}
    return {
        s.target.name: s.op
        for s in walk(loop.body)
        if isinstance(s, Update) and isinstance(s.target, Ref) and s.target.name not in inside
    }


def reads_accumulator(loop: For, updates: Mapping[str, str]) -> bool:
    """True if the loop reads a running value, as a scan does."""
    for statement in walk(loop.body):
        for expr in expressions(statement):
            if any(isinstance(p, Ref) and p.name in updates for p in subexpressions(expr)):
                return True
    return False


@memoized
def accumulators(loop: For) -> Mapping[str, Update] | None:
    """An update of each accumulator of a loop whose iterations are independent but for these, and
    whose parts may be combined in any way; None for other loops."""
    ops = outer_updates(loop)
    found: dict[str, Update] = {}
    for statement in walk(loop.body):
        if not (isinstance(statement, Update) and isinstance(statement.target, Ref)):
            continue
        name, dtype, primitive = statement.target.name, statement.target.dtype, statement.primitive
        if name not in ops:
            continue
        may_combine = primitive is not None and primitive.may_combine(dtype)
        if not may_combine or statement.op != ops[name] or _leaves_range(statement):
            return None
        found[name] = statement
    without = _without(loop, frozenset(found))
    if reads_accumulator(loop, ops) or not is_independent(without):
        return None
    return found


def _leaves_range(update: Update) -> bool:
    """True if parts may be infinite or 0 where the whole is neither."""
    return (
        update.primitive is not None and update.target.dtype.kind in update.primitive.leaves_range
    )


def _without(loop: For, names: frozenset[str]) -> For:
    """The loop without the updates of these accumulators."""

    def body(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(
            with_bodies(s, body)
            for s in statements
            if not (isinstance(s, Update) and isinstance(s.target, Ref) and s.target.name in names)
        )

    return replace(loop, body=body(loop.body))
