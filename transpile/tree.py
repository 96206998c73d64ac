"""Pytrees: nested containers of arrays, taken apart and put together again.

Containers are tuples, lists, dicts (in key order), namedtuples, dataclasses, None (no leaves) and
the classes registered here; everything else is a leaf. Names and meanings are those of `jax.tree`.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class NodeType:
    """How one class of containers is taken apart and rebuilt.

    flatten(value) -> (children, data, keys): `data` is what is not a child (hashable), `keys` is
    the text by which each child is reached (`[0]`, `['w']`, `.w`).
    """

    name: str
    flatten: Callable[[Any], tuple[Sequence[Any], Hashable, Sequence[str]]]
    unflatten: Callable[[Any, Sequence[Any]], Any]


@dataclass(frozen=True)
class TreeDef:
    """The structure of a pytree: its containers, with a hole for each leaf."""

    node: NodeType | None
    data: Hashable = None
    children: tuple[TreeDef, ...] = ()
    keys: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    @property
    def num_leaves(self) -> int:
        """How many leaves the tree has."""
        return 1 if self.node is None else sum(child.num_leaves for child in self.children)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves, in order."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"{self} has {self.num_leaves} leaves, not {len(leaves)}")
        return self._build(iter(leaves))

    def _build(self, leaves: Any) -> Any:
        if self.node is None:
            return next(leaves)
        return self.node.unflatten(self.data, [child._build(leaves) for child in self.children])

    def paths(self, prefix: str = "") -> list[str]:
        """The path of each leaf, as one would write it in Python after the name of the tree."""
        if self.node is None:
            return [prefix]
        return [
            path
            for key, child in zip(self.keys, self.children, strict=True)
            for path in child.paths(prefix + key)
        ]

    def __str__(self) -> str:
        return f"PyTreeDef({self._text()})"

    __repr__ = __str__

    def _text(self) -> str:
        if self.node is None:
            return "*"
        inner = [child._text() for child in self.children]
        if self.node is _TUPLE:
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
        if self.node is _LIST:
            return f"[{', '.join(inner)}]"
        if self.node is _NONE:
            return "None"
        if self.node is _DICT:
            keys = self.data if isinstance(self.data, tuple) else ()
            return "{" + ", ".join(f"{k!r}: {t}" for k, t in zip(keys, inner, strict=True)) + "}"
        return f"CustomNode({self.node.name}[{self.data!r}], [{', '.join(inner)}])"


LEAF = TreeDef(None)


def _indices(values: Sequence[Any]) -> list[str]:
    return [f"[{i}]" for i in range(len(values))]


def _flatten_dict(value: dict[Any, Any]) -> tuple[list[Any], Hashable, list[str]]:
    try:
        keys = tuple(sorted(value))
    except TypeError as error:
        raise TypeError(
            f"the keys of a dict in a pytree must be sortable; these are not: {list(value)!r}"
        ) from error
    return [value[key] for key in keys], keys, [f"[{key!r}]" for key in keys]


_TUPLE = NodeType("tuple", lambda v: (v, None, _indices(v)), lambda _, c: tuple(c))
_LIST = NodeType("list", lambda v: (v, None, _indices(v)), lambda _, c: list(c))
_NONE = NodeType("None", lambda _: ((), None, ()), lambda *_: None)
_DICT = NodeType("dict", _flatten_dict, lambda keys, c: dict(zip(keys, c, strict=True)))

_registry: dict[type, NodeType] = {
    tuple: _TUPLE,
    list: _LIST,
    type(None): _NONE,
    dict: _DICT,
    OrderedDict: NodeType(
        "OrderedDict",
        lambda v: (list(v.values()), tuple(v), [f"[{k!r}]" for k in v]),
        lambda keys, c: OrderedDict(zip(keys, c, strict=True)),
    ),
    defaultdict: NodeType(
        "defaultdict",
        lambda v: ((part := _flatten_dict(v))[0], (v.default_factory, part[1]), part[2]),
        lambda data, c: defaultdict(data[0], zip(data[1], c, strict=True)),
    ),
}


def register_pytree_node(
    cls: type[T],
    flatten: Callable[[T], tuple[Iterable[Any], Hashable]],
    unflatten: Callable[[Any, Sequence[Any]], T],
) -> None:
    """Make `cls` a container: `flatten(value) -> (children, data)`, `unflatten(data, children)`."""
    if cls in _registry:
        raise ValueError(f"{cls.__name__} is already registered as a pytree")

    def flatten_with_keys(value: T) -> tuple[Sequence[Any], Hashable, Sequence[str]]:
        children, data = flatten(value)
        children = list(children)
        return children, data, [f"[<flat index {i}>]" for i in range(len(children))]

    _registry[cls] = NodeType(cls.__name__, flatten_with_keys, unflatten)


def register_pytree_node_class(cls: type[T]) -> type[T]:
    """A class decorator: the class has `tree_flatten(self)` and `tree_unflatten(cls, data, c)`."""
    methods: Any = cls
    register_pytree_node(cls, methods.tree_flatten, methods.tree_unflatten)
    return cls


def register_dataclass(
    cls: type[T], data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] = ()
) -> type[T]:
    """Register a dataclass whose `meta_fields` are part of the structure instead of children."""
    names = (
        tuple(data_fields)
        if data_fields is not None
        else tuple(
            f.name
            for f in dataclasses.fields(cls)  # type: ignore[arg-type]  # cls is a dataclass
            if f.init and f.name not in meta_fields
        )
    )
    _registry[cls] = _dataclass_node(cls, names, tuple(meta_fields))
    return cls


def _dataclass_node(cls: type, names: tuple[str, ...], meta: tuple[str, ...]) -> NodeType:
    def flatten(value: Any) -> tuple[Sequence[Any], Hashable, Sequence[str]]:
        return (
            [getattr(value, n) for n in names],
            tuple(getattr(value, n) for n in meta),
            [f".{n}" for n in names],
        )

    def unflatten(data: Any, children: Sequence[Any]) -> Any:
        return cls(**dict(zip(names, children, strict=True)), **dict(zip(meta, data, strict=True)))

    return NodeType(cls.__name__, flatten, unflatten)


def _node_type(value: Any) -> NodeType | None:
    """The container type of a value, None for a leaf; new namedtuples and dataclasses join."""
    node = _registry.get(type(value))
    if node is None and not hasattr(value, "dtype"):
        node = node_of(type(value))
    return node


def _new_node_type(cls: type) -> NodeType | None:
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        fields: tuple[str, ...] = cls._fields
        return NodeType(
            cls.__name__,
            lambda v: (v, None, [f".{f}" for f in fields]),
            lambda _, children: cls(*children),
        )
    array_like = hasattr(cls, "__array__") or hasattr(cls, "shape")
    if dataclasses.is_dataclass(cls) and not array_like:
        return _dataclass_node(cls, tuple(f.name for f in dataclasses.fields(cls) if f.init), ())
    return None


def one_level(value: Any) -> tuple[Sequence[Any], Hashable] | None:
    """The children of a container and what else it holds; None for a leaf."""
    node = _node_type(value)
    if node is None:
        return None
    children, data, _ = node.flatten(value)
    return children, data


def node_of(cls: type) -> NodeType | None:
    """The container type of a class: registered, a namedtuple or a dataclass; else None."""
    node = _registry.get(cls)
    if node is None:
        node = _new_node_type(cls)
        if node is not None:
            _registry[cls] = node
    return node


def reduce_node(node: NodeType) -> tuple[Callable[[type], NodeType], tuple[type]]:
    """For pickle: a container type goes by its class, which must be importable."""
    return _known_node, (next(cls for cls, other in _registry.items() if other is node),)


def _known_node(cls: type) -> NodeType:
    node = node_of(cls)
    if node is None:
        raise TypeError(f"{cls.__name__} is not registered as a pytree")
    return node


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeDef]:
    """The leaves of a tree, in order, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def _flatten_into(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeDef:
    node = None if is_leaf is not None and is_leaf(tree) else _node_type(tree)
    if node is None:
        leaves.append(tree)
        return LEAF
    children, data, keys = node.flatten(tree)
    return TreeDef(
        node, data, tuple(_flatten_into(c, leaves, is_leaf) for c in children), tuple(keys)
    )


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves."""
    return treedef.unflatten(leaves)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeDef:
    """The structure of a tree."""
    return flatten(tree, is_leaf)[1]


def map(  # the name is jax.tree's
    function: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """A tree of `function(leaf, *leaves at the same place in rest)`."""
    first, treedef = flatten(tree, is_leaf)
    others = []
    for other in rest:
        values, other_def = flatten(other, is_leaf)
        if other_def != treedef:
            raise ValueError(f"the trees differ: {treedef} and {other_def}")
        others.append(values)
    return treedef.unflatten(function(*group) for group in zip(first, *others, strict=True))


def all(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Tell whether every leaf is true."""
    return not any(not leaf for leaf in leaves(tree, is_leaf))


def differences(expected: TreeDef, actual: TreeDef, path: str = "") -> list[str]:
    """Where two structures differ, a sentence each, with the path to the place."""
    if expected == actual:
        return []
    if (
        expected.node is not actual.node
        or expected.data != actual.data
        or len(expected.children) != len(actual.children)
    ):
        return [f"at {path or 'the top'}: expected {expected._text()}, got {actual._text()}"]
    return [
        line
        for key, a, b in zip(expected.keys, expected.children, actual.children, strict=True)
        for line in differences(a, b, path + key)
    ]
