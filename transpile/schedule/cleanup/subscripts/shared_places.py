"""One name for each number: copies of constants, and of variables that have not changed since, are
left out, and so are names that only the next declaration reads.

    t2 = t; at = t2; y[at] += 1              at = t; y[at] += 1
    for j in range(n):               ->      for j in range(n):
        at2 = t; y[at2] -= x[j]                  y[at] -= x[j]

Each use of a subscript has a place of its own, whose clamps depend on the array; where passes have
found them to do nothing, copies are left. A place stands for another one if it is certain to be in
the other's range. This is the propagation of copies (A. Aho, M. Lam, R. Sethi and J. Ullman,
Compilers: Principles, Techniques, and Tools, 2006, section 9.1.5). Runs when nothing asks any more
which statement a place belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TypeVar

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.dims import Dim, Index, Symbol, sole_symbol, substitute, symbols_of
from transpile.ir.loop_ir import (
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Program,
    Ref,
    Statement,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    declared_name,
    map_bodies,
    map_statement,
    names_read,
    walk,
    with_bodies,
)
from transpile.options import Options
from transpile.util.frozen_records import changed, dataclass, replace, same

Body = tuple[Statement, ...]
_Compound = TypeVar("_Compound", For, If)


@contract(requires=(LANES_BOUND,))
def share_places(program: Program, options: Options) -> Program:
    """The program without copies of scalars and places."""
    return map_bodies(program, lambda body: _body(body, _Scope({}, {}, {}, {})))


@dataclass(frozen=True)
class _Scope:
    """What is known where a statement begins.

    copies     the constants that are a scalar or an index, in the order of their declarations
    others     the constants that stand for others, by name
    symbols    the same, where subscripts read them
    constants  the places of the scalars that do not change, by name; None of those without one
    """

    copies: Mapping[Expr, tuple[Declare, ...]]
    others: Mapping[str, str]
    symbols: Mapping[Symbol, Index]
    constants: Mapping[str, Symbol | None]

    def without(self, name: str) -> _Scope:
        """The scope where another scalar or loop has a name."""
        copies = {
            value: left
            for value, own in self.copies.items()
            if name not in _names_in(value) and (left := tuple(d for d in own if d.name != name))
        }
        others = {n: other for n, other in self.others.items() if name not in (n, other)}
        symbols = {
            s: other
            for s, other in self.symbols.items()
            if name != s.name and name not in {t.name for t in symbols_of(other)}
        }
        constants = {n: symbol for n, symbol in self.constants.items() if n != name}
        return _Scope(copies, others, symbols, constants)

    def without_copies_of(self, names: Set[str]) -> _Scope:
        """The scope where variables have changed."""
        stale = [v for v in self.copies if isinstance(v, Ref) and v.name in names]
        if not stale:
            return self
        return replace(self, copies={v: own for v, own in self.copies.items() if v not in stale})

    def mapped(self, statement: Statement) -> Statement:
        """The statement with the constants that stand for others."""
        if not self.others:
            return statement

        def expression(expr: Expr) -> Expr:
            other = self.others.get(expr.name) if isinstance(expr, Ref) else None
            return expr if other is None else Ref(other, expr.dtype)

        return map_statement(statement, expression, lambda i: substitute(i, self.symbols))

    def head(self, statement: _Compound) -> _Compound:
        """A loop or branch with its own expressions mapped; its bodies are not to be read."""
        if not self.others:
            return statement
        head = self.mapped(with_bodies(statement, lambda _: ()))
        assert isinstance(head, type(statement))
        return head

    def behind(self, declared: Declare, rest: Body) -> tuple[_Scope, bool]:
        """The scope behind a declaration, and whether that is needed for the rest of its scope."""
        value = declared.value
        if not declared.constant:
            return self, True
        constants = {**self.constants, declared.name: declared.symbol}
        if isinstance(value, Ref | IndexValue):
            known = (*self._declared_as(value), *self.copies.get(value, ()))
            first = next((d.name for d in known if _stands_for(d, declared)), None)
            if declared.symbol is None and isinstance(value, Ref) and value.name in self.constants:
                first = value.name
            if first is not None and not _hides(rest, first):
                return self._standing_for(first, declared, known), False
            copies = {**self.copies, value: (*self.copies.get(value, ()), declared)}
            return replace(self, copies=copies, constants=constants), True
        return replace(self, constants=constants), True

    def _declared_as(self, value: Expr) -> tuple[Declare, ...]:
        """The place that an index is, if it is one."""
        symbol = sole_symbol(value.index) if isinstance(value, IndexValue) else None
        name = value.name if isinstance(value, Ref) else symbol.name if symbol is not None else ""
        place = self.constants.get(name)
        return () if place is None else (Declare(name, value, symbol=place),)

    def _standing_for(self, name: str, declared: Declare, known: tuple[Declare, ...]) -> _Scope:
        others = {**self.others, declared.name: name}
        if declared.symbol is None:
            return replace(self, others=others)
        symbol = next(d.symbol for d in known if d.name == name)
        assert symbol is not None
        return replace(
            self, others=others, symbols={**self.symbols, declared.symbol: Dim.of(symbol)}
        )


def _names_in(value: Expr) -> set[str]:
    match value:
        case Ref(name=name):
            return {name}
        case IndexValue(index=index):
            return {s.name for s in symbols_of(index)}
    return set()


def _stands_for(one: Declare, other: Declare) -> bool:
    """True if a copy of the same number may be named in the place of another one."""
    if other.symbol is None:
        return True
    if one.symbol is None or one.symbol.lower < other.symbol.lower:
        return False
    extent, others = one.symbol.extent, other.symbol.extent
    is_inside = isinstance(extent, int) and isinstance(others, int) and extent <= others
    return is_inside or extent == others or others is None


def _body(body: Body, scope: _Scope) -> Body:
    after: list[Statement] = []
    for k, statement in enumerate(body):
        is_needed = True
        match statement:
            case Declare(name=name):
                mapped = scope.mapped(statement)
                assert isinstance(mapped, Declare)
                scope, is_needed = scope.without(name).behind(mapped, body[k + 1 :])
                statement = mapped
            case While(test=test):
                scope = scope.without_copies_of(_updated(statement))
                # The condition, and the body, see what the test declares.
                *asked, rest = _body((*test, If(statement.condition, statement.body)), scope)
                assert isinstance(rest, If)
                parts = {"condition": rest.condition, "body": rest.body}
                statement = changed(statement, test=same(test, tuple(asked)), **parts)
            case For():
                scope = scope.without_copies_of(_updated(statement))
                inner = _body(statement.body, scope.without(statement.symbol.name))
                statement = changed(scope.head(statement), body=inner)
            case If():
                arms = [_body(arm, scope) for arm in (statement.body, statement.orelse)]
                head = changed(scope.head(statement), body=arms[0], orelse=arms[1])
                scope = scope.without_copies_of(_updated(statement))
                statement = head
            case _:
                statement = scope.mapped(statement)
                scope = scope.without_copies_of(_updated(statement))
        if is_needed:
            after.append(statement)
    return same(body, _without_first_names(tuple(after)))


def _without_first_names(body: Body) -> Body:
    """Statements without the constants that only the next declaration reads, as its value."""
    after: list[Statement] = []
    for k, statement in enumerate(body):
        while after and _is_first_name(after[-1], statement, body[k + 1 :]):
            first = after.pop()
            assert isinstance(first, Declare)
            statement = changed(statement, value=first.value)
        after.append(statement)
    return same(body, tuple(after))


def _is_first_name(first: Statement, then: Statement, rest: Body) -> bool:
    """True for a constant of which the next declaration is a copy, and which nothing else reads."""
    return (
        isinstance(first, Declare)
        and isinstance(then, Declare)
        and first.constant
        and first.symbol is None
        and then.value == Ref(first.name, first.dtype)
        and then.name != first.name
        and not any(first.name in names_read(s) for s in rest)
    )


def _hides(body: Body, name: str) -> bool:
    """True if a declaration or loop in these statements has a name."""
    return any(
        declared_name(s) == name or (isinstance(s, For) and s.symbol.name == name)
        for s in walk(body)
    )


def _updated(statement: Statement) -> set[str]:
    """The scalars that a statement changes."""
    updates = (s.target for s in walk((statement,)) if isinstance(s, Update))
    return {target.name for target in updates if isinstance(target, Ref)}
