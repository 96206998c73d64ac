"""The derivatives of loops and branches in forward mode.

A carry has a tangent when the initial value has one, or an iteration gives it one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.ir.graph import Graph, Var
from transpile.ir.types import type_of
from transpile.primitives.control.calls import bind_call
from transpile.primitives.control.graphs import (
    Flags,
    Outputs,
    Values,
    chosen,
    filled,
    fixpoint,
    pushed,
    row,
    split,
    unused,
    with_captures,
    with_zeros,
)
from transpile.primitives.rules import zeros

# --------------------------------------------------------------------------------- forward mode


def _flags(tangents: Values) -> list[bool]:
    return [t is not None for t in tangents]


def _moving(graph: Graph, flags: list[bool], start: int, count: int, fixed: int) -> list[bool]:
    """The flags of a body's inputs, of which those of the carry (from `start`) are as many as are
    needed; the first `fixed` outputs of the body are its carry."""
    before, carry, after = split(flags, start, count)

    def step(carry: list[bool]) -> Flags:
        return pushed(graph, [*before, *carry, *after])[1][:fixed]

    return [*before, *fixpoint(step, carry), *after]


class _Moved:
    """A body with tangents: its inputs and outputs, in parts."""

    def __init__(self, graph: Graph, active: Flags) -> None:
        closed, self.flags = pushed(graph, active)
        (found,), self.captured = with_captures([closed])
        count = len(self.captured)
        self.leading = list(found.inputs[:count])
        self.primals = list(found.inputs[count : count + len(graph.inputs)])
        self.tangents = filled(found.inputs[count + len(graph.inputs) :], active)
        self.results = list(found.outputs[: len(graph.outputs)])
        self.moved = filled(found.outputs[len(graph.outputs) :], self.flags)
        self.outputs = Outputs(found)

    def inputs(self, *counts: int) -> list[Var]:
        """The inputs, in each part values and then tangents."""
        parts = zip(split(self.primals, *counts), split(self.tangents, *counts), strict=True)
        return [v for x, t in parts for v in (*x, *_present(t))]

    def finish(self, inputs: Sequence[Var], carry: Flags, fixed: int) -> Graph:
        """The body, which gives each carry that is marked a tangent, zeros where it has none."""
        kinds = [a.type.strong for a in self.results[:fixed]]
        moved = with_zeros(self.moved[:fixed], kinds, carry, self.outputs.zeros)
        ys = [*self.results[fixed:], *_present(self.moved[fixed:])]
        return self.outputs.finish(inputs, [*self.results[:fixed], *moved, *ys])


def _present(values: Values) -> list[Any]:
    return [x for x in values if x is not None]


def _tangents_for(carry: Values, tangents: Values, flags: Flags) -> list[Any]:
    """The tangents of the carries that are marked, zeros where the initial value has none."""
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
    """One scan of values and tangents."""
    active = _moving(graph, _flags(tangents), consts, carry, carry)
    fixed, moving, xs = split(operands, consts, carry)
    fixed_moved, carry_moved, xs_moved = split(tangents, consts, carry)
    marks = active[consts : consts + carry]
    body = _Moved(graph, active)
    found = bind_call(
        row("scan"),
        *body.captured,
        *fixed,
        *_present(fixed_moved),
        *moving,
        *_tangents_for(moving, carry_moved, marks),
        *xs,
        *_present(xs_moved),
        graph=body.finish([*body.leading, *body.inputs(consts, carry)], marks, carry),
        consts=len(body.captured) + consts + sum(_flags(fixed_moved)),
        carry=carry + sum(marks),
        length=length,
        reverse=reverse,
    )
    ys = len(graph.outputs) - carry
    last, last_moved, stacked, stacked_moved = split(found, carry, sum(marks), ys)
    flags = [*marks, *body.flags[carry:]]
    return [*last, *stacked], filled([*last_moved, *stacked_moved], flags)


def while_jvp(
    tangents: Values, *operands: Any, condition: Graph, body: Graph, consts: int
) -> tuple[list[Any], list[Any]]:
    """One loop of values and tangents; the condition reads values alone."""
    carry = len(operands) - consts
    active = _moving(body, _flags(tangents), consts, carry, carry)
    fixed, moving = split(operands, consts)
    fixed_moved, carry_moved = split(tangents, consts)
    marks = active[consts:]
    moved = _Moved(body, active)
    leading = [v.type for v in moved.leading]
    kinds = [v.type.strong for v in body.inputs]
    further = [
        (0, leading),
        (consts, chosen(kinds[:consts], active[:consts])),
        (consts + carry, chosen(kinds[consts:], marks)),
    ]
    found = bind_call(
        row("while"),
        *moved.captured,
        *fixed,
        *_present(fixed_moved),
        *moving,
        *_tangents_for(moving, carry_moved, marks),
        condition=unused(condition, further),
        body=moved.finish([*moved.leading, *moved.inputs(consts)], marks, carry),
        consts=len(moved.captured) + consts + sum(_flags(fixed_moved)),
    )
    return found[:carry], filled(found[carry:], marks)


def fori_jvp(
    tangents: Values, lower: Any, upper: Any, *operands: Any, graph: Graph, consts: int
) -> tuple[list[Any], list[Any]]:
    """One loop of values and tangents."""
    carry = len(operands) - consts
    active = _moving(graph, [False, *_flags(tangents[2:])], 1 + consts, carry, carry)
    fixed, moving = split(operands, consts)
    fixed_moved, carry_moved = split(tangents[2:], consts)
    marks = active[1 + consts :]
    body = _Moved(graph, active)
    number, *rest = body.inputs(1, consts)
    found = bind_call(
        row("fori_loop"),
        lower,
        upper,
        *body.captured,
        *fixed,
        *_present(fixed_moved),
        *moving,
        *_tangents_for(moving, carry_moved, marks),
        graph=body.finish([number, *body.leading, *rest], marks, carry),
        consts=len(body.captured) + consts + sum(_flags(fixed_moved)),
    )
    return found[:carry], filled(found[carry:], marks)


def cond_jvp(
    tangents: Values, index: Any, *operands: Any, branches: tuple[Graph, ...]
) -> tuple[list[Any], list[Any]]:
    """A choice between branches with tangents; where only some branches give a result one, the
    others give zeros."""
    active = _flags(tangents[1:])
    found = [pushed(branch, active) for branch in branches]
    marks = [any(column) for column in zip(*[flags for _, flags in found], strict=True)]
    graphs, captured = with_captures([closed for closed, _ in found])
    moved = [
        _padded(graph, len(branch.outputs), flags, marks)
        for graph, branch, (_, flags) in zip(graphs, branches, found, strict=True)
    ]
    given = [*captured, *operands, *_present(tangents[1:])]
    results = bind_call(row("cond"), index, *given, branches=tuple(moved))
    count = len(branches[0].outputs)
    return results[:count], filled(results[count:], marks)


def _padded(graph: Graph, count: int, flags: Flags, marks: Flags) -> Graph:
    """The graph whose outputs after the first `count` are given for the places in `flags`, with
    zeros for the others that are marked."""
    outputs = Outputs(graph)
    kinds = [a.type.strong for a in graph.outputs[:count]]
    wanted = with_zeros(filled(graph.outputs[count:], flags), kinds, marks, outputs.zeros)
    return outputs.finish(graph.inputs, [*graph.outputs[:count], *wanted])
