"""Loops: scan and while_loop, with JAX's names, arguments and errors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from transpile import errors, tree
from transpile.dispatch.switches import is_jit_disabled
from transpile.ir.dims import Index
from transpile.ir.graph import Atom, Graph
from transpile.ir.indices.lengths import lengths_in
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL, ArrayType
from transpile.lax.control.bodies import (
    Body,
    Leaves,
    as_atom,
    merged,
    outside,
    returned,
    trace_body,
)
from transpile.lax.control.carry_checks import check_carry, component_of
from transpile.primitives.control import primitives
from transpile.primitives.rules import bind_call
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import type_text
from transpile.trace.lengths import own_lengths
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.trace.tracer import Tracer

__all__ = ["scan", "while_loop"]

Function = Callable[..., Any]
Component = Callable[[Any], str]

# ------------------------------------------------------------------------------------------- scan


@api_boundary
def scan(
    f: Function,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """A loop over the leading axis of arrays that carries a state: (carry, x) -> (carry, y) for
    each x.

    f        (carry, x) -> (carry, y): pytrees of arrays; the carry keeps its structure and types
    init     the first carry; a Python number takes the dtype that `f` gives it
    xs       a pytree of arrays whose first axes have one size; None, or without leaves, where
             `length` is given
    reverse  from the last x to the first; each y stands at the index of its x
    unroll   checked, and without effect: the C compiler unrolls

    Returns the last carry and the ys, stacked along a new first axis. `f` is traced once;
    differentiable in both modes. Raises TypeError where the carry changes its structure or type,
    ValueError where sizes differ or there is no length.
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    length = _scan_length(flatten_arrays(xs)[0], length)
    check_unroll(unroll)
    if is_jit_disabled() and not is_traced(init, xs):
        return _scan_in_python(f, init, xs, length, reverse)

    def scanned(init: Any, xs: Any) -> tuple[Any, Any]:
        return _scan(f, Leaves.of(init, "init"), Leaves.of(xs, "xs"), length, reverse)

    if current_trace() is None:
        result: tuple[Any, Any] = outside(under_name("scan", scanned), init, xs)
        return result
    return scanned(init, xs)


def under_name(name: str, function: Function) -> Function:
    """The function under the name that messages and programs have for it."""
    function.__name__ = function.__qualname__ = name
    return function


def is_traced(*values: Any) -> bool:
    """Tell whether there is a traced leaf in pytrees."""
    return any(isinstance(x, Tracer) for x in flatten_arrays(values)[0])


def _scan_length(xs: Sequence[Any], length: Any) -> int:
    """The number of iterations, or the error about the arguments."""
    if any(not np.shape(x) for x in xs):
        listed = ", ".join(str(x) for x in xs if not np.shape(x))
        raise ValueError(
            f"{user_source()}: scan got value with no leading axis to scan over: {listed}."
        )
    sizes = [np.shape(x)[0] for x in xs]
    if length is not None:
        try:
            length = operator.index(length) if not isinstance(length, float) else int(length)
        except errors.TracerIntegerConversionError as problem:
            raise errors.ConcretizationTypeError(
                f"{user_source()}: The `length` argument to `scan` expects a concrete `int` value. "
                f"For scan-like iteration with a dynamic length, use `while_loop` or `fori_loop`."
            ) from problem
        if any(size != length for size in sizes):
            raise ValueError(
                f"{user_source()}: scan got `length` argument of {length} which disagrees with "
                f"leading axis sizes {sizes}."
            )
        return int(length)
    distinct = list(dict.fromkeys(sizes))
    if len(distinct) > 1:
        raise ValueError(
            f"{user_source()}: scan got values with different leading axis sizes: "
            f"{', '.join(map(str, sizes))}."
        )
    if not distinct:
        raise ValueError(
            f"{user_source()}: scan got no values to scan over and `length` not provided."
        )
    return distinct[0]  # type: ignore[no-any-return]


def check_unroll(unroll: Any) -> None:
    """Raise JAX's ValueError for an invalid number of iterations to unroll."""
    if not isinstance(unroll, bool) and operator.index(unroll) < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")


def _scan_in_python(f: Function, init: Any, xs: Any, length: int, reverse: bool) -> tuple[Any, Any]:
    """As a Python loop on arrays."""
    if not length:
        raise ValueError(
            f"{user_source()}: zero-length scan is not supported in disable_jit() mode because the "
            f"output type is unknown."
        )
    carry, ys = tree.map(own_copy, init), []
    for i in primitives.iterations(length, reverse):
        carry, y = resolved(f)(carry, tree.map(lambda x, i=i: own_copy(x[i]), xs))
        ys.append(y)
    return carry, tree.map(lambda *parts: np.stack(parts), *(ys[::-1] if reverse else ys))


def own_copy(x: Any) -> Any:
    """A copy of the array, as the body may assign to it."""
    return np.array(x)


