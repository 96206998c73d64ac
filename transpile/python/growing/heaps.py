"""`heapq`, of lists that the program adds elements to: the same heaps, element by element.

A heap is a list `h` with `h[k] <= h[2 * k + 1]` and `h[k] <= h[2 * k + 2]`. As CPython has it, what
takes the place of the first element sinks to a leaf along the smaller children, and rises from
there.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.python.growing.arrays import fail_if, is_unknown
from transpile.python.growing.elements import leaves_of
from transpile.python.growing.lists import GrowingList
from transpile.python.semantics.branches import if_
from transpile.python.semantics.loops import while_
from transpile.python.semantics.values import truth
from transpile.util.interrupt_safety import THREAD

Function = Callable[..., Any]


def _of_program(original: Function, ours: Function) -> Function:
    """A function of `heapq`, which is ours where the program has the heap."""

    def call(heap: Any, *values: Any) -> Any:
        unknown = any(is_unknown(x) for value in values for x in leaves_of(value))
        if not isinstance(heap, GrowingList):
            if type(heap) is list:
                unknown = unknown or any(is_unknown(x) for item in heap for x in leaves_of(item))
                THREAD.python.grows(heap, is_needed=unknown)
            return original(heap, *values)
        if heap.is_plain and not unknown and not heap.has_unknown():
            return original(heap.items, *values)
        return ours(heap, *values)

    return call


def _less(one: Any, other: Any) -> Any:
    """`one < other`, of tuples by the first numbers that differ."""
    pairs = list(zip(leaves_of(one), leaves_of(other), strict=True))
    a, b = pairs[-1]
    result = a < b
    for a, b in reversed(pairs[:-1]):
        result = np.logical_or(a < b, np.logical_and(a == b, result))
    return result


def _push(heap: GrowingList, item: Any) -> None:
    heap.in_arrays(item)
    heap.append(item)
    _rise(heap, item, 0, heap.length() - 1)


def _rise(heap: GrowingList, item: Any, first: Any, place: Any) -> None:
    """Move an element up from a place, to `first` at most."""

    def goes_on(place: Any) -> Any:
        parent = np.maximum((place - 1) >> 1, 0)
        return np.logical_and(place > first, _less(item, heap.at(parent)))

    def step(place: Any) -> tuple[Any]:
        parent = (place - 1) >> 1
        heap.put(place, heap.at(parent))
        return (parent,)

    (place,) = while_(goes_on, step, (), ("the place in a heap",), (place,))
    heap.put(place, item)


def _sink(heap: GrowingList, item: Any, first: Any) -> None:
    """Give an element the place of another one, from which the smaller children move up."""
    end = heap.length()

    def goes_on(place: Any) -> Any:
        return 2 * place + 1 < end

    def step(place: Any) -> tuple[Any]:
        left = 2 * place + 1
        right = np.minimum(left + 1, end - 1)
        is_right = np.logical_and(
            left + 1 < end, np.logical_not(_less(heap.at(left), heap.at(right)))
        )
        child = np.where(is_right, right, left)
        heap.put(place, heap.at(child))
        return (child,)

    (place,) = while_(goes_on, step, (), ("the hole in a heap",), (first,))
    heap.put(place, item)
    _rise(heap, item, first, place)


def _pop(heap: GrowingList) -> Any:
    heap.in_arrays()
    fail_if(heap.length() == 0, lambda: IndexError("index out of range"))
    smallest = heap.at(0)
    last = heap.pop()
    _if(heap.length() > 0, lambda: _sink(heap, last, 0))
    return smallest


def _if(holds: Any, then: Callable[[], None]) -> None:
    def done() -> tuple[()]:
        then()
        return ()

    if_(holds, done, lambda: (), (), ())


def _replace(heap: GrowingList, item: Any) -> Any:
    heap.in_arrays(item)
    fail_if(heap.length() == 0, lambda: IndexError("index out of range"))
    smallest = heap.at(0)
    _sink(heap, item, 0)
    return smallest


def _pushpop(heap: GrowingList, item: Any) -> Any:
    heap.in_arrays(item)

    def replaced(_: Any) -> tuple[Any, ...]:
        smallest = heap.at(0)
        _sink(heap, item, 0)
        return (smallest,)

    is_less = np.logical_and(heap.length() > 0, _less(heap.at(0), item))
    return if_(is_less, replaced, lambda same: (same,), ("the smallest",), (item,))[0]


def _heapify(heap: GrowingList) -> None:
    heap.in_arrays()

    def step(place: Any) -> tuple[Any]:
        _sink(heap, heap.at(place), place)
        return (place - 1,)

    begin = heap.length() // 2 - 1
    while_(lambda place: truth(place >= 0), step, (), ("the parent in a heap",), (begin,))


TABLE: dict[Function, Function] = {
    heapq.heappush: _of_program(heapq.heappush, _push),
    heapq.heappop: _of_program(heapq.heappop, _pop),
    heapq.heapreplace: _of_program(heapq.heapreplace, _replace),
    heapq.heappushpop: _of_program(heapq.heappushpop, _pushpop),
    heapq.heapify: _of_program(heapq.heapify, _heapify),
}
