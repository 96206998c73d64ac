"""Loops that end early: what the end's test chooses stands in its branch.

    stop = near | stop;                           if (near) {
    t = near ? t : t + d;                 ->          stop = true;
                                                  } else {
                                                      t += d;
                                                  }
    stop |= !(x & 1 << v);                        if (!(x & 1 << v)) {
    v += (x & 1 << v) != 0;               ->          stop = true;
                                                  } else {
                                                      v += 1;
                                                  }

A loop ends once, so that this branch is predicted: the next iteration need not wait for the test,
as it does where the test chooses what it begins with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, SUBEXPRESSIONS_SHARED
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    If,
    Literal,
    Program,
    Ref,
    Statement,
    Update,
    While,
)
from transpile.ir.loop_rewrite import map_bodies, names_read, walk, with_bodies
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL
from transpile.options import Options
from transpile.util.frozen_records import changed, same

Body = tuple[Statement, ...]
_TRUE = Literal(np.bool_(True), BOOL)


@contract(requires=(LANES_BOUND,), destroys=(SUBEXPRESSIONS_SHARED,))
def branch_on_exits(program: Program, options: Options) -> Program:
    """The program whose loops until a flag is set choose by branches where they set it."""
    return map_bodies(program, _body)


def _body(body: Body) -> Body:
    return same(body, tuple(map(_statement, body)))


def _statement(statement: Statement) -> Statement:
    statement = with_bodies(statement, _body)
    if not isinstance(statement, While):
        return statement
    for flag in _flags(statement.condition):
        inside = walk((*statement.test, *statement.body))
        if sum(isinstance(s, Update) and s.target == flag for s in inside) == 1:
            statement = changed(statement, body=_with_exits(statement.body, flag))
    return statement


def _flags(condition: Expr) -> Iterator[Ref]:
    """The variables that are false as long as the loop runs."""
    match condition:
        case Apply(op="logical_and", args=args):
            for arg in args:
                yield from _flags(arg)
        case Apply(op="logical_not", args=(Ref() as flag,)):
            yield flag


def _with_exits(body: Body, flag: Ref) -> Body:
    """The body, or that of a branch in it, in which the flag is set by branches."""
    for number, statement in enumerate(body):
        match statement:
            case Update(target=target, op=op) if target == flag and _sets(op):
                first, last = _run_around(body, number)
                chosen = _by_branches(body[first:last], flag, statement.value)
                return (*body[:first], *chosen, *body[last:])
            case If():
                after = with_bodies(statement, lambda inner: _with_exits(inner, flag))
                if after is not statement:
                    return (*body[:number], after, *body[number + 1 :])
    return body


def _sets(op: str) -> bool:
    """True for what leaves a flag that was false as what it is updated with."""
    return op == "set" or bool(TABLE[op].absorbing(BOOL))


def _run_around(body: Body, number: int) -> tuple[int, int]:
    """From where to where there are assignments to variables around one of them."""

    def assigns(s: Statement) -> bool:
        return isinstance(s, Update) and isinstance(s.target, Ref)

    first, last = number, number + 1
    while first > 0 and assigns(body[first - 1]):
        first -= 1
    while last < len(body) and assigns(body[last]):
        last += 1
    return first, last


def _by_branches(run: Body, flag: Ref, value: Expr) -> Body:
    """Assignments one of which sets the flag, with a branch for each test that does."""
    tests = [test for test in _alternatives(value) if test != flag]
    updates = [_as_assignment(s) for s in run if isinstance(s, Update)]
    choosing = [s for s in updates if s.target != flag and _chooses(s.value, tests)]
    others = [s for s in updates if s.target != flag and s not in choosing]
    if not choosing or not _are_apart(choosing, others, tests, flag):
        return run
    note = next(s for s in updates if s.target == flag)
    rest = _under(choosing, tests, None)
    for test in reversed(tests):
        arm = (changed(note, op="set", value=_TRUE), *_under(choosing, tests, test))
        rest = (If(test, arm, rest),)
        tests = tests[:-1]
    return (*rest, *others)


def _as_assignment(update: Update) -> Update:
    """The same update, of an integer, as an assignment of a sum."""
    target = update.target
    if update.op == "set" or target.dtype.kind != "i":
        return update
    return changed(update, op="set", value=Apply(update.op, (target, update.value), target.dtype))


def _alternatives(value: Expr) -> Iterator[Expr]:
    """The truths of which one is enough."""
    match value:
        case Apply(op="logical_or", args=args):
            for arg in args:
                yield from _alternatives(arg)
        case _:
            yield value


def _plain(test: Expr) -> tuple[Expr, bool]:
    """A truth without negations, and what it is where the test holds."""
    match test:
        case Apply(op="logical_not", args=(inner,)):
            plain, truth = _plain(inner)
            return plain, not truth
    return test, True


def _chooses(value: Expr, tests: Sequence[Expr]) -> bool:
    """True if the outermost choice of a value, or whether a sum adds 1, is by one of the tests."""
    test = _chosen_by(value)
    return test is not None and _plain(test)[0] in [_plain(t)[0] for t in tests]


def _chosen_by(value: Expr) -> Expr | None:
    match value:
        case Apply(op="select", args=(test, *_)):
            return test
        case Apply(op="add", args=(_, Apply(op="convert_element_type", args=(test,)))):
            return test if test.dtype == BOOL and value.dtype.kind == "i" else None
    return None


def _are_apart(
    choosing: Sequence[Update], others: Sequence[Update], tests: Sequence[Expr], flag: Ref
) -> bool:
    """True if the tests may come first, and the other assignments last."""
    first = {s.target.name for s in choosing if isinstance(s.target, Ref)}
    last = {s.target.name for s in others if isinstance(s.target, Ref)}
    read_by_tests = frozenset[str]().union(*(_names(test) for test in tests))
    read_first = frozenset[str]().union(*(names_read(s) for s in choosing))
    read_last = frozenset[str]().union(*(names_read(s) for s in others))
    return (
        read_by_tests.isdisjoint(first | last | {flag.name})
        and flag.name not in read_first | read_last
        and first.isdisjoint(last | read_last)
        and last.isdisjoint(read_first)
        and all(s.op == "set" for s in choosing)
    )


def _names(value: Expr) -> frozenset[str]:
    return names_read(Declare("test", value))


def _under(updates: Sequence[Update], tests: Sequence[Expr], holds: Expr | None) -> Body:
    """The assignments where one test holds, and those before it do not, or none does."""
    known: dict[Expr, bool] = {}
    for test in tests:
        plain, truth = _plain(test)
        known[plain] = truth if test is holds else not truth
    after = [changed(s, value=_settled(s.value, known)) for s in updates]
    return tuple(s for s in after if s.value != s.target)


def _settled(value: Expr, known: dict[Expr, bool]) -> Expr:
    test = _chosen_by(value)
    plain, truth = (None, True) if test is None else _plain(test)
    if plain not in known:
        return value
    holds = known[plain] is truth
    match value:
        case Apply(op="select", args=(_, x, y)):
            return _settled(x if holds else y, known)
        case Apply(op="add", args=(x, _)) if not holds:
            return x
        case Apply(op="add", args=(x, _)):
            one = Literal(value.dtype.type(1), value.dtype)
            return changed(value, args=(x, one))
    return value
