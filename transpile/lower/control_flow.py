"""Loops and branches of the user's: what comes before, between and after their bodies.

Where the values of a carry are was decided by `transpile.lower.assign_storage`. What is handed on
by an iteration is written there by its body, or copied or exchanged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from transpile.analysis.cost_model import UNBOUNDED
from transpile.fusion.nodes import Branch, Loop
from transpile.ir.dims import Dim, Index, Symbol, substitute
from transpile.ir.graph import calls_python
from transpile.ir.indices.values import as_index, convert
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Statement,
    Swap,
    While,
)
from transpile.ir.types import BOOL, INT64
from transpile.lower.storage import BranchStorage, Carried, LoopStorage, Place, Variable
from transpile.lower.writer import Write, Writer
from transpile.util.frozen_records import dataclass

Statements = tuple[Statement, ...]


# ------------------------------------------------------------------------------------------ loops


@dataclass(frozen=True)
class Limits:
    """The bounds of a loop over a range, and the declarations of what they are called."""

    declared: Statements
    bounds: tuple[Index, ...]


def limits(writer: Writer, node: Loop) -> Limits:
    """The bounds of a loop: indices, or variables with the values."""
    declared: list[Statement] = []
    bounds: list[Index] = []
    for bound, name in zip(node.limits, ("start", "stop"), strict=False):
        known = as_index(bound.body)
        if known is not None:
            bounds.append(substitute(known, writer.frame.around))
            continue
        before, value = writer.number(bound, node)
        symbol = Symbol(writer.scope.new(name), -2 * UNBOUNDED, 2 * UNBOUNDED)
        declared += [*before, Declare(symbol.name, convert(value, INT64), symbol=symbol)]
        bounds.append(Dim.of(symbol))
    return Limits(tuple(declared), tuple(bounds))


def begin(writer: Writer, node: Loop, storage: LoopStorage) -> Iterator[Statement]:
    """What the first iteration is handed, where it is not there already."""
    for c in storage.carried:
        current = c.current
        if writer.frame.places.get(c.initial) == current:
            continue
        if isinstance(current, Variable) and current in storage.declared:
            declared, value = writer.number(c.start, node)
            yield from declared
            yield Declare(current.name, value, constant=False)
        else:
            yield from writer.nest(c.start, node, _store(current))


def _store(place: Place | Variable) -> Write:
    return lambda index, value: [place.store(index, value)]


def hand_on(body: Writer, storage: LoopStorage) -> Iterator[Statement]:
    """What ends an iteration: the values computed beside the old ones take their places."""
    for c in storage.carried:
        if c.settled:
            continue
        if isinstance(c.current, Variable):
            yield c.current.store((), body.result(c.after))
        elif c.following is not None:
            yield _handed_on(body, c, c.current, c.following)
    for cycle in storage.rotated:
        places = [storage.carried[k].current for k in cycle]
        for first, second in reversed(list(pairwise(places))):
            yield Swap(first.name, second.name)


def _handed_on(body: Writer, c: Carried, current: Place, following: Place) -> Statement:
    return _copied(body, following, current) if c.copied else Swap(current.name, following.name)


def loop(
    node: Loop, storage: LoopStorage, bounds: tuple[Index, ...], body: Statements
) -> Iterator[Statement]:
    """The loop that counts, around what an iteration does."""
    symbol = storage.counter
    if symbol is not None:
        start, stop = bounds or (symbol.lower, symbol.extent or 0)
        equations = node.body.block.graph.equations
        alone = not storage.carried and not any(map(calls_python, equations))
        yield For(symbol, stop, body, start=start, ordered=True, independent=alone)


def while_(condition: Writer, test: Statements, body: Statements) -> While:
    """The loop with a condition, which a test computes."""
    (holds,) = condition.block.results
    declared, value = condition.number(holds, None)
    return While(value, body, (*test, *declared))


def end(writer: Writer, storage: LoopStorage) -> Iterator[Statement]:
    """What brings the results of a loop to their places, where they are not there already."""
    for c in storage.carried:
        if isinstance(c.current, Variable):
            if c.final != c.current:
                yield c.final.store((), c.current.load())
        elif c.following is not None and c.following == c.final:
            yield Swap(c.current.name, c.following.name)
        elif isinstance(c.final, Place) and c.final != c.current:
            yield _copied(writer, c.current, c.final)


def _copied(writer: Writer, source: Place, target: Place) -> Statement:
    loops = [Symbol(writer.loop_name(d), 0, e) for d, e in enumerate(source.shape)]
    index = tuple(Dim.of(s) for s in loops)
    copy: Statement = target.store(index, source.load(index))
    for symbol in reversed(loops):
        copy = For(symbol, symbol.extent or 0, (copy,))
    return copy


# --------------------------------------------------------------------------------------- branches


def declarations(storage: BranchStorage) -> Iterator[Statement]:
    """The variables for numbers that the branches give."""
    for variable in storage.declared:
        nothing = Literal(np.zeros((), variable.dtype)[()], variable.dtype)
        yield Declare(variable.name, nothing, constant=False)


def choice(writer: Writer, node: Branch, bodies: Sequence[Statements]) -> Iterator[Statement]:
    """The body with the number that is chosen; of the numbers without one the nearest."""
    declared, index = writer.number(node.chosen, node)
    yield from declared
    if len(bodies) == 1:
        yield from bodies[0]
    elif index.dtype == BOOL:
        yield from _either(index, bodies[1], bodies[0])
    else:
        yield from _chain(writer, index, bodies)


def _chain(writer: Writer, index: Expr, bodies: Sequence[Statements]) -> Iterator[Statement]:
    """`if (index <= 0) ... else if (index == 1) ... else ...`"""
    if isinstance(index, Apply):
        name = writer.scope.new("branch")
        yield Declare(name, index)
        index = Variable(name, index.dtype).load()
    chosen = bodies[-1]
    for number in range(len(bodies) - 2, -1, -1):
        comparison = "equal" if number else "less_equal"
        here = Apply(comparison, (index, Literal(index.dtype.type(number), index.dtype)), BOOL)
        chosen = _either(here, bodies[number], chosen)
    yield from chosen


def _either(condition: Expr, body: Statements, orelse: Statements) -> Statements:
    if body:
        return (If(condition, body, orelse),)
    return (If(Apply("logical_not", (condition,), BOOL), orelse),) if orelse else ()
