"""Structures of pytrees: flattening nested containers to their leaves, and rebuilding them.

`flatten(tree)` returns the leaves in order and the structure, a `TreeDef`; `unflatten` of that
takes leaves in the same order. Two trees have equal structures if their containers are of the same
classes with the same data besides children.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from transpile.pytree.keys import KeyEntry, KeyPath
from transpile.pytree.registry import (
    DICT,
    LIST,
    NONE,
    TUPLE,
    NodeType,
    is_namedtuple,
    known_node,
    node_of_value,
)

Leaf = Any
IsLeaf = Callable[[Any], bool]


class TreeDef:
    """The structure of a pytree: its containers without the leaves.

    node      the node type of the outermost container; None for a leaf
    data      its data besides the children
    subtrees  the structures of the children
    """

    __slots__ = ("_keys", "data", "node", "num_leaves", "subtrees")

    def __init__(
        self,
        node: NodeType | None,
        data: Hashable = None,
        subtrees: tuple[TreeDef, ...] = (),
        keys: tuple[KeyEntry, ...] | None = None,
    ) -> None:
        self.node = node
        self.data = data
        self.subtrees = subtrees
        self._keys = keys
        self.num_leaves: int = 1 if node is None else sum(child.num_leaves for child in subtrees)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, TreeDef)
            and self.node is other.node
            and self.num_leaves == other.num_leaves
            and bool(self.data == other.data)
            and self.subtrees == other.subtrees
        )

    def __hash__(self) -> int:
        try:
            return hash((self.node, self.data, self.subtrees))
        except TypeError:  # data that cannot be hashed, which is compared all the same
            return hash((self.node, self.subtrees))

    @property
    def num_nodes(self) -> int:
        """The number of containers and leaves."""
        return 1 + sum(child.num_nodes for child in self.subtrees)

    @property
    def keys(self) -> Sequence[KeyEntry]:
        """The key of each child."""
        if self._keys is not None:
            return self._keys
        return () if self.node is None else self.node.entries(self.data, len(self.subtrees))

    def children(self) -> list[TreeDef]:
        """The structures of the children."""
        return list(self.subtrees)

    def node_data(self) -> tuple[type, Any] | None:
        """(class, data) of the outermost container; None for a leaf."""
        if self.node is None:
            return None
        data: Any = self.data
        return self.node.cls, list(data) if self.node is DICT else data

    def data_values(self) -> Iterator[Any]:
        """The data of every container, a tuple by its items."""
        if self.node is not None:
            yield from self.data if isinstance(self.data, tuple) else (self.data,)
        for child in self.subtrees:
            yield from child.data_values()

    def unflatten(self, leaves: Iterable[Leaf]) -> Any:
        """The tree with these leaves, in order."""
        values = leaves if isinstance(leaves, list | tuple) else list(leaves)
        count = len(values)
        if count < self.num_leaves:
            raise ValueError(
                f"Too few leaves for PyTreeDef; expected {self.num_leaves}, got {count}"
            )
        if count > self.num_leaves:
            raise ValueError(f"Too many leaves for PyTreeDef; expected {self.num_leaves}.")
        return self._build(iter(values))

    def _build(self, leaves: Iterator[Leaf]) -> Any:
        if self.node is None:
            return next(leaves)
        return self.node.unflatten(self.data, [child._build(leaves) for child in self.subtrees])

    def walk(
        self,
        f_node: Callable[[Any, Any], Any],
        f_leaf: Callable[[Any], Any],
        leaves: Iterable[Leaf],
    ) -> Any:
        """The tree rebuilt by `f_node(tuple of rebuilt children, data)` and `f_leaf(leaf)`."""
        return self._walked(f_node, f_leaf, iter(leaves))

    def _walked(self, f_node: Any, f_leaf: Any, leaves: Iterator[Leaf]) -> Any:
        data = self.node_data()
        if data is None:
            return f_leaf(next(leaves))
        return f_node(tuple(c._walked(f_node, f_leaf, leaves) for c in self.subtrees), data[1])

    def compose(self, inner: TreeDef) -> TreeDef:
        """The structure with each leaf replaced by `inner`."""
        if self.node is None:
            return inner
        parts = tuple(child.compose(inner) for child in self.subtrees)
        return TreeDef(self.node, self.data, parts, self._keys)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of a tree at the leaves of this structure, which is a prefix of it.

        Raises ValueError where the tree has another container.
        """
        subtrees: list[Any] = []
        self._flatten_up_to(tree, subtrees)
        return subtrees

    def _flatten_up_to(self, tree: Any, subtrees: list[Any]) -> None:
        if self.node is None:
            subtrees.append(tree)
            return
        other = node_of_value(tree)
        if other is not self.node:
            raise ValueError(_other_container(self.node, tree))
        children, data = self.node.flatten(tree)
        if self.node is not DICT and len(children) != len(self.subtrees):
            what = {TUPLE: "Tuple", LIST: "List"}.get(self.node, "Custom type")
            own = "value" if what == "Custom type" else what.lower()
            raise ValueError(
                f"{what} arity mismatch: {len(children)} != {len(self.subtrees)}; {own}: {tree}."
            )
        if data != self.data:
            raise ValueError(_other_data(self, data, tree))
        for part, child in zip(self.subtrees, children, strict=True):
            part._flatten_up_to(child, subtrees)

    @staticmethod
    def from_node_data_and_children(
        registry: Any, node_data: tuple[type, Any] | None, children: Iterable[TreeDef]
    ) -> TreeDef:
        """The structure with this `node_data()` and these `children()`."""
        if node_data is None:
            return LEAF
        cls, data = node_data
        return TreeDef(known_node(cls), tuple(data) if cls is dict else data, tuple(children))

    def paths(self, prefix: str = "") -> list[str]:
        """The path of each leaf in Python's syntax, after the name of the tree:
        `params['w'][0]`."""
        if self.node is None:
            return [prefix]
        return [
            path
            for key, child in zip(self.keys, self.subtrees, strict=True)
            for path in child.paths(f"{prefix}{key}")
        ]

    def key_paths(self, before: KeyPath = ()) -> list[KeyPath]:
        """The keys on the path to each leaf."""
        if self.node is None:
            return [before]
        return [
            path
            for key, child in zip(self.keys, self.subtrees, strict=True)
            for path in child.key_paths((*before, key))
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        if self.node is None:
            return _the_leaf, ()
        return TreeDef, (self.node, self.data, self.subtrees, self._keys)

    def __str__(self) -> str:
        return f"PyTreeDef({self.text()})"

    __repr__ = __str__

    def text(self) -> str:
        """The structure in Python's syntax, with `*` for leaves."""
        if self.node is None:
            return "*"
        inner = [child.text() for child in self.subtrees]
        if self.node is TUPLE:
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
        if self.node is LIST:
            return f"[{', '.join(inner)}]"
        if self.node is NONE:
            return "None"
        if self.node is DICT:
            pairs = zip(self.keys, inner, strict=True)
            return "{" + ", ".join(f"{k.key!r}: {t}" for k, t in pairs) + "}"
        if is_namedtuple(self.node.cls):
            return f"CustomNode(namedtuple[{self.node.name}], [{', '.join(inner)}])"
        return f"CustomNode({self.node.name}[{self.data}], [{', '.join(inner)}])"


LEAF = TreeDef(None)
PyTreeDef = TreeDef


def _the_leaf() -> TreeDef:
    return LEAF


def _other_container(node: NodeType, tree: Any) -> str:
    if node is NONE:
        return f"Expected None, got {tree}."
    if node in (TUPLE, LIST, DICT):
        return f"Expected {node.name}, got {tree}."
    if is_namedtuple(node.cls):
        return f"Expected named tuple, got {tree}."
    kind = "dataclass " if dataclasses.is_dataclass(node.cls) else ""
    return f"Custom {kind}node type mismatch: expected type: {node.cls}, value: {tree}."


def _other_data(expected: TreeDef, data: Any, tree: Any) -> str:
    if expected.node is DICT:
        return (
            f"Dict key mismatch; expected keys: {[k.key for k in expected.keys]}; present "
            f"keys: {list(data)}."
        )
    return f"Mismatch custom node data: {expected.data!r} != {data!r}; value: {tree}."


# ---------------------------------------------------------------------------------------- flatten


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Leaf], TreeDef]:
    """The leaves of a tree, in order, and its structure. `is_leaf(part)` makes a part a leaf."""
    leaves: list[Any] = []
    try:
        return leaves, _flatten_into(tree, leaves, is_leaf)
    except RecursionError:
        what = f"a pytree, a {type(tree).__name__}, is nested too deeply, or contains itself"
        raise RecursionError(what) from None


def _flatten_into(tree: Any, leaves: list[Any], is_leaf: IsLeaf | None) -> TreeDef:
    node = None if is_leaf is not None and is_leaf(tree) else node_of_value(tree)
    if node is None:
        leaves.append(tree)
        return LEAF
    children, data = node.flatten(tree)
    parts = tuple([_flatten_into(child, leaves, is_leaf) for child in children])
    keyed = node.with_keys
    keys = tuple(key for key, _ in keyed(tree)[0]) if keyed is not None else None
    return TreeDef(node, data, parts, keys)
