"""Loops: scan, while_loop, fori_loop, map, with JAX's names, arguments and errors."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from transpile import errors, tree
from transpile.functional.vectorize import vmap
from transpile.graph import Atom, Graph, Var
from transpile.lax.bodies import (
    Body,
    Leaves,
    as_atom,
    handed_back,
    merged,
    outside,
    trace_body,
)
from transpile.lax.carries import check_carry, component_named, component_of
from transpile.primitives import axes, control, elementwise
from transpile.primitives.calls import bind_call
from transpile.signature import type_text
from transpile.source import user_source
from transpile.trace import bind, current_trace
from transpile.tracer import UNKNOWN, Tracer
from transpile.types import BOOL, INT64, ArrayType
from transpile.wrapped import is_jit_disabled

__all__ = ["fori_loop", "map", "scan", "while_loop"]

Function = Callable[..., Any]
Component = Callable[[Any], str]

# ------------------------------------------------------------------------------------------- scan


def scan(
    f: Function,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Go over the leading axis of arrays with a state that is carried along.

    f        (carry, x) -> (carry, y): pytrees of arrays; the carry keeps its structure and types
    init     the first carry; a Python number takes the dtype that `f` gives it
    xs       a pytree of arrays whose first axes have one size; None, or without leaves, where
             `length` is given
    reverse  go from the last x to the first; each y stands at the place of its x
    unroll   accepted for compatibility, and checked: the C compiler unrolls

    Gives the last carry and the ys, stacked along a new first axis. Raises TypeError where the
    carry changes its type, ValueError where the sizes do not fit.
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    length = _scan_length(tree.leaves(xs), length)
    _check_unroll(unroll)
    if is_jit_disabled() and not _is_traced(init, xs):
        return _scan_in_python(f, init, xs, length, reverse)

    def scanned(init: Any, xs: Any) -> tuple[Any, Any]:
        return _scan(f, Leaves.of(init, "init"), Leaves.of(xs, "xs"), length, reverse)

    if current_trace() is None:
        found: tuple[Any, Any] = outside(_as("scan", scanned), init, xs)
        return found
    return scanned(init, xs)


def _as(name: str, function: Function) -> Function:
    """The function under the name that messages and programs have for it."""
    function.__name__ = function.__qualname__ = name
    return function


def _is_traced(*values: Any) -> bool:
    return any(isinstance(x, Tracer) for x in tree.leaves(values))


def _scan_length(xs: Sequence[Any], length: Any) -> int:
    """The number of iterations, or the error that the arguments deserve."""
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
            f"{', '.join(builtins.map(str, sizes))}."
        )
    if not distinct:
        raise ValueError(
            f"{user_source()}: scan got no values to scan over and `length` not provided."
        )
    return distinct[0]  # type: ignore[no-any-return]


def _check_unroll(unroll: Any) -> None:
    if not isinstance(unroll, bool) and operator.index(unroll) < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")


def _scan_in_python(f: Function, init: Any, xs: Any, length: int, reverse: bool) -> tuple[Any, Any]:
    """As a Python loop on arrays."""
    if not length:
        raise ValueError(
            f"{user_source()}: zero-length scan is not supported in disable_jit() mode because the "
            f"output type is unknown."
        )
    carry, ys = tree.map(_own, init), []
    for i in control.steps(length, reverse):
        carry, y = f(carry, tree.map(lambda x, i=i: _own(x[i]), xs))
        ys.append(y)
    return carry, tree.map(lambda *parts: np.stack(parts), *(ys[::-1] if reverse else ys))


def _own(x: Any) -> Any:
    """The array, copied: the body may assign to it."""
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
    promoted = _promoted("scan body", component, init, carry_tree, body)
    if promoted is not None:
        init = promoted
        body, (carry_tree, ys_tree) = traced(init)
    carry = len(init.values)
    check_carry("scan body", component, (init.tree, init.types), (carry_tree, body.types[:carry]))
    results = bind_scan(body.graph, body.captured, init.values, xs.values, length, reverse)
    return (
        handed_back(results[:carry], init.tree),
        handed_back(results[carry:], ys_tree),
    )


def _promoted(
    what: str, component: Component, init: Leaves, carry_tree: tree.TreeDef, body: Body
) -> Leaves | None:
    """The initial carry as the body wants it, where Python numbers in it take other dtypes."""
    types = body.types[: carry_tree.num_leaves]
    if carry_tree.num_leaves != len(init.types):
        check_carry(what, component, (init.tree, init.types), (carry_tree, types))
    return init.promoted(types)


def bind_scan(
    graph: Graph,
    consts: Sequence[Any],
    carry: Sequence[Any],
    xs: Sequence[Any],
    length: int,
    reverse: bool,
) -> list[Any]:
    """The results of a scan. A carry that the body hands on unchanged is a const, and a y that is
    an x is that one."""
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
    found: list[Any] = []
    if body.outputs:
        found = bind_call(
            control.scan,
            *consts,
            *[as_atom(carry[k]) for k in still],
            *[as_atom(carry[k]) for k in moving],
            *builtins.map(as_atom, xs),
            graph=body,
            consts=len(consts) + len(still),
            carry=len(moving),
            length=length,
            reverse=reverse,
        )
    given = iter(found)
    last = [carry[k] if is_fixed[k] else next(given) for k in range(count)]
    return [*last, *[forwarded[a] if a in forwarded else next(given) for a in ys]]


# ------------------------------------------------------------------------------------- while_loop


def while_loop(cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
    """Apply `body_fun` to a carry as long as `cond_fun` of it is true.

    cond_fun  carry -> a bool
    body_fun  carry -> carry: a pytree of arrays that keeps its structure and types
    init_val  the first carry; a Python number takes the dtype that `body_fun` gives it

    Gives the last carry. It can be differentiated in forward mode only. Raises TypeError where the
    carry changes its type, and for a condition that is no bool.
    """
    if not (callable(body_fun) and callable(cond_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if is_jit_disabled() and not _is_traced(init_val):
        carry = tree.map(_own, init_val)
        while cond_fun(carry):
            carry = tree.map(np.asarray, body_fun(carry))
        return carry

    def looped(init_val: Any) -> Any:
        init = Leaves.of(init_val, "init_val")
        return _while(cond_fun, body_fun, init, component_of(body_fun))

    if current_trace() is None:
        return outside(_as("while_loop", looped), init_val)
    return looped(init_val)


def _while(cond_fun: Function, body_fun: Function, init: Leaves, component: Component) -> Any:
    """In the trace under way."""

    def traced(init: Leaves) -> tuple[Body, Body]:
        condition = trace_body(cond_fun, [init.tree], init.types)
        _check_condition(condition)
        return condition, trace_body(body_fun, [init.tree], init.types)

    condition, body = traced(init)
    promoted = _promoted("while_loop body", component, init, body.out_tree, body)
    if promoted is not None:
        init = promoted
        condition, body = traced(init)
    check_carry("while_loop body", component, (init.tree, init.types), (body.out_tree, body.types))
    (test, once), captured = merged([condition, body])
    results = (
        bind_call(
            control.while_,
            *captured,
            *builtins.map(as_atom, init.values),
            condition=test,
            body=once,
            consts=len(captured),
        )
        if init.values
        else []
    )
    return handed_back(results, init.tree)


def _check_condition(condition: Body) -> None:
    if condition.out_tree.node is not None:
        raise TypeError(
            f"{user_source()}: cond_fun must return a boolean scalar, but got pytree "
            f"{condition.out_tree}."
        )
    if [kind.strong for kind in condition.types] != [ArrayType((), BOOL)]:
        listed = ", ".join(builtins.map(type_text, condition.types))
        raise TypeError(
            f"{user_source()}: cond_fun must return a boolean scalar, but got output type(s) "
            f"[{listed}]."
        )


# -------------------------------------------------------------------------------------- fori_loop


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Function,
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Apply `body_fun` to a carry for each integer from `lower` up to, not including, `upper`.

    body_fun  (i, carry) -> carry: a pytree of arrays that keeps its structure and types
    init_val  the first carry; a Python number takes the dtype that `body_fun` gives it
    unroll    accepted for compatibility, and checked: the C compiler unrolls

    Gives the last carry. With bounds that are known while tracing it can be differentiated in both
    modes, otherwise in forward mode only. Raises TypeError where the carry changes its type, and
    for bounds of different types.
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    bounds = Leaves.of((lower, upper), "bounds")
    kind = _bounds_type(bounds.types)
    known = [_known(x) for x in bounds.values]
    if all(x is not UNKNOWN for x in known):
        _check_unroll(unroll or 0)
        start, stop = int(known[0]), int(known[1])
        if is_jit_disabled() and not _is_traced(init_val):
            return _fori_in_python(start, stop, body_fun, init_val)
        if current_trace() is not None:
            init = Leaves.of(init_val, "init_val")
            return _counted_scan(start, max(stop - start, 0), body_fun, init)
        # The program is the same for all bounds: outside of traces nobody asks for a derivative.
        return outside(_as("fori_loop", _outside_loop(body_fun)), start, stop, init_val)
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
    """The type of an iteration's number: a Python integer takes the type of the other bound."""
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
        return as_atom(np.asarray(value, kind.dtype))
    if value.dtype == kind.dtype:
        return value
    return bind(elementwise.convert, value, dtype=kind.dtype)


