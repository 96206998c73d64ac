"""Bounds of numbers that only the program has: how often a loop runs, how long an array inside is.

What the way back through a loop reads is stacked, and arrays inside of loops have room for the
longest one. Both need a size of the function around. It is known while tracing, or follows from the
bounds of loops around; else the program finds it: the outermost statement is traced once more
before, without what it does, for the greatest number that it comes to at each site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from transpile import errors
from transpile.ir.dims import Dim, Index
from transpile.ir.graph import Const, Equation, Graph, has_effect
from transpile.ir.graph_rewrite import live_equations
from transpile.ir.types import INT64
from transpile.numpy.core.runtime_sizes import length_of, size_of
from transpile.primitives import axes
from transpile.primitives.effects.failures import fail
from transpile.python.growing.growth import fitted
from transpile.python.objects.attributes import Attributes
from transpile.python.objects.ranges import limits_of
from transpile.python.semantics.regions import Region
from transpile.python.semantics.values import EndedError
from transpile.trace.lengths import own_room
from transpile.trace.trace import Trace, bind, current_trace
from transpile.trace.tracer import UNKNOWN
from transpile.transforms.closed import apply
from transpile.util.interrupt_safety import THREAD, as_before, between

T = TypeVar("T")
Site = tuple[Any, ...]


class CountedError(BaseException):
    """The trace begins anew, with the number at `site` counted before the statement `outermost`."""

    def __init__(self, outermost: Any, site: Site) -> None:
        self.outermost = outermost
        self.site = site


class Counting:
    """What the statements of a trace are counted for.

    sites      by outermost statement: the sites of numbers that are counted before it
    outermost  the one that is being traced
    most       what was counted before it, by sites
    present    the arrays of one number for what is being counted, by sites; else None
    noted      the sites that have been counted
    """

    def __init__(self) -> None:
        self.sites: dict[Any, dict[Site, None]] = {}
        self.begin(None)

    def begin(self, outermost: Any) -> None:
        """Begin with a statement; None: with what is in none."""
        self.outermost = outermost
        self.most: dict[Site, Index] = {}
        self.present: dict[Site, Any] | None = None
        self.noted: set[Site] = set()


def goes_backward() -> bool:
    """True where a derivative goes backward through what is being traced."""
    if THREAD.python.counting.present is not None:
        return False
    return any(trace.role == "backward" and trace.varied for trace in THREAD.traces)


def goes_any_way() -> bool:
    """True where a derivative goes through what is being traced."""
    return THREAD.python.counting.present is None and any(t.varied for t in THREAD.traces)


def is_counted(site: Site) -> bool:
    """True where the number at a site is being counted."""
    return site in (THREAD.python.counting.present or ())


def within(outermost: Any, functions: Iterable[Any], run: Callable[[], T]) -> T:
    """The result of `run()`, which traces a statement of these functions, after counting what it
    needs, and as often as its lists grow."""
    return fitted(partial(_within, outermost, functions, run))


def _within(outermost: Any, functions: Iterable[Any], run: Callable[[], T]) -> T:
    counting: Counting = THREAD.python.counting
    trace = current_trace()
    if counting.outermost is not None or trace is None or root_trace() is not trace:
        return run()

    def counted() -> T:
        sites = counting.sites.get(outermost)
        if sites:
            counting.most = _counted(list(sites), functions, run)
        return run()

    return between(lambda: counting.begin(outermost), counted, lambda: counting.begin(None))


def root_trace() -> Trace | None:
    """The innermost trace whose equations run once in a call, if there is one."""
    root = None
    for trace in THREAD.traces:
        if trace.is_region or trace.role == "repeated":
            break
        root = trace
    return root


def _counted(
    sites: list[Site], functions: Iterable[Any], run: Callable[[], object]
) -> dict[Site, Index]:
    """The greatest numbers that a statement comes to."""
    counting: Counting = THREAD.python.counting
    zero = Const(np.zeros((), INT64))
    arrays = [bind(axes.broadcast_in_dim, zero, shape=(1,), broadcast_dimensions=()) for _ in sites]
    region = Region("counts")
    attributes = Attributes(functions)
    restore = as_before()

    def begin() -> None:
        THREAD.record = None
        counting.present = dict(zip(sites, arrays, strict=True))

    def end() -> None:
        restore()
        counting.present = None
        attributes.restore()

    with suppress(EndedError):  # the statement itself ends so, too
        between(begin, lambda: region.run(run), end)
    assigned = region.assigned()
    outputs = [region.final(array.variable, array) for array in arrays]
    region.settle_views(assigned)
    body = region.body(outputs, [])
    graph = _without_messages(body.graph)
    graph = replace(graph, equations=live_equations(graph.equations, graph.outputs))
    return {
        site: _as_size(np.reshape(most, ()))
        for site, most in zip(sites, apply(graph, body.captured), strict=True)
        if site in counting.noted
    }


def _without_messages(graph: Graph) -> Graph:
    """A graph without what it tells somebody; its exceptions stay, as they end it."""
    kept = [_silent(e) for e in graph.equations if not _is_message(e)]
    return replace(graph, equations=tuple(kept))


def _is_message(equation: Equation) -> bool:
    primitive = equation.primitive
    if not primitive.effect or primitive is fail:
        return False
    if equation.outputs:
        raise errors.UnsupportedError(
            f"{equation.source}: a derivative runs this loop twice, first to count its iterations, "
            f"which depend on results of its io_callback. Give it a bound: `for k in range(100)` "
            f"with `break`, or use forward mode: jvp"
        )
    return True


def _silent(equation: Equation) -> Equation:
    if not has_effect(equation):
        return equation
    params = {name: _silent_param(value) for name, value in equation.params.items()}
    return replace(equation, params=params)


def _silent_param(value: Any) -> Any:
    if isinstance(value, Graph):
        return _without_messages(value)
    return tuple(map(_silent_param, value)) if isinstance(value, tuple) else value


def _as_size(value: Any) -> Index:
    number = value.owner.value(value.variable)
    if number is not UNKNOWN:
        return max(int(number), 0)
    known = size_of(value)
    return length_of(value) if known is None else known


def room_around() -> Index | None:
    """The room for a list, which the caller of the program gives more of where it is too little;
    None where the trace has no place for it."""
    root = root_trace()
    if root is None:
        return None
    position, restore = THREAD.traces.index(root), as_before()

    def begin() -> None:
        THREAD.traces = THREAD.traces[: position + 1]

    return Dim.of(between(begin, own_room, restore))


# ------------------------------------------------------------------------------ numbers and sites


def note(site: Site, number: Any) -> None:
    """Count a number, where it is asked for."""
    present = THREAD.python.counting.present
    if present is not None and site in present:
        most = present[site]
        most[0] = np.maximum(most[0], number)
        THREAD.python.counting.noted.add(site)


def greatest(number: Any, site: Site) -> tuple[Index, bool] | None:
    """A size that a number is at most, and whether it is the number; None where the program cannot
    count it.

    Raises CountedError where it is to be counted.
    """
    known = limits_of(number, None)[1]
    if isinstance(known, int):
        return max(known, 0), isinstance(number, int)
    root = root_trace()
    if root is None:
        return None
    restore, position = as_before(), THREAD.traces.index(root)

    def begin() -> None:
        THREAD.traces = THREAD.traces[: position + 1]

    def most() -> tuple[Index, bool] | None:
        least, value = limits_of(number, root)
        return None if value is None else (_as_size(value), least is value)

    found = between(begin, most, restore)
    if found is not None:
        return found
    counted = most_counted(site)
    return None if counted is None else (counted, False)


def most_of(number: Any, site: Site) -> Index | None:
    """A size that a number is at most, as it is known without counting; None where it is not."""
    try:
        found = greatest(number, site)
    except CountedError:
        return None
    return None if found is None else found[0]


def most_counted(site: Site) -> Index | None:
    """What was counted at a site; None where that is impossible.

    Raises CountedError where it is to be counted.
    """
    counting: Counting = THREAD.python.counting
    if site in counting.most:
        return counting.most[site]
    is_asked_for = site in counting.sites.get(counting.outermost, ())
    if counting.outermost is None or is_asked_for:
        return None
    position = THREAD.traces.index(root_trace()) + 1
    if not all(trace.is_region for trace in THREAD.traces[position:]):
        return None
    raise CountedError(counting.outermost, site)
