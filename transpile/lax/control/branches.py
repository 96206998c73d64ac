"""Branches: cond, switch, platform_dependent, with JAX's names, arguments and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from transpile.dispatch.switches import is_jit_disabled
from transpile.ir.dims import Dim
from transpile.ir.graph import Atom, Graph
from transpile.ir.source_info import user_source
from transpile.ir.types import PYTHON_SCALARS, kind_letter, type_of
from transpile.lax.control.bodies import (
    Body,
    Leaves,
    as_atom,
    merged,
    outside,
    returned,
    trace_body,
)
from transpile.lax.control.carry_checks import check_branches
from transpile.lax.control.loops import under_name
from transpile.numpy.core.runtime_sizes import dimension_value
from transpile.primitives.control import primitives
from transpile.primitives.rules import bind_call
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.trace.tracer import Tracer
from transpile.transforms.closed import apply
from transpile.util.interrupt_safety import THREAD

__all__ = ["cond", "platform_dependent", "switch"]

Function = Callable[..., Any]
_NO_OPERAND: Any = object()  # where the keyword `operand` is not given


@api_boundary
def cond(
    pred: Any,
    true_fun: Function,
    false_fun: Function,
    *operands: Any,
    operand: Any = _NO_OPERAND,
) -> Any:
    """The result of `true_fun(*operands)` where `pred` is true, else of `false_fun(*operands)`.

    pred                 a bool, or a number, which is true if it is not 0
    true_fun, false_fun  functions of pytrees of arrays, with results of one structure and types;
                         both are traced, one of them runs
    operand              the only operand, by keyword

    Under `vmap` with a batched predicate both run, and results are selected. The older form
    `cond(pred, x_true, f_true, x_false, f_false)` works as well. Raises TypeError for a `pred` that
    is no scalar, and where the results differ in structure or type.
    """
    if not (callable(true_fun) and callable(false_fun)):
        if not (callable(false_fun) and len(operands) == 2 and callable(operands[1])):
            raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
        of_true, of_false = false_fun, operands[1]
        operands = (true_fun, operands[0])
        return cond(pred, lambda x, _: of_true(x), lambda _, x: of_false(x), *operands)
    operands = _with_operand(operands, operand)
    pred = _predicate(pred)
    if is_jit_disabled() and not isinstance(pred, Tracer):
        return (true_fun if pred else false_fun)(*operands)
    names = ("true_fun", "false_fun")

    def chosen(pred: Any, *operands: Any) -> Any:
        return _choose("cond", pred, [true_fun, false_fun], names, operands)

    if current_trace() is None:
        return outside(under_name("cond", chosen), pred, *operands)
    return chosen(pred, *operands)


def _with_operand(operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(
            f"if 'operand' keyword is passed then no positional operands can be passed, got "
            f"{operand=} and positional operands {operands}"
        )
    return (operand,)


def _predicate(pred: Any) -> Any:
    """The predicate as a bool, or JAX's TypeError about it."""
    if pred is None:
        raise TypeError("cond predicate is None")
    if isinstance(pred, Sequence) or np.ndim(pred) != 0:
        what = f"type {type(pred)}" if isinstance(pred, Sequence) else f"shape {np.shape(pred)}"
        raise TypeError(f"{user_source()}: Pred must be a scalar, got {pred} of {what}.")
    dtype = _dtype(pred)
    letter = "" if dtype is None else kind_letter(dtype)
    if letter == "b":
        return pred
    if letter and letter in "iuf":
        return pred != 0
    shown = pred if dtype is None else dtype
    raise TypeError(f"{user_source()}: Pred type must be either boolean or number, got {shown}.")


def _dtype(value: Any) -> np.dtype[Any] | None:
    """The dtype of a number or an array; None for anything else."""
    if type(value) in PYTHON_SCALARS or hasattr(value, "dtype"):
        return value.dtype if isinstance(value, Tracer) else type_of(value).dtype
    return None


