"""What a `for` loop of the program runs over: items that are computed from their number."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.trace.trace import the_trace
from transpile.trace.tracer import Tracer


class Items:
    """A number of items, and each of them as a function of its number.

    length  an int, or a traced integer
    """

    def __init__(self, length: Any, item: Callable[[Any], Any]) -> None:
        self.length = length
        self.item = item

    @property
    def is_known(self) -> bool:
        """True where the number of items is known while tracing."""
        return isinstance(self.length, int)


class Range:
    """`range` of traced bounds."""

    def __init__(self, *bounds: Any) -> None:
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        self.start, self.stop, self.step = start, stop, step

    def items(self) -> Items:
        """Its items; a traced step may be negative."""
        start, stop, step = self.start, self.stop, self.step
        if isinstance(step, int):
            span = stop - start if step > 0 else start - stop
            length = span if abs(step) == 1 else (span + (abs(step) - 1)) // abs(step)
        else:
            length = np.where(
                step > 0, (stop - start + step - 1) // step, (start - stop - step - 1) // -step
            )
        return Items(np.maximum(length, 0), lambda k: start + k * step)

    def __iter__(self) -> Any:
        return iter(range(*map(operator.index, (self.start, self.stop, self.step))))


def items_of(iterable: Any) -> Items | None:
    """The items of an iterable; None of one that only Python can run over."""
    if type(iterable) is range:
        return Items(len(iterable), lambda k: _nth(iterable, k))
    if isinstance(iterable, Range):
        return iterable.items()
    if isinstance(iterable, Tracer) and iterable.ndim:
        return Items(iterable.shape[0], lambda k: iterable[k])
    if isinstance(iterable, np.ndarray) and iterable.ndim:
        return Items(len(iterable), lambda k: the_trace().lifted(iterable)[k])
    return None


def _nth(numbers: range, k: Any) -> Any:
    """The k-th number of a range."""
    scaled = k if numbers.step == 1 else k * numbers.step
    return scaled + numbers.start if numbers.start else scaled


def range_(*bounds: Any) -> Any:
    """`range`."""
    if any(isinstance(b, Tracer) for b in bounds):
        return Range(*bounds)
    return range(*bounds)
