"""What a `for` loop of the program runs over: items that are computed from their number.

`range`, `zip`, `enumerate`, `reversed`, `numpy.ndindex` and `numpy.ndenumerate` give what Python
can run over, too.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.source_info import user_source
from transpile.ir.types import INT64
from transpile.numpy.core.promotion import weaken
from transpile.numpy.subscripts.assignment import share
from transpile.primitives import elementwise
from transpile.python.growing.arrays import GrowingArrays
from transpile.python.objects.containers import Lent
from transpile.python.objects.known_arrays import Calling
from transpile.python.objects.number_lists import NumberList
from transpile.python.semantics.branches import if_
from transpile.python.semantics.exceptions import raise_
from transpile.python.semantics.values import array_type, is_array
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.trace import bind, the_trace
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

# Items of what has no end.
ENDLESS = 2**62


def behind_endless(values: Sequence[Any], stops: Sequence[int]) -> tuple[Any, ...]:
    """The variables behind a loop that has no last item: the only flag that ends it is true."""
    is_known = len(stops) == 1
    return tuple(True if is_known and k in stops else x for k, x in enumerate(values))


class Items:
    """A number of items, and each of them as a function of its number.

    length   an int, or a traced integer
    prepare  what is traced before the loop, once it is one of the program
    lists    the lists whose elements they are
    """

    def __init__(
        self,
        length: Any,
        item: Callable[[Any], Any],
        prepare: Callable[[], object] = lambda: None,
        lists: Sequence[GrowingArrays] = (),
    ) -> None:
        self.length = length
        self.item = item
        self.prepare = prepare
        self.lists = lists

    def watched(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """The body of a loop, which may not change the length of a list whose items they are."""
        return partial(_watching, self.lists, body) if self.lists else body

    @property
    def is_known(self) -> bool:
        """True where the number of items is known while tracing."""
        return isinstance(self.length, int)

    def __iter__(self) -> Any:
        return map(self.item, range(self.length))


def _watching(lists: Sequence[GrowingArrays], body: Callable[..., Any], *values: Any) -> Any:
    for one in lists:
        one.iterating += 1
    try:
        return body(*values)
    finally:
        for one in lists:
            one.iterating -= 1


class Range:
    """`range` of traced bounds."""

    def __init__(self, *bounds: Any) -> None:
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        self.start, self.stop, self.step = start, stop, step

    def items(self) -> Items:
        """Its items; a traced step may be negative."""
        start, stop, step = self.start, self.stop, self.step
        if isinstance(step, int) and abs(step) == 1 and not isinstance(start, int):
            low, high = (start, stop) if step > 0 else (stop, start)
            # Where there are no items, bounds may be so far apart that the difference wraps around.
            return Items(np.where(low < high, high - low, 0), lambda k: start + k * step)
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


class Iterator(Calling):
    """An iterator of Python's, whose items are known by their number as long as none is taken."""

    def __init__(self, items: Items | None, begin: Callable[[], Any]) -> None:
        self._items = items
        self._begin = begin
        self._begun: Any = None

    @property
    def is_begun(self) -> bool:
        """True where items are taken."""
        return self._begun is not None

    def items(self) -> Items | None:
        """Its items; None where some are taken."""
        return None if self.is_begun else self._items

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        if self._begun is None:
            self._begun = self._begin()
        return next(self._begun)


def items_of(iterable: Any) -> Items | None:
    """The items of an iterable; None of one that only Python can run over."""
    if type(iterable) is range:
        return Items(len(iterable), lambda k: _nth(iterable, k))
    if isinstance(iterable, Items):
        return iterable
    if isinstance(iterable, Range | Iterator):
        return iterable.items()
    if isinstance(iterable, GrowingArrays):
        if iterable.items is not None:
            found = items_of(list(iterable.items))
            if found is not None:
                found.lists = (iterable,)
            return found
        return Items(iterable.length(), iterable.at, lists=(iterable,))
    if isinstance(iterable, NumberList):
        return Items(len(iterable), lambda k: iterable[k])
    if isinstance(iterable, Tracer) and iterable.ndim:
        return Items(iterable.shape[0], lambda k: iterable[k])
    if isinstance(iterable, np.ndarray) and iterable.ndim:
        return Items(len(iterable), lambda k: traced_array(iterable)[k])
    if is_stackable(iterable):
        listed = Listed(iterable)
        return Items(len(iterable), listed.item, listed.prepare)
    return None


