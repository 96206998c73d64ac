"""Pytrees: nested containers of arrays, their structures, and the classes that are containers.

Containers are tuples, lists, dicts (in key order), namedtuples, dataclasses, None (no leaves) and
the classes registered here; all else is a leaf. `tree.py` and `tree_util.py` use them.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from transpile.pytree.registry import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    NodeType,
    SequenceKey,
    is_namedtuple,
)

T = TypeVar("T")
Leaf = Any
IsLeaf = Callable[[Any], bool]


class TreeDef:
    """The structure of a pytree: its containers, with a hole for each leaf.

    node      the class of the outermost container; None for a leaf
    data      what this container holds besides its children
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
        return hash((self.node, self.data, self.subtrees))

    @property
    def num_nodes(self) -> int:
        """How many containers and leaves the tree has."""
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
        """The class of the outermost container and what it holds besides children; None: a leaf."""
        if self.node is None:
            return None
        data: Any = self.data
        return self.node.cls, list(data) if self.node is DICT else data

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
        """The parts of a tree that stand where this structure, a prefix of it, has leaves.

        Raises ValueError where the tree has another container.
        """
        found: list[Any] = []
        self._flatten_up_to(tree, found)
        return found

    def _flatten_up_to(self, tree: Any, found: list[Any]) -> None:
        if self.node is None:
            found.append(tree)
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
            part._flatten_up_to(child, found)

    @staticmethod
    def from_node_data_and_children(
        registry: Any, node_data: tuple[type, Any] | None, children: Iterable[TreeDef]
    ) -> TreeDef:
        """The structure that has this `node_data()` and these `children()`."""
        if node_data is None:
            return LEAF
        cls, data = node_data
        return TreeDef(known_node(cls), tuple(data) if cls is dict else data, tuple(children))

    def paths(self, prefix: str = "") -> list[str]:
        """The path of each leaf, as one would write it in Python after the name of the tree."""
        if self.node is None:
            return [prefix]
        return [
            path
            for key, child in zip(self.keys, self.subtrees, strict=True)
            for path in child.paths(f"{prefix}{key}")
        ]

    def key_paths(self, before: KeyPath = ()) -> list[KeyPath]:
        """The keys on the way to each leaf."""
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
        """The structure as Python writes such containers, with `*` for leaves."""
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


# -------------------------------------------------------------------------- the built-in containers

_SEQUENCE_KEYS = [tuple(SequenceKey(i) for i in range(count)) for count in range(9)]


def _sequence_keys(_: Any, count: int) -> Sequence[KeyEntry]:
    if count < len(_SEQUENCE_KEYS):
        return _SEQUENCE_KEYS[count]
    return [SequenceKey(i) for i in range(count)]


def _flatten_dict(value: dict[Any, Any]) -> tuple[list[Any], tuple[Any, ...]]:
    try:
        keys = tuple(sorted(value))
    except TypeError as error:
        raise ValueError(
            "Comparator raised exception while sorting pytree dictionary keys: the keys of a dict "
            f"in a pytree must be sortable; these are not: {list(value)!r}"
        ) from error
    return [value[key] for key in keys], keys


def _flatten_defaultdict(value: defaultdict[Any, Any]) -> tuple[list[Any], Hashable]:
    children, keys = _flatten_dict(value)
    return children, (value.default_factory, keys)


TUPLE = NodeType("tuple", tuple, lambda v: (v, None), lambda _, c: tuple(c), _sequence_keys)
LIST = NodeType("list", list, lambda v: (v, None), lambda _, c: list(c), _sequence_keys)
NONE = NodeType("None", type(None), lambda _: ((), None), lambda *_: None, lambda *_: ())
DICT = NodeType(
    "dict",
    dict,
    _flatten_dict,
    lambda keys, c: dict(zip(keys, c, strict=True)),
    lambda keys, _: [DictKey(k) for k in keys],
)
_ORDERED = NodeType(
    "OrderedDict",
    OrderedDict,
    lambda v: (list(v.values()), tuple(v)),
    lambda keys, c: OrderedDict(zip(keys, c, strict=True)),
    lambda keys, _: [DictKey(k) for k in keys],
)
_DEFAULT = NodeType(
    "defaultdict",
    defaultdict,
    _flatten_defaultdict,
    lambda data, c: defaultdict(data[0], zip(data[1], c, strict=True)),
    lambda data, _: [DictKey(k) for k in data[1]],
)

_registry: dict[type, NodeType] = {
    node.cls: node for node in (TUPLE, LIST, NONE, DICT, _ORDERED, _DEFAULT)
}
_found: set[type] = set()  # namedtuples and dataclasses that nobody has registered
EXTENDED: dict[type, NodeType] = {}  # leaves that hold an array: see `pytree/extended_dtypes.py`


# ------------------------------------------------------------------------------------ registration


