"""Calls of functions with rules of their own as equations of a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile import errors
from transpile.functional.placeholders import Parts
from transpile.ir.graph import Graph
from transpile.ir.primitive import Primitive
from transpile.ir.source_info import function_source, user_source
from transpile.primitives.rules import bind_call
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import function_name, inner
from transpile.trace.lengths import own_lengths, with_outer_lengths
from transpile.trace.trace import the_trace, trace_nested
from transpile.trace.tracer import Tracer, named
from transpile.transforms.closed import Closed

Function = Callable[..., Any]


def bind_function(
    fun: Function, primitive: Primitive, operands: Sequence[Any], **params: Any
) -> list[Any]:
    """Bind a call of `fun` as an equation, at the user's line.

    Where the trace is of this very function, no line of it calls it: the one found would be that of
    who called the jitted function, and the program would depend on it.
    """
    source, trace = function_source(inner(fun)), the_trace()
    if any(isinstance(value, Graph) and own_lengths(value) for value in params.values()):
        raise errors.UnsupportedError(
            f"{user_source()}: {function_name(inner(fun))} has a rule of its own and gives an "
            "array whose length depends on values. numpy.where(mask, x, 0) keeps the shape of x."
        )
    if trace.source != source:
        return bind_call(primitive, *operands, **params)
    with trace.at(source):
        return bind_call(primitive, *operands, **params)


def finished(fun: Function, result: Any) -> Any:
    """The result of a call of `fun`; a single value has the name that the user's line gives it."""
    is_whole = the_trace().source == function_source(inner(fun))
    return named(result) if isinstance(result, Tracer) and not is_whole else result


def traced_call(
    fun: Function, args: tuple[Any, ...], kwargs: dict[str, Any], name: str
) -> tuple[Closed, list[Tracer], Parts]:
    """The graph of a call on its traced leaves alone, the operands of an equation of it, and what
    makes the result of the graph's results."""
    leaves, parts = Parts.of((args, kwargs))

    def on_leaves(*tracers: Tracer) -> tuple[list[Tracer], Parts]:
        given, named_given = parts.join(tracers)
        return Parts.of(resolved(fun)(*given, **named_given))

    graph, captured, out_parts = trace_nested(
        on_leaves,
        [x.type for x in leaves],
        [x.variable.name for x in leaves],
        name=name,
        source=function_source(inner(fun)),
        known=leaves,
    )
    graph, outer = with_outer_lengths(graph, captured)
    return Closed(graph, tuple(outer)), [*outer, *leaves], out_parts
