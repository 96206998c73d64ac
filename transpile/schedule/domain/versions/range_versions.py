"""Multiversioning: one test before a loop for subscripts that it would clamp in each iteration.

    for j in range(n):                              first = k;  last = k + n - 1
        x[clamped(k + j)] += 1          ->          if 0 <= first < m and 0 <= last < m:
                                                        for j in range(n): x[first + j] += 1
                                                    else: the loop as it was

A subscript that is a multiple of the counter, plus what is the same in all iterations, is in range
where those of the first and the last iteration are; the multiple, too, is a constant or the same in
all iterations. The arithmetic of Python's integers wraps around; but where both ends are in range,
and the multiple and the trip count are small, nothing in between does. The innermost loops of users
have versions; where ranges say that a subscript is in range (`settle_comparisons`), no test is
needed, and then the loop that follows has only what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import reduce
from typing import TypeGuard

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_DEAD_SCALARS, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Dim, Index, Symbol, bounds, symbols_of, terms_of
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    declared_name,
    indices_in,
    map_expr,
    names_in,
    subexpressions,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import BOOL, INT64
from transpile.options import Options
from transpile.schedule.cleanup.ranges.settled_comparisons import settle_comparisons
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, same

Body = tuple[Statement, ...]
_FAR = 2**40  # larger trip counts and extents have no versions
_STEEPEST = 2**16  # a multiple of the counter that does not wrap around in so many iterations
_UNKNOWN = -(2**63)
_SHORTEST = 2  # iterations of a loop that has versions


@contract(destroys=(SUBEXPRESSIONS_SHARED, NO_DEAD_SCALARS))
def version_ranges(program: Program, options: Options) -> Program:
    """The program with versions of its loops without clamps."""
    names = Names(names_in(program))
    most = options.machine.most_versioned_statements
    kernels = tuple(_Versions(names, most).kernel(kernel) for kernel in program.kernels)
    after = changed(program, kernels=same(program.kernels, kernels))
    return program if after is program else settle_comparisons(after, options)


@dataclass(frozen=True)
class _Clamp:
    """A subscript that is clamped.

    inner  the integer
    least  what the clamped value is at least; 0 if it is not clamped from below
    most   what it is at most: the least of these
    """

    inner: Expr
    least: int
    most: tuple[Index, ...]


@dataclass(frozen=True)
class _Line:
    """An integer that a loop steps through.

    first, last  its values in the first and in the last iteration
    slope        the difference between one iteration and the next one
    """

    first: Expr
    last: Expr
    slope: int | Expr


class _Versions:
    """Makes versions of loops."""

    def __init__(self, names: Names, most: int) -> None:
        self._names = names
        self._most = most

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel with its loops in versions."""
        return changed(kernel, body=self._body(kernel.body))

    def _body(self, body: Body) -> Body:
        result: list[Statement] = []
        for statement in body:
            if _is_innermost(statement):
                result += self._versions(statement)
            else:
                result.append(with_bodies(statement, self._body))
        return same(body, tuple(result))

    def _versions(self, loop: For) -> Body:
        """The loop, or the test and two loops."""
        trips = bounds(loop.extent)[1]
        is_short = trips is not None and trips <= _SHORTEST
        is_long = sum(1 for _ in walk(loop.body)) > self._most
        if is_short or is_long or loop.limit is not None:
            return (loop,)
        lines = _Lines(loop)
        clamps = {
            statement: clamp
            for statement in walk(loop.body)
            if isinstance(statement, Declare) and (clamp := lines.clamped(statement.value))
        }
        known: dict[Expr, _Line] = {}
        for inner in {c.inner: None for s, c in clamps.items() if s.symbol is not None}:
            line = lines.line(inner)
            if line is not None:
                known[inner] = line
        if all(line.slope == 0 for line in known.values()):
            return (loop,)
        clamps = {s: c for s, c in clamps.items() if c.inner in known}
        return self._tested(loop, clamps, known, lines)

    def _tested(
        self,
        loop: For,
        clamps: Mapping[Declare, _Clamp],
        known: Mapping[Expr, _Line],
        lines: _Lines,
    ) -> Body:
        """Both versions, given the lines of what is clamped."""
        declared: list[Declare] = []
        tests: list[Expr] = []
        places: dict[Expr, Index] = {}

        def symbol_of(word: str, value: Expr) -> Symbol:
            symbol = Symbol(self._names.new(word), _UNKNOWN)
            declared.append(Declare(symbol.name, value, symbol=symbol))
            return symbol

        for inner, line in known.items():
            symbol, slope = symbol_of("first", line.first), line.slope
            multiple: Index = slope if isinstance(slope, int) else 0
            low, high = _range_of([c for c in clamps.values() if c.inner == inner])
            first = Ref(symbol.name, INT64)
            for end in (first,) if slope == 0 else (first, line.last):
                tests.append(_compared("greater_equal", end, low))
                tests += [_compared("less_equal", end, most) for most in high]
            if not isinstance(slope, int):
                stride = symbol_of("stride", slope)
                tests += _are_near(Ref(stride.name, INT64), _STEEPEST)
                multiple = Dim.of(stride)
            places[inner] = Dim.of(symbol) + (Dim.of(loop.symbol) - loop.start) * multiple
        for bound in (loop.start, loop.stop):
            if not _is_near(bound):
                tests += _are_near(IndexValue(bound), _FAR)
        test = reduce(lambda x, y: Apply("logical_and", (x, y), BOOL), tests)
        inside = Declare(self._names.new("is_inside"), test)
        fast = _Unclamped({s: (places[c.inner], c.inner) for s, c in clamps.items()}, lines)
        fast_loop = changed(loop, body=fast.body(loop.body))
        return (*declared, inside, If(Ref(inside.name, BOOL), (fast_loop,), (loop,)))


