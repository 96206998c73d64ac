"""Triangles: a loop is cut where a comparison of its index with that of a loop around it changes.

`where(j <= i, x, y)` over i and j is x up to the diagonal and y after it: two loops without a test.
What is only a copy of an element to itself is no loop at all, so that a masked update of a row
touches the masked part alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from transpile.fusion.index_lambda import as_index
from transpile.ir.dims import Dim, Index, bounds, symbols_of
from transpile.ir.loop_ir import Apply, Declare, Expr, For, Literal, Program, Statement
from transpile.ir.loop_rewrite import (
    map_bodies,
    map_statement,
    names_in,
    parts,
    walk,
    with_bodies,
    without_copies,
)
from transpile.ir.types import BOOL
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.index_set_split import decided, distinct, pieces
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace, same


def split_triangles(program: Program, options: Options) -> Program:
    """The program with such loops cut."""
    machine = options.machine
    names = Names(names_in(program))

    def cut(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        found = same(body, tuple(_body(body, machine)))
        return body if found is body else without_copies(distinct(found, names))

    return map_bodies(program, cut)


def _body(body: tuple[Statement, ...], machine: Machine) -> Iterator[Statement]:
    for statement in body:
        inner = with_bodies(statement, lambda b: tuple(_body(b, machine)))
        if isinstance(inner, For) and not inner.ordered and inner.limit is None:
            yield from _loop(inner, machine)
        else:
            yield inner


def _loop(loop: For, machine: Machine) -> Iterator[Statement]:
    tests = {t: found for t in _tests(loop) if (found := _cuts(t, loop)) is not None}
    places = sorted({c for found in tests.values() for c, _ in found}, key=str)
    cuts = _ordered(places, loop, machine)
    if not cuts or len(list(walk(loop.body))) * (len(cuts) + 1) > machine.most_piece_statements:
        yield loop
        return
    edges = [loop.start, *cuts, loop.stop]
    for number, (start, end) in enumerate(pairwise(edges)):
        values: dict[Expr, Expr] = {
            test: Literal(np.bool_(_holds(found, cuts[:number])), BOOL)
            for test, found in tests.items()
        }
        body = tuple(map_statement(s, partial(_decided, values)) for s in loop.body)
        yield from pieces(replace(loop, body=body), start, end, machine)


def _decided(values: dict[Expr, Expr], expr: Expr) -> Expr:
    return decided(values.get(expr, expr))


def _tests(loop: For) -> dict[Apply, None]:
    """The comparisons of indices in a loop's body."""
    return {
        part: None
        for statement in walk(loop.body)
        for part in parts(statement)
        if isinstance(part, Apply) and part.primitive.signs and part.args[0].dtype.kind in "iu"
    }


def _cuts(test: Apply, loop: For) -> list[tuple[Index, bool]] | None:
    """Where a comparison changes as the loop's index goes up, and whether it holds before that, or
    from there; for an equality the two places."""
    left, right = map(as_index, test.args)
    if left is None or right is None:
        return None
    difference = left - right
    if not isinstance(difference, Dim):
        return None
    step = dict(difference.terms).get((loop.symbol,), 0)
    other = difference - Dim.of(loop.symbol) * step
    if abs(step) != 1 or loop.symbol in symbols_of(other) or not isinstance(other, Dim):
        return None
    inside = {s.symbol for s in walk(loop.body) if isinstance(s, For | Declare) and s.symbol}
    if not inside.isdisjoint(other.symbols()):
        return None
    place = other * -step
    signs = test.primitive.signs  # of the difference, which at `place` is 0
    before, there, after = (sign in signs for sign in (-step, 0, step))
    changes = [(place, before)] if before != there else []
    return [*changes, (place + 1, there)] if there != after else changes


def _ordered(cuts: list[Index], loop: For, machine: Machine) -> list[Index]:
    """The cuts in order, if that is known, and if they are in the loop's range; else none."""
    if not cuts or len(cuts) > machine.most_diagonal_cuts:
        return []
    distances = {d: cut for cut in cuts if isinstance(d := cut - cuts[0], int)}
    if len(distances) < len(cuts):
        return []
    ordered = [distances[d] for d in sorted(distances)]
    low, high = bounds(ordered[0] - loop.start)[0], bounds(loop.stop - ordered[-1])[0]
    return ordered if low is not None and low >= 0 and high is not None and high >= 0 else []


def _holds(found: list[tuple[Index, bool]], passed: list[Index]) -> bool:
    """Whether a comparison holds after the cuts passed."""
    if len(found) == 2:
        (first, outside), (last, _) = found
        is_at = first in passed and last not in passed
        return not is_at if outside else is_at
    ((place, before),) = found
    return before != (place in passed)
