"""How arrays would lie in memory if NumPy ran the function: the strides of views and of results.

Arguments count as arrays that lie in rows. A result lies as NumPy's would (`views/results.py`), a
view as what it is a view of lies. NumPy's `reshape` gives a view where the memory allows it, and
else an array of its own, which is then another one for assignments. Where that depends on whether a
runtime size is 1, it is an array of its own which may share memory with the other: behind an
assignment to one of them the other cannot be used any more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from transpile.ir.dims import Symbol, substitute, symbols_of
from transpile.ir.graph import Equation, Var
from transpile.trace.views.results import Memory, asked, in_rows, operands

if TYPE_CHECKING:
    from transpile.trace.trace import Trace

_EXAMPLE = 5040  # of a runtime size: one that many numbers divide
_MOST_PAIRED = 4  # runtime sizes of which it matters whether two are equal
Small = tuple[tuple[str, int], ...]  # runtime sizes that have certain values in a case
_GENERAL: Small = ()


class Answer(NamedTuple):
    """What holds of an array for runtime sizes in general.

    reason  where it is otherwise for some of them: for which, and what to declare
    """

    value: Any
    reason: str


def in_memory(trace: Trace, var: Var, small: Small = _GENERAL) -> Memory | None:
    """How the array of this Var lies in memory; None where nobody knows."""
    pending = [(trace, var)]
    while pending:
        owner, one = pending[-1]
        found = owner.layouts.memories.setdefault(one, {})
        if small not in found:
            before = list(_read(owner, one))
            missing = [(t, v) for t, v in before if small not in t.layouts.memories.get(v, ())]
            if missing:
                pending += missing
                continue
            found[small] = _found(
                owner, one, [t.layouts.memories[v][small] for t, v in before], small
            )
        pending.pop()
    return trace.layouts.memories[var][small]


def _read(trace: Trace, var: Var) -> Iterator[tuple[Trace, Var]]:
    """The arrays that decide how this one lies."""
    if var in trace.roots:  # it was assigned to
        yield trace, trace.roots[var]
    elif var in trace.layouts.strided:
        base = trace.layouts.strided[var][0]
        yield base.owner, base.original
    elif (view := trace.viewed(var)) is not None:
        yield trace, view.inputs[0]  # type: ignore[misc]  # `viewed` has no views of constants
    elif var in trace.layouts.results:
        yield from ((x.owner, x.original) for x in operands(trace.layouts.results[var]))
    elif (outer := captured(trace, var)) is not None:
        yield outer.owner, outer.original


def captured(trace: Trace, var: Var) -> Any:
    """The tracer of an outer trace that a Var stands for; None for others."""
    if not trace.captures or var in trace.producers:
        return None
    return next((outer for outer, here in trace.captures.values() if here is var), None)


def _found(trace: Trace, var: Var, before: Sequence[Memory | None], small: Small) -> Memory | None:
    shape = _numbers(var.type.shape, small)
    if shape is None:
        return None
    if var in trace.roots:
        return before[0]
    view = trace.viewed(var)
    if view is None:
        if var not in trace.layouts.results:
            return before[0] if before else in_rows(shape, var.type.dtype)
        return asked(
            trace.layouts.results[var], before, shape, var.type.dtype, lambda d: _number(d, small)
        )
    strides: Sequence[int] | None
    whole = before[0]
    if whole is None:
        return None
    if var in trace.layouts.strided:
        strides = trace.layouts.strided[var][1](whole.strides)
    elif len(view.inputs) == 1:
        strides = _viewed(whole, view, shape)
    else:
        strides = _picked(whole, trace.picked.get(var))
    return None if strides is None else Memory(shape, tuple(strides), var.type.dtype, whole.doubt)


def _viewed(whole: Memory, view: Equation, shape: tuple[int, ...]) -> Sequence[int] | None:
    """The strides of a view of this shape."""
    params = view.params
    if view.primitive.kind != "view":  # a part of complex numbers
        return whole.strides
    match view.primitive.name:
        case "transpose":
            return [whole.strides[axis] for axis in params["permutation"]]
        case "slice":
            return [a * b for a, b in zip(whole.strides, params["strides"], strict=True)]
        case "rev":
            turned = params["dimensions"]
            return [-s if axis in turned else s for axis, s in enumerate(whole.strides)]
        case "broadcast_in_dim":
            strides = [0] * len(shape)
            pairs = zip(whole.shape, whole.strides, strict=True)
            for axis, (n, stride) in zip(params["broadcast_dimensions"], pairs, strict=True):
                strides[axis] = stride if n == shape[axis] else 0
            return strides
    return _reshaped(whole, shape)


def note_view(trace: Trace, equation: Equation) -> None:
    """Record that a view is read-only, as its base is, and that a reshape is none in NumPy."""
    if equation.primitive.name == "reshape":
        _note_reshape(trace, equation)
    base, locked = equation.inputs[0], trace.layouts.locked
    is_locked = locked and isinstance(base, Var) and trace.roots.get(base, base) in locked
    if is_locked and trace.viewed(equation.output) is not None:
        locked.add(equation.output)


def _note_reshape(trace: Trace, equation: Equation) -> None:
    base, result = equation.inputs[0], equation.output
    if not isinstance(base, Var) or is_plain(trace, base):
        return

    def is_copied(small: Small) -> bool | None:
        whole, shape = in_memory(trace, base, small), _numbers(result.type.shape, small)
        return None if whole is None or shape is None else _reshaped(whole, shape) is None

    copied = by_sizes(trace, base, (result,), is_copied, "as NumPy's reshape copies it")
    if copied.value or copied.reason:
        trace.layouts.take_own(result)
        may_share(trace, base, result, copied.reason)


def is_plain(trace: Trace, var: Var) -> bool:
    """True for an array that lies in rows without a doubt: one that is no view, or an argument."""
    var = trace.roots.get(var, var)
    if var in trace.layouts.results or var in trace.picked:
        return False
    equation = trace.producers.get(var)
    if equation is None:
        outer = captured(trace, var)
        return outer is None or is_plain(outer.owner, outer.original)
    return equation.primitive.kind != "view" or trace.viewed(var) is None


def may_share(trace: Trace, one: Var, other: Var, reason: str) -> None:
    """Record that two arrays have one memory for some runtime sizes, if there is a reason."""
    first, second = trace.root_of(one), trace.root_of(other)
    if reason and first is not second:
        trace.copies.setdefault(first, []).append((second, reason))
        trace.copies.setdefault(second, []).append((first, reason))


def is_view(trace: Trace, var: Var) -> None:
    """Record that a reshape is a view also where NumPy's would be a copy."""
    if var in trace.layouts.own:
        for other, _ in trace.copies.pop(var, ()):
            trace.copies[other] = [pair for pair in trace.copies[other] if pair[0] is not var]
        trace.picked[var] = None


