"""Built-in functions of lists that are arrays in the trace, which do what they do with lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import errors, tree
from transpile.numpy.core.coercion import is_instance
from transpile.numpy.core.promotion import weaken
from transpile.python.objects.number_lists import NumberList
from transpile.trace.views.lists import TracedList

Function = Callable[..., Any]


def isinstance_(value: Any, kinds: Any, /) -> bool:
    """`isinstance`."""
    return is_instance(value.like() if isinstance(value, TracedList) else value, kinds)


def list_(*values: Any) -> Any:
    """`list`, of which one of numbers is a copy."""
    if len(values) == 1 and isinstance(values[0], TracedList):
        return values[0].as_list() if not values[0].is_nested else [*values[0]]
    return list(*values)


def sorted_numbers(values: TracedList, reverse: bool) -> Any:
    """`sorted`, without a key."""
    result = values.copy()
    result.sort(reverse=reverse)
    return result


def extreme_of(values: NumberList, of_row: Function) -> Any:
    """`min` or `max` of numbers, as an element is."""
    found = of_row(values.values)
    return weaken(found) if values.is_weak else found


def of_nothing(name: str) -> ValueError:
    """What `min` and `max` of no elements raise, whose text is another one from Python 3.12 on."""
    try:
        {"min": min, "max": max}[name](())
    except ValueError as error:
        return ValueError(*error.args)
    raise errors.InternalError(name)


def opened(value: Any) -> Any:
    """What is printed, or in a message, with lists of elements in the place of such lists."""
    parts, _ = tree.flatten(value, is_leaf=lambda x: isinstance(x, TracedList))
    if not any(isinstance(x, TracedList) for x in parts):
        return value
    leaves, structure = tree.flatten(value)
    return structure.unflatten(leaves)


def is_long(value: Any, most: int) -> bool:
    """True for a list of numbers of more elements than are to be traced one by one."""
    return isinstance(value, NumberList) and value.values.ndim == 1 and len(value) > most


def numbers_in(value: Any) -> bool:
    """True for a list of numbers, with one element at least."""
    return isinstance(value, NumberList) and value.values.ndim == 1 and np.size(value.values) != 0
