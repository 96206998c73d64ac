"""Multiversioning: one test before a nest of loops that count to a number that nobody knows.

    for i in range(n):                          if n <= 300:
      for j in range(n):                          for i in range(n):
        y[clamped(i)] += x[clamped(j)]    ->        for j in range(n): y[i] += x[j]
                                                else: the nest as it was

An argument, or a number that was computed, says how far loops go; arrays have their own extents,
and so each subscript is clamped. Where the number is known to be as small as the arrays are, no
subscript is: dependence tests, lanes and threads then see the loops that they see where the number
is an array's length. `range_versions` does so for innermost loops, by their first and last
subscripts.

A bound is what the loop of a counter ends at, and stays the same in the nest. What it is compared
with follows from the greatest subscript that is made of the counter: c*(n - 1) + r < m.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeGuard

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_DEAD_SCALARS, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Dim, Index, Symbol, bounds, substitute, symbols_of, terms_of
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
    map_statement,
    names_in,
    parts,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import INT64
from transpile.options import Options
from transpile.schedule.cleanup.ranges.settled_comparisons import settle_branches
from transpile.schedule.domain.versions.clamped_subscripts import (
    all_of,
    compared,
    is_users,
    longest_nest,
)
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import cached_property, changed, dataclass, same

Body = tuple[Statement, ...]
_UNKNOWN = -(2**63)
_FAR = 2**40  # numbers that may be larger have no bound
_FEWEST = 3  # iterations of which a version is made
_STEEPEST = 2**16  # a multiple of a counter


@contract(destroys=(SUBEXPRESSIONS_SHARED, NO_DEAD_SCALARS))
def version_bounds(program: Program, options: Options) -> Program:
    """The program with versions of its nests for bounds that stay inside the arrays."""
    versions = _Versions(Names(names_in(program)), longest_nest(options.machine))
    kernels = tuple(versions.kernel(kernel) for kernel in program.kernels)
    after = changed(program, kernels=same(program.kernels, kernels))
    if after is program:
        return program
    settled = settle_branches(after)
    kept = tuple(
        new if _is_better(new, versions.tests) else old
        for old, new in zip(program.kernels, settled.kernels, strict=True)
    )
    return changed(program, kernels=same(program.kernels, kept))


def _is_better(kernel: Kernel, tests: set[Expr]) -> bool:
    """True if each version of a kernel has fewer clamps than the nest as it was."""
    arms = [s for s in walk(kernel.body) if isinstance(s, If) and s.condition in tests]
    return all(_clamps(s.body) < _clamps(s.orelse) for s in arms)


def _clamps(body: Body) -> int:
    return sum(_is_clamp(part) for s in walk(body) for part in parts(s))


def _is_clamp(part: Expr) -> TypeGuard[Apply]:
    return isinstance(part, Apply) and part.dtype == INT64 and part.primitive.chooses == -1


class _Versions:
    """Makes versions of nests; `tests` are what they ask."""

    def __init__(self, names: Names, most: int) -> None:
        self.tests: set[Expr] = set()
        self._names = names
        self._most = most

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel with its nests in versions."""
        return changed(kernel, body=self._body(kernel.body, {}))

    def _body(self, body: Body, around: Mapping[str, Declare]) -> Body:
        known = dict(around)
        result: list[Statement] = []
        for statement in body:
            if isinstance(statement, Declare) and statement.symbol is not None:
                known[statement.name] = statement
            if is_users(statement):
                result.append(self._version(statement, known))
            else:
                result.append(with_bodies(statement, lambda b: self._body(b, known)))
        return same(body, tuple(result))

    def _version(self, loop: For | While, known: Mapping[str, Declare]) -> Statement:
        """The loop, the branch with both versions, or the loop with versions of what is inside."""
        inside = tuple(walk((loop,)))
        ends = _Ends(inside, known).ends() if len(inside) <= self._most else {}
        if not ends:
            return with_bodies(loop, lambda b: self._body(b, known))
        tests = [compared("less_equal", key, most) for key, (_, most) in ends.items()]
        test = all_of(tests)
        self.tests.add(test)
        declared: list[Statement] = []
        fast: Statement = loop
        for key, (symbols, most) in ends.items():
            least, value = _UNKNOWN, key
            if _ends_at(loop, symbols):  # inside it the number is positive
                least, value = 0, Apply("maximum", (key, Literal(np.int64(0), INT64)), INT64)
            own = Symbol(self._names.new("count"), least, most + 1)
            declared.append(Declare(own.name, value, symbol=own))
            fast = _with_symbol(fast, symbols, key, own)
        return If(test, (*declared, fast), (loop,))


