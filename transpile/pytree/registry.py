"""What pytrees are made of: the keys by which children are reached, and classes of containers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from transpile.util.frozen_records import dataclass

KeyEntry = Any  # one of the four below, or what a registered class calls its children
KeyPath = tuple[KeyEntry, ...]


@dataclass(frozen=True)
class SequenceKey:
    """The path entry of an item of a tuple or list: `[idx]`."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True)
class DictKey:
    """The path entry of a value of a dict: `[key]`."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    """The path entry of an attribute: `.name`."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class FlattenedIndexKey:
    """The path entry of a child of a registered class that names no keys: its position."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


@dataclass(frozen=True, eq=False)
class NodeType:
    """How one class of containers is flattened and rebuilt.

    flatten    value -> (children, data): `data` is what is not a child (hashable)
    unflatten  (data, children) -> value
    entries    (data, number of children) -> the key of each child
    with_keys  value -> ((key, child) pairs, data), where a class tells the keys itself
    """

    name: str
    cls: type
    flatten: Callable[[Any], tuple[Sequence[Any], Hashable]]
    unflatten: Callable[[Any, Sequence[Any]], Any]
    entries: Callable[[Any, int], Sequence[KeyEntry]]
    with_keys: Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Hashable]] | None = None


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text: as Python would write it, or, with `simple`, the bare names and numbers.

    separator  what stands between the keys
    """
    return separator.join(map(simple_key if simple else str, keys))


def simple_key(key: KeyEntry) -> str:
    """A key without brackets and dots."""
    match key:
        case SequenceKey(idx=part) | DictKey(key=part) | GetAttrKey(name=part):
            return str(part)
        case FlattenedIndexKey(key=part):
            return str(part)
        case _:
            return str(key)


def is_namedtuple(cls: type) -> bool:
    """True if a class is a namedtuple."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")
