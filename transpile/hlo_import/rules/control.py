"""Calls, tuples, branches and loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile import lax
from transpile.functional.flatten_fun import value_type
from transpile.hlo_import.context import Call, Rules, flat, producer, value_of
from transpile.hlo_import.loops import loop
from transpile.ir.graph import Graph, Var
from transpile.ir.types import INT64
from transpile.primitives.control.primitives import cond
from transpile.primitives.rules import bind_call
from transpile.trace.trace import the_trace
from transpile.trace.tracer import Tracer
from transpile.transforms.closed import apply, close

# A computation whose calls, all inlined, are more equations than that is refused.
MOST_EQUATIONS = 200_000


def nested(values: list[Any], kind: Any) -> Any:
    """Values as the type of an instruction nests them."""
    return _nested(iter(values), kind)


def _nested(values: Any, kind: Any) -> Any:
    return [_nested(values, k) for k in kind] if isinstance(kind, tuple) else next(values)


def call(c: Call, *operands: Any) -> Any:
    """A computation of these operands, inlined."""
    attributes = c.instruction.attributes
    graph = c.graph(attributes.get("to_apply", attributes.get("calls")))
    return nested(_applied(c, graph, flat(operands)), c.instruction.type)


def _applied(c: Call, graph: Graph, values: list[Any]) -> list[Any]:
    if len(values) != len(graph.inputs):
        raise c.fail(f"its computation takes {len(graph.inputs)} values, not {len(values)}")
    if len(the_trace().equations) + len(graph.equations) > MOST_EQUATIONS:
        raise c.fail(f"with all calls inlined there are more than {MOST_EQUATIONS} equations")
    return apply(graph, values)


def element(c: Call, x: Any) -> Any:
    """A part of a tuple."""
    index = c.get("index", int)
    if not isinstance(x, list) or not 0 <= index < len(x):
        raise c.fail(f"there is no element {index}")
    return x[index]


def conditional(c: Call, index: Any, *operands: Any) -> Any:
    """A predicate chooses one of two computations, an index among several: each has an operand of
    its own, and the last one is for an index out of range."""
    attributes = c.instruction.attributes
    branches: Any = attributes.get("branch_computations") or (
        attributes.get("true_computation"),
        attributes.get("false_computation"),
    )
    if len(branches) != len(operands):
        raise c.fail(f"it has {len(branches)} computations and {len(operands)} operands")
    graphs = [c.graph(b) for b in branches]
    if index.dtype.kind == "b":
        graphs, operands = graphs[::-1], operands[::-1]
    given = [flat([o]) for o in operands]
    every: dict[Any, Any] = {}
    for value in flat(list(operands)):
        every.setdefault(_identity(value), value)
    closed = [
        _with_inputs(c, g, [_identity(v) for v in values], every)
        for g, values in zip(graphs, given, strict=True)
    ]
    if index.dtype.kind != "b":
        index = _clamped(index, len(closed))
    if not closed[0].outputs:
        return nested([], c.instruction.type)
    results = bind_call(cond, index, *every.values(), branches=tuple(closed))
    return nested(results, c.instruction.type)


def _identity(value: Any) -> Any:
    return value.variable if isinstance(value, Tracer) else id(value)


def _clamped(index: Any, count: int) -> Any:
    """The number of a branch; a predicate that has become a number is one again."""
    converted = producer(index, "convert_element_type")
    if count == 2 and converted is not None and converted.inputs[0].type.dtype.kind == "b":
        return value_of(converted.inputs[0])
    clamped = producer(index, "clip", "clamp", "minimum")
    index = lax.convert_element_type(index, INT64)
    if clamped is not None:
        return index
    last = np.int64(count - 1)
    return lax.select(lax.lt(index, np.int64(0)), last + 0 * index, index)


def _with_inputs(c: Call, graph: Graph, given: list[Any], every: dict[Any, Any]) -> Graph:
    """A branch as a graph of all that the branches read."""
    positions = {key: k for k, key in enumerate(every)}
    if len(given) != len(graph.inputs):
        raise c.fail(f"a branch takes {len(graph.inputs)} values, not {len(given)}")

    def branch(*values: Any) -> list[Any]:
        return apply(graph, [values[positions[key]] for key in given])

    inputs = [Var(value_type(v).strong) for v in every.values()]
    return close(branch, inputs, name=graph.name, source=graph.source).graph


def while_(c: Call, state: Any) -> Any:
    """A loop over a tuple."""
    attributes = c.instruction.attributes
    condition, body = (c.graph(attributes.get(n)) for n in ("condition", "body"))
    values = flat([state])
    return nested(loop(c, condition, body, values), c.instruction.type)


def optimization_barrier(c: Call, *operands: Any) -> Any:
    """Its operands."""
    results = list(lax.optimization_barrier(tuple(flat(operands))))
    return nested(results, c.instruction.type) if len(results) != 1 else results[0]


RULES: Rules = {
    "call": call,
    "conditional": conditional,
    "fusion": call,
    "get-tuple-element": element,
    "opt-barrier": optimization_barrier,
    "tuple": lambda _, *parts: list(parts),
    "while": while_,
}
