"""Guards: checks that what a trace read from a function's surroundings is as it was.

A guard says of one dict entry, closure cell, attribute or list item which object has to be there,
or of one container, array or function what it has to hold. They are checked at every call, here or
in C (`runtime_c/python/call.c` has the same kinds). Numbers and strings count by value, arrays up
to 4 kB and containers by content, other objects by identity: what these hold has guards of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CellType
from typing import Any, NamedTuple

import numpy as np

from transpile.ir.number_text import number_bytes

# The kinds; as in the C file.
ENTRY, CELL, ATTRIBUTE, INDEX, ITEMS, PAIRS, ARRAY, FUNCTION = range(8)

_MISSING = object()
_BY_VALUE = frozenset((bool, int, str, bytes))
_BY_DIGITS = frozenset((float, complex))
_DEEP = 8  # containers in containers that are compared where another one stands in the place of one


class Guard(NamedTuple):
    """One check.

    ENTRY, CELL, ATTRIBUTE, INDEX   under this name in the dict, cell, object or list there is this
                                    value
    ITEMS, PAIRS                    the list, set or deque holds the items of this tuple, the dict
                                    what this copy of it holds
    ARRAY                           its (dtype, shape, bytes); None for bytes that are not compared
    FUNCTION                        its (code, defaults, defaults of keywords)

    `label` is how one would write it in Python.
    """

    kind: int
    holder: Any
    name: Any
    value: Any
    label: str


class Watch:
    """The guards of a trace, made before it; `settle` them after it.

    `unseen` says what the trace may have read that has no guard, or less than one, and why.
    """

    __slots__ = (
        "_contents",
        "_entries",
        "_functions",
        "_guards",
        "_long",
        "_others",
        "_parts",
        "unseen",
    )

    def __init__(
        self, guards: Iterable[Guard], unseen: Iterable[str] = (), long: Iterable[Any] = ()
    ) -> None:
        """`long` are containers that have too many items for a guard."""
        self.unseen = list(unseen)
        self._long = {id(value): value for value in long}
        self._keep(tuple(guards))

    def _keep(self, guards: tuple[Guard, ...]) -> None:
        self._guards = guards
        self._contents = {id(g.holder): g for g in guards if g.kind in (ITEMS, PAIRS, ARRAY)}
        self._parts: dict[int, list[Guard]] = {}
        for guard in guards:
            if guard.kind in (ENTRY, INDEX):
                self._parts.setdefault(id(guard.holder), []).append(guard)
        # What is checked at every call, those that most functions have by themselves.
        self._functions = tuple([(g.holder, *g.value) for g in guards if g.kind == FUNCTION])
        self._entries = tuple([g[1:4] for g in guards if _is_plain_entry(g)])
        self._others = len(self._functions) + len(self._entries) < len(guards)

    def settle(self) -> Watch | None:
        """Drop what the trace itself has changed, such as a counter; None where nothing is left."""
        kept = tuple([guard for guard in self._guards if self._holds(guard)])
        if len(kept) < len(self._guards):
            changed = dict.fromkeys(g.label for g in self._guards if not self._holds(g))
            self.unseen += [f"{label} (the function itself changes it)" for label in changed]
        self._keep(kept)
        return self if kept else None

    def changed(self) -> str:
        """The label of something that has changed, or `""`."""
        for function, code, given, named in self._functions:
            if (
                function.__code__ is not code
                or function.__defaults__ is not given
                or function.__kwdefaults__ is not named
            ):
                return self._changed()
        for holder, name, value in self._entries:
            if holder.get(name) is not value:
                return self._changed()
        return self._changed() if self._others else ""

    def _changed(self) -> str:
        for guard in self._guards:
            if not self._holds(guard):
                return guard.label
        return ""

    def comparisons(self) -> tuple[tuple[Guard, ...], Watch | None]:
        """The guards that are checked in C, and a watch of the rest, if there are any."""
        quick = tuple(guard for guard in self._guards if not _needs_python(guard))
        rest = [guard for guard in self._guards if _needs_python(guard)]
        return quick, Watch(rest) if rest else None

    def _holds(self, guard: Guard) -> bool:
        kind, holder, name, value, _ = guard
        if kind in _FOUND:
            now = _FOUND[kind](holder, name)
            return now is value or self._equal(now, value)
        return self._same_content(kind, holder, value, 0)

    def _equal(self, now: Any, value: Any, depth: int = 0) -> bool:
        """Tell whether what is there now equals what was: a number, or a container or array of
        which is known what of it was read."""
        if now is value:
            return True
        kind = type(now)
        if kind is not type(value) or depth > _DEEP:
            return False
        if kind in _BY_VALUE:
            return bool(now == value)
        if kind in _BY_DIGITS:
            return number_bytes(now) == number_bytes(value)
        if issubclass(kind, np.generic):
            return bool(now.dtype == value.dtype and now.tobytes() == value.tobytes())
        if kind is tuple:
            return self._equal_items(now, value, depth)
        content = self._contents.get(id(value))
        if content is not None:
            is_known = content.kind != ARRAY or content.value[2] is not None
            return is_known and self._same_content(content.kind, now, content.value, depth + 1)
        parts = self._parts.get(id(value), ()) if id(value) not in self._long else ()
        return bool(parts) and all(
            self._equal(_FOUND[part.kind](now, part.name), part.value, depth + 1) for part in parts
        )

    def _same_content(self, kind: int, now: Any, content: Any, depth: int) -> bool:
        if kind == ARRAY:
            dtype, shape, held = content
            return bool(now.dtype == dtype) and now.shape == shape and held in (None, now.tobytes())
        if kind == FUNCTION:
            return all(a is b for a, b in zip(_parts(now), content, strict=True))
        if kind == PAIRS:
            keys, values = tuple(dict.__iter__(now)), tuple(dict.values(now))
            return self._equal_items(keys, tuple(content), depth) and self._equal_items(
                values, tuple(content.values()), depth
            )
        return self._equal_items(tuple(now), content, depth)

    def _equal_items(self, now: tuple[Any, ...], items: tuple[Any, ...], depth: int) -> bool:
        return len(now) == len(items) and all(
            a is b or self._equal(a, b, depth + 1) for a, b in zip(now, items, strict=True)
        )


def _is_plain_entry(guard: Guard) -> bool:
    return guard.kind == ENTRY and type(guard.holder) is dict


def _needs_python(guard: Guard) -> bool:
    """Tell whether C cannot check a guard: it compares bytes that lie in a row."""
    return guard.kind == ARRAY and bool(guard.value[2]) and not guard.holder.flags.c_contiguous


def _cell(cell: CellType, _: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled
        return _MISSING


# What is there now, by the kind of the guard. A dict's own `get`: a subclass may have another.
_FOUND: dict[int, Callable[[Any, Any], Any]] = {
    ENTRY: lambda holder, name: dict.get(holder, name, _MISSING),
    CELL: _cell,
    ATTRIBUTE: lambda holder, name: getattr(holder, name, _MISSING),
    INDEX: lambda holder, name: holder[name] if -len(holder) <= name < len(holder) else _MISSING,
}


def _parts(function: Any) -> tuple[Any, ...]:
    return function.__code__, function.__defaults__, function.__kwdefaults__


def function_guard(function: Any, label: str) -> Guard:
    """The guard of a function: autoreload gives one another code."""
    return Guard(FUNCTION, function, None, _parts(function), label)
