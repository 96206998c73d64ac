"""Bodies: the functions that control flow takes, traced into graphs that capture nothing.

What a body reads of outer traces, and the arrays that it closes over, become operands of the
equation. So the graph in its params stays the same when these change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from transpile import tree
from transpile.dispatch.flat_function import result_leaf
from transpile.functional.flatten_fun import (
    argument_names,
    as_value,
    flatten_function,
    lifted,
    run_outside,
    value_type,
)
from transpile.ir.graph import Const, Graph, Var
from transpile.ir.source_info import function_source, user_source
from transpile.ir.types import BOOL, PYTHON_SCALARS, ArrayType
from transpile.numpy.core.promotion import convert
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.call_signature import function_name, inner, unique_identifiers
from transpile.trace.captured_arrays import retried
from transpile.trace.lengths import with_outer_lengths
from transpile.trace.trace import constant, trace_nested
from transpile.trace.tracer import UNKNOWN, Tracer, named
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True, eq=False)
class Leaves:
    """A flattened pytree: its values, their types, and its structure."""

    values: list[Any]
    types: list[ArrayType]
    tree: tree.TreeDef

    @staticmethod
    def of(value: Any, what: str) -> Leaves:
        """The leaves of an argument; TypeError for one that is no array."""
        leaves, structure = flatten_arrays(value)
        paths = structure.paths(what)
        leaves = [as_value(x, repr(path)) for x, path in zip(leaves, paths, strict=True)]
        return Leaves(leaves, [_carried_type(x) for x in leaves], structure)

    def promoted(self, results: Sequence[ArrayType]) -> Leaves | None:
        """As the results of a body: a Python number takes their dtype. None if none changes."""
        changed = False
        values, types = list(self.values), list(self.types)
        for position, (kind, result) in enumerate(zip(self.types, results, strict=True)):
            if kind.weak and (kind.shape, kind.dtype) != (result.shape, result.dtype):
                dtype = _promoted_dtype(kind, result)
                values[position] = convert(_array(self.values[position]), dtype)
                types[position] = ArrayType(kind.shape, dtype)
                changed = changed or dtype != kind.dtype
        return Leaves(values, types, self.tree) if changed else None


def _carried_type(value: Any) -> ArrayType:
    """The type of a leaf. A bool is an array's, not Python's, of which `~` makes an integer."""
    kind = value_type(value)
    return kind.strong if kind.dtype == BOOL else kind


def _array(value: Any) -> Any:
    return value if isinstance(value, Tracer) else np.asarray(value)


def _promoted_dtype(kind: ArrayType, result: ArrayType) -> np.dtype[Any]:
    """The dtype of a Python number's type beside that of a result."""
    python = next(t for t, dtype in PYTHON_SCALARS.items() if dtype == kind.dtype)
    return np.dtype(np.result_type(python(0), result.dtype))


@dataclass(frozen=True, eq=False)
class Body:
    """A traced function of pytrees: the graph of (*captured, *leaves of arguments)."""

    function: Callable[..., Any]
    graph: Graph
    captured: list[Any]
    out_tree: tree.TreeDef

    @property
    def types(self) -> list[ArrayType]:
        """The types of the leaves of the result."""
        return [a.type for a in self.graph.outputs]

    @property
    def inputs(self) -> tuple[Var, ...]:
        """The inputs of the graph that are leaves of arguments."""
        return self.graph.inputs[len(self.captured) :]


def trace_body(
    function: Callable[..., Any],
    trees: Sequence[tree.TreeDef],
    types: Sequence[ArrayType],
    names: Sequence[str] | None = None,
) -> Body:
    """Trace a function of pytrees of these structures, whose leaves have these types."""
    count = 0
    arguments = []
    for structure in trees:
        arguments.append(structure.unflatten(types[count : count + structure.num_leaves]))
        count += structure.num_leaves
    names = argument_names(function, arguments, None) if names is None else names

    def attempt(
        give: Callable[[], Any], is_again: bool
    ) -> tuple[Graph, list[Tracer], tree.TreeDef]:
        def on_leaves(*tracers: Tracer) -> tuple[list[Any], tree.TreeDef]:
            given = iter(tracers)
            values = [t.unflatten([next(given) for _ in range(t.num_leaves)]) for t in trees]
            leaves, structure = flatten_arrays(give()(*values))
            paths = structure.paths()
            results = [result_leaf(x, p, function) for x, p in zip(leaves, paths, strict=True)]
            return results, structure

        return trace_nested(
            on_leaves,
            types,
            unique_identifiers(names),
            name=function_name(function),
            source=function_source(inner(function)),
            known=[UNKNOWN] * len(types) if is_again else None,
            role="repeated",
        )

    graph, captured, out_tree = retried(attempt, function)
    graph, outer = with_outer_lengths(graph, captured)
    graph, constants = lifted(graph)
    return Body(function, graph, [*constants, *outer], out_tree)


def merged(bodies: Sequence[Body]) -> tuple[list[Graph], list[Any]]:
    """The graphs of bodies of the same arguments, all with the same captured values first, each of
    them once."""
    captured: dict[Any, Any] = {}
    for body in bodies:
        for value in body.captured:
            captured.setdefault(_identity(value), value)
    graphs = []
    for body in bodies:
        leading = dict(zip(map(_identity, body.captured), body.graph.inputs, strict=False))
        first = [leading.get(key) or Var(v.type) for key, v in captured.items()]
        graphs.append(replace(body.graph, inputs=(*first, *body.inputs)))
    return graphs, list(captured.values())


def _identity(value: Any) -> Any:
    return value.variable if isinstance(value, Tracer) else value


# ----------------------------------------------------------------------------------------- values


def returned(values: Sequence[Any], structure: tree.TreeDef) -> Any:
    """The result of a call of control flow; one array has the name of the user's line."""
    leaves = [Tracer(x.owner, x.variable) if isinstance(x, Tracer) else _known(x) for x in values]
    result = structure.unflatten(leaves)
    return named(result) if isinstance(result, Tracer) else result


def _known(value: Any) -> Any:
    """A known result as an array, or as the Python number that a weak constant is."""
    if not isinstance(value, Const):
        return value
    return value.value.item() if value.type.weak else value.value


def as_atom(value: Any) -> Any:
    """A value as an operand of an equation."""
    return value if isinstance(value, Tracer | Const) else constant(value)


def outside(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function of pytrees outside of all traces, as arrays."""
    names = argument_names(function, arguments, None)
    for leaf, name in zip(flatten_arrays(arguments)[0], names, strict=True):
        as_value(leaf, f"{name!r} of lax.{function_name(function)}")
    flat, leaves = flatten_function(function, arguments, known=False)
    graph = replace(flat.closed.graph, source=user_source())
    return flat.out_tree.unflatten(run_outside(graph, leaves))
