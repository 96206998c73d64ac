"""Batching rules of loops and branches.

A carry is batched if its initial value is, or if the body makes it so: the least fixpoint in the
body. If trip counts differ between examples, a scan over the examples runs a loop for each. If
branches differ, all branches are computed for all examples and the results selected; where one
fails, a scan over the examples takes a branch for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.errors import UnsupportedError
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.primitive import Axis
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL, kind_letter, type_of
from transpile.primitives.control.graphs import (
    Flags,
    Outputs,
    Values,
    cached_batch,
    chosen,
    either,
    equation_of,
    fixpoint,
    named_primitive,
    others,
    split_list,
    with_captures,
)
from transpile.primitives.rules import apply, bind_call, broadcast, transposed, with_batch_axis
from transpile.trace.trace import the_trace
from transpile.transforms.batch import spread
from transpile.transforms.closed import Closed, close, operand

Batched = tuple[list[Any], list[bool]]


def _carried(values: Values, marks: Flags, batched: Flags, axis: Axis) -> list[Any]:
    """The initial values of a carry, broadcast where the carry becomes batched."""
    return [
        with_batch_axis(x, axis, is_batched) if becomes else x
        for x, becomes, is_batched in zip(values, marks, batched, strict=True)
    ]


def _with_batched_outputs(graph: Graph, axis: Axis, flags: Flags, marks: Flags) -> Graph:
    """A graph whose outputs are batched by `flags`, with the outputs of `marks` broadcast to be
    batched as well."""
    outputs = Outputs(graph)
    results = [
        outputs.batched(a, axis) if becomes and not is_batched else a
        for a, is_batched, becomes in zip(graph.outputs, flags, marks, strict=True)
    ]
    return outputs.finish(graph.inputs, results)


def _swapped_axes(x: Any, from_axis: int, to_axis: int) -> Any:
    """The value with two axes exchanged."""
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
    """A scan of the batched body; without a carry, a scan over the examples of the whole scan,
    whose iterations are independent."""
    if not carry and axis.name not in graph.axis_names:
        params = {"consts": consts, "carry": 0, "length": length, "reverse": reverse}
        return _scan_over_examples(
            axis, batched, operands, "scan", {"graph": graph, **params}, graph
        )
    of_consts, of_carry, of_xs = split_list(batched, consts, carry)
    marks = fixpoint(
        lambda marks: cached_batch(graph, axis, [*of_consts, *marks, *of_xs])[1][:carry], of_carry
    )
    closed, flags = cached_batch(graph, axis, [*of_consts, *marks, *of_xs])
    fixed, moving, xs = split_list(operands, consts, carry)
    results = bind_call(
        named_primitive("scan"),
        *closed.captured,
        *fixed,
        *_carried(moving, marks, of_carry, axis),
        *[_swapped_axes(x, 0, 1) if b else x for x, b in zip(xs, of_xs, strict=True)],
        graph=_with_batched_outputs(closed.graph, axis, flags, [*marks, *flags[carry:]]),
        consts=len(closed.captured) + consts,
        carry=carry,
        length=length,
        reverse=reverse,
    )
    last, ys = split_list(results, carry)
    stacked = [_swapped_axes(y, 0, 1) if b else y for y, b in zip(ys, flags[carry:], strict=True)]
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
    """A loop of the batched body; with batched bounds, a while."""
    if batched[0] or batched[1]:
        return _bounds_batched(axis, batched, lower, upper, operands, graph, consts)
    of_consts, of_carry = split_list(batched[2:], consts)
    marks = fixpoint(
        lambda marks: cached_batch(graph, axis, [False, *of_consts, *marks])[1], of_carry
    )
    closed, flags = cached_batch(graph, axis, [False, *of_consts, *marks])
    fixed, moving = split_list(operands, consts)
    body = _with_batched_outputs(closed.graph, axis, flags, marks)
    captured = len(closed.captured)
    inputs = (body.inputs[captured], *body.inputs[:captured], *body.inputs[captured + 1 :])
    results = bind_call(
        named_primitive("fori_loop"),
        lower,
        upper,
        *closed.captured,
        *fixed,
        *_carried(moving, marks, of_carry, axis),
        graph=Outputs(body).finish(inputs, body.outputs),
        consts=captured + consts,
    )
    return results, marks


def _bounds_batched(
    axis: Axis,
    batched: Flags,
    lower: Any,
    upper: Any,
    operands: Values,
    graph: Graph,
    consts: int,
) -> Batched:
    """As a while whose first carry is the induction variable."""
    limit, counter = Var(graph.inputs[0].type.strong), graph.inputs[0]
    fixed, moving = split_list(graph.inputs[1:], consts)
    test = equation_of("less", counter, limit)
    condition = Graph((limit, *fixed, counter, *moving), (test,), test.outputs, graph.name)
    outputs = Outputs(graph)
    next_counter = outputs.add(equation_of("add", counter, Const(np.ones((), counter.type.dtype))))
    body = outputs.finish(condition.inputs, [next_counter, *graph.outputs])
    of_operands = batched[2:]
    results, flags = while_batch(
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
    return results[1:], flags[1:]


def while_batch(
    axis: Axis, batched: Flags, *operands: Any, condition: Graph, body: Graph, consts: int
) -> Batched:
    """A loop of the batched body; if the condition is batched, a loop for each example, or one of
    all where examples exchange values. What no iteration changes stays as it is."""
    of_consts, of_carry = split_list(batched, consts)
    inputs = body.inputs[consts:]
    exchanges = axis.name in condition.axis_names | body.axis_names
    changes = [exchanges or a is not v for a, v in zip(body.outputs, inputs, strict=True)]

    def step(marks: list[bool]) -> Flags:
        if cached_batch(condition, axis, [*of_consts, *marks])[1][0]:
            return changes
        return cached_batch(body, axis, [*of_consts, *marks])[1]

    marks = fixpoint(step, of_carry)
    test, (differs,) = cached_batch(condition, axis, [*of_consts, *marks])
    if differs and exchanges:
        return _while_any(axis, batched, operands, condition, body, consts), marks
    if differs:
        params = {"condition": condition, "body": body, "consts": consts}
        stacked, _ = _scan_over_examples(axis, batched, operands, "while", params, body)
        triples = zip(stacked, operands[consts:], changes, strict=True)
        return [new if c else x for new, x, c in triples], either(changes, of_carry)
    closed, flags = cached_batch(body, axis, [*of_consts, *marks])
    batched_body = _with_batched_outputs(closed.graph, axis, flags, marks)
    graphs, captured = with_captures([test, Closed(batched_body, closed.captured)])
    fixed, moving = split_list(operands, consts)
    results = bind_call(
        named_primitive("while"),
        *captured,
        *fixed,
        *_carried(moving, marks, of_carry, axis),
        condition=graphs[0],
        body=graphs[1],
        consts=len(captured) + consts,
    )
    return results, marks


def _while_any(
    axis: Axis, batched: Flags, operands: Values, condition: Graph, body: Graph, consts: int
) -> list[Any]:
    """A loop that goes on while the condition holds for any example: those for which it does not
    keep their carry, which the others still see in collectives."""
    of_consts = list(batched[:consts])
    fixed, moving = split_list(operands, consts)
    carry = [with_batch_axis(x, axis, b) for x, b in zip(moving, batched[consts:], strict=True)]
    flags = of_consts + [True] * len(carry)
    inputs = [Var(type_of(x).strong) for x in (*fixed, *carry)]

    def holds(values: Values) -> Any:
        (mask,), (is_batched,) = spread(condition, axis, values, flags)
        return with_batch_axis(operand(mask), axis, is_batched)

    def chosen_carry(*values: Any) -> list[Any]:
        mask = holds(values)
        results, are_batched = spread(body, axis, values, flags)
        after = [
            with_batch_axis(operand(x), axis, b) for x, b in zip(results, are_batched, strict=True)
        ]
        return [
            apply("select", mask if x.ndim == 1 else broadcast(mask, x.shape, (0,)), x, before)
            for x, before in zip(after, values[consts:], strict=True)
        ]

    test = close(
        lambda *values: [apply("reduce_or", holds(values), axes=(0,))],
        inputs,
        name=condition.name,
        source=condition.source,
    )
    step = close(chosen_carry, inputs, name=body.name, source=body.source)
    graphs, captured = with_captures([test, step])
    return bind_call(
        named_primitive("while"),
        *captured,
        *fixed,
        *carry,
        condition=graphs[0],
        body=graphs[1],
        consts=len(captured) + consts,
    )


def _scan_over_examples(
    axis: Axis, batched: Flags, operands: Values, name: str, params: dict[str, Any], body: Graph
) -> Batched:
    """A scan without carry over the examples, whose body is the loop for one example."""
    kinds = [type_of(x) for x in operands]
    inputs = [
        Var(k.with_shape(k.shape[1:]) if b else k, v.name)
        for k, b, v in zip(kinds, batched, body.inputs, strict=True)
    ]
    found_types = named_primitive(name).result_types([v.type for v in inputs], params)
    results = tuple(Var(kind.strong) for kind in found_types)
    loop = Equation(named_primitive(name), tuple(inputs), params, results, body.source)
    ordered = [*others(inputs, batched), *chosen(inputs, batched)]
    graph = Graph(tuple(ordered), (loop,), results, body.name, source=body.source)
    stacked = bind_call(
        named_primitive("scan"),
        *others(operands, batched),
        *chosen(operands, batched),
        graph=graph,
        consts=len(batched) - sum(batched),
        carry=0,
        length=axis.size,
        reverse=False,
    )
    return stacked, [True] * len(stacked)


def _applied(trace: Any, graph: Graph, values: Values) -> list[Any]:
    """Append the equations of a graph to the trace; the results."""
    from_graph: dict[Atom, Any] = dict(zip(graph.inputs, values, strict=True))
    for equation in graph.equations:
        results = trace.copy(equation, [from_graph.get(a, a) for a in equation.inputs])
        from_graph.update(zip(equation.outputs, results, strict=True))
    return [from_graph.get(a, a) for a in graph.outputs]


def cond_batch(
    axis: Axis, batched: Flags, index: Any, *operands: Any, branches: tuple[Graph, ...]
) -> Batched:
    """A branch to the batched branches; if the index is batched, all branches, and a selection for
    each example. Branches that may fail are taken by a scan over the examples."""
    if batched[0] and any(site.callback.failure for b in branches for site in b.sites()):
        return _branch_for_each(axis, batched, (index, *operands), branches)
    of_operands = list(batched[1:])
    batched_branches = [cached_batch(branch, axis, of_operands) for branch in branches]
    marks = [any(column) for column in zip(*[flags for _, flags in batched_branches], strict=True)]
    if batched[0]:
        marks = [True] * len(marks)
    alike = [
        Closed(_with_batched_outputs(closed.graph, axis, flags, marks), closed.captured)
        for closed, flags in batched_branches
    ]
    graphs, captured = with_captures(alike)
    given = [*captured, *operands]
    if not batched[0]:
        return bind_call(named_primitive("cond"), index, *given, branches=tuple(graphs)), marks
    trace = the_trace()
    flags = [False] * len(captured) + of_operands
    results = []
    for number, graph in enumerate(graphs):
        kept = [
            _constant_elsewhere(index, number, operand(x)) if b else x
            for x, b in zip(given, flags, strict=True)
        ]
        results.append([operand(x) for x in _applied(trace, graph, kept)])
    return [_selected(index, list(column)) for column in zip(*results, strict=True)], marks


def _branch_for_each(
    axis: Axis, batched: Flags, operands: Values, branches: tuple[Graph, ...]
) -> Batched:
    """A scan over the examples of the branch of each: no example fails for another one."""
    if any(axis.name in branch.axis_names for branch in branches):
        raise UnsupportedError(
            f"{the_trace().origin or user_source()}: examples that take different branches "
            f"exchange values along {axis.name!r} in branches that may raise an exception"
        )
    index = Var(type_of(operands[0]).strong)
    body = Graph((index, *branches[0].inputs), (), (), branches[0].name, source=branches[0].source)
    return _scan_over_examples(axis, batched, operands, "cond", {"branches": branches}, body)


def _constant_elsewhere(index: Any, number: int, x: Any) -> Any:
    """An operand of a branch, without derivative for the examples that take another branch: what
    that is there may not be finite, and times a zero cotangent would be NaN."""
    if kind_letter(x.dtype) not in "fc":
        return x
    if index.dtype == BOOL:
        mask = index if number else apply("logical_not", index)
    else:
        mask = apply("equal", index, np.asarray(number, index.dtype)[()])
    return apply("select", _like(mask, x), x, apply("stop_gradient", x))


def _like(mask: Any, value: Any) -> Any:
    """A mask of examples, broadcast to a batched value."""
    return mask if value.ndim == 1 else broadcast(mask, value.shape, (0,))


def _selected(index: Any, values: list[Any]) -> Any:
    """For each example the value of its branch."""
    result = values[0]
    for number, value in enumerate(values[1:], 1):
        mask = index
        if index.dtype != BOOL:
            mask = apply("greater_equal", index, np.asarray(number, index.dtype)[()])
        result = apply("select", _like(mask, value), value, result)
    return result
