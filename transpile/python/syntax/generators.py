"""Rewrite a generator function as one that calls what consumes its items, and carries the variables
of that: `for x in items(a): total += x` is a call of

    def items(a):                  def items(a, *, consume, total):
        for x in a:                    for x in a:
            if x > 0:          ->          if x > 0:
                yield x                        (total,) = consume(x, total)
                                       return (total,)

Where the consumer may end its loop, a flag among its variables does so, and the generator returns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from transpile.python.syntax.names import free_name, placed

Block = list[ast.stmt]
_YIELDS = (ast.Yield, ast.YieldFrom)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Consumed:
    """A generator function rewritten in place.

    node   its definition, without `yield`; None where a `yield` is no statement, or is in a `try`
    names  of the variables that it carries, which it returns
    is_endless  it ends with `while True`, which nothing leaves
    """

    def __init__(
        self, node: Any, names: Sequence[str], stops: Sequence[int], taken: set[str]
    ) -> None:
        self._taken = taken
        self.consume = self._new("consume")
        self.names = [self._new(name) for name in names]
        self._stops = [self.names[k] for k in stops]
        self.is_endless = _is_endless(node.body)
        node.body = self._block(node.body)
        for name in (self.consume, *self.names):
            node.args.kwonlyargs.append(ast.arg(name))
            node.args.kw_defaults.append(None)
        self.node = None if has_own(node.body, _YIELDS) else ast.fix_missing_locations(node)

    def _new(self, wanted: str) -> str:
        name = free_name(wanted, self._taken)
        self._taken.add(name)
        return name

    def _block(self, block: Sequence[ast.stmt]) -> Block:
        return [s for statement in block for s in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> Block:
        match node:
            case ast.Expr(ast.Yield(value)):
                return self._consumed(value or ast.Constant(None), node)
            case ast.Expr(ast.YieldFrom(value)):
                item = self._new("item")
                body = self._consumed(ast.Name(item, ast.Load()), node)
                return [placed(ast.For(ast.Name(item, ast.Store()), value, body, []), node)]
            case ast.Return():
                return [placed(ast.Return(None), node)]  # a `for` does not see the value
            case ast.If() | ast.For() | ast.While() | ast.With():
                self._inside(node)
            case ast.Match():
                for case in node.cases:
                    case.body = self._block(case.body)
        return [node]

    def _inside(self, node: Any) -> None:
        node.body = self._block(node.body)
        if not isinstance(node, ast.With):
            node.orelse = self._block(node.orelse)

    def _consumed(self, value: ast.expr, at: ast.stmt) -> Block:
        """An item goes to the consumer."""
        given = [ast.Name(name, ast.Load()) for name in self.names]
        call = ast.Call(ast.Name(self.consume, ast.Load()), [value, *given], [])
        if not self.names:
            return [placed(ast.Expr(call), at)]
        target = ast.Tuple([ast.Name(name, ast.Store()) for name in self.names], ast.Store())
        statements: Block = [placed(ast.Assign([target], call), at)]
        for name in self._stops:
            end = placed(ast.Return(None), at)
            statements.append(placed(ast.If(ast.Name(name, ast.Load()), [end], []), at))
        return statements


def _is_endless(body: Block) -> bool:
    last = body[-1]
    return (
        isinstance(last, ast.While)
        and isinstance(last.test, ast.Constant)
        and bool(last.test.value)
        and not has_own(body, (ast.Return,))
        and not has_own(last.body, (ast.Break,))  # of a loop inside, perhaps: then it may end
    )


def has_own(block: Iterable[ast.AST], kinds: tuple[type[ast.AST], ...]) -> bool:
    """True for a block with nodes of some kinds that are not in functions or classes inside."""
    return any(
        isinstance(node, kinds)
        or (not isinstance(node, _SCOPES) and has_own(ast.iter_child_nodes(node), kinds))
        for node in block
    )
