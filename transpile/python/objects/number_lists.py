"""Lists of numbers that traced integers subscript, and to whose elements they assign: arrays in the
trace, with what lists do.

A list is one from the place on where the function makes it: the trace begins anew with that, once
an element at a traced index is assigned to. Lists inside it are views of the array.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from transpile import errors
from transpile.ir.source_info import user_source
from transpile.ir.types import PYTHON_SCALARS, ArrayType
from transpile.numpy.core.coercion import as_traced
from transpile.numpy.core.promotion import strengthen, weaken
from transpile.primitives import elementwise
from transpile.primitives.effects.failures import fail_where
from transpile.python.objects.containers import changing
from transpile.python.objects.references import is_whole
from transpile.python.semantics.values import array_type, is_array, joined
from transpile.pytree.registry import register_as
from transpile.trace.bytecode.rewriting import original
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import UNKNOWN, Tracer
from transpile.trace.views.lists import TracedList
from transpile.util.interrupt_safety import THREAD

Site = tuple[Any, ...]
_MOST = 2**63  # beyond the integers that an array holds
_DEPTH = 4


class ListedError(BaseException):
    """The trace begins anew, with arrays for the lists that are made at `site`; None: with these
    types in all that are there."""

    def __init__(self, site: Site | None, kind: ArrayType | None) -> None:
        self.site = site
        self.kind = kind


class NumberList(TracedList):
    """A list of numbers, or of such lists of one length, whose length is known."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # as lists have none

    # ------------------------------------------------------------------------------- elements

    def _key(self, k: Any) -> Any:
        """An index as one of the array; IndexError as Python's where it is known."""
        if isinstance(k, Tracer) and not k.ndim and k.dtype.kind in "iub":
            known = k.owner.value(k.variable)
            if known is UNKNOWN:  # of an array, a truth value is a mask
                return np.where(k, 1, 0) if k.dtype.kind == "b" else k
            k = int(known)
        index = operator.index(k)
        if not -len(self) <= index < len(self):
            raise IndexError("list index out of range")
        return index

    def _of(self, values: Any) -> Any:
        """An element, or a list of those along the first axis."""
        if values.ndim:
            return NumberList(values, self.is_weak)
        return weaken(values) if self.is_weak else values

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            if len(self.values.shape) > 1:
                raise _refused("takes a part of a list of lists")
            return NumberList(bind(elementwise.copy, self.values[key]), self.is_weak)
        return self._of(self.values[self._key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            self._assign(key, value)
            return
        index = self._key(key)
        if self.values.ndim > 1 and isinstance(value, list | NumberList):
            is_named = sys.getrefcount(value) > _ONLY_ASSIGNED
            self._assign_list(index, value, is_named=is_named)
            return
        if self.values.ndim > 1 or not is_array(value) or np.shape(value) != ():
            raise _refused("assigns what is no number to an element of a list of numbers")
        self._check_type(_type_of(value))
        self.values[index] = value

    def _assign_list(self, index: Any, value: Any, *, is_named: bool) -> None:
        """Let a list inside it be another one, which has no name and is in no other list."""
        made = value if isinstance(value, NumberList) else made_of(value, None)
        if made is None or made.values.shape != self.values.shape[1:]:
            raise _refused(
                "assigns a list of another length, or of what is no number, to one inside"
            )
        if is_named or not is_whole(made.values):
            raise _refused("assigns a list that has another name, without `[:]`, to one inside")
        for name, other in _named_lists():
            if _may_be_in(other.values.shape, made.values.shape) and not is_whole(other.values):
                raise _refused(f"replaces a list inside one that {name!r} may be")
        self._check_type(made._type)
        self.values[index] = made.values

    def _assign(self, key: slice, value: Any) -> None:
        """Assign to a part of the list, of as many elements."""
        items = value.values if isinstance(value, NumberList) else list(value)
        part = self.values[key]
        is_flat = self.values.ndim == 1 and all(is_array(x) and np.shape(x) == () for x in items)
        if not is_flat or not isinstance(part.shape[0], int) or part.shape[0] != len(items):
            raise _refused("assigns another number of elements to a part of a list")
        for x in [value[0]] if isinstance(value, NumberList) else items:
            self._check_type(_type_of(x))
        self.values[key] = items if isinstance(items, Tracer) else np.stack(items)

    def _check_type(self, kind: ArrayType) -> None:
        """Raise ListedError where an element does not hold a number as it is."""
        wide = joined(self._type, kind)
        if wide is not None and wide != self._type:
            raise ListedError(None, wide)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __reversed__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self) - 1, -1, -1))

    def __repr__(self) -> str:
        return repr(list(self))

    # -------------------------------------------------------------------------- what it contains

    def _flat(self) -> Any:
        if self.values.ndim > 1:
            raise _refused("searches or sorts a list of lists")
        return self.values

    def contains(self, value: Any) -> Any:
        """`value in list`."""
        return weaken(np.any(self._flat() == value))

    def index(self, value: Any) -> Any:
        """Where the first element is that is equal to a number."""
        found = self._flat() == value
        missing = np.logical_not(np.any(found))
        fail_where(missing, [], _not_in_list, "ValueError: list.index(x): x not in list")
        return weaken(np.argmax(found))

    def count(self, value: Any) -> Any:
        """How often a number is in it."""
        return weaken(np.sum(self._flat() == value))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, list | NumberList) or len(other) != len(self):
            return False
        items = other.values if isinstance(other, NumberList) else np.array(other)
        return weaken(np.all(self.values == items)) if items.shape == self.values.shape else False

    # --------------------------------------------------------------------------- all elements

    def copy(self) -> NumberList:
        """A list of the same elements."""
        if self.values.ndim > 1:
            raise _refused("copies a list of lists, which would have the same lists")
        return NumberList(bind(elementwise.copy, self.values), self.is_weak)

    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sort it by numbers."""
        if key is not None:
            raise _refused("sorts a list by a key")
        ordered = np.sort(self._flat())
        self.values[:] = ordered[::-1] if reverse else ordered

    def reverse(self) -> None:
        """Reverse its order."""
        self.values[:] = bind(elementwise.copy, self._flat()[::-1])

    def append(self, value: Any) -> None:
        """Add an element at the end."""
        self.extend([value])

    def extend(self, values: Any) -> None:
        """Add elements at the end."""
        further = list(values)
        if further:
            self._replace([*self, *further], further)

    def insert(self, place: int, value: Any) -> None:
        """Add an element before a known place."""
        items = list(self)
        items.insert(place, value)
        self._replace(items)

    def pop(self, place: int = -1) -> Any:
        """Take the element at a known place."""
        items = list(self)
        taken = items.pop(place)
        self._replace(items)
        return taken

    def _replace(self, items: Sequence[Any], further: Sequence[Any] | None = None) -> None:
        """Let it have other elements, the last ones of which may be `further` ones, as long as no
        statement of the program runs."""
        trace = current_trace()
        if trace is not None and trace is not self.values.owner and self.values.ndim == 1:
            THREAD.python.grows(self)
        if trace is None or trace is not self.values.owner or self.values.ndim > 1 or not items:
            raise changing("", list(items))
        made = made_of([*items], self._type) if further is None else made_of([*further], self._type)
        if made is None:
            raise _refused("adds what is no number to a list of numbers")
        if further is not None:
            self._check_type(ArrayType((), made.values.dtype, weak=made.is_weak))
            made.values = np.concatenate([self.values, made.values])
        self.values = made.values

    @property
    def _type(self) -> ArrayType:
        return ArrayType((), self.values.dtype, weak=self.is_weak)

    def __delitem__(self, place: Any) -> None:
        self.pop(operator.index(place))

    def __iadd__(self, other: Any) -> NumberList:
        self.extend(other)
        return self

    def __getattr__(self, name: str) -> Any:
        if hasattr(list, name) and not name.startswith("_"):
            raise _refused(f"calls {name!r} of a list")
        raise AttributeError(f"'list' object has no attribute {name!r}")

    def __add__(self, other: Any) -> Any:
        return [*self, *other]

    def __radd__(self, other: Any) -> Any:
        return [*other, *self]

    def __mul__(self, times: Any) -> Any:
        return list(self) * times

    __rmul__ = __mul__


def _not_in_list() -> None:
    raise ValueError("list.index(x): x not in list")


def _refused(what: str) -> errors.UnsupportedError:
    return errors.UnsupportedError(
        f"{user_source()}: `{user_source().text}` {what}, which is an array, as traced integers "
        f"subscript it. Write the elements one by one, or make it an array by numpy.array."
    )


# ------------------------------------------------------------------------------- of a list


def made_of(values: list[Any], kind: ArrayType | None) -> NumberList | None:
    """The list as an array, whose elements hold these types, too; None where it has other elements,
    or lists inside that are not its own."""
    shape = _shape(values) if values else (0,)
    leaves = _leaves(values)
    kind = type_in(leaves, kind)
    if shape is None or kind is None:
        return None
    if any(isinstance(x, Tracer) for x in leaves):
        array = np.reshape(np.stack(leaves), shape).astype(kind.dtype)
    else:
        array = as_traced(np.array(leaves, kind.dtype).reshape(shape))
    return NumberList(strengthen(array), kind.weak)


def type_in(leaves: Sequence[Any], kind: ArrayType | None = None) -> ArrayType | None:
    """The type that all of these numbers have in an array; None where there is none."""
    for leaf in leaves:
        if not is_array(leaf) or np.shape(leaf) != ():
            return None
        if type(leaf) is int and not -_MOST <= leaf < _MOST:
            return None
        kind = _type_of(leaf) if kind is None else joined(kind, _type_of(leaf))
    return kind


def _type_of(number: Any) -> ArrayType:
    """The type of a number; of Python's bools a weak one, too."""
    kind = array_type(number)
    return ArrayType((), kind.dtype, weak=type(number) in PYTHON_SCALARS or kind.weak)


