"""Jacobians: jacfwd, jacrev, jacobian, hessian.

Names, arguments, results and errors are JAX's. The function is linearized once. For each leaf of
the arguments (forward mode) or of the result (reverse mode) the linear graph, or its transpose, is
batched over the unit vectors of that leaf (`unit_vectors`), while the other leaves are zero from
the start.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile import tree
from transpile.functional.differentiate import linearized_graph
from transpile.functional.flatten_fun import (
    Flat,
    argument_names,
    as_value,
    flatten_function,
    is_inexact,
    value_type,
)
from transpile.functional.gradients import (
    argument_numbers,
    check_input,
    check_output,
    chosen_arguments,
    named_like,
)
from transpile.functional.standard_basis import at_unit_vectors
from transpile.ir.graph import Graph
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType, kind_letter
from transpile.primitives.rules import reshaped, transposed, zeros
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.trace import the_trace
from transpile.trace.tracebacks import api_boundary
from transpile.transforms.closed import Closed, rewritten
from transpile.transforms.closed import apply as apply_graph
from transpile.transforms.linearize import linearize as linearize_graph
from transpile.transforms.transpose import transpose
from transpile.util.frozen_records import dataclass

Blocks = dict[tuple[int, int], Any]  # by the numbers of the result's and of the argument's leaf


def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun`, by forward mode: one batched tangent for each
    element of the arguments.

    Cheaper than `jacrev` where the result has more elements than the arguments.

    argnums      the positional argument, or the tuple of them, to differentiate with respect to:
                 pytrees of floats
    has_aux      `fun` returns (result, auxiliary result), and the Jacobian is paired with that one
    holomorphic  arguments and result are complex, and `fun` is promised to be holomorphic

    The Jacobian has the structure of the result, with the structure of the arguments in place of
    each leaf (a tuple of those for a tuple of `argnums`). The leaf for a result of shape `out` and
    an argument of shape `in` has the shape `out + in` and the dtype of the result. Raises TypeError
    for arguments that are not real, or with `holomorphic` not complex.
    """
    return named_like(fun, _jacfwd(fun, argnums, has_aux, holomorphic), "jacfwd")


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun`, by reverse mode: one batched cotangent for
    each element of the result.

    Cheaper than `jacfwd` where the arguments have more elements than the result. `jacobian` is
    another name.

    argnums      the positional argument, or the tuple of them, to differentiate with respect to:
                 pytrees of floats or complex numbers
    has_aux      `fun` returns (result, auxiliary result), and the Jacobian is paired with that one
    holomorphic  arguments and result are complex, and `fun` is promised to be holomorphic
    allow_int    arguments may be integers; the Jacobian by them is zero

    The Jacobian has the structure of the result, with the structure of the arguments in place of
    each leaf (a tuple of those for a tuple of `argnums`). The leaf for a result of shape `out` and
    an argument of shape `in` has the shape `out + in` and the dtype of the argument. Raises
    TypeError for a result that is not real, or with `holomorphic` not complex, and for arguments of
    other dtypes.
    """
    return named_like(fun, _jacrev(fun, argnums, has_aux, holomorphic, allow_int), "jacrev")


def jacobian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian by reverse mode: another name for `jacrev`."""
    return jacrev(fun, argnums, has_aux, holomorphic, allow_int)


def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """A function that returns the second derivatives of `fun`, `jacfwd(jacrev(fun))`, whose
    arguments and errors it has.

    The result has the structure of the result of `fun`, with that of the arguments in place of each
    leaf, and again in place of each leaf of those. A leaf has the shape `out + in + in`.
    """
    gradient = jacrev(fun, argnums, has_aux, holomorphic)
    return named_like(fun, _jacfwd(gradient, argnums, has_aux, holomorphic), "hessian")


# ----------------------------------------------------------------------------------- one function


def _jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, holomorphic: bool
) -> Callable[..., Any]:
    def check_inputs(dtype: np.dtype[Any]) -> None:
        _check_forward_input(dtype, holomorphic)

    def check_results(dtype: np.dtype[Any]) -> None:
        if holomorphic:
            check_output("jacfwd", dtype, holomorphic)

    checks = (check_inputs, check_results)
    return _jacobian_function(fun, argnums, has_aux, checks, _forward_blocks)


def _jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
) -> Callable[..., Any]:
    def check_inputs(dtype: np.dtype[Any]) -> None:
        check_input("jacrev", np.zeros((), dtype), holomorphic, allow_int)

    def check_results(dtype: np.dtype[Any]) -> None:
        check_output("jacrev", dtype, holomorphic)

    checks = (check_inputs, check_results)
    return _jacobian_function(fun, argnums, has_aux, checks, _backward_blocks)


def _check_forward_input(dtype: np.dtype[Any], holomorphic: bool) -> None:
    if holomorphic and dtype.kind != "c":
        raise TypeError(
            f"{user_source()}: jacfwd with holomorphic=True requires inputs with complex dtype, "
            f"but got {dtype.name}."
        )
    if not holomorphic and kind_letter(dtype) != "f":
        raise TypeError(
            f"{user_source()}: jacfwd requires real-valued inputs (input dtype that is a sub-dtype "
            f"of np.floating), but got {dtype.name}. For holomorphic differentiation, pass "
            f"holomorphic=True. For differentiation of non-holomorphic functions involving complex "
            f"inputs or integer inputs, use jvp directly."
        )


Check = Callable[[np.dtype[Any]], None]
BlocksOf = Callable[["_Derivative", Sequence[Any]], list[Any]]


def _jacobian_function(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    checks: tuple[Check, Check],
    blocks_of: BlocksOf,
) -> Callable[..., Any]:
    """The function that computes the blocks and puts them into the structure of a Jacobian."""
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    is_single = argument_numbers(argnums)[1]
    role = "backward" if blocks_of is _backward_blocks else "forward"
    check_argument, check_result = checks

    @functools.wraps(fun)
    @api_boundary
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        partial, chosen, positions = chosen_arguments(fun, argnums, args, kwargs)
        names = argument_names(fun, chosen, positions)
        for leaf, name in zip(flatten_arrays(chosen)[0], names, strict=True):
            check_argument(value_type(as_value(leaf, repr(name))).dtype)
        flat, leaves = flatten_function(
            partial, chosen, has_aux=has_aux, argnums=positions, role=role
        )
        for kind in flat.out_types:
            check_result(kind.dtype)
        results, aux = _run(flat, leaves, blocks_of)
        in_tree = tree.structure(chosen[0]) if is_single else flat.in_tree
        width = in_tree.num_leaves
        rows = [
            in_tree.unflatten(results[k * width : (k + 1) * width])
            for k in range(flat.out_tree.num_leaves)
        ]
        jacobian = flat.out_tree.unflatten(rows)
        return (jacobian, flat.aux(aux)) if has_aux else jacobian

    return jacobian_of


def _run(flat: Flat, leaves: Sequence[Any], blocks_of: BlocksOf) -> tuple[list[Any], list[Any]]:
    """The blocks of the Jacobian, row by row, and what the auxiliary result is made of."""
    count = flat.out_tree.num_leaves
    linearized = linearized_graph(flat, leaves).without_results(count)
    derivative = _Derivative(
        linearized.linear,
        flat.in_types,
        flat.out_types,
        [k for k, kind in enumerate(flat.in_types) if is_inexact(kind)],
        [k for k, moves in enumerate(linearized.active[:count]) if moves],
    )

    def everything(*values: Any) -> list[Any]:
        aux, residuals = linearized.split(apply_graph(linearized.forward.graph, values))
        with the_trace().at(flat.closed.graph.source), np.errstate(all="ignore"):
            return blocks_of(derivative, residuals) + aux

    values = flat.run(rewritten(everything, linearized.forward, linearized.forward.inputs), leaves)
    size = count * len(flat.in_types)
    return values[:size], values[size:]


# ------------------------------------------------------------------------------------- the blocks


@dataclass(frozen=True, eq=False)
class _Derivative:
    """The linear graph of a function's derivative, the types of the function's leaves, and the
    numbers of the leaves that have tangents."""

    linear: Graph
    in_types: list[ArrayType]
    out_types: list[ArrayType]
    active: list[int]
    moving: list[int]

    def dense(self, blocks: Blocks, is_forward: bool) -> list[Any]:
        """All blocks, row by row: those that are there, and zeros."""
        return [
            blocks[row, column]
            if (row, column) in blocks
            else zeros(ArrayType((*out.shape, *kind.shape), (out if is_forward else kind).dtype))
            for row, out in enumerate(self.out_types)
            for column, kind in enumerate(self.in_types)
        ]


def _forward_blocks(derivative: _Derivative, residuals: Sequence[Any]) -> list[Any]:
    """The Jacobian by columns: the tangents of the results for unit tangents of each leaf."""
    blocks: Blocks = {}
    for position, column in enumerate(derivative.active):
        graph, values, moving = _restricted(derivative.linear, residuals, position)
        kind = derivative.in_types[column]
        rows = [row for row, moves in zip(derivative.moving, moving, strict=True) if moves]
        for row, block in zip(rows, at_unit_vectors(graph, values), strict=True):
            if block is not None:
                shape = (*derivative.out_types[row].shape, *kind.shape)
                last = transposed(block, (*range(1, block.ndim), 0)) if kind.shape else block
                blocks[row, column] = reshaped(last, shape)
    return derivative.dense(blocks, True)


def _restricted(
    linear: Graph, residuals: Sequence[Any], position: int
) -> tuple[Graph, Sequence[Any], list[bool]]:
    """A linear graph as one of a single tangent, the others being zero: with its residuals, and
    which of its results depend on that tangent."""
    tangents = linear.inputs[len(residuals) :]
    if len(tangents) == 1:
        return linear, residuals, [True] * len(linear.outputs)
    kept = [False] * len(residuals) + [k == position for k in range(len(tangents))]
    part = linearize_graph(Closed(linear), kept).without_results(len(linear.outputs))
    others = [zeros(v.type) for v in tangents]
    given = [*part.forward.captured, *residuals, *others]
    return part.linear, apply_graph(part.forward.graph, given), part.active


def _backward_blocks(derivative: _Derivative, residuals: Sequence[Any]) -> list[Any]:
    """The Jacobian by rows: the cotangents of the arguments for unit cotangents of each leaf of the
    result."""
    blocks: Blocks = {}
    are_linear = [False] * len(residuals) + [True] * len(derivative.active)
    for position, row in enumerate(derivative.moving):
        given = [k == position for k in range(len(derivative.moving))]
        pullback, flags = transpose(Closed(derivative.linear), are_linear, given)
        values = [*pullback.captured, *residuals]
        kind = derivative.out_types[row]
        columns = [c for c, is_there in zip(derivative.active, flags, strict=True) if is_there]
        by_unit = at_unit_vectors(pullback.graph, values)
        for column, block in zip(columns, by_unit, strict=True):
            if block is not None:
                shape = (*kind.shape, *derivative.in_types[column].shape)
                blocks[row, column] = reshaped(block, shape)
    return derivative.dense(blocks, False)
