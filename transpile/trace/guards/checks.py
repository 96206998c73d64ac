"""Guards: checks, at every call, that what a trace read from its environment is unchanged.

A guard on a location (dict entry, closure cell, attribute, list item) names the object that it has
to hold; a guard on content (container, array, function) a copy to compare with. They are checked
here or in C (`runtime_c/python/call.c` has the same kinds). Numbers and strings are compared by
value, arrays up to 4 kB and containers by content, larger arrays by a sample of their elements,
other objects by identity; what those hold has guards of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CellType
from typing import Any, NamedTuple

import numpy as np

from transpile.ir.number_text import number_bytes
from transpile.trace.guards.samples import sample

# The kinds; as in the C file.
ENTRY, CELL, ATTRIBUTE, INDEX, ITEMS, PAIRS, ARRAY, FUNCTION, SAMPLE = range(9)

_MISSING = object()
_BY_VALUE = frozenset((bool, int, str, bytes))
_BY_DIGITS = frozenset((float, complex))
_MAX_DEPTH = 8  # of nested containers, compared where one was replaced by another


class Guard(NamedTuple):
    """One check.

    ENTRY, CELL, ATTRIBUTE, INDEX   the dict, cell, object or list holds `value` under `name`
    ITEMS                           the list, set or deque has the items of the tuple `value`
    PAIRS                           the dict has the items of its copy `value`, in their order
    ARRAY                           (dtype, shape, bytes); bytes are None if they are not compared
    FUNCTION                        (code, defaults, keyword defaults)
    SAMPLE                          (dtype, shape, elements, their offsets) of a large array

    `label` is the Python expression of it, for messages.
    """

    kind: int
    holder: Any
    name: Any
    value: Any
    label: str


class Watch:
    """The guards of a trace, made before it; `settle` them after it.

    `unseen` lists what the trace may have read without a guard, and why, for the log.
    """

    __slots__ = (
        "_contents",
        "_entries",
        "_entries_of",
        "_functions",
        "_guards",
        "_has_others",
        "_long",
        "takes_callbacks",
        "unseen",
    )

    def __init__(
        self,
        guards: Iterable[Guard],
        unseen: Iterable[str] = (),
        long: Iterable[Any] = (),
        takes_callbacks: bool = False,
    ) -> None:
        """`long` are containers with too many items to compare; `takes_callbacks`: the function may
        name functions that the program will call."""
        self.takes_callbacks = takes_callbacks
        self.unseen = list(unseen)
        self._long = {id(value): value for value in long}
        self._keep(tuple(guards))

    def _keep(self, guards: tuple[Guard, ...]) -> None:
        self._guards = guards
        self._contents = {id(g.holder): g for g in guards if g.kind in (ITEMS, PAIRS, ARRAY)}
        self._entries_of: dict[int, list[Guard]] = {}
        for guard in guards:
            if guard.kind in (ENTRY, INDEX):
                self._entries_of.setdefault(id(guard.holder), []).append(guard)
        # The checks of every call, with loops of their own for the kinds that most functions have.
        self._functions = tuple([(g.holder, *g.value) for g in guards if g.kind == FUNCTION])
        self._entries = tuple([g[1:4] for g in guards if _is_plain_entry(g)])
        self._has_others = len(self._functions) + len(self._entries) < len(guards)

    def restrict(self, smaller: Watch) -> None:
        """Drop guards of what another survey of the function has not reached."""
        reached = {(g.kind, id(g.holder), g.name) for g in smaller._guards}
        self._keep(tuple([g for g in self._guards if (g.kind, id(g.holder), g.name) in reached]))
        self.unseen = [line for line in self.unseen if line in smaller.unseen]

    def settle(self) -> Watch | None:
        """Drop guards of what the traced function itself changed; None if no guard is left."""
        kept = tuple([guard for guard in self._guards if self._holds(guard)])
        if len(kept) < len(self._guards):
            changed = dict.fromkeys(g.label for g in self._guards if not self._holds(g))
            self.unseen += [f"{label} (the function itself changes it)" for label in changed]
        self._keep(kept)
        return self if kept else None

    def changed(self) -> str:
        """The label of a guard that fails, or `""`."""
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
        return self._changed() if self._has_others else ""

    def _changed(self) -> str:
        for guard in self._guards:
            if not self._holds(guard):
                return guard.label
        return ""

    def comparisons(self) -> tuple[tuple[Guard, ...], Watch | None]:
        """The guards that C checks, and a Watch of the others, or None."""
        quick = tuple(guard for guard in self._guards if not _needs_python(guard))
        rest = [guard for guard in self._guards if _needs_python(guard)]
        return quick, Watch(rest) if rest else None

    def _holds(self, guard: Guard) -> bool:
        kind, holder, name, value, _ = guard
        if kind in _LOOKUP:
            now = _LOOKUP[kind](holder, name)
            return now is value or self._equal(now, value)
        return self._same_content(kind, holder, value, 0)

    def _equal(self, now: Any, value: Any, depth: int = 0) -> bool:
        """True if a value equals the guarded one: a number by value, a container or an array by
        the content that its own guards compare."""
        if now is value:
            return True
        kind = type(now)
        if kind is not type(value) or depth > _MAX_DEPTH:
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
        parts = self._entries_of.get(id(value), ()) if id(value) not in self._long else ()
        return bool(parts) and all(
            self._equal(_LOOKUP[part.kind](now, part.name), part.value, depth + 1) for part in parts
        )

    def _same_content(self, kind: int, now: Any, content: Any, depth: int) -> bool:
        if kind == ARRAY:
            dtype, shape, held = content
            return bool(now.dtype == dtype) and now.shape == shape and held in (None, now.tobytes())
        if kind == SAMPLE:
            dtype, shape, held, offsets = content
            is_alike = bool(now.dtype == dtype) and now.shape == shape
            return is_alike and sample(now, offsets) == held
        if kind == FUNCTION:
            return all(a is b for a, b in zip(_function_state(now), content, strict=True))
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
    """True if C cannot check a guard: it compares contiguous bytes."""
    return guard.kind == ARRAY and bool(guard.value[2]) and not guard.holder.flags.c_contiguous


def _cell(cell: CellType, _: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled
        return _MISSING


# What a location holds now, by the kind of guard. `dict.get`, which subclasses may override.
_LOOKUP: dict[int, Callable[[Any, Any], Any]] = {
    ENTRY: lambda holder, name: dict.get(holder, name, _MISSING),
    CELL: _cell,
    ATTRIBUTE: lambda holder, name: getattr(holder, name, _MISSING),
    INDEX: lambda holder, name: holder[name] if -len(holder) <= name < len(holder) else _MISSING,
}


def _function_state(function: Any) -> tuple[Any, ...]:
    return function.__code__, function.__defaults__, function.__kwdefaults__


def function_guard(function: Any, label: str) -> Guard:
    """The guard of a function, whose code an autoreload may replace."""
    return Guard(FUNCTION, function, None, _function_state(function), label)
