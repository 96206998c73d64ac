"""Noticing that something which a traced function read from its surroundings has changed since.

A trace copies the arrays, numbers and lists that a function closes over. `Watch` remembers what the
function's closure, the globals that it names, and the attributes of its static arguments held, and
tells cheaply whether they still do: numbers and strings by value, arrays up to 4 kB and short lists
and dicts by content, larger arrays, functions and other objects by identity. What the function
itself changes while it is traced (a counter, a log) is not watched.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from transpile.digits import number_bytes
from transpile.records import dataclass

SMALL = 4096  # bytes of an array that is compared by content
_FEW = 64  # items of a list that is compared by content
_DEEP = 4  # lists in lists that are compared by content
_MISSING = object()
_IMMUTABLE = (bool, int, float, complex, str, bytes, type(None), np.generic, FunctionType)


@dataclass(frozen=True, eq=False)
class _Same:
    """Equal to a snapshot of the very same object."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]  # compared only


def snapshot(value: Any, depth: int = 0) -> Any:
    """What must stay equal for the value to count as unchanged; None for what is not watched."""
    kind = type(value)
    if kind in (bool, int, str, bytes):
        return kind, value
    if kind in (float, complex):
        return kind, number_bytes(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject and value.nbytes <= SMALL:
        return "array", value.dtype, value.shape, value.tobytes()
    if kind in (list, tuple, dict) and len(value) <= _FEW and depth < _DEEP:
        items = value.values() if kind is dict else value
        return kind, list(value) if kind is dict else None, [snapshot(x, depth + 1) for x in items]
    if not depth and isinstance(value, ModuleType | type):
        return None
    return _Same(value)


class _CellReader(Mapping[str, Any]):
    """A closure's cell, read as a mapping with any key."""

    __slots__ = ("cell",)

    def __init__(self, cell: CellType) -> None:
        self.cell = cell

    def __getitem__(self, name: str) -> Any:
        return self.cell.cell_contents

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:  # not filled
            return default

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Any:
        return iter(("",))


class Watch:
    """The surroundings of a function as they were before its trace; `settle` it after the trace."""

    __slots__ = ("_items",)

    def __init__(self, function: Any, objects: Iterable[Any] = ()) -> None:
        self._items: list[tuple[Mapping[str, Any], str, Any, Any]] = []
        if isinstance(function, FunctionType):
            for name, cell in zip(
                function.__code__.co_freevars, function.__closure__ or (), strict=True
            ):
                self._add(_CellReader(cell), name)
            for name in global_names(function.__code__):
                if name in function.__globals__:
                    self._add(function.__globals__, name)
        for thing in objects:
            attributes = thing if isinstance(thing, dict) else getattr(thing, "__dict__", None)
            if isinstance(attributes, dict) and not isinstance(
                thing, FunctionType | type | ModuleType
            ):
                for name in attributes:
                    self._add(attributes, name)
                self._add_class_attributes(thing, attributes, function)

    def _add_class_attributes(self, thing: Any, attributes: dict[str, Any], function: Any) -> None:
        """What the function reads of an object's class, and that the object does not hide it."""
        names = function.__code__.co_names if isinstance(function, FunctionType) else ()
        for name in names:
            holder = next((c for c in type(thing).__mro__ if name in vars(c)), None)
            if name in attributes or holder is None or callable(vars(holder)[name]):
                continue
            self._add(attributes, name)
            self._add(vars(holder), name)

    def _add(self, mapping: Mapping[str, Any], name: str) -> None:
        value = mapping.get(name, _MISSING)
        kept = snapshot(value)
        if kept is not None:
            self._items.append((mapping, name, value, kept))

    def settle(self) -> Watch | None:
        """Drop what the trace itself has changed; None where nothing is left to watch."""
        self._items = [item for item in self._items if not _differs(*item)]
        return self if self._items else None

    def comparisons(self) -> tuple[tuple[tuple[Any, ...], ...], Watch | None]:
        """What is easily compared, and the watch of the rest, if there is any.

        Each comparison is a dict or a cell, a name, the object that has to be there, unless the
        name has to be missing, and its content, if it counts by that: the bytes of an array, a
        list's items as a tuple, the copy of a dict.
        """
        found: list[tuple[Any, ...]] = []
        rest = Watch(None)
        for item in self._items:
            mapping, name, value, kept = item
            holder = mapping.cell if isinstance(mapping, _CellReader) else mapping
            if type(holder) not in (dict, CellType):
                rest._items.append(item)
            elif value is _MISSING:
                found.append((holder, name))
            elif type(kept) is _Same or isinstance(value, _IMMUTABLE):
                found.append((holder, name, value))
            elif (content := _content(value, kept)) is not None:
                found.append((holder, name, value, content))
            else:
                rest._items.append(item)
        return tuple(found), rest if rest._items else None

    def changed(self) -> str:
        """The name of something that has changed, or `""`."""
        for item in self._items:
            if _differs(*item):
                return item[1]
        return ""


def _content(value: Any, kept: Any) -> Any:
    """What is easily compared with the content of an array, list or dict; None where nothing is."""
    kind = type(value)
    if kind is np.ndarray:
        return kept[3] if value.flags.c_contiguous else None
    if kind not in (list, tuple, dict):
        return None
    items = list(value.values()) if kind is dict else list(value)
    if not all(isinstance(x, _IMMUTABLE) for x in items) or snapshot(value) != kept:
        return None
    return dict(value) if kind is dict else tuple(items)


def _differs(mapping: Mapping[str, Any], name: str, value: Any, kept: Any) -> bool:
    now = mapping.get(name, _MISSING)
    if now is value:
        if type(kept) is _Same or isinstance(value, _IMMUTABLE):
            return False
        if kept[0] == "array":  # its shape and dtype change through deprecated assignments only
            return bool(value.tobytes() != kept[3])
    return bool(snapshot(now) != kept)


@lru_cache(maxsize=1024)
def global_names(code: CodeType) -> tuple[str, ...]:
    """The globals that a code object and the functions written inside it read."""
    names = {
        i.argval: None
        for i in dis.get_instructions(code)
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for inside in code.co_consts:
        if isinstance(inside, CodeType):
            names.update(dict.fromkeys(global_names(inside)))
    return tuple(names)
