"""Lists and dicts of Python's that are searched, sorted or subscripted by traced values, and that
nobody changes in the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType
from typing import Any

import numpy as np

from transpile.ir.source_info import user_source
from transpile.numpy.core.promotion import weaken
from transpile.python.growing.arrays import fail_if
from transpile.python.growing.ordering import sorted_
from transpile.python.semantics.branches import choose
from transpile.python.semantics.iterables import Chosen, is_stackable
from transpile.python.semantics.numbers import any_unknown, is_unknown
from transpile.python.semantics.values import is_array
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

Method = Callable[..., Any]


def method_of(container: Any, name: str) -> Method | None:
    """What is called in the place of a method of a list or dict; None: that itself."""
    found = _METHODS.get((type(container), name))
    return None if found is None else partial(found, container)


def _sort(values: list[Any], *, key: Any = None, reverse: Any = False) -> None:
    """`list.sort`, of tuples and by keys that are traced."""
    values[:] = sorted_(values, key=key, reverse=reverse)


def _index(values: list[Any], value: Any, *limits: Any) -> Any:
    """`list.index`."""
    if limits or not _is_searched(values, value):
        return values.index(value, *limits)
    found = _equal(values, value)
    shown = "list.index(x): x not in list"
    fail_if(np.logical_not(np.any(found)), lambda: ValueError(f"{user_source()}: {shown}"))
    return weaken(np.argmax(found))


def _count(values: list[Any], value: Any) -> Any:
    """`list.count`."""
    if not _is_searched(values, value):
        return values.count(value)
    return weaken(np.sum(_equal(values, value)))


def _insert(values: list[Any], place: Any, value: Any) -> None:
    """`list.insert`, which the program does at a traced place."""
    _grows(values, is_unknown(place))
    values.insert(place, value)


def _pop(values: list[Any], *place: Any) -> Any:
    """`list.pop`, which the program does at a traced place."""
    _grows(values, any(map(is_unknown, place)))
    return values.pop(*place)


def _remove(values: list[Any], value: Any) -> None:
    """`list.remove`, which the program does of a traced value, or from traced ones."""
    _grows(values, is_unknown(value) or any_unknown(values))
    values.remove(value)


def _grows(values: list[Any], is_needed: bool) -> None:
    if is_needed:
        THREAD.python.grows(values, is_needed=True)


def _get(values: dict[Any, Any], key: Any, default: Any = None) -> Any:
    """`dict.get`, of numbers."""
    if is_unknown(key) and not values:
        return default
    if not is_unknown(key) or not is_table(values) or default is None:
        return values.get(key, default)
    found = _equal([*values], key)
    return choose(np.any(found), lambda: _at(values, found), lambda: default)


def looked_up(values: dict[Any, Any], key: Any) -> Any:
    """`values[key]`, of numbers; KeyError where there is none."""
    found = _equal([*values], key)
    fail_if(np.logical_not(np.any(found)), lambda: KeyError(key))
    return _at(values, found)


def is_table(values: Any) -> bool:
    """True for a dict whose values a traced number can choose from."""
    return type(values) is dict and is_stackable([*values.values()])


def _is_searched(values: list[Any], value: Any) -> bool:
    """True where the program compares a value with those of a list, none of them a container."""
    every = (value, *values)
    is_flat = all(_is_number(x) or isinstance(x, str | bytes | NoneType) for x in every)
    return is_flat and any_unknown(every)


def _at(values: dict[Any, Any], found: Any) -> Any:
    return Chosen([*values.values()])[weaken(np.argmax(found))]


def _equal(values: Sequence[Any], value: Any) -> Any:
    """Which of some values are equal to one, as a traced array."""
    tests = [np.equal(x, value) if _is_number(x) and _is_number(value) else False for x in values]
    return np.stack([np.asarray(x) if not isinstance(x, Tracer) else x for x in tests])


def _is_number(value: Any) -> bool:
    return is_array(value) and np.shape(value) == ()


_METHODS: dict[tuple[type, str], Method] = {
    (list, "sort"): _sort,
    (list, "index"): _index,
    (list, "count"): _count,
    (list, "insert"): _insert,
    (list, "pop"): _pop,
    (list, "remove"): _remove,
    (dict, "get"): _get,
}
