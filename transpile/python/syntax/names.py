"""Which names statements and expressions read and bind."""

from __future__ import annotations

import ast
from collections.abc import Iterable

# Methods that change a container.
_CHANGING = frozenset(
    ("append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort", "update", "add")
)


class Names(ast.NodeVisitor):
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
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self.read.add(name)
            case ast.Name(id=name):
                self._bind(name)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                self.read.add(name)
                self.bound.add(name)
                self.visit(value)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self._bind(name)
                self._take_scope(node)
            case ast.ClassDef(name=name):
                self._bind(name)
                self._take_scope(node)
            case ast.Lambda():
                self._take_scope(node)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._take_comprehension(node)
            case _:
                self._take_other(node)

    def _take_other(self, node: ast.AST) -> None:
        match node:
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                self.changed |= _base(node)
            case ast.Call(func=ast.Attribute(attr=method) as function) if method in _CHANGING:
                self.changed |= _base(function)
            case ast.alias(name=name, asname=other):
                self._bind((other or name).partition(".")[0])
            case (
                ast.ExceptHandler(name=name)
                | ast.MatchAs(name=name)
                | ast.MatchStar(name=name)
                | ast.MatchMapping(rest=name)
            ):
                self._bind(name)
        self.generic_visit(node)

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
