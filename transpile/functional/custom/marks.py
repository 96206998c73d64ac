"""Marks on values and computations: stop_gradient, named_call, linear_call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from transpile import tree
from transpile.functional.custom.calls import Function, bind_function, finished, traced_call
from transpile.functional.flatten_fun import flatten_function, is_inexact, value_type, zero
from transpile.functional.placeholders import standing_in, traced
from transpile.ir.source_info import shown, user_source
from transpile.ir.types import PYTHON_SCALARS
from transpile.primitives.control.calls import named_call as named_call_primitive
from transpile.primitives.control.custom_calls import linear_call as linear_call_primitive
from transpile.primitives.rules import apply
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_key import has_values
from transpile.trace.call_signature import function_name
from transpile.trace.lengths import own_lengths
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.trace.tracer import Tracer, named


def stop_gradient(x: Any) -> Any:
    """The arrays of a pytree, as constants to every derivative: the identity, with derivative zero.

    Integers, and values that are not traced, are returned as they are. Raises TypeError for leaves
    that are no arrays.
    """
    return tree.map(_stopped_array, x)


def stopped(leaf: Any) -> Any:
    """A leaf, as a constant to every derivative."""
    if isinstance(leaf, Tracer) and is_inexact(leaf.type):
        return named(apply("stop_gradient", leaf))
    return leaf


def _stopped_array(leaf: Any) -> Any:
    if type(leaf) not in PYTHON_SCALARS and not hasattr(leaf, "dtype") and not has_values(leaf):
        raise TypeError(
            f"{user_source()}: Value {shown(leaf)} with type {type(leaf)} is not a valid transpile "
            "type"
        )
    return stopped(leaf)


def named_call(fun: Function, *, name: str | None = None) -> Function:
    """The function, with its computations under a name in the graph, its own by default; results
    are unchanged."""
    label = function_name(fun) if name is None else name

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None:
            return resolved(fun)(*args, **kwargs)
        closed, operands, out_parts = traced_call(fun, args, kwargs, label)
        if own_lengths(closed.graph):  # of results, which outlive it
            return resolved(fun)(*args, **kwargs)
        results = bind_function(fun, named_call_primitive, operands, graph=closed.graph, name=label)
        return finished(fun, out_parts.join(results))

    return call


@api_boundary
def linear_call(
    fun: Callable[..., Any],
    fun_transpose: Callable[..., Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """The result of `fun(residual_args, linear_args)`, which is linear in the second, with a
    transpose of the caller's.

    fun            (residuals, linear arguments) -> result
    fun_transpose  (residuals, cotangent of the result) -> cotangent of the linear arguments

    Residuals and linear arguments are pytrees of arrays. Derivatives are by the linear arguments
    alone: NotImplementedError for the others. That the functions are each other's transposes is
    not checked; shapes and dtypes of what `fun_transpose` gives are, when it is needed: a
    ValueError.
    """
    if current_trace() is None:
        return resolved(fun)(residual_args, linear_args)
    flat, leaves = flatten_function(fun, (residual_args, linear_args), names=None)
    closed = flat.closed
    count = len(closed.captured) + tree.structure(residual_args).num_leaves
    kinds = flat.in_types[tree.structure(residual_args).num_leaves :]
    linear_tree = flatten_arrays(linear_args)[1]
    residual_tree = flatten_arrays(residual_args)[1]

    def transpose(residuals: Any, cotangents: Any) -> list[Any]:
        captured, given = residuals[: len(closed.captured)], residuals[len(closed.captured) :]
        full = [
            zero(k) if c is None else c for c, k in zip(cotangents, flat.out_types, strict=True)
        ]
        with standing_in(closed.captured, captured):
            result = resolved(fun_transpose)(
                residual_tree.unflatten(given), flat.out_tree.unflatten(full)
            )
        found, structure = flatten_arrays(result)
        own = [value_type(x).strong for x in found]
        if structure != linear_tree or own != [k.strong for k in kinds]:
            raise ValueError(
                f"{user_source()}: the transpose {function_name(fun_transpose)} gives "
                f"{structure.unflatten(map(str, own))}, not "
                f"{linear_tree.unflatten(map(str, kinds))} as the linear arguments"
            )
        return [traced(x, k) for x, k in zip(found, kinds, strict=True)]

    operands = (*closed.captured, *leaves)
    params = {"graph": closed.graph, "count": count, "rule": transpose}
    results = bind_function(fun, linear_call_primitive, operands, **params)
    return finished(fun, flat.out_tree.unflatten(results))
