"""Generators whose items are summed, compared or tested: loops, as statements are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.types import INT64, ArrayType
from transpile.lax.control.loops import bind_scan
from transpile.numpy.core.runtime_sizes import length_of
from transpile.primitives import axes
from transpile.python.growing.growth import fitted
from transpile.python.growing.lists import GrowingList
from transpile.python.objects.attributes import Attributes
from transpile.python.objects.list_functions import list_
from transpile.python.rolling import MOST_UNROLLED
from transpile.python.semantics.branches import if_
from transpile.python.semantics.exceptions import raise_
from transpile.python.semantics.iterables import Items, Iterator, behind_endless, items_of
from transpile.python.semantics.loops import for_
from transpile.python.semantics.regions import Region
from transpile.python.semantics.values import EndedError, Maybe, Unbound, is_array, record, truth
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.lengths import own_lengths, with_outer_lengths
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

Function = Callable[..., Any]
_INDEX = ArrayType((), INT64, weak=True)


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

    def chooses(self) -> bool:
        """True where a traced value says whether an item is one of them."""
        items = items_of(self._iterable)
        if self.is_begun or self._holds is None or items is None or not THREAD.traces:
            return False
        if not items.is_known:
            return True
        holds, count = self._holds, min(items.length, MOST_UNROLLED)

        def asked() -> bool:
            items.prepare()
            return any(isinstance(truth(holds(items.item(k))), Tracer) for k in range(count))

        attributes = Attributes([holds])
        try:
            return bool(Region("conditions").run(asked))
        finally:
            attributes.restore()

    def changes(self) -> bool:
        """True where items, which can be computed more than once, change attributes."""
        attributes = Attributes([self])
        if self.is_begun or attributes.are_none or items_of(self._iterable) is None:
            return False
        try:
            with suppress(EndedError):
                Region("items").run(lambda: list(self._natively()))
            return bool(attributes.changed())
        finally:
            attributes.restore()

    def consumed(
        self, body: Function, stops: tuple[int, ...], names: tuple[str, ...], values: Any
    ) -> tuple[Any, ...]:
        """A `for` statement over the items: the values of the variables behind it."""
        if self.is_begun or self._holds is None:
            return for_(self, body, stops, names, values)
        plain = tuple(name.lstrip("+") for name in names)

        def each(item: Any, *now: Any) -> tuple[Any, ...]:
            def then(*given: Any) -> tuple[Any, ...]:
                return tuple(body(self._element(item), *given))

            return if_(self._holds(item), then, lambda *same: same, plain, now)  # type: ignore[misc]  # as above

        return for_(self._iterable, each, stops, plain, values)

    def folded(self, step: Function, name: str, start: Any, *, ends: bool = False) -> Any:
        """The state behind all items, or behind the first one that makes it true.

        step  (item, state) -> state
        """
        items: Any = self if self.is_begun else self._iterable
        body = self._taken if self.is_begun else self._next
        run = loop_over(items)
        return run(partial(body, step, name), (0,) if ends else (), (name,), (start,))[0]

    def _taken(self, step: Function, _: str, item: Any, state: Any) -> tuple[Any, ...]:
        return (step(item, state),)

    def _next(self, step: Function, name: str, item: Any, state: Any) -> tuple[Any, ...]:
        def then(now: Any) -> tuple[Any, ...]:
            return (step(self._element(item), now),)

        if self._holds is None:
            return then(state)
        return if_(self._holds(item), then, lambda now: (now,), (name,), (state,))

    def stacked(self) -> Any:
        """The elements as an array, whose length only the program has; None where they are no
        numbers or arrays of one shape."""
        items = items_of(self._iterable)
        if items is None or items.is_known or not THREAD.traces:
            return None
        items.prepare()
        length = items.length if isinstance(items.length, Dim) else length_of(items.length)
        region = Region("elements", [_INDEX], ["i"])
        region.trace.counters[region.trace.inputs[0]] = items.length
        number = region.parameters[0]
        kept_of = partial(region.run, lambda: self._kept(items.item(number)))
        attributes = Attributes([self])
        try:
            value, kept = fitted(kept_of)
            changes = bool(attributes.changed())
        finally:
            attributes.restore()
        if not is_array(value) or region.assigned() or changes:
            return None
        outputs = [region.atom(value)] + ([] if kept is None else [region.atom(kept)])
        region.settle_views(())
        traced = region.body(outputs, region.trace.inputs)
        graph, captured = with_outer_lengths(traced.graph, traced.captured)
        if own_lengths(graph):
            return None
        numbers = bind(axes.iota, shape=(length,), dimension=0, dtype=INT64)
        values, *flags = bind_scan(graph, captured, [], [numbers], length, False)
        return values[flags[0]] if flags else values

    def _kept(self, item: Any) -> tuple[Any, Any]:
        """An element, and whether it is one, if that is asked."""
        if self._holds is None:
            return self._element(item), None
        begin = (Unbound("the element"),)
        then = lambda _: (self._element(item),)  # noqa: E731
        (value,) = if_(self._holds(item), then, lambda now: (now,), ("the element",), begin)
        if type(value) is Maybe:
            return value.value, value.is_bound
        return value, np.bool_(True)


class TakenWhile(Iterator):
    """`itertools.takewhile`, of a condition that traced values decide."""

    def __init__(self, holds: Function, iterable: Any) -> None:
        super().__init__(None, lambda: itertools.takewhile(holds, iterable))
        self._holds = holds
        self._iterable = iterable

    def consumed(
        self, body: Function, stops: tuple[int, ...], names: tuple[str, ...], values: Any
    ) -> tuple[Any, ...]:
        """A `for` statement over the items: the values of the variables behind it."""
        if self.is_begun:
            return for_(self, body, stops, names, values)
        plain = tuple(name.lstrip("+") for name in names)

        def each(item: Any, *now: Any) -> tuple[Any, ...]:
            def then(*given: Any) -> tuple[Any, ...]:
                return (*body(item, *given[:-1]), False)

            def ended(*given: Any) -> tuple[Any, ...]:
                return (*given[:-1], True)

            return if_(self._holds(item), then, ended, (*plain, "the end"), now)

        flags, all_names = (*stops, len(names)), (*plain, "the end")
        return for_(self._iterable, each, flags, all_names, (*values, False))[:-1]

    def folded(self, step: Function, name: str, start: Any, *, ends: bool = False) -> Any:
        """The state behind all items, or behind the first one that makes it true."""

        def each(item: Any, state: Any) -> tuple[Any, ...]:
            return (step(item, state),)

        return self.consumed(each, (0,) if ends else (), (name,), (start,))[0]


class Generating(Iterator):
    """The items of a generator function, with its arguments.

    consuming  what has the variables of these names, and ends at flags, gets the function that
               calls it, the names of its further parameters, the consumer and the variables, and
               whether it has no end of its own; or None
    natively   the generator function that Python runs
    """

    def __init__(
        self, consuming: Function, natively: FunctionType, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(None, partial(natively, *args, **kwargs))
        self._consuming = consuming
        self._given = args, kwargs
        self.__code__ = natively.__code__  # says whether its end, as a manager, handles exceptions

    def consumed(
        self, body: Function, stops: tuple[int, ...], names: tuple[str, ...], values: Any
    ) -> tuple[Any, ...]:
        """A `for` statement over the items: the values of the variables behind it."""
        made = None
        if not self.is_begun:
            made = self._consuming(tuple(name.lstrip("+") for name in names), stops)
        if made is None:
            return for_(self, body, stops, names, values)
        record("for", "the statements of the generator, which run its body for each item")
        function, parameters, is_endless = made
        args, kwargs = self._given
        self._begun = iter(())  # it has no items any more
        further = dict(zip(parameters, (body, *values), strict=True))
        behind: tuple[Any, ...] = function(*args, **kwargs, **further)
        return behind_endless(behind, stops) if is_endless else behind

    def folded(self, step: Function, name: str, start: Any, *, ends: bool = False) -> Any:
        """The state behind all items, or behind the first one that makes it true."""

        def each(item: Any, state: Any) -> tuple[Any, ...]:
            return (step(item, state),)

        return self.consumed(each, (0,) if ends else (), (name,), (start,))[0]


def loop_over(iterable: Any) -> Function:
    """The `for` statement over an iterable: a function of its body, the positions of its flags, and
    the names and the values of its variables."""
    is_consumed = isinstance(iterable, Generating | Generated | TakenWhile)
    return iterable.consumed if is_consumed else partial(for_, iterable)


def listed(generated: Generated, natively: Function) -> Any:
    """`[element for ... in iterable if holds]` for a function that makes an array of it: the array,
    where only the program has its length."""
    stacked = generated.stacked()
    return natively() if stacked is None else stacked


def selected(generated: Generated, natively: Function) -> Any:
    """`[element for ... in iterable if holds]`: a list of the program, where traced values say
    which elements it has."""
    return collected(generated) if generated.chooses() else natively()


def collected(items: Any) -> Any:
    """The list of items that traced values choose."""
    made = GrowingList([])

    def add(item: Any) -> tuple[()]:
        made.append(item)
        return ()

    items.consumed(add, (), (), ())
    return made if made.items is None else made.items


def is_chosen(iterable: Any) -> bool:
    """True for the items that traced values choose."""
    is_filtered = isinstance(iterable, Generated) and iterable.chooses()
    return isinstance(iterable, TakenWhile) or is_filtered


def list_of(*values: Any) -> Any:
    """`list`."""
    return collected(values[0]) if len(values) == 1 and is_chosen(values[0]) else list_(*values)


def filter_(function: Any, iterable: Any, /) -> Any:
    """`filter`."""
    holds = truth if function is None else resolved(function)
    found = Filtered(iterable, lambda item: item, holds, False)
    return found if found.chooses() else filter(function and holds, iterable)


class Filtered(Generated):
    """`filter`, of a condition that traced values decide."""


def takewhile(function: Any, iterable: Any, /) -> Any:
    """`itertools.takewhile`."""
    holds = resolved(function)
    chooses = Filtered(iterable, lambda item: item, holds, False).chooses()
    return TakenWhile(holds, iterable) if chooses else itertools.takewhile(holds, iterable)


def next_(iterator: Any, /, *default: Any) -> Any:
    """`next`, of a generator that is written in its place: of an item that traced values choose."""
    if type(iterator) is not Generated or not iterator.chooses():
        return next(iterator, *default)
    names = "it is found", "the item"
    begin = (False, *default) if default else (False, Unbound("the item"))

    def take(item: Any, *_: Any) -> tuple[Any, ...]:
        return True, item

    is_found, found = iterator.consumed(take, (0,), names, begin)
    if not default:
        if_(is_found, lambda: (), _stopped, (), ())
    return found.value if type(found) is Maybe else found


def _stopped() -> tuple[()]:
    raise_(StopIteration, None)
    return ()


def _of_item(function: Function, is_unpacked: bool) -> Function:
    return partial(_unpacked, function) if is_unpacked else function


def _unpacked(function: Function, item: Any) -> Any:
    return function(*item)
