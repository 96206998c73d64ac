"""Loop unswitching: rows that a condition leaves as they are, are not visited.

    for i:                                          for i:
        for j: x[i, j] = m[i] ? v : x[i, j]   ->        if m[i]:
                                                            for j: x[i, j] = v

    for j: x[i, j] = j == i ? v : x[i, j]     ->    x[i, i] = v

    for i in 0..n: if 0 <= i < m: x[i, i] = v ->    for i in 0..min(n, m): x[i, i] = v

So is an assignment to rows that a mask selects, where it is made in the array itself. Runs after
`donate_arguments`, which says where that is.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.analysis.elements.bounds import (
    OUTSIDE,
    Ranges,
    inside,
    is_in_bounds,
    map_with_arrays,
)
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES
from transpile.ir.dims import Dim, Index, Symbol, symbols_of
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Expr,
    For,
    If,
    IndexValue,
    Load,
    Program,
    Statement,
    Store,
    Within,
)
from transpile.ir.loop_rewrite import (
    loads_of,
    substitute_index,
    with_bodies,
)
from transpile.options import Options
from transpile.schedule.cleanup.licm import Invariant
from transpile.util.frozen_records import replace, same

Body = tuple[Statement, ...]


@contract(requires=(NO_LANES,))
def skip_kept_rows(program: Program, options: Options) -> Program:
    """The program in which loops are behind a test that store what is there unless it holds."""
    return map_with_arrays(program, lambda arrays, body: _body(body, arrays, OUTSIDE))


def _body(body: Body, arrays: Mapping[str, Buffer], ranges: Ranges) -> Body:
    return same(body, tuple(_statement(s, arrays, ranges) for s in body))


def _statement(statement: Statement, arrays: Mapping[str, Buffer], ranges: Ranges) -> Statement:
    within = inside(statement, ranges) if isinstance(statement, For) else ranges
    statement = with_bodies(statement, lambda body: _body(body, arrays, within))
    if not isinstance(statement, For) or len(statement.body) != 1:
        return statement
    guarded = _guarded(statement.body[0])
    if guarded is None:
        return statement
    condition, body = guarded
    place = _only_place(condition, statement.symbol)
    if place is not None and statement.limit is None:
        chosen = tuple(substitute_index(s, statement.symbol, place) for s in body)
        return If(Within(place, statement.start, statement.stop), chosen)
    restricted = _restricted(statement, condition, body)
    if restricted is not None:
        return restricted
    if not Invariant(statement).has(condition):
        return statement
    # The test is made where the loop has no iterations, too.
    if not all(is_in_bounds(load, arrays, ranges) for load in loads_of(condition)):
        return statement
    return If(condition, (replace(statement, body=body),))


def _restricted(loop: For, condition: Expr, body: Body) -> For | None:
    """The loop over the part of its range that a condition is about; None if it is about another
    range, or nothing is left."""
    if not isinstance(condition, Within) or loop.limit is not None:
        return None
    before = condition.index - Dim.of(loop.symbol)
    match before, condition.low, condition.high, loop.start, loop.stop:
        case int(), int(low), int(high), int(start), int(stop):
            start, stop = max(start, low - before), min(stop, high - before)
            return replace(loop, start=start, stop=stop, body=body) if start < stop else None
        case _:
            return None


def _only_place(condition: Expr, symbol: Symbol) -> Index | None:
    """Where a loop's index is if the condition holds, which says what it is equal to."""
    if not isinstance(condition, Apply) or condition.op != "equal":
        return None
    sides = [a.index if isinstance(a, IndexValue) else None for a in condition.args]
    for own, other in (sides, sides[::-1]):
        if own == Dim.of(symbol) and other is not None and symbol not in symbols_of(other):
            return other
    return None


def _guarded(statement: Statement) -> tuple[Expr, Body] | None:
    """A condition without which a statement does nothing, and what it does else."""
    match statement:
        case If(condition=condition, body=body, orelse=()):
            return condition, body
        case Store(value=Apply(op="select", args=(condition, value, Load() as kept))) if (
            kept.buffer,
            kept.index,
        ) == (statement.buffer, statement.index):
            return condition, (replace(statement, value=value),)
    return None
