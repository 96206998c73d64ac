"""Scatters: nests whose updates go to elements that only values decide, and that may meet.

    for j: out[index[j]] += x[j]

Their iterations become independent, as each update is one access of the memory (`AtomicUpdate`),
and one whose result does not depend on the order (`ways.py`). Some ways take several passes over
the updates, which are nests one after the other, and statements for each element before and behind
them.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.ir.calls import Call
from transpile.ir.dims import Dim, Index, Symbol, symbols_of
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import (
    Alloc,
    Declare,
    For,
    Load,
    Program,
    Statement,
    Store,
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    declared_names,
    is_independent,
    loads,
    names_in,
    walk,
    with_bodies,
    written,
)
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.scatters.ways import Way, Ways
from transpile.util.frozen_records import dataclass, replace

Body = tuple[Statement, ...]
Scattered = Store | Update


@dataclass(frozen=True)
class _Scatter:
    """An update whose subscripts depend on values, and the loops around it, the outermost first."""

    statement: Scattered
    loops: tuple[For, ...]

    @property
    def target(self) -> Load:
        """The element that it writes."""
        s = self.statement
        if isinstance(s, Store):
            return Load(s.buffer, s.index, s.value.dtype)
        assert isinstance(s.target, Load)
        return s.target


def parallel_scatters(program: Program, gpu: Gpu) -> Program:
    """The program, whose arrays have one dimension, with independent iterations in place of updates
    that may meet."""
    rewriter = _Rewriter(program, gpu)
    kernels = tuple(replace(k, body=rewriter.body(k.body)) for k in program.kernels)
    return replace(
        program, kernels=kernels, temporaries=(*program.temporaries, *rewriter.ways.arrays)
    )


class _Rewriter:
    def __init__(self, program: Program, gpu: Gpu) -> None:
        self.buffers = program.buffers()
        self.gpu = gpu
        self.names = Names(names_in(program))
        self.ways = Ways(self.names)

    def body(self, statements: Body) -> Body:
        """Statements, with others in place of scatters."""
        return tuple(made for s in statements for made in self._statement(s))

    def _statement(self, statement: Statement) -> Body:
        if isinstance(statement, For):
            scatters = _scatters(statement, self.gpu)
            if scatters:
                made = self._in_any_order(statement, scatters)
                if made is not None:
                    return made
        return (with_bodies(statement, self.body),)

    def _in_any_order(self, loop: For, scatters: tuple[_Scatter, ...]) -> Body | None:
        """The nests in place of one; None where there is no way for one of its updates."""
        before: list[Statement] = []
        behind: list[Statement] = []
        ways: dict[Scattered, Way] = {}
        for scatter in scatters:
            way = self._way(scatter)
            if way is None:
                return None
            ways[scatter.statement] = way
            element = way.element
            size = product(self.buffers[scatter.target.buffer].shape)
            for made, body in ((before, way.before), (behind, way.behind)):
                if body:
                    made.append(For(element, size, body))
        passes = max(len(way.updates) for way in ways.values())
        if passes > 1 and _writes_others(loop, scatters):
            return None
        updates = [_pass(loop, ways, number) for number in range(passes)]
        return (*before, *updates, *behind)

    def _way(self, scatter: _Scatter) -> Way | None:
        buffer, statement = self.buffers[scatter.target.buffer], scatter.statement
        number = _number(scatter.loops)
        if isinstance(statement, Update):
            return self.ways.of_updates(
                buffer, statement.op, product(f.extent for f in scatter.loops)
            )
        return None if number is None else self.ways.of_stores(buffer, *number)


def _scatters(loop: For, gpu: Gpu) -> tuple[_Scatter, ...]:
    """The updates of a nest that may meet, if its iterations are independent without them; none
    where too few threads would have something to do, or enough have without that."""
    inside = list(walk((loop,)))
    if any(isinstance(s, Call | Swap | While | Alloc) for s in inside):
        return ()
    nests = [s for s in inside if isinstance(s, For)]
    if any(f.ordered or f.limit is not None for f in nests) or all(map(is_independent, nests)):
        return ()
    found = tuple(_found((loop,), (), declared_names((loop,))))
    if not found or not is_independent(_without(loop, {s.statement for s in found})):
        return ()
    names = [s.target.buffer for s in found]
    others = [s for s in inside if not any(s is one.statement for one in found)]
    touched = {n for s in others for n in (*written(s), *(e.buffer for e in loads(s)))}
    touched |= {e.buffer for one in found for e in loads(one.statement) if e != one.target}
    if len(set(names)) < len(names) or not touched.isdisjoint(names):
        return ()
    enough = is_independent(loop) and estimate(loop.extent) >= gpu.enough_iterations
    few = max(estimate(product(f.extent for f in s.loops)) for s in found) < gpu.shortest_of_team
    return () if enough or few else found


def _found(body: Body, loops: tuple[For, ...], declared: set[str]) -> list[_Scatter]:
    """The updates with subscripts that are declared in the nest, in their order."""
    found: list[_Scatter] = []
    for statement in body:
        match statement:
            case For():
                found += _found(statement.body, (*loops, statement), declared)
            case Store(buffer=name, index=index) | Update(target=Load(buffer=name, index=index)):
                if name not in declared and _is_of_values(index, loops):
                    assert isinstance(statement, Store | Update)
                    found.append(_Scatter(statement, loops))
            case _:
                for inner in _bodies(statement):
                    found += _found(inner, loops, declared)
    return found


def _bodies(statement: Statement) -> list[Body]:
    bodies: list[Body] = []

    def add(body: Body) -> Body:
        bodies.append(body)
        return body

    with_bodies(statement, add)
    return bodies


def _is_of_values(index: tuple[Index, ...], loops: tuple[For, ...]) -> bool:
    """True if a scalar that the nest computes is in a subscript."""
    scalars = {
        s.name for f in loops[:1] for s in walk(f.body) if isinstance(s, Declare) and s.symbol
    }
    return any(symbol.name in scalars for i in index for symbol in symbols_of(i))


def _without(loop: For, statements: set[Scattered]) -> For:
    made = _replaced(loop, dict.fromkeys(statements, ()))
    assert isinstance(made, For)
    return made


def _replaced(statement: Statement, others: Mapping[Scattered, Body]) -> Statement:
    """A statement with others in place of some inside it."""

    def body(statements: Body) -> Body:
        return tuple(
            made
            for s in statements
            for made in (
                others[s]
                if isinstance(s, Store | Update) and s in others
                else (_replaced(s, others),)
            )
        )

    return with_bodies(statement, body)


def _writes_others(loop: For, scatters: tuple[_Scatter, ...]) -> bool:
    """True if a nest writes arrays beside those of its scatters."""
    own = {s.target.buffer for s in scatters}
    return any(name not in own for s in walk((loop,)) for name in written(s))


def _pass(loop: For, ways: Mapping[Scattered, Way], number: int) -> For:
    """A nest with the updates of one pass; its loops are independent."""
    bodies: dict[Scattered, Body] = {}
    for statement, way in ways.items():
        target = statement if isinstance(statement, Store) else statement.target
        assert isinstance(target, Store | Load)
        make = way.updates[number] if number < len(way.updates) else None
        bodies[statement] = () if make is None else make(target.index, statement.value)
    plain = _without(loop, set(ways))
    free = {f.symbol for f in walk((plain,)) if isinstance(f, For) and is_independent(f)}

    def marked(statement: Statement) -> Statement:
        inner = with_bodies(statement, lambda body: tuple(map(marked, body)))
        if isinstance(inner, For) and inner.symbol in free:
            return replace(inner, parallel=True)
        return inner

    made = marked(_replaced(loop, bodies))
    assert isinstance(made, For)
    return made


def _number(loops: tuple[For, ...]) -> tuple[Index, Index] | None:
    """The number of an iteration of loops in their order, and how many there are; None where
    extents are different in different iterations."""
    own: set[Symbol] = set()
    number: Index = 0
    for loop in loops:
        if own & (symbols_of(loop.start) | symbols_of(loop.stop)):
            return None
        own.add(loop.symbol)
        number = number * loop.extent + Dim.of(loop.symbol) - loop.start
    return number, product(f.extent for f in loops)
