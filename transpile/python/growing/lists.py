"""Lists that statements of the program add elements to, with what lists do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from transpile.ir.dims import Index
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.source_info import user_source
from transpile.ir.types import INT64, ArrayType
from transpile.numpy.core.promotion import weaken
from transpile.primitives import axes, elementwise
from transpile.python.growing.arrays import (
    GrowingArrays,
    fail_if,
    is_unknown,
    len_of,
    within,
    zeros,
)
from transpile.python.growing.elements import Elements, elements_of, leaves_of, rebuilt
from transpile.python.growing.growth import Change
from transpile.python.growing.kept import keep
from transpile.python.semantics.iterables import Items
from transpile.python.semantics.loops import for_
from transpile.python.semantics.regions import Region
from transpile.pytree.registry import register_as
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer

# Elements of a list that another one is compared with.
_MOST_COMPARED = 8


class GrowingList(GrowingArrays):
    """A list whose length statements of the program change."""

    kind = "list"

    def __getitem__(self, key: Any) -> Any:
        if self.items is not None:
            # Lists inside are to be copies in statements of the program, which may change them.
            is_kept = self.is_plain or not any(type(item) is list for item in self.items)
            if is_kept and not is_unknown(key):
                return self.items[key]
            self._in_arrays()
        if isinstance(key, slice):
            return self._part(key)
        return self.at(self._place(key, f"{self.kind} index out of range"))

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.is_plain and not is_unknown(key):
            assert self.items is not None
            self.items[key] = value
            return
        if isinstance(key, slice):
            self._store_part(key, value)
            return
        self._store(key, value)

    def _store(self, key: Any, value: Any) -> None:
        self._in_arrays(self._elements(value))
        place = self._place(key, f"{self.kind} assignment index out of range")
        self.put(place, value)

    def _store_part(self, key: slice, value: Any) -> None:
        """Assign to the elements of a slice, as many as it has."""
        if key.step not in (None, 1):
            raise self._refused("assigns to each second element, or the like, of")
        values = value if isinstance(value, GrowingArrays) else GrowingList(list(value))
        if values.items is not None:
            self._in_arrays(elements_of(values.items))
        elif values.elements is not None:
            self._in_arrays(values.elements)
        count = self.length()
        start = 0 if key.start is None else within(key.start, count)
        stop = count if key.stop is None else within(key.stop, count)
        further = values.length()
        source = user_source()
        text = f"{source}: `{source.text}` assigns another number of elements to a part of a list"
        fail_if(np.maximum(stop - start, 0) != further, lambda: ValueError(text))
        if values.items is not None:
            for k, item in enumerate(values.items):
                self.put(start + k, item)
            return

        def note(k: Any) -> tuple[()]:
            self.put(start + k, values.at(k))
            return ()

        for_(Items(further, lambda k: k), note, (), (), ())

    def _part(self, key: slice) -> Any:
        """A list of the elements of a slice."""
        if key.step not in (None, 1, -1):
            raise self._refused("takes each second element, or the like, of")
        count = self.length()
        is_back = key.step == -1
        if is_back and (key.start is not None or key.stop is not None):
            raise self._refused("takes a part, backwards, of")
        start = 0 if key.start is None else within(key.start, count)
        stop = count if key.stop is None else within(key.stop, count)
        made = self._alike()
        places = bind(axes.iota, shape=(self.room,), dimension=0, dtype=INT64)
        last = self.room - 1 if isinstance(self.room, int) else self.room.as_value() - 1
        places = np.minimum(np.maximum(count - 1 - places if is_back else places + start, 0), last)
        made.columns = [column[places] for column in self.columns]
        made._set_count(np.maximum(stop - start, 0))
        return made

    def extend(self, values: Any) -> None:
        """Add elements at the end."""
        if isinstance(values, GrowingArrays) and values.items is None:
            self._extend(values, values.length(), values.room)
        elif isinstance(values, Tracer) and values.ndim == 1:
            self._extend(values, len_of(values.shape[0]), values.shape[0])
        elif isinstance(values, Iterable) and not isinstance(values, Tracer):
            for value in list(values):
                self.append(value)
        else:
            raise self._refused("adds elements of what only the program has the length of to")

    def _extend(self, values: Any, count: Any, most: Index) -> None:
        """Add so many elements, `most` at most."""
        self._check_iterated()
        is_list = isinstance(values, GrowingArrays)
        elements = values.elements if is_list else elements_of([np.zeros((), values.dtype)])
        if elements is None:
            return
        values = values.at if is_list and values is not self else values.__getitem__
        self._in_arrays(elements)
        begin = self.length()
        self._grow(most, None, count)

        def note(k: Any) -> tuple[()]:
            self.put(begin + k, values(k))
            return ()

        for_(Items(count, lambda k: k), note, (), (), ())
        self.number[0] = begin + count

    def insert(self, place: Any, value: Any) -> None:
        """Add an element before a place."""
        if self.is_plain and not is_unknown(place):
            assert self.items is not None
            self.items.insert(place, value)
            return
        self._check_iterated()
        self._in_arrays(self._elements(value))
        count = self.length()
        place = within(place, count)
        self._grow(1, 1)
        self._move(place, 1)
        self.put(place, value)
        self.number[0] = count + 1

    def _move(self, place: Any, by: int) -> None:
        """Move the elements from a place on by one, up (1) or down."""
        places = bind(axes.iota, shape=(self.room,), dimension=0, dtype=INT64)
        for column in self.columns:
            moved = bind(elementwise.copy, np.roll(column, by, axis=0))
            is_behind = places > place if by > 0 else places >= place
            is_behind = np.expand_dims(is_behind, tuple(range(1, column.ndim)))
            column[:] = np.where(is_behind, moved, column)

    def pop(self, place: Any = -1) -> Any:
        """Take an element."""
        if self.is_plain and not is_unknown(place):
            assert self.items is not None
            return self.items.pop(place)
        self._check_iterated()
        if self.items is not None and not self.items:
            return [].pop()
        self._in_arrays()
        count = self.length()
        fail_if(count == 0, lambda: IndexError(f"pop from empty {self.kind}"))
        if type(place) is int and place == -1:
            place = count - 1
            taken = self._copy_at(place)
        else:
            place = self._place(place, "pop index out of range")
            taken = self._copy_at(place)
            self._move(place, -1)
        self.change_by(Change(0, -1, user_source()))
        self.number[0] = count - 1
        keep(taken)  # as others may have it, too
        return taken

    def __delitem__(self, place: Any) -> None:
        if isinstance(place, slice):
            raise self._refused("deletes a part of")
        self.pop(place)

    def clear(self) -> None:
        """Remove all elements."""
        if self.is_plain:
            assert self.items is not None
            self.items.clear()
            return
        self._check_iterated()
        self._in_arrays()
        self.change_by(Change(0, None, user_source()))
        self.number[0] = 0

    def remove(self, value: Any) -> None:
        """Remove the first element that is equal to a value."""
        if self.is_plain and not is_unknown(value) and not self.has_unknown():
            assert self.items is not None
            self.items.remove(value)
            return
        self._in_arrays()
        place = self._first(value, "list.remove(x): x not in list")
        self.pop(place)

    def index(self, value: Any) -> Any:
        """Where the first element is that is equal to a value."""
        if (
            self.items is not None
            and not any(map(is_unknown, leaves_of(value)))
            and not self.has_unknown()
        ):
            return self.items.index(value)
        self._in_arrays()
        return self._first(value, f"{{}} is not in {self.kind}")

    def _first(self, value: Any, text: str) -> Any:
        found = self._equal(value)
        shown = text.replace("{}", repr(value)) if not isinstance(value, Tracer) else text
        fail_if(np.logical_not(np.any(found)), lambda: ValueError(shown))
        return weaken(np.argmax(found))

    def _equal(self, value: Any) -> Any:
        """Which elements are equal to a value, of all for which there is room."""
        places = bind(axes.iota, shape=(self.room,), dimension=0, dtype=INT64)
        found = [places < self.length()]
        assert self.elements is not None
        self._check_numbers("searches")
        if elements_of([value]) is None or self.elements.with_(self._elements(value)) is None:
            return np.logical_and(found[0], False)
        for column, leaf in zip(self.columns, leaves_of(value), strict=True):
            found.append(column == leaf)
        return reduce(np.logical_and, found)

    def count(self, value: Any) -> Any:
        """How many elements are equal to a value."""
        is_known = not (self.has_unknown() or any(map(is_unknown, leaves_of(value))))
        if self.items is not None and is_known:
            return self.items.count(value)
        if self.items is not None:
            self._in_arrays()
        return 0 if self.elements is None else weaken(np.sum(self._equal(value)))

    def contains(self, value: Any) -> Any:
        """`value in list`."""
        if self.items is not None:
            if not self.items:
                return False
            self._in_arrays()
        return weaken(np.any(self._equal(value)))

    def copy(self) -> Any:
        """A list of the same elements."""
        if self.items is not None:
            return list(self.items)
        made = self._alike()
        made.columns = [bind(elementwise.copy, column) for column in self.columns]
        made._set_count(self.length())
        return made

    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sort it by numbers."""
        if self.is_plain and not self.has_unknown():
            assert self.items is not None
            self.items.sort(key=key, reverse=reverse)
            return
        self._in_arrays()
        if key is None:
            self._check_numbers("sorts")
        size = self._size()
        if key is None and len(self.columns) == 1:
            (column,) = self.columns
            ordered = np.sort(column[:size])
            column[:size] = ordered[::-1] if reverse else ordered
            return
        ranks = [x[:size] for x in (self.columns if key is None else self._ranks(resolved(key)))]
        if reverse:  # where equal ones stay in their order
            ranks = [x[::-1] for x in ranks]
        order = np.lexsort(tuple(ranks[::-1]))
        if reverse:
            order = len_of(size) - 1 - order[::-1]
        for column in self.columns:
            column[:size] = bind(elementwise.copy, column[order])

    def ordered(self, key: Callable[[Any], Any] | None, reverse: bool) -> Any:
        """`sorted`."""
        made = self.copy()
        made.sort(key=key, reverse=reverse)
        return made

    def _ranks(self, key: Callable[[Any], Any]) -> list[Any]:
        """The numbers in the keys of the elements, an array for each."""
        region = Region("key", [ArrayType((), INT64, weak=True)], ["k"])  # there may be no element

        def dtypes() -> list[Any] | None:
            leaves = leaves_of(key(self.at(region.parameters[0])))
            is_numbers = elements_of([tuple(leaves)]) is not None
            return [np.result_type(x) for x in leaves] if is_numbers else None

        kinds = region.run(dtypes)
        if kinds is None:
            raise self._refused("sorts by keys that are no numbers")
        ranks = [zeros(self.room, ArrayType((), kind)) for kind in kinds]

        def note(place: Any) -> tuple[()]:
            for rank, leaf in zip(ranks, leaves_of(key(self.at(place))), strict=True):
                rank[place] = leaf
            return ()

        for_(Items(self.length(), lambda k: k), note, (), (), ())
        return ranks

    def reverse(self) -> None:
        """Reverse its order."""
        if self.is_plain:
            assert self.items is not None
            self.items.reverse()
            return
        self._in_arrays()
        other = self[::-1]
        for column, reversed_ in zip(self.columns, other.columns, strict=True):
            column[:] = reversed_

    def __iter__(self) -> Iterator[Any]:
        if self.items is not None:
            return iter(self.items)
        return (self.at(k) for k in range(len(self)))

    def __reversed__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self) - 1, -1, -1))

    def __iadd__(self, other: Any) -> GrowingList:
        self.extend(other)
        return self

    def __add__(self, other: Any) -> Any:
        is_plain = not isinstance(other, GrowingArrays) or other.items is not None
        if self.items is not None and is_plain:
            return [*self.items, *other]
        both = self.copy() if self.items is None else GrowingList(list(self.items))
        both.extend(other)
        return both

    def __radd__(self, other: Any) -> Any:
        if self.items is not None:
            return [*other, *self.items]
        both = GrowingList(list(other))
        both.extend(self)
        return both

    def __mul__(self, times: Any) -> Any:
        if self.items is not None:
            return self.items * times
        raise self._refused("multiplies")

    __rmul__ = __mul__

    def __eq__(self, other: object) -> Any:
        if isinstance(other, list | GrowingList) and other is not self:
            if isinstance(other, list) and len(other) <= _MOST_COMPARED:
                return self._is_equal(other)
            raise self._refused("compares")
        return other is self

    def _is_equal(self, others: list[Any]) -> Any:
        if self.items is not None and not self.has_unknown():
            return self.items == others
        self._in_arrays()
        result = self.length() == len(others)
        if others and not is_at_most(len(others), self.room):
            raise self._refused("compares")
        for k, other in enumerate(others):
            result = np.logical_and(result, self._equal(other)[k])
        return weaken(result) if isinstance(result, Tracer) else bool(result)

    def __ne__(self, other: object) -> Any:
        result = self == other
        return weaken(np.logical_not(result)) if isinstance(result, Tracer) else not result

    __hash__ = None  # type: ignore[assignment]  # as lists have none

    def __repr__(self) -> str:
        is_known = self.items is not None
        return repr(self.items) if is_known else "a list which the program adds elements to"

    def __getattr__(self, name: str) -> Any:
        if hasattr(list, name) and not name.startswith("_"):
            raise self._refused(f"calls {name!r} of")
        raise AttributeError(f"'list' object has no attribute {name!r}")

    def results(self) -> tuple[Any, list[Any]]:
        """What it is made of, as a result of the function."""
        assert self.elements is not None
        return (_Result, self.elements), self.cut()


class _Result:
    """The class, in structures, of a list that is a result."""

    @staticmethod
    def of(elements: Elements, arrays: Sequence[Any]) -> GrowingList:
        """The list, of the columns that a function has given."""
        made = GrowingList(None)
        made.elements, made.columns = elements, [bind(elementwise.copy, x) for x in arrays]
        size = arrays[0].shape[0]
        made.room = made.most = size
        made._set_count(size if isinstance(size, int) else size.as_value())
        return made

    @staticmethod
    def listed(elements: Elements, arrays: Sequence[Any]) -> list[Any]:
        """A list of Python's, of arrays."""
        rows = ([x[k, ...] for x in arrays] for k in range(len(arrays[0])))
        return [rebuilt(elements.pattern, row) for row in rows]


register_as(GrowingList, list)