def _shape(values: Any) -> tuple[int, ...] | None:
    """The lengths of lists in each other; None where these differ, or where one is there twice."""
    if type(values) is not list:
        return ()
    inner = [_shape(values[k]) for k in range(len(values))]
    if not inner or inner[0] is None or any(shape != inner[0] for shape in inner):
        return None
    if inner[0] and max(_references(values)) > _ONLY_HERE:
        return None
    return len(values), *inner[0]


def _references(values: list[Any]) -> list[int]:
    return [sys.getrefcount(values[k]) for k in range(len(values))]


class _Assigned:
    """Counts the references to a list that is assigned to an element, and to nothing else."""

    count = 0

    def __setitem__(self, key: int, value: list[int]) -> None:
        self.count = sys.getrefcount(value)


def _only_assigned() -> int:
    counting = _Assigned()
    counting[0] = [0]
    return counting.count


_ONLY_ASSIGNED = _only_assigned()


def exchanged(target: Any, *values: Any) -> tuple[Any, ...]:
    """The values of elements of one container that exchange them: of lists inside a list that is an
    array, copies."""
    if type(target) is not NumberList:
        return values
    return tuple(
        NumberList(bind(elementwise.copy, x.values), x.is_weak) if type(x) is NumberList else x
        for x in values
    )


