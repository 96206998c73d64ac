"""What the rules of loops and branches share: graphs rebuilt around the equations that they have.

A rule transforms the graphs in an equation's params, and puts inputs and outputs of what it gets
into the order of the row, and zeros where a result has no derivative.
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


def split(values: Sequence[Any], *counts: int) -> list[list[Any]]:
    """The values in consecutive parts of these lengths, and the rest."""
    parts, start = [], 0
    for count in counts:
        parts.append(list(values[start : start + count]))
        start += count
    return [*parts, list(values[start:])]


def chosen(values: Iterable[Any], flags: Iterable[bool]) -> list[Any]:
    """The values that are marked."""
    return [x for x, flag in zip(values, flags, strict=True) if flag]


def others(values: Iterable[Any], flags: Iterable[bool]) -> list[Any]:
    """The values that are not marked."""
    return [x for x, flag in zip(values, flags, strict=True) if not flag]


def filled(values: Iterable[Any], flags: Iterable[bool], missing: Any = None) -> list[Any]:
    """The values in the places that are marked, something else in the others."""
    given = iter(values)
    return [next(given) if flag else missing for flag in flags]


def either(x: Iterable[bool], y: Iterable[bool]) -> list[bool]:
    """Where one of two flags is set."""
    return [a or b for a, b in zip(x, y, strict=True)]


def row(name: str) -> Primitive:
    """The row of a name: rules are written before the rows that they are of."""
    return TABLE[name]


# ---------------------------------------------------------------------------- surgery on graphs


def equation_of(name: str, *inputs: Atom, **params: Any) -> Equation:
    """An equation of a row that has one result."""
    (kind,) = TABLE[name].result_types([a.type for a in inputs], params)
    return Equation(TABLE[name], inputs, params, (Var(kind),))


def repeated(atom: Atom, shape: Sequence[Any]) -> Equation:
    """The equation of a value repeated along new axes in front."""
    first = len(shape) - atom.type.ndim
    axes = tuple(range(first, len(shape)))
    return equation_of("broadcast_in_dim", atom, shape=tuple(shape), broadcast_dimensions=axes)


class Outputs:
    """The outputs of a graph in the making, with further equations for some of them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.equations = list(graph.equations)

    def zeros(self, kind: ArrayType) -> Var:
        """Zeros of a type."""
        return self.add(repeated(Const(np.zeros((), kind.dtype)), kind.shape))

    def batched(self, atom: Atom, axis: Axis) -> Var:
        """A value repeated along a new axis in front."""
        return self.add(repeated(atom, (axis.size, *atom.type.shape)))

    def add(self, equation: Equation) -> Var:
        """The result of a further equation."""
        self.equations.append(replace(equation, source=self.graph.source))
        return equation.output

    def finish(self, inputs: Sequence[Var], outputs: Sequence[Atom]) -> Graph:
        """The graph with its inputs in this order, and these outputs."""
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
    """The values that are marked, zeros in the places of those that are None."""
    pairs = chosen(zip(values, kinds, strict=True), marks)
    return [zeros(kind) if x is None else x for x, kind in pairs]


def with_captures(closed: Sequence[Closed]) -> tuple[list[Graph], list[Any]]:
    """Graphs that all take the values that one of them captures first, and these values."""
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


def unused(graph: Graph, places: Sequence[tuple[int, Sequence[ArrayType]]]) -> Graph:
    """The graph with further inputs that it does not read, in front of the inputs at some places,
    which are in ascending order."""
    inputs = list(graph.inputs)
    for place, kinds in reversed(places):
        inputs[place:place] = [Var(kind) for kind in kinds]
    return replace(graph, inputs=tuple(inputs))


def unknown_outputs(graph: Graph, unknown: Flags) -> list[bool]:
    """Which outputs of a graph depend on the inputs marked."""
    inputs = chosen(graph.inputs, unknown)
    _, rest = partition(graph, inputs, eager=False)
    depending: set[Atom] = {*inputs, *(v for e in rest for v in e.outputs)}
    return [a in depending for a in graph.outputs]


def fixpoint(step: Callable[[list[bool]], Flags], flags: Flags) -> list[bool]:
    """The smallest flags above these for which `step` asks for no more."""
    current = list(flags)
    while True:
        further = either(current, step(current))
        if further == current:
            return current
        current = further


# ------------------------------------------------------- transformations of graphs, remembered


# A loop's body is transformed once for each guess of the flags, and what is inside it once for each
# of those: without a memory the work would double with each level of nesting.
_memory: WeakKeyDictionary[Graph, dict[Any, tuple[Closed, list[bool]]]] = WeakKeyDictionary()


def _remembered(
    graph: Graph, key: Any, transform: Callable[[], tuple[Closed, list[bool]]]
) -> tuple[Closed, list[bool]]:
    known = _memory.setdefault(graph, {})
    if key in known:
        return known[key]
    found = transform()
    if not found[0].captured:  # captured values belong to one trace
        known[key] = found
    return found


def pushed(graph: Graph, active: Flags) -> tuple[Closed, list[bool]]:
    """As `jvp`: the graph with tangents of the active inputs, and which results have one."""
    return _remembered(graph, ("jvp", *active), lambda: jvp(Closed(graph), active))


def spread(graph: Graph, axis: Axis, batched: Flags) -> tuple[Closed, list[bool]]:
    """As `batch`: the graph on batches of some inputs, and which results are batched."""
    return _remembered(graph, (axis, *batched), lambda: batch(Closed(graph), axis, batched))


def pulled(graph: Graph, linear: Flags, given: Flags) -> tuple[Closed, list[bool]]:
    """As `transpose`: from the cotangents given to those of the linear inputs, and which it has."""
    return _remembered(
        graph,
        ("transpose", tuple(linear), tuple(given)),
        lambda: transpose(Closed(graph), linear, given),
    )
