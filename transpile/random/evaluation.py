"""The evaluation of samplers: as part of the trace under way, or compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from transpile.dispatch.jitted import Wrapped
from transpile.dispatch.tracing import Config
from transpile.ir.source_info import function_source
from transpile.ir.types import type_of
from transpile.trace.call_arguments import parameters
from transpile.trace.trace import current_trace, the_trace, trace_function
from transpile.trace.tracer import Tracer, named
from transpile.transforms.interpret import interpret

Sampler = Callable[..., Any]  # (*arrays, **static) -> an array, in a trace


def sampled(sampler: Sampler, *operands: Any, **static: Hashable) -> Any:
    """The result of a sampler: equations in the trace under way, or else an array.

    Outside a trace it is compiled, once for each signature and each set of static arguments.
    """
    if current_trace() is not None:
        return named(_quietly(sampler, *operands, **static))
    return _program(sampler, tuple(static.items()))(*map(_as_array, operands))


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function for a loop's body, whose equations have the source line of the enclosing trace."""
    origin = the_trace().origin
    if origin is None:
        return function

    def body(*args: Any) -> Any:
        with the_trace().at(origin):
            return function(*args)

    return body


def _quietly(sampler: Sampler, *operands: Any, **static: Hashable) -> Any:
    """The samples, without warnings from what is computed of known parameters."""
    with np.errstate(all="ignore"):
        return sampler(*operands, **static)


def _as_array(operand: Any) -> Any:
    """An operand as an argument of a program: anything but a Python number."""
    return operand if isinstance(operand, np.ndarray | Tracer) else np.asarray(operand)


@functools.lru_cache(maxsize=1024)
def _program(sampler: Sampler, static: tuple[tuple[str, Hashable], ...]) -> Callable[..., Any]:
    """The compiled sampler with these static arguments."""
    settings = dict(static)

    def program(*operands: Any) -> Any:
        if current_trace() is None:  # `disable_jit` is in force
            return _interpreted(sampler, operands, settings)
        # Not where the first user called it: another one's program is the same.
        with the_trace().at(function_source(sampler)):
            return _quietly(sampler, *operands, **settings)

    program.__name__ = sampler.__name__.lstrip("_")
    return Wrapped(program, Config(parameters(program)))


def _interpreted(sampler: Sampler, operands: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """The result computed with NumPy."""
    graph, _ = trace_function(
        lambda *tracers: ([_quietly(sampler, *tracers, **settings)], None),
        [type_of(x) for x in operands],
        [f"x{k}" for k in range(len(operands))],
        name=sampler.__name__,
    )
    (result,) = interpret(graph, operands)
    return result
