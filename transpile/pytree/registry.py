"""The registry of container classes: how values of a class are flattened and rebuilt.

Tuples, lists, dicts (in the order of their sorted keys), OrderedDicts, defaultdicts and None are
containers; namedtuples and dataclasses become so at their first use; users register other classes.
A value of any other class is a leaf.

Of a dataclass that nobody has registered, the fields that cannot hold arrays by their annotations
(`str`, `bytes`, `type`, an Enum, a Literal, a Callable, or one of these or None) are part of the
structure, as those marked `tree.static` are. Values do not decide: a tree of labels for its fields
has the structure of the tree of arrays.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import sys
import types
import typing
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from transpile.pytree.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    SequenceKey,
)
from transpile.util.frozen_records import dataclass

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class NodeType:
    """How one class of containers is flattened and rebuilt.

    flatten    value -> (children, data): `data` is hashable and has all that is not a child
    unflatten  (data, children) -> value
    entries    (data, number of children) -> the key of each child
    with_keys  value -> ((key, child) pairs, data), for a class that makes its own keys
    """

    name: str
    cls: type
    flatten: Callable[[Any], tuple[Sequence[Any], Hashable]]
    unflatten: Callable[[Any, Sequence[Any]], Any]
    entries: Callable[[Any, int], Sequence[KeyEntry]]
    with_keys: Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Hashable]] | None = None


def is_namedtuple(cls: type) -> bool:
    """True if a class is a namedtuple."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


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
_implicit: set[type] = set()  # namedtuples and dataclasses that users have not registered
EXTENDED: dict[type, NodeType] = {}  # leaves that hold an array: see `extended_dtypes.py`


# ------------------------------------------------------------------------------------ registration


def register(node: NodeType, kind: str = "") -> None:
    """Register a class of containers; ValueError where it is registered already."""
    if node.cls in _registry and node.cls not in _implicit:
        raise ValueError(f"Duplicate custom {kind}PyTreeDef type registration for {node.cls}.")
    _implicit.discard(node.cls)
    _registry[node.cls] = node


def register_as(cls: type, other: type) -> None:
    """Let instances of a class be flattened as those of another one, which they are rebuilt as."""
    _registry[cls] = _registry[other]


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Iterable[tuple[KeyEntry, Any]], Hashable]]
    | None = None,
) -> None:
    """Register a class of containers.

    flatten_func            value -> (children, data), where data is hashable
    unflatten_func          (data, children) -> value
    flatten_with_keys_func  value -> ((key, child) pairs, data)

    Raises ValueError for a class that is registered already, TypeError for arguments that are not
    functions.
    """
    functions = (flatten_func, unflatten_func, flatten_with_keys_func or flatten_func)
    if not isinstance(nodetype, type) or not all(map(callable, functions)):
        raise TypeError(
            "register_pytree_node takes a class and the functions that flatten and rebuild its "
            f"values, not {nodetype!r}, {flatten_func!r} and {unflatten_func!r}"
        )

    def flatten(value: T) -> tuple[Sequence[Any], Hashable]:
        pair = flatten_func(value)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                "The to_iterable function for a custom PyTree node should return a (children, "
                f"aux_data) tuple, got {pair!r}"
            )
        children, data = pair
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
    """A class decorator that registers a class with the methods `tree_flatten(self)` and
    `tree_unflatten(cls, data, children)`."""
    methods: Any = cls
    register_pytree_node(cls, methods.tree_flatten, methods.tree_unflatten)
    return cls


