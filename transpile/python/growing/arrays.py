"""The memory of lists that statements of the program add elements to: arrays with room for as many
as there may be, and their number.

The number is an array of one element, so that all that holds of arrays that statements assign to,
and of their names, holds of the list. Elements are numbers, or tuples of them, for which there is
an array each. Until a statement of the program changes it, the list has its elements as a list of
Python's has.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from transpile import errors
from transpile.ir.dims import Index
from transpile.ir.indices.lengths import LIST_IS_LONGER
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.source_info import user_source
from transpile.ir.types import INT64, ArrayType
from transpile.numpy.core.coercion import as_traced
from transpile.numpy.core.promotion import strengthen, weaken
from transpile.primitives import axes, elementwise
from transpile.primitives.effects.failures import fail_where
from transpile.python.growing.elements import Elements, elements_of, leaves_of, rebuilt
from transpile.python.growing.growth import OPEN, Change, Growing, GrownError, RoomError, endless
from transpile.python.growing.joint import JointError
from transpile.python.growing.kept import keep
from transpile.python.semantics.bounds import room_around
from transpile.python.semantics.branches import if_
from transpile.python.semantics.exceptions import raise_
from transpile.python.semantics.values import truth
from transpile.trace.lengths import measured
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import UNKNOWN, Tracer
from transpile.trace.views.lists import TracedList
from transpile.util.frozen_records import replace
from transpile.util.interrupt_safety import THREAD


class GrowingArrays(TracedList, Growing):
    """A list whose length statements of the program change.

    items     its elements, as long as no statement of the program changes it
    columns   else the arrays of the numbers of its elements
    number    and the array of how many there are
    elements  what they are
    iterating how many loops over it are being traced
    declared  how long it is at most, where the user says so, or the caller of the program
    is_open   the caller gives more room where it is too little
    """

    kind = ""

    def __init__(self, items: list[Any] | None, most: Index | None = None) -> None:
        trace = current_trace()
        Growing.__init__(self, trace)
        self.items = items
        self.columns: list[Any] = []
        self.number: Any = None
        self.elements: Elements | None = None
        self.iterating = 0
        self.declared = most
        self.is_open = False
        self.room = self.most = self.known = 0

    @classmethod
    def of(cls, static: Any, arrays: Sequence[Any]) -> Self:
        """A list of its arrays, which a statement has."""
        made = cls(None)
        made.elements = static
        made._take(arrays)
        made.owner = made.number.owner
        made.room = made.most = made.columns[0].shape[0]
        made.known = None
        made.named.append(made.owner)
        made._join()
        return made

    def _take(self, arrays: Sequence[Any]) -> None:
        *self.columns, self.number = arrays

    def _arrays(self) -> list[Any]:
        return [*self.columns, self.number]

    def fit(self, needed: Any, elements: Elements | None = None) -> None:
        """Have room for so many elements, or one more, of these types."""
        if any(trace is self.owner for trace in self.named):
            if self.site is not None and isinstance(needed, int | float | None):
                raise RoomError(self.site, needed, elements)
            raise errors.UnsupportedError(
                f"{user_source()}: `{user_source().text}` adds to a list that has several names, "
                f"as variables are bound anew where traced values decide, and there is no room for "
                f"more elements in it. Let the variable be a copy: x = y.copy()."
            )
        if self.items is not None:
            self._become_arrays(needed, elements)
            return
        assert self.elements is not None
        if elements is not None and elements.kinds != self.elements.kinds:
            self.columns = [
                bind(elementwise.convert, column, dtype=kind.dtype)
                if column.dtype != kind.dtype
                else column
                for column, kind in zip(self.columns, elements.kinds, strict=True)
            ]
            self.elements = elements
        if needed == OPEN:
            needed = self.room + self._opened()
            self.declared = needed
        if needed is not None and not is_at_most(needed, self.room):
            further = needed - self.room
            self.columns = [
                np.concatenate([column, zeros(further, kind)])
                for column, kind in zip(self.columns, self.elements.kinds, strict=True)
            ]
            self.room = needed

    def _join(self, items: int = 0) -> None:
        """Have the room and the elements of the lists that are joint with this one, if any are."""
        here = frozenset([self.site] if self.site is not None else ())
        joint = THREAD.python.joint.of(
            here if self.elements is None else self.elements.sites | here
        )
        if joint is not None and self.declared is None:
            if items > joint.items:
                raise JointError(joint.sites, None, items)
            self.declared, self.is_open = joint.room(), True
            self.elements = joint.holding(self.elements)
        if self.elements is not None and here:
            self.elements = replace(self.elements, sites=self.elements.sites | here)

    def _opened(self) -> Index:
        """How much room the caller of the program gives."""
        room = room_around()
        if room is None:
            raise endless(user_source())
        self.is_open = True
        return room

    def _become_arrays(self, needed: Any, elements: Elements | None) -> None:
        assert self.items is not None
        self._check_iterated()
        items = self.items
        least, hinted = THREAD.python.rooms.get(self.site, (0, None))
        self.elements = elements or elements_of(items) or hinted
        self._join(len(items))
        if self.elements is None:
            raise no_element()
        elements = self.elements if hinted is None else self.elements.with_(hinted) or self.elements
        if self.declared is None and OPEN in (needed, least):
            self.declared = len(items) + 1 + self._opened()
        room = len(items) + 1 if needed is None else needed
        room = room if isinstance(room, int) and least <= room else least + room
        room = room if self.declared is None else self.declared
        rows = [leaves_of(item) for item in items]
        columns = []
        for number, kind in enumerate(elements.kinds):
            column = zeros(room, kind)
            for place, leaves in enumerate(rows):
                column[place] = leaves[number]
            columns.append(column)
        for item in items:
            keep(item)
        self.number = as_traced(np.full(1, len(items), INT64))
        self.columns, self.elements, self.items = columns, elements, None
        self.room, self.most, self.known = room, len(items), len(items)

    def _in_arrays(self, elements: Elements | None = None) -> None:
        """Raise GrownError where the elements are still Python's, or others than these, too."""
        if elements is not None and self.elements is not None:
            wide = self.elements.with_(elements)
            if wide is None:
                raise self._refused("adds other elements than it has to")
            elements = None if wide.kinds == self.elements.kinds else wide
        if self.items is not None and self.items:
            have = elements_of(self.items)
            elements = have if have is None or elements is None else have.with_(elements)
            if elements is None:
                raise no_element()
        if self.items is None and elements is None:
            return
        if current_trace() is not self.owner:
            if self.owner is not None and not self.owner.active:  # which cannot be traced again
                raise self._refused("reads, where its iteration or branch has ended,")
            raise GrownError(self, None, elements)
        self.fit(None, elements)

    def in_arrays(self, *values: Any) -> None:
        """Have the elements in arrays, which hold these values, too."""
        self._in_arrays(self._elements(values[0]) if values else None)
        if self.items is not None:
            raise self._refused("reads")

    @property
    def is_plain(self) -> bool:
        """True while its elements are those of a list of Python's, which may change."""
        return self.items is not None and current_trace() is self.owner

    @property
    def is_typed(self) -> bool:
        """True once it is known what its elements are."""
        return bool(self.items) or self.elements is not None

    def begin(self, site: Any) -> None:
        """Be the list that is made at a site: of arrays at once, where others have its room."""
        self.site = site
        if THREAD.python.joint.of([site]) is not None:
            self._become_arrays(None, None)

    def length(self) -> Any:
        """How many elements it has."""
        if self.items is not None:
            return len(self.items)
        if self.known is not None and current_trace() is self.owner:
            return self.known
        return weaken(self.number[0])

    def truth(self) -> Any:
        """True if it has elements."""
        return truth(self.length())

    def __len__(self) -> int:
        count = self.length()
        if is_unknown(count):
            raise self._refused("needs to know, while it traces, the length of")
        return operator.index(count)

    def __bool__(self) -> bool:
        return bool(self.truth())

    def at(self, place: Any) -> Any:
        """The element at a place that it has."""
        if self.items is not None:
            return self.items[place]
        value = self._copy_at(place)
        keep(value)
        return value

    def _copy_at(self, place: Any) -> Any:
        """The element at a place, of which lists and arrays are copies."""
        assert self.elements is not None
        leaves = []
        for column, kind in zip(self.columns, self.elements.kinds, strict=True):
            leaf = column[self._in_column(place)]
            if kind.ndim:
                leaf = bind(elementwise.copy, leaf)
            leaves.append(weaken(leaf) if kind.weak else leaf)
        return rebuilt(self.elements.pattern, leaves)

    def _check_numbers(self, what: str) -> None:
        """Raise UnsupportedError where arrays are among the elements."""
        if self.elements is not None and any(kind.ndim for kind in self.elements.kinds):
            raise self._refused(f"{what}, by arrays,")

    def _place(self, k: Any, text: str) -> Any:
        """The place that an index means; IndexError where there is none."""
        if isinstance(k, Tracer):
            known = k.owner.value(k.variable)
            k = k if known is UNKNOWN else int(known)
        elif not isinstance(k, int):
            k = operator.index(k)
        count = self.length()
        if isinstance(k, int):
            place = k + count if k < 0 else k
            outside = place < 0 if k < 0 else place >= count
        else:
            place = np.where(k < 0, k + count, k)
            outside = np.logical_or(place < 0, place >= count)
        fail_if(outside, lambda: IndexError(text))
        if isinstance(place, int) and not is_at_most(place + 1, self.room):
            place = np.where(outside, 0, place)  # there is memory only where the program comes here
        return place

    def put(self, place: Any, value: Any) -> None:
        """Give the element at a place that it has another value."""
        self._put_in_column(self._in_column(place), value)

    def _put_in_column(self, place: Any, value: Any) -> None:
        keep(value)
        for column, leaf in zip(self.columns, leaves_of(value), strict=True):
            column[place] = leaf

    def append(self, value: Any) -> None:
        """Add an element at the end."""
        if self.is_plain:
            assert self.items is not None
            self.items.append(value)
            return
        self._check_iterated()
        self._in_arrays(self._elements(value))
        end = self.length()
        self._grow(1, 1)
        self.put(end, value)
        self.number[0] = end + 1

    def _in_column(self, place: Any) -> Any:
        return place

    def _elements(self, value: Any) -> Elements:
        found = elements_of([value])
        if found is None:
            raise no_element()
        return found

    def _alike(self) -> Self:
        """A new list of such elements."""
        made = type(self)(None)
        made.elements = self.elements
        made.room = made.most = self.room
        made._join()
        return made

    def _set_count(self, count: Any) -> None:
        self.known = count if isinstance(count, int) else None
        whole = as_traced(np.zeros(1, INT64))
        whole[0] = count
        self.number = whole

    def _grow(self, most: Index, exact: int | None, count: Any = 1) -> None:
        if self.declared is not None:
            most, exact = 0, None
            self._check_room(count)
        change = Change(most, exact, user_source())
        while True:
            try:
                self.change_by(change)
            except GrownError as request:
                if request.grown is not self or current_trace() is not self.owner:
                    raise
                self.fit(*request.needs)
            else:
                return

    def _check_room(self, further: Any) -> None:
        room = self.declared
        assert room is not None  # or nothing would be checked
        if self.is_open:
            fail_where(self._end() + further > len_of(room), [], _nothing, LIST_IS_LONGER)
            return
        source = user_source()
        text = (
            f"{source}: `{source.text}`: the list has room for {room} elements, as with_room says"
        )
        fail_if(self.length() + further > len_of(room), lambda: MemoryError(text))

    def _end(self) -> Any:
        """Where the next element goes."""
        return self.length()

    def has_unknown(self) -> bool:
        """True if the elements are Python's, and traced values are among them."""
        leaves = (leaf for item in self.items or () for leaf in leaves_of(item))
        return any(map(is_unknown, leaves))

    def array(self) -> Any:
        """The elements as an array of their number."""
        if self.items is not None:
            return np.array(self.items)
        assert self.elements is not None
        pattern, columns = self.elements.pattern, self.cut()
        if isinstance(pattern, tuple):
            if any(isinstance(part, tuple) for part in pattern):
                raise self._refused("makes an array of tuples in tuples of")
            return np.stack(columns, axis=1)
        return columns[0]

    def cut(self) -> list[Any]:
        """The columns up to their number of elements, as they are now."""
        count = self.length()
        size = count if isinstance(count, int) else measured(strengthen(count), self.room)
        return [bind(elementwise.copy, column[:size]) for column in self.columns]

    def _size(self) -> Any:
        count = self.length()
        return count if isinstance(count, int) else measured(strengthen(count), self.room)

    def as_value(self) -> Any:
        """An array of its elements."""
        return self.array()

    def parts(self) -> tuple[Any, list[Any]]:
        """What it is made of, for statements that have it as a variable."""
        if self.items is not None:
            self._in_arrays()
        if self.items is not None or self.elements is None:
            raise self._refused("binds anew")
        self.is_taken = True
        return (type(self), self.elements), self._arrays()

    def _check_iterated(self) -> None:
        if self.iterating:
            raise self._refused("changes, while a loop runs over it,")

    def _refused(self, what: str) -> errors.UnsupportedError:
        source = user_source()
        return errors.UnsupportedError(
            f"{source}: `{source.text}` {what} a list which the program adds elements to: it is an "
            f"array, with their number. Collect values in an array: out = numpy.zeros(n), and "
            f"out[count] = value."
        )

    @property
    def is_nested(self) -> bool:
        """False, as its elements are no lists."""
        return False

    @property
    def values(self) -> Any:
        """The elements, as functions of NumPy take them."""
        return self.array()


