"""Variables that functions inside assign to (`nonlocal`) become attributes of an object.

    def positive(x):                  def positive(x):
        count = 0                         shared = python.Shared("count")
        def visit(v):                     shared.count = 0
            nonlocal count      ->        def visit(v):
            if v > 0:                         if v > 0:
                count += 1                        shared.count += 1
        for v in x:                       for v in x:
            visit(v)                          visit(v)
        return count                      return shared.count

Statements carry the attributes that they change, those of functions that they call, too. Names that
something else than an assignment binds, as a loop or an import does, stay variables.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from typing import Any

from transpile.python.syntax.names import free_name, names_of, own_nodes, placed

Block = list[ast.stmt]
_SHARED = "shared"


def with_shared_variables(node: ast.FunctionDef, ops: str, taken: set[str]) -> None:
    """Rewrite a function in place, and those inside; `ops` is the module of the operations."""
    for inner in _functions_in(node.body):
        with_shared_variables(inner, ops, taken)
    assigned = set[str]().union(*map(_assigned_outside, _functions_in(node.body)))
    names = (_own(node) & assigned) - _bound_otherwise(node)
    if not names:
        return
    holder = free_name(_SHARED, taken)
    taken.add(holder)
    body = _Attributes(names, holder).block(node.body)
    is_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    texts, rest = (body[:1], body[1:]) if is_text else ([], body)
    begin = _beginning(names, holder, ops, _parameters(node.args))
    at = node.body[0]
    node.body = [*texts, *(placed(statement, at) for statement in begin), *rest]


def _beginning(names: Set[str], holder: str, ops: str, parameters: Set[str]) -> Iterator[ast.stmt]:
    """The object, with those parameters that functions inside assign to."""
    made = ast.Attribute(ast.Name(ops, ast.Load()), "Shared", ast.Load())
    call = ast.Call(made, [ast.Constant(name) for name in sorted(names)], [])
    yield ast.Assign([ast.Name(holder, ast.Store())], call)
    for name in sorted(names & parameters):
        target = ast.Attribute(ast.Name(holder, ast.Load()), name, ast.Store())
        yield ast.Assign([target], ast.Name(name, ast.Load()))


def _functions_in(block: Sequence[ast.stmt]) -> list[ast.FunctionDef]:
    return [node for node in own_nodes(block) if isinstance(node, ast.FunctionDef)]


def _parameters(arguments: ast.arguments) -> set[str]:
    return {node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg)}


def _declared(block: Sequence[ast.stmt], kind: type[ast.Nonlocal | ast.Global]) -> set[str]:
    """The names that a function declares to be of an outer scope."""
    return {name for node in own_nodes(block) if isinstance(node, kind) for name in node.names}


def _own(node: ast.FunctionDef) -> set[str]:
    """The variables of a function."""
    outer = _declared(node.body, ast.Nonlocal) | _declared(node.body, ast.Global)
    return (_parameters(node.args) | names_of(node.body).bound) - outer


def _assigned_outside(node: ast.FunctionDef) -> set[str]:
    """The variables of scopes around a function that it assigns to, or one inside."""
    inside = set[str]().union(*map(_assigned_outside, _functions_in(node.body)))
    return _declared(node.body, ast.Nonlocal) | (inside - _own(node))


def _bound_otherwise(node: ast.AST) -> set[str]:
    """The names in a tree that are bound where no attribute can stand, or by what is carried by its
    name, and all that classes in it read."""
    found: set[str] = set()
    for part in ast.walk(node):
        match part:
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add((other or name).partition(".")[0])
            case ast.FunctionDef(name=name):
                found.add(name)
            case ast.ClassDef() | ast.AsyncFunctionDef():
                found |= {n.id for n in ast.walk(part) if isinstance(n, ast.Name)} | {part.name}
            case ast.NamedExpr(target=target) | ast.For(target=target):
                found |= names_of([target]).bound
            case ast.withitem(optional_vars=ast.expr() as target):
                found |= names_of([target]).bound
            case ast.Delete(targets=targets):
                found |= names_of(targets).bound
    return found


class _Attributes(ast.NodeTransformer):
    """Puts attributes of an object in the place of variables of a scope, wherever they are seen."""

    def __init__(self, names: Set[str], holder: str) -> None:
        self._names = names
        self._holder = holder

    def block(self, block: Sequence[ast.stmt]) -> Block:
        """Statements rewritten."""
        after: Block = []
        for statement in block:
            made = self.visit(statement)
            after += [] if made is None else [made]
        return after

    def _but(self, names: Set[str]) -> _Attributes:
        return _Attributes(self._names - names, self._holder)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self._names:
            return node
        holder = ast.Name(self._holder, ast.Load())
        return placed(ast.Attribute(holder, node.id, node.ctx), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt | None:
        node.names = [name for name in node.names if name not in self._names]
        return node if node.names else None

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """An attribute without its annotation, which Python does not evaluate for a variable."""
        target = self.visit(node.target)
        if target is node.target:
            self.generic_visit(node)
            return node
        if node.value is None:
            return placed(ast.Pass(), node)
        return placed(ast.Assign([target], self.visit(node.value)), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        first = node.body[0]
        node.decorator_list = [self.visit(x) for x in node.decorator_list]
        node.args = self.visit(node.args)
        inside = self._but(_own(node) | _declared(node.body, ast.Global))
        node.body = inside.block(node.body) or [placed(ast.Pass(), first)]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        inside = self._but(_parameters(node.args))
        node.args = self.visit(node.args)
        node.body = inside.visit(node.body)
        return node

    def _comprehension(self, node: Any) -> ast.expr:
        """The first iterable is of the scope around."""
        first, *_ = node.generators
        iterable = self.visit(first.iter)
        first.iter = ast.Constant(None)
        targets = names_of([part.target for part in node.generators]).bound
        self._but(targets).generic_visit(node)
        first.iter = iterable
        return node  # type: ignore[no-any-return]  # one of four classes

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension
