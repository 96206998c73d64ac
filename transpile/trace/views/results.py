"""In which order NumPy stores the results of its functions.

Most results lie in rows where the operands do; where these lie in another order, so do the results
of elementwise functions (order "K"), and each function has rules of its own. None of them is
written down here: where a program needs to know, NumPy itself is asked, by the same call with tiny
arrays that lie as the operands do. Extents above 3 become 4, 5, 6, ... in the order of their sizes.
"""

from __future__ import annotations

import bisect
import functools
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.graph import Var
from transpile.trace.tracer import Tracer
from transpile.util.frozen_records import dataclass
from transpile.util.interrupt_safety import THREAD

# Functions whose results lie in rows where all operands do, beside the elementwise ones.
# fmt: off
_KEEP_ROWS = frozenset([
    "all", "amax", "amin", "any", "append", "argmax", "argmin", "argsort", "around", "array",
    "asanyarray", "asarray", "astype", "average", "clip", "concatenate", "copy", "cross", "cumprod",
    "cumsum", "diag", "diff", "dot", "empty", "empty_like", "eye", "flatten", "full", "full_like",
    "hstack", "identity", "isclose", "kron", "matmul", "max", "mean", "min", "nan_to_num", "nanmax",
    "nanmean", "nanmin", "nansum", "ones", "ones_like", "outer", "pad", "prod", "repeat", "roll",
    "round", "select", "sort", "std", "sum", "take", "take_along_axis", "tile", "tri", "tril",
    "triu", "var", "vstack", "where", "zeros", "zeros_like",
])
# fmt: on
_PRODUCT = 3  # axes up to which a product of matrices lies in rows, however its factors lie
_SMALL = 3  # extents up to which are as they are
_NUMBERS = 8  # arguments up to which may be axes
_FAILURES = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


class Memory(NamedTuple):
    """The extents of an array, with examples in the place of runtime sizes, and its strides; in
    doubt, why the strides may be others."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    doubt: str = ""

    @property
    def flags(self) -> Any:
        """NumPy's flags of such an array, of which nobody reads an element."""
        one = np.empty(1, self.dtype)
        return np.lib.stride_tricks.as_strided(one, self.shape, self.strides).flags

    @property
    def is_rows(self) -> bool:
        """True for an array without gaps whose last axis is the innermost."""
        return self._is_dense(range(len(self.shape))[::-1])

    @property
    def is_columns(self) -> bool:
        """True for an array without gaps whose first axis is the innermost."""
        return self._is_dense(range(len(self.shape)))

    @property
    def is_dense(self) -> bool:
        """True for an array without gaps whose axes are in any order."""
        return self._is_dense(_outermost_first(self.shape, self.strides)[::-1])

    @property
    def reading_order(self) -> tuple[int, ...]:
        """The axes in the order in which `K` reads elements: by strides, where axes of one element,
        or of one that is repeated, stay where they are."""
        steps = [abs(s) if n != 1 else 0 for n, s in zip(self.shape, self.strides, strict=True)]
        inside: list[int] = []  # the innermost axis first
        for axis in reversed(range(len(steps))):
            at = len(inside)
            for position in reversed(range(len(inside))) if steps[axis] else ():
                if steps[inside[position]]:
                    if steps[inside[position]] <= steps[axis]:
                        break
                    at = position
            inside.insert(at, axis)
        return tuple(inside[::-1])

    def _is_dense(self, axes: Sequence[int]) -> bool:
        expected = self.dtype.itemsize
        for axis in axes if 0 not in self.shape else ():
            if self.shape[axis] != 1:
                if self.strides[axis] != expected:
                    return False
                expected *= self.shape[axis]
        return True


class Made(NamedTuple):
    """Which call of NumPy's made an array, and which of its results it is; arrays: all among its
    arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    position: int | None
    arrays: list[Any]


@dataclass(eq=False)
class Layouts:
    """What a trace knows of how its arrays would lie in memory.

    own       results of views that own their memory in NumPy; unsure: those that are views for
              some runtime sizes
    locked    arrays that are read-only; flats: iterators over elements, whose parts are copies
    rows      arrays that lie in rows however others lie
    columns   of all traces, results of regions that lie otherwise than in rows
    unknown   arrays of which nobody knows how they lie, and why
    decided   of all traces, the arrays whose memory decided what is a view: the trace, the array,
              what was made of it and since which equation; asked: those whose order in memory a
              value follows from; likes: those whose dtype others have been given
    results   for arrays that may lie otherwise than in rows: the call of NumPy's that made them
    memories  how arrays lie, by the runtime sizes that have certain values
    strided   for some views: what they are views of, and how their strides follow from its
    holders   for an array that views were made of: its first tracer
    """

    own: set[Var] = field(default_factory=set)
    unsure: set[Var] = field(default_factory=set)
    locked: set[Var] = field(default_factory=set)
    flats: set[Var] = field(default_factory=set)
    rows: set[Var] = field(default_factory=set)
    columns: set[Var] = field(default_factory=set)
    unknown: dict[Var, str] = field(default_factory=dict)
    decided: list[tuple[Any, Var, Var, int]] = field(default_factory=list)
    asked: list[tuple[Any, Var]] = field(default_factory=list)
    likes: list[tuple[Any, Var]] = field(default_factory=list)
    results: dict[Var, Made] = field(default_factory=dict)
    memories: dict[Var, dict[Any, Memory | None]] = field(default_factory=dict)
    strided: dict[Var, tuple[Tracer, Callable[..., Any]]] = field(default_factory=dict)
    holders: dict[Var, Tracer] = field(default_factory=dict)

    def take_own(self, var: Var) -> None:
        """What views have made is an array of its own."""
        self.own.add(var)
        self.locked.discard(var)
        self.memories.pop(var, None)


def equations_so_far() -> int:
    """The number of equations of the active trace."""
    traces = THREAD.traces
    return len(traces[-1].equations) if traces else 0


def note_results(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    since: int,
) -> Any:
    """Record which call made arrays, if these perhaps do not lie in rows: those that are not older
    than so many equations. They are no views. Returns them."""
    if isinstance(result, Tracer):
        if len(result.shape) > 1:
            _note(Made(function, args, kwargs, None, _arrays(args, kwargs)), result, since)
    elif isinstance(result, tuple | list):
        arrays = _arrays(args, kwargs)
        for position, part in enumerate(result):
            if isinstance(part, Tracer) and len(part.shape) > 1:
                _note(Made(function, args, kwargs, position, arrays), part, since)
    return result


def _note(made: Made, x: Tracer, since: int) -> None:
    trace, var = x.owner, x.original
    is_older = trace.births.get(trace.root_of(var), -1) < since  # of an array that was there before
    if is_older or trace is not THREAD.traces[-1]:
        return
    layouts = trace.layouts
    layouts.memories.pop(var, None)
    layouts.unknown.pop(var, None)
    if trace.viewed(var) is not None:
        layouts.take_own(var)
    is_product = made.function is np.matmul and len(x.shape) <= _PRODUCT
    if is_product or (all(map(lies_in_rows, made.arrays)) and _has_rule(made)):
        layouts.results.pop(var, None)
    else:
        layouts.results[var] = made


def _has_rule(made: Made) -> bool:
    """True for a function whose results lie in rows where all operands do."""
    function = made.function
    is_elementwise = isinstance(function, np.ufunc) and function.signature is None
    if not is_elementwise and getattr(function, "__name__", "") not in _KEEP_ROWS:
        return False
    orders = (*made.args[1:], *made.kwargs.values())
    return not any(isinstance(v, str) and v in "FfAa" for v in orders)


def lies_in_rows(x: Any) -> bool:
    """True for what is no array, and for an array that lies in rows without a doubt."""
    if not isinstance(x, Tracer):
        return not isinstance(x, np.ndarray) or bool(x.flags.c_contiguous)
    var, owner = x._variable, x.owner
    if len(var.type.shape) < 2:
        return True
    var = owner.roots.get(var, var)
    if var in owner.layouts.unknown:
        return False
    equation = owner.producers.get(var)
    if equation is None:
        return not owner.captures or var in owner.inputs
    if equation.primitive.kind == "view":
        return owner.viewed(var) is None and var not in owner.layouts.results
    return var not in owner.layouts.results and var not in owner.picked


def _arrays(args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """The arrays in arguments, in sequences of them, too."""
    found, pending = [], [*args, *kwargs.values()]
    while pending:
        value = pending.pop()
        if isinstance(value, Tracer | np.ndarray):
            found.append(value)
        elif isinstance(value, tuple | list):
            pending += value
    return found


def operands(made: Made) -> list[Tracer]:
    """The traced arrays among the arguments of a call."""
    return [x for x in made.arrays if isinstance(x, Tracer)]


def _of_known(array: Any) -> Memory:
    """How an array lies that is not traced."""
    return Memory(array.shape, array.strides, array.dtype)


def in_rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Memory:
    """An array of this shape that lies in rows."""
    return in_order(shape, range(len(shape)), dtype)


def in_order(shape: tuple[int, ...], axes: Sequence[int], dtype: np.dtype[Any]) -> Memory:
    """An array without gaps whose axes lie in this order, the innermost one last."""
    strides, stride = [dtype.itemsize] * len(shape), dtype.itemsize
    for axis in reversed(axes):
        strides[axis] = stride
        stride *= shape[axis] or 1
    return Memory(shape, tuple(strides), dtype)


def is_in_rows(made: Made, memories: Sequence[Memory | None]) -> bool:
    """True for a result that lies in rows as all operands do."""
    traced = all(m is not None and not m.doubt and m.is_rows for m in memories)
    others = (x for x in made.arrays if not isinstance(x, Tracer))
    return traced and all(map(lies_in_rows, others)) and _has_rule(made)


def asked(
    made: Made,
    memories: Sequence[Memory | None],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    number: Callable[[Any], Any],
) -> Memory:
    """How a result of this shape lies, where the traced operands lie so; `number` gives one for a
    runtime size."""
    rows = in_rows(shape, dtype)
    known = {id(x): m for x, m in zip(operands(made), memories, strict=True)}
    name = getattr(made.function, "__name__", "a function")
    if None in memories:
        return rows._replace(doubt=f"{name} has an operand that traced numbers choose")
    if doubt := next((m.doubt for m in known.values() if m is not None and m.doubt), ""):
        return rows._replace(doubt=doubt)
    arrays = [known[id(x)] if isinstance(x, Tracer) else _of_known(x) for x in made.arrays]
    axes = _by_rule(made, [m for m in arrays if m is not None and len(m.shape) > 1], shape)
    if axes is None:
        try:
            smaller = _Smaller(made, known, number)
            args, kwargs = smaller.of(made.args), smaller.of(tuple(made.kwargs.items()))
            axes = _answer(made.function, args, kwargs, made.position)
        except _FAILURES:
            axes = ()
    if len(axes) != len(shape):
        return rows._replace(doubt=f"the order of memory of what {name} gives is not known")
    return in_order(shape, axes, dtype)


def _by_rule(made: Made, arrays: Sequence[Memory], shape: tuple[int, ...]) -> Sequence[int] | None:
    """The axes of a result, the outermost first, where a rule says it for these operands."""
    if not _has_rule(made):
        return None
    if all(m.is_rows for m in arrays):
        return range(len(shape))
    is_kept = isinstance(made.function, np.ufunc) and made.kwargs.get("order") == "K"
    if not is_kept or any(m.shape != shape for m in arrays):
        return None
    orders = {tuple(_outermost_first(m.shape, m.strides)) for m in arrays if m.is_dense}
    return orders.pop() if len(orders) == 1 and all(m.is_dense for m in arrays) else None


@functools.lru_cache(maxsize=2048)
def _answer(function: Any, args: Any, kwargs: Any, position: int | None) -> tuple[int, ...]:
    """The axes of what a call gives, the outermost first; () where the result has gaps."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = function(*args.made(), **dict(kwargs.made()))
    found = np.asarray(found if position is None else found[position])
    small = Memory(found.shape, found.strides, found.dtype)
    return tuple(_outermost_first(found.shape, found.strides)) if small.is_dense else ()


