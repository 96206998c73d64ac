"""Arrays of extended dtypes, which NumPy lacks, such as PRNG keys.

For users such an array is a leaf, with a shape and a dtype. For traces and programs it is a
container of one leaf, the array of numbers in it: `flatten_arrays` flattens to these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from transpile.pytree import registry
from transpile.pytree.registry import EXTENDED, NodeType
from transpile.pytree.treedef import LEAF, Leaf, TreeDef, flatten


def register_extended(cls: type, held: Callable[[Any], Any], holding: Callable[[Any], Any]) -> None:
    """Register a class of arrays of an extended dtype: `held(value)` is the array of numbers in it,
    and `holding(x)` the value with the array, tracer or placeholder x in it."""
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
    """As `registry.one_level`; an array of an extended dtype is a container of its numbers."""
    node = EXTENDED.get(type(value))
    return registry.one_level(value) if node is None else node.flatten(value)


def flatten_arrays(tree: Any) -> tuple[list[Leaf], TreeDef]:
    """As `flatten`; arrays of extended dtypes are containers of their numbers."""
    leaves, treedef = flatten(tree)
    if not any(type(x) in EXTENDED for x in leaves):
        return leaves, treedef
    nodes = [EXTENDED.get(type(x)) for x in leaves]
    parts = [LEAF if n is None else TreeDef(n, None, (LEAF,)) for n in nodes]
    held = [x if n is None else n.flatten(x)[0][0] for x, n in zip(leaves, nodes, strict=True)]
    return held, with_parts(treedef, iter(parts))


def with_parts(treedef: TreeDef, parts: Iterator[TreeDef]) -> TreeDef:
    """The structure with each leaf replaced by a structure."""
    if treedef.node is None:
        return next(parts)
    subtrees = tuple([with_parts(child, parts) for child in treedef.subtrees])
    return TreeDef(treedef.node, treedef.data, subtrees, tuple(treedef.keys))


def opened(value: Any) -> Any:
    """Arguments in which arrays of extended dtypes are replaced by their numbers."""
    node = EXTENDED.get(type(value))
    if node is not None:
        return node.flatten(value)[0][0]
    if isinstance(value, list | tuple):
        return type(value)(map(opened, value))
    return {k: opened(v) for k, v in value.items()} if isinstance(value, dict) else value


def moved(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a function that moves elements, for arguments of one extended dtype."""
    (cls,) = {type(x) for x in flatten((args, kwargs))[0] if type(x) in EXTENDED}
    return _closed(function(*opened(args), **opened(kwargs)), EXTENDED[cls])


def _closed(value: Any, node: NodeType) -> Any:
    if isinstance(value, list | tuple):
        return type(value)([_closed(x, node) for x in value])
    return node.unflatten(None, [value])
