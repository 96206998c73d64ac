"""Subscripts that are tested, by one branch that is predicted.

    t = x < 0 ? x + n : x                       t = checked_subscript(x, n)
    if (t >= 0 && t <= n - 1) out[t] = y   ->   if (t >= 0) out[t] = y

A store waits for its address, and where the next element that is read may be the one stored, so
does that. The choice makes the address wait for a comparison.
"""

from __future__ import annotations

import numpy as np

from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    If,
    IndexValue,
    Literal,
    Ref,
    Statement,
    Update,
)
from transpile.ir.loop_rewrite import loads_of, names_read, walk
from transpile.ir.types import BOOL, INT64
from transpile.util.frozen_records import changed

Body = tuple[Statement, ...]
_ZERO = Literal(np.int64(0), INT64)


def counted_from_the_end(value: Expr) -> tuple[Expr, Expr] | None:
    """The number and the length of `x < 0 ? x + n : x`; None for other expressions."""
    match value:
        case Apply(
            op="select",
            args=(
                Apply(op="less", args=(tested, Literal(value=0))),
                Apply(op="add", args=(x, length)),
                otherwise,
            ),
        ) if tested == x == otherwise:
            return x, length
    return None


def is_last(last: Expr, length: Expr) -> bool:
    """True for `n - 1`, given n."""
    match last, length:
        case Literal(value=high), Literal(value=n):
            return int(high) == int(n) - 1
        case IndexValue(index=high), IndexValue(index=n):
            return bool(high == n - 1)
    return False


def checked(statement: Declare, behind: Body, is_below: bool) -> tuple[Declare, Body] | None:
    """The declaration of a place with what stands behind it, if that tests the place wherever it
    reads it; None for other declarations.

    is_below  the number is known to be less than the length
    """
    found = counted_from_the_end(statement.value)
    if found is None or not statement.constant or statement.symbol is not None:
        return None
    tested = _Tested(Ref(statement.name, INT64), found[1], is_below)
    after = tested.body(behind)
    if after is None or not tested.is_read(behind):
        return None
    return changed(statement, value=Apply("checked_subscript", found, INT64)), after


def sunk(statement: Declare, behind: Body) -> Body:
    """The declaration and what stands behind it, or where it is read in one arm of a branch alone,
    that arm with the declaration: what is divided for it need not be where the arm does not run."""
    readers = [k for k, s in enumerate(behind) if statement.name in names_read(s)]
    if len(readers) == 1 and not any(loads_of(statement.value)):
        (place,) = readers
        own = names_read(statement)
        stays = own.isdisjoint(name for s in behind[:place] for name in updated(s))
        match behind[place]:
            case If(condition=test, body=body, orelse=orelse) as branch if (
                stays and statement.name not in names_read(If(test, ()))
            ):
                arms = {"body": body, "orelse": orelse}
                reading = [
                    n for n, arm in arms.items() if statement.name in names_read(If(test, arm))
                ]
                if len(reading) == 1:
                    (arm,) = reading
                    within = changed(branch, **{arm: sunk(statement, arms[arm])})
                    return (*behind[:place], within, *behind[place + 1 :])
    return (statement, *behind)


def updated(statement: Statement) -> set[str]:
    """The scalars that a statement updates or declares anew."""
    names = set()
    for inner in walk((statement,)):
        match inner:
            case Update(target=Ref(name=name)) | Declare(name=name):
                names.add(name)
    return names - ({statement.name} if isinstance(statement, Declare) else set())


class _Tested:
    """Rewrites what stands behind the declaration of a place."""

    def __init__(self, place: Ref, length: Expr, is_below: bool) -> None:
        self._place = place
        self._length = length
        self._is_below = is_below

    def body(self, body: Body) -> Body | None:
        """The statements with shorter tests; None where one reads the place without a test."""
        result: list[Statement] = []
        for statement in body:
            after = self._statement(statement)
            if after is None:
                return None
            result.append(after)
        return tuple(result)

    def _statement(self, statement: Statement) -> Statement | None:
        if not self.is_read((statement,)):
            return statement
        if not isinstance(statement, If):
            return None
        if self._place.name not in names_read(If(statement.condition, ())):
            body, orelse = self.body(statement.body), self.body(statement.orelse)
            if body is None or orelse is None:
                return None
            return changed(statement, body=body, orelse=orelse)
        condition = self._condition(statement.condition)
        if condition is None or self.is_read(statement.orelse):
            return None
        return changed(statement, condition=condition)

    def is_read(self, body: Body) -> bool:
        """True if statements read the place."""
        return any(self._place.name in names_read(s) for s in walk(body))

    def _condition(self, condition: Expr) -> Expr | None:
        """The condition without the test of the upper end; None if it does not imply both tests."""
        parts = list(_conjuncts(condition))
        from_below = [p for p in parts if self._is_lower_test(p)]
        from_above = [p for p in parts if self._is_upper_test(p)]
        others = [p for p in parts if p not in from_below and p not in from_above]
        if not from_below or not (from_above or self._is_below):
            return None
        if any(self._place.name in names_read(If(p, ())) for p in others):
            return None
        found = from_below[0]
        for part in others:
            found = Apply("logical_and", (found, part), BOOL)
        return found

    def _is_lower_test(self, part: Expr) -> bool:
        return part == Apply("greater_equal", (self._place, _ZERO), BOOL)

    def _is_upper_test(self, part: Expr) -> bool:
        match part:
            case Apply(op="less_equal", args=(tested, last)) if tested == self._place:
                return is_last(last, self._length)
        return False


def _conjuncts(condition: Expr) -> list[Expr]:
    match condition:
        case Apply(op="logical_and", args=(x, y)):
            return [*_conjuncts(x), *_conjuncts(y)]
    return [condition]