def by_sizes(
    trace: Trace,
    var: Var,
    others: Sequence[Var],
    question: Callable[[Small], Any],
    what: str,
    lowest: int = 1,
) -> Answer:
    """What holds in general, asked again for runtime sizes that are 1 (or 0, if that is the
    `lowest` that counts) or equal. The reason begins with `what` holds or not."""
    general = question(_GENERAL)
    whole = in_memory(trace, var)
    doubt = f"{what} or not: {whole.doubt}" if whole and whole.doubt else ""
    arrays = (var, trace.root_of(var), *others)
    shapes = [a.type.shape for a in arrays]
    by_axis = (sorted(symbols_of(d), key=str) for shape in shapes for d in shape)
    symbols = list(dict.fromkeys(itertools.chain.from_iterable(by_axis)))
    if not symbols or doubt:
        return Answer(general, doubt)
    deciding: list[_Case] = []
    numbers = sorted({d for shape in shapes for d in shape if isinstance(d, int) and d > 1})
    for case in _cases(symbols, lowest, numbers):
        answer = question(case.sizes) if _is_possible(case.sizes, symbols) else general
        if answer is not None and answer != general and not (deciding and case.is_last):
            deciding.append(case)
    if not deciding:
        return Answer(general, "")
    sizes = " or ".join(c.words for c in deciding)
    names = ", ".join(dict.fromkeys(name for c in deciding for name, _ in c.sizes))
    needed = ", ".join(repr(d) for c in deciding for d in c.declared)
    is_found = any(s.is_found for s in symbols if str(s) in names.split(", "))
    advice = "" if is_found else f" (declare transpile.dims({names!r}, {needed}))"
    return Answer(general, f"{what} or not, by whether {sizes}{advice}")


class _Case(NamedTuple):
    """Runtime sizes of which something may be true that is not in general.

    declared  what excludes the case; is_last: asked where no other case was one
    """

    sizes: Small
    words: str
    declared: tuple[str, ...]
    is_last: bool = False