@api_boundary
def switch(
    index: Any, branches: Sequence[Function], *operands: Any, operand: Any = _NO_OPERAND
) -> Any:
    """The result of `branches[index](*operands)`, with the index clamped to the branches.

    index     an integer
    branches  functions of pytrees of arrays, with results of one structure and types; all are
              traced, one of them runs
    operand   the only operand, by keyword

    Raises TypeError for an index that is no scalar integer, and where the results differ in
    structure or type; ValueError where there are no branches.
    """
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = _with_operand(operands, operand)
    index = dimension_value(index) if isinstance(index, Dim) else index
    if np.ndim(index) != 0:
        raise TypeError(
            f"{user_source()}: Branch index must be scalar, got {index} of shape {np.shape(index)}."
        )
    dtype = _dtype(index)
    if dtype is None:
        raise TypeError(f"{user_source()}: Index type must be an integer, got {index}.")
    if dtype.kind not in "iu":
        raise TypeError(
            f"{user_source()}: Index type must be an integer, got {index} as {dtype.name}"
        )
    functions = list(branches)
    if not functions:
        raise ValueError("Empty branch sequence")
    if len(functions) == 1:
        return functions[0](*operands)
    if is_jit_disabled() and not isinstance(index, Tracer):
        return functions[min(max(int(index), 0), len(functions) - 1)](*operands)
    # JAX writes the names so.
    names = ["branch 0", *[f"branch{k}" for k in range(1, len(functions))]]

    def chosen(index: Any, *operands: Any) -> Any:
        return _choose("switch", index, functions, names, operands)

    if current_trace() is None:
        return outside(under_name("switch", chosen), index, *operands)
    return chosen(index, *operands)


def _choose(
    what: str,
    index: Any,
    functions: Sequence[Function],
    names: Sequence[str],
    operands: tuple[Any, ...],
) -> Any:
    """In the trace under way. The functions are in the order of messages: that for true first."""
    parts = [Leaves.of(x, f"operands[{k}]") for k, x in enumerate(operands)]
    trees = [part.tree for part in parts]
    types = [kind for part in parts for kind in part.types]
    values = [x for part in parts for x in part.values]
    bodies = [trace_body(function, trees, types) for function in functions]
    for number in range(1, len(bodies)):
        first, other = bodies[0], bodies[number]
        check_branches(
            what,
            (names[0], names[number]),
            (functions[0], functions[number]),
            (first.out_tree, first.types),
            (other.out_tree, other.types),
        )
    if what == "cond":
        bodies = bodies[::-1]  # False is branch 0
    if not isinstance(index, Tracer):
        chosen = min(max(int(index), 0), len(bodies) - 1)
        body = bodies[chosen]
        results = apply(body.graph, [*body.captured, *map(as_atom, values)])
        return returned(results, bodies[0].out_tree)
    return returned(bind_cond(index, bodies, values), bodies[0].out_tree)


def bind_cond(index: Any, bodies: Sequence[Body], values: Sequence[Any]) -> list[Any]:
    """The results of a choice. A result that is the same operand in all branches is forwarded."""
    graphs, captured = merged(bodies)
    operands = [*captured, *map(as_atom, values)]
    forwarded = [_input_positions(graph) for graph in graphs]
    same = [
        column[0] if all(p == column[0] for p in column) else None
        for column in zip(*forwarded, strict=True)
    ]
    left = [
        replace(
            graph,
            outputs=tuple(a for a, p in zip(graph.outputs, same, strict=True) if p is None),
        )
        for graph in graphs
    ]
    chosen: list[Any] = []
    if any(position is None for position in same) or any(graph.has_effects for graph in left):
        chosen = bind_call(primitives.cond, index, *operands, branches=tuple(left))
    given = iter(chosen)
    return [next(given) if position is None else operands[position] for position in same]


def _input_positions(graph: Graph) -> list[int | None]:
    """For each output the position of the input that it is, if it is one."""
    positions: dict[Atom, int] = {v: k for k, v in enumerate(graph.inputs)}
    return [positions.get(a) for a in graph.outputs]


@api_boundary
def platform_dependent(
    *args: Any, default: Function | None = None, **per_platform: Function
) -> Any:
    """The result of the function for the platform that the program runs on, `cpu` or `cuda`, chosen
    while tracing.

    per_platform  functions of `args` by the names of platforms: cpu, tpu, cuda, rocm
    default       the function for other platforms

    Raises TypeError for what is no function, ValueError for `gpu`, which names no platform, and
    NotImplementedError where there is no function for this one.
    """
    for name, function in per_platform.items():
        if not callable(function):
            raise TypeError(f"lax.platform_dependent: the '{name}' branch must be a callable.")
        if name == "gpu":
            raise ValueError("Use 'cuda' or 'rocm' for lax.platform_dependent.")
    if default is not None and not callable(default):
        raise TypeError("lax.platform_dependent: the 'default' branch must be a callable.")
    chosen = per_platform.get(THREAD.platform, default)
    if chosen is None:
        listed = ", ".join(per_platform)
        raise NotImplementedError(
            f"{user_source()}: lax.platform_dependent has no branch for the platform "
            f"{THREAD.platform}, and no default; there is one for {listed or 'no platform'}"
        )
    return chosen(*args)
