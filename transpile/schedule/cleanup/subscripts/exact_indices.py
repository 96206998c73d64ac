"""Integers that are sums of loop indices become subscripts.

    t = add(i, 1);  at = add(t, j)          ->      x[i + j + 1]
    x[at]

Arithmetic of Python's integers wraps around in int64, where that of subscripts never does. Where
ranges and relations (`transpile.analysis.integer_ranges`) say that it does not either, subscripts
are the polynomials that they are: later passes see which elements are distinct, and C has what a
programmer would write. A constant that such a polynomial needs becomes a symbol.

That iterations of a loop write different elements is told by the loop's index in their subscripts
(`is_independent`). Where it is not so, as in `x[i + j] += y[j]`, the subscript stays a scalar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from transpile.analysis.integer_ranges import Facts
from transpile.analysis.linear_facts import CONSTANT, Linear, scalars_of
from transpile.ir.calls import Call
from transpile.ir.dims import (
    Dim,
    Index,
    Shape,
    Symbol,
    bounds,
    floor_divide,
    modulo,
    substitute,
    symbols_of,
    terms_of,
)
from transpile.ir.indices.estimates import greatest
from transpile.ir.indices.values import of_indices
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
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    children,
    declared_name,
    map_expr,
    map_indices,
    map_statement,
    walk,
)
from transpile.ir.types import INT64
from transpile.primitives.elementwise import arithmetic as primitives
from transpile.primitives.elementwise import bits
from transpile.util.frozen_records import changed, memoized, same

Body = tuple[Statement, ...]
_MOST_TERMS = 4  # of a polynomial that is written wherever it is read
_LEAST, _LARGEST = -(2**63), 2**31  # what is outside is no bound
_SHIFTS = range(_LARGEST.bit_length())
# An operation by a constant -> the division of numbers that are not negative, and the divisor; 0
# for none. Powers of two are masks and shifts.
_DIVISIONS: Mapping[str, Callable[[int], tuple[Callable[[Index, Index], Index], int]]] = {
    primitives.floor_divide.name: lambda n: (floor_divide, n),
    primitives.remainder.name: lambda n: (modulo, n),
    bits.right_shift.name: lambda n: (floor_divide, 1 << n if n in _SHIFTS else 0),
    bits.bitwise_and.name: lambda n: (modulo, n + 1 if n > 0 and n & (n + 1) == 0 else 0),
}


class ExactIndices:
    """Which scalars of a kernel are symbols, or may become some, while its statements are visited
    in order. A scalar whose name is declared twice stands for nothing.

    names_symbols  whether a constant scalar may become a symbol
    """

    def __init__(self, body: Body, sizes: Iterable[Symbol], names_symbols: bool = True) -> None:
        counts = Counter(name for statement in body for name in _names(statement))
        self._unique = frozenset(name for name, count in counts.items() if count == 1)
        self._symbols = {size.name: size for size in sizes if size.name not in counts}
        self._sizes = frozenset(self._symbols)
        self._names_symbols = names_symbols
        self._constants: dict[str, Symbol] = {}
        self._quotients: dict[str, Index] = {}  # that constants are
        self._needed: set[str] = set()
        self._innermost: Symbol | None = None  # the index of the innermost loop around

    def bound_sizes(self, facts: Facts) -> None:
        """Note the ranges of the runtime sizes, which an entry checks: sums of a few do not wrap
        around."""
        for symbol in self._symbols.values():
            most = greatest(Dim.of(symbol))
            if most is not None:
                facts.bound(symbol.name, (symbol.lower, most))

    @contextmanager
    def loop(self, loop: For) -> Iterator[None]:
        """Where the body of a loop is visited."""
        symbol, outer = loop.symbol, self._innermost
        around = self._symbols.get(symbol.name)
        self._symbols[symbol.name] = symbol
        is_innermost = not any(isinstance(s, For | While) for s in walk(loop.body))
        self._innermost = symbol if is_innermost else None
        yield
        self._innermost = outer
        del self._symbols[symbol.name]
        if around is not None:
            self._symbols[symbol.name] = around

    def declare(self, statement: Declare, facts: Facts) -> None:
        """A scalar has been declared, of which there are facts. What an earlier visit knew of it,
        with the facts of fewer iterations, is known no more."""
        if statement.name not in self._unique:
            return
        self._constants.pop(statement.name, None)
        self._quotients.pop(statement.name, None)
        if statement.symbol is not None:
            self._symbols[statement.name] = statement.symbol
        elif statement.constant and statement.dtype == INT64:
            quotient = self.division_of(statement.value, facts)
            if quotient is not None:
                self._quotients[statement.name] = quotient
            low, high = facts.range_of(Ref(statement.name, INT64))
            extent = high + 1 if high < _LARGEST else None
            if extent is not None or self._names_symbols:
                self._constants[statement.name] = Symbol(statement.name, max(low, _LEAST), extent)

    def index_of(self, total: Linear | None) -> Index | None:
        """The sum as an index; None if it has another scalar."""
        if total is None:
            return None
        names = scalars_of(total)
        if not all(name in self._symbols or name in self._constants for name in names):
            return None
        self._needed.update(name for name in names if name not in self._symbols)
        found: Index = total.get(CONSTANT, 0)
        for name in names:
            found += Dim.of(self._symbols.get(name) or self._constants[name]) * total[name]
        return found

    def division_of(self, value: Expr, facts: Facts) -> Index | None:
        """The quotient or remainder by a positive constant of such a sum of the index of an
        innermost loop, which is not negative: such a loop can be a nest without divisions. None
        for anything else."""
        match value:
            case Apply(op=op, args=(x, Literal(value=number))) if op in _DIVISIONS:
                divide, divisor = _DIVISIONS[op](int(number))
                total = facts.sum_of(x)
                if divisor < 1 or total is None or facts.range_of(x)[0] < 0:
                    return None
                if self._innermost is None or scalars_of(total) != [self._innermost.name]:
                    return None
                index = self.index_of(total)
                return None if index is None else divide(index, divisor)
            case _:
                return None

    def propagated(self, body: Body) -> Body:
        """The statements with subscripts for symbols that are declared as such."""
        named = {name: s for name, s in self._constants.items() if name in self._needed}
        return _Propagation(named, self._quotients, self._sizes).scope(body, {})


@memoized
def _names(statement: Statement) -> tuple[str, ...]:
    """The scalars, local arrays and loops of a statement, including nested statements."""
    inner = (s.symbol.name if isinstance(s, For) else declared_name(s) for s in walk((statement,)))
    return tuple(name for name in inner if name)


def _without_branch(statement: Statement) -> Body:
    """The statements of the arm that is taken, where that is known and the arm declares nothing."""
    if isinstance(statement, If) and isinstance(statement.condition, Literal):
        arm = statement.body if statement.condition.value else statement.orelse
        if not any(map(declared_name, arm)):
            return arm
    return (statement,)


def _is_written_anywhere(index: Index, body: Body) -> bool:
    """True for a short polynomial whose symbols are the same in all of these statements."""
    if len(terms_of(index)) > _MOST_TERMS:
        return False
    names = {s.name for s in symbols_of(index)}
    return all(names.isdisjoint(_names(statement)) for statement in body)


def _bounds_loops(symbol: Symbol, index: Index, body: Body) -> bool:
    """True if loops end at a symbol that has a narrower range than its polynomial: what is equal
    on a branch alone is known of the symbol there, and not of the polynomial."""
    high, least = bounds(index)[1], bounds(Dim.of(symbol))[1]
    is_narrower = least is not None and least < _LARGEST and (high is None or high > _LARGEST)
    loops = (s for s in walk(body) if isinstance(s, For))
    return is_narrower and any(symbol in symbols_of(loop.stop) for loop in loops)


def _writes(body: Body, loops: tuple[For, ...]) -> Iterator[tuple[Shape, tuple[For, ...]]]:
    """The subscripts of each element that is written, and the loops around it."""
    for statement in body:
        match statement:
            case Store(index=index) | Update(target=Load(index=index)):
                yield index, loops
            case Call():
                yield from ((array.first.index, loops) for array in statement.results)
            case For():
                yield from _writes(statement.body, (*loops, statement))
            case _:
                yield from _writes(children(statement), loops)


def _determined(written: Sequence[Index], loops: set[str], known: frozenset[str]) -> set[str]:
    """Which of these loops have one value of their index for each element that is written.
    `known` are the names of sizes and of all loops."""
    found: set[str] = set()
    for _ in written:  # what one subscript determines is no unknown of the others
        for index in written:
            symbols = symbols_of(index)
            if known.issuperset(s.name for s in symbols):
                unknown = {s for s in symbols if s.name in loops - found}
                found |= {s.name for s in unknown} if _are_digits(index, unknown) else set()
    return found


def _are_digits(index: Index, symbols: set[Symbol]) -> bool:
    """True if an index is another one for all values of these symbols: each weighs more than what
    those with smaller weights may sum up to."""
    weights: dict[Symbol, int] = {}
    for monomial, factor in terms_of(index):
        match monomial:
            case (Symbol() as symbol,) if symbol in symbols:
                weights[symbol] = abs(factor)
            case _ if not symbols.isdisjoint(symbols_of(Dim(((monomial, factor),)))):
                return False
    reach: int | None = 0
    for symbol in sorted(weights, key=weights.__getitem__):
        low, high = bounds(Dim.of(symbol))
        if reach is None or weights[symbol] <= reach:
            return False
        reach = None if low is None or high is None else reach + weights[symbol] * (high - low)
    return True


class _Propagation:
    """Rewrites statements, given the polynomials of symbols that are declared no more."""

    def __init__(
        self,
        named: Mapping[str, Symbol],
        quotients: Mapping[str, Index],
        sizes: frozenset[str],
    ) -> None:
        self.named = named
        self.quotients = quotients
        self.sizes = sizes
        self.loops: list[For] = []

    def scope(self, body: Body, known: Mapping[Symbol, Index]) -> Body:
        """The statements of a scope."""
        return same(body, self._sequence(body, dict(known)))

    def _sequence(self, body: Body, known: dict[Symbol, Index]) -> Body:
        """The statements in order; what they declare as polynomials is known behind them."""
        result: list[Statement] = []
        for number, statement in enumerate(body):
            after = self._statement(statement, known)
            if isinstance(after, Declare):
                for symbol in [s for s in known if s.name == after.name]:
                    del known[symbol]
                match after:
                    case Declare(symbol=Symbol() as symbol, value=IndexValue(index=index)) if (
                        _is_written_anywhere(index, body[number + 1 :])
                        and not _bounds_loops(symbol, index, body[number + 1 :])
                        and self._keeps_iterations_apart(symbol, index, body[number + 1 :])
                    ):
                        known[symbol] = index
                        continue
            result += _without_branch(after)
        return tuple(result)

    def _keeps_iterations_apart(self, symbol: Symbol, index: Index, body: Body) -> bool:
        """True if no loop whose iterations may write the same elements gets its index into the
        subscripts of what it writes, when a symbol in them is this polynomial."""
        for subscripts, loops in _writes(body, tuple(self.loops)):
            if not any(symbol in symbols_of(i) for i in subscripts):
                continue
            written = [substitute(i, {symbol: index}) for i in subscripts]
            varying = {s.name for i in written for s in symbols_of(i)}
            names = [loop.symbol.name for loop in loops]
            for depth, loop in enumerate(loops):
                if loop.ordered or names[depth] not in varying:
                    continue
                if names[depth] not in _determined(
                    written, set(names[depth:]), self.sizes.union(names)
                ):
                    return False
        return True

    def _statement(self, statement: Statement, known: Mapping[Symbol, Index]) -> Statement:
        def on_index(index: Index) -> Index:
            return substitute(index, known) if known else index

        names = {symbol.name: index for symbol, index in known.items()}

        def on_reference(expr: Expr) -> Expr:
            if isinstance(expr, Ref) and expr.name in names:
                return IndexValue(names[expr.name])
            # Of counters whose loops have known ends now, a sum does not wrap around.
            return of_indices(expr) if known and isinstance(expr, Apply) else expr

        def on_expr(expr: Expr) -> Expr:
            return on_reference(map_indices(expr, on_index))

        match statement:
            case For(symbol=symbol, stop=stop, limit=limit):
                inside = {s: i for s, i in known.items() if s.name != symbol.name}
                after = changed(
                    statement,
                    start=on_index(statement.start),
                    stop=on_index(stop),
                    limit=None if limit is None else on_index(limit),
                )
                if after.stop != stop:
                    counter = changed(symbol, extent=after.stop)
                    after = changed(after, symbol=counter)
                    inside[symbol] = Dim.of(counter)
                self.loops.append(after)
                body = self.scope(statement.body, inside)
                self.loops.pop()
                return changed(after, body=body)
            case If(condition=condition, body=body, orelse=orelse):
                return changed(
                    statement,
                    condition=map_expr(condition, on_expr),
                    body=self.scope(body, known),
                    orelse=self.scope(orelse, known),
                )
            case While():
                inside = dict(known)
                test = same(statement.test, self._sequence(statement.test, inside))
                tested = self._statement(If(statement.condition, statement.body), inside)
                assert isinstance(tested, If)
                return changed(statement, condition=tested.condition, body=tested.body, test=test)
            case Declare(name=name, symbol=None) if name in self.named:
                quotient = self.quotients.get(name)
                value = statement.value if quotient is None else IndexValue(quotient)
                value = map_expr(value, on_expr)
                return changed(statement, value=value, symbol=self.named[name])
            case _:
                return map_statement(statement, on_reference, on_index)
