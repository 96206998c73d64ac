"""`with_room`: how many elements a list has at most, where nothing else says it."""

from __future__ import annotations

from typing import Any

from transpile.numpy.core.runtime_sizes import extent_of
from transpile.python.growing.lists import GrowingList
from transpile.trace.trace import current_trace
from transpile.util.interrupt_safety import THREAD


def with_room(values: list[Any], most: Any) -> Any:
    """A list of these values with room for `most` elements: `stack = transpile.with_room([v], n)`.

    A list that a loop of the program adds to has memory for as many elements as there may be, by
    the numbers of iterations around. Where nothing bounds these, as in `while stack:`, the caller
    of the program gives the memory, and calls again where it is too little: this gives it at once.
    Outside of traced functions this is the list itself. In a program a longer one raises
    MemoryError.
    """
    if THREAD.python is None or current_trace() is None:
        return values
    return GrowingList(list(values), extent_of(most))
