"""Arrays of extended dtypes, which NumPy has not, such as PRNG keys.

To users such an array is a leaf of every tree, with a shape and a dtype. To traces and programs it
is the array of numbers that it holds: `flatten_arrays` takes trees apart down to those.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from transpile.pytree import treedef as pytrees
from transpile.pytree.registry import NodeType
from transpile.pytree.treedef import EXTENDED, LEAF, Leaf, TreeDef


def register_extended(cls: type, held: Callable[[Any], Any], holding: Callable[[Any], Any]) -> None:
    """Make a class one of arrays of an own dtype: `held(value)` is the array of numbers in it, and
    `holding(x)` the value that holds x: an array, a tracer, or what stands for one."""
    EXTENDED[cls] = NodeType(
        cls.__name__,
        cls,
        lambda value: ((held(value),), None),
        lambda _, children: holding(children[0]),
        lambda *_: ("",),  # the path is that of the value itself
    )


def has_extended(values: Iterable[Any]) -> bool:
    """True if a value, or an item of a list among the values, is an array of an extended dtype."""
    return any(
        type(x) in EXTENDED or (isinstance(x, list | tuple) and has_extended(x)) for x in values
    )


def has_extended_type(types: Iterable[type]) -> bool:
    """True if a class is one of arrays of an extended dtype."""
    return any(cls in EXTENDED for cls in types)


def one_level(value: Any) -> tuple[Sequence[Any], Hashable] | None:
    """The children of a container, or the array that one of an own dtype holds, and what else there
    is; None for a leaf."""
    node = EXTENDED.get(type(value))
    return pytrees.one_level(value) if node is None else node.flatten(value)


def flatten_arrays(tree: Any) -> tuple[list[Leaf], TreeDef]:
    """As `flatten`; arrays of own dtypes are containers of the one that they hold."""
    leaves, treedef = pytrees.flatten(tree)
    if not any(type(x) in EXTENDED for x in leaves):
        return leaves, treedef
    nodes = [EXTENDED.get(type(x)) for x in leaves]
    parts = [LEAF if n is None else TreeDef(n, None, (LEAF,)) for n in nodes]
    found = [x if n is None else n.flatten(x)[0][0] for x, n in zip(leaves, nodes, strict=True)]
    return found, _with_parts(treedef, iter(parts))


def _with_parts(treedef: TreeDef, parts: Iterator[TreeDef]) -> TreeDef:
    """The structure with other structures in the places of its leaves."""
    if treedef.node is None:
        return next(parts)
    subtrees = tuple([_with_parts(child, parts) for child in treedef.subtrees])
    return TreeDef(treedef.node, treedef.data, subtrees, tuple(treedef.keys))


def opened(value: Any) -> Any:
    """Arguments with the arrays of numbers in the places of those that hold them."""
    node = EXTENDED.get(type(value))
    if node is not None:
        return node.flatten(value)[0][0]
    if isinstance(value, list | tuple):
        return type(value)(map(opened, value))
    return {k: opened(v) for k, v in value.items()} if isinstance(value, dict) else value


def moved(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function that moves elements makes of arrays of an own dtype."""
    (cls,) = {type(x) for x in pytrees.flatten((args, kwargs))[0] if type(x) in EXTENDED}
    return _closed(function(*opened(args), **opened(kwargs)), EXTENDED[cls])


def _closed(value: Any, node: NodeType) -> Any:
    if isinstance(value, list | tuple):
        return type(value)([_closed(x, node) for x in value])
    return node.unflatten(None, [value])
