"""Pytrees by the names of `jax.tree_util`: `tree_map` and others, paths, registration, `Partial`.

The functions are those of `tree.py`, and classes are registered as `pytree/treedef.py` says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from transpile import tree
from transpile.pytree.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    keystr,
)
from transpile.pytree.prefix import broadcast_prefix, prefix_errors
from transpile.pytree.registry import (
    NodeType,
    node_of,
    node_of_value,
    register,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
)
from transpile.pytree.treedef import Leaf, PyTreeDef, TreeDef

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Leaf",
    "Partial",
    "PyTreeDef",
    "PyTreeRegistry",
    "SequenceKey",
    "all_leaves",
    "broadcast_prefix",
    "build_tree",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "prefix_errors",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

T = TypeVar("T")
Pairs = Iterable[tuple[KeyEntry, Any]]

tree_all = tree.all
tree_broadcast = tree.broadcast
tree_flatten = tree.flatten
tree_flatten_with_path = tree.flatten_with_path
tree_leaves = tree.leaves
tree_leaves_with_path = tree.leaves_with_path
tree_map = tree.map
tree_map_with_path = tree.map_with_path
tree_reduce = tree.reduce
tree_reduce_associative = tree.reduce_associative
tree_structure = tree.structure
tree_transpose = tree.transpose
tree_unflatten = tree.unflatten


# -------------------------------------------------------------------------------------- structures


def treedef_children(treedef: TreeDef) -> list[TreeDef]:
    """The structures of the children."""
    return treedef.children()


def treedef_is_leaf(treedef: TreeDef) -> bool:
    """Whether a structure has one node: a leaf, or a container without children."""
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[TreeDef]) -> TreeDef:
    """The structure of a tuple of trees of these structures."""
    return TreeDef(node_of(tuple), None, tuple(treedefs))


def build_tree(treedef: TreeDef, xs: Any) -> Any:
    """The tree of a structure, whose leaves are given in nested sequences of the same shape."""
    if treedef.node is None:
        return xs
    pairs = zip(treedef.subtrees, xs, strict=True)
    return treedef.node.unflatten(treedef.data, [build_tree(part, x) for part, x in pairs])


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether all values of an iterable are leaves."""
    return all(
        (is_leaf is not None and is_leaf(value)) or node_of_value(value) is None
        for value in iterable
    )


def is_tree_node(typ: type) -> bool:
    """Whether a class is registered as a container."""
    return node_of(typ) is not None


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """The children of a container and its auxiliary data; raises ValueError for a leaf."""
    node = _container(tree)
    children, data = node.flatten(tree)
    named: Any = type(tree)
    return (list(children), named) if _is_plain_namedtuple(node, tree) else (children, data)


def _is_plain_namedtuple(node: NodeType, tree: Any) -> bool:
    return isinstance(tree, tuple) and hasattr(type(tree), "_fields") and node.with_keys is None


def flatten_one_level_with_keys(tree: Any) -> tuple[Pairs, Hashable]:
    """The (key, child) pairs of a container, and its auxiliary data; raises ValueError for a
    leaf."""
    node = _container(tree)
    if node.with_keys is not None:
        return node.with_keys(tree)
    children, data = flatten_one_level(tree)
    values = list(children)
    keys = node.entries(node.flatten(tree)[1], len(values))
    return list(zip(keys, values, strict=True)), data


def _container(tree: Any) -> NodeType:
    node = node_of_value(tree)
    if node is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    return node


# ------------------------------------------------------------------------------------ registration


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Pairs, Hashable]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Make a class a container whose children have keys.

    flatten_with_keys  value -> ((key, child) pairs, data)
    unflatten_func     (data, children) -> value
    flatten_func       value -> (children, data), the same without keys, where that is faster
    """

    def flatten(value: T) -> tuple[Iterable[Any], Hashable]:
        pairs, data = flatten_with_keys(value)
        return [child for _, child in pairs], data

    register_pytree_node(nodetype, flatten_func or flatten, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: type[T]) -> type[T]:
    """A class decorator: the class has `tree_flatten_with_keys(self)`, `tree_unflatten(cls, data,
    children)` and perhaps `tree_flatten(self)`."""
    methods: Any = cls
    register_pytree_with_keys(
        cls,
        methods.tree_flatten_with_keys,
        methods.tree_unflatten,
        getattr(methods, "tree_flatten", None),
    )
    return cls


def register_static(cls: type[T]) -> type[T]:
    """A class decorator: instances are auxiliary data, containers without children.

    They must be hashable and comparable, as structures are compared.
    """
    register(
        NodeType(
            cls.__name__, cls, lambda value: ((), value), lambda value, _: value, lambda *_: ()
        )
    )
    return cls


class PyTreeRegistry:
    """The registered container classes. There is one registry, `default_registry`."""

    flatten = staticmethod(tree_flatten)
    flatten_with_path = staticmethod(tree_flatten_with_path)
    is_node = staticmethod(is_tree_node)
    register_node = staticmethod(register_pytree_node)

    @staticmethod
    def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable] | None:
        """The children of a container and its auxiliary data; None for a leaf."""
        return None if node_of_value(tree) is None else flatten_one_level(tree)

    @staticmethod
    def flatten_one_level_with_keys(tree: Any) -> tuple[Pairs, Hashable] | None:
        """The (key, child) pairs of a container and its auxiliary data; None for a leaf."""
        return None if node_of_value(tree) is None else flatten_one_level_with_keys(tree)

    @staticmethod
    def register_dataclass_node(
        nodetype: type, data_fields: Sequence[str], meta_fields: Sequence[str]
    ) -> None:
        """Make a dataclass a container; see `register_dataclass`."""
        register_dataclass(nodetype, data_fields, meta_fields)


default_registry = PyTreeRegistry()


# ----------------------------------------------------------------------------------------- Partial


class Partial(functools.partial[Any]):
    """`functools.partial` as a container: its arguments are children, its function auxiliary data.

    So it can be an argument or a result of a traced function. A partial of a partial is nested, not
    merged with it as by `functools.partial`.
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Partial:
        """Bind the arguments."""
        if isinstance(func, functools.partial):
            func = _Whole(func)
        return super().__new__(cls, func, *args, **kw)


class _Whole:
    """A partial in a type that `functools.partial` does not merge."""

    def __init__(self, function: functools.partial[Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kw: Any) -> Any:
        return self.function(*args, **kw)

    def __hash__(self) -> int:
        return hash(self.function)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Whole) and self.function == other.function

    def __repr__(self) -> str:
        return repr(self.function)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
