"""Repeats: loops and branches of the graph become those of the loop language.

The carry of a loop lives in one place, a variable or an array, which each iteration changes. An
array whose old elements are still read while the new ones are written has a second place, with
which it is exchanged after each iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from transpile.analysis.cost_model import UNBOUNDED
from transpile.errors import InternalError
from transpile.fusion.index_lambda import as_index, convert
from transpile.fusion.nodes import Branch, IndexLambda, Loops, Region
from transpile.fusion.nodes import Loop as LoopRegion
from transpile.ir.dims import Dim, Index, Symbol, substitute
from transpile.ir.graph import Atom, Graph, Var, has_effect
from transpile.ir.loop_ir import Apply, Declare, Expr, For, If, Literal, Statement, Swap, While
from transpile.ir.types import BOOL, INT64
from transpile.lower.storage import Place, Variable, View
from transpile.primitives.control import rows as rows
from transpile.primitives.control.operands import inputs_of
from transpile.symbols.identifiers import LOOP_NAMES
from transpile.util.frozen_records import dataclass

if TYPE_CHECKING:  # an Emitter makes these, and they make Emitters for the bodies
    from transpile.lower.builder import Emitter


# Arrays of no more elements than this are copied when an iteration hands them on.
SMALL = 16


@dataclass(frozen=True, eq=False)
class Carried:
    """One value of a carry.

    initial    the operand, whose elements the stage `start` has
    result     what it is when the loop has ended, at the place `final`
    before     the input of the body, at the place `current`
    after      the output of the body, at the place `following` if that is another one
    settled    whether `after` is written where `before` is
    """

    initial: Atom
    start: IndexLambda
    result: Var
    before: Var
    after: Atom
    settled: bool
    current: Place | Variable
    following: Place | None
    final: Place | Variable


def plan(emitter: Emitter, node: Region) -> Repeat:
    """What a loop or a branch becomes."""
    match node:
        case LoopRegion():
            return Loop(emitter, node)
        case Branch():
            return Choice(emitter, node)
        case _:
            raise InternalError(f"{node} is neither a loop nor a branch")


class Repeat:
    """A loop or a branch."""

    named: Symbol | None = None  # the counter, of a loop that counts

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.new: list[Variable] = []  # the variables that it declares

    def wanted(self, result: Atom) -> Place | Variable:
        """Where an operand would best be that becomes a result."""
        raise NotImplementedError

    def statements(self) -> Iterator[Statement]:
        """The statements."""
        raise NotImplementedError

    def _consts(self, node: Region, part: Loops) -> dict[Atom, View]:
        """The inputs of a part that are operands of all iterations, or branches."""
        inputs = inputs_of(node.equation, part.block.graph)
        pairs = zip(inputs.consts, node.consts, strict=True)
        return {var: self._view(atom, ()) for var, atom in pairs}

    def _view(self, atom: Atom, prefix: tuple[Index, ...]) -> View:
        emitter = self.emitter
        return View(
            lambda index: emitter.read(atom, (*prefix, *index)),
            lambda: emitter.stored(atom).part(prefix) if prefix else emitter.place(atom),
            lambda: None if prefix else emitter.known(atom),
        )

    def _place_of_number(self, result: Var, hint: str) -> tuple[Variable, Place | Variable]:
        """The variable for a result that is a number, and where that is to go in the end."""
        emitter = self.emitter
        final = emitter.places.get(result)
        if isinstance(final, Variable):
            return final, final
        name = emitter.memory.names.new(hint)
        own = () if self.named is None else (self.named.name,)
        while name in (*emitter.loops, *own):  # what the user calls `i` stands in the loop over i
            name = emitter.memory.names.new(hint)
        variable = Variable(name, result.type.dtype)
        self.new.append(variable)
        if final is None and (emitter.is_body or not emitter.is_read(result)):
            emitter.places[result] = final = variable
        return variable, final or emitter.stored(result)


class Loop(Repeat):
    """A scan, a loop over a range, or one with a condition."""

    def __init__(self, emitter: Emitter, node: LoopRegion) -> None:
        super().__init__(emitter)
        self.node = node
        self.part = node.parts[-1]
        self.named = self._counter()
        self.where = substitute(node.where, self._own())
        self.carried = list(self._carry())
        places: dict[Atom, Place | Variable] = {c.before: c.current for c in self.carried}
        for c in self.carried:
            if c.following is not None:
                places[c.after] = c.following
            elif c.settled:
                places[c.after] = c.current
        outputs = self.part.block.graph.outputs[len(self.carried) :]
        for output, result in zip(outputs, node.results[len(self.carried) :], strict=True):
            places[output] = emitter.stored(result).part((self.where,))
        self.body = self._child(self.part, places)
        self.condition = None
        if node.equation.primitive is rows.while_:
            part = node.parts[0]
            inputs = inputs_of(node.equation, part.block.graph).carry
            seen: dict[Atom, Place | Variable] = {
                v: c.current for v, c in zip(inputs, self.carried, strict=True)
            }
            self.condition = self._child(part, seen)

    def _child(self, part: Loops, places: dict[Atom, Place | Variable]) -> Emitter:
        views, xs = (
            self._consts(self.node, part),
            inputs_of(self.node.equation, part.block.graph).xs,
        )
        for var, atom in zip(xs, self.node.xs, strict=True):
            views[var] = self._view(atom, (self.where,))
        loops = (self.named.name,) if self.named is not None else ()
        return self.emitter.child(part, places, views, self._own(), loops)

    def _own(self) -> dict[Symbol, Index]:
        if self.node.symbol is None or self.named is None:
            return {}
        return {self.node.symbol: Dim.of(self.named)}

    def _counter(self) -> Symbol | None:
        """The counter, called as in the user's body if nothing else is."""
        symbol, emitter = self.node.symbol, self.emitter
        if symbol is None:
            return None
        graph = self.part.block.graph
        hint = next(
            (v.name for v in graph.inputs if v in self.part.block.scope.given and v.name), ""
        )
        index = self._counting_input()
        hint = index.name if index is not None else hint
        taken = hint in emitter.memory.names or hint in emitter.loops
        if hint not in LOOP_NAMES or taken:
            hint = emitter.loop_name(0) if not hint or taken else emitter.memory.names.new(hint)
        extent = None if symbol.extent is None else substitute(symbol.extent, emitter.around)
        return Symbol(hint, symbol.lower, extent)

    def _counting_input(self) -> Var | None:
        """The input of the body that is the number of the iteration."""
        scope = self.part.block.scope
        for var in scope.graph.inputs:
            given = scope.given.get(var)
            index = None if given is None else as_index(given)
            symbol = self.node.symbol
            if index is not None and symbol is not None and index == Dim.of(symbol):
                return var
        return None

    # --------------------------------------------------------------------------------- the carry

    def _carry(self) -> Iterator[Carried]:
        aliases, node = self.emitter.aliases.inner[self.part], self.node
        for k, (before, after) in enumerate(self.part.block.scope.carry):
            result, settled = node.results[k], before in aliases.settled
            current: Place | Variable
            final: Place | Variable
            following = None
            if not result.type.shape:
                current, final = self._place_of_number(result, _hint(before, after, result))
            else:
                current, following, final = self._places_of_array(result, settled)
            yield Carried(
                node.carry[k],
                node.initial[k],
                result,
                before,
                after,
                settled,
                current,
                following,
                final,
            )

    def _places_of_array(self, result: Var, settled: bool) -> tuple[Place, Place | None, Place]:
        """Where an array is in an iteration, where the iteration writes the next one, and where it
        is when the loop has ended. With an even number of exchanges it ends where it began."""
        emitter, length = self.emitter, self.node.length
        if not settled and not emitter.is_read(result) and emitter.places.get(result) is None:
            current = emitter.memory.temporary(result)
            return current, emitter.memory.temporary(result), current
        final = emitter.stored(result)
        if settled:
            return final, None, final
        spare = emitter.memory.temporary(result)
        if length is None or final.prefix or _is_small(result):
            return spare, emitter.memory.temporary(result), final
        return (spare, final, final) if length % 2 else (final, spare, final)

    def wanted(self, result: Atom) -> Place | Variable:
        """Where an operand would best be that becomes a result."""
        return next(c.current for c in self.carried if c.result is result)

    # ------------------------------------------------------------------------------- statements

    def statements(self) -> Iterator[Statement]:
        """What comes before the loop, the loop, and what comes after it."""
        limits: list[Index] = []
        for bound, name in zip(self.node.limits, ("start", "stop"), strict=False):
            limit, declared = self._limit(bound, name)
            limits.append(limit)
            yield from declared
        for c in self.carried:
            yield from self._begin(c)
        self.body.scope = self.emitter.scope.inner()
        body = list(self.body.items(self.part.items))
        for c in self.carried:
            body += self._hand_on(c)
        if self.condition is not None:
            yield self._while(body)
        elif self.named is not None:
            symbol = self.named
            start, stop = limits or (symbol.lower, symbol.extent or 0)
            alone = not self.carried and not _has_effects(self.part.block.graph)
            yield For(symbol, stop, tuple(body), start=start, ordered=True, independent=alone)
        for c in self.carried:
            yield from self._end(c)

    def _while(self, body: Sequence[Statement]) -> While:
        condition = self.condition
        assert condition is not None
        condition.scope = self.body.scope.inner()  # they are declared side by side
        test = list(condition.items(condition.fused.items))
        (holds,) = condition.block.results
        declared, value = condition.number(holds, None)
        return While(value, tuple(body), (*test, *declared))

    def _limit(self, bound: Index | IndexLambda, name: str) -> tuple[Index, list[Statement]]:
        """A bound of the loop as an index, and the declaration of its variable if it is one."""
        emitter = self.emitter
        if not isinstance(bound, IndexLambda):
            return substitute(bound, emitter.around), []
        declared, value = emitter.number(bound, self.node)
        symbol = Symbol(emitter.scope.new(name), -2 * UNBOUNDED, 2 * UNBOUNDED)
        limit = Declare(symbol.name, convert(value, INT64), symbol=symbol)
        return Dim.of(symbol), [*declared, limit]

    def _begin(self, c: Carried) -> Iterator[Statement]:
        if self.emitter.known(c.initial) == c.current:
            return
        current = c.current
        if isinstance(current, Variable) and current in self.new:
            declared, value = self.emitter.number(c.start, self.node)
            yield from declared
            yield Declare(current.name, value, constant=False)
            return
        yield from self.emitter.nest(c.start, self.node, lambda i, v: [current.store(i, v)])

    def _hand_on(self, c: Carried) -> Iterator[Statement]:
        """What ends an iteration: the values computed beside the old ones take their places."""
        if c.settled:
            return
        if isinstance(c.current, Variable):
            yield c.current.store((), self.body.read(c.after, ()))
        elif c.following is not None and _is_small(c.result):
            yield self._copied(c.following, c.current, self.body)
        elif c.following is not None:
            yield Swap(c.current.name, c.following.name)

    def _end(self, c: Carried) -> Iterator[Statement]:
        if isinstance(c.current, Variable):
            if c.final != c.current:
                yield c.final.store((), c.current.load())
        elif c.following == c.final:
            yield Swap(c.current.name, c.following.name)
        elif isinstance(c.final, Place) and c.final != c.current:
            yield self._copied(c.current, c.final, self.emitter)

    def _copied(self, source: Place, target: Place, emitter: Emitter) -> Statement:
        loops = [Symbol(emitter.loop_name(d), 0, e) for d, e in enumerate(source.shape)]
        index = tuple(Dim.of(s) for s in loops)
        copy: Statement = target.store(index, source.load(index))
        for symbol in reversed(loops):
            copy = For(symbol, symbol.extent or 0, (copy,))
        return copy


