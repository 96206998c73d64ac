"""Pytrees, flattened and rebuilt: the names and meanings of `jax.tree`."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from transpile.pytree.keys import KeyPath, keystr
from transpile.pytree.prefix import broadcast_prefix, parts_of
from transpile.pytree.registry import (
    NodeType,
    node_of,
    node_of_value,
    one_level,
    reduce_node,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
)
from transpile.pytree.treedef import LEAF, Leaf, PyTreeDef, TreeDef, flatten

__all__ = [
    "LEAF",
    "KeyPath",
    "NodeType",
    "PyTreeDef",
    "TreeDef",
    "all",
    "broadcast",
    "differences",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "node_of",
    "one_level",
    "reduce",
    "reduce_associative",
    "reduce_node",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

IsLeaf = Callable[..., bool]
_MISSING: Any = object()  # the default of arguments for which None is a value


def unflatten(treedef: TreeDef, leaves: Iterable[Leaf]) -> Any:
    """The tree of a structure with the given leaves, in order; raises ValueError for a wrong number
    of leaves."""
    return treedef.unflatten(leaves)


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Leaf]:
    """The leaves of a tree, in order; `is_leaf(part)` makes a part a leaf."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf | None = None) -> TreeDef:
    """The structure of a tree; `is_leaf(part)` makes a part a leaf."""
    return flatten(tree, is_leaf)[1]


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """A tree with each leaf replaced by `f(leaf, *parts)`: the parts are the subtrees in its
    position in the trees of `rest`.

    Raises ValueError, with the path, if the first tree is not a prefix of these.
    """
    first, treedef = flatten(tree, is_leaf)
    columns = [parts_of("tree_map tree", tree, treedef, other) for other in rest]
    return treedef.unflatten([f(*group) for group in zip(first, *columns, strict=True)])


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """The leaves of a tree combined from left to right, as by `functools.reduce`; no leaves give
    `initializer`, or a TypeError."""
    values = leaves(tree, is_leaf)
    if initializer is _MISSING:
        return functools.reduce(function, values)
    return functools.reduce(function, values, initializer)


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """The leaves reduced in order, by a balanced binary tree of calls; no leaves give `identity`,
    or a TypeError.

    The operation is assumed to be associative.
    """
    values = leaves(tree, is_leaf)
    if not values:
        if identity is _MISSING:
            raise TypeError("Must specify identity for parallel reduction of empty sequence.")
        return identity
    return _balanced(operation, values)


def _balanced(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    """The reduction of values by halves, of logarithmic depth."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return operation(_balanced(operation, values[:half]), _balanced(operation, values[half:]))


def all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether every leaf is true, a Python bool; True for no leaves."""
    return not any(not leaf for leaf in leaves(tree, is_leaf))


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The full tree with each leaf replaced by the leaf of the prefix above it.

    Raises ValueError, with the path, if the first tree is not a prefix of the second.
    """
    repeated, treedef = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return treedef.unflatten(repeated)


def transpose(
    outer_treedef: TreeDef, inner_treedef: TreeDef | None, pytree_to_transpose: Any
) -> Any:
    """A tree of trees with the levels exchanged: a list of dicts becomes a dict of lists.

    inner_treedef  None: that of the first inner tree

    Raises TypeError if the tree is not an outer tree of inner trees, and ValueError if the outer
    structure is not a prefix of it. Where a registered class of the outer structure has data
    besides its children, only numbers of leaves are compared: data may depend on the children.
    """
    if inner_treedef is None:
        inner_treedef = structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    values, treedef = flatten(pytree_to_transpose)
    expected = outer_treedef.compose(inner_treedef)
    is_close = treedef.num_leaves == expected.num_leaves and _has_data(outer_treedef)
    if treedef != expected and not is_close:
        raise TypeError(f"Mismatch\n{treedef}\n != \n{expected}")
    width = inner_treedef.num_leaves
    columns = [outer_treedef.unflatten(values[k::width]) for k in range(width)]
    return inner_treedef.unflatten(columns)


def _has_data(treedef: TreeDef) -> bool:
    """True if a registered class has data in a structure, which may depend on its children."""
    own = treedef.node is not None and treedef.node.cls not in (tuple, list, dict)
    return (own and treedef.data is not None) or any(_has_data(c) for c in treedef.subtrees)


# -------------------------------------------------------------------------------------------- paths


def flatten_with_path(
    tree: Any, is_leaf: IsLeaf | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Leaf]], TreeDef]:
    """A (path, leaf) pair for each leaf, in order, and the structure.

    is_leaf_takes_path  `is_leaf` is called with the path and the part
    """
    if is_leaf is not None and is_leaf_takes_path:
        is_leaf = _PathPredicate(tree, is_leaf)
    values, treedef = flatten(tree, is_leaf)
    return list(zip(treedef.key_paths(), values, strict=True)), treedef


class _PathPredicate:
    """Adapts an `is_leaf` of (path, subtree) to one of subtrees.

    It walks the tree in parallel with `flatten`, which calls it for each subtree in preorder."""

    def __init__(self, tree: Any, is_leaf: IsLeaf) -> None:
        self._answers = self._preorder((), tree)
        self._is_leaf = is_leaf

    def _preorder(self, path: KeyPath, part: Any) -> Iterator[bool]:
        is_leaf = bool(self._is_leaf(path, part))
        yield is_leaf
        if not is_leaf and node_of_value(part) is not None:
            children, treedef = flatten(part, is_leaf=lambda x: x is not part)
            for key, child in zip(treedef.keys, children, strict=True):
                yield from self._preorder((*path, key), child)

    def __call__(self, _: Any) -> bool:
        return next(self._answers)


def leaves_with_path(
    tree: Any, is_leaf: IsLeaf | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Leaf]]:
    """A (path, leaf) pair for each leaf, in order."""
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """A tree of `f(path, leaf, *parts)`; otherwise as `map`."""
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = [parts_of("tree_map_with_path tree", tree, treedef, other) for other in rest]
    return treedef.unflatten([f(*pair, *more) for pair, *more in zip(pairs, *columns, strict=True)])


# ------------------------------------------------------------------------ fields and differences


def static(**kwargs: Any) -> Any:
    """A `dataclasses.field` that is part of the structure: `mode: str = tree.static(default="a")`.

    It is auxiliary data, and must be hashable. Takes the arguments of `dataclasses.field`.
    """
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


def differences(expected: TreeDef, actual: TreeDef, path: str = "") -> list[str]:
    """The differences of two structures, a sentence for each, with the path to it."""
    if expected == actual:
        return []
    if (
        expected.node is not actual.node
        or expected.data != actual.data
        or len(expected.subtrees) != len(actual.subtrees)
    ):
        return [f"at {path or 'the top'}: expected {expected.text()}, got {actual.text()}"]
    return [
        line
        for key, a, b in zip(expected.keys, expected.subtrees, actual.subtrees, strict=True)
        for line in differences(a, b, path + keystr((key,)))
    ]


def call_mismatch(compiled: TreeDef, called: TreeDef) -> TypeError:
    """The error of a call whose (args, kwargs) differ in structure from a program's."""
    lines = []
    for position, what in enumerate(("args", "kwargs")):
        lines += differences(compiled.subtrees[position], called.subtrees[position], what)
    return TypeError(
        "Function compiled with input pytree does not match the input pytree it was called with. "
        f"There are {len(lines)} mismatches, including:\n"
        + "\n".join(f"    * {line}" for line in lines)
    )
