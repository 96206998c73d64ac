"""Derivatives in a direction: jvp, vjp, linearize, linear_transpose.

Names, arguments, results and errors are JAX's. Each traces the function it is given, transforms the
graph (`transpile.transforms`) and runs it: inside another trace it becomes part of that one;
elsewhere NumPy runs it, or, where the function is jitted, its compiled program. The values of the
arguments are known to Python while the function is traced, unless they are traced themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile import tree
from transpile.functional.flatten_fun import (
    Flat,
    as_value,
    cast_weak,
    flatten_function,
    is_inexact,
    value_type,
    zero,
)
from transpile.ir.dims import Index, Symbol
from transpile.ir.graph import Graph
from transpile.ir.graph_rewrite import counts_of, with_lengths
from transpile.ir.source_info import user_source
from transpile.ir.types import FLOAT0, ArrayType, kind_letter
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.call_signature import describe, function_name, type_text
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.transforms.closed import Closed
from transpile.transforms.jvp import jvp as push_forward
from transpile.transforms.linearize import Linearized
from transpile.transforms.linearize import linearize as linearize_graph
from transpile.transforms.transpose import transpose
from transpile.util.frozen_records import dataclass, replace

# ---------------------------------------------------------------------------------- forward mode


@api_boundary
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of `fun` at `primals` and its directional derivative there, the Jacobian times
    `tangents`, by forward mode.

    primals, tangents   tuples or lists of the positional arguments and of their tangents: pytrees
                        of the same structure, shapes and dtypes; the tangents of integers and bools
                        have the dtype float0
    has_aux             `fun` returns (result, auxiliary result)

    Returns (result, its tangent), and the auxiliary result if there is one. Raises TypeError or
    ValueError where primals and tangents do not match.
    """
    for what, given in (("Primal", primals), ("Tangent", tangents)):
        if not isinstance(given, tuple | list):
            raise TypeError(
                f"{user_source()}: primal and tangent arguments to jvp must be tuples or lists; "
                f"{what.lower()}s are a {type(given).__name__}"
            )
    directions, tangent_tree = tree.flatten(tuple(tangents))
    if tree.structure(tuple(primals)) != tangent_tree:
        raise TypeError(
            f"{user_source()}: primal and tangent arguments to jvp must have the same tree "
            f"structure; primals have tree structure {tree.structure(tuple(primals))} whereas "
            f"tangents have tree structure {tangent_tree}."
        )
    flat, leaves = flatten_function(fun, primals, has_aux=has_aux, role="forward")
    # An array of an extended dtype has several parts, and one tangent, of the dtype float0.
    counts = [len(flatten_arrays(x)[0]) for x in tree.leaves(tuple(primals))]
    directions = [t for t, count in zip(directions, counts, strict=True) for _ in range(count)]
    directions = [
        _checked_tangent(t, kind) for t, kind in zip(directions, flat.in_types, strict=True)
    ]
    active = [is_inexact(kind) for kind in flat.in_types]
    both, flags = push_forward(flat.closed, active, leaves)
    given = [t for t, is_active in zip(directions, active, strict=True) if is_active]
    values = flat.run(both, [*leaves, *given])
    count, results = flat.out_tree.num_leaves, len(flags)
    moved = _filled(values[results:], flags, flat.out_types)
    pair = (flat.out_tree.unflatten(values[:count]), flat.out_tree.unflatten(moved))
    return (*pair, flat.aux(values[count:results])) if has_aux else pair


def _checked_tangent(tangent: Any, kind: ArrayType) -> Any:
    """The tangent of a value of a type, or the error that it deserves."""
    tangent = as_value(tangent, "'tangents'")
    expected = kind.dtype if is_inexact(kind) else FLOAT0
    if not kind.shape and is_inexact(kind):
        tangent = cast_weak(tangent, kind.dtype)
    dtype = tangent.dtype if hasattr(tangent, "dtype") else value_type(tangent).dtype
    if dtype != expected:
        raise TypeError(
            f"{user_source()}: primal and tangent arguments to jvp do not match; dtypes must be "
            f"equal, or in case of int/bool primal dtype the tangent dtype must be float0. Got "
            f"primal dtype {kind.dtype} and so expected tangent dtype {_dtype_name(expected)}, but "
            f"got tangent dtype {_dtype_name(dtype)} instead."
        )
    if np.shape(tangent) != kind.shape:
        raise ValueError(
            f"{user_source()}: jvp called with different primal and tangent shapes; Got primal "
            f"shape {kind.shape} and tangent shape as {np.shape(tangent)}"
        )
    return tangent


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return "float0" if dtype == FLOAT0 else dtype.name


def _filled(values: Sequence[Any], flags: Sequence[bool], kinds: Sequence[ArrayType]) -> list[Any]:
    """The derivatives that there are, and zeros for the others."""
    given = iter(values)
    return [
        next(given) if flag else zero(kind)
        for flag, kind in zip(flags[: len(kinds)], kinds, strict=True)
    ]


