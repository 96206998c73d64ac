"""The scalars that statements have of their surroundings. A name may be declared in a branch or a
loop, and once more behind it, for another scalar."""

from __future__ import annotations

from collections.abc import Mapping

from transpile.ir.loop_ir import Declare, Expr, For, If, Ref, Statement, Store, Update, While
from transpile.ir.loop_rewrite import map_expr, parts, with_bodies
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, same

Body = tuple[Statement, ...]


def read_of_others(body: Body) -> frozenset[str]:
    """The scalars declared elsewhere that statements read or update."""
    return _of_others(body, updates_only=False)


def updated_of_others(body: Body) -> frozenset[str]:
    """The scalars declared elsewhere that statements update."""
    return _of_others(body, updates_only=True)


def _of_others(body: Body, *, updates_only: bool) -> frozenset[str]:
    found = set[str]()
    declared = set[str]()
    for statement in body:
        own = set[str]()
        if not updates_only:
            own |= {part.name for part in parts(statement) if isinstance(part, Ref)}
        if isinstance(statement, Update) and isinstance(statement.target, Ref):
            own.add(statement.target.name)
        for inner in _bodies(statement):
            own |= _of_others(inner, updates_only=updates_only)
        found |= own - declared
        if isinstance(statement, Declare):
            declared.add(statement.name)
    return frozenset(found)


def with_own_names(body: Body, names: Names) -> Body:
    """Statements in which each declaration has a name of its own."""
    return _renamed(body, {}, set(), names)


def _renamed(body: Body, others: Mapping[str, str], taken: set[str], names: Names) -> Body:
    others = dict(others)

    def renamed(expr: Expr) -> Expr:
        return map_expr(expr, lambda part: _other(part, others))

    def inner(body: Body) -> Body:
        return _renamed(body, others, taken, names)

    after: list[Statement] = []
    for statement in body:
        match statement:
            case Declare(name=name):
                value = renamed(statement.value)
                others.pop(name, None)
                if name in taken:
                    others[name] = names.new(name)
                taken.add(name)
                after.append(changed(statement, name=others.get(name, name), value=value))
            case Update(target=Ref() as target):
                value = renamed(statement.value)
                after.append(changed(statement, target=_other(target, others), value=value))
            case Update() | Store():
                after.append(changed(statement, value=renamed(statement.value)))
            case While(test=test):
                # The condition, and the body, see what the test declares.
                *asked, rest = inner((*test, If(statement.condition, statement.body)))
                assert isinstance(rest, If)
                parts = {"condition": rest.condition, "body": rest.body}
                after.append(changed(statement, test=same(test, tuple(asked)), **parts))
            case If():
                condition = renamed(statement.condition)
                after.append(changed(with_bodies(statement, inner), condition=condition))
            case _:
                after.append(with_bodies(statement, inner))
    return same(body, tuple(after))


def _other(part: Expr, others: Mapping[str, str]) -> Expr:
    if isinstance(part, Ref) and part.name in others:
        return Ref(others[part.name], part.dtype)
    return part


def _bodies(statement: Statement) -> tuple[Body, ...]:
    match statement:
        case For(body=body):
            return (body,)
        case If(body=body, orelse=orelse):
            return (body, orelse)
        case While(test=test, body=body):  # which sees what the test declares
            return ((*test, *body),)
        case _:
            return ()
