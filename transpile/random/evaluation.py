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
from transpile.pytree.extended_dtypes import flatten_arrays, has_extended
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
    is_one = isinstance(operand, np.ndarray | Tracer) or has_extended([operand])
    return operand if is_one else np.asarray(operand)


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
    leaves, structure = flatten_arrays(operands)

    def flat(*tracers: Any) -> tuple[list[Any], Any]:
        return flatten_arrays(_quietly(sampler, *structure.unflatten(tracers), **settings))

    types, names = [type_of(x) for x in leaves], [f"x{k}" for k in range(len(leaves))]
    graph, results = trace_function(flat, types, names, name=sampler.__name__)
    return results.unflatten(interpret(graph, leaves))
