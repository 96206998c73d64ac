"""Which array a variable is, where traced values decide: a view that numbers choose, and arrays
that are one and the same object where a condition holds.

A graph has values alone. So a view leaves a branch, or goes from one iteration to the next, as the
subscripts that choose it, and is made anew of its base; of an array, the trace records which others
it is (`share`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from transpile import errors
from transpile.ir.dims import Shape
from transpile.ir.graph import Var
from transpile.ir.source_info import user_source
from transpile.numpy.subscripts.assignment import replace_value, share, unclear
from transpile.numpy.subscripts.basic import Selection
from transpile.primitives.indexing import gather
from transpile.trace.bytecode.made_arrays import check_shared
from transpile.trace.trace import Trace, the_trace
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

Root = tuple[Trace, Var]
_WHOLE = slice(None)


class Row:
    """A view of the array `root`: at a number, or along the whole, of each axis of it; without a
    number, that array."""

    def __init__(self, root: Root, key: tuple[Any, ...]) -> None:
        self.root = root
        self.key = key

    def is_like(self, other: Row | None) -> bool:
        """True for another row of the same array, at the same axes."""
        return (
            other is not None
            and self.root == other.root
            and len(self.key) == len(other.key)
            and all(
                isinstance(a, slice) == isinstance(b, slice)
                for a, b in zip(self.key, other.key, strict=True)
            )
        )

    @property
    def numbers(self) -> list[Any]:
        """The numbers that choose it."""
        return [k for k in self.key if not isinstance(k, slice)]

    def at(self, numbers: Iterable[Any]) -> Any:
        """The view at other numbers."""
        given = iter(numbers)
        if not self.numbers:
            return Tracer(*self.root)
        key = tuple(k if isinstance(k, slice) else next(given) for k in self.key)
        return Tracer(*self.root)[key]


def outer_of(value: Any) -> Row | None:
    """What an array of the function around a statement is: a row of one, or one."""
    row = row_of(value)
    if row is None and is_object(value) and is_whole(value):
        row = Row(root_of(value), (_WHOLE,) * value.ndim)
    return row if row is not None and row.root[0].active else None


def is_object(value: Any) -> bool:
    """True for an array that can be assigned to."""
    return isinstance(value, Tracer) and value.ndim > 0


def row_of(value: Any) -> Row | None:
    """What an array is a row of."""
    if not is_object(value):
        return None
    trace, var = value.owner, value.original
    if var not in trace.items:
        return None
    base: Any = var
    while (view := trace.viewed(base)) is not None:
        base = view.inputs[0]
        if view.primitive is gather:
            break
        if view.primitive.kind != "view":  # a part of complex numbers
            return None
    if var in trace.picked:
        key = trace.picked[var]
    else:
        key = _basic_key(trace.items[var][1], base.type.shape)
    if key is None or any(isinstance(k, slice) and k != _WHOLE for k in key):
        return None
    if trace.viewed(base) is not None or base.type.ndim != len(key):
        return None
    if sum(isinstance(k, slice) for k in key) != value.ndim:
        return None
    return Row(_outermost(trace, trace.root_of(base)), key)


def _basic_key(chosen: Any, extents: Shape) -> tuple[Any, ...] | None:
    """The key of a basic selection that takes numbers and whole axes of an array."""
    selections, shape = chosen
    if len(selections) != len(extents) or sum(not s.is_integer for s in selections) != len(shape):
        return None
    key = [
        s.start if s.is_integer else _WHOLE if s == Selection(0, extent) else None
        for s, extent in zip(selections, extents, strict=True)
    ]
    return tuple(key) if all(isinstance(k, int | slice) for k in key) else None


def _outermost(trace: Trace, root: Var) -> Root:
    """An array, by the trace that has made it."""
    while trace.is_region:
        outer = next((t for t, here in trace.captures.values() if here is root), None)
        if outer is None:
            break
        trace, root = outer.owner, outer.owner.root_of(outer.original)
    return trace, root


def root_of(value: Tracer) -> Root:
    """The array that one is, or is a view of."""
    return _outermost(value.owner, value.owner.root_of(value.original))


def is_whole(value: Tracer) -> bool:
    """False for a view."""
    return value.owner.viewed(value.original) is None


def roots_of(value: Any) -> list[tuple[Root, bool]]:
    """The arrays that one may share memory with, first the one that it is or is a view of; whether
    it is that very array."""
    if not is_object(value):
        return []
    trace = value.owner
    first = trace.root_of(value.original)
    roots, pending = {_outermost(trace, first): is_whole(value)}, [first]
    met = {first}
    while pending:
        for other, _ in trace.copies.get(pending.pop(), ()):
            if other not in met:
                met.add(other)
                pending.append(other)
                roots.setdefault(_outermost(trace, other), False)
    return list(roots.items())


def share_with(result: Any, value: Any, inside: Any, holds: Any) -> None:
    """Record that a result of a statement is an array which was there before, where a traced bool
    holds, if this value of the trace `inside` is one."""
    if not is_object(result):
        return
    check_shared(value)
    for (trace, root), is_same in roots_of(value):
        if trace is not inside:
            share(result, Tracer(trace, root), holds if is_same else None)


def share_among(results: list[tuple[Any, Any]], inside: Any, holds: Any) -> None:
    """Record which results, (result, value), are one array of the trace `inside`."""
    met: dict[Root, tuple[Any, bool]] = {}
    for result, value in results:
        if not is_object(result):
            continue
        for root, is_same in roots_of(value):
            if root[0] is not inside:
                continue
            if root in met:
                other, is_other = met[root]
                share(result, other, holds if is_same and is_other else None)
            else:
                met[root] = result, is_same


def check_copies(traces: Iterable[Trace], assigned: Iterable[Tracer]) -> None:
    """Raise CarryError where regions read what may be an array that they assign to."""
    for array in assigned:
        trace, root = array.owner, array.owner.root_of(array.original)
        copies = {other for other, _ in trace.copies.get(root, ())}
        for region in traces:
            for read, _ in region.captures.values():
                if copies and read.owner is trace and trace.root_of(read.original) in copies:
                    raise _shared(read.original.name)


def leave(trace: Trace) -> None:
    """What nobody knows in a region is not known behind it."""
    for tracer, here in trace.captures.values():
        if here in trace.stale:
            unclear(tracer, trace.stale[here])


# ------------------------------------------------------------------------------- objects in loops


class Object:
    """An array that a loop carries: where, for which variable, before it, and behind an iteration.

    `number` is its position in the carry, and among the inputs of the region behind others.
    """

    def __init__(self, number: int, name: str, initial: Any, result: Any) -> None:
        self.number = number
        self.name = name
        self.initial = initial
        self.result = result


class Objects:
    """The arrays of a loop whose variables are bound anew, and what an iteration does with them.

    An iteration that assigns to the array of a variable changes the one that was there before the
    loop, as long as variables only exchange theirs: behind it the trace then knows, by the number
    of iterations, which array is which.
    """

    def __init__(self, objects: list[Object], region: Any, parameters: Sequence[Var]) -> None:
        self._objects = objects
        self._trace = region.trace
        variables = {parameters[o.number]: o for o in objects}
        self._written = [o for var, o in variables.items() if self._trace.newest(var) is not var]
        # By number: whose array a variable has afterwards, and whose it may have.
        self._moved: dict[int, Object] = {}
        self._may_have: dict[int, list[Object]] = {}
        for o in objects:
            if isinstance(o.result, Tracer) and o.result.owner is self._trace:
                other = variables.get(o.result.original)
                if other is not None:
                    self._moved[o.number] = other
            roots = [var for (trace, var), _ in roots_of(o.result) if trace is self._trace]
            self._may_have[o.number] = [variables[var] for var in roots if var in variables]

    def check(self, assigned: Iterable[Tracer]) -> None:
        """Raise CarryError where arrays of two variables share memory that is assigned to."""
        assigned = list(assigned)
        check_copies([self._trace], assigned)
        for o in self._written:
            check_shared(o.initial)
            if isinstance(o.initial, Tracer):
                trace, array = root_of(o.initial)
                THREAD.python.kept.goes_on(trace, [array])
        changed = {root_of(x) for x in assigned}
        written = self._written_later()
        met: dict[Root, Object] = {}
        for o in self._objects:
            for root, _ in roots_of(o.result):
                is_outer = root[0] is not self._trace
                other = met.setdefault(root, o)
                pair = {o.number, other.number}
                if root in changed or (is_outer and o.number in written):
                    raise _shared(o.name)
                if other is not o and pair & written:
                    raise _shared(o.name)
        met.clear()
        read = {root_of(x) for x, _ in self._trace.captures.values()} if written else set()
        for o in self._objects:
            for root, _ in roots_of(o.initial):
                if root in read and o.number in written:  # by what the loop runs over, say
                    raise _shared(o.name)
                other = met.setdefault(root, o)
                if root in changed or (other is not o and {o.number, other.number} & written):
                    raise _shared(o.name)

    def _written_later(self) -> set[int]:
        """The numbers of the variables whose array an iteration assigns to, or a later one, when
        another variable has it."""
        written = {o.number for o in self._written}
        for o in self._written:
            written |= self._earlier(o).keys()
        return written

    def settle(self, results: Sequence[Any], count: Any) -> dict[int, Any]:
        """What is known behind the loop, of its results and the number of its iterations: by number
        those that are arrays of before."""
        leave(self._trace)
        before = {o.number: roots_of(o.initial) for o in self._objects}
        same: dict[int, Any] = {}
        done: set[int] = set()
        for o in self._objects:
            cycle = self._cycle(o)
            if cycle is not None and o.number not in done:
                done |= {each.number for each in cycle}
                same |= _exchanged(cycle, results, count)
        for o in self._objects:
            if o.number not in done:
                self._relate(o, results[o.number], _is_zero(count))
        for o in self._written:
            if o.number not in done:
                self._forget(o, before)
        return same

    def _relate(self, o: Object, result: Any, is_empty: Any) -> None:
        """Record which arrays of before a variable may have behind the loop."""
        earlier = self._earlier(o)
        if is_object(result):
            self._share(o, earlier, result, is_empty)

    def _forget(self, o: Object, before: dict[int, list[tuple[Root, bool]]]) -> None:
        """Record that nobody knows what the arrays of before are which some iterations assign to,
        before the variable is another one; nor what those are that may be one of them."""
        text = _UNCLEAR.format(name=o.name, source=user_source())
        for other in {o.number: o, **self._earlier(o)}.values():
            for (trace, root), _ in before[other.number]:
                unclear(Tracer(trace, root), text)

    def _share(self, o: Object, earlier: dict[int, Object], result: Tracer, is_empty: Any) -> None:
        if is_object(o.initial) and is_empty is not False:
            for (trace, root), is_same in roots_of(o.initial):
                share(result, Tracer(trace, root), is_empty if is_same else None)
        for other in earlier.values():
            for (trace, root), _ in roots_of(other.initial):
                share(result, Tracer(trace, root), None)
        for (trace, root), _ in roots_of(o.result):
            if trace is not self._trace:
                share(result, Tracer(trace, root), None)

    def _earlier(self, o: Object) -> dict[int, Object]:
        """The variables whose arrays of before one may have behind some iterations."""
        met: dict[int, Object] = {}
        pending = [o]
        while pending:
            for other in self._may_have[pending.pop().number]:
                if other.number not in met:
                    met[other.number] = other
                    pending.append(other)
        return met

    def _cycle(self, first: Object) -> list[Object] | None:
        """The variables that exchange their arrays with one: each has that of the next."""
        cycle, now = [first], self._moved.get(first.number)
        while now is not None and now is not first:
            if now in cycle:
                return None
            cycle.append(now)
            now = self._moved.get(now.number)
        if now is None or not all(is_object(o.initial) and is_whole(o.initial) for o in cycle):
            return None
        kinds = {o.initial.type for o in cycle} | {o.result.type for o in cycle}
        return cycle if len(kinds) == 1 else None


def _exchanged(cycle: Sequence[Object], results: Sequence[Any], count: Any) -> dict[int, Any]:
    """Give the arrays of before what is in them now; which of them the variables have."""
    period = len(cycle)
    turn = count % period if period > 1 else 0
    values = [results[o.number] for o in cycle]
    since = len(the_trace().equations)
    if isinstance(turn, int):
        for place, o in enumerate(cycle):
            replace_value(o.initial, values[(place - turn) % period], 0)
        return {o.number: cycle[(k + turn) % period].initial for k, o in enumerate(cycle)}
    turns = [turn == k for k in range(period)]
    finals = []
    for place in range(period):
        final = values[place]
        for k in range(1, period):
            final = np.where(turns[k], values[(place - k) % period], final)
        finals.append(final)
    for o, final in zip(cycle, finals, strict=True):
        replace_value(o.initial, final, since)
    for place, value in enumerate(values):
        for k in range(period):
            share(value, cycle[(place + k) % period].initial, turns[k])
    return {}


def _is_zero(count: Any) -> Any:
    """Whether a loop had no iteration: a traced bool where only the program knows."""
    if count is None:
        return None
    return count == 0 if isinstance(count, Tracer | int) else False


# A copy settles it for all values; a program for each value of an argument would, too.
NO_ARGUMENT = frozenset([""])


def _shared(name: str) -> errors.CarryError:
    source = user_source()
    what = f"{name!r}" if name else "an array"
    problem = errors.CarryError(
        f"{source}: {what} may share memory with another array, as variables are bound anew where "
        f"traced values decide, and `{source.text}` assigns to one of them. Let the variable be a "
        f"copy: x = y.copy()."
    )
    errors.blame(problem, NO_ARGUMENT)
    return problem


_UNCLEAR = (
    "the array that {name!r} was before the loop at {source} is assigned to by some of its "
    "iterations, before {name!r} is another one, and may not be used behind it. Let the variable "
    "be a copy before the loop: x = x.copy()."
)