def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T]:
    """Register a dataclass with the roles of its fields; returns the class.

    data_fields  the children; by default the fields that are not marked `tree.static`
    meta_fields  part of the structure; by default the fields marked so
    drop_fields  neither; a rebuilt value has their defaults

    Raises TypeError for one of the first two without the other, and for neither of them where the
    class is no dataclass; ValueError for fields that are missing or unknown.
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified when either "
            f"is specified. Got data_fields={data_fields} meta_fields={meta_fields}."
        )
    is_dataclass = dataclasses.is_dataclass(nodetype)
    if both := sorted({*(data_fields or ())} & {*(meta_fields or ())}):
        raise ValueError(f"data_fields and meta_fields must not overlap. Got both in {both}.")
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
    """The names of the fields that are children, and of those that are part of the structure."""
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


_ARE_CONTAINERS = [True]  # dataclasses that are not registered


def take_dataclasses_as_containers(are_containers: bool) -> bool:
    """Say whether dataclasses that nobody has registered are containers, as here, or leaves, as in
    JAX; for the whole process, and from now on. Returns what was said before."""
    before, _ARE_CONTAINERS[0] = _ARE_CONTAINERS[0], are_containers
    if not are_containers:
        for cls in [cls for cls in _implicit if not is_namedtuple(cls)]:
            _implicit.discard(cls)
            del _registry[cls]
    return before


def node_of(cls: type) -> NodeType | None:
    """The node type of a class that is registered, a namedtuple or a dataclass; else None."""
    node = _registry.get(cls)
    if node is None:
        node = _new_node_type(cls)
        if node is not None:
            _implicit.add(cls)
            _registry[cls] = node
    return node


def _new_node_type(cls: type) -> NodeType | None:
    if is_namedtuple(cls):
        named: Any = cls
        keys = tuple(GetAttrKey(f) for f in named._fields)
        return NodeType(
            cls.__name__, cls, lambda v: (v, None), lambda _, c: named(*c), lambda *_: keys
        )
    # With `__array__` alone it is a container that can be made an array, by those who ask for that.
    array_like = hasattr(cls, "shape")
    if dataclasses.is_dataclass(cls) and not array_like and _ARE_CONTAINERS[0]:
        data, meta = _fields(cls)
        holds_arrays = {name for name in data if not _is_structure(_annotation(cls, name))}
        moved = tuple(name for name in data if name not in holds_arrays)
        return _dataclass_node(cls, tuple(n for n in data if n in holds_arrays), moved + meta)
    return None


def _annotation(cls: type, name: str) -> Any:
    """The annotation of a field, evaluated where it is text; the text where that has no meaning."""
    (hint,) = (f.type for f in dataclasses.fields(typing.cast(Any, cls)) if f.name == name)
    if not isinstance(hint, str):
        return hint
    owner = next(c for c in cls.__mro__ if name in inspect.get_annotations(c))
    names = vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}
    holder = types.SimpleNamespace(__annotations__={name: hint})
    try:
        return typing.get_type_hints(holder, names, dict(vars(owner)))[name]
    except (NameError, AttributeError, TypeError, SyntaxError):
        return hint


def _is_structure(hint: Any) -> bool:
    """True for an annotation of values that are no arrays, numbers or containers of them."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        return all(map(_is_structure, options))
    if origin in (typing.Literal, collections.abc.Callable, type):
        return True
    return hint is Callable or (
        isinstance(hint, type) and issubclass(hint, str | bytes | type | enum.Enum)
    )


def node_of_value(value: Any) -> NodeType | None:
    """The node type of a value, None for a leaf. Namedtuples and dataclasses are registered at
    their first value; a dataclass that has the dtype and the shape of an array is a leaf."""
    cls = type(value)
    node = _registry.get(cls)
    is_array = hasattr(value, "dtype") and hasattr(value, "shape")
    if node is None and (not is_array or is_namedtuple(cls)):
        node = node_of(cls)
    return node


def one_level(value: Any) -> tuple[Sequence[Any], Hashable] | None:
    """(children, data) of a container; None for a leaf."""
    node = node_of_value(value)
    return None if node is None else node.flatten(value)


def known_node(cls: type) -> NodeType:
    """The node type of a class of containers or extended dtypes; TypeError for other classes."""
    node = EXTENDED.get(cls) or node_of(cls)
    if node is None:
        raise TypeError(f"{cls.__name__} is not registered as a pytree")
    return node


def reduce_node(node: NodeType) -> tuple[Callable[[type], NodeType], tuple[type]]:
    """The reduction of a node type for pickle: it is found by its class, which must be
    importable."""
    return known_node, (node.cls,)