def _ends_at(loop: For | While, symbols: set[Symbol]) -> bool:
    """True for a loop from a natural number to one of these symbols."""
    if not isinstance(loop, For) or all(Dim.of(s) != loop.stop for s in symbols):
        return False
    least = bounds(loop.start)[0]
    return least is not None and least >= 0


def _with_symbol(statement: Statement, symbols: set[Symbol], key: Expr, own: Symbol) -> Statement:
    """The statement with the symbol of a version in the place of what is the same number."""
    value = IndexValue(Dim.of(own))
    values: dict[Symbol, Index] = dict.fromkeys(symbols, value.index)
    return map_statement(
        statement, lambda e: value if e == key else e, lambda i: substitute(i, values)
    )


@dataclass(frozen=True)
class _Ends:
    """What the loops of a nest end at.

    inside  the statements of the nest
    known   the numbers that are declared before it and subscripts may read, by name
    """

    inside: Body
    known: Mapping[str, Declare]

    def ends(self) -> dict[Expr, tuple[set[Symbol], Index]]:
        """For each number that loops end at: the symbols that are this number, and the greatest for
        which all subscripts are in range."""
        roots = self._roots()
        most: dict[Expr, Index] = {}
        for key, index in (*self._ends_of_counters(roots), *self._ends_of_conditions()):
            least = _least(most.get(key, index), index)
            if least is None:
                return {}
            most[key] = least
        is_enough = all(not isinstance(m, int) or m >= _FEWEST for m in most.values())
        ends = {k: ({s for s, root in roots.items() if root == k}, m) for k, m in most.items()}
        return ends if is_enough else {}

    def _roots(self) -> dict[Symbol, Expr]:
        """What the symbols are that have one value in the nest, without other names of it."""
        own = [s for s in self.inside if isinstance(s, Declare) and s.symbol is not None]
        counts = Counter(filter(None, map(declared_name, self.inside)))
        roots: dict[Symbol, Expr] = {}
        for declare in (*self.known.values(), *own):
            if declare.symbol is None or not declare.constant:
                continue
            is_own = declare.name not in self.known
            value: Expr = declare.value
            if isinstance(value, IndexValue) and isinstance(value.index, Dim):
                value = next((roots[s] for s in roots if Dim.of(s) == value.index), value)
            is_same = self._is_same(value)
            if not is_same and not is_own and counts[declare.name] == 0:
                value = IndexValue(Dim.of(declare.symbol))
                is_same = True
            if is_same and counts[declare.name] <= is_own and _is_unbounded(declare.symbol):
                roots[declare.symbol] = value
        return roots

    def _is_same(self, value: Expr) -> bool:
        """True for a number that is read from where the nest does not change it."""
        if isinstance(value, Load):
            return value.index == () and all(value.buffer not in written(s) for s in self.inside)
        if isinstance(value, IndexValue):
            return all(s.name in self.known for s in symbols_of(value.index))
        own = {declared_name(s) for s in self.inside}
        own |= {ref.name for s in self.inside if (ref := _set_scalar(s)) is not None}
        return isinstance(value, Ref) and value.name not in own

    def _ends_of_counters(self, roots: Mapping[Symbol, Expr]) -> Iterator[tuple[Expr, Index]]:
        """What the numbers may be at most, by subscripts that are made of counters of loops."""
        loops = [s for s in reversed(self.inside) if isinstance(s, For)]
        for end, most in self._clamped():
            for loop in loops:
                end = _at_its_end(end, loop)
            found = [s for s in symbols_of(end) if s in roots]
            if len(found) == 1:
                for last in _most_for(end, found[0], most):
                    yield roots[found[0]], last

    def _ends_of_conditions(self) -> Iterator[tuple[Expr, Index]]:
        """The same by conditions of loops that count themselves."""
        counters: dict[Symbol, list[tuple[Expr, int]]] = {}
        for part in (p for s in self.inside if isinstance(s, While) for p in parts(s)):
            for name, end, beyond in _compared(part):
                if not isinstance(end, Literal) and self._is_same(end):
                    counters.setdefault(Symbol(name, _UNKNOWN), []).append((end, beyond))
        for index, most in self._clamped():
            for counter in counters.keys() & symbols_of(index):
                for last in _most_for(index, counter, most):
                    yield from ((end, last + beyond) for end, beyond in counters[counter])

    def _clamped(self) -> Iterator[tuple[Index, Index]]:
        """The integers that are clamped, as they are without clamps, and what they may be at
        most."""
        for part in (p for s in self.inside for p in parts(s) if _is_clamp(p)):
            index = self._index_of(part.args[0])
            match part.args[1]:
                case Literal(value=most) if index is not None:
                    yield index, int(most)
                case IndexValue(index=end) if index is not None:
                    yield index, end
                case _:
                    pass

    def _index_of(self, value: Expr) -> Index | None:
        """An integer as a polynomial of counters, as if its arithmetic did not wrap around."""
        match value:
            case IndexValue(index=index):
                return index
            case Literal(value=number):
                return int(number)
            case Ref(name=name):
                known = self._values.get(name)
                return Dim.symbol(name, _UNKNOWN) if known is None else self._index_of(known)
            case Apply(op="select", args=(_, _, x)):  # where it does not count from the end
                return self._index_of(x)
            case Apply(args=(x, Literal())) if value.primitive.chooses == 1:
                return self._index_of(x)
            case Apply(args=(x, y)):
                one, other = self._index_of(x), self._index_of(y)
                if one is None or other is None:
                    return None
                if value.op == "add":
                    return one + other
                if value.op == "subtract":
                    return one - other
                if value.op == "multiply":
                    return one * other
        return None

    @cached_property
    def _values(self) -> Mapping[str, Expr]:
        """The constants that the nest declares, each once."""
        counts = Counter(filter(None, map(declared_name, self.inside)))
        return {
            s.name: s.value
            for s in self.inside
            if isinstance(s, Declare) and s.constant and counts[s.name] == 1
        }


