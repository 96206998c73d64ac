"""Loops that run until a flag is set end where its test stands.

    stop = false                              for (;;) {
    while (!stop) {                               x[i] += 1
        x[i] += 1                                 if (near) break
        if (near) stop = true          ->         i += 2
        else i += 2                               k += 1
        k += 1                                }
    }                                         k += 1

A flag is stored, and asked by the next iteration. What stands beside it in its branch, and behind
the branch, is done once the loop has ended: this is how a programmer writes it, and compilers keep
a loop of two tests apart from one of a flag. A flag that the iteration computes at its end, as of
`while True: ...; if near: break`, is the condition at the end. Loops that count as well, and end
where a flag is set, keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.loop_ir import (
    Alloc,
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
from transpile.ir.loop_rewrite import (
    changed_by,
    declared_names,
    map_bodies,
    map_expr,
    names_in,
    names_read,
    parts,
    walk,
    with_bodies,
)
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL
from transpile.options import Options
from transpile.schedule.cleanup.subscripts.checked_subscripts import updated
from transpile.schedule.lanes.outer.scopes import with_own_names
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, same

Body = tuple[Statement, ...]
_TRUE = Literal(np.bool_(True), BOOL)
_FALSE = Literal(np.bool_(False), BOOL)


@contract(requires=(LANES_BOUND,))
def end_at_tests(program: Program, options: Options) -> Program:
    """The program whose loops until a flag is set end at the test that sets it."""
    names = Names(names_in(program))
    return map_bodies(program, partial(_body, after=frozenset(), names=names))


def _body(body: Body, after: Set[str], names: Names) -> Body:
    """The statements of a scope; `after` are the names that are read behind it."""
    kept: list[Statement] = []
    for statement in body:
        # The condition and the body of a `While` read names that its test declares.
        live = names_read(statement) if isinstance(statement, While) else frozenset[str]()
        kept.append(with_bodies(statement, partial(_body, after=live, names=names)))
    number = 0
    while number < len(kept):
        loop = kept[number]
        known = _flag_of(kept[:number], loop)
        if known is not None and isinstance(loop, While):
            begin, flag = known
            without = _without_flag(loop.body, flag, names)
            if without is not None:
                is_read = any(flag.name in names_read(s) for s in kept[number + 1 :])
                is_read = is_read or flag.name in after
                note = (Update(flag, "set", _TRUE),) if is_read else ()
                kept[number : number + 1] = (*without, *note)
                if not is_read:
                    del kept[begin]
                    number -= 1
        number += 1
    return same(body, tuple(kept))


def _flag_of(before: Sequence[Statement], loop: Statement) -> tuple[int, Ref] | None:
    """The flag until which a loop runs, and which of the statements before declares it as one that
    is not set; None if there is none, or another statement reads or sets it before the loop."""
    match loop:
        case While(condition=Apply(op="logical_not", args=(Ref(name=name),)), test=()):
            for number in reversed(range(len(before))):
                match before[number]:
                    case Declare(name=declared, constant=False, value=Literal(value=value)) if (
                        declared == name
                    ):
                        return None if value else (number, Ref(name, BOOL))
                if name in names_read(before[number]) or name in updated(before[number]):
                    return None
    return None


def _without_flag(body: Body, flag: Ref, names: Names) -> Body | None:
    """The loop with this body until a flag is set, and what follows it, without the flag; None if
    that is set in other ways than at one test, or read."""
    users = [s for s in walk(body) if flag in parts(s) or _sets(s, flag)]
    if len(users) != 1 or not _sets(users[0], flag):
        return None
    number = next(k for k, s in enumerate(body) if any(users[0] is inner for inner in walk((s,))))
    found, before, rest = _Exit.of(body[number], flag), body[:number], body[number + 1 :]
    if found is None or not all(isinstance(s, Update) and isinstance(s.target, Ref) for s in rest):
        return None
    if isinstance(body[number], Update):
        # The test stands last: the assignments behind it do not change what it reads.
        changes = {name for s in rest for name in changed_by(s)}
        if not changes.isdisjoint(names_read(Declare("test", found.test))):
            return None
        return (While(found.stays, (), (*before, *rest)),)
    behind = (*found.leaving, *rest)
    own = declared_names(before)
    if any(not own.isdisjoint(names_read(s)) for s in behind):
        return None
    # The arms leave their scopes.
    if any(isinstance(s, Alloc) for s in (*found.staying, *found.leaving)):
        return None
    beside = own.union(*map(names_read, rest))
    staying = with_own_names(found.staying, names, beside)
    leaving = with_own_names(found.leaving, names, declared_names(found.leaving))
    return (While(found.stays, (*staying, *rest), before), *leaving, *rest)


@dataclass(frozen=True)
class _Exit:
    """The test at which a loop ends where it `holds`, or does not, and what the arms do."""

    test: Expr
    holds: bool
    leaving: Body
    staying: Body

    @classmethod
    def of(cls, statement: Statement, flag: Ref) -> _Exit | None:
        """The exit that a statement is, which sets the flag; None if the flag is set further
        inside, or not only by a test."""
        match statement:
            case Update(op=op, value=value) if op == "set" or TABLE[op].absorbing(BOOL):
                return cls(_until_set(value, flag), True, (), ())
            case If(condition=test, body=body, orelse=orelse):
                for holds, leaving, staying in ((True, body, orelse), (False, orelse, body)):
                    if Update(flag, "set", _TRUE) in leaving:
                        others = tuple(s for s in leaving if not _sets(s, flag))
                        return cls(test, holds, others, staying)
        return None

    @property
    def stays(self) -> Expr:
        """The condition under which the loop goes on."""
        match self.test:
            case Apply(op="logical_not", args=(inner,)) if self.holds:
                return inner
        return Apply("logical_not", (self.test,), BOOL) if self.holds else self.test


def _until_set(value: Expr, flag: Ref) -> Expr:
    """A value that may read the flag, as long as that is not set."""

    def known(part: Expr) -> Expr:
        match part:
            case Apply(op="logical_or", args=(one, other)) if _FALSE in (one, other):
                return one if other == _FALSE else other
        return _FALSE if part == flag else part

    return map_expr(value, known)


def _sets(statement: Statement, flag: Ref) -> bool:
    return isinstance(statement, Update) and statement.target == flag