class Listed:
    """The items of a list of alike structure, of which a loop, or a traced index, takes one: each
    leaf is an array of the list's length."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values
        self._stacks: list[Any] = []
        self._structure: Any = None

    def prepare(self) -> None:
        """Stack the leaves."""
        rows = [flatten_arrays(value) for value in self._values]
        self._structure = rows[0][1]
        self._stacks = [_stacked(leaves) for leaves in zip(*[row[0] for row in rows], strict=True)]

    def item(self, k: Any) -> Any:
        """The k-th one."""
        return self._structure.unflatten([stack[k] for stack in self._stacks])


class Chosen:
    """What is subscripted in the place of a list, by a traced index."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._listed = Listed(values)
        self._listed.prepare()

    def __getitem__(self, k: Any) -> Any:
        item = self._listed.item(k)
        source = user_source()
        THREAD.python.lent.append((f"{source}: what `{source.text}` takes", Lent(item)))
        return item


def is_stackable(values: Any) -> bool:
    """True for a list or a tuple of numbers, of arrays of one shape, or of containers of them that
    have one structure."""
    if type(values) not in (list, tuple) or not values:
        return False
    rows = [flatten_arrays(value) for value in values]
    if any(structure != rows[0][1] for _, structure in rows):
        return False
    return all(map(_are_alike, zip(*[row[0] for row in rows], strict=True)))


def _are_alike(leaves: Sequence[Any]) -> bool:
    return all(map(is_array, leaves)) and len({array_type(x).shape for x in leaves}) == 1


def _stacked(values: Sequence[Any]) -> Any:
    """Numbers, or arrays of one shape, as a traced array."""
    parts = [x.as_value() if isinstance(x, Dim) else x for x in values]
    stack = traced_array(np.stack(parts))
    for part in parts:
        if isinstance(part, Tracer) and part.ndim:
            share(stack, part, None)
    arrays = [x for x in parts if isinstance(x, np.ndarray) and x.ndim]
    if arrays:
        the_trace().fixed[stack.original] = arrays
    return stack


def traced_array(array: Any) -> Tracer:
    """An array in the trace: as it is, or its values of now."""
    return array if isinstance(array, Tracer) else the_trace().lifted(array)


def _nth(numbers: range, k: Any) -> Any:
    """The k-th number of a range."""
    scaled = k if numbers.step == 1 else k * numbers.step
    return scaled + numbers.start if numbers.start else scaled


def range_(*bounds: Any) -> Any:
    """`range`."""
    if any(isinstance(b, Tracer | Dim) for b in bounds):
        return Range(*map(_counted_bound, bounds))
    return range(*bounds)


def _counted_bound(bound: Any) -> Any:
    """A bound as Python's integer, of which the numbers of a range are."""
    if not isinstance(bound, Tracer):
        return bound.as_value() if isinstance(bound, Dim) else operator.index(bound)
    if bound.dtype.kind not in "iub" or bound.ndim:
        raise TypeError(
            f"{user_source()}: '{bound.dtype}' object cannot be interpreted as an integer"
        )
    if bound.type.weak and bound.dtype == INT64:
        return bound
    return weaken(bind(elementwise.convert, bound, dtype=INT64))


def zip_(*iterables: Any, strict: bool = False) -> Any:
    """`zip`. Where lengths are traced, `strict` compares them before the first item."""
    parts = [items_of(iterable) for iterable in iterables]
    begin = partial(zip, *iterables, strict=strict)
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return begin()
    lengths = [part.length for part in known]
    if strict and all(part.is_known for part in known) and len(set(lengths)) > 1:
        return begin()
    if strict:
        for number, part in enumerate(known[1:], 2):
            _check_length(number, known[0].length, part.length)
    return Iterator(
        Items(
            _least(lengths),
            lambda k: tuple(part.item(k) for part in known),
            lambda: [part.prepare() for part in known],
            [one for part in known for one in part.lists],
        ),
        begin,
    )


