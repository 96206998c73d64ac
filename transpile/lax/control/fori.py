"""Loops over numbers and slices: fori_loop and map, with JAX's names, arguments and errors."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from transpile import tree
from transpile.dispatch.switches import is_jit_disabled
from transpile.functional.vectorize import vmap
from transpile.ir.graph import Var
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.source_info import user_source
from transpile.ir.types import INT64, ArrayType
from transpile.lax.control.bodies import Body, Leaves, as_atom, outside, returned, trace_body
from transpile.lax.control.carry_checks import check_carry, component_named
from transpile.lax.control.loops import (
    bind_scan,
    check_unroll,
    is_traced,
    own_copy,
    promoted_carry,
    scan,
    under_name,
    while_in_trace,
)
from transpile.primitives import axes, elementwise
from transpile.primitives.control import primitives
from transpile.primitives.rules import bind_call
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import type_text
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.trace.tracer import UNKNOWN, Tracer

__all__ = ["fori_loop", "map"]

Function = Callable[..., Any]

# -------------------------------------------------------------------------------------- fori_loop


@api_boundary
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Function,
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """A counted loop that applies `body_fun` to an index and a carry, for each integer from `lower`
    up to, not including, `upper`.

    body_fun  (i, carry) -> carry: a pytree of arrays that keeps its structure and types
    init_val  the first carry; a Python number takes the dtype that `body_fun` gives it
    unroll    checked, and without effect: the C compiler unrolls

    Returns the last carry. With bounds known while tracing differentiable in both modes, else in
    forward mode only. Raises TypeError where the carry changes its structure or type and for bounds
    of different types, ValueError for `unroll` with traced bounds.
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    bounds = Leaves.of((lower, upper), "bounds")
    kind = _bounds_type(bounds.types)
    known = [_known(x) for x in bounds.values]
    if all(x is not UNKNOWN for x in known):
        check_unroll(unroll or 0)
        start, stop = int(known[0]), int(known[1])
        if is_jit_disabled() and not is_traced(init_val):
            return _fori_in_python(start, stop, body_fun, init_val)
        if current_trace() is not None:
            init = Leaves.of(init_val, "init_val")
            return _counted_scan(start, max(stop - start, 0), body_fun, init)
        # The program is the same for all bounds: outside of traces nobody asks for a derivative.
        return outside(under_name("fori_loop", _outside_loop(body_fun)), start, stop, init_val)
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError(
            f"{user_source()}: Can only use `unroll` in `fori_loop` if the loop bounds are "
            f"statically known."
        )
    limits = [_of_type(x, kind) for x in bounds.values]
    init = Leaves.of(init_val, "init_val")
    return _fori(limits, kind, body_fun, init, ("while_loop body", "loop_carry[2]"))


def _known(value: Any) -> Any:
    """The value of a bound, if Python may ask for it."""
    return value.owner.value(value.variable) if isinstance(value, Tracer) else value


def _bounds_type(types: Sequence[ArrayType]) -> ArrayType:
    """The type of the loop counter: a Python integer takes the type of the other bound."""
    lower, upper = types
    if lower.shape or upper.shape:
        raise TypeError(
            f"{user_source()}: lower and upper arguments to fori_loop must be scalars, got "
            f"{type_text(lower)} and {type_text(upper)}"
        )
    if lower.dtype == upper.dtype:
        return lower if upper.weak else upper
    if lower.dtype.kind == upper.dtype.kind == "i" and lower.weak != upper.weak:
        return upper if lower.weak else lower
    raise TypeError(
        f"{user_source()}: lower and upper arguments to fori_loop must have equal types, got "
        f"{lower.dtype.name} and {upper.dtype.name}"
    )


def _of_type(value: Any, kind: ArrayType) -> Any:
    if not isinstance(value, Tracer):
        return np.asarray(value, kind.dtype)
    if value.dtype == kind.dtype:
        return value
    return bind(elementwise.convert, value, dtype=kind.dtype)


def _fori_in_python(lower: int, upper: int, body_fun: Function, init_val: Any) -> Any:
    """As a Python loop on arrays."""
    carry = tree.map(own_copy, init_val)
    for i in range(lower, upper):
        carry = resolved(body_fun)(i, carry)
    return carry


def _outside_loop(body_fun: Function) -> Function:
    """The loop as a function of its bounds, which are traced, and of the first carry."""

    def looped(lower: Any, upper: Any, init_val: Any) -> Any:
        init = Leaves.of(init_val, "init_val")
        return _fori([lower, upper], _INDEX, body_fun, init, _OF_SCAN)

    return looped


