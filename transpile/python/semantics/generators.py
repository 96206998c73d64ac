"""Generators whose items are summed, compared or tested: loops, as statements are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from transpile.python.semantics.branches import if_
from transpile.python.semantics.iterables import Items, Iterator, items_of
from transpile.python.semantics.loops import for_

Function = Callable[..., Any]


class Generated(Iterator):
    """`(element for ... in iterable if holds)`.

    element, holds  functions of an item, or of its parts where it is unpacked; `holds` may be None
    """

    def __init__(
        self, iterable: Any, element: Function, holds: Function | None, is_unpacked: bool
    ) -> None:
        self._iterable = iterable
        self._element = _of_item(element, is_unpacked)
        self._holds = None if holds is None else _of_item(holds, is_unpacked)
        source = items_of(iterable) if holds is None else None
        items = None
        if source is not None:
            item, made = source.item, self._element
            items = Items(source.length, lambda k: made(item(k)), source.prepare)
        super().__init__(items, self._natively)

    def _natively(self) -> Any:
        for item in self._iterable:
            if self._holds is None or self._holds(item):
                yield self._element(item)

    def folded(self, step: Function, name: str, start: Any, *, ends: bool = False) -> Any:
        """The state behind all items, or behind the first one that makes it true.

        step  (item, state) -> state
        """
        items: Any = self if self.is_begun else self._iterable
        body = self._taken if self.is_begun else self._next
        return for_(items, partial(body, step, name), (0,) if ends else (), (name,), (start,))[0]

    def _taken(self, step: Function, _: str, item: Any, state: Any) -> tuple[Any, ...]:
        return (step(item, state),)

    def _next(self, step: Function, name: str, item: Any, state: Any) -> tuple[Any, ...]:
        def then(now: Any) -> tuple[Any, ...]:
            return (step(self._element(item), now),)

        if self._holds is None:
            return then(state)
        return if_(self._holds(item), then, lambda now: (now,), (name,), (state,))


def _of_item(function: Function, is_unpacked: bool) -> Function:
    return partial(_unpacked, function) if is_unpacked else function


def _unpacked(function: Function, item: Any) -> Any:
    return function(*item)