def _fori_in_python(lower: int, upper: int, body_fun: Function, init_val: Any) -> Any:
    """As a Python loop on arrays."""
    carry = tree.map(_own, init_val)
    for i in range(lower, upper):
        carry = body_fun(i, carry)
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
    return handed_back(results, init.tree)


def _fori_body(
    kind: ArrayType, body_fun: Function, init: Leaves, words: tuple[str, str]
) -> tuple[Leaves, Body]:
    """The initial carry and the body of a counted loop; `words` are for messages."""
    what, component = words[0], component_named(words[1])

    def traced(init: Leaves) -> Body:
        return trace_body(body_fun, [tree.LEAF, init.tree], [kind, *init.types])

    body = traced(init)
    promoted = _promoted(what, component, init, body.out_tree, body)
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
            return state[0] + 1, state[1], body_fun(state[0], state[2])

        state = Leaves.of((*limits, init.tree.unflatten(init.values)), "init_val")
        component = component_named("loop_carry")
        return _while(lambda state: state[0] < state[1], step, state, component)[2]
    init, body = _fori_body(kind, body_fun, init, words)
    count = len(body.captured)
    number: Var = body.graph.inputs[count]
    leading, carry = body.graph.inputs[:count], body.graph.inputs[count + 1 :]
    results: list[Any] = []
    if init.values:
        results = bind_call(
            control.fori_loop,
            *limits,
            *body.captured,
            *builtins.map(as_atom, init.values),
            graph=replace(body.graph, inputs=(number, *leading, *carry)),
            consts=count,
        )
    return handed_back(results, init.tree)


# -------------------------------------------------------------------------------------------- map


def map(f: Function, xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply a function to each slice along the leading axis, and stack the results.

    f           of one slice: pytrees of arrays
    xs          a pytree of arrays whose first axes have one size
    batch_size  compute so many slices at once, by `vmap`; what is left over is a batch of its own.
                0: all at once
    """
    if batch_size is None:
        return scan(_as(getattr(f, "__name__", "f"), lambda _, x: ((), f(x))), (), xs)[1]
    leaves = tree.leaves(xs)
    size = np.shape(leaves[0])[0] if leaves else 0
    batches = size // batch_size if batch_size else 0
    if not leaves or not batches:
        return vmap(f)(xs)
    whole = batches * batch_size
    together = tree.map(
        lambda x: np.reshape(x[:whole], (batches, batch_size, *np.shape(x)[1:])), xs
    )
    _, ys = scan(lambda _, x: ((), vmap(f)(x)), (), together)
    ys = tree.map(lambda y: np.reshape(y, (whole, *np.shape(y)[2:])), ys)
    if whole == size:
        return ys
    rest = vmap(f)(tree.map(lambda x: x[whole:], xs))
    return tree.map(lambda y, more: np.concatenate([y, more]), ys, rest)
