"""Functions of pytrees as closed graphs of leaves, the first part of every transformation that
users call, and the values on which these graphs run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile import tree
from transpile.dispatch.flat_function import result_leaf
from transpile.dispatch.jitted import BoundWrapped, Wrapped
from transpile.dispatch.switches import checked_values
from transpile.ir.dims import Dim
from transpile.ir.graph import Atom, Const, Graph, Var
from transpile.ir.source_info import function_source, user_source
from transpile.ir.types import (
    FLOAT0,
    PYTHON_SCALARS,
    ArrayType,
    ShapeDtypeStruct,
    kind_letter,
    type_of,
)
from transpile.options import Options
from transpile.primitives.rules import zeros
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.runtime.executable import Executable, Lowering
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_arguments import parameters
from transpile.trace.call_key import has_values, values_of
from transpile.trace.call_signature import describe, function_name, inner, unique_identifiers
from transpile.trace.captured_arrays import retried
from transpile.trace.trace import current_trace, trace_nested
from transpile.trace.tracer import Tracer
from transpile.transforms.closed import Closed
from transpile.transforms.interpret import has_loop, interpret, interpret_up_to
from transpile.util.fork_safe_lock import Lock
from transpile.util.frozen_records import dataclass
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    from transpile.dispatch import value_checks
else:
    value_checks = Later("transpile.dispatch.value_checks")


@dataclass(frozen=True, eq=False)
class Flat:
    """A function traced on the leaves of its arguments.

    `closed` gives the leaves of the result, then those of the auxiliary result that are traced;
    `aux` rebuilds that one from them.
    """

    function: Callable[..., Any]
    closed: Closed
    in_tree: tree.TreeDef
    out_tree: tree.TreeDef
    aux: Callable[[Sequence[Any]], Any]

    @property
    def in_types(self) -> list[ArrayType]:
        """The types of the arguments' leaves."""
        return [v.type for v in self.closed.inputs]

    @property
    def out_types(self) -> list[ArrayType]:
        """The types of the result's leaves."""
        return [a.type for a in self.closed.graph.outputs[: self.out_tree.num_leaves]]

    def run(self, closed: Closed, values: Sequence[Any]) -> list[Any]:
        """The results of a closed graph made from this one; a jitted function's is compiled."""
        if current_trace() is not None:
            return closed(*values)
        before = value_checks.copied(values) if checked_values() else values
        if isinstance(self.function, Wrapped | BoundWrapped):
            options = self.function.options
            results = list(_compiled(closed.graph, options)(values))
        else:
            options = Options()
            results = run_outside(closed.graph, values)
        if checked_values():
            value_checks.check_results(closed.graph, before, results, options)
        return results


def flatten_function(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    known: bool | Sequence[Any] = True,
    role: str = "",
    has_aux: bool = False,
    argnums: Sequence[int] | None = None,
    types: Sequence[ArrayType] | None = None,
    names: Sequence[str] | None = None,
) -> tuple[Flat, list[Any]]:
    """Trace `function(*args)`, and give it with the leaves of the arguments.

    known     whether Python may ask for the values of the arguments; or those values, UNKNOWN
              where it may not
    role      "forward" or "backward" where the derivative by the arguments is wanted: Python gets
              none of the numbers that it goes through, but their truth; "repeated" under vmap
    has_aux   the function returns a pair, (result, auxiliary result)
    argnums   the positions, for their names, that the arguments have in the user's call
    types     the types of the leaves, where they are not those of the arguments
    names     how the user calls the leaves, where the function is not the user's
    """
    names = argument_names(function, args, argnums) if names is None else names
    leaves, in_tree = flatten_arrays(tuple(args))
    leaves = [
        as_value(x, f"{n!r} of {describe(function)}") for x, n in zip(leaves, names, strict=True)
    ]
    kinds = [value_type(x) for x in leaves] if types is None else types

    def attempt(give: Callable[[], Any], _: bool) -> tuple[Graph, list[Tracer], Any]:
        def on_leaves(*tracers: Tracer) -> tuple[list[Any], Any]:
            result = give()(*in_tree.unflatten(tracers))
            aux: Any = None
            if has_aux:
                result, aux = _pair(result)
            results, out_tree = flatten_arrays(result)
            results = [
                result_leaf(x, path, function)
                for x, path in zip(results, out_tree.paths(), strict=True)
            ]
            kept, aux_leaves, aux_tree = _traced_leaves(aux)
            return results + kept, (out_tree, aux_leaves, aux_tree)

        return trace_nested(
            on_leaves,
            kinds,
            unique_identifiers(names),
            name=function_name(function),
            source=function_source(inner(function)),
            known=(leaves if known else None) if isinstance(known, bool) else known,
            role=role,
        )

    graph, captured, (out_tree, aux_leaves, aux_tree) = retried(attempt, function)

    def rebuild(values: Sequence[Any]) -> Any:
        given = iter(values)
        return aux_tree.unflatten([next(given) if is_in else x for is_in, x in aux_leaves])

    return Flat(function, Closed(graph, tuple(captured)), in_tree, out_tree, rebuild), leaves