_INDEX = ArrayType((), INT64, weak=True)  # the number of an iteration is a Python integer's
_OF_SCAN = ("scan body", "loop_carry[1]")  # what JAX calls the body and the carry of a counted loop


def _counted_scan(lower: int, length: int, body_fun: Function, init: Leaves) -> Any:
    """A scan over the numbers of the iterations."""
    init, body = _fori_body(_INDEX, body_fun, init, _OF_SCAN)
    numbers = bind(axes.iota, shape=(length,), dimension=0, dtype=INT64)
    if lower:
        start = np.int64(lower)
        numbers = bind(elementwise.add, numbers, start)
    count = len(body.captured)
    number: Var = body.graph.inputs[count]
    carry = body.graph.inputs[count + 1 :]
    graph = replace(body.graph, inputs=(*body.graph.inputs[:count], *carry, number))
    results = bind_scan(graph, body.captured, init.values, [numbers], length, False)
    return returned(results, init.tree)


def _fori_body(
    kind: ArrayType, body_fun: Function, init: Leaves, words: tuple[str, str]
) -> tuple[Leaves, Body]:
    """The initial carry and the body of a counted loop; `words` are for messages."""
    what, component = words[0], component_named(words[1])

    def traced(init: Leaves) -> Body:
        return trace_body(body_fun, [tree.LEAF, init.tree], [kind, *init.types])

    body = traced(init)
    promoted = promoted_carry(what, component, init, body.out_tree, body)
    if promoted is not None:
        init = promoted
        body = traced(init)
    check_carry(what, component, (init.tree, init.types), (body.out_tree, body.types))
    return init, body


def _fori(
    limits: Sequence[Any],
    kind: ArrayType,
    body_fun: Function,
    init: Leaves,
    words: tuple[str, str],
) -> Any:
    """A loop whose bounds are traced."""
    if kind.dtype.kind not in "iu":  # JAX counts floats as well

        def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            return state[0] + 1, state[1], resolved(body_fun)(state[0], state[2])

        state = Leaves.of((*limits, init.tree.unflatten(init.values)), "init_val")
        component = component_named("loop_carry")
        return while_in_trace(lambda state: state[0] < state[1], step, state, component)[2]
    init, body = _fori_body(kind, body_fun, init, words)
    count = len(body.captured)
    number: Var = body.graph.inputs[count]
    leading, carry = body.graph.inputs[:count], body.graph.inputs[count + 1 :]
    results: list[Any] = []
    if init.values:
        results = bind_call(
            primitives.fori_loop,
            *builtins.map(as_atom, limits),
            *body.captured,
            *builtins.map(as_atom, init.values),
            graph=replace(body.graph, inputs=(number, *leading, *carry)),
            consts=count,
        )
    return returned(results, init.tree)


# -------------------------------------------------------------------------------------------- map


@api_boundary
def map(f: Function, xs: Any, *, batch_size: int | None = None) -> Any:
    """The results of a function for each slice along the leading axis, stacked: a sequential loop,
    see `vmap` for a batched one.

    f           of one slice: pytrees of arrays
    xs          a pytree of arrays whose first axes have one size
    batch_size  slices that `vmap` computes at once; the remainder is a batch of its own, and 0
                means all
    """
    if batch_size is None:
        return scan(
            under_name(getattr(f, "__name__", "f"), lambda _, x: ((), resolved(f)(x))), (), xs
        )[1]
    leaves, structure = flatten_arrays(xs)
    size = np.shape(leaves[0])[0] if leaves else 0
    batches = size // batch_size if batch_size else 0
    if not batches:
        return vmap(f)(xs)
    whole = batches * batch_size
    together = structure.unflatten(
        np.reshape(x[:whole], (batches, batch_size, *np.shape(x)[1:])) for x in leaves
    )
    _, ys = scan(lambda _, x: ((), vmap(f)(x)), (), together)
    results, out_tree = flatten_arrays(ys)
    results = [np.reshape(y, (whole, *np.shape(y)[2:])) for y in results]
    if not is_at_most(size, whole):  # of a runtime size the rest may be empty
        rest, _ = flatten_arrays(vmap(f)(structure.unflatten(x[whole:] for x in leaves)))
        results = [np.concatenate(pair) for pair in zip(results, rest, strict=True)]
    return out_tree.unflatten(results)
