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
from transpile.functional.flatten_fun import is_inexact
from transpile.ir.dims import Dim, Index
from transpile.ir.graph import Const, Var
from transpile.ir.types import INT64, ArrayType
from transpile.lax.control.bodies import as_atom
from transpile.lax.control.loops import bind_scan
from transpile.numpy.subscripts.assignment import replace_value
from transpile.primitives import axes
from transpile.primitives.control import primitives
from transpile.primitives.rules import bind_call
from transpile.python.growing import growth
from transpile.python.loop_hints import NotUnrolled
from transpile.python.objects.attributes import checked, with_attributes
from transpile.python.objects.containers import asking, keeping, unchanging
from transpile.python.objects.counters import most_iterations
from transpile.python.objects.ranges import limits_of, range_of
from transpile.python.objects.references import Objects
from transpile.python.rolling import (
    FLAG,
    REFUSED,
    LoopStatement,
    RolledError,
    UnrolledError,
    has_axes,
    same,
    tested,
    times,
    unchanged,
)
from transpile.python.semantics import bounds, exceptions
from transpile.python.semantics.branches import as_result, if_
from transpile.python.semantics.conditions import and_, not_, while_running
from transpile.python.semantics.iterables import Items, items_of
from transpile.python.semantics.loop_state import AssigningError, Regions, State
from transpile.python.semantics.regions import Region
from transpile.python.semantics.values import EndedError, record, truth
from transpile.trace.trace import bind, constant, the_trace
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

Body = Callable[..., tuple[Any, ...]]
# Widening an integer to a float to a complex number, and a variable more that is not the same.
_MOST_ROUNDS = 8
_TRACED = "its condition is traced"
_ASSIGNING = "its condition is traced, and assigns to an array"
_INDEX = ArrayType((), INT64, weak=True)


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
    body = body if items is None else items.watched(body)
    if items is None or (items.is_known and not loop.is_rolled):
        may_roll = items is not None and loop.site not in THREAD.python.unrolled
        record("for", loop.why_unrolled(iterable, items))
        return loop.in_python(iterable, body, values, may_roll)
    if items.is_known and not items.length:
        return values
    if isinstance(items.length, Dim) and not bounds.goes_backward():
        items = Items(items.length.as_value(), items.item, items.prepare)
    record("for", loop.why_rolled(items))
    items.prepare()

    def run() -> tuple[Any, ...]:
        return with_attributes(
            loop.site,
            lambda also, body, _, values: loop.with_names(also).counted(items, body, values),
            keeping(body),
            None,
            values,
        )

    try:
        return loop.ended(items, bounds.within(loop.site, (body,), run))
    except (*REFUSED, ValueError) as reason:
        raise exceptions.decided(loop.refused(items, reason), items.length) from None


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
    begin, count, holds = loop.equations(), 0, True
    while not loop.is_rolled:
        if any(isinstance(values[k], Tracer) for k in stops):
            raise RolledError(loop.site, FLAG)
        assigned = loop.assignments()
        holds = not any(values[k] for k in stops) and tested(condition, values, not count)
        if isinstance(holds, Tracer):
            if loop.assignments() > assigned:  # which it does again in the program
                raise RolledError(loop.site, _ASSIGNING)
            if count and loop.site not in THREAD.python.unrolled:
                raise RolledError(loop.site, _TRACED)  # one body in C, not one more before it
            break
        if not holds:
            record("while", f"run by Python while tracing, {times(count)}")
            return values
        values = body(*values)
        count += 1
        loop.check_length(begin)
    reason = THREAD.python.rolled.get(loop.site, _TRACED)
    record("while", f"a loop of the program, as {reason}")
    is_from_first = loop.is_rolled and reason == _TRACED
    loop.surely_begins = loop.is_rolled and loop.begins(condition, values)

    def run() -> tuple[Any, ...]:
        return with_attributes(
            loop.site,
            lambda also, body, condition, values: loop.with_names(also).conditional(
                condition, body, values
            ),
            body,
            condition,
            values,
        )

    try:
        return bounds.within(loop.site, (body, condition), run)
    except REFUSED as refused:
        # Python may run the first iterations, if these alone are unlike the others.
        unlike = exceptions.decided(refused, holds)
        raise UnrolledError(loop.site, refused) if is_from_first else unlike from None


