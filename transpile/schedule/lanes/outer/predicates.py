"""Loops that stand in a branch, taken out of it: what is in the branch has its test as a guard.

    if c: s = 0                                holds = c
          while s < x: s = f(s)      ->        s = 0;  if holds: ...
          out[i] = s                           while holds & (s < x): s = f(s)
                                               if holds: out[i] = s

So lanes may differ in what they do (J. Allen, K. Kennedy, C. Porterfield and J. Warren, Conversion
of control dependence to data dependence, POPL 1983).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Load,
    Ref,
    Statement,
    Update,
    While,
)
from transpile.ir.loop_rewrite import parts, walk
from transpile.ir.types import BOOL
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed

Body = tuple[Statement, ...]


def loops_out_of_branches(body: Body, names: Names) -> Body:
    """Statements, whose declarations have names of their own, with no loop in a branch, where that
    is the case."""
    return tuple(after for statement in body for after in _taken_out(statement, None, names))


def _taken_out(statement: Statement, guard: Expr | None, names: Names) -> Iterator[Statement]:
    match statement:
        case If(condition=condition, body=body, orelse=orelse) if _may_be_taken_out(statement):
            opposite = Apply("logical_not", (condition,), BOOL)
            # Both tests stand before the arms, which may change what the condition reads.
            arms = [(Ref(names.new("holds"), BOOL), arm) for arm in (body, orelse)]
            for (holds, _), test in zip(arms, (condition, opposite), strict=True):
                yield Declare(holds.name, _both(guard, test))
            for holds, arm in arms:
                for each in arm:
                    yield from _taken_out(each, holds, names)
        case _ if guard is None:
            yield statement
        case Declare(name=name, dtype=dtype, source=source):
            yield Declare(name, Literal(np.zeros((), dtype)[()], dtype), constant=False)
            yield If(guard, (Update(Ref(name, dtype), "set", statement.value, source),))
        case While(condition=condition):
            yield changed(statement, condition=_both(guard, condition))
        case _:
            yield If(guard, (statement,))


def _both(one: Expr | None, other: Expr) -> Expr:
    return other if one is None else Apply("logical_and", (one, other), BOOL)


def _may_be_taken_out(branch: If) -> bool:
    """True for a branch with loops that end at once where it is not taken, and read no elements
    where they ask whether to go on: these may not exist there."""
    inside = [s for s in walk((branch,)) if isinstance(s, For | While)]
    asked = [s for loop in inside if isinstance(loop, While) for s in (loop, *walk(loop.test))]
    return (
        bool(inside)
        and not any(isinstance(loop, For) for loop in inside)
        and not any(isinstance(s, Declare) and s.symbol is not None for s in walk((branch,)))
        and not any(isinstance(part, Load) for s in asked for part in parts(s))
    )
