"""Lists and dicts of the function that a statement of the program would change while it is traced:
once, and not as often as the program comes to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from transpile import errors
from transpile.ir.source_info import user_source
from transpile.trace.trace import Trace
from transpile.trace.tracer import Tracer

T = TypeVar("T")
_OWN = (Trace, Tracer)
_CONTAINERS = (list, dict, set, deque, bytearray)


def unchanging(run: Callable[[], T], function: Callable[..., Any]) -> T:
    """The result of `run()`, which calls a function.

    Raises CarryError where that changes a container that it sees through its closure, or in an
    object there; the container is then as before.
    """
    watched = [(name, value, _items(value)) for name, value in _seen(function)]
    result = run()
    for name, container, before in watched:
        after = _items(container)
        if len(after) != len(before) or any(a is not b for a, b in zip(after, before, strict=True)):
            _restore(container, before)
            raise errors.CarryError(
                f"{user_source()}: `{user_source().text}`, where traced values decide what runs, "
                f"or how often, changes the {type(container).__name__} {name!r}. Collect values "
                f"in an array: out = numpy.zeros(n) before it, and out[i] = value."
            )
    return result


def _seen(function: Any) -> Iterator[tuple[str, Any]]:
    """The containers in the closures of a function, and of those that it sees there, by the names
    that they have."""
    pending, met = [function], set()
    while pending:
        function = pending.pop()
        while isinstance(function, partial):
            function = function.func
        if not isinstance(function, FunctionType) or id(function) in met:
            continue
        met.add(id(function))
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                value = cell.cell_contents
            except ValueError:  # not filled
                continue
            pending.append(value)
            yield from _held(name, value)


def _held(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value, or what it has in its attributes, if these are containers."""
    if isinstance(value, _CONTAINERS):
        yield name, value
    elif not isinstance(value, type | FunctionType | ModuleType) and type(value) not in _OWN:
        for field, held in list(getattr(value, "__dict__", {}).items()):
            if isinstance(held, _CONTAINERS):
                yield f"{name}.{field}", held


def _items(container: Any) -> list[Any]:
    if isinstance(container, dict):
        return [part for item in container.items() for part in item]
    return list(container)


def _restore(container: Any, items: list[Any]) -> None:
    container.clear()
    if isinstance(container, dict):
        container.update(zip(items[::2], items[1::2], strict=True))
    elif isinstance(container, set):
        container.update(items)
    else:
        container.extend(items)
