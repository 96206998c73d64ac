"""Deques that statements of the program add elements to: lists whose first element has a place."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from transpile.ir.source_info import user_source
from transpile.ir.types import INT64
from transpile.numpy.core.coercion import as_traced
from transpile.primitives import axes, elementwise
from transpile.python.growing.arrays import GrowingArrays, fail_if, is_unknown
from transpile.python.growing.elements import Elements
from transpile.python.growing.growth import Change
from transpile.python.growing.kept import keep
from transpile.python.growing.lists import GrowingList
from transpile.trace.trace import bind


class RingError(BaseException):
    """The trace begins anew, with rings for the deques that are made at `site`."""

    def __init__(self, site: Any) -> None:
        self.site = site


class GrowingDeque(GrowingArrays):
    """A deque that elements are taken from at both ends, and added to at its end. There is room for
    all that are ever added.

    first  the array of the place of its first element
    """

    kind = "deque"
    first: Any = None

    def _take(self, arrays: Sequence[Any]) -> None:
        *self.columns, self.number, self.first = arrays

    def _arrays(self) -> list[Any]:
        return [*self.columns, self.number, self.first]

    def _become_arrays(self, needed: Any, elements: Elements | None) -> None:
        super()._become_arrays(needed, elements)
        self.first = as_traced(np.zeros(1, INT64))

    def _in_column(self, place: Any) -> Any:
        return self.first[0] + place

    def __getitem__(self, k: Any) -> Any:
        if self.items is not None and not is_unknown(k):
            return self.items[k]
        self._in_arrays()
        return self.at(self._place(k, "deque index out of range"))

    def __setitem__(self, k: Any, value: Any) -> None:
        if self.is_plain and not is_unknown(k):
            assert self.items is not None
            self.items[k] = value
            return
        self._in_arrays(self._elements(value))
        self.put(self._place(k, "deque index out of range"), value)

    def _end(self) -> Any:
        return self.first[0] + self.length()

    def extend(self, values: Any) -> None:
        """Add elements at the end."""
        for value in self._known(values):
            self.append(value)

    def _known(self, values: Any) -> list[Any]:
        """The elements of what has a length that is known."""
        if not isinstance(values, Iterable) or isinstance(values, GrowingArrays):
            raise self._refused("adds elements of what only the program has the length of to")
        return list(values)

    def appendleft(self, value: Any) -> None:
        """Add an element before the first."""
        if not self.is_plain:
            raise self._as_ring()
        assert self.items is not None
        self.items.insert(0, value)

    def extendleft(self, values: Any) -> None:
        """Add elements before the first, one after the other."""
        for value in self._known(values):
            self.appendleft(value)

    def rotate(self, n: Any = 1) -> None:
        """Move the elements by so many places to the right."""
        raise self._as_ring()

    def _as_ring(self) -> BaseException:
        """What to raise where the place of its first element is to be any."""
        if self.site is not None:
            return RingError(self.site)
        sites = self.elements.sites if self.elements is not None else ()
        return RingError(min(sites)) if sites else self._refused("adds elements before those of")

    def pop(self) -> Any:
        """Take the last element."""
        return self._taken(-1)

    def popleft(self) -> Any:
        """Take the first element."""
        return self._taken(0)

    def _taken(self, place: int) -> Any:
        if self.is_plain or not (self.items is None or self.items):
            assert self.items is not None
            if not self.items:
                raise IndexError("pop from an empty deque")
            return self.items.pop(place)
        self._check_iterated()
        self._in_arrays()
        count = self.length()
        fail_if(count == 0, lambda: IndexError("pop from an empty deque"))
        taken = self._copy_at(count - 1 if place else 0)
        self.change_by(Change(0, -1, user_source()))
        self.number[0] = count - 1
        if not place:
            self.first[0] = self.first[0] + 1
        keep(taken)  # as others may have it, too
        return taken

    def clear(self) -> None:
        """Remove all elements."""
        if self.is_plain:
            assert self.items is not None
            self.items.clear()
            return
        self._check_iterated()
        self._in_arrays()
        self.change_by(Change(0, None, user_source()))
        self.first[0] = self.first[0] + self.number[0]
        self.number[0] = 0

    def contains(self, value: Any) -> Any:
        """`value in deque`."""
        if self.items is not None and not self.items:
            return False
        self._in_arrays()
        return self.as_list().contains(value)

    def cut(self) -> list[Any]:
        """The columns of its elements."""
        numbers = bind(axes.iota, shape=(self._size(),), dimension=0, dtype=INT64)
        return [bind(elementwise.copy, column[self.first[0] + numbers]) for column in self.columns]

    def like(self) -> Any:
        """An object of the class that it stands for."""
        return deque()

    def results(self) -> tuple[Any, list[Any]]:
        """It is no result of the function, as is no deque."""
        raise TypeError(
            f"{user_source()}: a deque is no result of a traced function, which returns arrays, "
            f"numbers, or tuples, lists and dicts of them. Return a list: list(queue)."
        )

    def as_list(self) -> Any:
        """A list of its elements."""
        if self.items is not None:
            return list(self.items)
        places = bind(axes.iota, shape=(self.room,), dimension=0, dtype=INT64)
        last = self.room - 1 if isinstance(self.room, int) else self.room.as_value() - 1
        return self._listed(np.minimum(places, last - self.first[0]))

    def _listed(self, places: Any) -> GrowingList:
        """A list of the elements at these places, as many as there are."""
        places = self._in_column(places)
        made = GrowingList(None)
        made.elements, made.room, made.most = self.elements, self.room, self.room
        made.columns = [column[places] for column in self.columns]
        made._set_count(self.length())
        return made

    def copy(self) -> Any:
        """A deque of the same elements."""
        raise self._refused("copies")

    def __iter__(self) -> Iterator[Any]:
        if self.items is not None:
            return iter(self.items)
        return (self.at(k) for k in range(len(self)))

    def __iadd__(self, other: Any) -> GrowingDeque:
        self.extend(other)
        return self

    def __getattr__(self, name: str) -> Any:
        if hasattr(deque, name) and not name.startswith("_"):
            raise self._refused(f"calls {name!r} of")
        raise AttributeError(f"'collections.deque' object has no attribute {name!r}")
