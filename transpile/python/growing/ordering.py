"""`sorted` and `bisect`, of traced numbers."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile import errors
from transpile.ir.source_info import user_source
from transpile.numpy.core.promotion import as_array, weaken
from transpile.python.growing.arrays import GrowingArrays
from transpile.python.growing.elements import elements_of, leaves_of
from transpile.python.growing.lists import GrowingList
from transpile.python.objects.list_functions import numbers_in, sorted_numbers
from transpile.python.semantics.builtins import len_
from transpile.python.semantics.generators import collected, is_chosen
from transpile.python.semantics.iterables import Chosen, is_stackable
from transpile.python.semantics.loops import while_
from transpile.python.semantics.numbers import any_unknown, as_integer
from transpile.python.semantics.values import is_array
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

Function = Callable[..., Any]


def sorted_(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    """`sorted`, by numbers or tuples of them: a list of as many values, in which equal ones stay in
    their order."""
    key = None if key is None else resolved(key)
    if is_chosen(iterable):
        iterable = collected(iterable)
    if isinstance(iterable, GrowingArrays) and not iterable.is_plain:
        if iterable.items is None:
            return iterable.as_list().ordered(key, reverse)
        iterable = iterable.items
    if key is None and numbers_in(iterable):
        return sorted_numbers(iterable, reverse)
    values = list(iterable)
    ranks = values if key is None else [key(value) for value in values]
    rows = [leaves_of(rank) for rank in ranks]
    is_known = not any(map(any_unknown, rows))
    if is_known or elements_of(ranks) is None or not is_stackable(values):
        return sorted(values, key=key, reverse=reverse)
    columns = [np.stack(x) for x in zip(*(rows[::-1] if reverse else rows), strict=True)]
    order = (
        np.lexsort(tuple(columns[::-1])) if columns[1:] else np.argsort(columns[0], kind="stable")
    )
    if reverse:
        order = len(values) - 1 - order[::-1]
    chosen = Chosen(values)
    result = [chosen[order[k]] for k in range(len(values))]
    return [_like(x, values) for x in result] if key is None and is_array(values[0]) else result


def _bisected(original: Function, side: Any) -> Function:
    """`bisect.bisect_left` or `bisect_right`, of an array or a list of numbers."""

    def bisected(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
        if isinstance(a, GrowingArrays) and a.items is not None:
            a = a.items
        if not any_unknown((x, lo, hi)) and not (
            isinstance(a, Tracer | GrowingArrays) or (type(a) in (list, tuple) and any_unknown(a))
        ):
            return original(a, x, lo, hi, key=key)
        if key is not None:
            raise errors.UnsupportedError(
                f"{user_source()}: bisect of traced values takes no key. Give it the list of keys."
            )
        if isinstance(a, GrowingArrays) or (type(a) is list and not a):
            return _halved(a, x, lo, len_(a) if hi is None else hi, side)
        values = as_array(np.stack(a) if type(a) in (list, tuple) else a)
        end = len_(values) if hi is None else hi
        if type(lo) is int and lo == 0 and hi is None:
            return as_integer(np.searchsorted(values, x, side))
        return _halved(values, x, lo, end, side)

    return bisected


def _inserting(original: Function, bisected: Function) -> Function:
    """`bisect.insort_left` or `insort_right`, of a list."""

    def insort(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
        if type(a) is list:
            THREAD.python.grows(a, is_needed=any_unknown((x, lo, hi)) or any_unknown(a))
        if not isinstance(a, GrowingList):
            original(a, x, lo, hi, key=key)
            return
        a.insert(bisected(a, x if key is None else key(x), lo, hi, key=key), x)

    return insort


def _halved(values: Any, x: Any, low: Any, high: Any, side: str) -> Any:
    """The position of a number among those from `low` to `high`."""

    def step(low: Any, high: Any) -> tuple[Any, ...]:
        middle = (low + high) // 2
        is_behind = values[middle] < x if side == "left" else np.logical_not(x < values[middle])
        return np.where(is_behind, middle + 1, low), np.where(is_behind, high, middle)

    names = "the first", "the last"
    begin = as_integer(low), as_integer(high)
    return as_integer(while_(lambda low, high: low < high, step, (), names, begin)[0])


def _like(value: Any, others: Sequence[Any]) -> Any:
    """A number as weakly typed as all of the others."""
    is_weak = all(x.type.weak if isinstance(x, Tracer) else not hasattr(x, "dtype") for x in others)
    return weaken(value) if is_weak else value


bisect_left = _bisected(bisect.bisect_left, "left")
bisect_right = _bisected(bisect.bisect_right, "right")

TABLE: dict[Any, Any] = {
    sorted: sorted_,
    bisect.bisect_left: bisect_left,
    bisect.bisect_right: bisect_right,
    bisect.insort_left: _inserting(bisect.insort_left, bisect_left),
    bisect.insort_right: _inserting(bisect.insort_right, bisect_right),
}
