"""`for` and `while`: as Python runs them while nothing traced decides and the trace stays short,
and else as one loop of the program, whose carry are the variables and arrays that it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from transpile import errors
from transpile.ir.dims import Dim
from transpile.ir.graph import Const, Equation, Var, graphs_in
from transpile.ir.source_info import user_source
from transpile.ir.types import INT64, ArrayType
from transpile.lax.control.bodies import as_atom, merged
from transpile.lax.control.loops import bind_scan
from transpile.numpy.subscripts.assignment import replace_value
from transpile.primitives import axes
from transpile.primitives.control import primitives
from transpile.primitives.rules import bind_call
from transpile.python.loop_hints import NotUnrolled, Unrolled
from transpile.python.objects.attributes import checked, with_attributes
from transpile.python.objects.containers import unchanging
from transpile.python.objects.ranges import range_of
from transpile.python.objects.references import Objects
from transpile.python.semantics.branches import and_, as_result, if_, not_
from transpile.python.semantics.iterables import Items, items_of
from transpile.python.semantics.loop_state import State
from transpile.python.semantics.regions import Region
from transpile.python.semantics.values import EndedError, record, truth
from transpile.trace.trace import bind, constant, current_trace
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

Body = Callable[..., tuple[Any, ...]]
# Widening an integer to a float to a complex number, and a variable more that is not the same.
_MOST_ROUNDS = 8
# Equations of a loop that Python runs, beyond which it becomes one of the program: what C compilers
# unroll by themselves is shorter, and every further one costs them time.
MOST_UNROLLED = 64
_LONG = f"Python would trace more than {MOST_UNROLLED} equations"
_ASKED = "no_unroll asks for it"
_FLAG = "a traced condition may end it"
_TRACED = "its condition is traced"
_INDEX = ArrayType((), INT64, weak=True)


class RolledError(BaseException):
    """The trace begins anew, with a loop of the program for the statement at `site`."""

    def __init__(self, site: Any, reason: str) -> None:
        self.site = site
        self.reason = reason


class UnrolledError(BaseException):
    """The trace begins anew, and Python runs the loop at `site`, as the program cannot."""

    def __init__(self, site: Any, reason: Exception) -> None:
        self.site = site
        self.reason = reason


def for_(
    iterable: Any,
    body: Body,
    stops: tuple[int, ...],
    names: tuple[str, ...],
    values: tuple[Any, ...],
) -> tuple[Any, ...]:
    """A `for` statement: the values of the variables behind it.

    body   (item, *values) -> values
    stops  the positions of the flags among the variables of which each ends the loop
    """
    loop = _Loop(names, stops)
    if isinstance(iterable, NotUnrolled):
        iterable = iterable.iterable
        loop.is_asked_for = True
    items = items_of(iterable)
    if items is None or (items.is_known and not loop.is_rolled):
        may_roll = items is not None and loop.site not in THREAD.python.unrolled
        record("for", loop.why_unrolled(iterable, items))
        return loop.in_python(iterable, body, values, may_roll)
    if items.is_known and not items.length:
        return values
    if isinstance(items.length, Dim):
        items = Items(items.length.as_value(), items.item, items.prepare)
    record("for", loop.why_rolled(items))
    items.prepare()
    begin = loop
    try:
        return with_attributes(
            loop.site,
            lambda also, body, _, values: begin.with_names(also).counted(items, body, values),
            body,
            None,
            values,
        )
    except (errors.CarryError, errors.BranchError, errors.TracerError) as reason:
        raise loop.refused(items, reason) from None


def while_(
    condition: Callable[..., Any],
    body: Body,
    stops: tuple[int, ...],
    names: tuple[str, ...],
    values: tuple[Any, ...],
) -> tuple[Any, ...]:
    """A `while` statement: the values of the variables behind it.

    condition  (*values) -> what is tested
    body       (*values) -> values
    """
    loop = _Loop(names, stops)
    begin, count = loop.equations(), 0
    while not loop.is_rolled:
        if any(isinstance(values[k], Tracer) for k in stops):
            raise RolledError(loop.site, _FLAG)
        holds = not any(values[k] for k in stops) and truth(condition(*values))
        if isinstance(holds, Tracer):
            if count and loop.site not in THREAD.python.unrolled:
                raise RolledError(loop.site, _TRACED)  # one body in C, not one more before it
            break
        if not holds:
            record("while", f"run by Python while tracing, {_times(count)}")
            return values
        values = body(*values)
        count += 1
        loop.check_length(begin)
    reason = THREAD.python.rolled.get(loop.site, _TRACED)
    record("while", f"a loop of the program, as {reason}")
    is_from_first = loop.is_rolled and reason == _TRACED
    runs = is_from_first and loop.surely_begins(condition, values)
    try:
        return with_attributes(
            loop.site,
            lambda also, body, condition, values: loop.with_names(also).conditional(
                condition, body, values, runs
            ),
            body,
            condition,
            values,
        )
    except (errors.CarryError, errors.BranchError, errors.TracerError) as refused:
        # Python may run the first iterations, if these alone are unlike the others.
        raise UnrolledError(loop.site, refused) if is_from_first else refused from None


def _times(count: int) -> str:
    return "one iteration" if count == 1 else f"{count} iterations"


def _length(equation: Equation) -> int:
    """The number of equations that C is made of: with those of the loops and branches inside."""
    return 1 + sum(_length(inner) for graph in graphs_in(equation) for inner in graph.equations)


def _has_axes(value: Any) -> bool:
    return isinstance(value, Tracer | np.ndarray) and value.ndim > 0


def _unchanged(*values: Any) -> tuple[Any, ...]:
    return values


class _Loop:
    """A loop statement: its variables, and how it is run."""

    def __init__(self, names: tuple[str, ...], stops: tuple[int, ...]) -> None:
        self.source = source = user_source()
        self.site = source.file, source.line, names, stops
        self._names = names
        self.names = [name.lstrip("+") for name in names]
        self.is_updated = [name.startswith("+") for name in names]
        self.stops = stops
        self.is_asked_for = False

    def with_names(self, also: tuple[str, ...]) -> _Loop:
        """The loop with further variables."""
        if not also:
            return self
        loop = _Loop((*self._names, *also), self.stops)
        loop.is_asked_for = self.is_asked_for
        return loop

    @property
    def is_rolled(self) -> bool:
        """True where the user, or an earlier attempt, asks for a loop of the program."""
        return self.is_asked_for or self.site in THREAD.python.rolled

    def surely_begins(self, condition: Callable[..., Any], values: Sequence[Any]) -> bool:
        """True if a `while` has a first iteration, whatever the arguments of the program are."""
        if any(isinstance(values[k], Tracer) or values[k] for k in self.stops):
            return False
        holds = truth(condition(*values))
        return not isinstance(holds, Tracer) and bool(holds)

    def equations(self) -> int:
        """The length of the trace so far."""
        trace = current_trace()
        return len(trace.equations) if trace else 0

    def check_length(self, begin: int) -> None:
        """Roll the loop where Python has traced too much of it."""
        trace = current_trace()
        if trace and sum(map(_length, trace.equations[begin:])) > MOST_UNROLLED:
            raise RolledError(self.site, _LONG)

    def why_rolled(self, items: Items) -> str:
        """What to tell of a loop of the program."""
        if not items.is_known:
            return "a loop of the program, as the number of its iterations is traced"
        reason = _ASKED if self.is_asked_for else THREAD.python.rolled[self.site]
        return f"a loop of the program with {_times(items.length)}, as {reason}"

    def why_unrolled(self, iterable: Any, items: Items | None) -> str:
        """What to tell of a loop that Python runs."""
        if isinstance(iterable, Unrolled):
            return "run by Python while tracing, as unroll asks for it"
        if items is None:
            return f"run by Python while tracing, as it is over a {type(iterable).__name__}"
        outcome = f"run by Python while tracing, {_times(items.length)}"
        reason = THREAD.python.unrolled.get(self.site)
        if reason is None:
            return f"{outcome}: at most {MOST_UNROLLED} equations"
        return f"{outcome}: no loop of the program, as {reason}"

    def refused(self, items: Items, reason: Exception) -> BaseException:
        """What to raise where the loop cannot be one of the program: Python runs it if it is
        short."""
        if not items.is_known:
            return reason
        if self.is_asked_for:
            reason.add_note(
                f"So `{self.source.text}` is no loop of the program: leave out no_unroll."
            )
            return reason
        if items.length > MOST_UNROLLED:
            reason.add_note(
                f"So `{self.source.text}` is no loop of the program; and Python does not run it "
                f"while tracing, as its {items.length} iterations are more than {MOST_UNROLLED}."
            )
            return reason
        return UnrolledError(self.site, reason)

    def in_python(
        self, iterable: Any, body: Body, values: tuple[Any, ...], may_roll: bool
    ) -> tuple[Any, ...]:
        """As Python runs it. Where a traced flag may have ended it and it cannot become a loop of
        the program, each further iteration is a branch."""
        begin, names = self.equations(), tuple(self.names)
        for item in iterable:
            goes_on = self._is_running(values)
            if isinstance(goes_on, Tracer):
                values = if_(goes_on, partial(body, item), _unchanged, names, values)
            else:
                values = body(item, *values)
            goes_on = self._is_running(values)
            if may_roll and isinstance(goes_on, Tracer):
                raise RolledError(self.site, _FLAG)
            if not isinstance(goes_on, Tracer) and not goes_on:
                break
            if may_roll:
                self.check_length(begin)
        return values

    def _is_running(self, values: Sequence[Any]) -> Any:
        """False, or a traced truth, where a flag ends the loop."""
        goes_on: Any = True
        for k in self.stops:
            goes_on = and_(goes_on, partial(not_, values[k]))
        return goes_on

    def counted(self, items: Items, body: Body, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """As a loop over the numbers of items."""
        at_least_once = items.is_known and items.length > 0
        if (self.stops or not items.is_known) and any(t.varied for t in THREAD.traces):
            limits = range_of(items.length)
            if limits is not None:
                return self._to_the_end(items, max(limits[1], 0), body, values)
        if self.stops:
            return self._until_stopped(items, body, values, at_least_once)
        state = State(self.names, self.is_updated, values)
        most = items.length if items.is_known else None
        each: Body = lambda number, *now: body(items.item(number), *now)  # noqa: E731
        region = self._traced(state, each, [_INDEX], most)
        outputs = state.outputs(region)
        assigned = region.assigned()
        objects = Objects(state.objects(), region, region.trace.inputs[1:])
        objects.check(assigned.values())
        outputs += [region.final(var, tracer) for var, tracer in assigned.items()]
        region.settle_views(assigned)
        number, *carry = region.trace.inputs
        carry += [region.captured(var, tracer) for var, tracer in assigned.items()]
        traced = region.body(outputs, [number, *carry])
        count = len(traced.captured)
        graph = traced.graph
        initial = [*state.initial(), *assigned.values()]
        since = self.equations()
        if items.is_known:
            numbers = bind(axes.iota, shape=(items.length,), dimension=0, dtype=INT64)
            graph = replace(graph, inputs=(*graph.inputs[:count], *carry, number))
            results = bind_scan(graph, traced.captured, initial, [numbers], items.length, False)
        elif not initial and not graph.has_effects:
            results = []
        else:
            graph = replace(graph, inputs=(number, *graph.inputs[:count], *carry))
            results = bind_call(
                primitives.fori_loop,
                as_atom(np.int64(0)),
                as_atom(items.length),
                *traced.captured,
                *map(as_atom, initial),
                graph=graph,
                consts=count,
            )
        return self._behind(state, results, assigned, since, objects, items.length, at_least_once)

    def _to_the_end(
        self, items: Items, most: int, body: Body, values: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """As a loop over as many items as there may be, which does nothing behind the flag that
        ends it: derivatives go back through it, as the number of its iterations is known."""
        names = tuple(self.names)

        def each(number: Any, *now: Any) -> tuple[Any, ...]:
            goes_on = self._is_running(now)
            if not items.is_known:
                goes_on = and_(number < items.length, lambda: self._is_running(now))
            return if_(goes_on, lambda *x: body(items.item(number), *x), _unchanged, names, now)

        whole = _Loop(names, ())
        return whole.counted(Items(most, lambda number: number), each, values) if most else values

    def _until_stopped(
        self, items: Items, body: Body, values: tuple[Any, ...], at_least_once: bool
    ) -> tuple[Any, ...]:
        """As a loop with a counter, which ends at its last item or at a flag."""

        def condition(*now: Any) -> Any:
            return now[-1] < items.length

        def step(*now: Any) -> tuple[Any, ...]:
            return body(items.item(now[-1]), *now[:-1])

        return self._with_counter(condition, step, values, at_least_once)

    def conditional(
        self,
        condition: Callable[..., Any],
        body: Body,
        values: tuple[Any, ...],
        at_least_once: bool,
    ) -> tuple[Any, ...]:
        """As a loop that asks before each iteration. Its iterations are counted where variables may
        exchange arrays."""
        pairs = zip(values, self.is_updated, strict=True)
        if any(_has_axes(x) and not is_updated for x, is_updated in pairs):
            asked, done = condition, body
            condition = lambda *now: asked(*now[:-1])  # noqa: E731
            body = lambda *now: done(*now[:-1])  # noqa: E731
            return self._with_counter(condition, body, values, at_least_once)
        return self._conditional(condition, body, values, at_least_once, False)

    def _with_counter(
        self,
        condition: Callable[..., Any],
        body: Body,
        values: tuple[Any, ...],
        at_least_once: bool,
    ) -> tuple[Any, ...]:
        """As a loop whose last variable is the number of its iterations so far."""
        inner = _Loop((*self.names, ""), self.stops)
        inner.is_updated = [*self.is_updated, False]

        def step(*now: Any) -> tuple[Any, ...]:
            return *body(*now), now[-1] + 1

        return inner._conditional(condition, step, (*values, 0), at_least_once, True)[:-1]

    def _conditional(
        self,
        condition: Callable[..., Any],
        body: Body,
        values: tuple[Any, ...],
        at_least_once: bool,
        is_counted: bool,
    ) -> tuple[Any, ...]:
        state = State(self.names, self.is_updated, values)
        region = self._traced(state, body, [])
        test = Region("condition", state.types, [var.name for var in region.trace.inputs])
        parameters = test.parameters
        asked = partial(test.run, lambda: self._goes_on(condition, state.values(parameters)))
        holds = test.atom(checked(asked, condition))
        outputs = state.outputs(region)
        assigned = region.assigned()
        objects = Objects(state.objects(), region, region.trace.inputs)
        objects.check(assigned.values())
        if test.assigned():
            raise errors.UnsupportedError(
                f"{user_source()}: the condition of `{user_source().text}` assigns to an array. "
                f"Assign in the body of the loop."
            )
        outputs += [region.final(var, tracer) for var, tracer in assigned.items()]
        bodies = []
        for each, results in ((test, [holds]), (region, outputs)):
            each.settle_views(assigned)
            carry = [*each.trace.inputs]
            carry += [each.captured(var, tracer) for var, tracer in assigned.items()]
            bodies.append(each.body(results, carry))
        graphs, captured = merged(bodies)
        since = self.equations()
        initial = [*state.initial(), *assigned.values()]
        results = bind_call(
            primitives.while_,
            *captured,
            *map(as_atom, initial),
            condition=graphs[0],
            body=graphs[1],
            consts=len(captured),
        )
        count = as_result(results[state.last], "") if is_counted else None
        return self._behind(state, results, assigned, since, objects, count, at_least_once)

    def _goes_on(self, condition: Callable[..., Any], values: Sequence[Any]) -> Any:
        """The test before an iteration: no flag is set, and the condition holds."""
        holds = truth(condition(*values))
        for k in self.stops:
            holds = np.logical_and(np.logical_not(values[k]), holds)
        return holds if isinstance(holds, Tracer) else np.bool_(holds)

    def _traced(
        self, state: State, body: Body, leading: list[ArrayType], most: int | None = None
    ) -> Region:
        """The region of an iteration, whose carry has the types that it gives; `most` is the number
        of iterations, where it is known."""
        for _ in range(_MOST_ROUNDS):
            names = [*["i"] * len(leading), *state.leaf_names()]
            region = Region("loop", [*leading, *state.types], names)
            if most is not None:
                region.trace.counters[region.trace.inputs[0]] = most
            parameters = region.parameters
            first, carry = parameters[: len(leading)], parameters[len(leading) :]
            now: list[Any] = []

            def call(now: Any = now, first: Any = first, carry: Any = carry) -> Any:
                now += state.values(carry)
                return body(*first, *now)

            try:
                run = partial(region.run, call)
                results = checked(partial(unchanging, run, body), body)
            except EndedError:  # an exception ends each iteration
                results = tuple(now)
            if not state.absorb(results, region):
                return region
        raise errors.InternalError("the types of a loop do not settle")

    def _behind(
        self,
        state: State,
        results: Sequence[Any],
        assigned: dict[Var, Tracer],
        since: int,
        objects: Objects,
        iterations: Any,
        at_least_once: bool,
    ) -> tuple[Any, ...]:
        count = len(state.types)
        for tracer, value in zip(assigned.values(), results[count:], strict=True):
            replace_value(tracer, value, since)
        named = [
            as_result(x if isinstance(x, Tracer | Const) else constant(x), name)
            for x, name in zip(results[:count], state.leaf_names(), strict=True)
        ]
        for number, array in objects.settle(named, iterations).items():
            named[number] = array
        return tuple(state.values(named, behind=True, at_least_once=at_least_once))