def _check_length(number: int, first: Any, length: Any) -> None:
    for word, compared in (("shorter", operator.lt), ("longer", operator.gt)):
        others = "argument 1" if number == 2 else f"arguments 1-{number - 1}"
        text = f"zip() argument {number} is {word} than {others}"
        if_(compared(length, first), partial(_raised, text), lambda: (), (), ())


def _raised(text: str) -> tuple[()]:
    raise_(lambda: ValueError(text), None)
    return ()


def _least(lengths: Sequence[Any]) -> Any:
    ints = [n for n in lengths if isinstance(n, int)]
    others = [n.as_value() if isinstance(n, Dim) else n for n in lengths if not isinstance(n, int)]
    return reduce(np.minimum, others, *[min(ints)] if ints else [])


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """`enumerate`."""
    part = items_of(iterable)
    if part is None:
        return enumerate(iterable, start)
    item = part.item
    return Iterator(
        Items(part.length, lambda k: (_shifted(k, start), item(k)), part.prepare, part.lists),
        lambda: zip(_counted(start), iterable, strict=False),
    )


def _shifted(k: Any, start: Any) -> Any:
    return k + start if isinstance(start, Tracer) or start else k


def _counted(start: Any) -> Any:
    while True:
        yield start
        start = start + 1


def count(start: Any = 0, step: Any = 1) -> Any:
    """`itertools.count`."""
    return Iterator(
        Items(
            ENDLESS, lambda k: _shifted(k if type(step) is int and step == 1 else k * step, start)
        ),
        partial(itertools.count, start, step),
    )


def reversed_(sequence: Any) -> Any:
    """`reversed`."""
    part = None if isinstance(sequence, Iterator) else items_of(sequence)
    if part is None:
        return reversed(sequence)
    item = part.item
    last = part.length.as_value() - 1 if isinstance(part.length, Dim) else part.length - 1
    return Iterator(
        Items(part.length, lambda k: item(last - k), part.prepare, part.lists),
        lambda: _backwards(sequence),
    )


def _backwards(sequence: Any) -> Any:
    """Python's iterator over items from the last one on, each as it is when it is asked for."""
    if isinstance(sequence, Tracer):
        return (sequence[k] for k in range(len(sequence) - 1, -1, -1))
    return reversed(list(sequence) if isinstance(sequence, Range) else sequence)


def ndindex(*shape: Any) -> Any:
    """`numpy.ndindex`, of extents or a tuple of them, in row-major order."""
    extents = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    extents = tuple(n.as_value() if isinstance(n, Dim) else n for n in extents)
    if any(isinstance(n, Tracer) for n in extents):
        length = reduce(operator.mul, [np.maximum(n, 0) for n in extents])
    else:
        length = math.prod(map(int, extents))
    return Iterator(Items(length, lambda k: _unravelled(k, extents)), lambda: np.ndindex(*shape))


def _unravelled(k: Any, extents: Sequence[Any]) -> tuple[Any, ...]:
    """The subscripts of the k-th element of an array."""
    subscripts = []
    for extent in reversed(extents[1:]):
        subscripts.append(k % extent)
        k = k // extent
    return (k, *reversed(subscripts)) if extents else ()


def ndenumerate(array: Any) -> Any:
    """`numpy.ndenumerate`."""
    if not is_array(array):
        return np.ndenumerate(array)
    shape = array.shape if isinstance(array, Tracer | np.ndarray) else ()
    indices = ndindex(shape).items()
    return Iterator(
        Items(indices.length, lambda k: ((at := indices.item(k)), traced_array(array)[at])),
        lambda: ((at, array[at]) for at in np.ndindex(shape)),
    )
