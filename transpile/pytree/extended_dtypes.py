"""Arrays of extended dtypes, which NumPy lacks, such as PRNG keys.

For users such an array is a leaf, with a shape and a dtype. For traces and programs it is a
container of the arrays of numbers in it, of its own shape: `flatten_arrays` flattens to these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from transpile.pytree import registry
from transpile.pytree.registry import EXTENDED, NodeType
from transpile.pytree.treedef import LEAF, Leaf, TreeDef, flatten


def register_extended(
    cls: type, held: Callable[[Any], Sequence[Any]], holding: Callable[..., Any]
) -> None:
    """Register a class of arrays of an extended dtype: `held(value)` are the arrays of numbers in
    it, and `holding(*parts)` the value with these arrays, tracers or placeholders in it."""
    EXTENDED[cls] = NodeType(
        cls.__name__,
        cls,
        lambda value: (tuple(held(value)), None),
        lambda _, children: holding(*children),
        # The path of the only part is that of the value itself.
        lambda _, count: ("",) if count == 1 else tuple(f".parts[{k}]" for k in range(count)),
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
    held: list[Leaf] = []
    parts = []
    for leaf in leaves:
        node = EXTENDED.get(type(leaf))
        own = (leaf,) if node is None else node.flatten(leaf)[0]
        held += own
        parts.append(LEAF if node is None else TreeDef(node, None, (LEAF,) * len(own)))
    return held, with_parts(treedef, iter(parts))


def with_parts(treedef: TreeDef, parts: Iterator[TreeDef]) -> TreeDef:
    """The structure with each leaf replaced by a structure."""
    if treedef.node is None:
        return next(parts)
    subtrees = tuple([with_parts(child, parts) for child in treedef.subtrees])
    return TreeDef(treedef.node, treedef.data, subtrees, tuple(treedef.keys))


def opened(value: Any, part: int = 0) -> Any:
    """Arguments in which arrays of extended dtypes are replaced by their numbers, one part of
    them."""
    node = EXTENDED.get(type(value))
    if node is not None:
        return node.flatten(value)[0][part]
    if isinstance(value, list | tuple):
        return type(value)([opened(x, part) for x in value])
    return {k: opened(v, part) for k, v in value.items()} if isinstance(value, dict) else value


def moved(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a function that moves elements, for arguments of one extended dtype."""
    arrays = [x for x in flatten((args, kwargs))[0] if type(x) in EXTENDED]
    classes = list(dict.fromkeys(type(x) for x in arrays))
    if len(classes) > 1:
        raise TypeError(f"arrays of different dtypes: {', '.join(map(str, _dtypes(arrays)))}")
    (cls,) = classes
    count = len(EXTENDED[cls].flatten(arrays[0])[0])
    results = [function(*opened(args, k), **opened(kwargs, k)) for k in range(count)]
    return _closed(results, EXTENDED[cls])


def _dtypes(arrays: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(x.dtype for x in arrays))


def _closed(parts: Sequence[Any], node: NodeType) -> Any:
    if isinstance(parts[0], list | tuple):
        return type(parts[0])([_closed(each, node) for each in zip(*parts, strict=True)])
    return node.unflatten(None, parts)
