"""Lanes for a loop whose iterations each run a loop of their own, until they have converged.

    for i:                                for strip:
      x = a[i]                              for i in strip: x_lanes[i - first] = a[i]
      while |f(x)| > tolerance:       ->    while any lane goes on:
        x -= f(x) / g(x)                      for lane: x = x_lanes[lane];  x -= f(x) / g(x)
      out[i] = x                                        x_lanes[lane] = active ? x : x_lanes[lane]
                                            for i in strip: out[i] = x_lanes[i - first]

Compilers vectorise innermost loops only, and none that ends where its data say: so Newton's method
for each element, an escape time for each pixel, or a bisection for each row is scalar code, each
operation of which waits for the one before. Here the loop around is strip-mined, its scalars are
expanded, and the loops change places. A lane that has ended keeps its values (R. Karrenberg and
S. Hack, Whole-function vectorization, CGO 2011). `divergent_strips` writes the strips.

Legal if iterations carry no dependence, or only one through what is computed behind the inner
loops, which each strip runs in order, or through integers that are counted in any order. What lanes
compute that have ended must be harmless: they store nothing, read the first element in place of one
that may not exist, and divide no integers, which would be done lane by lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from transpile.analysis.cost_model import trips
from transpile.analysis.elements.bounds import OUTSIDE, Ranges, arrays_of, inside, is_in_bounds
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, OF_LOOPS, STACK_BOUNDED
from transpile.ir.dims import Dim, symbols_of
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    is_independent,
    loads,
    map_kernels,
    map_statement,
    names_in,
    parts,
    walk,
    with_bodies,
    written,
)
from transpile.machine import Machine
from transpile.options import Options
from transpile.primitives.elementwise import remainder
from transpile.schedule.domain.independent_loops import elements_are_apart
from transpile.schedule.lanes.if_conversion import has_vector_code
from transpile.schedule.lanes.outer.divergent_strips import Strips, front_of
from transpile.schedule.lanes.outer.divergent_work import is_worth_lanes
from transpile.schedule.lanes.outer.predicates import loops_out_of_branches
from transpile.schedule.lanes.outer.scopes import (
    read_of_others,
    updated_of_others,
    with_own_names,
)
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same

Body = tuple[Statement, ...]


@contract(requires=(NO_LANES,), destroys=(*OF_LOOPS, STACK_BOUNDED))
def vectorize_divergent(program: Program, options: Options) -> Program:
    """The program with the loops around such loops strip-mined and interchanged."""
    names = Names(names_in(program))

    def vectorized(kernel: Kernel) -> Kernel:
        loops = _Loops(arrays_of(program, kernel), names, options.machine)
        return changed(kernel, body=loops.body(kernel.body, OUTSIDE))

    return map_kernels(program, vectorized)


@dataclass(frozen=True)
class _Loops:
    """Vectorises the loops of a kernel."""

    arrays: Mapping[str, Buffer]
    names: Names
    machine: Machine

    def body(self, body: Body, ranges: Ranges) -> Body:
        """Statements with their loops vectorised. `ranges` has those of the loops around."""
        return same(body, tuple(self._statement(s, ranges, is_known=False) for s in body))

    def _statement(self, statement: Statement, ranges: Ranges, *, is_known: bool) -> Statement:
        """The statement with the innermost of its loops vectorised whose lanes are sure to be
        filled; if there are none, and others may be as well, with the outermost loops."""
        within = inside(statement, ranges) if isinstance(statement, For) else ranges

        def with_inner(*, is_known: bool) -> Statement:
            return with_bodies(
                statement,
                lambda b: same(b, tuple(self._statement(s, within, is_known=is_known) for s in b)),
            )

        after = with_inner(is_known=True)
        if after is not statement:
            return after
        if isinstance(statement, For) and (isinstance(statement.extent, int) or not is_known):
            after = self._turned(statement, ranges, within)
        return after if is_known or after is not statement else with_inner(is_known=False)

    def _turned(self, statement: For, ranges: Ranges, within: Ranges) -> For:
        """The loop in strips, if it has lanes."""
        if not self._has_lanes(statement):
            return statement
        named = with_own_names(statement.body, self.names)
        loop = changed(statement, body=loops_out_of_branches(named, self.names))
        if not _inner_loops(loop):
            return statement
        loop = changed(loop, body=self._with_elements_before(loop, within))
        loop = self._with_own_sums(loop)
        if not self._is_of_scalars(loop, within) or not _may_distribute(loop, ranges):
            return statement
        if not is_worth_lanes(_inner_loops(loop), self.machine):
            return statement
        strips = Strips(loop, self.machine.divergent_lanes, self.names)
        return strips.loop() if strips.has_own_subscripts else statement

    def _has_lanes(self, loop: For) -> bool:
        """True if a loop has loops inside, and iterations enough to fill lanes."""
        is_plain = loop.limit is None and loop.collapse == 1
        few = isinstance(loop.extent, int) and trips(loop) < self.machine.fewest_divergent
        inner = (s for s in walk(loop.body) if isinstance(s, For | While))
        return is_plain and not few and any(isinstance(s, While) or s.ordered for s in inner)

    def _with_elements_before(self, loop: For, within: Ranges) -> Body:
        """The body with elements of an iteration read before the inner loops that read them."""
        body: list[Statement] = []
        for statement in loop.body:
            if isinstance(statement, For | While):
                elements = {
                    load: Ref(self.names.new(load.buffer), load.dtype)
                    for load in dict.fromkeys(_elements_of(statement, loop))
                    if is_in_bounds(load, self.arrays, within)
                }
                body += [Declare(ref.name, load) for load, ref in elements.items()]
                statement = _with_refs(statement, elements)
            body.append(statement)
        return same(loop.body, tuple(body))

    def _with_own_sums(self, loop: For) -> For:
        """The loop whose iterations add up what inner loops count in a scalar of their own, where
        the order does not matter, and then to that of all."""
        front = front_of(loop)
        rest = loop.body[len(front) :]
        body = list(loop.body)
        for name in sorted(updated_of_others(front)):
            updates = [s for s in walk(front) if _updates(s, name)]
            op, target = updates[0].op, updates[0].target
            primitive = updates[0].primitive
            if primitive is None or not primitive.may_reorder(target.dtype):
                continue
            others = (p for s in walk(loop.body) for p in parts(s) if isinstance(p, Ref))
            if any(s.op != op for s in updates) or name in {ref.name for ref in others}:
                continue
            if any(_updates(s, name) for s in walk(rest)):
                continue
            own = Ref(self.names.new(name), target.dtype)
            first = Literal(primitive.neutral(target.dtype), target.dtype)
            body = [_with_target(s, name, own) for s in body]
            body = [Declare(own.name, first, constant=False), *body, Update(target, op, own)]
        return changed(loop, body=same(loop.body, tuple(body)))

    def _is_of_scalars(self, loop: For, within: Ranges) -> bool:
        """True if the inner loops compute scalars in lanes, and read nothing that is not there."""
        inner = _inner_loops(loop)
        own = {loop.symbol.name}
        own |= {s.name for s in walk(loop.body) if isinstance(s, Declare)}
        is_nested = any(isinstance(i, For | While) for s in inner for i in walk(s.body))
        lanes = _Lanes(self.arrays, frozenset(own), is_nested)
        return all(lanes.may_run(s, within) for s in inner)


@dataclass(frozen=True)
class _Lanes:
    """What lanes may run of a loop, beside others and after they have ended: `own` are the scalars
    of an iteration, and `is_nested` where an inner loop has others inside."""

    arrays: Mapping[str, Buffer]
    own: frozenset[str]
    is_nested: bool

    def may_run(self, loop: For | While, ranges: Ranges) -> bool:
        """True if an inner loop computes scalars in lanes."""
        if isinstance(loop, For):
            ends = (loop.start, loop.stop, 0 if loop.limit is None else loop.limit)
            is_same = all(self.own.isdisjoint(s.name for s in symbols_of(end)) for end in ends)
            ranges = inside(loop, ranges)
            return loop.ordered and is_same and self._may_compute(loop.body, ranges)
        asked = (*loop.test, If(loop.condition, ()))
        if updated_of_others(loop.test) or any(isinstance(s, For | While) for s in walk(asked)):
            return False
        # A lane that has ended asks again what it asked when it did, unless that was of no loop.
        is_asked = not self.is_nested
        return self._may_compute(asked, ranges, is_asked=is_asked) and self._may_compute(
            loop.body, ranges
        )

    def _may_compute(self, body: Body, ranges: Ranges, *, is_asked: bool = False) -> bool:
        """True if all lanes may compute what a loop, or a branch, has for some of them."""
        masked = {s.name for s in body if isinstance(s, Declare) and s.symbol is not None}

        def is_harmless(statement: Statement) -> bool:
            for part in parts(statement):
                if isinstance(part, Load):
                    if not self._is_there(part, ranges, masked, is_asked):
                        return False
                elif not _has_lanes(part):
                    return False
            return True

        for statement in body:
            match statement:
                case For() | While():
                    may = self.may_run(statement, ranges)
                case Declare() | Update(target=Ref()):
                    may = is_harmless(statement)
                case If(body=inner, orelse=orelse):
                    has_loops = any(isinstance(s, For | While) for s in walk((statement,)))
                    branches = (inner, orelse)
                    may = is_harmless(statement) and not has_loops
                    may = may and all(self._may_compute(b, ranges) for b in branches)
                case _:
                    may = False
            if not may:
                return False
        return True

    def _is_there(self, load: Load, ranges: Ranges, masked: set[str], is_asked: bool) -> bool:
        """True if an element exists whatever a lane computes, or the subscripts are `masked`: 0 in
        lanes that do not read it."""
        symbols = {s for index in load.index for s in symbols_of(index) if s.name in self.own}
        if symbols and is_asked:
            return True
        if not masked.issuperset(symbol.name for symbol in symbols):
            return False
        plain = {Dim.of(symbol) for symbol in symbols}
        others = (index for index in load.index if index not in plain)
        if any(not symbols.isdisjoint(symbols_of(index)) for index in others):
            return False
        first = tuple(0 if index in plain else index for index in load.index)
        return is_in_bounds(replace(load, index=first), self.arrays, ranges)


def _has_lanes(part: Expr) -> bool:
    """True if there is vector code for an operation, which has no effect but its result. Divisions
    of integers are done lane by lane, of those that have ended too."""
    if not isinstance(part, Apply):
        return part.dtype.kind in "fiubc"
    if part.op == remainder.name and part.dtype.kind in "iu":
        return False
    return part.primitive.speculatable or has_vector_code(part.op, part.args[0].dtype)


def _inner_loops(loop: For) -> tuple[For | While, ...]:
    """The loops that stand in the body of a loop, not those inside them."""
    return tuple(s for s in loop.body if isinstance(s, For | While))


def _elements_of(inner: For | While, loop: For) -> Iterator[Load]:
    """The elements that an inner loop reads, the same in all of its iterations."""
    inside = tuple(walk((inner,)))
    moving = {s.symbol for s in inside if isinstance(s, For)}
    moving |= {s.symbol for s in inside if isinstance(s, Declare) and s.symbol is not None}
    stored = {name for s in inside for name in written(s)}
    for part in (p for s in inside for p in parts(s) if isinstance(p, Load)):
        symbols = {symbol for index in part.index for symbol in symbols_of(index)}
        if loop.symbol in symbols and symbols.isdisjoint(moving) and part.buffer not in stored:
            yield part


def _updates(statement: Statement, name: str) -> TypeGuard[Update]:
    """True if a statement updates a scalar."""
    return (
        isinstance(statement, Update)
        and isinstance(statement.target, Ref)
        and statement.target.name == name
    )


def _with_target(statement: Statement, name: str, other: Ref) -> Statement:
    """The statement that updates another scalar."""
    if _updates(statement, name):
        return changed(statement, target=other)
    return with_bodies(statement, lambda body: tuple(_with_target(s, name, other) for s in body))


def _with_refs(statement: Statement, elements: Mapping[Load, Ref]) -> Statement:
    if not elements:
        return statement
    return map_statement(
        statement, lambda part: elements.get(part, part) if isinstance(part, Load) else part
    )


def _may_distribute(loop: For, ranges: Ranges) -> bool:
    """True if all lanes may run the inner loops before any runs what follows these."""
    front = front_of(loop)
    if not all(isinstance(s, _PLAIN) for s in walk(loop.body)):
        return False
    if updated_of_others(front):
        return False
    if is_independent(loop):
        return True
    if not read_of_others(front).isdisjoint(updated_of_others(loop.body)):
        return False
    changing = {name for s in walk(loop.body) for name in written(s)}
    elements = {load.buffer for s in walk(front) for load in loads(s)}
    is_front = any(written(s) for s in walk(front))
    if not is_front and elements.isdisjoint(changing):
        return True
    return elements_are_apart(loop, ranges)


_PLAIN = (Declare, Update, Store, If, For, While)
