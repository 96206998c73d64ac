"""What a `for` loop of the program runs over: items that are computed from their number."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
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


class Combined:
    """`zip`, `enumerate` or `reversed` of traced arrays and ranges; it is its own iterator, as
    theirs are.

    function  Python's
    sources   its iterables
    combine   the items of all, from those of the sources
    """

    def __init__(
        self,
        function: Callable[..., Any],
        sources: Sequence[Any],
        combine: Callable[[Sequence[Items]], Items],
    ) -> None:
        self.sources = sources
        self.combine = combine
        self._function = function
        self._iterator: Any = None

    def items(self) -> Items | None:
        """Its items; None where a source has none, or some are taken."""
        if self._iterator is not None:
            return None
        parts = [items_of(source) for source in self.sources]
        known = [part for part in parts if part is not None]
        return self.combine(known) if len(known) == len(parts) else None

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self._iterator is None:
            self._iterator = iter(self._function(*self.sources))
        return next(self._iterator)


def items_of(iterable: Any) -> Items | None:
    """The items of an iterable; None of one that only Python can run over."""
    if type(iterable) is Combined:
        return iterable.items()
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


def zip_(*iterables: Any, **options: Any) -> Any:
    """`zip`; as long as the shortest."""
    if not any(map(_is_traced, iterables)):
        return zip(*iterables, **options)  # noqa: B905  # as the caller says
    return Combined(partial(zip, **options), iterables, _zipped)


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """`enumerate`."""
    if not _is_traced(iterable) and not isinstance(start, Tracer):
        return enumerate(iterable, start)
    return Combined(
        lambda source: enumerate(source, operator.index(start)),
        [iterable],
        lambda parts: Items(parts[0].length, lambda k: (k + start, parts[0].item(k))),
    )


def reversed_(sequence: Any) -> Any:
    """`reversed`."""
    if not _is_traced(sequence):
        return reversed(sequence)
    return Combined(lambda source: reversed(list(source)), [sequence], _reversed)


def _zipped(parts: Sequence[Items]) -> Items:
    length = parts[0].length
    for part in parts[1:]:
        both_known = isinstance(length, int) and part.is_known
        length = (min if both_known else np.minimum)(length, part.length)
    return Items(length, lambda k: tuple(part.item(k) for part in parts))


def _reversed(parts: Sequence[Items]) -> Items:
    (items,) = parts
    return Items(items.length, lambda k: items.item(items.length - 1 - k))


def _is_traced(iterable: Any) -> bool:
    if isinstance(iterable, Tracer):
        return iterable.ndim > 0
    return isinstance(iterable, Range | Combined)
