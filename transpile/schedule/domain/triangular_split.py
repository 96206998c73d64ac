"""Index-set splitting at diagonals: resolve comparisons of a loop's index with an outer one's.

    for i: for j in 0..n: out[i, j] = j <= i ? x[i, j] : y[i, j]
    for i: for j in 0..i + 1: out[i, j] = x[i, j];  for j in i + 1..n: out[i, j] = y[i, j]

The subscript of a cut is affine in outer symbols, with provable order within the loop's bounds. A
part that only copies elements to themselves is removed: a masked update of a row runs over the
masked part.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import (
    BOUNDS_RESOLVED,
    DIAGONALS_RESOLVED,
    NO_DEAD_SCALARS,
    NO_LANES,
    OF_LOOPS,
    SUBEXPRESSIONS_SHARED,
)
from transpile.ir.dims import Dim, Index, bounds, symbols_of
from transpile.ir.indices.values import as_index, as_value, of_indices
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    Literal,
    Program,
    Ref,
    Statement,
    Update,
    Within,
)
from transpile.ir.loop_rewrite import (
    children,
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
from transpile.schedule.domain.index_set_split import pieces, resolved, unique_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, replace, same


# Comparisons with bounds would be cut at diagonals as well.
@contract(
    requires=(NO_LANES, BOUNDS_RESOLVED),
    provides=(DIAGONALS_RESOLVED,),
    destroys=(*OF_LOOPS, SUBEXPRESSIONS_SHARED, NO_DEAD_SCALARS),
)
def split_triangles(program: Program, options: Options) -> Program:
    """The program with loops split where such comparisons change."""
    machine = options.machine
    names = Names(names_in(program))

    def cut(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        after = same(body, tuple(_body(body, machine)))
        if after is body:
            return body
        return _without_zeros(without_copies(unique_names(after, names)), frozenset())

    return map_bodies(program, cut)


def _body(body: tuple[Statement, ...], machine: Machine) -> Iterator[Statement]:
    for statement in body:
        inner = with_bodies(statement, lambda b: tuple(_body(b, machine)))
        if isinstance(inner, For) and not inner.ordered and inner.limit is None:
            yield from _loop(inner, machine)
        else:
            yield inner


def _loop(loop: For, machine: Machine) -> Iterator[Statement]:
    most = machine.most_piece_statements // max(1, len(list(walk(loop.body))))
    for version in (_with_comparisons(loop), loop):
        tests = {t: changes for t in _tests(version) if (changes := _cuts(t, version)) is not None}
        candidates = sorted({cut for changes in tests.values() for cut, _ in changes}, key=str)
        cuts = _ordered(candidates, version, machine)
        if cuts and len(cuts) < most:
            yield from _cut_up(version, tests, cuts, machine)
            return
    yield loop


def _with_comparisons(loop: For) -> For:
    """The loop with comparisons for ranges in which its index and an outer one lie together."""

    def compared(expr: Expr) -> Expr:
        if not isinstance(expr, Within) or symbols_of(expr.index) <= {loop.symbol}:
            return expr
        if loop.symbol not in symbols_of(expr.index):
            return expr
        index = as_value(expr.index)
        above = of_indices(Apply("greater_equal", (index, as_value(expr.low)), BOOL))
        below = of_indices(Apply("less", (index, as_value(expr.high)), BOOL))
        return _folded(Apply("logical_and", (above, below), BOOL))

    return changed(loop, body=same(loop.body, tuple(map_statement(s, compared) for s in loop.body)))


def _cut_up(
    loop: For, tests: dict[Apply, list[tuple[Index, bool]]], cuts: list[Index], machine: Machine
) -> Iterator[Statement]:
    """The pieces of a loop between its cuts, in which the tests are resolved."""
    edges: list[Index] = [loop.start, *cuts, loop.stop]
    for number, (start, end) in enumerate(pairwise(edges)):
        values: dict[Expr, Expr] = {
            test: Literal(np.bool_(_holds(changes, cuts[:number])), BOOL)
            for test, changes in tests.items()
        }
        body = tuple(_resolved_statements(loop.body, values))
        yield from pieces(replace(loop, body=body), start, end, machine)


def _resolved_statements(
    body: tuple[Statement, ...], values: dict[Expr, Expr]
) -> Iterator[Statement]:
    """The statements with these values, without scalars that turn out to be numbers."""
    values = dict(values)
    for statement in body:
        after = map_statement(statement, partial(_resolved, values))
        match after:
            case Declare(name=name, constant=True, symbol=None, value=Literal() as number):
                values[Ref(name, number.dtype)] = number
            case _:
                yield after


def _resolved(values: dict[Expr, Expr], expr: Expr) -> Expr:
    return _folded(resolved(values.get(expr, expr)))


def _folded(expr: Expr) -> Expr:
    """The expression, where it is a conjunction with a known truth, or a function of numbers."""
    match expr:
        case Apply(op="convert_element_type", args=(Literal(value=truth, dtype=dtype),)):
            return Literal(expr.dtype.type(truth), expr.dtype) if dtype == BOOL else expr
    if not isinstance(expr, Apply) or len(expr.args) != 2:
        return expr
    known = [a.dtype.type(a.value) for a in expr.args if isinstance(a, Literal)]
    if len(known) == 2 and expr.primitive.commutative:
        return Literal(expr.primitive.numpy(*known), expr.dtype)
    if expr.dtype == BOOL and known:
        absorbing, neutral = expr.primitive.absorbing(BOOL), expr.primitive.neutral(BOOL)
        for one, other in (expr.args, expr.args[::-1]):
            if absorbing is not None and one == Literal(absorbing, BOOL):
                return one
            if neutral is not None and one == Literal(neutral, BOOL):
                return other
    return expr


def _without_zeros(body: tuple[Statement, ...], sums: frozenset[str]) -> tuple[Statement, ...]:
    """The statements without additions of 0.0 to sums that start at 0.0: these are never -0.0."""
    updates = [s for s in walk(body) if isinstance(s, Update)]
    others = {s.target.name for s in updates if isinstance(s.target, Ref) and s.op != "add"}
    starts = (s for s in body if isinstance(s, Declare) and not s.constant and _is_zero(s.value))
    sums |= {s.name for s in starts} - others
    kept: list[Statement] = []
    for statement in body:
        match statement:
            case Update(target=Ref(name=name), value=value) if name in sums and _is_zero(value):
                continue
            case _:
                inner = with_bodies(statement, lambda b: _without_zeros(b, sums))
                if inner is statement or children(inner):
                    kept.append(inner)
    return same(body, tuple(kept))


def _is_zero(value: Expr) -> bool:
    return isinstance(value, Literal) and value == Literal(np.zeros((), value.dtype), value.dtype)


def _tests(loop: For) -> dict[Apply, None]:
    """The integer comparisons in a loop's body."""
    return {
        part: None
        for statement in walk(loop.body)
        for part in parts(statement)
        if isinstance(part, Apply) and part.primitive.signs and part.args[0].dtype.kind in "iu"
    }