# ---------------------------------------------------------------------------------- reverse mode


@dataclass(frozen=True, eq=False)
class LinearMap:
    """What `linearize` and `vjp` give: a linear function with the residuals that it reads.

    A pytree whose leaves are the residuals, so that a jitted function may return it.
    """

    flat: Flat
    linear: Graph
    active: tuple[bool, ...]  # the arguments that have tangents
    moving: tuple[bool, ...]  # the results that depend on them
    residuals: tuple[Any, ...]
    is_transposed: bool = False

    @api_boundary
    def __call__(self, *args: Any) -> Any:
        """The tangents of the results for tangents of the arguments, or transposed: the
        cotangents of the arguments, as a tuple, for the cotangents of the results."""
        return self._backwards(*args) if self.is_transposed else self._forwards(args)

    def __repr__(self) -> str:
        kind = "vjp" if self.is_transposed else "linearized"
        return f"<{kind} function of {describe(self.flat.function)}>"

    def _forwards(self, tangents: tuple[Any, ...]) -> Any:
        leaves, structure = tree.flatten(tangents)
        if structure != self.flat.in_tree:
            raise TypeError(f"{user_source()}: expected {self.flat.in_tree}, got {structure}")
        given = []
        for tangent, kind in zip(leaves, self.flat.in_types, strict=True):
            if is_inexact(kind):
                value = _like(tangent, kind)
                if value is None:
                    raise ValueError(
                        f"{user_source()}: linearized function called on tangent values "
                        f"inconsistent with the original primal values: Got tangent aval "
                        f"{_text_of(tangent)} for primal aval {type_text(kind)} but expected "
                        f"{type_text(kind)}."
                    )
                given.append(value)
        values = self.flat.run(Closed(self.linear), [*self.residuals, *given])
        return self.flat.out_tree.unflatten(_filled(values, self.moving, self.flat.out_types))

    def _backwards(self, *args: Any) -> tuple[Any, ...]:
        name = function_name(self.flat.function)
        if len(args) != 1:
            raise TypeError(
                f"{user_source()}: The function returned by `vjp` applied to {name} was called "
                f"with {len(args)} arguments, but functions returned by `vjp` must be called with "
                f"a single argument corresponding to the single value returned by the function "
                f"being differentiated (even if that returned value is a tuple or other container)."
            )
        leaves, structure = tree.flatten(args[0])
        if structure != self.flat.out_tree:
            lines = tree.differences(self.flat.out_tree, structure, "out")
            raise ValueError(
                f"{user_source()}: unexpected tree structure. The argument to a VJP function "
                f"returned by `vjp` must match the pytree structure of the differentiated function "
                f"{describe(self.flat.function)}. But the tree structures differ:\n"
                + "\n".join(f"  * {line}" for line in lines)
            )
        given = []
        for value, kind, moves in zip(leaves, self.flat.out_types, self.moving, strict=True):
            if is_inexact(kind):
                cotangent = _cotangent(value, kind)
                given += [cotangent] if moves else []
        tangents = sum(self.active)
        linear = [False] * len(self.residuals) + [True] * tangents
        values = [*self.residuals, *given]
        pullback, flags = transpose(Closed(self.linear), linear, [True] * len(given), values)
        found = iter(self.flat.run(pullback, values))
        cotangents = iter([next(found) if f else None for f in flags])
        results = []
        for kind, is_active in zip(self.flat.in_types, self.active, strict=True):
            cotangent = next(cotangents) if is_active else None
            results.append(zero(kind) if cotangent is None else cotangent)
        return tuple(self.flat.in_tree.unflatten(results))


def _restore(data: tuple[Any, ...], residuals: Sequence[Any]) -> LinearMap:
    flat, linear, active, moving, is_transposed = data
    return LinearMap(flat, linear, active, moving, tuple(residuals), is_transposed)


tree.register_pytree_node(
    LinearMap,
    lambda f: (f.residuals, (f.flat, f.linear, f.active, f.moving, f.is_transposed)),
    _restore,
)


def _like(value: Any, kind: ArrayType) -> Any:
    """A value of a type, or None if it is of another."""
    value = as_value(value, "of a derivative")
    if not kind.shape:
        value = cast_weak(value, kind.dtype)
    if np.shape(value) != kind.shape or value_type(value).dtype != kind.dtype:
        return None
    return value


def _cotangent(value: Any, kind: ArrayType) -> Any:
    cotangent = _like(value, kind)
    if cotangent is None:
        raise ValueError(
            f"{user_source()}: unexpected type (e.g. shape/dtype) for argument to VJP function: "
            f"got {_text_of(value)}, but expected {type_text(kind)} because the corresponding "
            f"output of the differentiated function had type {type_text(kind)}"
        )
    return cotangent


def _text_of(value: Any) -> str:
    return type_text(value_type(as_value(value, "of a derivative")))


