"""Batches of loops and branches.

A carry is batched when the initial value is, or when an iteration makes it so. Where examples go
around a loop differently often, each has a loop of its own; where they take different branches, all
branches are computed, and each example takes its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.primitive import Axis
from transpile.ir.types import BOOL, type_of
from transpile.primitives.control.calls import bind_call
from transpile.primitives.control.graphs import (
    Flags,
    Outputs,
    Values,
    chosen,
    equation_of,
    fixpoint,
    others,
    row,
    split,
    spread,
    with_captures,
)
from transpile.primitives.rules import apply, in_front, transposed
from transpile.primitives.rules import spread as broadcast
from transpile.trace.trace import the_trace
from transpile.transforms.closed import Closed, operand

Batched = tuple[list[Any], list[bool]]


def _carried(values: Values, marks: Flags, batched: Flags, axis: Axis) -> list[Any]:
    """The initial values of a carry: those that become batched are repeated."""
    return [
        in_front(x, axis, is_batched) if becomes else x
        for x, becomes, is_batched in zip(values, marks, batched, strict=True)
    ]


def _alike(graph: Graph, axis: Axis, flags: Flags, marks: Flags) -> Graph:
    """The graph, whose outputs are batched where `flags` says so, with those that are marked
    batched as well."""
    outputs = Outputs(graph)
    found = [
        outputs.batched(a, axis) if becomes and not is_batched else a
        for a, is_batched, becomes in zip(graph.outputs, flags, marks, strict=True)
    ]
    return outputs.finish(graph.inputs, found)


def _moved(x: Any, from_axis: int, to_axis: int) -> Any:
    """The value with one of its first two axes in the place of the other."""
    order = list(range(x.ndim))
    order[from_axis], order[to_axis] = order[to_axis], order[from_axis]
    return transposed(x, order)


def scan_batch(
    axis: Axis,
    batched: Flags,
    *operands: Any,
    graph: Graph,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
) -> Batched:
    """A scan whose body computes all examples; a scan for each, where nothing is carried."""
    if not carry:
        params = {"consts": consts, "carry": 0, "length": length, "reverse": reverse}
        return _each(axis, batched, operands, "scan", {"graph": graph, **params}, graph)
    of_consts, of_carry, of_xs = split(batched, consts, carry)
    marks = fixpoint(
        lambda marks: spread(graph, axis, [*of_consts, *marks, *of_xs])[1][:carry], of_carry
    )
    closed, flags = spread(graph, axis, [*of_consts, *marks, *of_xs])
    fixed, moving, xs = split(operands, consts, carry)
    found = bind_call(
        row("scan"),
        *closed.captured,
        *fixed,
        *_carried(moving, marks, of_carry, axis),
        *[_moved(x, 0, 1) if b else x for x, b in zip(xs, of_xs, strict=True)],
        graph=_alike(closed.graph, axis, flags, [*marks, *flags[carry:]]),
        consts=len(closed.captured) + consts,
        carry=carry,
        length=length,
        reverse=reverse,
    )
    last, ys = split(found, carry)
    stacked = [_moved(y, 0, 1) if b else y for y, b in zip(ys, flags[carry:], strict=True)]
    return [*last, *stacked], [*marks, *flags[carry:]]


def fori_batch(
    axis: Axis,
    batched: Flags,
    lower: Any,
    upper: Any,
    *operands: Any,
    graph: Graph,
    consts: int,
) -> Batched:
    """A loop whose body computes all examples; with bounds for each example, a while."""
    if batched[0] or batched[1]:
        return _bounds_batched(axis, batched, lower, upper, operands, graph, consts)
    of_consts, of_carry = split(batched[2:], consts)
    marks = fixpoint(lambda marks: spread(graph, axis, [False, *of_consts, *marks])[1], of_carry)
    closed, flags = spread(graph, axis, [False, *of_consts, *marks])
    fixed, moving = split(operands, consts)
    body = _alike(closed.graph, axis, flags, marks)
    number = len(closed.captured)
    inputs = (body.inputs[number], *body.inputs[:number], *body.inputs[number + 1 :])
    found = bind_call(
        row("fori_loop"),
        lower,
        upper,
        *closed.captured,
        *fixed,
        *_carried(moving, marks, of_carry, axis),
        graph=Outputs(body).finish(inputs, body.outputs),
        consts=number + consts,
    )
    return found, marks


def _bounds_batched(
    axis: Axis,
    batched: Flags,
    lower: Any,
    upper: Any,
    operands: Values,
    graph: Graph,
    consts: int,
) -> Batched:
    """As a while whose carry begins with the number of the iteration."""
    limit, number = Var(graph.inputs[0].type.strong), graph.inputs[0]
    fixed, moving = split(graph.inputs[1:], consts)
    goes_on = equation_of("less", number, limit)
    condition = Graph((limit, *fixed, number, *moving), (goes_on,), goes_on.outputs, graph.name)
    outputs = Outputs(graph)
    following = outputs.add(equation_of("add", number, Const(np.ones((), number.type.dtype))))
    body = outputs.finish(condition.inputs, [following, *graph.outputs])
    of_operands = batched[2:]
    found, flags = while_batch(
        axis,
        [batched[1], *of_operands[:consts], batched[0], *of_operands[consts:]],
        upper,
        *operands[:consts],
        lower,
        *operands[consts:],
        condition=condition,
        body=body,
        consts=1 + consts,
    )
    return found[1:], flags[1:]


def while_batch(
    axis: Axis, batched: Flags, *operands: Any, condition: Graph, body: Graph, consts: int
) -> Batched:
    """A loop whose body computes all examples; a loop for each of them, where they differ in how
    often they go around it."""
    of_consts, of_carry = split(batched, consts)

    def step(marks: list[bool]) -> Flags:
        if spread(condition, axis, [*of_consts, *marks])[1][0]:
            return [True] * len(marks)
        return spread(body, axis, [*of_consts, *marks])[1]

    marks = fixpoint(step, of_carry)
    test, (differs,) = spread(condition, axis, [*of_consts, *marks])
    if differs:
        params = {"condition": condition, "body": body, "consts": consts}
        return _each(axis, batched, operands, "while", params, body)
    closed, flags = spread(body, axis, [*of_consts, *marks])
    once = _alike(closed.graph, axis, flags, marks)
    (goes_on, once), captured = with_captures([test, Closed(once, closed.captured)])
    fixed, moving = split(operands, consts)
    given = [*captured, *fixed, *_carried(moving, marks, of_carry, axis)]
    count = len(captured) + consts
    found = bind_call(row("while"), *given, condition=goes_on, body=once, consts=count)
    return found, marks


def _each(
    axis: Axis, batched: Flags, operands: Values, name: str, params: dict[str, Any], body: Graph
) -> Batched:
    """A scan without a carry, over the examples: each runs a loop for itself."""
    kinds = [type_of(x) for x in operands]
    inputs = [
        Var(k.with_shape(k.shape[1:]) if b else k, v.name)
        for k, b, v in zip(kinds, batched, body.inputs, strict=True)
    ]
    found_types = row(name).result_types([v.type for v in inputs], params)
    results = tuple(Var(kind.strong) for kind in found_types)
    loop = Equation(row(name), tuple(inputs), params, results, body.source)
    ordered = [*others(inputs, batched), *chosen(inputs, batched)]
    graph = Graph(tuple(ordered), (loop,), results, body.name, source=body.source)
    found = bind_call(
        row("scan"),
        *others(operands, batched),
        *chosen(operands, batched),
        graph=graph,
        consts=len(batched) - sum(batched),
        carry=0,
        length=axis.size,
        reverse=False,
    )
    return found, [True] * len(found)


def _applied(trace: Any, graph: Graph, values: Values) -> list[Any]:
    """The results of a graph, in the trace under way."""
    from_graph: dict[Atom, Any] = dict(zip(graph.inputs, values, strict=True))
    for equation in graph.equations:
        results = trace.copy(equation, [from_graph.get(a, a) for a in equation.inputs])
        from_graph.update(zip(equation.outputs, results, strict=True))
    return [from_graph.get(a, a) for a in graph.outputs]


def cond_batch(
    axis: Axis, batched: Flags, index: Any, *operands: Any, branches: tuple[Graph, ...]
) -> Batched:
    """A choice between branches that compute all examples. Where these choose differently, all
    branches are computed."""
    of_operands = list(batched[1:])
    found = [spread(branch, axis, of_operands) for branch in branches]
    marks = [any(column) for column in zip(*[flags for _, flags in found], strict=True)]
    if batched[0]:
        marks = [True] * len(marks)
    alike = [
        Closed(_alike(closed.graph, axis, flags, marks), closed.captured) for closed, flags in found
    ]
    graphs, captured = with_captures(alike)
    given = [*captured, *operands]
    if not batched[0]:
        return bind_call(row("cond"), index, *given, branches=tuple(graphs)), marks
    trace = the_trace()
    results = [[operand(x) for x in _applied(trace, graph, given)] for graph in graphs]
    return [_chosen(index, list(column)) for column in zip(*results, strict=True)], marks


def _chosen(index: Any, values: list[Any]) -> Any:
    """Of batches, one for each branch, what each example takes."""
    result = values[0]
    for number, value in enumerate(values[1:], 1):
        takes = index
        if index.dtype != BOOL:
            takes = apply("greater_equal", index, np.asarray(number, index.dtype)[()])
        mask = takes if value.ndim == 1 else broadcast(takes, value.shape, (0,))
        result = apply("select", mask, value, result)
    return result
