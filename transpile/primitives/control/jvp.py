"""JVP rules of loops and branches: one loop carries primals and tangents.

A carry is active (has a tangent) if its initial value is, or if the body makes it so from active
values: the least fixpoint of activity in the body. An active carry without an initial tangent
starts from zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.ir.graph import Graph, Var
from transpile.ir.types import type_of
from transpile.primitives.control.graphs import (
    Flags,
    Outputs,
    Values,
    cached_jvp,
    chosen,
    filled,
    fixpoint,
    named_primitive,
    split_list,
    with_captures,
    with_unused_inputs,
    with_zeros,
)
from transpile.primitives.rules import bind_call, zeros


def _flags(tangents: Values) -> list[bool]:
    return [t is not None for t in tangents]


def _active_inputs(
    graph: Graph, flags: list[bool], start: int, count: int, fixed: int
) -> list[bool]:
    """Flags of the active inputs of a body, given those of its consts and xs and the initial ones
    of the carry, `count` inputs from `start`; the first `fixed` outputs of the body are its
    carry."""
    before, carry, after = split_list(flags, start, count)

    def step(carry: list[bool]) -> Flags:
        return cached_jvp(graph, [*before, *carry, *after])[1][:fixed]

    return [*before, *fixpoint(step, carry), *after]


class _JvpBody:
    """The JVP of a body, its inputs and outputs split into primals and tangents."""

    def __init__(self, graph: Graph, active: Flags) -> None:
        closed, self.flags = cached_jvp(graph, active)
        (body,), self.captured = with_captures([closed])
        count = len(self.captured)
        self.captured_inputs = list(body.inputs[:count])
        self.primals = list(body.inputs[count : count + len(graph.inputs)])
        self.tangents = filled(body.inputs[count + len(graph.inputs) :], active)
        self.primals_out = list(body.outputs[: len(graph.outputs)])
        self.tangents_out = filled(body.outputs[len(graph.outputs) :], self.flags)
        self.outputs = Outputs(body)

    def inputs(self, *counts: int) -> list[Var]:
        """The inputs split by counts: in each part primals, then tangents."""
        parts = zip(
            split_list(self.primals, *counts), split_list(self.tangents, *counts), strict=True
        )
        return [v for x, t in parts for v in (*x, *_present(t))]

    def finish(self, inputs: Sequence[Var], carry: Flags, fixed: int) -> Graph:
        """The body that returns primals and tangents of the carry (zeros for flagged carries that
        it gives no tangent), then the other results and their tangents."""
        kinds = [a.type.strong for a in self.primals_out[:fixed]]
        carry_tangents = with_zeros(self.tangents_out[:fixed], kinds, carry, self.outputs.zeros)
        ys = [*self.primals_out[fixed:], *_present(self.tangents_out[fixed:])]
        return self.outputs.finish(inputs, [*self.primals_out[:fixed], *carry_tangents, *ys])


def _present(values: Values) -> list[Any]:
    return [x for x in values if x is not None]


def _tangents_for(carry: Values, tangents: Values, flags: Flags) -> list[Any]:
    """The initial tangents of active carries, with zeros for None."""
    pairs = chosen(zip(carry, tangents, strict=True), flags)
    return [zeros(type_of(x).strong) if t is None else t for x, t in pairs]


def scan_jvp(
    tangents: Values,
    *operands: Any,
    graph: Graph,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
) -> tuple[list[Any], list[Any]]:
    """One scan of primals and tangents."""
    active = _active_inputs(graph, _flags(tangents), consts, carry, carry)
    fixed, moving, xs = split_list(operands, consts, carry)
    const_tangents, carry_tangents, xs_tangents = split_list(tangents, consts, carry)
    marks = active[consts : consts + carry]
    body = _JvpBody(graph, active)
    results = bind_call(
        named_primitive("scan"),
        *body.captured,
        *fixed,
        *_present(const_tangents),
        *moving,
        *_tangents_for(moving, carry_tangents, marks),
        *xs,
        *_present(xs_tangents),
        graph=body.finish([*body.captured_inputs, *body.inputs(consts, carry)], marks, carry),
        consts=len(body.captured) + consts + sum(_flags(const_tangents)),
        carry=carry + sum(marks),
        length=length,
        reverse=reverse,
    )
    ys_count = len(graph.outputs) - carry
    carry_out, carry_tangents_out, ys_out, ys_tangents_out = split_list(
        results, carry, sum(marks), ys_count
    )
    flags = [*marks, *body.flags[carry:]]
    return [*carry_out, *ys_out], filled([*carry_tangents_out, *ys_tangents_out], flags)


def while_jvp(
    tangents: Values, *operands: Any, condition: Graph, body: Graph, consts: int
) -> tuple[list[Any], list[Any]]:
    """One loop of primals and tangents; the condition reads only primals."""
    carry = len(operands) - consts
    active = _active_inputs(body, _flags(tangents), consts, carry, carry)
    fixed, moving = split_list(operands, consts)
    const_tangents, carry_tangents = split_list(tangents, consts)
    marks = active[consts:]
    jvp_body = _JvpBody(body, active)
    captured = [v.type for v in jvp_body.captured_inputs]
    kinds = [v.type.strong for v in body.inputs]
    tangents_in = [
        (0, captured),
        (consts, chosen(kinds[:consts], active[:consts])),
        (consts + carry, chosen(kinds[consts:], marks)),
    ]
    results = bind_call(
        named_primitive("while"),
        *jvp_body.captured,
        *fixed,
        *_present(const_tangents),
        *moving,
        *_tangents_for(moving, carry_tangents, marks),
        condition=with_unused_inputs(condition, tangents_in),
        body=jvp_body.finish([*jvp_body.captured_inputs, *jvp_body.inputs(consts)], marks, carry),
        consts=len(jvp_body.captured) + consts + sum(_flags(const_tangents)),
    )
    return results[:carry], filled(results[carry:], marks)


def fori_jvp(
    tangents: Values, lower: Any, upper: Any, *operands: Any, graph: Graph, consts: int
) -> tuple[list[Any], list[Any]]:
    """One loop of primals and tangents."""
    carry = len(operands) - consts
    active = _active_inputs(graph, [False, *_flags(tangents[2:])], 1 + consts, carry, carry)
    fixed, moving = split_list(operands, consts)
    const_tangents, carry_tangents = split_list(tangents[2:], consts)
    marks = active[1 + consts :]
    body = _JvpBody(graph, active)
    counter, *rest = body.inputs(1, consts)
    results = bind_call(
        named_primitive("fori_loop"),
        lower,
        upper,
        *body.captured,
        *fixed,
        *_present(const_tangents),
        *moving,
        *_tangents_for(moving, carry_tangents, marks),
        graph=body.finish([counter, *body.captured_inputs, *rest], marks, carry),
        consts=len(body.captured) + consts + sum(_flags(const_tangents)),
    )
    return results[:carry], filled(results[carry:], marks)


def cond_jvp(
    tangents: Values, index: Any, *operands: Any, branches: tuple[Graph, ...]
) -> tuple[list[Any], list[Any]]:
    """A branch to the JVPs of the branches; a result that has a tangent in only some of them has
    zeros in the others."""
    active = _flags(tangents[1:])
    transformed = [cached_jvp(branch, active) for branch in branches]
    marks = [any(column) for column in zip(*[flags for _, flags in transformed], strict=True)]
    graphs, captured = with_captures([closed for closed, _ in transformed])
    padded = [
        _padded(graph, len(branch.outputs), flags, marks)
        for graph, branch, (_, flags) in zip(graphs, branches, transformed, strict=True)
    ]
    given = [*captured, *operands, *_present(tangents[1:])]
    results = bind_call(named_primitive("cond"), index, *given, branches=tuple(padded))
    count = len(branches[0].outputs)
    return results[:count], filled(results[count:], marks)


def _padded(graph: Graph, count: int, flags: Flags, marks: Flags) -> Graph:
    """The JVP of a branch with `count` results, which has the tangents in `flags`, completed by
    zeros to those in `marks`."""
    outputs = Outputs(graph)
    kinds = [a.type.strong for a in graph.outputs[:count]]
    tangents = with_zeros(filled(graph.outputs[count:], flags), kinds, marks, outputs.zeros)
    return outputs.finish(graph.inputs, [*graph.outputs[:count], *tangents])