def _is_near(index: Index) -> bool:
    low, high = bounds(index)
    return low is not None and low >= -_FAR and high is not None and high <= _FAR


def _are_near(x: Expr, most: int) -> list[Expr]:
    return [_compared("greater_equal", x, -most), _compared("less_equal", x, most)]


def _is_innermost(statement: Statement) -> TypeGuard[For]:
    """True for a loop of the user's without another one inside."""
    return (
        isinstance(statement, For)
        and statement.ordered
        and not any(isinstance(s, For | While) for s in walk(statement.body))
    )


def _compared(op: str, x: Expr, y: Index) -> Expr:
    other = Literal(np.int64(y), INT64) if isinstance(y, int) else IndexValue(y)
    return Apply(op, (x, other), BOOL)


def _range_of(clamps: list[_Clamp]) -> tuple[int, list[Index]]:
    """The range in which none of the clamps of an integer does anything, by its upper ends."""
    known = dict.fromkeys(most for clamp in clamps for most in clamp.most)
    numbers = [_FAR, *(most for most in known if isinstance(most, int))]
    others = [most for most in known if not isinstance(most, int)]
    return max(c.least for c in clamps), [min(numbers), *others]


class _Unclamped:
    """Rewrites statements for subscripts that are in range.

    places  of what declares one: where it is, and the integer that it was made of
    """

    def __init__(self, places: Mapping[Declare, tuple[Index, Expr]], lines: _Lines) -> None:
        self._places = places
        self._lines = lines
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
            return changed(statement, value=IndexValue(place))
        if isinstance(statement, If) and self._is_known(statement.condition):
            statement = changed(statement, condition=Literal(np.bool_(True), BOOL))
        return with_bodies(statement, self.body)

    def _is_known(self, condition: Expr) -> bool:
        """True for the test that a subscript is the integer that was clamped."""
        match condition:
            case Apply(op="equal", args=(subscript, x)) if subscript in self._integers:
                own = self._integers.get(x) or self._lines.expanded(x)
                return own == self._integers[subscript]
        return False


def _sum(x: Expr, y: Expr) -> Expr:
    for one, other in ((x, y), (y, x)):
        if other in (Literal(np.int64(0), INT64), IndexValue(0)):
            return one
    return Apply("add", (x, y), INT64)


def _product(x: Expr, factor: int) -> Expr:
    if isinstance(x, Literal):
        return Literal(np.int64(int(x.value) * factor), INT64)
    return x if factor == 1 else Apply("multiply", (x, Literal(np.int64(factor), INT64)), INT64)


def _total(index: Index, own: Symbol, counter: Expr) -> Expr:
    """A sum of symbols, one of which is a counter, in arithmetic that wraps around."""
    total: Expr = Literal(np.int64(0), INT64)
    for monomial, factor in terms_of(index):
        part: Expr = Literal(np.int64(factor), INT64)
        if monomial:
            (symbol,) = monomial
            value = counter if symbol == own else IndexValue(Dim(((monomial, 1),)))
            part = _product(value, factor)
        total = _sum(total, part)
    return total


