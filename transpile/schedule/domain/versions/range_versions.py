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

from collections.abc import Mapping
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
    Program,
    Ref,
    Statement,
    While,
)
from transpile.ir.loop_rewrite import (
    indices_in,
    map_expr,
    names_in,
    walk,
    with_bodies,
)
from transpile.ir.types import BOOL, INT64
from transpile.options import Options
from transpile.schedule.cleanup.ranges.settled_comparisons import settle_comparisons
from transpile.schedule.domain.versions.clamped_subscripts import (
    Clamp,
    Constants,
    Unclamped,
    all_of,
    compared,
)
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
        clamps: Mapping[Declare, Clamp],
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
                tests.append(compared("greater_equal", end, low))
                tests += [compared("less_equal", end, most) for most in high]
            if not isinstance(slope, int):
                stride = symbol_of("stride", slope)
                tests += _are_near(Ref(stride.name, INT64), _STEEPEST)
                multiple = Dim.of(stride)
            places[inner] = Dim.of(symbol) + (Dim.of(loop.symbol) - loop.start) * multiple
        for bound in (loop.start, loop.stop):
            if not _is_near(bound):
                tests += _are_near(IndexValue(bound), _FAR)
        test = all_of(tests)
        inside = Declare(self._names.new("is_inside"), test)
        fast = Unclamped(
            {s: (IndexValue(places[c.inner]), c.inner) for s, c in clamps.items()}, lines
        )
        fast_loop = changed(loop, body=fast.body(loop.body))
        return (*declared, inside, If(Ref(inside.name, BOOL), (fast_loop,), (loop,)))


def _is_near(index: Index) -> bool:
    low, high = bounds(index)
    return low is not None and low >= -_FAR and high is not None and high <= _FAR


def _are_near(x: Expr, most: int) -> list[Expr]:
    return [compared("greater_equal", x, -most), compared("less_equal", x, most)]


def _is_innermost(statement: Statement) -> TypeGuard[For]:
    """True for a loop of the user's without another one inside."""
    return (
        isinstance(statement, For)
        and statement.ordered
        and not any(isinstance(s, For | While) for s in walk(statement.body))
    )


def _range_of(clamps: list[Clamp]) -> tuple[int, list[Index]]:
    """The range in which none of the clamps of an integer does anything, by its upper ends."""
    known = dict.fromkeys(most for clamp in clamps for most in clamp.most)
    numbers = [_FAR, *(most for most in known if isinstance(most, int))]
    others = [most for most in known if not isinstance(most, int)]
    return max(c.least for c in clamps), [min(numbers), *others]


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


class _Lines(Constants):
    """Which integers a loop steps through."""

    def __init__(self, loop: For) -> None:
        super().__init__(loop.body)
        self._loop = loop

    def line(self, value: Expr) -> _Line | None:
        """The line that an integer is on, if it is on one."""
        slope = self._slope(value)
        is_steep = isinstance(slope, int) and abs(slope) > _STEEPEST
        if slope is None or is_steep or not self.is_known_before(value):
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
