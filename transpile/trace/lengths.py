"""Lengths that depend on values, while a function is traced: their names, and what has to be true
of them.

A value has one length: what selects by an equal mask, computed by equal equations, finds the one
that is there, so that `x[x > 0] + y[x > 0]` needs no check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from transpile.ir.dims import Dim, Index, Symbol, sides, symbols_of, without_facts
from transpile.ir.graph import Atom, Const, Equation, Graph, axis_names, has_effect
from transpile.ir.graph_rewrite import counts_of, may_repeat, with_lengths
from transpile.ir.indices.lengths import (
    CHECKED_LATER,
    REFUSED_BY_CALL,
    Length,
    is_index_error,
    length,
    lengths_in,
    lengths_of,
    room_of,
    unbounded_length,
)
from transpile.ir.primitive import TABLE, Primitive
from transpile.trace.trace import Trace, current_trace, the_trace
from transpile.trace.tracer import Tracer, arguments_of
from transpile.util.frozen_records import replace
from transpile.util.interrupt_safety import THREAD

_NAME = "u"


def selected(mask: Tracer, *values: Any) -> tuple[Tracer, ...]:
    """The elements of vectors, as long as the mask, where it holds; those that there are already,
    where an equal mask selects from equal ones."""
    trace = the_trace()
    known = _counted(trace, TABLE["compact"], (mask, *values))
    if known is not None:
        return tuple(Tracer(trace, v) for v in known.outputs[1:])
    most = mask.shape[0]
    found = length(_free_name(most), most)
    _, *elements = trace.append(TABLE["compact"], (mask, *values), {"length": found})
    return tuple(elements)


def _counted(trace: Trace, primitive: Primitive, operands: Sequence[Any]) -> Equation | None:
    """The equation that finds a length from operands equal to these, if there is one."""
    atoms = tuple(map(trace.atom, operands))
    for counted in trace.lengths.values():
        known = trace.producers[counted]
        if (
            known.primitive is primitive
            and len(known.inputs) == len(atoms)
            and all(_are_equal(trace, a, b) for a, b in zip(known.inputs, atoms, strict=True))
        ):
            return known
    return None


def measured(
    count: Any,
    most: Index | None = None,
    facts: Callable[[Index], Iterable[Index]] = lambda found: (),
) -> Dim:
    """A number, which is not negative, as the extent of an axis; without a `most`, for which memory
    is planned, no bound of it is known, but in a statement that is converted from source. `facts`
    are what else is 0 or more, for proofs."""
    trace = the_trace()
    if THREAD.record is not None and isinstance(count, Tracer):
        THREAD.record.counting |= arguments_of(count)
    known = _counted(trace, TABLE["measured"], (count,))
    if known is not None:
        return Dim.of(known.params["length"])
    if most is None and trace.is_region:
        most = THREAD.python.greatest(count)
    if most is None:
        found = unbounded_length(_free_name(0))
    else:
        found = length(_free_name(most), most)
        true = map(without_facts, facts(Dim.of(found)))
        found = replace(found, facts=tuple(d for d in true if isinstance(d, Dim)))
    trace.append(TABLE["measured"], (count,), {"length": found})
    return Dim.of(found)


def own_room() -> Length:
    """A length that is the room for it: as much memory as the caller gives, from this place on. A
    program for which it is too little ends with the error `LIST_IS_LONGER`."""
    trace = the_trace()
    found = unbounded_length(_free_name(0))
    room = room_of(found)
    assert room is not None  # as it has no other bound
    trace.append(TABLE["measured"], (Dim.of(room).as_value(),), {"length": found})
    return found


def none_of(mask: Any, text: str) -> None:
    """Record that no element of a mask may be True, else the call ends with this error."""
    trace = the_trace()
    known = _counted(trace, TABLE["compact"], (mask,))
    if known is None:
        most = mask.shape[0]
        found = length(_free_name(most), most)
        trace.append(TABLE["compact"], (mask,), {"length": found})
    else:
        found = known.params["length"]
    if trace.is_region:  # which ends the program itself, if it comes there
        THREAD.python.require(Dim.of(found), 0, text)
    else:
        _require(trace, Dim.of(found), 0, text)


def _are_equal(trace: Trace, one: Atom, other: Atom) -> bool:
    """True if two values are computed by equal equations from the same values."""
    pairs = [(one, other)]
    seen: set[tuple[Atom, Atom]] = set()
    while pairs:
        a, b = pairs.pop()
        if a is b or (a, b) in seen:
            continue
        seen.add((a, b))
        if isinstance(a, Const) or isinstance(b, Const):
            if a != b:
                return False
            continue
        first, second = trace.producers.get(a), trace.producers.get(b)
        if first is None or second is None or not _are_alike(first, second):
            return False
        if first.outputs.index(a) != second.outputs.index(b):
            return False
        pairs += zip(first.inputs, second.inputs, strict=True)
    return True


def _are_alike(one: Equation, other: Equation) -> bool:
    if one is other:
        return True
    nothing: tuple[Atom, ...] = ()
    keys = [(e.key()[0], nothing, e.key()[2]) for e in (one, other)]
    return keys[0] == keys[1] and len(one.inputs) == len(other.inputs) and not has_effect(one)


def _free_name(most: Index, others: Iterable[Length] = ()) -> str:
    """A name that neither these lengths nor sizes of the present traces have, nor lengths that
    statements inside of them have counted."""
    taken = {s.name for s in (*others, *symbols_of(most))}
    for trace in THREAD.traces:
        taken.update(known.name for known in trace.lengths)
        taken.update(trace.length_names)
        extents = (extent for var in trace.inputs for extent in var.type.shape)
        taken.update(s.name for extent in extents for s in symbols_of(extent))
    names = (f"{_NAME}{k}" if k > 1 else _NAME for k in count(1))
    name = next(name for name in names if name not in taken)
    for trace in THREAD.traces:
        trace.length_names.add(name)
    return name


def with_own_lengths(trace: Trace, graph: Graph) -> Graph:
    """A graph whose equations are to be appended to a trace, which may have lengths of the same
    names already: they are others."""
    if trace.lengths.keys().isdisjoint(counts_of(graph.equations)):
        return graph
    return with_new_lengths(graph)


def with_outer_lengths(graph: Graph, captured: Sequence[Any]) -> tuple[Graph, list[Any]]:
    """A graph that is to be run in the active trace, and the outer values that are its first
    inputs: lengths in the shapes of results are counted outside of it, where they are those of
    outer values."""
    trace, captured = current_trace(), list(captured)
    while trace is not None:
        counting = _outer_counts(graph, len(captured))
        if not counting:
            break
        outer: dict[Atom, Any] = dict(zip(graph.inputs, captured, strict=False))
        same: dict[Symbol, Index] = {}
        for equation in counting:
            operands = [outer.get(a, a) for a in equation.inputs]
            is_count = equation.primitive.kind == "length"
            known = _counted(trace, equation.primitive, operands) if is_count else None
            if known is None:
                found = trace.copy(equation, operands)
            else:
                found = [Tracer(trace, var) for var in known.outputs]
                same[equation.params["length"]] = Dim.of(known.params["length"])
            outer.update(zip(equation.outputs, found, strict=True))
            if same:  # what follows from it is of that length, too
                break
        moved = counting[: counting.index(equation) + 1]
        results = [var for e in moved for var in e.outputs]
        count = len(captured)
        graph = replace(
            graph,
            inputs=(*graph.inputs[:count], *results, *graph.inputs[count:]),
            equations=tuple(e for e in graph.equations if e not in moved),
        )
        captured += [outer[var] for var in results]
        graph = with_lengths(graph, same) if same else graph
    return graph, captured


def own_lengths(graph: Graph) -> tuple[Length, ...]:
    """The lengths in the shapes of results that the graph counts itself."""
    counted = counts_of(graph.equations)
    return tuple(s for s in lengths_in(a.type.shape for a in graph.outputs) if s in counted)


def _outer_counts(graph: Graph, captured: int) -> list[Equation]:
    """The equations that count lengths of results from the first inputs alone, with those that
    they need."""
    producers = {var: e for e in graph.equations for var in e.outputs}
    counted = counts_of(graph.equations)
    outer = set(graph.inputs[:captured])
    needed: set[int] = set()
    for found in own_lengths(graph):
        needs: set[int] = set()
        stack: list[Atom] = [counted[found]]
        while stack:
            var = stack.pop()
            if isinstance(var, Const) or var in outer:
                continue
            equation = producers.get(var)
            if equation is None or not may_repeat(equation) or axis_names(equation):
                needs = set()
                break
            if id(equation) not in needs:
                needs.add(id(equation))
                stack += equation.inputs
        needed |= needs
    return [e for e in graph.equations if id(e) in needed]


def with_new_lengths(graph: Graph) -> Graph:
    """A graph that counts its lengths under names of its own."""
    counted = counts_of(graph.equations)
    if not counted:
        return graph
    others: list[Length] = []
    for known in counted:
        most = 0 if known.extent is None else known.extent - 1
        name = _free_name(most, others)
        others.append(length(name, most) if room_of(known) is None else unbounded_length(name))
    values: dict[Symbol, Index] = {}
    for known, other in zip(counted, others, strict=True):
        values[known] = Dim.of(other)
        room, own = room_of(known), room_of(other)
        if room is not None and own is not None:
            values[room] = Dim.of(own)
    return with_lengths(graph, values)


def _check_later(smaller: Index, larger: Index, text: str) -> bool:
    """Record an inequality where its lengths are known; False where they are not."""
    wanted = set(lengths_of(larger - smaller))
    for trace in reversed(THREAD.traces):
        if not wanted.isdisjoint(trace.lengths):
            if THREAD.traces[-1].is_region:  # which ends the program itself, if it comes there
                THREAD.python.require(smaller, larger, text)
                return True
            _require(trace, smaller, larger, text)
            return True
    return current_trace() is None


def _refuse(smaller: Index, larger: Index, text: str) -> bool:
    """Record an inequality of sizes of arguments, without which the call ends; False where the code
    being traced may be a loop's or a branch's, which need not run, but for those of Python."""
    if not THREAD.traces:
        return True  # it was recorded when the function was traced
    outermost, *inner = THREAD.traces
    if inner and inner[-1].is_region:  # which ends the program itself, if it comes there
        THREAD.python.require(smaller, larger, text)
        return True
    if any(trace.role not in ("forward", "backward") for trace in inner):
        return False
    given = {s for var in outermost.inputs for d in var.type.shape for s in symbols_of(d)}
    slack = larger - smaller
    if not given >= symbols_of(slack):
        return False
    params = dict(zip(("smaller", "larger"), sides(slack), strict=True), text=text)
    last = None
    for number, known in enumerate(outermost.equations):
        if known.primitive.kind == "requirement":
            least = known.params["larger"] - known.params["smaller"]
            more = slack - least
            if isinstance(more, int) and more >= 0:
                return True  # that one fails, too, and comes first
            if isinstance(more, int):
                last = number
            elif not symbols_of(least).isdisjoint(symbols_of(slack)):
                last = None  # what that one refuses is refused before
    if last is not None and is_index_error(text, outermost.equations[last].params["text"]):
        outermost.equations[last] = replace(outermost.equations[last], params=params)
        return True
    outermost.append(TABLE["require"], (), params)
    return True


def _require(trace: Trace, smaller: Index, larger: Index, text: str) -> None:
    """Record an inequality, once."""
    known = (e.params for e in trace.equations if e.primitive.kind == "requirement")
    if not any(p["smaller"] == smaller and p["larger"] == larger for p in known):
        trace.append(TABLE["require"], (), {"smaller": smaller, "larger": larger, "text": text})


CHECKED_LATER.append(_check_later)
REFUSED_BY_CALL.append(_refuse)