class _Lines:
    """Which integers a loop steps through."""

    def __init__(self, loop: For) -> None:
        inside = list(walk(loop.body))
        counts = Counter(filter(None, map(declared_name, inside)))
        self._loop = loop
        self._values = {
            s.name: s.value
            for s in inside
            if isinstance(s, Declare) and s.constant and counts[s.name] == 1
        }
        updated = {
            s.target.name for s in inside if isinstance(s, Update) and isinstance(s.target, Ref)
        }
        stored = {name for s in inside for name in written(s)}
        self._varying = counts.keys() | updated | stored

    def clamped(self, value: Expr) -> _Clamp | None:
        """The clamps around an integer, of which there is one at least."""
        least = 0
        most: list[Index] = []
        outer = value
        while True:
            match value:
                case Ref(name=name) if value is not outer and name in self._values:
                    if self.clamped(self._values[name]) is None:
                        break
                    value = self._values[name]
                case Apply(args=(x, Literal(value=bound))) if value.primitive.chooses == -1:
                    most.append(int(bound))
                    value = x
                case Apply(args=(x, IndexValue(index=end))) if (
                    value.primitive.chooses == -1 and self._is_known_before(IndexValue(end))
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
        return _Clamp(self.expanded(value), least, tuple(most))

    def _counts_from_the_end(self, test: Expr, then: Expr, otherwise: Expr) -> bool:
        """True for the choice of `x + n` where x is negative, and else x."""
        if isinstance(test, Ref):
            test = self._values.get(test.name, test)
        match test, then:
            case Apply(op="less", args=(x, Literal(value=0))), Apply(op="add", args=(moved, _)):
                return x == moved == otherwise
        return False

    def expanded(self, value: Expr) -> Expr:
        """The integer, in scalars that are declared before the loop."""

        def one(expr: Expr) -> Expr:
            known = self._values.get(expr.name) if isinstance(expr, Ref) else None
            return expr if known is None else self.expanded(known)

        return map_expr(value, one)

    def line(self, value: Expr) -> _Line | None:
        """The line that an integer is on, if it is on one."""
        slope = self._slope(value)
        is_steep = isinstance(slope, int) and abs(slope) > _STEEPEST
        if slope is None or is_steep or not self._is_known_before(value):
            return None
        last = _sum(IndexValue(self._loop.stop), Literal(np.int64(-1), INT64))
        start = self._loop.start
        first = Literal(np.int64(start), INT64) if isinstance(start, int) else IndexValue(start)
        if not isinstance(slope, int):
            slope = self._at(slope, first)
        return _Line(self._at(value, first), self._at(value, last), slope)

    def _at(self, value: Expr, counter: Expr) -> Expr:
        """An integer in the iteration of a counter. Outside of the loop a subscript may overflow,
        so that its arithmetic is that which wraps around."""
        own = self._loop.symbol

        def one(expr: Expr) -> Expr:
            match expr:
                case IndexValue(index=index) if self._slope_of_index(index) is not None:
                    return _total(index, own, counter)
                case Apply(op="add", args=(x, y)):
                    return _sum(x, y)
            return expr

        return map_expr(value, one)

    def _is_known_before(self, value: Expr) -> bool:
        """True if nothing that the integer is made of changes in the loop, but for the counter."""
        for part in subexpressions(value):
            match part:
                case Load(buffer=name, index=()) | Ref(name=name):
                    if name in self._varying:
                        return False
                case Load():
                    return False
        return all(
            symbol.name not in self._varying
            for index in indices_in(value)
            for symbol in symbols_of(index)
        )

    def _slope(self, value: Expr) -> int | Expr | None:
        """The multiple of the counter in a sum; None if it is no such sum."""
        match value:
            case IndexValue(index=index):
                return self._slope_of_index(index)
            case Apply(op="add", args=(x, y)):
                one, other = self._slope(x), self._slope(y)
                if isinstance(one, int) and isinstance(other, int):
                    return one + other
                return one if other == 0 else other if one == 0 else None
            case Apply(op="subtract", args=(x, y)):
                one, other = self._slope(x), self._slope(y)
                if isinstance(one, int) and isinstance(other, int):
                    return one - other
                return one if other == 0 else None
            case Apply(op="negative", args=(x,)):
                inner = self._slope(x)
                return -inner if isinstance(inner, int) else None
            case Apply(op="multiply", args=(x, y)):
                return self._slope_of_product(x, y)
        own = self._loop.symbol
        if any(own in symbols_of(index) for index in indices_in(value)):
            return None
        return 0

    def _slope_of_product(self, x: Expr, y: Expr) -> int | Expr | None:
        for moving, factor in ((x, y), (y, x)):
            slope = self._slope(moving)
            if isinstance(slope, int) and self._slope(factor) == 0:
                if isinstance(factor, Literal):
                    return slope * int(factor.value)
                return 0 if slope == 0 else _product(factor, slope)
        return None

    def _slope_of_index(self, index: Index) -> int | None:
        terms = dict(terms_of(index))
        is_sum = all(len(m) <= 1 and all(isinstance(a, Symbol) for a in m) for m in terms)
        return terms.get((self._loop.symbol,), 0) if is_sum else None
