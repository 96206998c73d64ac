"""Rewrite expressions whose operands Python chooses by truth: `and`, `or`, `not`, chained
comparisons, `in`, and conditional expressions, which become calls; operands that may not be
evaluated become lambdas.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from transpile.python.syntax.names import copied, placed

_OPERATORS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
# Those that look at the elements of tuples and lists.
_OF_TUPLES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
# What takes a generator, and can be a loop over its items.
_REDUCTIONS = ("sum", "min", "max", "any", "all", "next", "list", "sorted")
# The functions of NumPy for which a list is an array, by their names.
_OF_LISTS = "array asarray sum mean prod max min std var median cumsum cumprod sort argmax argmin"


class Expressions(ast.NodeTransformer):
    """Rewrites expressions. `ops` is the name of the module that is called; `unbound` are the ids
    of reads that may find no value."""

    def __init__(self, ops: str, unbound: set[int]) -> None:
        self.ops = ops
        self.unbound = unbound
        self._native: list[ast.expr] = []  # lists that Python makes

    def call(self, function: str, *arguments: ast.expr, at: ast.AST) -> ast.Call:
        """A call of one of the operations."""
        module = ast.Name(self.ops, ast.Load())
        callee = ast.Attribute(module, function, ast.Load())
        made = ast.Call(callee, list(arguments), [])
        ast.copy_location(callee, at)
        if isinstance(
            at, ast.stmt
        ):  # or Python's line of the call would be the last one of a block
            callee.end_lineno, callee.end_col_offset = callee.lineno, callee.col_offset
        placed(made, at)
        return made

    def visit(self, node: ast.AST) -> Any:
        """The rewritten tree. Functions and classes are the statements'."""
        match node:
            case ast.Name(ctx=ast.Load()) if id(node) in self.unbound:
                return self.call("bound", node, at=node)
            case ast.BoolOp():
                return self._operands(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.call("not_", self.visit(operand), at=node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Compare(ops=[_, _, *_] | [ast.In() | ast.NotIn()]):
                return self._comparison(node)
            case ast.Compare(
                ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=True | False)]
            ):
                same = self.call("is_singleton", self.visit(node.left), *node.comparators, at=node)
                is_not = isinstance(node.ops[0], ast.IsNot)
                return self.call("not_", same, at=node) if is_not else same
            case ast.Call(ast.Name(name), [ast.GeneratorExp() | ast.ListComp(), *_]):
                if name in _REDUCTIONS and _is_simple(node.args[0]):
                    node.args[0] = self._generated(node.args[0])
            case ast.Call(ast.Attribute(ast.Name(), name), [ast.ListComp(), *_]):
                if name in _OF_LISTS.split() and _is_simple(node.args[0]):
                    node.args[0] = self._listed(node.args[0])
            case ast.ListComp(generators=[ast.comprehension(ifs=[_, *_])]):
                if _is_simple(node) and not any(node is made for made in self._native):
                    return self.generic_visit(self._listed(node, "selected"))
            case ast.BinOp(ast.Constant(str()), ast.Mod(), values):
                return self.call("percent", node.left, self.visit(values), at=node)
            case ast.Call(ast.Attribute(ast.Constant(str()), "format")):
                node.args.insert(0, node.func.value)  # type: ignore[attr-defined]  # matched
                node.func = self.call("format_", at=node).func
            case ast.FunctionDef() | ast.ClassDef():
                return node
        return self.generic_visit(node)

    def _operands(self, node: ast.BoolOp) -> ast.expr:
        values = [self.visit(value) for value in node.values]
        if any(map(_binds, node.values[1:])):
            return placed(ast.BoolOp(node.op, values), node)
        function = "and_" if isinstance(node.op, ast.And) else "or_"
        return self.call(function, values[0], *map(_later, values[1:]), at=node)

    def _choice(self, node: ast.IfExp) -> ast.expr:
        test, body, orelse = map(self.visit, (node.test, node.body, node.orelse))
        if _binds(node.body) or _binds(node.orelse):
            return placed(ast.IfExp(test, body, orelse), node)
        return self.call("choose", test, _later(body), _later(orelse), at=node)

    def _comparison(self, node: ast.Compare) -> ast.expr:
        left, *others = map(self.visit, (node.left, *node.comparators))
        operators = [_OPERATORS[type(op)] for op in node.ops]
        if any(map(_binds, node.comparators)):
            return placed(ast.Compare(left, node.ops, others), node)
        if not any(map(_is_evaluated, others[:-1])) and not {"in", "not in"} & {*operators}:
            operands = [left, *others]
            tests: list[ast.expr] = [
                placed(ast.Compare(operands[k], [op], [operands[k + 1]]), node)
                for k, op in enumerate(node.ops)
            ]
            return self.call("and_", tests[0], *map(_later, tests[1:]), at=node)
        parts: list[ast.expr] = []
        for operator, other in zip(operators, others, strict=True):
            parts += [placed(ast.Constant(operator), node), _later(other)]
        return self.call("compare", left, *parts, at=node)

    def _listed(self, node: Any, function: str = "listed") -> ast.expr:
        """A list as a call, of its generator, and of a function that makes it as Python does."""
        natively = ast.copy_location(ast.ListComp(node.elt, node.generators), node)
        if function == "selected":
            self._native.append(natively)
        return self.call(function, self._generated(copied(node)), _later(natively), at=node)

    def _generated(self, node: Any) -> ast.expr:
        """A generator as a call, of its iterable, and functions of an item."""
        (part,) = node.generators
        is_tuple = isinstance(part.target, ast.Tuple)
        targets = part.target.elts if is_tuple else [part.target]
        taken = ast.arguments([], [ast.arg(t.id) for t in targets], None, [], [], None, [])
        test: ast.expr = ast.Constant(None)
        if part.ifs:
            holds = part.ifs[0] if len(part.ifs) == 1 else ast.BoolOp(ast.And(), part.ifs)
            test = ast.Lambda(taken, holds)
        element = ast.Lambda(taken, node.elt)
        return self.call("Generated", part.iter, element, test, ast.Constant(is_tuple), at=node)


