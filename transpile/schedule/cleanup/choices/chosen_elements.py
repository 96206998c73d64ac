"""Scalar replacement: the element at the place of the best so far.

    for i in range(n):                              least = x[best]
        best = x[i] < x[best] ? i : best    ->      for i in range(n):
                                                        if x[i] < least:
                                                            best = i
                                                            least = x[i]

Searches for the least element, pivots and the nearest vertex keep its place, and compare what is
there. The place changes to the counter of the loop or not at all, so that the element there is one
that the iteration has at hand. The change is behind a branch, which is predicted, as it is taken
ever more rarely. The first element is read at the nearest place, before the loop: where the place
is none yet, as -1, the loop does not compare with what is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from transpile.analysis.elements.bounds import (
    OUTSIDE,
    Ranges,
    inside,
    is_in_bounds,
    map_with_arrays,
)
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Dim, Index, Symbol, bounds, symbols_of
from transpile.ir.indices.values import as_index, as_value
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    changed_by,
    declared_names,
    indices,
    loads,
    map_expr,
    map_statement,
    name_of,
    names_in,
    parts,
    subexpressions,
    walk,
    with_bodies,
    written,
)
from transpile.ir.types import BOOL, INT64
from transpile.options import Options
from transpile.schedule.cleanup.choices.eager_conditions import one_by_one
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same

Body = tuple[Statement, ...]


@contract(requires=(LANES_BOUND,), destroys=(SUBEXPRESSIONS_SHARED,))
def keep_chosen_elements(program: Program, options: Options) -> Program:
    """The program with variables for the elements that its searches compare with."""
    names = Names(names_in(program))
    return map_with_arrays(program, lambda a, body: _Keeper(a, names).body(body, OUTSIDE))


@dataclass(frozen=True)
class _Search:
    """A loop that looks for an element.

    update   of the place of the best so far
    test     whether it changes
    place    what it changes to: a subscript of the loop's counter
    at       the subscript of the best so far
    value    what that is, of the place
    element  that is compared with
    axis     along which the search goes
    """

    update: Update
    test: Expr
    place: Index
    at: Symbol
    value: Expr
    element: Load
    axis: int

    def element_at(self, place: Index) -> Load:
        """The element at another place."""
        index = self.element.index
        return changed(self.element, index=(*index[: self.axis], place, *index[self.axis + 1 :]))


@dataclass(frozen=True)
class _Keeper:
    """Rewrites the searches of a kernel, which sees these arrays."""

    arrays: Mapping[str, Buffer]
    names: Names

    def body(self, body: Body, ranges: Ranges) -> Body:
        """Statements with variables for the elements that searches among them compare with."""
        result: list[Statement] = []
        for statement in body:
            if isinstance(statement, For):
                own = inside(statement, ranges)
                search = None if statement.simd else self._search(statement, own)
                if search is not None:
                    result += self._kept(statement, search)
                else:
                    result.append(with_bodies(statement, partial(self.body, ranges=own)))
            else:
                result.append(with_bodies(statement, lambda b: self.body(b, ranges)))
        return same(body, tuple(result))

    def _search(self, loop: For, ranges: Ranges) -> _Search | None:
        """The search that an innermost loop makes, if it makes one."""
        all_inside = tuple(walk(loop.body))
        if loop.parallel or any(isinstance(s, For | While) for s in all_inside):
            return None
        varying = declared_names(loop.body) | {loop.symbol.name}
        stored = {name for s in all_inside for name in written(s)}
        read = {load for s in loop.body for load in loads(s)}  # whatever the iteration does
        for position, update in enumerate(loop.body):
            chosen = _choice(update)
            if chosen is None or sum(_is_of(s, chosen[0]) for s in all_inside) != 1:
                continue
            for before, at in enumerate(loop.body):
                if not isinstance(at, Declare) or at.symbol is None:
                    continue
                element = _element_at(at.symbol, all_inside)
                if element is None or element.buffer in stored:
                    continue
                behind = walk(loop.body[position + 1 :])
                if before < position and any(element in loads(s) for s in behind):
                    continue  # of the place before it changed
                axis = element.index.index(Dim.of(at.symbol))
                search = _Search(*chosen, at.symbol, at.value, element, axis)
                if not _follows(at.value, chosen[0].target, self._extent(search)):
                    continue
                others = {s.name for i in element.index for s in symbols_of(i)} - {at.name}
                other = search.element_at(search.place)
                is_there = other in read or is_in_bounds(other, self.arrays, ranges)
                has_places = (bounds(self._extent(search))[0] or 0) > 0
                if others.isdisjoint(varying) and is_there and has_places:
                    return search
        return None

    def _extent(self, search: _Search) -> Index:
        return self.arrays[search.element.buffer].shape[search.axis]

    def _kept(self, loop: For, search: _Search) -> Body:
        """The declarations of the place and the element before the loop, and the loop."""
        element = search.element
        symbol = replace(search.at, name=self.names.new(search.at.name))
        first = _clamped(search.value, self._extent(search))
        kept = Ref(self.names.new("nearest"), element.dtype)
        place = Apply("behind_branch", (as_value(search.place),), INT64)

        def with_kept(expr: Expr) -> Expr:
            return kept if expr == element else expr

        test, own_body = _inlined(search, loop.body)
        changes = If(
            map_expr(one_by_one(test), with_kept),
            (
                changed(search.update, value=place),
                Update(kept, "set", search.element_at(search.place)),
            ),
        )
        body = tuple(
            changes if _is_of(s, search.update) else map_statement(s, with_kept) for s in own_body
        )
        return (
            Declare(symbol.name, first, symbol=symbol),
            Declare(kept.name, search.element_at(Dim.of(symbol)), False),
            changed(loop, body=body),
        )


def _inlined(search: _Search, body: Body) -> tuple[Expr, Body]:
    """The value of a test that has a name which is read once, if nothing changes it before the
    place does, and the statements without it."""
    test = search.test
    declared = [s for s in body if isinstance(s, Declare) and test == Ref(s.name, BOOL)]
    reads = sum(p == test for s in walk(body) for p in parts(s))
    if len(declared) != 1 or reads != 1 or not declared[0].constant:
        return test, body
    value = declared[0].value
    between = walk(body[body.index(declared[0]) : body.index(search.update)])
    changes = {name for s in between for name in changed_by(s)}
    if any(isinstance(p, Load | Ref) and name_of(p) in changes for p in subexpressions(value)):
        return test, body
    return value, tuple(s for s in body if s is not declared[0])


def _clamped(value: Expr, extent: Index) -> Expr:
    """The nearest place of an axis."""
    inner = value.args[0] if isinstance(value, Apply) and value.op == "minimum" else value
    match inner:
        case Apply(op="maximum", args=(_, Literal(value=low))) if low >= 0:
            pass
        case _:
            value = Apply("maximum", (value, as_value(0)), INT64)
    return Apply("minimum", (value, as_value(extent - 1)), INT64)


def _choice(statement: Statement) -> tuple[Update, Expr, Index] | None:
    """An update that keeps a place or takes another one, the test, and the other place."""
    match statement:
        case Update(target=Ref() as kept, op="set", value=Apply(op="select", args=(test, x, y))):
            place = as_index(x if y == kept else y)
            if kept.dtype == INT64 and kept in (x, y) and place is not None:
                test = test if y == kept else Apply("logical_not", (test,), BOOL)
                return statement, test, place
    return None


def _is_of(statement: Statement, update: Update) -> bool:
    """True for an update of the same scalar."""
    return isinstance(statement, Update) and statement.target == update.target


def _follows(value: Expr, place: Expr, extent: Index) -> bool:
    """True for a subscript that is this place, wherever there is an element."""
    match value:
        case Apply(op="subscript", args=(x, n)):
            return as_index(n) == extent and _follows(x, place, extent)
        case Apply(op="maximum", args=(x, Literal(value=low))) if low <= 0:
            return _follows(x, place, extent)
        case Apply(op="minimum", args=(x, most)):
            high = as_index(most)
            beyond = None if high is None else bounds(high - extent + 1)[0]
            return beyond is not None and beyond >= 0 and _follows(x, place, extent)
        case Apply(op="select", args=(Apply(op="less", args=(x, Literal(value=0))), _, other)):
            return x == other and _follows(other, place, extent)
    return value == place


def _element_at(at: Symbol, inside: Body) -> Load | None:
    """The element that a loop reads at a subscript, if it is one, along one axis, and if it does
    nothing else with the subscript."""
    own = Dim.of(at)
    used = [i for s in inside for i in indices(s) if at in symbols_of(i)]
    found = [load for s in inside for load in loads(s) if own in load.index]
    if len(set(found)) != 1 or any(index != own for index in used):
        return None
    return found[0] if found[0].index.count(own) == 1 and len(found) == len(used) else None
