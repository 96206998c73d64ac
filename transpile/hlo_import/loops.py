"""Loops: a `while` that counts becomes a scan or a counted loop, other ones stay what they are.

What is found in the graphs of a loop's condition and body:

    i < limit, i + 1                          a counter: the loop has limit - i iterations
    y = x                                     a value of the state that never changes
    dynamic_slice(x, i), x never changes      x is a sequence, of which an iteration reads a slice
    dynamic_update_slice(y, part, i)          y is stacked, a part in each iteration
    i replaced by length - 1 - i              the same backwards

So a scan that JAX has lowered is a scan again, with its derivative in reverse mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile import lax
from transpile.functional.flatten_fun import value_type
from transpile.hlo_import.context import Call, known
from transpile.hlo_import.same_functions import simplified
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.types import BOOL, INT64, ArrayType
from transpile.lax.control.loops import bind_scan
from transpile.primitives.control import primitives
from transpile.primitives.rules import apply, bind_call
from transpile.trace.trace import the_trace
from transpile.transforms.closed import Environment, close, operand
from transpile.transforms.closed import apply as applied
from transpile.util.frozen_records import dataclass, replace

# A loop of so few iterations that passes its values around in a circle is written out, if so many
# elementwise equations come of it: constants among these values are constants then.
FEW_ITERATIONS = 8
FEW_EQUATIONS = 1000


def loop(call: Call, condition: Graph, body: Graph, state: list[Any]) -> list[Any]:
    """The state when the condition is false."""
    types = [value_type(v).strong for v in state]
    for graph, results in ((condition, [ArrayType((), BOOL)]), (body, types)):
        if [v.type.strong for v in graph.inputs] != types:
            raise call.fail("a computation takes other types than the loop has")
        if [a.type.strong for a in graph.outputs] != results:
            raise call.fail("a computation gives other types than it should")
    if not state:
        raise call.fail("it has no state")
    counter = _counter(condition, body)
    if counter is None:
        return _while(condition, body, state)
    position, limit = counter
    last = limit.value[()] if isinstance(limit, Const) else state[limit]
    first = state[position]
    if known(first) is None or known(last) is None:
        return _counted(body, state, position, last)
    length = max(int(known(last)) - int(known(first)), 0)
    if not length:
        return state
    if _is_circle(body, length):
        for _ in range(length):
            state = applied(body, state)
        return state
    return _scan(body, state, position, length)


# ---------------------------------------------------------------------------------------- counters


def _producers(graph: Graph) -> dict[Atom, Equation]:
    return {v: e for e in graph.equations for v in e.outputs}


def _counter(condition: Graph, body: Graph) -> tuple[int, Any] | None:
    """The position of the counter, and its limit: a constant, or the position of a value that never
    changes."""
    test = _producers(condition).get(condition.outputs[0])
    if test is None or test.primitive.name not in ("less", "greater"):
        return None
    low, high = test.inputs if test.primitive.name == "less" else test.inputs[::-1]
    if low not in condition.inputs:
        return None
    position = condition.inputs.index(low)
    limit: Any = high
    if high in condition.inputs:
        limit = condition.inputs.index(high)
        if body.outputs[limit] is not body.inputs[limit]:
            return None
    elif not isinstance(high, Const):
        return None
    step = _producers(body).get(body.outputs[position])
    if step is None or step.primitive.name != "add" or low.type.dtype.kind not in "iu":
        return None
    others = [a for a in step.inputs if a is not body.inputs[position]]
    is_one = len(others) == 1 and isinstance(others[0], Const) and known(others[0]) == 1
    return (position, limit) if is_one else None


def _is_circle(body: Graph, length: int) -> bool:
    """True of a short elementwise body that gives a value on as another one."""
    if length > FEW_ITERATIONS or length * len(body.equations) > FEW_EQUATIONS:
        return False
    places = {v: k for k, v in enumerate(body.inputs)}
    turns = any(places.get(a, k) != k for k, a in enumerate(body.outputs) if isinstance(a, Var))
    return turns and all(e.primitive.kind in ("elementwise", "view") for e in body.equations)


# ------------------------------------------------------------------------------------------- loops


def _split(body: Graph, without: Sequence[int] = ()) -> tuple[list[int], list[int]]:
    """The positions of what never changes, and of what does."""
    still = [k for k, v in enumerate(body.inputs) if body.outputs[k] is v and k not in without]
    moving = [k for k in range(len(body.inputs)) if k not in still and k not in without]
    return still, moving


def _reordered(graph: Graph, order: Sequence[int], outputs: Sequence[int]) -> Graph:
    """The graph with inputs in another order, and some of its outputs."""
    inputs = tuple(graph.inputs[k] for k in order)
    kept = tuple(graph.outputs[k] for k in outputs)
    return replace(graph, inputs=inputs, outputs=kept)


def _while(condition: Graph, body: Graph, state: list[Any]) -> list[Any]:
    still, moving = _split(body)
    order = [*still, *moving]
    results = bind_call(
        primitives.while_,
        *[state[k] for k in order],
        condition=_reordered(condition, order, [0]),
        body=_reordered(body, order, moving),
        consts=len(still),
    )
    return _merged(state, moving, results)


def _merged(state: list[Any], positions: Sequence[int], results: Sequence[Any]) -> list[Any]:
    """The state with results at these positions."""
    found = list(state)
    for k, value in zip(positions, results, strict=True):
        found[k] = value
    return found


def _counted(body: Graph, state: list[Any], position: int, last: Any) -> list[Any]:
    """A loop whose bounds are values."""
    still, moving = _split(body, [position])
    first = state[position]
    results = []
    if moving:
        results = bind_call(
            primitives.fori_loop,
            first,
            last,
            *[state[k] for k in (*still, *moving)],
            graph=_reordered(body, [position, *still, *moving], moving),
            consts=len(still),
        )
    return _merged(state, [position, *moving], [lax.max(first, last), *results])


# ------------------------------------------------------------------------------------------- scans


@dataclass(frozen=True, eq=False)
class _Sequences:
    """What a scan reads and stacks: by position in the state the equations that slice it, or the
    one that updates it; `is_reverse`: they go from the last to the first."""

    read: dict[int, list[Equation]]
    stacked: dict[int, Equation]
    is_reverse: bool


class _Finder:
    """The sequences of a body."""

    def __init__(self, body: Graph, position: int, first: int, length: int) -> None:
        self.body, self.position, self.first, self.length = body, position, first, length
        self.producers = _producers(body)
        self.uses: dict[Atom, list[Equation]] = {}
        for equation in body.equations:
            for atom in dict.fromkeys(equation.inputs):
                self.uses.setdefault(atom, []).append(equation)

    def found(self) -> _Sequences:
        """Those in the direction in which there are more."""
        candidates = [self._found(is_reverse) for is_reverse in (False, True)]
        return max(candidates, key=lambda s: len(s.read) + len(s.stacked))

    def _found(self, is_reverse: bool) -> _Sequences:
        read, stacked = {}, {}
        for k, var in enumerate(self.body.inputs):
            if k == self.position or var.type.shape[:1] != (self.length,):
                continue
            uses = self.uses.get(var, [])
            if self.body.outputs[k] is var:
                if uses and all(self._slices(e, var, is_reverse) for e in uses):
                    read[k] = uses
            elif len(uses) == 1 and self._stacks(uses[0], k, is_reverse):
                stacked[k] = uses[0]
        return _Sequences(read, stacked, is_reverse)

    def _slices(self, equation: Equation, var: Var, is_reverse: bool) -> bool:
        """True of the slice of an iteration."""
        if equation.primitive.name != "dynamic_slice" or equation.inputs[0] is not var:
            return False
        sizes = equation.params["sizes"]
        is_whole = tuple(sizes) == (1, *var.type.shape[1:])
        return is_whole and self._are_starts(equation.inputs[1:], is_reverse)

    def _stacks(self, equation: Equation, k: int, is_reverse: bool) -> bool:
        """True of an update by the part of an iteration, which nothing but the state takes."""
        var = self.body.inputs[k]
        if equation.primitive.name != "dynamic_update_slice" or equation.inputs[0] is not var:
            return False
        update = equation.inputs[1]
        is_given = self.body.outputs[k] is equation.output
        outputs = sum(a is equation.output or a is var for a in self.body.outputs)
        is_read = equation.output in self.uses or var in equation.inputs[1:]
        is_whole = update.type.shape == (1, *var.type.shape[1:])
        is_alone = is_given and outputs == 1 and not is_read
        return is_alone and is_whole and self._are_starts(equation.inputs[2:], is_reverse)

    def _are_starts(self, starts: Sequence[Atom], is_reverse: bool) -> bool:
        at, *rest = starts
        return self._is_index(at, is_reverse) and all(known(a) == 0 for a in rest)

    def _is_index(self, atom: Atom, is_reverse: bool) -> bool:
        """True of the counter from 0 on, or from the end back."""
        expected = (-1, self.first + self.length - 1) if is_reverse else (1, -self.first)
        return self._affine(atom) == expected

    def _affine(self, atom: Atom) -> tuple[int, int] | None:
        """(a, b) where a value is a * counter + b; integers are not expected to overflow."""
        if isinstance(atom, Const):
            return (0, int(known(atom))) if known(atom) is not None else None
        if atom is self.body.inputs[self.position]:
            return 1, 0
        equation = self.producers.get(atom)
        if equation is None or atom.type.shape or atom.type.dtype.kind not in "iu":
            return None
        parts = [self._affine(a) for a in equation.inputs if a.type.dtype.kind in "iu"]
        found = [p for p in parts if p is not None]
        if len(found) != len(equation.inputs):
            return None
        (slope, offset), *rest = found
        match equation.primitive.name:
            case "convert_element_type" | "reshape":
                return slope, offset
            case "add":
                return slope + rest[0][0], offset + rest[0][1]
            case "subtract":
                return slope - rest[0][0], offset - rest[0][1]
        return None


def _scan(body: Graph, state: list[Any], position: int, length: int) -> list[Any]:
    """A loop of so many iterations."""
    first = int(known(state[position]))
    found = _Finder(body, position, first, length).found()
    gone = [position, *found.read, *found.stacked]
    still, moving = _split(body, gone)
    counter = body.inputs[position]
    kinds = [body.inputs[k].type.strong for k in (*still, *moving)]
    rows = [body.inputs[k].type for k in found.read]
    slices = [kind.with_shape(kind.shape[1:]) for kind in rows]

    def step(*values: Any) -> list[Any]:
        environment = Environment(
            the_trace(), [body.inputs[k] for k in still], values[: len(still)]
        )
        given = iter(values[len(still) :])
        for k in moving:
            environment.define([body.inputs[k]], [next(given)])
        number = next(given)
        environment.define([counter], [number])
        of_rows = {k: next(given) for k in found.read}
        return _replayed(body, environment, found, of_rows, moving)

    inputs = [Var(t) for t in (*kinds, counter.type.strong, *slices)]
    closed = close(step, inputs, name=body.name, source=body.source)
    results = bind_scan(
        simplified(closed.graph),
        [state[k] for k in still],
        [state[k] for k in moving],
        [_numbers(first, length, counter.type.dtype, found.is_reverse)]
        + [state[k] for k in found.read],
        length,
        found.is_reverse,
    )
    last = np.asarray(first + length, counter.type.dtype)
    return _merged(state, [position, *moving, *found.stacked], [last, *results])


def _numbers(first: int, length: int, dtype: np.dtype[Any], is_reverse: bool) -> Any:
    """The counter in each iteration, at the index of its slice."""
    numbers = lax.iota(INT64, length)
    if is_reverse:
        numbers = lax.sub(np.int64(first + length - 1) + 0 * numbers, numbers)
    elif first:
        numbers = lax.add(numbers, np.int64(first) + 0 * numbers)
    return lax.convert_element_type(numbers, dtype)


def _replayed(
    body: Graph,
    environment: Environment,
    found: _Sequences,
    rows: dict[int, Any],
    moving: Sequence[int],
) -> list[Any]:
    """The carry, and the parts that are stacked, of an iteration in the trace under way."""
    sliced = {id(e): k for k, equations in found.read.items() for e in equations}
    updates = {id(e) for e in found.stacked.values()}
    for equation in body.equations:
        if id(equation) in updates:
            continue
        if id(equation) in sliced:
            row = rows[sliced[id(equation)]]
            shape = tuple(equation.output.type.shape)
            environment.define(equation.outputs, [apply("reshape", row, shape=shape)])
            continue
        values = [environment[a] for a in equation.inputs]
        environment.define(equation.outputs, the_trace().copy(equation, values))
    carry = [operand(environment[body.outputs[k]]) for k in moving]
    parts = [environment[e.inputs[1]] for e in found.stacked.values()]
    shapes = [tuple(e.inputs[1].type.shape[1:]) for e in found.stacked.values()]
    stacked = [apply("reshape", p, shape=s) for p, s in zip(parts, shapes, strict=True)]
    return [*carry, *stacked]