def _cuts(test: Apply, loop: For) -> list[tuple[Index, bool]] | None:
    """The iterations at which a comparison changes, each with its value before; two for an
    equality. None if they are not affine in symbols from outside the loop."""
    left, right = map(as_index, test.args)
    if left is None or right is None:
        return None
    difference = left - right
    if not isinstance(difference, Dim):
        return None
    slope = dict(difference.terms).get((loop.symbol,), 0)
    other = difference - Dim.of(loop.symbol) * slope
    if abs(slope) != 1 or loop.symbol in symbols_of(other) or not isinstance(other, Dim):
        return None
    inside = {s.symbol for s in walk(loop.body) if isinstance(s, For | Declare) and s.symbol}
    if not inside.isdisjoint(other.symbols()):
        return None
    zero = other * -slope
    signs = test.primitive.signs  # of the difference, which is 0 at `zero`
    before, at_zero, after = (sign in signs for sign in (-slope, 0, slope))
    changes = [(zero, before)] if before != at_zero else []
    return [*changes, (zero + 1, at_zero)] if at_zero != after else changes


def _ordered(cuts: list[Index], loop: For, machine: Machine) -> list[Index]:
    """The cuts in order; empty unless their order is known and they are within the loop's
    bounds."""
    if not cuts or len(cuts) > machine.most_diagonal_cuts:
        return []
    distances = {d: cut for cut in cuts if isinstance(d := cut - cuts[0], int)}
    if len(distances) < len(cuts):
        return []
    ordered = [distances[d] for d in sorted(distances)]
    low, high = bounds(ordered[0] - loop.start)[0], bounds(loop.stop - ordered[-1])[0]
    return ordered if low is not None and low >= 0 and high is not None and high >= 0 else []


def _holds(changes: list[tuple[Index, bool]], passed: list[Index]) -> bool:
    """The value of a comparison after these cuts."""
    if len(changes) == 2:
        (first, outside), (last, _) = changes
        is_at = first in passed and last not in passed
        return not is_at if outside else is_at
    ((cut, before),) = changes
    return before != (cut in passed)
