"""The names of `jax.custom_derivatives`: rules of one's own for derivatives, and linear_call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile import tree
from transpile.functional.custom import (
    bind_function,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    finished,
)
from transpile.functional.flatten_fun import flatten_function, value_type, zero
from transpile.functional.placeholders import (
    CustomVJPPrimal,
    SymbolicZero,
    standing_in,
    traced,
    zero_like,
)
from transpile.ir.source_info import user_source
from transpile.primitives.control.custom_calls import linear_call as linear_call_primitive
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import function_name
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of a value: an array, or with `symbolic_zeros` a SymbolicZero."""
    return SymbolicZero.from_primal_value(val) if symbolic_zeros else zero_like(val)


def custom_vjp_primal_tree_values(tree_: Any) -> Any:
    """The values of a pytree whose leaves are the CustomVJPPrimal of a forward rule with
    `symbolic_zeros`.

    Raises TypeError for other leaves.
    """

    def value_of(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"unexpected leaf of type {type(leaf)}")
        return leaf.value

    return tree.map(value_of, tree_, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))


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
