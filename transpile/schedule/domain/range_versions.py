"""Multiversioning: one test before a loop for subscripts that it would clamp in each iteration.

    for j in range(n):                              first = k;  last = k + n - 1
        x[clamped(k + j)] += 1          ->          if 0 <= first < m and 0 <= last < m:
                                                        for j in range(n): x[first + j] += 1
                                                    else: the loop as it was

A subscript that is a constant multiple of the counter, plus what is the same in all iterations, is
in range where those of the first and the last iteration are. The arithmetic of Python's integers
wraps around; but where both ends are in range, and the trip count is small, nothing in between
does. The innermost loops of users have versions; where ranges say that a subscript is in range
(`settle_comparisons`), no test is needed, and then the loop that follows has only what is left.
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
from transpile.schedule.cleanup.settled_comparisons import settle_comparisons
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
    least  what the clamped value is at least, if it is clamped from below
    most   what it is at most
    """

    inner: Expr
    least: int | None
    most: int | None


@dataclass(frozen=True)
class _Line:
    """An integer that a loop steps through.

    first, last  its values in the first and in the last iteration
    slope        the difference between one iteration and the next one
    """

    first: Expr
    last: Expr
    slope: int


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
        start, trips = loop.start, bounds(loop.extent)[1]
        is_short = trips is not None and trips <= _SHORTEST
        is_long = sum(1 for _ in walk(loop.body)) > self._most
        if is_short or is_long or loop.limit is not None or not _is_near(start):
            return (loop,)
        lines = _Lines(loop, start)
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
        if not any(line.slope for line in known.values()):
            return (loop,)
        return self._tested(loop, {s: c for s, c in clamps.items() if c.inner in known}, known)

    def _tested(
        self, loop: For, clamps: Mapping[Declare, _Clamp], known: Mapping[Expr, _Line]
    ) -> Body:
        """Both versions, given the lines of what is clamped."""
        declared: list[Declare] = []
        tests: list[Expr] = []
        places: dict[Expr, Index] = {}
        for inner, line in known.items():
            symbol = Symbol(self._names.new("first"), _UNKNOWN)
            declared.append(Declare(symbol.name, line.first, symbol=symbol))
            low, high = _range_of([c for c in clamps.values() if c.inner == inner])
            first = Ref(symbol.name, INT64)
            for end in (first, line.last) if line.slope else (first,):
                tests.append(_compared("greater_equal", end, low))
                tests.append(_compared("less_equal", end, high))
            places[inner] = Dim.of(symbol) + (Dim.of(loop.symbol) - loop.start) * line.slope
        most = bounds(loop.stop)[1]
        if most is None or most > _FAR:
            tests.append(_compared("less_equal", IndexValue(loop.stop), _FAR))
        test = reduce(lambda x, y: Apply("logical_and", (x, y), BOOL), tests)
        inside = Declare(self._names.new("is_inside"), test)
        fast = _unclamped(loop.body, {s: places[c.inner] for s, c in clamps.items()})
        fast_loop = changed(loop, body=fast)
        return (*declared, inside, If(Ref(inside.name, BOOL), (fast_loop,), (loop,)))


def _is_near(start: Index) -> TypeGuard[int]:
    return isinstance(start, int) and abs(start) <= _FAR


def _is_innermost(statement: Statement) -> TypeGuard[For]:
    """True for a loop of the user's without another one inside."""
    return (
        isinstance(statement, For)
        and statement.ordered
        and not any(isinstance(s, For | While) for s in walk(statement.body))
    )


def _compared(op: str, x: Expr, y: int) -> Expr:
    return Apply(op, (x, Literal(np.int64(y), INT64)), BOOL)


def _range_of(clamps: list[_Clamp]) -> tuple[int, int]:
    """The range in which none of the clamps of an integer does anything."""
    least = [c.least for c in clamps if c.least is not None]
    most = [c.most for c in clamps if c.most is not None]
    return max([0, *least]), min([_FAR, *most])


def _unclamped(body: Body, places: Mapping[Declare, Index]) -> Body:
    def one(statement: Statement) -> Statement:
        if isinstance(statement, Declare) and statement in places:
            return changed(statement, value=IndexValue(places[statement]))
        return with_bodies(statement, lambda inner: _unclamped(inner, places))

    return same(body, tuple(map(one, body)))


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

    def __init__(self, loop: For, start: int) -> None:
        inside = list(walk(loop.body))
        counts = Counter(filter(None, map(declared_name, inside)))
        self._loop = loop
        self._start = start
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
        least: int | None = None
        most: int | None = None
        outer = value
        while True:
            match value:
                case Ref(name=name) if value is not outer and name in self._values:
                    if self.clamped(self._values[name]) is None:
                        break
                    value = self._values[name]
                case Apply(args=(x, Literal(value=bound))) if value.primitive.chooses == -1:
                    most = int(bound) if most is None else min(most, int(bound))
                    value = x
                case Apply(args=(x, Literal(value=bound))) if value.primitive.chooses == 1:
                    least = int(bound) if least is None else max(least, int(bound))
                    value = x
                case Apply(
                    op="select",
                    args=(
                        Apply(op="less", args=(tested, Literal(value=0))),
                        Apply(op="add", args=(moved, _)),
                        x,
                    ),
                ) if tested == moved == x:
                    least = max(0, least or 0)
                    value = x
                case _:
                    break
        if (least is None and most is None) or value.dtype != INT64:
            return None
        return _Clamp(self._expanded(value), least, most)

    def _expanded(self, value: Expr) -> Expr:
        """The integer, in scalars that are declared before the loop."""

        def one(expr: Expr) -> Expr:
            known = self._values.get(expr.name) if isinstance(expr, Ref) else None
            return expr if known is None else self._expanded(known)

        return map_expr(value, one)

    def line(self, value: Expr) -> _Line | None:
        """The line that an integer is on, if it is on one."""
        slope = self._slope(value)
        if slope is None or abs(slope) > _STEEPEST or not self._is_known_before(value):
            return None
        last = _sum(IndexValue(self._loop.stop), Literal(np.int64(-1), INT64))
        first = Literal(np.int64(self._start), INT64)
        return _Line(self._at(value, first), self._at(value, last), slope)

    def _at(self, value: Expr, counter: Expr) -> Expr:
        """An integer in the iteration of a counter. Outside of the loop a subscript may overflow,
        so that its arithmetic is that which wraps around."""
        own = self._loop.symbol

        def one(expr: Expr) -> Expr:
            match expr:
                case IndexValue(index=index):
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

    def _slope(self, value: Expr) -> int | None:
        """The multiple of the counter in a sum; None if it is no such sum."""
        match value:
            case IndexValue(index=index):
                return self._slope_of_index(index)
            case Apply(op="add", args=(x, y)):
                one, other = self._slope(x), self._slope(y)
                return None if one is None or other is None else one + other
            case Apply(op="subtract", args=(x, y)):
                one, other = self._slope(x), self._slope(y)
                return None if one is None or other is None else one - other
            case Apply(op="negative", args=(x,)):
                one = self._slope(x)
                return None if one is None else -one
            case Apply(op="multiply", args=(x, Literal(value=factor))):
                one = self._slope(x)
                return None if one is None else one * int(factor)
        own = self._loop.symbol
        if any(own in symbols_of(index) for index in indices_in(value)):
            return None
        return 0

    def _slope_of_index(self, index: Index) -> int | None:
        terms = dict(terms_of(index))
        is_sum = all(len(m) <= 1 and all(isinstance(a, Symbol) for a in m) for m in terms)
        return terms.get((self._loop.symbol,), 0) if is_sum else None
