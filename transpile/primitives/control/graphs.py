"""Helpers of the transformation rules of loops and branches: lists split by flags, regions with
other inputs and outputs, transformed regions in a cache.

A rule transforms the regions of an equation, brings their inputs and outputs into the order that
the primitive defines, and materialises zeros where one region has a derivative and another has
none. Flags mark values: True is active, batched, unknown or read, as the transformation has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.primitive import TABLE, Axis, Primitive
from transpile.ir.types import ArrayType
from transpile.transforms.batch import batch
from transpile.transforms.closed import Closed
from transpile.transforms.jvp import jvp
from transpile.transforms.linearize import partition
from transpile.transforms.transpose import transpose

Flags = Sequence[bool]
Values = Sequence[Any]


def split_list(values: Sequence[Any], *counts: int) -> list[list[Any]]:
    """The values in consecutive parts of these lengths, and a last part of what remains."""
    parts, start = [], 0
    for count in counts:
        parts.append(list(values[start : start + count]))
        start += count
    return [*parts, list(values[start:])]


def chosen(values: Iterable[Any], flags: Iterable[bool]) -> list[Any]:
    """The values whose flag is set."""
    return [x for x, flag in zip(values, flags, strict=True) if flag]


def others(values: Iterable[Any], flags: Iterable[bool]) -> list[Any]:
    """The values whose flag is not set."""
    return [x for x, flag in zip(values, flags, strict=True) if not flag]


def filled(values: Iterable[Any], flags: Iterable[bool], missing: Any = None) -> list[Any]:
    """The inverse of `chosen`: the values at the positions whose flag is set, `missing` at
    others."""
    given = iter(values)
    return [next(given) if flag else missing for flag in flags]


def either(x: Iterable[bool], y: Iterable[bool]) -> list[bool]:
    """The elementwise or of flags."""
    return [a or b for a, b in zip(x, y, strict=True)]


def named_primitive(name: str) -> Primitive:
    """The primitive of a name, for rules: they are defined before the primitives that have them."""
    return TABLE[name]


# ----------------------------------------------------------------------------- graphs rebuilt


def equation_of(name: str, *inputs: Atom, **params: Any) -> Equation:
    """An equation of a primitive with one result."""
    (kind,) = TABLE[name].result_types([a.type for a in inputs], params)
    return Equation(TABLE[name], inputs, params, (Var(kind),))


def repeated(atom: Atom, shape: Sequence[Any]) -> Equation:
    """The equation that broadcasts a value along new leading axes."""
    first = len(shape) - atom.type.ndim
    axes = tuple(range(first, len(shape)))
    return equation_of("broadcast_in_dim", atom, shape=tuple(shape), broadcast_dimensions=axes)


class Outputs:
    """A graph whose outputs are being replaced, with the equations that new outputs need."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.equations = list(graph.equations)

    def zeros(self, kind: ArrayType) -> Var:
        """An output of zeros."""
        return self.add(repeated(Const(np.zeros((), kind.dtype)), kind.shape))

    def batched(self, atom: Atom, axis: Axis) -> Var:
        """A value broadcast along the batch axis."""
        return self.add(repeated(atom, (axis.size, *atom.type.shape)))

    def add(self, equation: Equation) -> Var:
        """Append an equation of one result, and return the result."""
        self.equations.append(replace(equation, source=self.graph.source))
        return equation.output

    def finish(self, inputs: Sequence[Var], outputs: Sequence[Atom]) -> Graph:
        """The graph with these inputs and outputs."""
        return replace(
            self.graph,
            inputs=tuple(inputs),
            equations=tuple(self.equations),
            outputs=tuple(outputs),
            output_names=(),
        )


def with_zeros(
    values: Values, kinds: Sequence[ArrayType], marks: Flags, zeros: Callable[[ArrayType], Any]
) -> list[Any]:
    """The marked values, with zeros for those that are None."""
    pairs = chosen(zip(values, kinds, strict=True), marks)
    return [zeros(kind) if x is None else x for x, kind in pairs]


def with_captures(closed: Sequence[Closed]) -> tuple[list[Graph], list[Any]]:
    """The graphs with one list of leading inputs, the values that any of them captures; and these
    values."""
    captured = [value for c in closed for value in c.captured]
    kinds = [v.type for c in closed for v in c.graph.inputs[: len(c.captured)]]
    graphs, start = [], 0
    for c in closed:
        own = c.graph.inputs[: len(c.captured)]
        leading = [Var(kind) for kind in kinds]
        leading[start : start + len(own)] = own
        start += len(own)
        graphs.append(replace(c.graph, inputs=(*leading, *c.inputs)))
    return graphs, captured


def with_unused_inputs(graph: Graph, positions: Sequence[tuple[int, Sequence[ArrayType]]]) -> Graph:
    """The graph with inputs of these types, which it does not read, inserted before the inputs at
    ascending positions."""
    inputs = list(graph.inputs)
    for position, kinds in reversed(positions):
        inputs[position:position] = [Var(kind) for kind in kinds]
    return replace(graph, inputs=tuple(inputs))


def unknown_outputs(graph: Graph, unknown: Flags) -> list[bool]:
    """Flags of the outputs that depend on the marked inputs."""
    inputs = chosen(graph.inputs, unknown)
    _, rest = partition(graph, inputs, eager=False)
    depending: set[Atom] = {*inputs, *(v for e in rest for v in e.outputs)}
    return [a in depending for a in graph.outputs]


def fixpoint(step: Callable[[list[bool]], Flags], flags: Flags) -> list[bool]:
    """The least flags, at least the given ones, to which the monotone function `step` adds none."""
    current = list(flags)
    while True:
        further = either(current, step(current))
        if further == current:
            return current
        current = further


# ------------------------------------------------------------------ transformed graphs in a cache


# A fixpoint transforms a loop's body at each of its steps, and the loops inside it at each of
# theirs: without a cache the work is exponential in the depth of nesting.
_transformed: WeakKeyDictionary[Graph, dict[Any, tuple[Closed, list[bool]]]] = WeakKeyDictionary()


def _memoised(
    graph: Graph, key: Any, transform: Callable[[], tuple[Closed, list[bool]]]
) -> tuple[Closed, list[bool]]:
    known = _transformed.setdefault(graph, {})
    if key in known:
        return known[key]
    result = transform()
    if not result[0].captured:  # captured values belong to one trace
        known[key] = result
    return result


def cached_jvp(graph: Graph, active: Flags) -> tuple[Closed, list[bool]]:
    """The JVP of a graph by its active inputs, and flags of the results that have a tangent."""
    return _memoised(graph, ("jvp", *active), lambda: jvp(Closed(graph), active))


def cached_batch(graph: Graph, axis: Axis, batched: Flags) -> tuple[Closed, list[bool]]:
    """The batched graph, and flags of the results that are batched."""
    return _memoised(graph, (axis, *batched), lambda: batch(Closed(graph), axis, batched))


def cached_transpose(graph: Graph, linear: Flags, given: Flags) -> tuple[Closed, list[bool]]:
    """The transpose of a graph by its linear inputs, for the results that have a cotangent (flags
    `given`), and flags of the linear inputs that get one."""
    return _memoised(
        graph,
        ("transpose", tuple(linear), tuple(given)),
        lambda: transpose(Closed(graph), linear, given),
    )
