"""Deques of which statements of the program use both ends alike, or that have a `maxlen`: the place
behind the last one of their memory is the first."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from transpile.ir.source_info import user_source
from transpile.ir.types import INT64
from transpile.primitives import axes, elementwise
from transpile.python.growing.arrays import is_unknown, len_of
from transpile.python.growing.deques import GrowingDeque
from transpile.python.growing.elements import Elements
from transpile.python.growing.growth import Change
from transpile.trace.trace import bind


class GrowingRing(GrowingDeque):
    """A deque whose first element may be at any place.

    maxlen  how many elements it has at most: a further one takes the place of that at the other end
    """

    maxlen: int | None = None

    @classmethod
    def of(cls, static: Any, arrays: Sequence[Any]) -> Self:
        """A deque of its arrays, which a statement has."""
        elements, maxlen = static
        made = super().of(elements, arrays)
        made.bound(maxlen)
        return made

    def bound(self, maxlen: int | None) -> None:
        """Have so many elements at most, if that is a number."""
        self.maxlen = maxlen
        if maxlen is not None:
            self.declared, self.is_open = maxlen, False

    def parts(self) -> tuple[Any, list[Any]]:
        """What it is made of, for statements that have it as a variable."""
        (cls, elements), arrays = super().parts()
        return (cls, (elements, self.maxlen)), arrays

    def fit(self, needed: Any, elements: Elements | None = None) -> None:
        """Have room for so many elements, or one more, of these types."""
        if self.items is None and self.first is not None:
            self._straighten()
        super().fit(needed, elements)

    def _straighten(self) -> None:
        """Have the elements from the first place on."""
        places = self._in_column(self._places())
        self.columns = [bind(elementwise.copy, column[places]) for column in self.columns]
        self.first = np.zeros_like(self.first)

    def _places(self) -> Any:
        return bind(axes.iota, shape=(self.room,), dimension=0, dtype=INT64)

    def _in_column(self, place: Any) -> Any:
        return self._within(self.first[0] + place)

    def _within(self, place: Any) -> Any:
        """A place that is perhaps one round too far."""
        room = len_of(self.room)
        return np.where(place >= room, place - room, place)

    def _end(self) -> Any:
        return self.length()

    def append(self, value: Any) -> None:
        """Add an element at the end."""
        if self.maxlen == 0:
            return
        if self.is_plain:
            assert self.items is not None
            self.items.append(value)
            if self.maxlen is not None and len(self.items) > self.maxlen:
                del self.items[0]
        elif self.maxlen is None:
            super().append(value)
        else:
            self._begin_change(value)
            count = self.length()
            end = self._in_column(count)
            is_full = count >= self.maxlen
            self._note_bounded()
            self.first[0] = self._within(self.first[0] + np.where(is_full, 1, 0))
            self.number[0] = np.where(is_full, count, count + 1)
            self._put_in_column(end, value)

    def appendleft(self, value: Any) -> None:
        """Add an element before the first."""
        if self.maxlen == 0:
            return
        if self.is_plain:
            assert self.items is not None
            self.items.insert(0, value)
            if self.maxlen is not None and len(self.items) > self.maxlen:
                del self.items[-1]
            return
        self._begin_change(value)
        count = self.length()
        if self.maxlen is None:
            self._grow(1, 1)
            self.number[0] = count + 1
        else:
            self._note_bounded()
            self.number[0] = np.minimum(count + 1, self.maxlen)
        self._step_back()
        self.put(0, value)

    def _begin_change(self, value: Any) -> None:
        self._check_iterated()
        self._in_arrays(self._elements(value))

    def _note_bounded(self) -> None:
        """Note a change of the length for which there is room in any case."""
        self.change_by(Change(0, None, user_source()))

    def _step_back(self) -> None:
        room = len_of(self.room)
        self.first[0] = np.where(self.first[0] == 0, room, self.first[0]) - 1

    def extendleft(self, values: Any) -> None:
        """Add elements before the first, one after the other."""
        for value in self._known(values):
            self.appendleft(value)

    def popleft(self) -> Any:
        """Take the first element."""
        taken = super().popleft()
        if self.first is not None:
            self.first[0] = self._within(self.first[0])
        return taken

    def clear(self) -> None:
        """Remove all elements."""
        super().clear()
        if self.first is not None:
            self.first[0] = 0

    def rotate(self, n: Any = 1) -> None:
        """Move the elements by so many places to the right."""
        if self.is_plain and not is_unknown(n):
            assert self.items is not None
            turned = deque(self.items)
            turned.rotate(n)
            self.items[:] = turned
            return
        self._check_iterated()
        if self.items is not None and not self.items:
            return
        self._in_arrays()
        count, places = self.length(), self._places()
        turned_places = (places - n) % np.maximum(count, 1)
        sources = self._in_column(np.where(places < count, turned_places, places))
        for column in self.columns:
            column[:] = bind(elementwise.copy, column[sources])
        self.first[0] = 0

    def cut(self) -> list[Any]:
        """The columns of its elements."""
        numbers = bind(axes.iota, shape=(self._size(),), dimension=0, dtype=INT64)
        places = self._in_column(numbers)
        return [bind(elementwise.copy, column[places]) for column in self.columns]

    def as_list(self) -> Any:
        """A list of its elements."""
        return self._listed(self._places()) if self.items is None else list(self.items)

    def like(self) -> Any:
        """An object of the class that it stands for."""
        return deque(maxlen=self.maxlen)
