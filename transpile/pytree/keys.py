"""Keys: the entries of the path from the root of a pytree to a leaf, as text in Python's syntax."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from transpile.util.frozen_records import dataclass

KeyEntry = Any  # one of the four below, or the key of a registered class
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

    def __hash__(self) -> int:
        return hash((FlattenedIndexKey, self.key))  # the index of a sequence is another key

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


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
