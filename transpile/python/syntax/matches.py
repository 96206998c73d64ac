"""Rewrite `match` on literals, and sequences of them, as `if` and `elif`. One with a mapping, a
class or a starred name stays."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from transpile.python.syntax.names import free_name

Block = list[ast.stmt]


class Matches(ast.NodeTransformer):
    """Rewrites the `match` statements of a function; new names are added to `taken`.

    ops  the name of the module of the operations
    """

    def __init__(self, taken: set[str], ops: str) -> None:
        self.taken = taken
        self.ops = ops
        self._rests: set[ast.pattern] = set()  # that are known not to be the other bool

    def visit(self, node: ast.AST) -> Any:
        """The rewritten tree."""
        node = self.generic_visit(node)
        return self._chain(node) if isinstance(node, ast.Match) else node

    def _chain(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        if not all(map(_is_literal, (case.pattern for case in node.cases))):
            return node
        name = self._new("subject")
        first = ast.Assign([ast.Name(name, ast.Store())], node.subject)
        chain: list[ast.stmt] = []
        self._rests |= set(_rests(node.cases))
        for case in reversed(node.cases):
            chain = self._case(case, ast.Name(name, ast.Load()), chain)
        located = [ast.copy_location(first, node), *chain]
        return [ast.fix_missing_locations(statement) for statement in located]

    def _new(self, wanted: str) -> str:
        name = free_name(wanted, self.taken)
        self.taken.add(name)
        return name

    def _case(self, case: ast.match_case, subject: ast.expr, others: Block) -> Block:
        """A case as an `if`, which has the other cases in its `else`."""
        tests = self._tests(case.pattern, subject)
        bindings = list(_bindings(case.pattern, subject))
        if case.guard is None:
            if not tests:
                return [*bindings, *case.body]
            return [_if(_all(tests), [*bindings, *case.body], others, case)]
        if not tests:
            return [*bindings, _if(case.guard, case.body, others, case)]
        if not bindings:
            return [_if(_all([*tests, case.guard]), case.body, others, case)]
        flag = self._new("matches")  # the guard may read what is bound
        guarded = _assigned(flag, case.guard, case.pattern)
        return [
            _assigned(flag, _all(tests), case.pattern),
            _if(ast.Name(flag, ast.Load()), [*bindings, guarded], [], case),
            _if(ast.Name(flag, ast.Load()), case.body, others, case),
        ]

    def _tests(self, pattern: ast.pattern, value: ast.expr) -> list[ast.expr]:
        """The tests that a pattern makes, which hold one after the other."""
        tests: list[ast.expr] = []
        match pattern:
            case ast.MatchValue(value=literal):
                tests = [ast.Compare(value, [ast.Eq()], [literal])]
            case ast.MatchSingleton(value=literal):
                rest = [ast.Constant(True)] if pattern in self._rests else []
                tests = [self._call("is_singleton", value, ast.Constant(literal), *rest)]
            case ast.MatchOr(patterns=patterns):
                choices = [self._tests(p, value) for p in patterns]
                if all(choices):
                    tests = [ast.BoolOp(ast.Or(), list(map(_all, choices)))]
            case ast.MatchSequence(patterns=patterns):
                tests = [self._call("is_sequence", value, ast.Constant(len(patterns)))]
                for part, item in zip(patterns, _items(value, len(patterns)), strict=True):
                    tests += self._tests(part, item)
            case ast.MatchAs(pattern=inner) if inner is not None:
                tests = self._tests(inner, value)
        return [ast.fix_missing_locations(ast.copy_location(t, pattern)) for t in tests]

    def _call(self, function: str, *arguments: ast.expr) -> ast.expr:
        callee = ast.Attribute(ast.Name(self.ops, ast.Load()), function, ast.Load())
        return ast.Call(callee, list(arguments), [])


def _rests(cases: list[ast.match_case]) -> Iterator[ast.pattern]:
    """What is True behind a case of False, or False behind one of True."""
    met: set[Any] = set()
    for case in cases:
        if isinstance(case.pattern, ast.MatchSingleton) and case.guard is None:
            if met:
                yield case.pattern
            met |= {case.pattern.value} - {None}


def _is_literal(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchValue() | ast.MatchSingleton():
            return True
        case ast.MatchOr(patterns=patterns):
            return all(map(_is_literal, patterns)) and not any(map(_binds, patterns))
        case ast.MatchSequence(patterns=patterns):
            return all(map(_is_literal, patterns))
        case ast.MatchAs(pattern=inner):
            return inner is None or _is_literal(inner)
    return False


def _binds(pattern: ast.pattern) -> bool:
    return any(isinstance(p, ast.MatchAs) and p.name is not None for p in ast.walk(pattern))


def _items(value: ast.expr, count: int) -> list[ast.expr]:
    return [ast.Subscript(value, ast.Constant(k), ast.Load()) for k in range(count)]


def _bindings(pattern: ast.pattern, value: ast.expr) -> Iterator[ast.stmt]:
    """The assignments to the names of a pattern."""
    if isinstance(pattern, ast.MatchSequence):
        for part, item in zip(pattern.patterns, _items(value, len(pattern.patterns)), strict=True):
            yield from _bindings(part, item)
    elif isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            yield from _bindings(pattern.pattern, value)
        if pattern.name is not None:
            yield _assigned(pattern.name, value, pattern)


def _assigned(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), at)


def _if(test: ast.expr, body: Block, orelse: Block, case: ast.match_case) -> ast.stmt:
    return ast.copy_location(ast.If(test, body, orelse), case.pattern)


def _all(tests: list[ast.expr]) -> ast.expr:
    if len(tests) == 1:
        return tests[0]
    return ast.copy_location(ast.BoolOp(ast.And(), tests), tests[0])
