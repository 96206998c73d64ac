"""Subscripts as Python counts them, by a branch that is predicted.

    at = min(max(i < 0 ? i + n : i, 0), n - 1)   ->   at = subscript(i, n)
    at = min(i, n - 1), where i is not negative  ->   at = subscript(i, n)
    at = max(i < 0 ? i + n : i, 0), where i < n  ->   at = subscript(i, n)
    if (at == (i < 0 ? i + n : i)) x[at] = y     ->   if (checked_subscript(i, n) >= 0) x[at] = y

The choices on the left are three dependent instructions, for which the load of the element waits:
as long as the load itself takes where the next subscript depends on the element, as in a walk
through a linked list. Nearly all subscripts are places already, which a branch tells the processor
in advance (`runtime_c/arithmetic/subscript.h`). Subscripts that are tested wait for one branch, too
(`checked_subscripts.py`), and so does the test that a clamped place was one: it asks nothing of the
place. Vector loops keep the choices, which are masks.
Runs after `vectorize_loops`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import partial

import numpy as np

from transpile.analysis.integer_ranges import Facts
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.dims import sole_symbol
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Literal,
    Program,
    Ref,
    Statement,
)
from transpile.ir.loop_rewrite import (
    map_bodies,
    map_expr,
    names_read,
    subexpressions,
    walk,
    with_bodies,
)
from transpile.ir.types import BOOL, INT64
from transpile.options import Options
from transpile.schedule.cleanup.ranges.settled_comparisons import watch
from transpile.schedule.cleanup.subscripts.checked_subscripts import (
    checked,
    counted_from_the_end,
    is_last,
    sunk,
    updated,
)
from transpile.util.frozen_records import changed, same

Body = tuple[Statement, ...]


@contract(requires=(LANES_BOUND,))
def predict_subscripts(program: Program, options: Options) -> Program:
    """The program with such subscripts in its scalar code."""
    settled = _settled(program)
    return map_bodies(program, lambda body: _body(body, settled))


def _settled(program: Program) -> set[int]:
    """The declarations, by `id`, of numbers that ranges say enough of: capped ones that are not
    negative (one that says where a slice begins backwards may be -1), and others that are below
    the length from whose end they count."""
    statements = (s for k in program.kernels for s in walk(k.body))
    declared = [s for s in statements if isinstance(s, Declare) and s.dtype == INT64]
    capped = {id(s) for s in declared if s.symbol is not None and _capped(s.value) is not None}
    below = {id(s): found for s in declared if (found := _not_capped(s)) is not None}
    refused = set()

    def watched(statement: Declare, facts: Facts) -> None:
        match statement.value:
            case Apply(args=(x, _)) if id(statement) in capped:
                if not {0, 1}.issuperset(facts.signs_by_cases(x, Literal(np.int64(0), INT64))):
                    refused.add(id(statement))
        if id(statement) in below and set(facts.signs_by_cases(*below[id(statement)])) - {-1}:
            refused.add(id(statement))

    if capped or below:
        watch(program, watched)
    return (capped | below.keys()) - refused


def _not_capped(statement: Declare) -> tuple[Expr, Expr] | None:
    """The number and the length of a place without a test of its upper end; None for others."""
    match statement.value:
        case Apply(op="maximum", args=(place, Literal(value=0))) if statement.symbol is not None:
            return counted_from_the_end(place)
    return None if statement.symbol is not None else counted_from_the_end(statement.value)


def _body(body: Body, settled: Set[int]) -> Body:
    after = tuple(_statements(body, settled))
    for number in reversed(range(len(after))):
        statement = after[number]
        if isinstance(statement, Declare) and statement.dtype == INT64:
            tested = checked(statement, after[number + 1 :], id(statement) in settled)
            if tested is not None:
                after = (*after[:number], *sunk(*tested))
    return same(body, after)


def _statements(body: Body, settled: Set[int]) -> list[Statement]:
    chosen: dict[str, Expr] = {}  # constants that count from the end, which have not changed since
    places: dict[str, Apply] = {}  # the subscripts that constants are, where their numbers have not
    result: list[Statement] = []
    for statement in body:
        if isinstance(statement, If):
            test = map_expr(statement.condition, partial(_asked, places=places, chosen=chosen))
            statement = changed(statement, condition=test)
        if isinstance(statement, Declare) and statement.dtype == INT64:
            found = _subscript(statement.value, chosen)
            if found is None and id(statement) in settled and statement.symbol is not None:
                found = _capped(statement.value) or _raised(statement.value)
            statement = changed(statement, value=found or statement.value)
            if statement.constant and counted_from_the_end(statement.value) is not None:
                chosen[statement.name] = statement.value
            place = _place(statement.value, places)
            if statement.symbol is not None and place is not None:
                places[statement.name] = place
        elif not (isinstance(statement, For) and statement.simd):
            statement = with_bodies(statement, lambda inner: _body(inner, settled))
        for name in updated(statement):
            chosen = {n: v for n, v in chosen.items() if name not in names_read(Declare(n, v))}
            places = {n: v for n, v in places.items() if name not in names_read(Declare(n, v))}
        result.append(statement)
    return result


def _subscript(value: Expr, chosen: Mapping[str, Expr]) -> Expr | None:
    """The place that a clamped choice gives; None for other expressions."""
    match value:
        case Apply(op="minimum", args=(Apply(op="maximum", args=(place, Literal(value=0))), last)):
            found = _from_the_end(place, chosen)
            if found is not None and is_last(last, found[1]):
                return Apply("subscript", found, INT64)
    return None


def _capped(value: Expr) -> Expr | None:
    """The place that a choice gives, if it is of a number that is not negative; None for other
    expressions, and for those of counters alone: compilers put loops over these in lanes."""
    match value:
        case Apply(op="minimum", args=(x, last)) if any(
            isinstance(part, Ref) for part in subexpressions(x)
        ):
            match last:
                case Literal(value=high):
                    return Apply("subscript", (x, Literal(np.int64(int(high) + 1), INT64)), INT64)
                case IndexValue(index=high):
                    return Apply("subscript", (x, IndexValue(high + 1)), INT64)
    return None


def _raised(value: Expr) -> Expr | None:
    """The place that `max(x < 0 ? x + n : x, 0)` gives, if x is below n."""
    match value:
        case Apply(op="maximum", args=(place, Literal(value=0))):
            found = counted_from_the_end(place)
            return None if found is None else Apply("subscript", found, INT64)
    return None


def _asked(test: Expr, places: Mapping[str, Apply], chosen: Mapping[str, Expr]) -> Expr:
    """The test whether the place of a number is in range for the test that it was not clamped;
    other expressions as they are."""
    match test:
        case Apply(op="equal", args=(IndexValue() as index, unclamped)):
            place = _place(index, places)
            if place is not None and _from_the_end(unclamped, chosen) == place.args:
                found = Apply("checked_subscript", place.args, INT64)
                return Apply("greater_equal", (found, Literal(np.int64(0), INT64)), BOOL)
    return test


def _place(value: Expr, places: Mapping[str, Apply]) -> Apply | None:
    """The subscript that a number is, which may have a name; None for other numbers."""
    match value:
        case Apply(op="subscript"):
            return value
        case Ref(name=name):
            return places.get(name)
        case IndexValue(index=index):
            symbol = sole_symbol(index)
            return None if symbol is None else places.get(symbol.name)
    return None


def _from_the_end(value: Expr, chosen: Mapping[str, Expr]) -> tuple[Expr, Expr] | None:
    """The number and the length of `x < 0 ? x + n : x`, which may have a name."""
    if isinstance(value, Ref) and value.name in chosen:
        value = chosen[value.name]
    return counted_from_the_end(value)
