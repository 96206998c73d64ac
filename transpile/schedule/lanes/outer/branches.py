"""If-conversion of scalar code: what a branch assigns becomes a choice.

    if (x > hi) { y = x - hi; n += 1; }   ->   above = x > hi;  t = x - hi;  y = above ? t : y;
                                               n = above ? n + 1 : n;

After Allen, Kennedy, Porterfield and Warren, Conversion of control dependence to data dependence,
1983: a statement has a guard, the conjunction of the tests around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from transpile.ir.loop_ir import Apply, Declare, Expr, If, Literal, Ref, Statement, Update
from transpile.ir.loop_rewrite import map_statement
from transpile.ir.types import BOOL
from transpile.primitives.elementwise import select
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, replace

Body = tuple[Statement, ...]


def without_branches(
    body: Body,
    names: Names,
    taken: Iterable[str] = (),
    guard: Expr | None = None,
    mask: Expr | None = None,
) -> Iterator[Statement]:
    """Declarations and updates of scalars, where all may be computed, without branches: what is
    updated under a test, or under the `guard`, is chosen. The statements of all branches, and what
    declared the names that are `taken`, are one scope.

    What subscripts read is 0 where the guard or the `mask` does not hold: then elements may not
    exist. The names of these declarations are their own.
    """
    renamed: dict[str, str] = {}
    declared = set(taken)
    for statement in body:
        match _with_names(statement, renamed):
            case If(condition=condition, body=inner, orelse=orelse):
                test = Declare(names.new("test"), condition)
                yield test
                holds = Ref(test.name, BOOL)
                yield from without_branches(inner, names, (), _both(guard, holds), mask)
                opposite = Apply("logical_not", (holds,), BOOL)
                yield from without_branches(orelse, names, (), _both(guard, opposite), mask)
            case Declare(name=name, symbol=symbol) as declaration if symbol is not None:
                declared.add(name)
                yield _masked(declaration, mask if guard is None else _both(mask, guard))
            case Declare(name=name) as declaration:
                if guard is not None or name in declared:
                    renamed[name] = names.new(name)
                declared.add(name)
                yield changed(declaration, name=renamed.get(name, name))
            case Update(target=Ref() as target) as update if guard is not None:
                chosen = Apply(select.name, (guard, updated(update), target), target.dtype)
                yield Update(target, "set", chosen, update.source)
            case other:
                yield other


def _masked(declaration: Declare, mask: Expr | None) -> Declare:
    if mask is None:
        return declaration
    none = Literal(0, declaration.dtype)
    chosen = Apply(select.name, (mask, declaration.value, none), declaration.dtype)
    return replace(declaration, value=chosen)


def updated(update: Update) -> Expr:
    """The value that a target has after an update."""
    if update.op == "set":
        return update.value
    return Apply(update.op, (update.target, update.value), update.target.dtype)


def _both(one: Expr | None, other: Expr) -> Expr:
    return other if one is None else Apply("logical_and", (one, other), BOOL)


def _with_names(statement: Statement, renamed: Mapping[str, str]) -> Statement:
    """The statement that reads and updates variables by other names."""
    if not renamed:
        return statement

    def other(part: Expr) -> Expr:
        return Ref(renamed.get(part.name, part.name), part.dtype) if isinstance(part, Ref) else part

    return map_statement(statement, other)