def graph_and_shapes(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    static_argnums: int | Iterable[int] | None = None,
) -> tuple[Graph, Any]:
    """The graph of a call inside a traced function, and its result with ShapeDtypeStruct leaves.

    Leaves of the arguments may be traced values, arrays, or objects with `shape` and `dtype`.
    Inputs of the graph are the traced values that the function closes over, then the leaves.
    """
    numbers = (static_argnums,) if isinstance(static_argnums, int) else (static_argnums or ())
    chosen = [k for k in range(len(args)) if k not in {n % len(args) for n in numbers}]

    @functools.wraps(inner_signature(function))
    def of_arrays(given: list[Any], named: dict[str, Any]) -> Any:
        full = list(args)
        for position, value in zip(chosen, given, strict=True):
            full[position] = value
        return resolved(function)(*full, **named)

    leaves, structure = flatten_arrays(([args[k] for k in chosen], kwargs))
    kinds = [
        type_of(x) if hasattr(x, "dtype") and not isinstance(x, Tracer) else value_type(x)
        for x in leaves
    ]
    examples = structure.unflatten(
        np.broadcast_to(np.zeros((), k.dtype), k.static_shape()) for k in kinds
    )
    names = structure.paths("x")
    flat, _ = flatten_function(of_arrays, examples, known=False, types=kinds, names=names)
    shapes = [ShapeDtypeStruct(t.static_shape(), t.dtype) for t in flat.out_types]
    return flat.closed.graph, flat.out_tree.unflatten(shapes)