def _linearized(
    fun: Callable[..., Any], primals: Sequence[Any], has_aux: bool, is_transposed: bool
) -> tuple[Any, LinearMap, Any]:
    """The result, the linear function, and the auxiliary result."""
    role = "backward" if is_transposed else "forward"
    flat, leaves = flatten_function(fun, primals, has_aux=has_aux, role=role)
    linearized = linearized_graph(flat, leaves)
    results, derivative = linear_map(flat, linearized, leaves, is_transposed)
    count = flat.out_tree.num_leaves
    return flat.out_tree.unflatten(results[:count]), derivative, flat.aux(results[count:])


def linearized_graph(flat: Flat, leaves: Sequence[Any]) -> Linearized:
    """The function linearized in those of its arguments that have tangents."""
    active = [is_inexact(kind) for kind in flat.in_types]
    return linearize_graph(flat.closed, active, flat.out_tree.num_leaves, leaves)


def linear_map(
    flat: Flat, linearized: Linearized, leaves: Sequence[Any], is_transposed: bool
) -> tuple[list[Any], LinearMap]:
    """The results, and the linear function with the values of its residuals. Outside of traces the
    lengths that have been found on the way are numbers in it."""
    active = tuple(is_inexact(kind) for kind in flat.in_types)
    moving = tuple(linearized.active[: flat.out_tree.num_leaves])
    forward, linear = linearized.forward, linearized.linear
    counts = {} if current_trace() is not None else counts_of(forward.graph.equations)
    if counts:
        outputs = *counts.values(), *forward.graph.outputs
        forward = Closed(replace(forward.graph, outputs=outputs), forward.captured)
    values = flat.run(forward, leaves)
    if counts:
        found: dict[Symbol, Index] = dict(zip(counts, map(int, values), strict=False))
        closed = Closed(with_lengths(flat.closed.graph, found), flat.closed.captured)
        flat, linear = replace(flat, closed=closed), with_lengths(linear, found)
    results, residuals = linearized.split(values[len(counts) :])
    return results, LinearMap(flat, linear, active, moving, tuple(residuals), is_transposed)


@api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `fun` at `primals` and its derivative there as a linear function of tangents.

    Returns (result, f_jvp), and the auxiliary result if `has_aux`: `f_jvp(*tangents)` is the second
    result of `jvp(fun, primals, tangents)`. What does not depend on the tangents is computed once.
    """
    result, derivative, aux = _linearized(fun, primals, has_aux, False)
    return (result, derivative, aux) if has_aux else (result, derivative)


@api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `fun` at `primals` and the function that multiplies a cotangent by its Jacobian
    there, by reverse mode.

    Returns (result, f_vjp), and the auxiliary result if `has_aux`: `f_vjp(cotangent)`, for a
    cotangent of the structure, shapes and dtypes of the result, is the tuple of the cotangents of
    the primals. It holds the residuals of the forward pass, and can be called again. Cotangents of
    integers and bools have the dtype float0. Raises TypeError or ValueError where the cotangent
    does not match.
    """
    result, derivative, aux = _linearized(fun, primals, has_aux, True)
    return (result, derivative, aux) if has_aux else (result, derivative)


@api_boundary
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a linear function, by walking its graph backwards; like the function that
    `vjp` returns, without computing `fun`.

    primals   the arguments, or objects with their `shape` and `dtype`: values are not needed

    Raises NotImplementedError where `fun` is not linear.
    """
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument to transpose is deprecated")
    kinds = [value_type(x) for x in tree.leaves(primals)]
    stand_ins = tree.structure(primals).unflatten([np.zeros((), k.dtype) for k in kinds])
    flat, _ = flatten_function(fun, stand_ins, known=False, types=kinds)
    dtypes = [k.dtype for k in (*flat.in_types, *flat.out_types)]
    if not (all(kind_letter(d) in "fc" for d in dtypes) or all(d.kind in "iu" for d in dtypes)):
        count = len(flat.in_types)
        raise TypeError(
            f"{user_source()}: linear_transpose only supports [float or complex] -> [float or "
            f"complex], and integer -> integer functions, but got "
            f"{[d.name for d in dtypes[:count]]} -> {[d.name for d in dtypes[count:]]}."
        )

    @api_boundary
    def transposed(cotangent: Any) -> tuple[Any, ...]:
        leaves, structure = tree.flatten(cotangent)
        if structure != flat.out_tree:
            raise TypeError(
                f"{user_source()}: cotangent tree does not match function output, expected "
                f"{flat.out_tree} but got {structure}"
            )
        given = [_like(x, kind) for x, kind in zip(leaves, flat.out_types, strict=True)]
        if any(x is None for x in given):
            raise TypeError(
                f"{user_source()}: cotangent type does not match function output, expected "
                f"{list(map(type_text, flat.out_types))} but got {list(map(_text_of, leaves))}"
            )
        linear = [True] * len(flat.in_types)
        pullback, flags = transpose(flat.closed, linear, [True] * len(given))
        cotangents = _filled(flat.run(pullback, given), flags, flat.in_types)
        return tuple(flat.in_tree.unflatten(cotangents))

    return transposed
