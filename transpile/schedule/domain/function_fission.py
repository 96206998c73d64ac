"""Fission what keeps elementary functions out of lanes, in blocks: the sums and recurrences of a
loop whose iterations follow each other, the user's or that of a running sum or a scatter.

                                                for block:
    for i:                                          for i in block: x = r*x*(1 - x); given[i] = x
        x = r*x*(1 - x)                     ->      for i in block: values[i] = log(given[i])
        total += log(x)                             for i in block: total += values[i]

Additions of floats keep their order, and a recurrence waits for itself; a function of either's
operands need not. This is loop distribution (Kennedy and Allen, Optimizing Compilers for Modern
Architectures, 2001, 5.4) with scalar expansion. *Early* statements are those that the operands of a
function depend on, through scalars of earlier iterations too; they write no array. Where they are
constants alone, they stand in the loop of the functions, and in the last one, and lanes compute the
whole term of a sum, of which the function is a part. The last loop has all other statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeGuard

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, STACK_BOUNDED, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Dim, Index, Symbol, bounds, substitute, symbols_of, terms_of
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import (
    accesses,
    expressions,
    indices_in,
    loads,
    map_bodies,
    map_statement,
    names_in,
    names_read,
    parts,
    subexpressions,
    symbols_read,
    walk,
    with_bodies,
    written,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.strip_mine import block_of
from transpile.schedule.vectorize import has_output_dependence
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace

Body = tuple[Statement, ...]


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, SUBEXPRESSIONS_SHARED, STACK_BOUNDED))
def fission_functions(program: Program, options: Options) -> Program:
    """The program whose loops compute such functions in loops of their own."""
    names = Names(names_in(program))
    machine = options.machine

    def within(body: Body) -> Body:
        return tuple(s for statement in body for s in of(statement))

    def of(statement: Statement) -> Iterator[Statement]:
        if _runs_across(statement):
            yield statement
            return
        found = _Fission.of(statement, names, machine) if _suits(statement, machine) else None
        if found is None:
            yield with_bodies(statement, within)
        else:
            yield from found.statements()

    return map_bodies(program, within)


def _suits(statement: Statement, machine: Machine) -> TypeGuard[For]:
    """True for a loop of scalars that is long enough, and whose iterations follow each other."""
    if not isinstance(statement, For) or statement.limit is not None:
        return False
    most = bounds(statement.extent)[1]
    return (
        (most is None or most >= machine.shortest_function_loop)
        and all(isinstance(s, Declare | Store | Update | If) for s in walk(statement.body))
        and (statement.ordered or _carries(statement))
    )


def _carries(loop: For) -> bool:
    """True if iterations of a loop of array operations read what earlier ones have written: running
    values, as those of `numpy.cumsum`, or the elements that a scatter changes."""
    declared = {s.name for s in loop.body if isinstance(s, Declare)}
    running = set[str]().union(*map(_scalars_written, loop.body)) - declared
    read = {p.name for s in walk(loop.body) for p in parts(s) if isinstance(p, Ref)}
    return not running.isdisjoint(read) or has_output_dependence(loop)


def _runs_across(statement: Statement) -> bool:
    """True for a loop whose iterations run a sum or recurrence of their own each: compilers put
    these in lanes side by side."""
    if not isinstance(statement, For):
        return False
    inner = [s for s in statement.body if isinstance(s, For)]
    if len(inner) != 1 or not all(
        isinstance(s, Declare | Store | Update | For) for s in statement.body
    ):
        return False
    (loop,) = inner
    own = {s.name for s in walk(statement.body) if isinstance(s, Declare)}
    ends = {s.name for end in (loop.start, loop.stop) for s in symbols_of(end)}
    return (
        all(isinstance(s, Declare | Update) for s in loop.body)
        and _scalars_written(statement) <= own
        and ends.isdisjoint(own | {statement.symbol.name})
    )


def _functions(statement: Statement) -> Iterator[Apply]:
    """The functions that a statement computes in any case, and that stand in no other one."""
    if isinstance(statement, Declare | Store | Update):
        for expr in expressions(statement):
            yield from _functions_in(expr)


def _functions_in(expr: Expr) -> Iterator[Apply]:
    if _is_function(expr):
        yield expr
    elif isinstance(expr, Apply):
        for arg in expr.args[:1] if expr.op == "select" else expr.args:
            yield from _functions_in(arg)


def _scalars_written(statement: Statement) -> set[str]:
    """The scalars that a statement declares or updates, but for what branches declare."""
    names = {
        s.target.name
        for s in walk((statement,))
        if isinstance(s, Update) and isinstance(s.target, Ref)
    }
    return names | ({statement.name} if isinstance(statement, Declare) else set())


def _elements_read(statement: Statement) -> set[str]:
    return {load.buffer for s in walk((statement,)) for load in loads(s)}


class _Dependences:
    """Which statements of a body write a scalar, and which one is the first to write an array."""

    def __init__(self, loop: For) -> None:
        self.body = loop.body
        self.symbol = loop.symbol
        self.writers: dict[str, list[int]] = {}
        self._arrays: dict[str, int] = {}
        for number, statement in enumerate(loop.body):
            for name in _scalars_written(statement):
                self.writers.setdefault(name, []).append(number)
            for name in (name for s in walk((statement,)) for name in written(s)):
                self._arrays.setdefault(name, number)
        self._shared = {name for name in self._arrays if not self._has_its_element(name)}

    def _has_its_element(self, array: str) -> bool:
        """True if each iteration reads and writes one element of an array, and no other one."""
        found = {index for s in walk(self.body) for name, index in accesses(s) if name == array}
        if len(found) != 1:
            return False
        (index,) = found
        if any(s.name in self.writers for i in index for s in symbols_of(i)):
            return False
        return any(
            [m for m, _ in terms_of(i) if self.symbol in symbols_of(Dim(((m, 1),)))]
            == [(self.symbol,)]
            for i in index
        )

    def _are_as_before(self, arrays: set[str], number: int) -> bool:
        """True if what a statement reads of arrays is what was there before the loop."""
        return all(
            name not in self._shared and number <= self._arrays.get(name, number) for name in arrays
        )

    def of(self, expr: Expr, number: int) -> set[int] | None:
        """The statements on which an expression of a statement depends, in this iteration or in
        those before; None where these, or the expression, read what the loop writes to arrays."""
        names, arrays = _read(expr)
        if not self._are_as_before(arrays, number):
            return None
        early: set[int] = set()
        left = [n for name in names for n in self.writers.get(name, ())]
        while left:
            number = left.pop()
            if number in early:
                continue
            early.add(number)
            statement = self.body[number]
            stores = {name for s in walk((statement,)) for name in written(s)}
            if stores or not self._are_as_before(_elements_read(statement), number):
                return None
            left += [n for name in names_read(statement) for n in self.writers.get(name, ())]
        return early

    def is_constant(self, number: int) -> bool:
        """True for what is computed anew in each iteration, of what the loop does not change."""
        statement = self.body[number]
        return isinstance(statement, Declare) and statement.constant

    def varies(self, expr: Expr) -> bool:
        """True if the iterations may have different values of an expression."""
        names, arrays = _read(expr)
        return self.symbol.name in names or any(n in self.writers for n in names) or bool(arrays)


def _read(expr: Expr) -> tuple[set[str], set[str]]:
    """The scalars and symbols, and the arrays, that an expression reads."""
    parts = list(subexpressions(expr))
    names = {p.name for p in parts if isinstance(p, Ref)}
    names |= {s.name for i in indices_in(expr) for s in symbols_of(i)}
    return names, {p.buffer for p in parts if isinstance(p, Load)}


class _Fission:
    """A loop, the functions that are computed in lanes, with the number of the statement of each,
    and the numbers of the early statements."""

    def __init__(
        self,
        loop: For,
        known: _Dependences,
        functions: Mapping[Apply, int],
        early: set[int],
        names: Names,
        size: int,
    ) -> None:
        self._loop = loop
        self._known = known
        self._functions = functions
        self._early = early
        self._names = names
        is_single = isinstance(loop.extent, int) and loop.extent <= size
        self._extent: Index = loop.extent if is_single else size
        self._blocks = None if is_single else blocks_of(loop.extent, size)
        self._block = Symbol(names.new("block"), 0, self._blocks)
        self._part = loop
        if not is_single:
            first = loop.start + Dim.of(self._block) * size
            self._part = block_of(loop, first, size)
        self._place = (Dim.of(loop.symbol) - self._part.start,)
        self._arrays: list[Buffer] = []

    @classmethod
    def of(cls, loop: For, names: Names, machine: Machine) -> _Fission | None:
        """The fission of a loop; None where no function gains from it."""
        known = _Dependences(loop)
        slices: dict[Apply, tuple[int, set[int]]] = {}
        for number, statement in enumerate(loop.body):
            for function in _functions(statement):
                early = known.of(function, number) if known.varies(function) else None
                if early is not None and number not in early:
                    slices.setdefault(function, (number, early))
        if not 0 < len(slices) <= machine.most_functions:
            return None
        early = set[int]().union(*(own for _, own in slices.values()))
        while not all(map(known.is_constant, early)):
            # The values of what is computed in an early statement are needed before there are any.
            kept = {f: (number, own) for f, (number, own) in slices.items() if number not in early}
            if len(kept) == len(slices):
                break
            slices = kept
            early = set[int]().union(*(own for _, own in slices.values()))
        functions = {f: number for f, (number, _) in slices.items()}
        if all(map(known.is_constant, early)):
            functions, early = _widened(loop, known, functions, early)
        fission = cls(loop, known, functions, early, names, machine.function_block)
        return fission if slices and fission.is_possible() else None

    def _is_of_constants(self) -> bool:
        return all(map(self._known.is_constant, self._early))

    def is_possible(self) -> bool:
        """True if the last loop can be given what it reads of the first one: numbers can be, but
        not subscripts."""
        if self._is_of_constants():
            return True
        names = self._early_names()
        return all(
            names.isdisjoint(symbol.name for symbol in symbols_read(statement))
            for number, statement in enumerate(self._loop.body)
            if number not in self._early
        )

    def statements(self) -> Iterator[Statement]:
        """The loop over blocks, or the loops of the one block."""
        loops = [*(self._of_constants() if self._is_of_constants() else self._of_recurrences())]
        whole = (*map(Alloc, self._arrays), *loops)
        if self._blocks is None:
            yield from whole
        else:
            yield For(self._block, self._blocks, whole, ordered=self._loop.ordered)

    def _of_constants(self) -> Iterator[Statement]:
        """The functions, with the constants that they are made of; and all statements."""
        values: dict[Expr, Expr] = {}
        first: list[Statement] = []
        last: list[Statement] = []
        for number, statement in enumerate(self._loop.body):
            for function in self._functions_of(number):
                values[function] = self._kept("values", function, first)
            statement = map_statement(statement, _with(values))
            last.append(statement)
            if number in self._early:
                first.append(statement)
        yield replace(self._part, body=tuple(first), ordered=False)
        yield replace(self._part, body=tuple(last))

    def _of_recurrences(self) -> Iterator[Statement]:
        """The early statements, which keep what the others read; the functions; the others."""
        first: list[Statement] = []
        second: list[Statement] = []
        last: list[Statement] = []
        values: dict[Expr, Expr] = {}
        for number, statement in enumerate(self._loop.body):
            for function in self._functions_of(number):
                given = self._given(function, first)
                values[function] = self._kept("values", given, second)
            if number in self._early:
                first.append(statement)
            else:
                statement = map_statement(statement, _with(values))
                last.append(map_statement(statement, _with(self._numbers(statement, first))))
        yield replace(self._part, body=tuple(first))
        yield replace(self._part, body=tuple(second), ordered=False)
        yield replace(self._part, body=tuple(last))

    def _functions_of(self, number: int) -> list[Apply]:
        return [f for f, own in self._functions.items() if own == number]

    def _early_names(self) -> set[str]:
        return {n for k in self._early for n in _scalars_written(self._loop.body[k])}

    def _kept(self, name: str, value: Expr, body: list[Statement]) -> Load:
        """An element of a new array, to which a loop stores a value."""
        buffer = Buffer(self._names.new(name), (self._extent,), value.dtype)
        self._arrays.append(buffer)
        body.append(Store(buffer.name, self._place, value))
        return Load(buffer.name, self._place, value.dtype)

    def _given(self, expr: Expr, body: list[Statement]) -> Expr:
        """A function of numbers that the early statements keep: the largest operands that have no
        function in them."""
        if isinstance(expr, Apply) and any(map(_is_function, subexpressions(expr))):
            return replace(expr, args=tuple(self._given(x, body) for x in expr.args))
        return self._kept("given", expr, body) if self._known.varies(expr) else expr

    def _numbers(self, statement: Statement, body: list[Statement]) -> dict[Expr, Expr]:
        """What a later statement reads of scalars of early ones."""
        names = self._early_names()
        scalars = dict.fromkeys(
            p
            for s in walk((statement,))
            for p in parts(s)
            if isinstance(p, Ref) and p.name in names
        )
        return {scalar: self._kept(scalar.name, scalar, body) for scalar in scalars}


def _widened(
    loop: For, known: _Dependences, functions: Mapping[Apply, int], early: set[int]
) -> tuple[dict[Apply, int], set[int]]:
    """The largest expressions around functions that do not wait for the iteration before either,
    and all early statements: lanes compute what a sum adds, and the last loop only adds."""
    found: dict[Apply, int] = {}
    early = set(early)
    for function, number in functions.items():
        wide, needed = function, set[int]()
        everywhere = (p for s in walk(loop.body) for p in parts(s))
        if sum(part == function for part in everywhere) == 1:
            for expr in _around(loop.body[number], function):
                own = known.of(expr, number)
                if own is None or number in own or not all(map(known.is_constant, own)):
                    continue
                if _is_in_lanes(expr, function, loop.symbol):
                    wide, needed = expr, own
                    break
        found[wide] = number
        early |= needed
    return found, early


def _around(statement: Statement, function: Apply) -> list[Apply]:
    """The expressions that a function stands in, the largest one first."""
    inside = {p: list(subexpressions(p)) for p in parts(statement) if isinstance(p, Apply)}
    around = [p for p, own in inside.items() if p != function and function in own]
    return sorted(around, key=lambda p: -len(inside[p]))


def _is_in_lanes(expr: Apply, function: Apply, symbol: Symbol) -> bool:
    """True if lanes compute what stands around a function as well as the function itself."""
    if expr.dtype != function.dtype:
        return False
    return all(
        _is_function(part) or _is_cheap_in_lanes(part, symbol)
        for part in subexpressions(expr)
        if part not in set(subexpressions(function))
    )


def _is_cheap_in_lanes(part: Expr, symbol: Symbol) -> bool:
    """True for numbers, counters, neighbouring elements, and what takes as long as an addition: a
    division is computed while a sum waits for its last addition."""
    match part:
        case Literal() | Ref():
            return True
        case IndexValue(index=index):
            return all(isinstance(a, Symbol) for m, _ in terms_of(index) for a in m)
        case Load(index=index):
            following = {symbol: Dim.of(symbol) + 1}
            steps = [substitute(i, following) - i for i in index]
            return not any(steps[:-1]) and steps[-1:] in ([], [0], [1])
        case Apply(primitive=primitive):
            return not primitive.transcendental and primitive.weight <= 1
    return False


def _is_function(expr: Expr) -> TypeGuard[Apply]:
    """True for an elementary function that runs in lanes."""
    return (
        isinstance(expr, Apply)
        and expr.primitive.transcendental
        and all(x.dtype.kind == "f" for x in (expr, *expr.args))
    )


def _with(values: Mapping[Expr, Expr]) -> Callable[[Expr], Expr]:
    def on_expr(expr: Expr) -> Expr:
        return values.get(expr, expr) if isinstance(expr, Apply | Ref) else expr

    return on_expr