def _outermost_first(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The axes by their strides; of two with the same one, that of a single element is inside."""
    return sorted(range(len(shape)), key=lambda axis: (-abs(strides[axis]), shape[axis] == 1))


class _Lying(NamedTuple):
    """A tiny array: its axes from the outermost, how many elements are apart in memory, and which
    axes repeat an element or run backwards."""

    shape: tuple[int, ...]
    order: tuple[int, ...]
    apart: int
    repeated: tuple[bool, ...]
    backwards: tuple[bool, ...]
    dtype: np.dtype[Any]

    def made(self) -> Any:
        """The array: of integers 0, of others a unit matrix, or 1."""
        shape, order, apart = self.shape, self.order, self.apart
        frame = [1 if self.repeated[axis] else shape[axis] * apart for axis in order]
        array = np.zeros(frame, self.dtype)[tuple(slice(None, None, apart) for _ in frame)]
        array = array.transpose([order.index(axis) for axis in range(len(order))])
        array = array[tuple(slice(None, None, -1 if turned else None) for turned in self.backwards)]
        if self.dtype.kind not in "iu":
            is_square = len(shape) > 1 and shape[-1] == shape[-2] and self.dtype.kind != "b"
            array[...] = np.eye(*array.shape[-2:], dtype=self.dtype) if is_square else 1
        array = np.broadcast_to(array, shape) if any(self.repeated) else array
        return array if shape else array[()]


class _Several(NamedTuple):
    """A list, a tuple or a slice of arguments."""

    kind: Any
    parts: tuple[Any, ...]

    def made(self) -> Any:
        """The arguments themselves."""
        parts = [part.made() for part in self.parts]
        return slice(*parts) if self.kind is slice else self.kind(parts)


class _Value(NamedTuple):
    """Another argument, which is what it is. As 1 is True, the kind tells them apart."""

    kind: Any
    value: Any

    def made(self) -> Any:
        """The argument."""
        return self.value


class _Smaller:
    """Tiny arguments for a call: arrays lie as those do in whose place they are."""

    def __init__(self, made: Made, memories: dict[int, Any], number: Callable[[Any], Any]) -> None:
        self.memories = memories
        self.number = number
        given = (*made.args, *made.kwargs.values())
        sizes = {n for m in memories.values() for n in m.shape}
        sizes |= {n for x in made.arrays for n in x.shape if isinstance(x, np.ndarray)}
        self.sizes = sorted({n for n in (*sizes, *self._numbers(given)) if n > _SMALL})

    def _numbers(self, value: Any) -> Iterator[int]:
        """The numbers among the arguments that can only be sizes."""
        if isinstance(value, tuple | list):
            for part in value:
                yield from self._numbers(part)
        elif isinstance(value, Dim):
            yield self.number(value)
        elif type(value) is int and value > _NUMBERS:
            yield value

    def of(self, value: Any) -> Any:
        """What stands in for an argument."""
        if isinstance(value, Tracer):
            return self._lying(self.memories[id(value)])
        if isinstance(value, np.ndarray):
            return self._lying(_of_known(value))
        if isinstance(value, tuple | list):
            return _Several(list if isinstance(value, list) else tuple, tuple(map(self.of, value)))
        if isinstance(value, slice):
            return _Several(slice, tuple(map(self.of, (value.start, value.stop, value.step))))
        if isinstance(value, Dim):
            return _Value(int, self._small(self.number(value)))
        if type(value) is int and value > _NUMBERS:
            return _Value(int, self._small(value))
        if callable(value) and not isinstance(value, type):
            raise TypeError("a function of the user's is not called again")
        return _Value(type(value), value)

    def _small(self, size: int) -> int:
        return size if size <= _SMALL else _SMALL + 1 + bisect.bisect_left(self.sizes, size)

    def _lying(self, memory: Memory) -> _Lying:
        shape = tuple(map(self._small, memory.shape))
        order = tuple(_outermost_first(memory.shape, memory.strides))
        repeated = tuple(n > 1 and s == 0 for n, s in zip(shape, memory.strides, strict=True))
        backwards = tuple(s < 0 for s in memory.strides)
        return _Lying(shape, order, 1 if memory.is_dense else 2, repeated, backwards, memory.dtype)


def get_item(x: Any, key: Any) -> Any:
    """The elements of a tiny array at a key of a larger one: slices have all elements of theirs."""
    parts = key if isinstance(key, tuple) else (key,)
    return operator.getitem(x, tuple(map(_part_of_key, parts)))


def _part_of_key(part: Any) -> Any:
    if isinstance(part, slice):
        step = part.step
        return slice(None, None, -1 if isinstance(step, int) and step < 0 else None)
    is_number = isinstance(part, int | np.integer) and not isinstance(part, bool | np.bool_)
    return 0 if is_number else part
