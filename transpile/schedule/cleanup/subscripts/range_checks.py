"""Simplify range checks: a clamped subscript whose update is guarded by equality needs no clamp.

An update that may be out of bounds is lowered to a clamped subscript and a test that clamping
changed nothing. Where nothing else reads the subscript, the test is on the range itself:

    k = min(max(i, 0), n - 1);  if k == i: out[k] += x
    if i >= 0 and i <= n - 1: k = i;  out[k] += x
"""

from __future__ import annotations

from functools import reduce

from transpile.ir.contracts import contract
from transpile.ir.dims import Dim, Index, symbols_of
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    If,
    IndexValue,
    Program,
    Ref,
    Statement,
    Update,
)
from transpile.ir.loop_rewrite import map_statement, walk, with_bodies
from transpile.ir.types import BOOL
from transpile.options import Options
from transpile.primitives.kinds import comparison_of
from transpile.util.frozen_records import dataclass, replace, same

Body = tuple[Statement, ...]


@contract()
def simplify_range_checks(program: Program, options: Options) -> Program:
    """The program with such tests on ranges."""
    return replace(program, kernels=tuple(replace(k, body=_body(k.body)) for k in program.kernels))


def _body(body: Body) -> Body:
    body = same(body, tuple(with_bodies(s, _body) for s in body))
    number = len(body)
    while number > 0:
        number -= 1
        match body[number]:
            case If(orelse=()) as branch:
                behind = body[number + 1 :]
                before = _before(body[:number], branch, behind)
                body = same(body, (*before, *behind))
                number = len(before) - 1
    return body


def _before(body: Body, branch: If, behind: Body) -> Body:
    """The statements up to a branch, given those behind it."""
    before, (tests, inner) = list(body), _tests(branch)
    moved: list[Statement] = []
    for subscript in [s for s in body if isinstance(s, Declare)]:
        clamped = _clamped(subscript)
        if clamped is None or tests.count(clamped.test) != 1:
            continue
        readers = [*before, *behind, *(If(t, ()) for t in tests if t != clamped.test)]
        between = body[body.index(subscript) + 1 :]
        if not any(_reads(s, subscript) for s in readers) and not any(
            _updates(s, clamped.unclamped) for s in walk(between)
        ):
            before.remove(subscript)
            moved.append(replace(subscript, value=clamped.unclamped))
            tests[tests.index(clamped.test)] = clamped.in_range
    if not moved:
        return (*body, branch)
    inner = (*moved, *inner)
    for test in reversed(tests):
        inner = (If(test, inner),)
    return (*before, *inner)


def _tests(statement: If) -> tuple[list[Expr], tuple[Statement, ...]]:
    """The conditions of directly nested branches, and the body of the innermost."""
    tests, inner = [statement.condition], statement.body
    while len(inner) == 1 and isinstance(inner[0], If) and not inner[0].orelse:
        tests.append(inner[0].condition)
        inner = inner[0].body
    return tests, inner


@dataclass(frozen=True)
class _Clamped:
    """A clamped subscript: the unclamped value, the test that both are equal, and the equivalent
    test of the range."""

    unclamped: Ref
    test: Expr
    in_range: Expr


def _clamped(subscript: Declare) -> _Clamped | None:
    """The parts of a clamped subscript; None for other declarations."""
    if subscript.symbol is None:
        return None
    value, checks = subscript.value, []
    while isinstance(value, Apply) and value.primitive.chooses:
        inner, bound = value.args
        comparison = comparison_of(value.primitive.chooses, 0)
        checks.append(Apply(comparison.name, (_innermost(inner), bound), BOOL))
        value = inner
    if not isinstance(value, Ref) or not checks:
        return None
    test = Apply("equal", (IndexValue(Dim.of(subscript.symbol)), value), BOOL)
    conjunction = reduce(lambda x, y: Apply("logical_and", (x, y), BOOL), reversed(checks))
    return _Clamped(value, test, conjunction)


def _innermost(value: Expr) -> Expr:
    while isinstance(value, Apply) and value.primitive.chooses:
        value = value.args[0]
    return value


def _updates(statement: Statement, scalar: Ref) -> bool:
    return isinstance(statement, Update) and statement.target == scalar


def _reads(statement: Statement, declared: Declare) -> bool:
    """True if a statement reads a subscript."""
    is_read = False

    def on_index(index: Index) -> Index:
        nonlocal is_read
        is_read = is_read or declared.symbol in symbols_of(index)
        return index

    def on_expr(expr: Expr) -> Expr:
        nonlocal is_read
        is_read = is_read or (isinstance(expr, Ref) and expr.name == declared.name)
        return expr

    map_statement(statement, on_expr, on_index)
    return is_read
