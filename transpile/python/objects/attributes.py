"""Attributes of the user's objects, and elements of lists and dicts, which statements change as
they change variables.

A statement is traced once, and its attributes are then as before: what it makes of them are results
of it, as variables are, and are set behind it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any

from transpile import errors
from transpile.ir.source_info import user_source
from transpile.python.objects.containers import (
    CHANGEABLE,
    MOST_ITEMS,
    changing,
    held_items,
    restore,
)
from transpile.python.objects.known_arrays import seen
from transpile.python.semantics.values import Maybe, Unbound
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

_NOT_USERS = ("transpile", "numpy", "builtins")
_DEPTH = 2  # of objects in the attributes of others, and in containers


class Variables:
    """An object whose attributes are variables of a function: they may have no value."""


class Attribute:
    """An attribute of an object, and how messages call it: `self.count`."""

    def __init__(self, owner: Any, field: str, label: str) -> None:
        self.owner = owner
        self.field = field
        self.label = label
        self.key = (id(owner), field)

    def get(self) -> Any:
        """Its value; Unbound where it has none."""
        return vars(self.owner).get(self.field, Unbound(self.label))

    def set(self, value: Any) -> None:
        """Give it a value, or none. Raises UnsupportedError where only the program knows whether
        it has one, but for variables."""
        if isinstance(self.owner, Variables):
            vars(self.owner)[self.field] = value
        elif type(value) is Maybe:
            raise errors.UnsupportedError(
                f"{user_source()}: traced values decide whether {self.label} has a value behind "
                f"`{user_source().text}`. Give it one before."
            )
        elif type(value) is Unbound:
            vars(self.owner).pop(self.field, None)
        else:
            vars(self.owner)[self.field] = value


class Element(Attribute):
    """An element of a list, a deque or a dict, which has it before and behind a statement."""

    def get(self) -> Any:
        """Its value."""
        return self.owner[self.field]

    def set(self, value: Any) -> None:
        """Give it a value."""
        self.owner[self.field] = value


class Attributes:
    """The attributes of the objects that functions see, and the elements of their lists and dicts,
    as they are now."""

    def __init__(self, functions: Iterable[Any]) -> None:
        self._objects = {id(owner): (owner, name) for name, owner in _objects(functions)}
        self._before = {key: _fields(owner) for key, (owner, _) in self._objects.items()}

    @property
    def are_none(self) -> bool:
        """True where functions see no objects."""
        return not self._objects

    def changed(self) -> list[Attribute]:
        """Those that have another value by now. Raises CarryError where a container has other
        elements."""
        changed: list[Attribute] = []
        for key, (owner, name) in self._objects.items():
            before, now = self._before[key], _fields(owner)
            is_container = isinstance(owner, CHANGEABLE)
            if is_container and before.keys() != now.keys():
                raise changing(name, owner)
            for field in dict.fromkeys((*before, *now)):
                if field in now and field in before and now[field] is before[field]:
                    continue
                if is_container:
                    changed.append(Element(owner, field, f"{name}[{field!r}]"))
                else:
                    label = field if isinstance(owner, Variables) else f"{name}.{field}"
                    changed.append(Attribute(owner, field, label))
        return changed

    def copied(self, values: Iterable[Any]) -> list[Any]:
        """Values, with copies of the changed lists and dicts, which will be as before again."""
        owners = {id(a.owner) for a in self.changed() if isinstance(a, Element)}
        return [copy.copy(v) if id(v) in owners else v for v in values]

    def restore(self) -> None:
        """Let all be as before."""
        for key, (owner, _) in self._objects.items():
            before, now = self._before[key], _fields(owner)
            if before.keys() != now.keys():
                if isinstance(owner, CHANGEABLE):
                    is_dict = isinstance(owner, dict)
                    restore(owner, held_items(before) if is_dict else list(before.values()))
                else:
                    restore(vars(owner), held_items(before))
                continue
            fields = owner if isinstance(owner, CHANGEABLE) else vars(owner)
            for field, value in before.items():
                if now[field] is not value:
                    fields[field] = value


def unlike_ones(results: Sequence[Any], copies: Sequence[Any]) -> list[list[Any]]:
    """The results of two branches: of a list that both give the list itself, else its copies."""
    pairs = zip(*results, *copies, strict=True)
    chosen = [(x, y) if x is y else (one, other) for x, y, one, other in pairs]
    return [[pair[n] for pair in chosen] for n in (0, 1)]


def _fields(owner: Any) -> dict[Any, Any]:
    if isinstance(owner, dict):
        return dict(owner)
    return dict(enumerate(owner) if isinstance(owner, CHANGEABLE) else vars(owner))


class ChangedError(BaseException):
    """A loop changes attributes that are no part of its state yet: it is to be traced again."""

    def __init__(self, attributes: list[Attribute]) -> None:
        self.attributes = attributes


def checked(run: Callable[[], Any], *functions: Any) -> Any:
    """The result of `run()`, which calls functions. Raises ChangedError where they change
    attributes, which are then as before."""
    attributes = Attributes(functions)
    try:
        result = run()
        changed = attributes.changed()
    finally:
        attributes.restore()
    if changed:
        raise ChangedError(changed)
    return result


def with_attributes(
    site: Any,
    run: Callable[..., tuple[Any, ...]],
    body: Callable[..., tuple[Any, ...]],
    condition: Callable[..., Any] | None,
    values: tuple[Any, ...],
) -> tuple[Any, ...]:
    """A loop as `run(labels, body, condition, values)`, of which the attributes that it changes are
    further variables: the values of the variables behind it; `site` says which loop it is."""
    count = len(values)
    owners = {id(owner) for _, owner in _objects((body, condition))}
    known = THREAD.python.changing.get(site, ())
    extra = [a for a in known if id(a.owner) in owners]  # as an earlier trace of it has changed

    def assign(given: Sequence[Any]) -> None:
        for attribute, value in zip(extra, given, strict=True):
            attribute.set(value)

    def each(*given: Any) -> tuple[Any, ...]:
        end = len(given) - len(extra)
        before = [a.get() for a in extra]
        assign(given[end:])
        try:
            return *body(*given[:end]), *(a.get() for a in extra)
        finally:
            assign(before)

    def asks(*given: Any) -> Any:
        assert condition is not None  # of `while`
        end = len(given) - len(extra)
        before = [a.get() for a in extra]
        assign(given[end:])
        try:
            holds = condition(*given[:end])
            changed = [
                a.label for a, value in zip(extra, given[end:], strict=True) if a.get() is not value
            ]
        finally:
            assign(before)
        if changed:
            raise errors.UnsupportedError(
                f"{user_source()}: the condition of `{user_source().text}` changes {changed[0]}. "
                f"Change it in the body of the loop."
            )
        return holds

    while True:
        labels = tuple(a.label for a in extra)
        try:
            results = run(labels, each, asks, (*values, *(a.get() for a in extra)))
        except ChangedError as changed:
            extra += changed.attributes
            THREAD.python.changing[site] = extra
            continue
        assign(results[count:])
        return results[:count]


def _objects(functions: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """The user's objects that functions are handed, and in closures and among globals of these and
    of the helpers that they see there."""
    for name, value in seen(functions):
        yield from _held(name, value, _DEPTH)


def _held(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    value = value.value if type(value) is Maybe else value
    if isinstance(value, type | FunctionType | ModuleType | Tracer):
        return
    if isinstance(value, (*CHANGEABLE, tuple)):
        if len(value) > MOST_ITEMS:
            return
        if isinstance(value, CHANGEABLE):
            yield name, value
        if depth:
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, held in list(items):
                yield from _held(f"{name}[{key!r}]", held, depth - 1)
        return
    is_foreign = type(value).__module__.partition(".")[0] in _NOT_USERS
    if (is_foreign and not isinstance(value, Variables)) or not hasattr(value, "__dict__"):
        return
    yield name, value
    if depth:
        for field, held in list(vars(value).items()):
            yield from _held(f"{name}.{field}", held, depth - 1)
