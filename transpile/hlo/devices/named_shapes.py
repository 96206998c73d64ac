"""The named axes along which results vary: the `named_shape` of `return_shape=True`.

An index along an axis varies; reductions and gathers over an axis have the same result for all its
participants; any other result varies as its operands do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from transpile.ir.graph import Atom, Graph, Var, axis_names, graphs_in
from transpile.ir.primitive import Axis
from transpile.ir.types import ShapeDtypeStruct

Named = dict[Any, int]


class NamedShapeStruct(ShapeDtypeStruct):
    """A shape and dtype, and the sizes of named axes that the array varies along."""

    def __new__(cls, shape: Any, dtype: Any, named_shape: Named) -> NamedShapeStruct:
        """As a ShapeDtypeStruct, whose dtype is NumPy's."""
        return super().__new__(cls, shape, np.dtype(dtype))  # type: ignore[return-value]

    def __init__(self, shape: Any, dtype: Any, named_shape: Named) -> None:
        super().__init__(shape, dtype)
        object.__setattr__(self, "_named_shape", dict(named_shape))

    @property
    def named_shape(self) -> Named:
        """The sizes of named axes that the array varies along."""
        named: Named = self._named_shape  # type: ignore[attr-defined]  # set in __init__
        return dict(named)


def named_shapes(graph: Graph) -> list[Named]:
    """For each output the axes that it varies along, by their names."""
    varying: dict[Atom, Named] = {}
    for equation in graph.equations:
        named = {n: s for a in equation.inputs for n, s in varying.get(a, {}).items()}
        named.update((axis.name, axis.static_size) for axis in _indices(equation))
        if equation.primitive.kind == "collective" and equation.primitive.agrees:
            named = {n: s for n, s in named.items() if n not in axis_names(equation)}
        varying.update(dict.fromkeys(equation.outputs, named))
    return [varying.get(a, {}) if isinstance(a, Var) else {} for a in graph.outputs]


def _indices(equation: Any) -> Iterator[Axis]:
    """The axes along which an equation, or one in its regions, is an index."""
    if equation.primitive.kind == "collective" and not equation.inputs:
        yield from equation.params["axes"]
    for graph in graphs_in(equation):
        for inner in graph.equations:
            yield from _indices(inner)
