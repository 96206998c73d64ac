"""Calls with a user's rule for `vmap`, and linear calls with a user's transpose.

VmapRule   (axis, batched, operands) -> (results, flags: which of them are batched)
Transpose  (residuals, cotangents) -> cotangents of the linear operands
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile.ir.graph import Graph
from transpile.ir.primitive import Axis, Primitive, register
from transpile.ir.source_info import user_source
from transpile.primitives.control.calls import (
    Flags,
    Values,
    all_batched,
    batched_graph,
    call_type,
    call_value,
    name_of,
    spread_function,
)
from transpile.primitives.rules import bind_call, zeros
from transpile.transforms.closed import operand
from transpile.transforms.jvp import push
from transpile.util.frozen_records import dataclass

VmapRule = Callable[[Axis, Flags, Values], tuple[list[Any], list[bool]]]
Transpose = Callable[[Values, Values], list[Any]]


def _pushed(
    tangents: Values, *operands: Any, graph: Graph, rule: VmapRule
) -> tuple[list[Any], list[Any]]:
    """The results of the call, which may be batched by the rule, and the tangents of its graph."""
    _, moved = push(graph, operands, tangents)
    return bind_call(custom_vmap_call, *operands, graph=graph, rule=rule), moved


def _by_rule(
    axis: Axis, batched: Flags, *operands: Any, graph: Graph, rule: VmapRule
) -> tuple[list[Any], list[bool]]:
    results, flags = rule(axis, batched, operands)
    return [operand(x) for x in results], flags


custom_vmap_call = register(
    Primitive("custom_vmap_call", "call", call_value, call_type, jvp=_pushed, batch=_by_rule)
)


# ----------------------------------------------------------------------------------- linear calls


@dataclass(frozen=True, eq=False)
class BatchedTranspose:
    """A user's transpose, applied to batches of the flagged residuals and of all cotangents."""

    rule: Transpose
    axis: Axis
    residuals: tuple[bool, ...]
    linear: tuple[bool, ...]

    def __call__(self, residuals: Values, cotangents: Values) -> list[Any]:
        """The cotangents; that of an operand which is not batched is the sum over examples."""
        count = len(residuals)
        pairs = spread_function(
            lambda *values: self.rule(values[:count], values[count:]),
            self.axis,
            (*residuals, *cotangents),
            (*self.residuals, *[x is not None for x in cotangents]),
        )
        return all_batched(pairs, self.axis, self.linear)

    @property
    def __name__(self) -> str:
        return name_of(self.rule)


def _linear_jvp(
    tangents: Values, *operands: Any, graph: Graph, count: int, rule: Transpose
) -> tuple[list[Any], list[Any]]:
    params = {"graph": graph, "count": count, "rule": rule}
    if any(t is not None for t in tangents[:count]):
        raise NotImplementedError(
            f"{user_source()}: linear_call has no derivative by its residual arguments"
        )
    results = bind_call(linear_call, *operands, **params)
    kinds = [v.type for v in graph.inputs[count:]]
    moving = [zeros(k) if t is None else t for t, k in zip(tangents[count:], kinds, strict=True)]
    return results, bind_call(linear_call, *operands[:count], *moving, **params)


def _linear_transpose(
    cotangents: Sequence[Any], *operands: Any, graph: Graph, count: int, rule: Transpose
) -> list[Any]:
    return [None] * count + rule(operands[:count], cotangents)


def _linear_batch(
    axis: Axis, batched: Flags, *operands: Any, graph: Graph, count: int, rule: Transpose
) -> tuple[list[Any], list[bool]]:
    flags = tuple(batched)
    wrapped = BatchedTranspose(rule, axis, flags[:count], flags[count:])
    made = batched_graph(graph, axis, batched)
    results = bind_call(linear_call, *operands, graph=made, count=count, rule=wrapped)
    return results, [True] * len(results)


linear_call = register(
    Primitive(
        "linear_call",
        "call",
        call_value,
        call_type,
        jvp=_linear_jvp,
        transpose=_linear_transpose,
        batch=_linear_batch,
    )
)
