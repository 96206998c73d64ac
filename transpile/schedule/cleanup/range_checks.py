"""In range: a subscript that counts only where it is one needs no bounds of its own.

The place of an update that may lie outside the array is first the nearest element's, so that the
subscript is always good; then the update is made if that is the place which was asked for. Where
nothing else reads the subscript, it is as well the place itself, inside a question for its range:
two comparisons and a branch for each update instead of two choices and them.
"""

from __future__ import annotations

from functools import reduce

from transpile.ir.dims import Dim, Index, symbols_of
from transpile.ir.loop_ir import Apply, Declare, Expr, If, IndexValue, Program, Ref, Statement
from transpile.ir.loop_rewrite import map_statement, with_bodies
from transpile.ir.types import BOOL
from transpile.options import Options
from transpile.primitives.kinds import comparison_of
from transpile.util.frozen_records import dataclass, replace, same


def simplify_range_checks(program: Program, options: Options) -> Program:
    """The program with such places asked for their range."""
    return replace(program, kernels=tuple(replace(k, body=_body(k.body)) for k in program.kernels))


def _body(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    body = same(body, tuple(with_bodies(s, _body) for s in body))
    if not body or not isinstance(body[-1], If) or body[-1].orelse:
        return body
    before, (tests, inner) = list(body[:-1]), _tests(body[-1])
    moved: list[Statement] = []
    for subscript in [s for s in body[:-1] if isinstance(s, Declare)]:
        asked = _asked(subscript)
        if asked is None or tests.count(asked.test) != 1:
            continue
        readers = [*before, *(If(t, ()) for t in tests if t != asked.test)]
        if not any(_reads(s, subscript) for s in readers):
            before.remove(subscript)
            moved.append(replace(subscript, value=asked.place))
            tests[tests.index(asked.test)] = asked.question
    if not moved:
        return body
    inner = (*moved, *inner)
    for test in reversed(tests):
        inner = (If(test, inner),)
    return (*before, *inner)


def _tests(statement: If) -> tuple[list[Expr], tuple[Statement, ...]]:
    """The conditions of branches that have nothing else in them, and what the last one runs."""
    tests, inner = [statement.condition], statement.body
    while len(inner) == 1 and isinstance(inner[0], If) and not inner[0].orelse:
        tests.append(inner[0].condition)
        inner = inner[0].body
    return tests, inner


@dataclass(frozen=True)
class _Asked:
    """The place that a subscript is made of, the test whether they are equal, and the question for
    the place's range, which is the same."""

    place: Ref
    test: Expr
    question: Expr


def _asked(subscript: Declare) -> _Asked | None:
    """What is to ask about a subscript that is a place, bounded."""
    if subscript.symbol is None:
        return None
    value, questions = subscript.value, []
    while isinstance(value, Apply) and value.primitive.chooses:
        inner, bound = value.args
        is_chosen = comparison_of(value.primitive.chooses, 0)
        questions.append(Apply(is_chosen.name, (_innermost(inner), bound), BOOL))
        value = inner
    if not isinstance(value, Ref) or not questions:
        return None
    test = Apply("equal", (IndexValue(Dim.of(subscript.symbol)), value), BOOL)
    both = reduce(lambda x, y: Apply("logical_and", (x, y), BOOL), reversed(questions))
    return _Asked(value, test, both)


def _innermost(value: Expr) -> Expr:
    while isinstance(value, Apply) and value.primitive.chooses:
        value = value.args[0]
    return value


def _reads(statement: Statement, declared: Declare) -> bool:
    """Tell whether a statement reads a subscript."""
    found = False

    def on_index(index: Index) -> Index:
        nonlocal found
        found = found or declared.symbol in symbols_of(index)
        return index

    map_statement(statement, lambda expr: expr, on_index)
    return found
