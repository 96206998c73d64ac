"""Rewrite `match` on literals as `if` and `elif`. One whose patterns take values apart stays."""

from __future__ import annotations

import ast
from typing import Any

from transpile.python.syntax.names import free_name


class Matches(ast.NodeTransformer):
    """Rewrites the `match` statements of a function; new names are added to `taken`."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken

    def visit(self, node: ast.AST) -> Any:
        """The rewritten tree."""
        node = self.generic_visit(node)
        return self._chain(node) if isinstance(node, ast.Match) else node

    def _chain(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        if not all(map(_is_literal, (case.pattern for case in node.cases))):
            return node
        name = free_name("subject", self.taken)
        self.taken.add(name)
        first = ast.Assign([ast.Name(name, ast.Store())], node.subject)
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            bindings = _bindings(case.pattern, name)
            test = _test(case.pattern, name)
            if test is None and case.guard is None:
                chain = [*bindings, *case.body]
            elif test is None and case.guard is not None:  # which may read the binding
                chosen = ast.If(case.guard, case.body, chain)
                chain = [*bindings, ast.copy_location(chosen, case.pattern)]
            elif test is not None and case.guard is None:
                chosen = ast.If(test, [*bindings, *case.body], chain)
                chain = [ast.copy_location(chosen, case.pattern)]
            elif bindings or test is None or case.guard is None:
                return node
            else:
                both = ast.BoolOp(ast.And(), [test, case.guard])
                chain = [ast.copy_location(ast.If(both, case.body, chain), case.pattern)]
        located = [ast.copy_location(first, node), *chain]
        return [ast.fix_missing_locations(statement) for statement in located]


def _is_literal(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchValue() | ast.MatchSingleton():
            return True
        case ast.MatchOr(patterns=patterns):
            return all(map(_is_literal, patterns)) and not any(map(_name_of, patterns))
        case ast.MatchAs(pattern=inner):
            return inner is None or _is_literal(inner)
    return False


def _name_of(pattern: ast.pattern) -> str | None:
    return pattern.name if isinstance(pattern, ast.MatchAs) else None


def _bindings(pattern: ast.pattern, subject: str) -> list[ast.stmt]:
    name = _name_of(pattern)
    if name is None:
        return []
    value = ast.Name(subject, ast.Load())
    return [ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), pattern)]


def _test(pattern: ast.pattern, subject: str) -> ast.expr | None:
    """The test that a pattern makes; None for one that takes everything."""
    value = ast.Name(subject, ast.Load())
    test: ast.expr
    match pattern:
        case ast.MatchValue(value=literal):
            test = ast.Compare(value, [ast.Eq()], [literal])
        case ast.MatchSingleton(value=literal):
            test = ast.Compare(value, [ast.Is()], [ast.Constant(literal)])
        case ast.MatchOr(patterns=patterns):
            tests = [_test(p, subject) for p in patterns]
            if any(t is None for t in tests):
                return None
            test = ast.BoolOp(ast.Or(), [t for t in tests if t is not None])
        case ast.MatchAs(pattern=inner):
            return None if inner is None else _test(inner, subject)
        case _:
            raise AssertionError(pattern)
    return ast.fix_missing_locations(ast.copy_location(test, pattern))
