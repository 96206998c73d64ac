"""Which names statements and expressions read and bind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)
# Methods that change a container.
_CHANGING = frozenset(
    ("append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort", "update", "add")
)


class Names:
    """The names of a tree.

    read      loaded, in the scopes inside too
    bound     assigned, but not in the scopes inside
    inner     read by functions inside, at any time later
    changed   whose items are assigned to, or on which a method is called that changes a container
    plain     bound by something else than `x += y`
    """

    def __init__(self, *trees: ast.AST) -> None:
        self.read: set[str] = set()
        self.bound: set[str] = set()
        self.inner: set[str] = set()
        self.changed: set[str] = set()
        self.plain: set[str] = set()
        for tree in trees:
            self.visit(tree)

    def visit(self, node: ast.AST) -> None:
        """Take the names of a tree."""
        take = _TAKING.get(type(node))
        if take is None:
            self._take_children(node)
        else:
            take(self, node)

    def _take_children(self, node: ast.AST) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                self.visit(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item)

    def _take_name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read.add(node.id)
        else:
            self._bind(node.id)

    def _take_update(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.read.add(node.target.id)
            self.bound.add(node.target.id)
            self.visit(node.value)
        else:
            self._take_children(node)

    def _take_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._bind(node.name)
        self._take_scope(node)

    def _take_subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.changed |= _base(node)
        self._take_children(node)

    def _take_call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            self.changed |= _base(node.func)
        self._take_children(node)

    def _take_alias(self, node: ast.alias) -> None:
        self._bind((node.asname or node.name).partition(".")[0])

    def _take_named(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        self._bind(node.name)
        self._take_children(node)

    def _take_rest(self, node: ast.MatchMapping) -> None:
        self._bind(node.rest)
        self._take_children(node)

    def _take_scope(self, node: ast.AST) -> None:
        inside = Names(*ast.iter_child_nodes(node))
        self.read |= inside.read
        self.inner |= inside.read | inside.inner

    def _take_comprehension(self, node: ast.AST) -> None:
        inside = Names(*ast.iter_child_nodes(node))
        targets = {
            name.id
            for child in ast.walk(node)
            if isinstance(child, ast.comprehension)
            for name in ast.walk(child.target)
            if isinstance(name, ast.Name)
        }
        self.read |= inside.read - targets
        self.bound |= inside.bound - targets
        self.plain |= inside.plain - targets
        self.changed |= inside.changed - targets

    def _bind(self, name: str | None) -> None:
        if name is not None:
            self.bound.add(name)
            self.plain.add(name)


# What is done for a node of a class. Others have no names of their own.
_TAKING: dict[type[ast.AST], Callable[[Names, Any], None]] = {
    ast.Constant: lambda names, node: None,
    ast.Name: Names._take_name,
    ast.AugAssign: Names._take_update,
    ast.FunctionDef: Names._take_definition,
    ast.AsyncFunctionDef: Names._take_definition,
    ast.ClassDef: Names._take_definition,
    ast.Lambda: Names._take_scope,
    ast.ListComp: Names._take_comprehension,
    ast.SetComp: Names._take_comprehension,
    ast.DictComp: Names._take_comprehension,
    ast.GeneratorExp: Names._take_comprehension,
    ast.Subscript: Names._take_subscript,
    ast.Call: Names._take_call,
    ast.alias: Names._take_alias,
    ast.ExceptHandler: Names._take_named,
    ast.MatchAs: Names._take_named,
    ast.MatchStar: Names._take_named,
    ast.MatchMapping: Names._take_rest,
}


def _base(node: ast.expr) -> set[str]:
    """The name of which the items, or those of its items, are meant."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def names_of(trees: Iterable[ast.AST]) -> Names:
    """The names of several trees."""
    return Names(*trees)


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """A name that is none of others."""
    taken = set(taken)
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def placed(node: Node, at: ast.AST) -> Node:
    """A new node at the place of another one, with all that is new in it: what has a place keeps
    it, with what is inside."""
    ast.copy_location(node, at)
    new: list[ast.AST] = [node]
    while new:
        for child in ast.iter_child_nodes(new.pop()):
            if not child._attributes:
                new.append(child)
            elif not hasattr(child, "lineno"):
                ast.copy_location(child, at)
                new.append(child)
    return node


def copied(node: Node) -> Node:
    """A copy of a tree, which may be changed. (What `copy.deepcopy` does takes several times as
    long.)"""
    copy = type(node).__new__(type(node))
    for name, value in vars(node).items():
        if isinstance(value, list):
            value = [copied(item) if isinstance(item, ast.AST) else item for item in value]
        elif isinstance(value, ast.AST) and (value._fields or value._attributes):
            value = copied(value)
        setattr(copy, name, value)
    return copy


def own_nodes(block: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """The statements of a block and of those in it, but not of functions inside."""
    for node in block:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.expr):
            yield from own_nodes(ast.iter_child_nodes(node))
