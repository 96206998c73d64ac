"""`for` and `while`: as Python runs them while nothing traced decides and the trace stays short,
and else as one loop of the program, whose carry are the variables and arrays that it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from transpile import errors, tree
from transpile.ir.graph import Const, Var
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL, INT64, PYTHON_SCALARS, ArrayType
from transpile.lax.control.bodies import as_atom, merged
from transpile.lax.control.loops import bind_scan
from transpile.numpy.core.promotion import convert
from transpile.numpy.subscripts.assignment import replace_value
from transpile.primitives import axes
from transpile.primitives.control import primitives
from transpile.primitives.rules import bind_call
from transpile.python.semantics.branches import as_result, described
from transpile.python.semantics.iterables import Items, items_of
from transpile.python.semantics.regions import Region
from transpile.python.semantics.values import (
    Maybe,
    Unbound,
    array_type,
    is_array,
    joined,
    truth,
)
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.trace import bind, constant, current_trace
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

Body = Callable[..., tuple[Any, ...]]
# Equations of a loop that Python runs, beyond which it becomes one of the program: what C compilers
# unroll by themselves is shorter, and every further one costs them time.
MOST_UNROLLED = 64
_INDEX = ArrayType((), INT64, weak=True)


class RolledError(BaseException):
    """The trace begins anew, with a loop of the program for the statement at `site`."""

    def __init__(self, site: Any) -> None:
        self.site = site


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
    items = items_of(iterable)
    if items is None or (items.is_known and not loop.is_rolled):
        return loop.in_python(iterable, body, values)
    if items.is_known and not items.length:
        return values
    return loop.counted(items, body, values)


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
    begin = loop.equations()
    while not loop.is_rolled:
        if any(isinstance(values[k], Tracer) for k in stops):
            raise RolledError(loop.site)
        if any(values[k] for k in stops):
            return values
        holds = truth(condition(*values))
        if isinstance(holds, Tracer):
            break
        if not holds:
            return values
        values = body(*values)
        loop.check_length(begin)
    return loop.conditional(condition, body, values)


class _Loop:
    """A loop statement: its variables, and how it is run."""

    def __init__(self, names: tuple[str, ...], stops: tuple[int, ...]) -> None:
        source = user_source()
        self.site = source.file, source.line, names, stops
        self.names = [name.lstrip("+") for name in names]
        self.is_updated = [name.startswith("+") for name in names]
        self.stops = stops

    @property
    def is_rolled(self) -> bool:
        """True where an earlier attempt found that it is to be a loop of the program."""
        return self.site in THREAD.python.rolled

    def equations(self) -> int:
        """The length of the trace so far."""
        trace = current_trace()
        return len(trace.equations) if trace else 0

    def check_length(self, begin: int) -> None:
        """Roll the loop where Python has traced too much of it."""
        if self.equations() - begin > MOST_UNROLLED and self.site not in THREAD.python.unrolled:
            raise RolledError(self.site)

    def in_python(self, iterable: Any, body: Body, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """As Python runs it."""
        begin = self.equations()
        for item in iterable:
            values = body(item, *values)
            flags = [truth(values[k]) for k in self.stops]
            if any(isinstance(flag, Tracer) for flag in flags):
                raise RolledError(self.site)
            if any(flags):
                break
            self.check_length(begin)
        return values

    def counted(self, items: Items, body: Body, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """As a loop over the numbers of items."""
        at_least_once = items.is_known and items.length > 0
        if self.stops:
            return self._until_stopped(items, body, values, at_least_once)
        state = _State(self, values)
        region = self._traced(state, lambda number, *now: body(items.item(number), *now), [_INDEX])
        outputs = state.outputs(region)
        assigned = region.assigned()
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
        return self._behind(state, results, assigned, since, at_least_once)

    def _until_stopped(
        self, items: Items, body: Body, values: tuple[Any, ...], at_least_once: bool
    ) -> tuple[Any, ...]:
        """As a loop with a counter, which ends at its last item or at a flag."""
        inner = _Loop((*self.names, ""), self.stops)
        inner.is_updated = [*self.is_updated, False]

        def condition(*now: Any) -> Any:
            return now[-1] < items.length

        def step(*now: Any) -> tuple[Any, ...]:
            return *body(items.item(now[-1]), *now[:-1]), now[-1] + 1

        return inner.conditional(condition, step, (*values, 0), at_least_once)[:-1]

    def conditional(
        self,
        condition: Callable[..., Any],
        body: Body,
        values: tuple[Any, ...],
        at_least_once: bool = False,
    ) -> tuple[Any, ...]:
        """As a loop that asks before each iteration."""
        state = _State(self, values)
        region = self._traced(state, body, [])
        test = Region("condition", state.types, [var.name for var in region.trace.inputs])
        now = state.values(test.parameters)
        holds = test.atom(test.run(lambda: self._goes_on(condition, now)))
        outputs = state.outputs(region)
        assigned = region.assigned()
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
        return self._behind(state, results, assigned, since, at_least_once)

    def _goes_on(self, condition: Callable[..., Any], values: Sequence[Any]) -> Any:
        """The test before an iteration: no flag is set, and the condition holds."""
        holds = truth(condition(*values))
        for k in self.stops:
            holds = np.logical_and(np.logical_not(values[k]), holds)
        return holds if isinstance(holds, Tracer) else np.bool_(holds)

    def _traced(self, state: _State, body: Body, leading: list[ArrayType]) -> Region:
        """The region of an iteration, whose carry has the types that it gives."""
        for _ in range(_MOST_ROUNDS):
            names = [*["i"] * len(leading), *state.leaf_names()]
            region = Region("loop", [*leading, *state.types], names)
            parameters = region.parameters
            first, carry = parameters[: len(leading)], parameters[len(leading) :]
            results = region.run(partial(body, *first, *state.values(carry)))
            if not state.absorb(results, region):
                return region
        raise errors.InternalError("the types of a loop do not settle")

    def _behind(
        self,
        state: _State,
        results: Sequence[Any],
        assigned: dict[Var, Tracer],
        since: int,
        at_least_once: bool,
    ) -> tuple[Any, ...]:
        count = len(state.types)
        for tracer, value in zip(assigned.values(), results[count:], strict=True):
            replace_value(tracer, value, since)
        named = [
            as_result(x if isinstance(x, Tracer | Const) else constant(x), name)
            for x, name in zip(results[:count], state.leaf_names(), strict=True)
        ]
        return tuple(state.values(named, behind=True, at_least_once=at_least_once))


# Widening an integer to a float to a complex number, and a variable more that is not the same.
_MOST_ROUNDS = 8


class _State:
    """The variables of a loop, and which of their leaves are carried.

    A variable that the body may only update in place (`x += y`) is the array itself, as long as no
    other object is assigned to it. One that has no value before the loop is zero, beside a flag.
    """

    def __init__(self, loop: _Loop, values: Sequence[Any]) -> None:
        self.names = loop.names
        self.types: list[ArrayType] = []
        self._initial: list[Any] = []
        self._labels: list[str] = []
        self._parts = [
            self._part(name, value, is_updated)
            for name, value, is_updated in zip(loop.names, values, loop.is_updated, strict=True)
        ]
        self._results: Sequence[Any] = ()

    def _part(self, name: str, value: Any, is_updated: bool) -> Any:
        if type(value) is Unbound:
            return value
        if is_updated and isinstance(value, Tracer) and value.ndim:
            return _Same(value)
        flag = None
        if type(value) is Maybe:
            flag = self._carry(value.is_bound, "")
            value = value.value
        leaves, structure = flatten_arrays(value)
        slots = [self._carry(x, name) if is_array(x) else _Static(x) for x in leaves]
        return _Carried(structure, slots, flag, name=name)

    def _carry(self, value: Any, name: str) -> int:
        self.types.append(array_type(value))
        self._initial.append(value)
        self._labels.append(name)
        return len(self.types) - 1

    def leaf_names(self) -> list[str]:
        """The names of the variables that have the leaves."""
        return list(self._labels)

    def initial(self) -> list[Any]:
        """The leaves before the loop, in the types of the carry."""
        return [
            _of_type(value, kind) for value, kind in zip(self._initial, self.types, strict=True)
        ]

    def values(
        self, leaves: Sequence[Any], behind: bool = False, at_least_once: bool = False
    ) -> list[Any]:
        """The variables, of leaves: in the body, or behind the loop."""
        values: list[Any] = []
        for part in self._parts:
            if type(part) is Unbound:
                values.append(part)
            elif type(part) is _Same:
                values.append(part.value)
            elif part.is_new and not behind:
                values.append(Unbound(part.name))
            else:
                value = part.of(leaves)
                is_sure = part.flag is None or (behind and part.is_new and at_least_once)
                values.append(value if is_sure else Maybe(value, leaves[part.flag], part.name))
        return values

    def absorb(self, results: Sequence[Any], region: Region) -> bool:
        """Take what an iteration gives; True where the carry changes, so that it is to be traced
        anew."""
        changed = False
        self._results = results
        for number, (part, result) in enumerate(zip(self._parts, results, strict=True)):
            if type(part) is _Same:
                if result is not part.value:
                    self._parts[number] = self._part(self.names[number], part.value, False)
                    changed = True
            elif type(part) is Unbound:
                if type(result) is not Unbound:
                    self._bind(number, result, region)
            elif not part.is_new:
                changed |= self._widen(number, part, result)
        return changed

    def _bind(self, number: int, result: Any, region: Region) -> None:
        """A variable that the body binds first."""
        name = self.names[number]
        value = result.value if type(result) is Maybe else result
        leaves, structure = flatten_arrays(value)
        slots: list[Any] = []
        for leaf in leaves:
            slots.append(
                self._add(array_type(leaf), name, region) if is_array(leaf) else _Static(leaf)
            )
        flag = self._add(ArrayType((), BOOL), "", region)
        self._initial[flag] = np.bool_(False)
        self._parts[number] = _Carried(structure, slots, flag, is_new=True, name=name)

    def _add(self, kind: ArrayType, name: str, region: Region) -> int:
        self.types.append(kind)
        self._initial.append(None)
        self._labels.append(name)
        region.trace.inputs.append(Var(kind, name))
        return len(self.types) - 1

    def _widen(self, number: int, part: _Carried, result: Any) -> bool:
        name = self.names[number]
        if type(result) is Unbound:
            raise _unsettled(name, "a value", "none")
        if type(result) is Maybe and part.flag is None:
            part.flag = self._carry(np.bool_(True), "")
            return True
        leaves, structure = flatten_arrays(result.value if type(result) is Maybe else result)
        if structure != part.structure:
            before = part.structure.unflatten(
                [self._initial[s] if isinstance(s, int) else s.value for s in part.slots]
            )
            raise _unsettled(name, described(before), described(result))
        changed = False
        for slot, leaf in zip(part.slots, leaves, strict=True):
            if isinstance(slot, _Static):
                if is_array(leaf) or not (leaf is slot.value or leaf == slot.value):
                    raise _unsettled(name, described(slot.value), described(leaf))
                continue
            kind = joined(self.types[slot], array_type(leaf)) if is_array(leaf) else None
            if kind is None:
                raise _unsettled(name, described(self._initial[slot]), described(leaf))
            changed |= kind != self.types[slot]
            self.types[slot] = kind
        return changed

    def outputs(self, region: Region) -> list[Any]:
        """The carry behind an iteration."""
        outputs: list[Any] = [None] * len(self.types)
        for part, result in zip(self._parts, self._results, strict=True):
            if type(part) is not _Carried:
                continue
            value = result.value if type(result) is Maybe else result
            if part.flag is not None:
                is_bound = result.is_bound if type(result) is Maybe else np.bool_(True)
                outputs[part.flag] = region.atom(is_bound)
            for slot, leaf in zip(part.slots, flatten_arrays(value)[0], strict=True):
                if isinstance(slot, int):
                    outputs[slot] = region.atom(leaf, self.types[slot])
        return outputs


class _Same:
    """A variable that stays the array that it is."""

    def __init__(self, value: Tracer) -> None:
        self.value = value


class _Static:
    """A leaf that is no array, and never changes."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Carried:
    """A variable that is carried: the positions of its leaves, and that of the flag whether it has
    a value; `is_new` where it has none before the loop."""

    def __init__(
        self,
        structure: tree.TreeDef,
        slots: list[Any],
        flag: int | None,
        *,
        is_new: bool = False,
        name: str,
    ) -> None:
        self.structure = structure
        self.slots = slots
        self.flag = flag
        self.is_new = is_new
        self.name = name

    def of(self, leaves: Sequence[Any]) -> Any:
        """The value, of the leaves of all variables."""
        return self.structure.unflatten(
            [leaves[s] if isinstance(s, int) else s.value for s in self.slots]
        )


def _of_type(value: Any, kind: ArrayType) -> Any:
    """A leaf before the loop, in the type of the carry."""
    if value is None:
        zero = np.zeros((), kind.dtype)
        if not kind.shape:
            return constant(zero)
        return bind(axes.broadcast_in_dim, zero, shape=kind.shape, broadcast_dimensions=())
    if type(value) in PYTHON_SCALARS and kind.weak:
        return constant(type(np.zeros((), kind.dtype).item())(value))
    if isinstance(value, Tracer):
        return value if value.dtype == kind.dtype else convert(value, kind.dtype)
    return constant(np.asarray(value, kind.dtype))


def _unsettled(name: str, before: str, after: str) -> Exception:
    source = user_source()
    return errors.CarryError(
        f"{source}: {name!r} is {before} before an iteration of `{source.text}`, and {after} "
        f"behind it. What a loop changes keeps its shape and its structure; give it the shape that "
        f"it ends with before the loop."
    )