def _named_lists() -> Iterator[tuple[str, NumberList]]:
    """The lists of numbers that variables of traced code are, and hold."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if original(frame.f_code) is not frame.f_code:
            for name, value in frame.f_locals.items():
                yield from ((name, x) for x in _held(value, set()) if type(x) is NumberList)
        frame = frame.f_back


def _held(value: Any, met: set[int], depth: int = _DEPTH) -> Iterator[Any]:
    """A value, and what lists, tuples, sets, dicts and the attributes of objects hold."""
    yield value
    fixed = isinstance(value, Tracer | TracedList | type | FunctionType | ModuleType)
    if depth == 0 or fixed or id(value) in met:
        return
    met.add(id(value))
    parts: Iterable[Any] = value.values() if isinstance(value, dict) else ()
    if isinstance(value, list | tuple | set | frozenset):
        parts = value
    for part in (*parts, *(getattr(value, "__dict__", None) or {}).values()):
        yield from _held(part, met, depth - 1)


def _may_be_in(shape: tuple[Any, ...], whole: tuple[Any, ...]) -> bool:
    """True if a list of this shape may be another one, or one inside it."""
    return len(shape) <= len(whole) and whole[len(whole) - len(shape) :] == shape


_ONLY_HERE = max(_references([[0], [1]]))


def _leaves(values: Any) -> list[Any]:
    if type(values) is not list:
        return [values]
    return [leaf for value in values for leaf in _leaves(value)]


def is_in(values: list[Any], wanted: list[Any], depth: int = _DEPTH) -> bool:
    """True if a list is another one, or is in it."""
    if values is wanted:
        return True
    inner = (x for x in values if type(x) is list)
    return depth > 0 and any(is_in(x, wanted, depth - 1) for x in inner)


register_as(NumberList, list)