class _Loop(LoopStatement):
    """A loop statement, and how it is run; `most`: iterations, which its last variable counts."""

    most: Any = None

    def begins(self, condition: Callable[..., Any], values: Sequence[Any]) -> bool:
        """True if a `while` has a first iteration, whatever the arguments of the program are."""
        if any(isinstance(values[k], Tracer) or values[k] for k in self.stops):
            return False
        asked = Region("condition")  # what it may assign to is left there
        run = partial(asked.run, lambda: truth(condition(*values)))
        holds = growth.fitted(partial(asking, run, condition))
        return not isinstance(holds, Tracer) and bool(holds)

    def in_python(
        self, iterable: Any, body: Body, values: tuple[Any, ...], may_roll: bool
    ) -> tuple[Any, ...]:
        """As Python runs it. Where a traced flag may have ended it and it cannot become a loop of
        the program, each further iteration is a branch."""
        begin, names = self.equations(), tuple(self.names)
        for item in iterable:
            goes_on = self._is_running(values)
            if isinstance(goes_on, Tracer):
                values = if_(goes_on, partial(body, item), unchanged, names, values)
            else:
                values = body(item, *values)
            goes_on = self._is_running(values)
            if may_roll and isinstance(goes_on, Tracer):
                raise RolledError(self.site, FLAG)
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
        bound = self._bound(items)
        if bound is not None:
            most, is_exact = bound
            if self.stops or not is_exact:
                return self._to_the_end(items, most, body, values)
            items = Items(most, items.item)
        self.surely_begins = items.is_known and items.length > 0
        if self.stops:
            return self._until_stopped(items, body, values)
        state = State(self.names, self.is_updated, values, self.surely_begins)
        each: Body = lambda number, *now: body(items.item(number), *now)  # noqa: E731
        region = self._traced(state, each, [_INDEX], items.length)
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
        times_at_most = partial(bounds.most_of, items.length, self.site)
        growth.repeated(region.trace, times_at_most, items.length if items.is_known else None)
        initial = [*state.initial(), *assigned.values()]
        since = self.equations()
        if isinstance(items.length, int | Dim):
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
        length = items.length.as_value() if isinstance(items.length, Dim) else items.length
        return self._behind(state, results, assigned, since, objects, length)

    def _bound(self, items: Items) -> tuple[Index, bool] | None:
        """How many items there are at most, and whether there are as many, where the number of
        iterations is not to depend on values."""
        bounds.note(self.site, items.length)
        if items.is_known and not self.stops:
            return None
        if bounds.goes_backward():
            return bounds.greatest(items.length, self.site)
        known = bounds.goes_any_way() and range_of(items.length)
        return (max(known[1], 0), False) if known else None

    def _to_the_end(
        self, items: Items, most: Index, body: Body, values: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """As a loop over as many items as there may be, which does nothing behind the flag that
        ends it: derivatives go back through it, as the number of its iterations is known."""
        names = tuple(self.names)

        def each(number: Any, *now: Any) -> tuple[Any, ...]:
            goes_on = self._is_running(now)
            if not items.is_known:
                goes_on = and_(number < items.length, lambda: self._is_running(now))
            return if_(goes_on, lambda *x: body(items.item(number), *x), unchanged, names, now)

        return self._so_often(most, each, values)

    def _until_stopped(self, items: Items, body: Body, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """As a loop with a counter, which ends at its last item or at a flag."""

        def condition(*now: Any) -> Any:
            return now[-1] < items.length

        def step(*now: Any) -> tuple[Any, ...]:
            return body(items.item(now[-1]), *now[:-1])

        return self._with_counter(condition, step, values, items.length)

    def conditional(
        self, condition: Callable[..., Any], body: Body, values: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """As a loop that asks before each iteration. Its iterations are counted where variables may
        exchange arrays."""
        try:
            if bounds.goes_backward() and self._moves(body, values):
                bounded = self._bounded(condition, body, values)
                if bounded is not None:
                    return bounded
            return self._asked_before(condition, body, values)
        except AssigningError as assigning:
            if bounds.goes_backward():
                raise assigning.refused() from None
        # Not while it is handled, which a `finally` of the user's would see.
        return self._asked_behind(condition, body, values)

    def _bounded(
        self, condition: Callable[..., Any], body: Body, values: tuple[Any, ...]
    ) -> tuple[Any, ...] | None:
        """As a loop whose number of iterations does not depend on values; None if there is none."""
        counted = bounds.most_counted(self.site)
        by_counter = self._most_iterations(condition, body, values)
        if counted is not None and not the_trace().is_region:
            whole = _Loop(self._names, ())
            return whole.counted(Items(counted, same), lambda _, *now: body(*now), values)
        most = by_counter if counted is None else counted
        return None if most is None else self._as_often(most, condition, body, values)

    def _asked_before(
        self, condition: Callable[..., Any], body: Body, values: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        pairs = zip(values, self.is_updated, strict=True)
        is_exchanging = any(has_axes(x) and not is_updated for x, is_updated in pairs)
        if is_exchanging or bounds.is_counted(self.site):
            asked, done = condition, body
            condition = lambda *now: asked(*now[:-1])  # noqa: E731
            body = lambda *now: done(*now[:-1])  # noqa: E731
            return self._with_counter(condition, body, values)
        return self._conditional(condition, body, values, False)

    def _asked_behind(
        self, condition: Callable[..., Any], body: Body, values: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """As a loop whose last variable is what its condition has said, which assigns to arrays."""
        inner = self._with_variable(())

        def asked(now: tuple[Any, ...]) -> Any:
            holds = and_(self._is_running(now), lambda: truth(condition(*now)))
            return holds if isinstance(holds, Tracer) else np.bool_(holds)

        def step(*now: Any) -> tuple[Any, ...]:
            behind = body(*now[:-1])
            return *behind, asked(behind)

        begin = (*values, asked(values))
        return inner._asked_before(lambda *now: now[-1], step, begin)[:-1]

    def _with_variable(self, stops: tuple[int, ...]) -> _Loop:
        """The statement with one more variable, the last one, which is none of the user's."""
        inner = _Loop((*self.names, ""), stops)
        inner.is_updated, inner.site = [*self.is_updated, False], self.site
        inner.surely_begins = self.surely_begins
        return inner

    def _so_often(self, most: Index, each: Body, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """As a loop of so many iterations, each of which is given its number."""
        items, whole = Items(most, same), _Loop(tuple(self.names), ())
        return whole.counted(items, each, values) if most != 0 else values

    def _moves(self, body: Body, values: tuple[Any, ...]) -> bool:
        """True where the loop changes what may be differentiated."""
        state = State(self.names, self.is_updated, values)
        if any(map(is_inexact, state.types)):
            return True
        assigned = self._traced(state, body, []).assigned()
        return any(map(is_inexact, (*state.types, *(x.type for x in assigned.values()))))

    def _most_iterations(
        self, condition: Callable[..., Any], body: Body, values: tuple[Any, ...]
    ) -> int | None:
        """How often the loop runs at most, by a counter in its condition."""
        return self._most(self._regions(condition, body, values))

    def _most(self, traced: Regions) -> int | None:
        (test, step), captured = traced.graphs()
        operands = [*captured, *traced.initial()]
        return most_iterations(test, step, len(captured), [limits_of(x, None) for x in operands])

    def _as_often(
        self,
        most: Index,
        condition: Callable[..., Any],
        body: Body,
        values: tuple[Any, ...],
    ) -> tuple[Any, ...]:
        """As a loop of so many iterations, of which those behind its end do nothing."""

        def each(_: Any, *now: Any) -> tuple[Any, ...]:
            return if_(self._goes_on(condition, now), body, unchanged, tuple(self.names), now)

        return self._so_often(most, each, values)

    def _with_counter(
        self,
        condition: Callable[..., Any],
        body: Body,
        values: tuple[Any, ...],
        most: Any = None,
    ) -> tuple[Any, ...]:
        """As a loop whose last variable is the number of its iterations so far, `most` at most."""
        inner = self._with_variable(self.stops)
        inner.most = most

        def step(*now: Any) -> tuple[Any, ...]:
            return *body(*now), now[-1] + 1

        *results, count = inner._conditional(condition, step, (*values, 0), True)
        bounds.note(self.site, count)
        return tuple(results)

    def _conditional(
        self,
        condition: Callable[..., Any],
        body: Body,
        values: tuple[Any, ...],
        is_counted: bool,
    ) -> tuple[Any, ...]:
        parts = self._regions(condition, body, values)
        graphs, captured = parts.graphs()
        growth.repeated(parts.region.trace, partial(self._most, parts), None, parts.test.trace)
        since = self.equations()
        state, assigned, objects = parts.state, parts.assigned, parts.objects
        results = bind_call(
            primitives.while_,
            *captured,
            *map(as_atom, parts.initial()),
            condition=graphs[0],
            body=graphs[1],
            consts=len(captured),
        )
        count = as_result(results[state.last], "") if is_counted else None
        return self._behind(state, results, assigned, since, objects, count)

    def _regions(
        self, condition: Callable[..., Any], body: Body, values: tuple[Any, ...]
    ) -> Regions:
        """The regions of a loop that asks before each iteration."""
        state = State(self.names, self.is_updated, values, self.surely_begins)
        region = self._traced(state, body, [])
        test = Region("condition", state.types, [var.name for var in region.trace.inputs])
        parameters = test.parameters
        asked = partial(test.run, lambda: self._goes_on(condition, state.values(parameters)))
        holds = test.atom(checked(partial(unchanging, asked, condition), condition))
        return Regions(state, region, test, holds)

    def _goes_on(self, condition: Callable[..., Any], values: Sequence[Any]) -> Any:
        """The test before an iteration: no flag is set, and the condition holds."""
        running = self._is_running(values)
        holds = while_running(running, lambda: truth(condition(*values)))
        return holds if isinstance(holds, Tracer) else np.bool_(holds)

    def _traced(
        self, state: State, body: Body, leading: list[ArrayType], most: Any = None
    ) -> Region:
        """The region of an iteration, whose carry has the types that it gives; `most` is the number
        of iterations."""
        for _ in range(_MOST_ROUNDS):
            names = [*["i"] * len(leading), *state.leaf_names()]
            region = Region("loop", [*leading, *state.types], names)
            if most is not None:
                region.trace.counters[region.trace.inputs[0]] = most
            if self.most is not None:
                region.trace.counters[region.trace.inputs[len(leading) + state.last]] = self.most
            parameters = region.parameters
            first, carry = parameters[: len(leading)], parameters[len(leading) :]
            state.note_orders(region, carry)
            now: list[Any] = []

            def call(now: Any = now, first: Any = first, carry: Any = carry) -> Any:
                now += state.begun(carry)
                return body(*first, *now)

            try:
                run = partial(region.run, partial(exceptions.ending, call))
                results = checked(partial(unchanging, run, body), body)
            except EndedError:  # an exception ends each iteration
                results = tuple(now)
            if state.is_settled(body, results, region):
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
        return tuple(state.behind(named))
