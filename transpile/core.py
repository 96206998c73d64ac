"""The names of `jax.core` that have a meaning here: traced arrays, their types, and the evaluation
of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.ir.graph import Atom, Graph
from transpile.ir.types import ArrayType
from transpile.trace.trace import Trace, current_trace, ensure_compile_time_eval
from transpile.trace.tracer import Tracer
from transpile.transforms.closed import Closed
from transpile.transforms.interpret import interpret

__all__ = ["Atom", "ShapedArray", "Trace", "Tracer", "ensure_compile_time_eval", "eval_jaxpr"]

ShapedArray = ArrayType


def eval_jaxpr(jaxpr: Graph, consts: Sequence[Any], *args: Any) -> list[Any]:
    """The outputs of a graph for the values of its inputs: as part of the trace under way, or
    computed by NumPy.

    jaxpr   what `make_jaxpr` gives
    consts  values of the leading inputs, such as those that a function closes over; mostly ()

    Raises ValueError for another number of values than the graph has inputs.
    """
    values = [*consts, *args]
    if len(values) != len(jaxpr.inputs):
        raise ValueError(
            f"the graph {jaxpr.name} takes {len(jaxpr.inputs)} values, not {len(values)}"
        )
    if current_trace() is None:
        return interpret(jaxpr, values)
    return Closed(jaxpr)(*values)
