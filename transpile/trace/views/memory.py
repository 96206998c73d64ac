"""How arrays would lie in memory if NumPy ran the function: the strides of views and of results.

Arguments count as arrays that lie in rows (`views/arguments.py` has those that have to). A result
lies as NumPy's would (`views/results.py`), a view as what it is a view of lies. NumPy's `reshape`
gives a view where the memory allows it, and else an array of its own, which is then another one for
assignments. Where that depends on runtime sizes (`views/sizes.py`), it is an array of its own which
may share memory with the other: behind an assignment to one of them the other cannot be used any
more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from transpile.errors import UnsupportedError
from transpile.ir.dims import symbols_of
from transpile.ir.graph import Atom, Equation, Var, graphs_in
from transpile.ir.source_info import user_source
from transpile.trace.tracer import Tracer
from transpile.trace.views.arguments import note_asked, note_decided
from transpile.trace.views.results import Memory, asked, in_rows, is_in_rows, lies_in_rows, operands
from transpile.trace.views.sizes import (
    GENERAL,
    SYMBOLS,
    Answer,
    Sizes,
    Undecided,
    answer,
    number_at,
)
from transpile.util.interrupt_safety import THREAD

if TYPE_CHECKING:
    from transpile.trace.trace import Trace


NOTED = frozenset(["view", "call", "control"])  # the kinds of what `note_equation` is for
_OF_REGIONS = "a loop, a branch or a function inside makes it of arrays that do not lie in rows"


def in_memory(trace: Trace, var: Var, sizes: Sizes = GENERAL) -> Memory | None:
    """How the array of this Var lies in memory; None where nobody knows."""
    pending = [(trace, var)]
    while pending:
        owner, one = pending[-1]
        found = owner.layouts.memories.setdefault(one, {})
        if sizes not in found:
            before = list(_read(owner, one))
            missing = [(t, v) for t, v in before if sizes not in t.layouts.memories.get(v, ())]
            if missing:
                pending += missing
                continue
            found[sizes] = _found(
                owner, one, [t.layouts.memories[v][sizes] for t, v in before], sizes
            )
        pending.pop()
    return trace.layouts.memories[var][sizes]


def _read(trace: Trace, var: Var) -> Iterator[tuple[Trace, Var]]:
    """The arrays that decide how this one lies."""
    if var in trace.roots:  # it was assigned to
        yield trace, trace.roots[var]
    elif var in trace.layouts.strided:
        base = trace.layouts.strided[var][0]
        yield base.owner, base.original
    elif (view := _view(trace, var)) is not None:
        yield trace, view.inputs[0]  # type: ignore[misc]  # `viewed` has no views of constants
    elif var in trace.layouts.results:
        yield from ((x.owner, x.original) for x in operands(trace.layouts.results[var]))
    elif (outer := captured(trace, var)) is not None:
        yield outer.owner, outer.original


def _view(trace: Trace, var: Var) -> Equation | None:
    """The equation of a value that is a view, or one for some sizes."""
    return trace.producers[var] if var in trace.layouts.unsure else trace.viewed(var)


def note_outputs(trace: Trace, outputs: Sequence[Atom]) -> tuple[Atom, ...]:
    """Record which results of a region lie otherwise than in rows: what has the region gives such
    arrays. Returns the results."""
    if THREAD.traces:
        arrays = (var for var in outputs if isinstance(var, Var) and var.type.ndim > 1)
        others = (var for var in arrays if not lies_in_rows(Tracer(trace, var)))
        THREAD.traces[0].layouts.columns.update(others)
    return tuple(outputs)


def _note_control(trace: Trace, equation: Equation) -> None:
    """Record results of loops and branches of which nobody knows how they lie in memory."""
    wide = [var for var in equation.outputs if len(var.type.shape) > 1]
    if not wide:
        return
    operands = (Tracer(trace, a) for a in equation.inputs if isinstance(a, Var))
    inside = itertools.chain.from_iterable(g.outputs for g in graphs_in(equation))
    columns = THREAD.traces[0].layouts.columns if THREAD.traces else ()
    if any(v in columns for v in inside) or not all(map(lies_in_rows, operands)):
        trace.layouts.unknown |= dict.fromkeys(wide, _OF_REGIONS)


def captured(trace: Trace, var: Var) -> Any:
    """The tracer of an outer trace that a Var stands for; None for others."""
    if not trace.captures or var in trace.producers:
        return None
    return next((outer for outer, here in trace.captures.values() if here is var), None)


def _found(trace: Trace, var: Var, before: Sequence[Memory | None], sizes: Sizes) -> Memory | None:
    shape = _numbers(var.type.shape, sizes)
    if shape is None:
        return None
    if var in trace.roots:
        return before[0]
    dtype = var.type.dtype
    if var in trace.layouts.unknown:
        return in_rows(shape, dtype)._replace(doubt=trace.layouts.unknown[var])
    view = _view(trace, var)
    if view is None:
        if var not in trace.layouts.results:
            return before[0] if before else in_rows(shape, dtype)
        made = trace.layouts.results[var]
        if sizes is SYMBOLS:
            return in_rows(shape, dtype) if is_in_rows(made, before) else None
        return asked(made, before, shape, dtype, lambda d: number_at(d, sizes))
    strides: Sequence[int] | None
    whole = before[0]
    if whole is None:
        return None
    if var in trace.layouts.strided:
        strides = trace.layouts.strided[var][1](whole.strides)
    elif len(view.inputs) == 1:
        strides = _viewed(whole, view, shape, sizes)
        if strides is None and var in trace.layouts.unsure:  # a copy
            strides = in_rows(shape, dtype).strides
    else:
        strides = _picked(whole, trace.picked.get(var))
    return None if strides is None else Memory(shape, tuple(strides), dtype, whole.doubt)


def _viewed(
    whole: Memory, view: Equation, shape: tuple[int, ...], sizes: Sizes
) -> Sequence[int] | None:
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
                if sizes is SYMBOLS and n != shape[axis] and n != 1:
                    return None
                strides[axis] = stride if n == shape[axis] else 0
            return strides
    if sizes is SYMBOLS:  # what a group of axes is needs numbers
        return in_rows(shape, whole.dtype).strides if whole.is_rows else None
    return _reshaped(whole, shape)


def note_equation(trace: Trace, equation: Equation) -> None:
    """Record that a view is read-only, as its base is, that a reshape is none in NumPy, and results
    of loops and branches of which nobody knows how they lie."""
    if equation.primitive.has_graphs:
        _note_control(trace, equation)
        return
    if equation.primitive.name == "reshape":
        _note_reshape(trace, equation)
    base, result = equation.inputs[0], equation.output
    if trace.layouts.locked and isinstance(base, Var) and trace.viewed(result) is not None:
        lock_as(trace, base, result)


def lock_as(trace: Trace, base: Var, result: Var) -> None:
    """Record that an array is read-only if its base is."""
    if trace.roots.get(base, base) in trace.layouts.locked:
        trace.layouts.locked.add(result)


def _note_reshape(trace: Trace, equation: Equation) -> None:
    base, result = equation.inputs[0], equation.output
    if not isinstance(base, Var) or _joins_no_axes(base.type.shape, result.type.shape):
        return
    if len(base.type.shape) > 1:
        note_decided(trace, base, result)
    if is_plain(trace, base) or lies_in_rows_for_all(trace, base):
        return

    def is_copied(sizes: Sizes) -> bool | None:
        whole, shape = in_memory(trace, base, sizes), _numbers(result.type.shape, sizes)
        return None if whole is None or shape is None else _reshaped(whole, shape) is None

    copied = by_sizes(trace, base, (result,), is_copied, "as NumPy's reshape copies it")
    if copied.value or copied.reason:
        trace.layouts.take_own(result)
        if copied.reason:
            trace.layouts.unsure.add(result)
        may_share(trace, base, result, copied.reason)


def _joins_no_axes(shape: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """True for a reshape that is always a view: one that adds or drops axes of one element."""
    return [d for d in shape if d != 1] == [d for d in wanted if d != 1]


def is_plain(trace: Trace, var: Var) -> bool:
    """True for an array that lies in rows without a doubt: one that is no view, or an argument."""
    var = trace.roots.get(var, var)
    layouts = trace.layouts
    if var in layouts.results or var in trace.picked or var in layouts.unsure:
        return False
    if var in layouts.unknown:
        return False
    equation = trace.producers.get(var)
    if equation is None:
        outer = captured(trace, var)
        return outer is None or is_plain(outer.owner, outer.original)
    return equation.primitive.kind != "view" or trace.viewed(var) is None


def lies_in_rows_for_all(trace: Trace, var: Var) -> bool:
    """True for an array that is known to lie in rows, whatever the sizes are."""
    if not any(symbols_of(d) for d in var.type.shape):
        return False
    array = in_memory(trace, var, SYMBOLS)
    return array is not None and not array.doubt and array.is_rows


def may_share(trace: Trace, one: Var, other: Var, reason: Undecided | str) -> None:
    """Record that two arrays have one memory for some runtime sizes, if there is a reason."""
    first, second = trace.root_of(one), trace.root_of(other)
    if reason and first is not second:
        trace.copies.setdefault(first, []).append((second, reason))
        trace.copies.setdefault(second, []).append((first, reason))


def is_view(trace: Trace, var: Var) -> None:
    """Record that a reshape is a view also where NumPy's would be a copy."""
    if THREAD.traces:
        decided = THREAD.traces[0].layouts.decided
        decided[:] = [d for d in decided if d[2] is not var]
    if var in trace.layouts.own:
        for other, _ in trace.copies.pop(var, ()):
            trace.copies[other] = [pair for pair in trace.copies[other] if pair[0] is not var]
        trace.picked[var] = None


