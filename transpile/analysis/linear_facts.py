"""Inequalities between integer scalars: what intervals of each cannot say of two of them.

    for j in range(n - i):      0 <= n - 1 - i - j, so that x[i + j] is in range
        x[i + j]

A `Linear` is a sum of scalars with integer coefficients and a constant. A relation is one that is 0
or more. A bound of a sum is that of the sum and a multiple of a relation without which a scalar
cancels: the step of Fourier and Motzkin's elimination, for a few relations at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from transpile.ir.dims import Dim, Index, Symbol, symbols_of, terms_of
from transpile.ir.indices.intervals import Interval, full, is_inside, is_integer, meet
from transpile.ir.loop_ir import Apply, Expr, IndexValue, Literal, Load, Ref
from transpile.ir.loop_rewrite import indices_in, subexpressions

Linear = Mapping[str, int]  # coefficients by the names of scalars; the constant has no name
CONSTANT = ""
_DEEPEST = 2  # relations that are added to a sum
_MOST_NAMES = 6  # in a sum
MOST_RELATIONS = 12
_WIDEST = -(2**64), 2**64  # every integer of every dtype


def constant(value: int) -> Linear:
    """A sum of no scalars."""
    return {CONSTANT: value} if value else {}


def combined(x: Linear, y: Linear, times: int) -> Linear:
    """`x + times * y`."""
    total = dict(x)
    for name, coefficient in y.items():
        total[name] = total.get(name, 0) + times * coefficient
    return {name: c for name, c in total.items() if c}


def scaled(x: Linear, times: int) -> Linear:
    """`times * x`."""
    return {name: times * c for name, c in x.items()} if times else {}


def scalars_of(x: Linear) -> list[str]:
    """The scalars in a sum."""
    return [name for name in x if name != CONSTANT]


def is_relation(x: Linear) -> bool:
    """True for what relates scalars; of one alone the interval says as much."""
    return 1 < len(scalars_of(x)) <= _MOST_NAMES


def interval(
    x: Linear, relations: tuple[Linear, ...], range_of: Callable[[str], Interval]
) -> Interval:
    """The interval of a sum where all relations are 0 or more.

    range_of  the interval of a scalar
    """
    low = _upper(scaled(x, -1), relations, range_of, _DEEPEST)
    return -low, _upper(x, relations, range_of, _DEEPEST)


def _upper(
    x: Linear,
    relations: tuple[Linear, ...],
    range_of: Callable[[str], Interval],
    depth: int,
) -> int:
    best = x.get(CONSTANT, 0)
    for name, coefficient in x.items():
        if name != CONSTANT:
            low, high = range_of(name)
            best += coefficient * (high if coefficient > 0 else low)
    if depth == 0:
        return best
    for relation in relations:
        for times in _cancelling(x, relation):
            best = min(best, _upper(combined(x, relation, times), relations, range_of, depth - 1))
    return best


def _cancelling(x: Linear, relation: Linear) -> set[int]:
    """How often a relation is added to a sum so that a scalar cancels: positive integers."""
    found = set()
    for name, coefficient in x.items():
        own = relation.get(name, 0)
        if own and name != CONSTANT and (own > 0) != (coefficient > 0) and coefficient % own == 0:
            found.add(-coefficient // own)
    return found


class Sums:
    """The sums that integers are made of, and what relations say of them.

    ranges     the intervals of scalars, by name; another one may have any value of its dtype
    values     the expressions of constants, of scalars that have not changed since
    relations  sums of scalars that are 0 or more
    """

    def __init__(self) -> None:
        self.ranges: dict[str, Interval] = {}
        self.values: dict[str, Expr] = {}
        self.relations: tuple[Linear, ...] = ()
        self._sums: dict[str, Linear] = {}  # that constants are, until something changes

    def range_of(self, expr: Expr) -> Interval:
        """The interval of an expression of integers or truth values."""
        raise NotImplementedError

    def signs_by_relations(self, x: Expr, y: Expr, signs: list[int]) -> list[int]:
        """Those signs that sums and relations leave."""
        one, other = self.sum_of(x), self.sum_of(y)
        if one is None or other is None:
            return signs
        difference = combined(one, other, -1)
        low, high = interval(difference, self.relations, self._range_of_name)
        may_be = {-1: low < 0, 0: low <= 0 <= high, 1: high > 0}
        return [sign for sign in signs if may_be[sign]]

    def _range_of_name(self, name: str) -> Interval:
        return self.ranges.get(name, _WIDEST)

    def related(self, known: Interval, total: Linear | None) -> Interval:
        """An interval of a sum, narrowed by the relations of its scalars."""
        if total is None:
            return known
        found = interval(total, self.relations, self._range_of_name)
        return meet(known, found) or known

    def difference(self, expr: Expr, name: str) -> Interval | None:
        """The interval of what an integer is more than a scalar, if it is a sum with that."""
        total = self.sum_of(expr)
        if total is None or total.get(name) != 1:
            return None
        return interval(combined(total, {name: 1}, -1), self.relations, self._range_of_name)

    def sum_of(self, expr: Expr) -> Linear | None:
        """The sum of scalars that an integer is, if its arithmetic does not wrap around; a scalar
        that was declared as such a sum is that sum."""
        match expr:
            case _ if not is_integer(expr.dtype):
                return None
            case Literal(value=value):
                return constant(int(value))
            case Ref(name=name) | Load(buffer=name, index=()):
                return self._sum_of_name(name)
            case IndexValue(index=index):
                return self.sum_of_index(index)
            case Apply(op="convert_element_type", args=(x,)) if is_integer(x.dtype):
                return self.sum_of(x) if is_inside(self.range_of(x), full(expr.dtype)) else None
            case Apply():
                return self._sum_of_operation(expr)
        return None

    def _sum_of_operation(self, expr: Apply) -> Linear | None:
        rule, args = expr.primitive.interval, expr.args
        if rule is None or not all(is_integer(x.dtype) for x in args):
            return None
        sums = [self.sum_of(x) for x in args]
        known = [x for x in sums if x is not None]
        if len(known) < len(sums):
            return None
        total = _of_sums(expr.op, known)
        if total is None:
            return None
        exact, whole = rule(*map(self.range_of, args)), full(expr.dtype)
        if exact is not None and is_inside(exact, whole):
            return total
        # Apart from each other the operands may be too large, and their sum may not.
        is_exact = self.relations and is_inside(
            interval(total, self.relations, self._range_of_name), whole
        )
        return total if is_exact else None

    def _sum_of_name(self, name: str) -> Linear:
        if name not in self.values:
            return {name: 1}
        if name not in self._sums:
            found = self.sum_of(self.values[name])
            self._sums[name] = {name: 1} if found is None else found
        return self._sums[name]

    def sum_of_index(self, index: Index) -> Linear | None:
        """The sum of scalars that a subscript is; None for products and quotients of them."""
        total: Linear = {}
        for monomial, coefficient in terms_of(index):
            match monomial:
                case ():
                    part = constant(1)
                case (Symbol(name=name),):
                    part = self._sum_of_name(name)
                case _:
                    return None
            total = combined(total, part, coefficient)
        return total


def _of_sums(op: str, sums: Sequence[Linear]) -> Linear | None:
    """The sum that an operation of sums is; None for a product of two."""
    match op, sums:
        case "negative", [x]:
            return scaled(x, -1)
        case "add", [x, y]:
            return combined(x, y, 1)
        case "subtract", [x, y]:
            return combined(x, y, -1)
        case "multiply", [x, y]:
            for one, other in ((x, y), (y, x)):
                if not scalars_of(other):
                    return scaled(one, other.get(CONSTANT, 0))
    return None


def scalar_of(expr: Expr) -> str | None:
    """The name of the scalar, symbol or array of one number that an expression is."""
    match expr:
        case Ref(name=name) | Load(buffer=name, index=()):
            return name
        case IndexValue(index=Dim(terms=(((Symbol() as symbol,), 1),))):
            return symbol.name
        case _:
            return None


def names_of(expr: Expr) -> frozenset[str]:
    """The scalars, symbols and arrays of one number that an expression reads."""
    names = {name for part in subexpressions(expr) if (name := scalar_of(part)) is not None}
    return frozenset(names | {s.name for index in indices_in(expr) for s in symbols_of(index)})