def _scan(f: Function, init: Leaves, xs: Leaves, length: int, reverse: bool) -> tuple[Any, Any]:
    """In the trace under way."""
    slices = [kind.with_shape(kind.shape[1:]) for kind in xs.types]
    component = component_of(f)

    def traced(init: Leaves) -> tuple[Body, list[tree.TreeDef]]:
        body = trace_body(f, [init.tree, xs.tree], [*init.types, *slices])
        parts = body.out_tree.children()
        if body.out_tree.node is None or len(parts) != 2:
            shown = body.out_tree.unflatten([type_text(k) for k in body.types])
            raise TypeError(
                f"{user_source()}: scan body output must be a pair, got {shown}.".replace("'", "")
            )
        return body, parts

    body, (carry_tree, ys_tree) = traced(init)
    promoted = promoted_carry("scan body", component, init, carry_tree, body)
    if promoted is not None:
        init = promoted
        body, (carry_tree, ys_tree) = traced(init)
    carry = len(init.values)
    check_carry("scan body", component, (init.tree, init.types), (carry_tree, body.types[:carry]))
    if own_lengths(body.graph):
        (one, *_) = (k for k in body.types[carry:] if lengths_in([k.shape]))
        raise errors.UnsupportedError(
            f"{user_source()}: the iterations of scan give arrays of different lengths, "
            f"{type_text(one)}, which do not stack. numpy.where(mask, x, 0) keeps the shape of x; "
            "x[transpile.numpy.nonzero(mask, size=n)] has n elements."
        )
    results = bind_scan(body.graph, body.captured, init.values, xs.values, length, reverse)
    return (
        returned(results[:carry], init.tree),
        returned(results[carry:], ys_tree),
    )


def promoted_carry(
    what: str, component: Component, init: Leaves, carry_tree: tree.TreeDef, body: Body
) -> Leaves | None:
    """The initial carry in the dtypes that the body gives to Python numbers in it; None if none
    changes."""
    types = body.types[: carry_tree.num_leaves]
    if carry_tree.num_leaves != len(init.types):
        check_carry(what, component, (init.tree, init.types), (carry_tree, types))
    return init.promoted(types)


def bind_scan(
    graph: Graph,
    consts: Sequence[Any],
    carry: Sequence[Any],
    xs: Sequence[Any],
    length: Index,
    reverse: bool,
) -> list[Any]:
    """The results of a scan. A carry that the body returns unchanged becomes a constant, and a y
    that is an x is forwarded."""
    count, first_x = len(carry), len(consts) + len(carry)
    is_fixed = [graph.outputs[k] is graph.inputs[len(consts) + k] for k in range(count)]
    forwarded: dict[Atom, Any] = dict(zip(graph.inputs[first_x:], xs, strict=True))
    ys = graph.outputs[count:]
    moving = [k for k in range(count) if not is_fixed[k]]
    still = [k for k in range(count) if is_fixed[k]]
    inputs = graph.inputs[len(consts) : first_x]
    body = replace(
        graph,
        inputs=(
            *graph.inputs[: len(consts)],
            *[inputs[k] for k in still],
            *[inputs[k] for k in moving],
            *graph.inputs[first_x:],
        ),
        outputs=(
            *[graph.outputs[k] for k in moving],
            *[a for a in ys if a not in forwarded],
        ),
    )
    results: list[Any] = []
    if body.outputs or body.has_effects:
        results = bind_call(
            primitives.scan,
            *consts,
            *[as_atom(carry[k]) for k in still],
            *[as_atom(carry[k]) for k in moving],
            *map(as_atom, xs),
            graph=body,
            consts=len(consts) + len(still),
            carry=len(moving),
            length=length,
            reverse=reverse,
        )
    given = iter(results)
    last = [carry[k] if is_fixed[k] else next(given) for k in range(count)]
    return [*last, *[forwarded[a] if a in forwarded else next(given) for a in ys]]


# ------------------------------------------------------------------------------------- while_loop


@api_boundary
def while_loop(cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
    """A loop that applies `body_fun` to a carry as long as `cond_fun` of it is true.

    cond_fun  carry -> a bool
    body_fun  carry -> carry: a pytree of arrays that keeps its structure and types
    init_val  the first carry; a Python number takes the dtype that `body_fun` gives it

    Returns the last carry. Differentiable in forward mode only, as the number of iterations is not
    known. Both functions are traced once. Raises TypeError where the carry changes its structure or
    type, and for a condition that is no scalar bool.
    """
    if not (callable(body_fun) and callable(cond_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if is_jit_disabled() and not is_traced(init_val):
        carry = tree.map(own_copy, init_val)
        while resolved(cond_fun)(carry):
            carry = tree.map(np.asarray, resolved(body_fun)(carry))
        return carry

    def looped(init_val: Any) -> Any:
        init = Leaves.of(init_val, "init_val")
        return while_in_trace(cond_fun, body_fun, init, component_of(body_fun))

    if current_trace() is None:
        return outside(under_name("while_loop", looped), init_val)
    return looped(init_val)


def while_in_trace(
    cond_fun: Function, body_fun: Function, init: Leaves, component: Component
) -> Any:
    """In the trace under way."""

    def traced(init: Leaves) -> tuple[Body, Body]:
        condition = trace_body(cond_fun, [init.tree], init.types)
        _check_condition(condition)
        return condition, trace_body(body_fun, [init.tree], init.types)

    condition, body = traced(init)
    promoted = promoted_carry("while_loop body", component, init, body.out_tree, body)
    if promoted is not None:
        init = promoted
        condition, body = traced(init)
    check_carry("while_loop body", component, (init.tree, init.types), (body.out_tree, body.types))
    (test, once), captured = merged([condition, body])
    results = (
        bind_call(
            primitives.while_,
            *captured,
            *map(as_atom, init.values),
            condition=test,
            body=once,
            consts=len(captured),
        )
        if init.values
        else []
    )
    return returned(results, init.tree)


def _check_condition(condition: Body) -> None:
    if condition.out_tree.node is not None:
        raise TypeError(
            f"{user_source()}: cond_fun must return a boolean scalar, but got pytree "
            f"{condition.out_tree}."
        )
    if [kind.strong for kind in condition.types] != [ArrayType((), BOOL)]:
        listed = ", ".join(map(type_text, condition.types))
        raise TypeError(
            f"{user_source()}: cond_fun must return a boolean scalar, but got output type(s) "
            f"[{listed}]."
        )
