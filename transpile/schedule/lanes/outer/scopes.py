"""The scalars that statements have of their surroundings. A name may be declared in a branch or a
loop, and once more behind it, for another scalar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from transpile.ir.dims import Dim, Index, Symbol, substitute
from transpile.ir.loop_ir import Declare, Expr, For, If, Ref, Statement, Update, While
from transpile.ir.loop_rewrite import map_statement, parts, with_bodies
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, replace, same

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


def with_own_names(body: Body, names: Names, taken: Iterable[str] = ()) -> Body:
    """Statements in which each declaration has a name of its own, which is none of those that are
    taken."""
    return _renamed(body, {}, {}, names, set(taken))


def _renamed(
    body: Body,
    others: Mapping[str, str],
    symbols: Mapping[Symbol, Index],
    names: Names,
    taken: set[str],
) -> Body:
    """Statements with `others` in place of scalars, and in place of the `symbols` that they are in
    subscripts."""
    others, symbols = dict(others), dict(symbols)

    def expression(part: Expr) -> Expr:
        if isinstance(part, Ref) and part.name in others:
            return Ref(others[part.name], part.dtype)
        return part

    def subscript(index: Index) -> Index:
        return substitute(index, symbols) if symbols else index

    def inner(body: Body) -> Body:
        return _renamed(body, others, symbols, names, taken)

    after: list[Statement] = []
    for statement in body:
        match statement:
            case Declare(name=name, symbol=symbol):
                statement = map_statement(statement, expression, subscript)
                others.pop(name, None)
                if name in taken:
                    others[name] = names.new(name)
                    statement = replace(statement, name=others[name])
                if name in others and symbol is not None:
                    other = replace(symbol, name=others[name])
                    symbols[symbol] = Dim.of(other)
                    statement = replace(statement, symbol=other)
                taken.add(name)
            case While(test=test):
                # The condition, and the body, see what the test declares.
                *asked, rest = inner((*test, If(statement.condition, statement.body)))
                assert isinstance(rest, If)
                parts = {"condition": rest.condition, "body": rest.body}
                statement = changed(statement, test=same(test, tuple(asked)), **parts)
            case For() | If():
                # Its own expressions first, beside no body; then the body, with its declarations.
                alone = map_statement(with_bodies(statement, lambda _: ()), expression, subscript)
                bodies = iter(_bodies(statement))
                statement = with_bodies(alone, lambda _: inner(next(bodies)))  # noqa: B023
            case _:
                statement = map_statement(statement, expression, subscript)
        after.append(statement)
    return same(body, tuple(after))


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
