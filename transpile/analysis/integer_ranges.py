"""Ranges of integer scalars at a statement: an abstract interpretation over intervals
(Cousot and Cousot 1977).

`Facts` are what is known where a statement begins: the interval of each scalar and loop symbol,
what constants were declared as, so that a condition narrows the scalars that it was made of, and
inequalities between scalars (`linear_facts.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Any

from transpile.analysis import linear_facts
from transpile.analysis.linear_facts import Linear, Sums, names_of, scalar_of
from transpile.ir.dims import Dim, Index, Symbol, bounds, symbols_of, terms_of
from transpile.ir.indices import intervals
from transpile.ir.indices.intervals import (
    Interval,
    full,
    hull,
    is_inside,
    is_integer,
    meet,
)
from transpile.ir.loop_ir import Apply, Expr, IndexValue, Literal, Load, Ref, Within
from transpile.ir.loop_rewrite import loads_of
from transpile.ir.types import BOOL, INT64

_SIGNS = (-1, 0, 1)
_DEEPEST = 1  # of assumptions that are made to settle another one
_MOST_BITS = 62  # of a factor that a shift is
_MOST_NARROWED = 64  # scalars in an assumption: each may be made of two others, and these of others


class Facts(Sums):
    """What is known of the scalars where a statement begins.

    tables   the intervals of the elements of constant arrays
    ranges   of scalars, arrays of one number and loop symbols, by name; another one may have any
             value of its dtype
    values   the expressions of constants, of scalars that have not changed since
    readers  the constants that were made of a scalar, and some that are others by now
    origins  the sums that scalars were when they were assigned last, of what has not changed since
    assumed  the intervals of choices that assumptions have told
    shifts   by how much a scalar has changed since the iteration of the innermost loop began; None
             where that is unknown
    """

    def __init__(self, tables: Mapping[str, Interval], depth: int = 0) -> None:
        super().__init__()
        self.tables = tables
        self._depth = depth  # of assumptions in assumptions
        self.readers: dict[str, tuple[str, ...]] = {}
        self.origins: Mapping[str, Linear] = {}
        self.assumed: Mapping[Apply, Interval] = {}
        self.shifts: dict[str, Interval | None] = {}
        self._left = _MOST_NARROWED
        self._memo: dict[Apply, Interval] = {}  # of expressions, until something changes

    def copy(self) -> Facts:
        """Facts that may change apart from these."""
        other = Facts(self.tables, self._depth)
        other.ranges = dict(self.ranges)
        other.values = dict(self.values)
        other.readers = dict(self.readers)
        other.origins = self.origins
        other.assumed = self.assumed
        other.shifts = dict(self.shifts)
        other.relations = self.relations
        return other

    # -------------------------------------------------------------------------------- questions

    def range_of(self, expr: Expr) -> Interval:
        """The interval of an expression of integers or truth values."""
        match expr:
            case Literal(value=value):
                return int(value), int(value)
            case Ref(name=name):
                return self.ranges.get(name) or full(expr.dtype)
            case Load(buffer=buffer):
                known = self.tables if expr.index else self.ranges
                return known.get(buffer) or full(expr.dtype)
            case IndexValue(index=index):
                return self.range_of_index(index)
            case Within(index=index, low=low, high=high):
                above, below = self.range_of_index(index - low), self.range_of_index(high - index)
                return above[0] >= 0 and below[0] >= 1, above[1] >= 0 and below[1] >= 1
            case Apply():
                if expr not in self._memo:
                    self._memo[expr] = self._range_of_result(expr)
                return self._memo[expr]

    def _range_of_result(self, expr: Apply) -> Interval:
        whole = full(expr.dtype)
        if expr.op == "select":
            chosen = self._range_of_choice(*expr.args)
            return meet(chosen, self.assumed.get(expr, chosen)) or chosen
        if not all(is_integer(x.dtype) for x in expr.args):
            return whole
        if expr.primitive.signs:
            return self._range_of_comparison(expr)
        if expr.primitive.interval is None:
            return whole
        found = expr.primitive.interval(*map(self.range_of, expr.args))
        if found is None or not is_inside(found, whole):
            found = whole
        return self.related(found, self.sum_of(expr)) if self.relations else found

    def _range_of_choice(self, test: Expr, then: Expr, otherwise: Expr) -> Interval:
        one, other = self.assuming(test, True), self.assuming(test, False)
        if one is None or other is None:
            known = one or other
            return (known or self).range_of(then if one is not None else otherwise)
        return hull(one.range_of(then), other.range_of(otherwise))

    def _range_of_comparison(self, expr: Apply) -> Interval:
        signs = self.signs_by_cases(*expr.args)
        true = [s in expr.primitive.signs for s in signs]
        return all(true), any(true)

    def signs_of_difference(self, x: Expr, y: Expr) -> list[int]:
        """The signs that the difference of two integers may have."""
        if self.resolved(x) == self.resolved(y):
            return [0]
        a, b = self.range_of(x), self.range_of(y)
        may_be = (a[0] < b[1], meet(a, b) is not None, a[1] > b[0])
        signs = [sign for sign, may in zip(_SIGNS, may_be, strict=True) if may]
        if len(signs) > 1:
            signs = self.signs_by_relations(x, y, signs)
        return signs

    def signs_by_cases(self, x: Expr, y: Expr) -> list[int]:
        """The same, where the first integer is a choice, of each of both."""
        match self._made_of(x):
            case Apply(op="select", args=(test, then, otherwise)):
                cases = (self.assuming(test, True), then), (self.assuming(test, False), otherwise)
                found = [k.signs_by_cases(arm, y) for k, arm in cases if k is not None]
                return [sign for sign in _SIGNS if any(sign in signs for signs in found)]
        return self.signs_of_difference(x, y)

    def resolved(self, expr: Expr) -> Expr:
        """The scalar that another one is a copy of."""
        while True:
            name = scalar_of(expr)
            value = self.values.get(name) if name is not None else None
            if value is None or (not isinstance(value, Literal) and scalar_of(value) is None):
                return expr if name is None or isinstance(expr, Load) else Ref(name, expr.dtype)
            expr = value

    def unnamed(self, expr: Expr) -> Expr:
        """What a constant of the scope is, as it is known behind that."""
        found = self.resolved(expr)
        return self.values.get(found.name, found) if isinstance(found, Ref) else found

    def range_of_index(self, index: Index) -> Interval:
        """The interval of a subscript."""
        low, high = bounds(index)
        whole = full(INT64)
        known = (whole[0] if low is None else low, whole[1] if high is None else high)
        if isinstance(index, int) or not any(s.name in self.ranges for s in symbols_of(index)):
            return known
        total: Interval = (0, 0)
        for monomial, coefficient in index.terms:
            product: Interval = (coefficient, coefficient)
            for atom in monomial:
                product = intervals.multiply(product, self._range_of_atom(atom))
            total = intervals.add(total, product)
        found = meet(total, known) or known
        return self.related(found, self.sum_of_index(index)) if self.relations else found

    def _range_of_atom(self, atom: Any) -> Interval:
        is_symbol = isinstance(atom, Symbol)
        low, high = bounds(Dim.of(atom) if is_symbol else Dim((((atom,), 1),)))
        whole = full(INT64)
        known = (whole[0] if low is None else low, whole[1] if high is None else high)
        if isinstance(atom, Symbol) and atom.name in self.ranges:
            return meet(known, self.ranges[atom.name]) or known
        return known

    # ------------------------------------------------------------------------------ assumptions

    def assuming(self, condition: Expr, truth: bool) -> Facts | None:
        """What is known where a condition holds, or does not; None where that cannot be. Of an
        assumption that others have asked for, each of which asks for two, nothing is concluded."""
        if self._depth >= _DEEPEST:
            return self.copy()
        other = self.copy()
        other._depth += 1
        other._left = _MOST_NARROWED
        if not other._assume(condition, truth):
            return None
        other._depth -= 1
        return other

    def _assume(self, condition: Expr, truth: bool) -> bool:
        """Add what follows; False where it contradicts what is known."""
        match condition:
            case Apply(op="logical_not", args=(x,)):
                return self._assume(x, not truth)
            case Apply(args=(x, y)) if (deciding := decides(condition)) is not None:
                return self._assume_both(x, y, truth, all_of=not deciding)
            case Apply(args=(x, y)) if condition.primitive.signs and is_integer(x.dtype):
                signs = condition.primitive.signs
                return self._compare(x, y, [s for s in _SIGNS if (s in signs) == truth])
            case Within(index=index, low=low, high=high) if truth:
                return self._at_least(index - low, 0) and self._at_least(high - index, 1)
            case Ref(name=name) if name in self.values and condition.dtype == BOOL:
                self._left -= 1
                if self._left >= 0 and not self._assume(self.values[name], truth):
                    return False
        known = meet(self.range_of(condition), (truth, truth))
        if known is not None and isinstance(condition, Ref):
            self.bound(condition.name, known)
        return known is not None

    def _assume_both(self, x: Expr, y: Expr, truth: bool, all_of: bool) -> bool:
        """Of a conjunction that holds, or a disjunction that does not, both operands are known; of
        others one is, where the other one cannot be the reason."""
        if truth == all_of:
            return self._assume(x, truth) and self._assume(y, truth)
        one, other = self.assuming(x, truth), self.assuming(y, truth)
        if one is None and other is None:
            return False
        if one is None or other is None:
            return self._assume(y if one is None else x, truth)
        return True

    def _compare(self, x: Expr, y: Expr, signs: list[int]) -> bool:
        """Assume that the difference has one of these signs."""
        signs = [s for s in self.signs_of_difference(x, y) if s in signs]
        if not signs:
            return False
        a, b = self.range_of(x), self.range_of(y)
        gap = 0 in signs
        if signs == [0]:
            self._relate(x, y, 0)
            self._relate(y, x, 0)
            return self._narrow(x, b) and self._narrow(y, a)
        if 1 not in signs:
            upper, lower = b[1] if gap else b[1] - 1, a[0] if gap else a[0] + 1
            self._relate(x, y, 0 if gap else 1)
            return self._narrow(x, (a[0], upper)) and self._narrow(y, (lower, b[1]))
        if -1 not in signs:
            lower, upper = b[0] if gap else b[0] + 1, a[1] if gap else a[1] - 1
            self._relate(y, x, 0 if gap else 1)
            return self._narrow(x, (lower, a[1])) and self._narrow(y, (b[0], upper))
        if gap:
            return True
        return self._without(x, b) and self._without(y, a)

    def _relate(self, x: Expr, y: Expr, gap: int) -> None:
        """Note that `x + gap <= y`."""
        below = self.sum_of(x)
        if below is None:
            return
        value = self._made_of(y)
        match value:
            case Apply(op="minimum", args=parts):
                for part in parts:
                    self._relate(x, part, gap)
            case Apply(op="maximum", args=arms):
                self._relate_to_choice(x, None, arms, gap)
            case Apply(op="select", args=(test, *arms)):
                self._relate_to_choice(x, test, arms, gap)
            case Apply(op="subtract", args=(bound, rest)) if self.sum_of(value) is None:
                self._relate_to_difference(below, bound, rest, gap)
            case Apply(op="right_shift", args=(shifted, Literal(value=bits))) if (
                0 <= bits < _MOST_BITS
            ):
                self._relate_sums(below, self.sum_of(shifted), gap, 1 << int(bits))
            case _:
                self._relate_sums(below, self.sum_of(y), gap)

    def _relate_to_choice(self, x: Expr, test: Expr | None, arms: Sequence[Expr], gap: int) -> None:
        """Note the same of an integer and one of two, if the other one is less than the sum."""
        least = self.range_of(x)[0] + gap
        for part, rest, truth in zip(arms, reversed(arms), (True, False), strict=True):
            is_part = self.range_of(rest)[1] < least
            if is_part and (test is None or self._assume(test, truth)):
                self._relate(x, part, gap)

    def _relate_to_difference(self, below: Linear, bound: Expr, rest: Expr, gap: int) -> None:
        """Note the same of a sum, and of a difference: of the least of two integers and `rest`."""
        own = self.sum_of(rest)
        exact = intervals.subtract(self.range_of(bound), self.range_of(rest))
        if own is None or not is_inside(exact, full(bound.dtype)):
            return
        match self._made_of(bound):
            case Apply(op="minimum", args=parts):
                for part in parts:
                    self._relate_sums(linear_facts.combined(below, own, 1), self.sum_of(part), gap)

    def _relate_sums(
        self, below: Linear | None, above: Linear | None, gap: int = 0, factor: int = 1
    ) -> None:
        """Note that one sum and a gap, so many times, are no more than the other one."""
        if below is not None and above is not None:
            shift = linear_facts.constant(-gap * factor)
            found = linear_facts.combined(linear_facts.combined(above, below, -factor), shift, 1)
            if linear_facts.is_relation(found) and found not in self.relations:
                self.relate((*self.relations, found))

    def _made_of(self, expr: Expr) -> Expr:
        """The expression that a constant is."""
        while (name := scalar_of(expr)) is not None and name in self.values:
            expr = self.values[name]
        match expr:
            case Apply(op="select", args=(Apply(args=(x, y)) as test, then, otherwise)) if (
                test.primitive.signs and {then, otherwise} == {x, y}
            ):
                is_less = set(test.primitive.signs) <= {-1, 0}
                is_more = set(test.primitive.signs) <= {0, 1}
                if is_integer(x.dtype) and is_less != is_more:
                    op = "minimum" if is_less == (then == x) else "maximum"
                    return Apply(op, (x, y), expr.dtype)
        return expr

    def _without(self, x: Expr, other: Interval) -> bool:
        """Assume that an expression is not a number that ends its interval."""
        low, high = self.range_of(x)
        if other[0] != other[1] or other[0] not in (low, high):
            return True
        return self._narrow(x, (low + (other[0] == low), high - (other[0] == high)))

    def _at_least(self, index: Index, least: int) -> bool:
        return self._narrow(IndexValue(index), (least, self.range_of_index(index)[1]))

    def _narrow(self, expr: Expr, interval: Interval) -> bool:
        """Assume that an expression is in an interval; False where it cannot be."""
        found = meet(self.range_of(expr), interval)
        if found is None:
            return False
        self._left -= 1
        if self._left < 0:
            return True
        match expr:
            case Ref(name=name) | Load(buffer=name, index=()):
                self.bound(name, found)
                return name not in self.values or self._narrow(self.values[name], found)
            case IndexValue(index=index):
                return self._narrow_symbol(index, found)
            case Apply(op="select"):
                if not any(load.index for load in loads_of(expr)):
                    self.assumed = {**self.assumed, expr: found}
                    self._memo = {}
                return True
            case Apply():
                return self._narrow_operands(expr, found)
            case _:
                return True

    def _narrow_symbol(self, index: Index, interval: Interval) -> bool:
        """Assume what follows for a symbol that the index is, but for its sign and a constant."""
        terms = dict(terms_of(index))
        offset = terms.pop((), 0)
        match list(terms.items()):
            case [((Symbol() as symbol,), 1 | -1 as sign)]:
                moved = intervals.subtract(interval, (offset, offset))
                known = meet(
                    moved if sign == 1 else intervals.negative(moved), self._range_of_atom(symbol)
                )
                if known is None:
                    return False
                self.bound(symbol.name, known)
                value = self.values.get(symbol.name)
                return value is None or self._narrow(value, known)
        return True

    def _narrow_operands(self, expr: Apply, interval: Interval) -> bool:
        """Assume what follows for the operands of a result that did not wrap around."""
        ranges = [self.range_of(x) for x in expr.args if is_integer(x.dtype)]
        rule = expr.primitive.interval
        if rule is None or len(ranges) != len(expr.args):
            return True
        whole = rule(*ranges)
        if whole is None or not is_inside(whole, full(expr.dtype)):
            return True
        match expr.op, expr.args:
            case "add", (x, y):
                return self._narrow(x, intervals.subtract(interval, ranges[1])) and self._narrow(
                    y, intervals.subtract(interval, ranges[0])
                )
            case "subtract", (x, y):
                return self._narrow(x, intervals.add(interval, ranges[1])) and self._narrow(
                    y, intervals.subtract(ranges[0], interval)
                )
            case "negative", (x,):
                return self._narrow(x, intervals.negative(interval))
            case "convert_element_type", (x,):
                return self._narrow(x, interval)
            case "multiply", (x, y) if x == y and interval[1] >= 0:
                root = isqrt(interval[1])
                return self._narrow(x, (-root, root))
            case "multiply", (x, Literal(value=factor)) if factor > 0:
                low, high = -(-interval[0] // int(factor)), interval[1] // int(factor)
                return low <= high and self._narrow(x, (low, high))
        return True

    def equate_length(self, symbol: Symbol, value: Expr) -> None:
        """A length has been found: it is a scalar, and what that is the largest of is no larger."""
        self.bound(symbol.name, self.range_of(value))
        self.equate(symbol.name, value)
        largest = self._made_of(value)
        if isinstance(largest, Apply) and largest.op == "maximum":
            for part in largest.args:
                self._relate_sums(self.sum_of(part), self.sum_of_index(Dim.of(symbol)))

    def refute(self, condition: Expr) -> bool:
        """Assume that a condition does not hold; False where it does."""
        return self._assume(condition, False)

    def assume_less(self, x: Expr, y: Expr) -> bool:
        """Assume that an integer is less than another one; False where it is not."""
        return self._compare(x, y, [-1])

    # ---------------------------------------------------------------------------------- changes

    def declare(self, name: str, value: Expr, constant: bool) -> None:
        """A scalar is declared."""
        found = self.range_of(value) if is_integer(value.dtype) else None
        origin = None if constant else self.sum_of(value)
        self.forget(name)
        if found is not None:
            self.bound(name, found)
            if constant:
                self.equate(name, value)
            self.begin(name, origin)

    def begin(self, name: str, origin: Linear | None) -> None:
        """A scalar begins as a sum of others."""
        if origin is not None and name not in origin and linear_facts.scalars_of(origin):
            self.origins = {**self.origins, name: origin}

    def equate(self, name: str, value: Expr) -> None:
        """A scalar is an expression, until what that is made of changes."""
        read = names_of(value)
        if name not in read:
            self.values[name] = value
            for other in read:
                self.readers[other] = (*self.readers.get(other, ()), name)

    def assign(self, name: str, interval: Interval | None, shift: Interval | None) -> None:
        """A scalar changes to a value of an interval; None: of any."""
        before = self.shifts.get(name, (0, 0))
        self.forget(name)
        if interval is not None:
            self.bound(name, interval)
        self.shifts[name] = before and shift and intervals.add(before, shift)

    def bound(self, name: str, interval: Interval) -> None:
        """A scalar is in an interval."""
        self.ranges[name] = interval
        self._memo = {}
        self._sums = {}

    def relate(self, relations: tuple[Linear, ...]) -> None:
        """These sums are 0 or more, and of others nothing is known."""
        self.relations = relations[-linear_facts.MOST_RELATIONS :]
        self._memo = {}
        self._sums = {}

    def forget(self, name: str) -> None:
        """Nothing is known of a scalar, and of what was made of it."""
        self.ranges.pop(name, None)
        self._memo = {}
        self._sums = {}
        self.relations = tuple(r for r in self.relations if name not in r)
        if self.assumed:
            self.assumed = {e: i for e, i in self.assumed.items() if name not in names_of(e)}
        if self.origins:
            self.origins = {n: s for n, s in self.origins.items() if n != name and name not in s}
        self.values.pop(name, None)
        for reader in self.readers.pop(name, ()):
            self.values.pop(reader, None)

    def joined(self, other: Facts) -> Facts:
        """What is known where two paths meet."""
        result = Facts(self.tables)
        mine, theirs = self.ranges, other.ranges
        result.ranges = {n: hull(mine[n], theirs[n]) for n in mine.keys() & theirs.keys()}
        result.values = {n: v for n, v in self.values.items() if other.values.get(n) == v}
        result.readers = dict(self.readers)
        result.relations = tuple(r for r in self.relations if r in other.relations)
        result.origins = {n: s for n, s in self.origins.items() if other.origins.get(n) == s}
        for name in self.shifts.keys() | other.shifts.keys():
            one, two = self.shifts.get(name, (0, 0)), other.shifts.get(name, (0, 0))
            result.shifts[name] = one and two and hull(one, two)
        return result


def decides(expr: Apply) -> bool | None:
    """The truth of an operand that is that of the result, whatever the other one is: false for a
    conjunction, true for a disjunction. None for other operations."""
    if any(x.dtype != BOOL for x in expr.args):
        return None
    found = expr.primitive.absorbing(BOOL)
    return None if found is None else bool(found)
