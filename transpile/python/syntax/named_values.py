"""Conditions that bind names (`:=`), for functions in which only statements do.

    while (x := x / 2) > 1:              while True:
        n += 1                   ->          if not (x := x / 2) > 1:
                                                 break
                                             n += 1

    if a > 0 and (b := f(a)) > 2:        test = a > 0
        n += b                   ->      if test:
                                             test = (b := f(a)) > 2
                                         if test:
                                             n += b

The condition of a loop, and what is behind an `and`, become functions (`statements.py`), of which
the name would be a variable. That of a branch is evaluated where it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

from transpile.python.syntax.names import free_name, placed

Block = list[ast.stmt]
Node = TypeVar("Node", bound=ast.AST)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def without_named_values(body: Sequence[ast.stmt], taken: set[str]) -> Block:
    """The statements of a function without `:=` in conditions. New names are added to `taken`."""
    if not any(isinstance(n, ast.NamedExpr) for s in body for n in ast.walk(s)):
        return list(body)
    return _Removal(taken).block(body)


def with_assignments(body: Sequence[ast.stmt]) -> Block:
    """The statements, with an assignment before an `if` for the name that its test binds first:
    `if (y := f(x)) is not None:`."""
    done: Block = []
    for node in body:
        if not isinstance(node, _SCOPES):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(block := getattr(node, field, None), list):
                    setattr(node, field, with_assignments(block))
        if isinstance(node, ast.If):
            node.test, bound = _first_named(node.test)
            done += [] if bound is None else [placed(bound, node)]
        done.append(node)
    return done


def _first_named(node: ast.expr) -> tuple[ast.expr, ast.Assign | None]:
    """A test without the name that it binds to a call first of all, and the assignment to that."""
    match node:
        case ast.NamedExpr(target, ast.Call() as call):
            return placed(ast.Name(target.id, ast.Load()), node), ast.Assign([target], call)
        case ast.Compare():
            node.left, bound = _first_named(node.left)
        case ast.BoolOp():
            node.values[0], bound = _first_named(node.values[0])
        case ast.UnaryOp(ast.Not()):
            node.operand, bound = _first_named(node.operand)
        case _:
            return node, None
    return node, bound


class _Removal:
    def __init__(self, taken: set[str]) -> None:
        self._taken = taken

    def block(self, body: Sequence[ast.stmt]) -> Block:
        """The statements of a block."""
        return [s for statement in body for s in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> Block:
        if isinstance(node, _SCOPES):
            return [node]  # converted for itself
        node = self._with_blocks(node)
        if not isinstance(node, ast.If | ast.While) or not _has_named(node.test):
            return [node]
        before, test = self._evaluated(node.test)
        if isinstance(node, ast.If):
            return [*before, placed(ast.If(test, node.body, node.orelse), node)]
        return self._while(node, before, test)

    def _while(self, node: ast.While, before: Block, test: ast.expr) -> Block:
        """An endless loop that the test leaves; its `else` stands behind it, where a jump is one of
        the loop around."""
        ended = self._new("ended") if node.orelse else ""
        marks = [_assigned(ended, placed(ast.Constant(True), node.test))] if ended else []
        fails = placed(ast.UnaryOp(ast.Not(), test), node.test)
        leaves = placed(ast.If(fails, [*marks, ast.Break()], []), node.test)
        endless = placed(ast.Constant(True), node.test)
        loop = placed(ast.While(endless, [*before, leaves, *node.body], []), node)
        if not ended:
            return [loop]
        first = _assigned(ended, placed(ast.Constant(False), node))
        name = placed(ast.Name(ended, ast.Load()), node.orelse[0])
        return [first, loop, placed(ast.If(name, node.orelse, []), node.orelse[0])]

    def _new(self, wanted: str) -> str:
        name = free_name(wanted, self._taken)
        self._taken.add(name)
        return name

    def _with_blocks(self, node: Node) -> Node:
        """A statement, a handler or a case, with its blocks rewritten."""
        fields: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                fields[name] = self.block(value)
            elif isinstance(value, list):
                parts = (ast.ExceptHandler, ast.match_case)
                fields[name] = [self._with_blocks(x) if isinstance(x, parts) else x for x in value]
            else:
                fields[name] = value
        return placed(type(node)(**fields), node)

    def _evaluated(self, node: ast.expr) -> tuple[Block, ast.expr]:
        """The statements in front of a condition, and the condition behind them, whose first
        operand alone may bind names."""
        if isinstance(node, ast.BoolOp) and any(map(_has_named, node.values[1:])):
            return self._operands(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            before, operand = self._evaluated(node.operand)
            return before, placed(ast.UnaryOp(node.op, operand), node)
        return [], node

    def _operands(self, node: ast.BoolOp) -> tuple[Block, ast.expr]:
        """Of `and` and `or`: each operand is evaluated where those before do not decide."""
        name = self._new("test")
        result: Block = []
        inner = result
        for number, operand in enumerate(node.values):
            if number:
                test: ast.expr = ast.Name(name, ast.Load())
                if isinstance(node.op, ast.Or):
                    test = ast.UnaryOp(ast.Not(), test)
                branch = placed(ast.If(test, [], []), node)
                inner.append(branch)
                inner = branch.body
            before, value = self._evaluated(operand)
            inner += [*before, _assigned(name, value)]
        return result, placed(ast.Name(name, ast.Load()), node)


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return placed(ast.Assign([ast.Name(name, ast.Store())], value), value)


def _has_named(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node))
