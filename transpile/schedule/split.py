"""Split: cut a loop where a condition on its index changes, so that no iteration has to test it.

Pads and concatenations are values chosen by where the index lies (`Within`). Index-set splitting
runs the loop over each piece with the choice made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from transpile.loops import (
    Apply,
    Expr,
    For,
    Literal,
    Program,
    Statement,
    Within,
    expressions,
    map_statement,
    subexpressions,
    substitute_index,
    walk,
)
from transpile.options import Options
from transpile.types import BOOL, Dim, Index, Symbol, bounds, symbols_of

# More pieces, or more statements in them all, than this would make the text longer than it is
# worth.
MOST_PIECES = 6
MOST_STATEMENTS = 400


def split(program: Program, options: Options) -> Program:
    """The program with its loops cut at the conditions on their indices."""
    return replace(
        program, kernels=tuple(replace(k, body=tuple(_body(k.body))) for k in program.kernels)
    )


def _body(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, For):
            yield from _loop(statement)
        else:
            yield statement


def _loop(loop: For) -> Iterator[Statement]:
    loop = _decided(loop)
    cuts = _cuts(loop)
    if not cuts:
        yield replace(loop, body=tuple(_body(loop.body)))
        return
    ends = [*cuts, loop.stop]
    start = loop.start
    for end in ends:
        yield from _piece(loop, start, end)
        start = end


def _piece(loop: For, start: Index, end: Index) -> Iterator[Statement]:
    if end - start == 1:
        inner = tuple(substitute_index(s, loop.symbol, start) for s in loop.body)
        yield from _body(tuple(_simplified(s) for s in inner))
        return
    low = start if isinstance(start, int) else 0
    symbol = Symbol(loop.symbol.name, low, end)
    inner = tuple(substitute_index(s, loop.symbol, Dim.of(symbol)) for s in loop.body)
    piece = For(symbol, end, tuple(_simplified(s) for s in inner), start=start)
    yield replace(piece, body=tuple(_body(piece.body)))


def _decided(loop: For) -> For:
    return replace(loop, body=tuple(_simplified(s) for s in loop.body))


def _cuts(loop: For) -> list[int]:
    """Where the conditions on the loop's own index change; none when that is too often."""
    if not isinstance(loop.start, int) or not isinstance(loop.stop, int):
        return []
    cuts: set[int] = set()
    for statement in walk(loop.body):
        for expr in expressions(statement):
            for part in subexpressions(expr):
                if isinstance(part, Within) and symbols_of(part.index) == {loop.symbol}:
                    cuts |= _changes(part, loop.symbol)
    inside = sorted(c for c in cuts if loop.start < c < loop.stop)
    statements = sum(1 for _ in walk(loop.body))
    if len(inside) >= MOST_PIECES or (len(inside) + 1) * statements > MOST_STATEMENTS:
        return []
    return inside


def _changes(condition: Within, symbol: Symbol) -> set[int]:
    """The first iterations at which `low <= a*i + b` and `a*i + b < high` change."""
    index = condition.index
    if (
        not isinstance(index, Dim)
        or not isinstance(condition.low, int)
        or not isinstance(condition.high, int)
    ):
        return set()
    slope = dict(index.terms).get((symbol,), 0)
    rest = index - Dim.of(symbol) * slope
    if not slope or not isinstance(rest, int):
        return set()
    changes = set()
    for bound in (condition.low, condition.high):
        # slope > 0: first i with slope*i + rest >= bound; slope < 0: the first with it < bound.
        if slope > 0:
            changes.add(-((rest - bound) // slope))
        else:
            changes.add((rest - bound) // -slope + 1)
    return changes


def _simplified(statement: Statement) -> Statement:
    """The statement with every condition that is decided by the ranges resolved."""
    return map_statement(statement, _decide, lambda index: index)


def _decide(expr: Expr) -> Expr:
    if isinstance(expr, Within):
        low, high = bounds(expr.index - expr.low)[0], bounds(expr.high - expr.index)[0]
        if low is not None and high is not None and low >= 0 and high >= 1:
            return Literal(np.True_, BOOL)
        below, above = bounds(expr.index - expr.low)[1], bounds(expr.high - expr.index)[1]
        if (below is not None and below < 0) or (above is not None and above < 1):
            return Literal(np.False_, BOOL)
    if isinstance(expr, Apply) and expr.op == "select" and isinstance(expr.args[0], Literal):
        return expr.args[1] if expr.args[0].value else expr.args[2]
    return expr