class Comparisons(ast.NodeTransformer):
    """Rewrites the comparisons of some lines, as those of tuples, as calls."""

    def __init__(self, ops: str, lines: Collection[int]) -> None:
        self._expressions = Expressions(ops, set())
        self._lines = lines

    def visit_Compare(self, node: ast.Compare) -> Any:
        """The rewritten comparison."""
        self.generic_visit(node)
        plain = all(type(op) in _OF_TUPLES for op in node.ops)
        if not plain or node.lineno not in self._lines or any(map(_binds, node.comparators)):
            return node
        parts: list[ast.expr] = []
        for operator, other in zip(node.ops, node.comparators, strict=True):
            sign = placed(ast.Constant(_OPERATORS[type(operator)]), node)
            parts += [sign, _later(other)]
        return self._expressions.call("compare", node.left, *parts, at=node)


def _is_simple(node: Any) -> bool:
    """True for a generator of one loop, over names."""
    (part, *others) = node.generators
    targets = part.target.elts if isinstance(part.target, ast.Tuple) else [part.target]
    is_named = all(isinstance(target, ast.Name) for target in targets)
    return not others and is_named and not part.is_async and not _binds(node)


def _binds(node: ast.AST) -> bool:
    """True for what a lambda may not hold: `:=`, `await` and `yield`."""
    kinds = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    return any(isinstance(inner, kinds) for inner in ast.walk(node))


def _is_evaluated(node: ast.expr) -> bool:
    """False for what may stand twice in the place of once."""
    return not isinstance(node, ast.Name | ast.Constant)


def _later(value: ast.expr) -> ast.expr:
    """A lambda of a value."""
    nothing = ast.arguments([], [], None, [], [], None, [])
    return placed(ast.Lambda(nothing, value), value)