def _cases(symbols: Sequence[Symbol], lowest: int, numbers: Sequence[int]) -> Iterator[_Case]:
    """Each size at its smallest value, all at these, two that are equal, and each that is one of
    some numbers."""
    names = [str(s) for s in symbols]
    for value in range(lowest, 2):
        least = [str(s) for s in symbols if s.lower <= value]
        for name in least:
            yield _Case(((name, value),), f"{name} is {value}", (f"{name} >= {value + 1}",))
        if len(least) > 1:
            words = " and ".join(f"{name} is {value}" for name in least)
            together = tuple((name, value) for name in least)
            yield _Case(together, words, tuple(f"{name} >= {value + 1}" for name in least), True)
    for number, symbol in itertools.product(numbers, symbols):
        if symbol.lower <= number:
            one = str(symbol)
            yield _Case(((one, number),), f"{one} is {number}", (f"{one} > {number}",))
    for one, other in itertools.combinations(names[:_MOST_PAIRED], 2):
        equal = (one, _EXAMPLE), (other, _EXAMPLE)
        yield _Case(equal, f"{one} is {other}", (f"{one} < {other}",))


def _is_possible(small: Small, symbols: Iterable[Symbol]) -> bool:
    """False for sizes that contradict what is declared of them."""
    names = {name for name, _ in small}
    for fact in (f for s in symbols for f in s.facts):
        is_of_these = all(str(s) in names for s in symbols_of(fact))
        if _is_negative(fact, small) and (is_of_these or not _is_negative(fact, _GENERAL)):
            return False
    return True


def _is_negative(fact: Any, small: Small) -> bool:
    value = _number(fact, small)
    return isinstance(value, int) and value < 0


def order_in_memory(trace: Trace, var: Var, order: str) -> tuple[int, ...]:
    """The axes of an array in the order in which `A` or `K` reads it; those of rows where nobody
    knows."""
    array = in_memory(trace, var)
    rows = tuple(range(var.type.ndim))
    if array is None or array.is_rows:
        return rows
    if order in "Aa":
        return rows[::-1] if array.is_columns else rows
    return array.reading_order


def lies_in(trace: Trace, var: Var, order: str) -> Answer:
    """Whether an array lies in rows (`C`) or columns (`F`): True where nobody knows."""
    if is_plain(trace, var) and order == "C":
        return Answer(True, "")

    def lies(small: Small) -> bool | None:
        array = in_memory(trace, var, small)
        if array is None:
            return None if small else True
        return array.is_rows if order == "C" else array.is_columns

    words = {"C": "as it lies in rows in NumPy", "F": "as it lies in columns in NumPy"}
    return by_sizes(trace, var, (), lies, words[order])


def _numbers(sizes: Any, small: Small = _GENERAL) -> tuple[int, ...] | None:
    """Sizes without symbols; None where the examples contradict each other."""
    numbers = [_number(d, small) for d in sizes]
    known = tuple(n for n in numbers if isinstance(n, int) and n >= 0)
    return known if len(known) == len(numbers) else None


def _number(size: Any, small: Small) -> Any:
    """A size in a case; it has symbols where the examples contradict each other."""
    if isinstance(size, int):
        return size
    given = dict(small)
    return substitute(size, {s: given.get(str(s), _example(s)) for s in symbols_of(size)})


def _example(symbol: Symbol) -> int:
    """A number for a symbol, another one for each name."""
    return _EXAMPLE * (1 + sum(str(symbol).encode()) % 97)


def _reshaped(array: Memory, shape: tuple[int, ...]) -> Sequence[int] | None:
    """The strides of the view in another shape; None where there is none.

    Axes are taken from the left until as many elements are in those of both shapes; these then have
    to be one behind the other.
    """
    if 0 in shape:
        return in_rows(shape, array.dtype).strides
    old = [pair for pair in zip(array.shape, array.strides, strict=True) if pair[0] != 1]
    strides: list[int] = []
    taken = 0
    while old or taken < len(shape):
        extent, count, ours, theirs = 1, 1, 0, 0
        while not theirs or extent != count:
            if extent <= count and taken + theirs < len(shape):
                extent *= shape[taken + theirs]
                theirs += 1
            elif extent >= count or ours == len(old):
                return None  # of examples that contradict each other
            while ours < len(old) and count < extent:
                count *= old[ours][0]
                ours += 1
        group, old = old[:ours], old[ours:]
        if any(s != n * t for (_, s), (n, t) in itertools.pairwise(group)):
            return None
        stride = group[-1][1] if group else array.dtype.itemsize
        inner = []
        for n in reversed(shape[taken : taken + theirs]):
            inner.append(stride)
            stride *= n
        strides += reversed(inner)
        taken += theirs
    return strides


def _picked(whole: Memory, key: Any) -> list[int] | None:
    """The strides of the view that traced numbers choose."""
    if key is None or any(isinstance(k, slice) and k != slice(None) for k in key):
        return None
    pairs = zip(whole.strides, key, strict=True)
    return [s for s, k in pairs if isinstance(k, slice)] if len(key) == len(whole.strides) else None