def _pair(result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise TypeError(
            f"{user_source()}: expected function with aux output to return a two-element tuple, "
            f"but got type {type(result)} with value {result!r}"
        )
    return result[0], result[1]


def _traced_leaves(aux: Any) -> tuple[list[Any], list[tuple[bool, Any]], tree.TreeDef]:
    """The traced leaves of an auxiliary result, and all of them with that mark."""
    leaves, structure = flatten_arrays(aux)
    marked = [(isinstance(x, Tracer), x) for x in leaves]
    return [x for is_traced, x in marked if is_traced], marked, structure


_executables: dict[tuple[str, Options], Executable] = {}
_lock = Lock()
MOST_EXECUTABLES = 256


def _compiled(graph: Graph, options: Options) -> Executable:
    """The program of a graph, from memory, the cache, or the compiler."""
    key = (graph.fingerprint(), options)
    executable = _executables.get(key)
    if executable is None:
        executable = Lowering(graph, options).build()
        with _lock:
            while len(_executables) >= MOST_EXECUTABLES:
                del _executables[next(iter(_executables))]
            _executables[key] = executable
    return executable


# Equations that NumPy computes in less time than it takes to compile them.
MOST_INTERPRETED = 10_000


def run_outside(graph: Graph, values: Sequence[Any]) -> list[Any]:
    """The outputs of a graph outside of all traces: NumPy computes them; a program does, where
    loops go around often and have no effects."""
    if not has_loop(graph) or graph.has_callbacks:
        return interpret(graph, values)
    graph, constants = lifted(graph)
    values = [*[c.value for c in constants], *values]
    options = Options()
    if (graph.fingerprint(), options) not in _executables:
        results = interpret_up_to(graph, values, MOST_INTERPRETED)
        if results is not None:
            return results
    return list(_compiled(graph, options)(values))


def lifted(graph: Graph) -> tuple[Graph, list[Const]]:
    """The graph with its constant arrays as further inputs in front, and these arrays."""
    constants = graph.constants()
    if not constants:
        return graph, []
    inputs: dict[Atom, Atom] = {c: Var(c.type, c.name) for c in constants}

    def read(atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(inputs.get(a, a) for a in atoms)

    equations = tuple(replace(e, inputs=read(e.inputs)) for e in graph.equations)
    leading = tuple(v for v in inputs.values() if isinstance(v, Var))
    closed = replace(
        graph,
        inputs=(*leading, *graph.inputs),
        equations=equations,
        outputs=read(graph.outputs),
    )
    return closed, constants


# ---------------------------------------------------------------------------------------- values


def as_value(leaf: Any, what: str) -> Any:
    """A leaf of an argument: a tracer, an ndarray, or a Python number; else a TypeError."""
    if isinstance(leaf, Tracer) or type(leaf) in PYTHON_SCALARS:
        return leaf
    if isinstance(leaf, Dim):
        return leaf.as_value()
    if isinstance(leaf, np.ndarray) and leaf.dtype == FLOAT0:
        return leaf
    if not isinstance(leaf, type) and has_values(leaf):
        array = values_of(leaf, f"{user_source()}: argument {what}")
        return array.astype(type_of(array, what).dtype, copy=False)
    raise TypeError(
        f"{user_source()}: argument {what} is a {type(leaf).__name__}, which is neither an array "
        f"nor a number: {leaf!r}"
    )


def value_type(value: Any) -> ArrayType:
    """The type of a tracer, an array or a Python number."""
    return value.type if isinstance(value, Tracer) else type_of(value)


def is_inexact(kind: ArrayType) -> bool:
    """Tell whether values of a type have tangents: floats and complex numbers do."""
    return kind_letter(kind.dtype) in "fc"


def zero(kind: ArrayType) -> Any:
    """The zero tangent of a type, in the trace under way or as an array."""
    if not is_inexact(kind):
        return np.zeros(kind.static_shape(), FLOAT0)
    return zeros(kind) if current_trace() is not None else np.zeros(kind.static_shape(), kind.dtype)


def cast_weak(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number as a value of another dtype of its kind; other values as they are."""
    if type(value) in PYTHON_SCALARS and not (type(value) is complex and kind_letter(dtype) == "f"):
        return np.asarray(value, dtype)
    return value


# ----------------------------------------------------------------------------------------- names


def argument_names(
    function: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int] | None
) -> list[str]:
    """How the user calls each leaf of the arguments: `x`, `params['w']`."""
    try:
        name_of = parameters(inner_signature(function)).name_of
    except (ValueError, TypeError):
        name_of = "x{}".format
    positions = range(len(args)) if argnums is None else argnums
    return [
        path
        for position, value in zip(positions, args, strict=True)
        for path in flatten_arrays(value)[1].paths(name_of(position))
    ]


def inner_signature(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function whose signature the user wrote."""
    return getattr(function, "__wrapped__", function)


def jitted_like(
    function: Callable[..., Any], transformed: Callable[..., Any]
) -> Callable[..., Any]:
    """The transformed function; jitted, with the same settings, if the given one is."""
    if isinstance(function, Wrapped | BoundWrapped):
        return function.similar(transformed)
    return transformed