def zeros(size: Index, kind: ArrayType) -> Any:
    """A new array of so many zeros, or arrays of them."""
    zero = np.zeros((), kind.dtype)
    shape = size, *kind.shape
    return bind(axes.broadcast_in_dim, zero, shape=shape, broadcast_dimensions=())


def len_of(size: Index) -> Any:
    """A size as a number."""
    return size if isinstance(size, int) else size.as_value()


def _nothing() -> None:
    """In the place of what raises an exception: the program is called again."""


def is_unknown(key: Any) -> bool:
    """True for a number, or a slice, that only the program has."""
    if isinstance(key, slice):
        return any(map(is_unknown, (key.start, key.stop, key.step)))
    return isinstance(key, Tracer) and key.owner.value(key.variable) is UNKNOWN


def within(k: Any, count: Any) -> Any:
    """A bound of a slice as a place from 0 to the length."""
    if isinstance(k, int) and isinstance(count, int):
        return min(max(k + count if k < 0 else k, 0), count)
    place = np.where(k < 0, k + count, k) if not isinstance(k, int) else k + count if k < 0 else k
    return np.minimum(np.maximum(place, 0), count)


def fail_if(fails: Any, error: Callable[[], Exception]) -> None:
    """Raise an error: at once, or when the program comes to it."""
    if not isinstance(fails, Tracer):
        if fails:
            raise error()
        return
    if_(fails, lambda: _raised(error), lambda: (), (), ())


def _raised(error: Callable[[], Exception]) -> tuple[()]:
    raise_(error, None)
    return ()


def no_element() -> errors.CarryError:
    """What to raise where a list of the program cannot hold an element."""
    source = user_source()
    return errors.CarryError(
        f"{source}: `{source.text}` adds to a list, where traced values decide what runs, or how "
        f"often, what is no number, no array and no tuple or list of them. Collect values in an "
        f"array: out = numpy.zeros((n, 3)) before it, and out[count] = value."
    )