def by_sizes(
    trace: Trace,
    var: Var,
    others: Sequence[Var],
    question: Callable[[Sizes], Any],
    what: str,
    lowest: int = 1,
) -> Answer:
    """What holds of an array for the runtime sizes in its shape, and in those of others, that are
    not below the `lowest` that counts. The reason begins with `what` holds or not."""
    whole = in_memory(trace, var)
    arrays = (var, trace.root_of(var), *others)
    shapes = [a.type.shape for a in arrays]
    by_axis = (sorted(symbols_of(d), key=str) for shape in shapes for d in shape)
    symbols = list(dict.fromkeys(itertools.chain.from_iterable(by_axis)))
    if whole is not None and whole.doubt:
        return Answer(question(GENERAL), f"{what} or not: {whole.doubt}")
    if not symbols:
        return Answer(question(GENERAL), "")
    return answer(symbols, shapes, question, what, lowest)


def order_in_memory(trace: Trace, var: Var, order: str, what: str = "") -> tuple[int, ...]:
    """The axes of an array in the order in which `A` or `K` reads it; those of rows where nobody
    knows.

    Raises UnsupportedError where it depends on runtime sizes. `what` is to happen in that order; it
    does not differ between arrays that lie in rows and in columns if it is left out.
    """
    if var.type.ndim > 1:
        note_asked(trace, var)
    array = in_memory(trace, var)
    rows = tuple(range(var.type.ndim))
    if array is None or array.is_rows or lies_in_rows_for_all(trace, var):
        return rows
    if order not in "Aa":
        return array.reading_order

    def is_columns(sizes: Sizes) -> bool | None:
        one = in_memory(trace, var, sizes)
        if one is None or (one.is_rows and one.is_columns and not what):
            return None
        return one.is_columns and not one.is_rows

    lies = by_sizes(trace, var, (), is_columns, f"{what or 'elements are read'} in columns")
    if isinstance(lies.reason, Undecided):
        raise UnsupportedError(f"{user_source()}: {lies.reason}")
    return rows[::-1] if lies.value else rows


def lies_in(trace: Trace, var: Var, order: str) -> Answer:
    """Whether an array lies in rows (`C`), columns (`F`), or either of them (`A`): True where
    nobody knows."""
    if order in "AC" and (is_plain(trace, var) or lies_in_rows_for_all(trace, var)):
        return Answer(True, "")

    def lies(sizes: Sizes) -> bool | None:
        array = in_memory(trace, var, sizes)
        if array is None:
            return None if sizes is not GENERAL else True
        return (order in "AC" and array.is_rows) or (order in "AF" and array.is_columns)

    words = {
        "A": "as it has no gaps in NumPy",
        "C": "as it lies in rows in NumPy",
        "F": "as it lies in columns in NumPy",
    }
    return by_sizes(trace, var, (), lies, words[order])


def _numbers(shape: Any, sizes: Sizes) -> tuple[int, ...] | None:
    """A shape in an example; None where the example contradicts itself."""
    if sizes is SYMBOLS:
        return tuple(shape)
    numbers = tuple(number_at(d, sizes) for d in shape)
    return numbers if all(n >= 0 for n in numbers) else None


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
