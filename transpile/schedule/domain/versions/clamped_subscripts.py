"""Subscripts that are clamped, and statements without clamps where subscripts are in range.

The integer that a user subscripts with counts from the end where it is negative, and is clamped to
the array. A store asks first whether the clamp changed it, as there is no element to store at then.
Versions of loops (`range_versions`, `value_versions`) know that some integers are in range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TypeGuard

import numpy as np

from transpile.ir.dims import Dim, Index, symbols_of
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Literal,
    Load,
    Ref,
    Statement,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    declared_name,
    indices_in,
    map_expr,
    subexpressions,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import BOOL, INT64
from transpile.machine import Machine
from transpile.util.frozen_records import changed, dataclass, same

Body = tuple[Statement, ...]
_NESTS = 3  # a nest may be so many times as long as a single loop that has versions


def is_users(statement: Statement) -> TypeGuard[For | While]:
    """True for a loop of the user's."""
    return isinstance(statement, While) or (isinstance(statement, For) and statement.ordered)


def longest_nest(machine: Machine) -> int:
    """The most statements of a nest that has versions."""
    return _NESTS * machine.most_versioned_statements


@dataclass(frozen=True)
class Clamp:
    """A subscript that is clamped.

    inner  the integer
    least  what the clamped value is at least; 0 if it is not clamped from below
    most   what it is at most: the least of these
    """

    inner: Expr
    least: int
    most: tuple[Index, ...]


class Constants:
    """What the statements of a loop declare once, and what they change."""

    def __init__(self, body: Body) -> None:
        inside = list(walk(body))
        counts = Counter(filter(None, map(declared_name, inside)))
        self.values = {
            s.name: s.value
            for s in inside
            if isinstance(s, Declare) and s.constant and counts[s.name] == 1
        }
        updated = {
            s.target.name for s in inside if isinstance(s, Update) and isinstance(s.target, Ref)
        }
        stored = {name for s in inside for name in written(s)}
        self.varying = counts.keys() | updated | stored

    def clamped(self, value: Expr) -> Clamp | None:
        """The clamps around an integer, of which there is one at least."""
        least = 0
        most: list[Index] = []
        outer = value
        while True:
            match value:
                case Ref(name=name) if value is not outer and name in self.values:
                    if self.clamped(self.values[name]) is None:
                        break
                    value = self.values[name]
                case Apply(args=(x, Literal(value=bound))) if value.primitive.chooses == -1:
                    most.append(int(bound))
                    value = x
                case Apply(args=(x, IndexValue(index=end))) if (
                    value.primitive.chooses == -1 and self.is_known_before(IndexValue(end))
                ):
                    most.append(end)
                    value = x
                case Apply(args=(x, Literal(value=bound))) if value.primitive.chooses == 1:
                    least = max(least, int(bound))
                    value = x
                case Apply(op="select", args=args) if self._counts_from_the_end(*args):
                    value = args[2]
                case _:
                    break
        if value is outer or value.dtype != INT64:
            return None
        return Clamp(self.expanded(value), least, tuple(most))

    def _counts_from_the_end(self, test: Expr, then: Expr, otherwise: Expr) -> bool:
        """True for the choice of `x + n` where x is negative, and else x."""
        if isinstance(test, Ref):
            test = self.values.get(test.name, test)
        match test, then:
            case Apply(op="less", args=(x, Literal(value=0))), Apply(op="add", args=(moved, _)):
                return x == moved == otherwise
        return False

    def uncounted(self, value: Expr) -> Expr:
        """The integer, not counted from the end, in scalars that are declared before the loop."""
        value = self.values.get(value.name, value) if isinstance(value, Ref) else value
        if (
            isinstance(value, Apply)
            and value.op == "select"
            and self._counts_from_the_end(*value.args)
        ):
            value = value.args[2]
        return self.expanded(value)

    def expanded(self, value: Expr) -> Expr:
        """The integer, in scalars that are declared before the loop."""

        def one(expr: Expr) -> Expr:
            known = self.values.get(expr.name) if isinstance(expr, Ref) else None
            return expr if known is None else self.expanded(known)

        return map_expr(value, one)

    def is_known_before(self, value: Expr) -> bool:
        """True if nothing that the integer is made of changes in the loop, but for the counter."""
        for part in subexpressions(value):
            match part:
                case Load(buffer=name, index=()) | Ref(name=name):
                    if name in self.varying:
                        return False
                case Load():
                    return False
        return all(
            symbol.name not in self.varying
            for index in indices_in(value)
            for symbol in symbols_of(index)
        )


def compared(op: str, x: Expr, y: Index) -> Expr:
    """A comparison of an integer with an index."""
    return Apply(op, (x, as_value(y)), BOOL)


def all_of(tests: Iterable[Expr]) -> Expr:
    """The conjunction of tests, of which there is one at least."""
    return reduce(lambda x, y: Apply("logical_and", (x, y), BOOL), tests)


class Unclamped:
    """Rewrites statements for subscripts that are in range.

    places  of what declares one: where it is, and the integer that it was made of
    """

    def __init__(self, places: Mapping[Declare, tuple[Expr, Expr]], constants: Constants) -> None:
        self._places = places
        self._constants = constants
        self._integers: dict[Expr, Expr] = {}  # of the subscripts that have been declared

    def body(self, body: Body) -> Body:
        """The statements with such subscripts, which equal the integers that they were made of."""
        return same(body, tuple(map(self._statement, body)))

    def _statement(self, statement: Statement) -> Statement:
        if isinstance(statement, Declare) and statement in self._places:
            place, integer = self._places[statement]
            symbol = statement.symbol
            name = Ref(statement.name, INT64) if symbol is None else IndexValue(Dim.of(symbol))
            self._integers[name] = integer
            return changed(statement, value=place)
        if isinstance(statement, If) and self._is_known(statement.condition):
            statement = changed(statement, condition=Literal(np.bool_(True), BOOL))
        return with_bodies(statement, self.body)

    def _is_known(self, condition: Expr) -> bool:
        """True for the test that a subscript is the integer that was clamped."""
        match condition:
            case Apply(op="equal", args=(subscript, x)) if subscript in self._integers:
                own = self._integers.get(x) or self._constants.uncounted(x)
                return own == self._integers[subscript]
        return False