def _has_effects(graph: Graph) -> bool:
    return any(map(has_effect, graph.equations))


def _is_small(var: Var) -> bool:
    """Tell whether an array is so small that it is copied rather than exchanged by pointers: its
    elements can then live in registers."""
    size = var.type.size
    return isinstance(size, int) and size <= SMALL


def _hint(before: Var, after: Atom, result: Var) -> str:
    return before.name or result.name or getattr(after, "name", "") or "carry"


class Choice(Repeat):
    """One of several branches."""

    def __init__(self, emitter: Emitter, node: Branch) -> None:
        super().__init__(emitter)
        self.node = node
        self.places: list[Place | Variable] = []
        for result in node.results:
            if result.type.shape or (result in emitter.places or not emitter.is_body):
                self.places.append(emitter.place(result))
            else:
                self.places.append(self._place_of_number(result, result.name or "chosen")[0])
        self.branches = [self._child(part) for part in node.parts]

    def _child(self, part: Loops) -> Emitter:
        places = dict(zip(part.block.graph.outputs, self.places, strict=True))
        return self.emitter.child(part, places, self._consts(self.node, part), {}, ())

    def wanted(self, result: Atom) -> Place | Variable:
        """Where an operand would best be that becomes a result."""
        return self.places[self.node.results.index(result)]

    def statements(self) -> Iterator[Statement]:
        """The statements."""
        for variable in self.new:
            nothing = Literal(np.zeros((), variable.dtype)[()], variable.dtype)
            yield Declare(variable.name, nothing, constant=False)
        bodies: list[tuple[Statement, ...]] = []
        for branch in self.branches:
            branch.scope = self.emitter.scope.inner()
            bodies.append(tuple(branch.items(branch.fused.items)))
        declared, index = self.emitter.number(self.node.chosen, self.node)
        yield from declared
        if len(bodies) == 1:
            yield from bodies[0]
        elif index.dtype == BOOL:
            yield from _either(index, bodies[1], bodies[0])
        else:
            yield from self._chain(index, bodies)

    def _chain(self, index: Expr, bodies: Sequence[tuple[Statement, ...]]) -> Iterator[Statement]:
        """`if (index <= 0) ... else if (index == 1) ... else ...`"""
        if isinstance(index, Apply):
            name = self.emitter.scope.new("branch")
            yield Declare(name, index)
            index = Variable(name, index.dtype).load()
        chosen = bodies[-1]
        for number in range(len(bodies) - 2, -1, -1):
            row = "equal" if number else "less_equal"
            here = Apply(row, (index, Literal(index.dtype.type(number), index.dtype)), BOOL)
            chosen = _either(here, bodies[number], chosen)
        yield from chosen


def _either(
    condition: Expr, body: tuple[Statement, ...], orelse: tuple[Statement, ...]
) -> tuple[Statement, ...]:
    if body:
        return (If(condition, body, orelse),)
    return (If(Apply("logical_not", (condition,), BOOL), orelse),) if orelse else ()