def _compared(part: Expr) -> Iterator[tuple[str, Expr, int]]:
    """The scalar that a comparison says is below a number, or at most as large; what the number may
    be beyond it."""
    match part:
        case Apply(args=(x, y)) if part.primitive.signs and y.dtype == INT64:
            for counter, end, way in ((x, y, -1), (y, x, 1)):
                signs = {way * sign for sign in part.primitive.signs}
                if isinstance(counter, Ref) and 1 in signs and -1 not in signs:
                    yield counter.name, end, int(0 not in signs)


def _is_unbounded(symbol: Symbol) -> bool:
    return symbol.extent is None or (isinstance(symbol.extent, int) and symbol.extent > _FAR)


def _set_scalar(statement: Statement) -> Ref | None:
    """The scalar that a statement assigns to."""
    if isinstance(statement, Update) and isinstance(statement.target, Ref):
        return statement.target
    return None


def _least(one: Index, other: Index) -> Index | None:
    """The lesser of two, where it is known."""
    low, high = bounds(one - other)
    if low is not None and low >= 0:
        return other
    return one if high is not None and high <= 0 else None


def _slope(index: Index, symbol: Symbol) -> int:
    """The c of c*s + r, where r has no s; 0 for others."""
    terms = terms_of(index)
    is_sum = all(m == (symbol,) for m, _ in terms if symbol in symbols_of(Dim(((m, 1),))))
    return dict(terms).get((symbol,), 0) if is_sum else 0


def _at_its_end(index: Index, loop: For) -> Index:
    """The greatest value of a subscript in the iterations of a loop."""
    slope = _slope(index, loop.symbol)
    if slope == 0:
        return index
    return substitute(index, {loop.symbol: loop.stop - 1 if slope > 0 else loop.start})


def _most_for(index: Index, counter: Symbol, most: Index) -> Iterator[Index]:
    """The greatest value of a counter for which a multiple of it, plus what has no counter, is in
    range, if there is one."""
    slope = _slope(index, counter)
    if 0 < slope <= _STEEPEST:
        room = most - substitute(index, {counter: 0})
        if slope == 1 or isinstance(room, int):
            yield room // slope
