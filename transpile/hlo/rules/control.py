"""Branches and loops: computations of one tuple, called by `conditional` and `while`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from transpile.hlo.builder import Builder, Rules
from transpile.hlo.module import Computation, Instruction
from transpile.ir.graph import Equation, Graph
from transpile.ir.types import BOOL, INT64, ArrayType

Values = Sequence[Instruction]
Step = Callable[[Builder, Instruction, Values], Values]


def _of_tuple(b: Builder, name: str, graph: Graph, kind: tuple[ArrayType, ...]) -> Computation:
    """A graph as a computation of one tuple, whose result is a tuple."""
    inner = b.computation(name)
    results = inner.emit(graph, inner.elements(inner.parameter(kind)))
    return inner.finish(inner.tuple(results))


def cond(b: Builder, equation: Equation, index: Instruction, *operands: Instruction) -> Values:
    """A predicate chooses between two computations, an index among several.

    XLA takes the last branch for an index out of range, and here it is clamped.
    """
    given = b.tuple(operands)
    assert isinstance(given.type, tuple)
    kind = tuple(o.array.strong for o in operands)
    branches = tuple(
        _of_tuple(b, f"branch_{number}", graph, kind)
        for number, graph in enumerate(equation.params["branches"])
    )
    result = tuple(v.type.strong for v in equation.outputs)
    arguments = [given] * len(branches)
    if index.dtype == BOOL and len(branches) == 2:
        done = b.add(
            "conditional", result, index, *arguments,
            true_computation=branches[1], false_computation=branches[0],
        )  # fmt: skip
        return b.elements(done)
    last = len(branches) - 1
    chosen = b.add(
        "clamp", ArrayType((), INT64),
        b.constant(np.int64(0)), b.convert(index, INT64), b.constant(np.int64(last)),
    )  # fmt: skip
    chosen = b.convert(chosen, np.dtype("int32"))
    done = b.add("conditional", result, chosen, *arguments, branch_computations=branches)
    return b.elements(done)


def while_(b: Builder, equation: Equation, *operands: Instruction) -> Values:
    """A loop whose tuple is (*consts, *carry)."""
    consts, params = equation.params["consts"], equation.params
    start = b.tuple(operands)
    kind = tuple(o.array.strong for o in operands)
    test = b.computation("condition")
    condition = test.finish(test.emit(params["condition"], test.elements(test.parameter(kind)))[0])
    step = b.computation("body")
    state = step.elements(step.parameter(kind))
    carry = step.emit(params["body"], state)
    body = step.finish(step.tuple([*state[:consts], *carry]))
    done = b.add("while", kind, start, condition=condition, body=body)
    return b.elements(done)[consts:]


def _counted(
    b: Builder, bounds: tuple[Instruction, Instruction], rest: Values, step: Step
) -> Values:
    """A loop over (i, last, *rest) from the first bound up to, and without, the second one."""
    state = (*bounds, *rest)
    kind = tuple(v.array.strong for v in state)
    test = b.computation("condition")
    i, last = test.elements(test.parameter(kind))[:2]
    condition = test.finish(test.compare("LT", i, last))
    inner = b.computation("body")
    i, last, *values = inner.elements(inner.parameter(kind))
    results = step(inner, i, values)
    following = inner.same("add", i, inner.constant(np.ones((), i.dtype)))
    body = inner.finish(inner.tuple([following, last, *results]))
    done = b.add("while", kind, b.tuple(state), condition=condition, body=body)
    return b.elements(done)[2:]


def fori_loop(
    b: Builder, equation: Equation, lower: Instruction, upper: Instruction, *rest: Instruction
) -> Values:
    """A counted loop."""
    graph, consts = equation.params["graph"], equation.params["consts"]

    def step(inner: Builder, i: Instruction, values: Values) -> Values:
        return [*values[:consts], *inner.emit(graph, [i, *values])]

    return _counted(b, (lower, upper), rest, step)[consts:]


def scan(b: Builder, equation: Equation, *operands: Instruction) -> Values:
    """A counted loop that reads a slice of each of the xs, and writes one of each of the ys."""
    params = equation.params
    graph, length, reverse = params["graph"], params["length"], params["reverse"]
    fixed, carried = params["consts"], params["consts"] + params["carry"]
    stacked = [v.type.strong for v in equation.outputs[params["carry"] :]]
    results = [b.splat(0, kind) for kind in stacked]
    if length == 0:  # XLA refuses a slice of one row of an array without rows, never taken or not
        return [*operands[fixed:carried], *results]
    count = len(operands)

    def step(inner: Builder, i: Instruction, values: Values) -> Values:
        at = inner.same("subtract", inner.constant(np.int64(length - 1)), i) if reverse else i
        xs = [_row(inner, x, at) for x in values[carried:count]]
        done = inner.emit(graph, [*values[:carried], *xs])
        state, rows = done[: carried - fixed], done[carried - fixed :]
        ys = [_with_row(inner, y, row, at) for y, row in zip(values[count:], rows, strict=True)]
        return [*values[:fixed], *state, *values[carried:count], *ys]

    bounds = (b.constant(np.int64(0)), b.constant(np.int64(length)))
    done = _counted(b, bounds, (*operands, *results), step)
    return [*done[fixed:carried], *done[count:]]


def _starts(b: Builder, x: Instruction, at: Instruction) -> list[Instruction]:
    return [at, *[b.constant(np.int64(0))] * (len(x.shape) - 1)]


def _row(b: Builder, x: Instruction, at: Instruction) -> Instruction:
    """The slice at an index of the first axis."""
    sizes = (1, *x.shape[1:])
    kind = x.array.with_shape(sizes)
    part = b.add("dynamic-slice", kind, x, *_starts(b, x, at), dynamic_slice_sizes=sizes)
    return b.reshape(part, x.shape[1:])


def _with_row(b: Builder, x: Instruction, row: Instruction, at: Instruction) -> Instruction:
    """The array with this slice at an index of the first axis."""
    part = b.reshape(row, (1, *row.shape))
    return b.add("dynamic-update-slice", x.array.strong, x, part, *_starts(b, x, at))


RULES: Rules = {"cond": cond, "fori_loop": fori_loop, "scan": scan, "while": while_}