def register(node: NodeType, kind: str = "") -> None:
    """Add a class of containers; ValueError where it is one already."""
    if node.cls in _registry and node.cls not in _found:
        raise ValueError(f"Duplicate custom {kind}PyTreeDef type registration for {node.cls}.")
    _found.discard(node.cls)
    _registry[node.cls] = node


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Iterable[tuple[KeyEntry, Any]], Hashable]]
    | None = None,
) -> None:
    """Make a class a container.

    flatten_func            value -> (children, data), where data is hashable
    unflatten_func          (data, children) -> value
    flatten_with_keys_func  value -> ((key, child) pairs, data)

    Raises ValueError for a class that is one already, TypeError for what are no functions.
    """
    functions = (flatten_func, unflatten_func, flatten_with_keys_func or flatten_func)
    if not isinstance(nodetype, type) or not all(map(callable, functions)):
        raise TypeError(
            "register_pytree_node takes a class and the functions that take its values apart and "
            f"rebuild them, not {nodetype!r}, {flatten_func!r} and {unflatten_func!r}"
        )

    def flatten(value: T) -> tuple[Sequence[Any], Hashable]:
        children, data = flatten_func(value)
        return children if isinstance(children, list | tuple) else list(children), data

    register(
        NodeType(
            nodetype.__name__,
            nodetype,
            flatten,
            unflatten_func,
            lambda _, count: [FlattenedIndexKey(i) for i in range(count)],
            flatten_with_keys_func,
        )
    )


def register_pytree_node_class(cls: type[T]) -> type[T]:
    """A class decorator: the class has `tree_flatten(self)` and `tree_unflatten(cls, data, c)`."""
    methods: Any = cls
    register_pytree_node(cls, methods.tree_flatten, methods.tree_unflatten)
    return cls


def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T]:
    """Make a dataclass a container, or choose which fields are what; gives the class.

    data_fields  the children; by default the fields that are not marked `tree.static`
    meta_fields  part of the structure; by default the fields marked so
    drop_fields  neither: they have their defaults when a value is rebuilt

    Raises TypeError for one of the first two without the other, and for neither of them where the
    class is no dataclass; ValueError for fields that are missing or unknown.
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified when either "
            f"is specified. Got data_fields={data_fields} meta_fields={meta_fields}."
        )
    is_dataclass = dataclasses.is_dataclass(nodetype)
    if data_fields is None or meta_fields is None:
        if not is_dataclass:
            raise TypeError(
                "register_dataclass: data_fields and meta_fields are required when nodetype is "
                f"not a dataclass. Got nodetype={nodetype}."
            )
        data_fields, meta_fields = _fields(nodetype, drop_fields)
    elif is_dataclass:
        _check_fields(nodetype, {*data_fields, *meta_fields}, set(drop_fields))
    register(_dataclass_node(nodetype, tuple(data_fields), tuple(meta_fields)), "dataclass ")
    return nodetype


def _fields(cls: type, dropped: Sequence[str] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the children and of what is part of the structure."""
    all_fields: Any = dataclasses.fields(cls)
    fields = [f for f in all_fields if f.init and f.name not in dropped]
    return (
        tuple(f.name for f in fields if not f.metadata.get("static", False)),
        tuple(f.name for f in fields if f.metadata.get("static", False)),
    )


def _check_fields(cls: type, given: set[str], dropped: set[str]) -> None:
    fields: Any = dataclasses.fields(cls)
    expected = {f.name for f in fields if f.init} - dropped
    rule = "data_fields and meta_fields must include all dataclass fields with ``init=True``"
    if unknown := given - expected:
        raise ValueError(f"{rule} and only them. Unexpected fields: {unknown}.")
    if missing := expected - given:
        raise ValueError(
            f"{rule} and only them. Missing fields: {missing}. Add them to drop_fields to "
            "suppress this error."
        )


def _dataclass_node(cls: type, names: tuple[str, ...], meta: tuple[str, ...]) -> NodeType:
    def flatten(value: Any) -> tuple[Sequence[Any], Hashable]:
        return [getattr(value, n) for n in names], tuple([getattr(value, n) for n in meta])

    def unflatten(data: Any, children: Sequence[Any]) -> Any:
        return cls(**dict(zip(names, children, strict=True)), **dict(zip(meta, data, strict=True)))

    keys = tuple(GetAttrKey(n) for n in names)
    return NodeType(cls.__name__, cls, flatten, unflatten, lambda *_: keys)


def node_of(cls: type) -> NodeType | None:
    """The container type of a class: registered, a namedtuple or a dataclass; else None."""
    node = _registry.get(cls)
    if node is None:
        node = _new_node_type(cls)
        if node is not None:
            _found.add(cls)
            _registry[cls] = node
    return node


def _new_node_type(cls: type) -> NodeType | None:
    if is_namedtuple(cls):
        named: Any = cls
        keys = tuple(GetAttrKey(f) for f in named._fields)
        return NodeType(
            cls.__name__, cls, lambda v: (v, None), lambda _, c: named(*c), lambda *_: keys
        )
    array_like = hasattr(cls, "__array__") or hasattr(cls, "shape")
    if dataclasses.is_dataclass(cls) and not array_like:
        return _dataclass_node(cls, *_fields(cls))
    return None


def node_of_value(value: Any) -> NodeType | None:
    """The container type of a value, None for a leaf; new namedtuples and dataclasses join."""
    node = _registry.get(type(value))
    if node is None and not hasattr(value, "dtype"):
        node = node_of(type(value))
    return node


def known_node(cls: type) -> NodeType:
    """The container type of a class that is one, or a TypeError."""
    node = EXTENDED.get(cls) or node_of(cls)
    if node is None:
        raise TypeError(f"{cls.__name__} is not registered as a pytree")
    return node


def reduce_node(node: NodeType) -> tuple[Callable[[type], NodeType], tuple[type]]:
    """For pickle: a container type goes by its class, which must be importable."""
    return known_node, (node.cls,)


# ---------------------------------------------------------------------------------------- flatten


def one_level(value: Any) -> tuple[Sequence[Any], Hashable] | None:
    """The children of a container and what else it holds; None for a leaf."""
    node = node_of_value(value)
    return None if node is None else node.flatten(value)


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
