"""An update of a slice of an array that is put back into the array is one of the array.

    v = x[:, 1:-1]; v[i] = y; x[:, 1:-1] = v   ->   x[i, 1 + j] = y[j]

`x[i, 1:-1] = y` in a loop is traced as the first, and the second is made where the array lies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS, NO_DEAD_CODE
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.types import INT64
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import broadcast_in_dim, iota, slice_
from transpile.primitives.elementwise import add
from transpile.primitives.indexing import dynamic_update_slice, scatter


@contract(destroys=(NO_COMMON_SUBEXPRESSIONS, NO_DEAD_CODE))
def update_whole_arrays(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph in which elements of a slice that is put back are those of the array."""
    if dynamic_update_slice not in graph.primitives or scatter not in graph.primitives:
        return graph

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        if equation.primitive is not dynamic_update_slice:
            return None
        x, part, *starts = equation.inputs
        update = _produced_by(builder, part, scatter)
        view = update and _produced_by(builder, update.inputs[0], slice_)
        if update is None or view is None or view.inputs[0] is not x:
            return None
        begin = _numbers(starts)
        if begin is None or begin != view.params["start"] or not _is_dense(view):
            return None
        indices = _of_whole_array(builder, update, begin, x)
        if indices is None:
            return None
        params = {**update.params, "axes": tuple(range(x.type.ndim))}
        return [builder.apply(scatter, x, update.inputs[1], *indices, **params)]

    return rewrite(graph, rule, machine)


def _produced_by(builder: Builder, atom: Atom, primitive: object) -> Equation | None:
    equation = builder.producers.get(atom) if isinstance(atom, Var) else None
    return equation if equation is not None and equation.primitive is primitive else None


def _numbers(starts: Sequence[Atom]) -> tuple[int, ...] | None:
    if not all(isinstance(start, Const) for start in starts):
        return None
    return tuple(int(start.value) for start in starts if isinstance(start, Const))


def _is_dense(view: Equation) -> bool:
    return all(stride == 1 for stride in view.params["strides"])


def _of_whole_array(
    builder: Builder, update: Equation, begin: Sequence[int], x: Atom
) -> list[Atom] | None:
    """The subscripts of the updated elements in the array of which the slice begins there; None
    where the update has several places, or places that the slice does not have."""
    part, values, *places = update.inputs
    axes = update.params["axes"]
    if any(place.type.shape for place in places):
        return None
    if any(part.type.shape[axis] != x.type.shape[axis] for axis in axes):
        return None
    others = [axis for axis in range(x.type.ndim) if axis not in axes]
    shape = tuple(part.type.shape[axis] for axis in others)
    if values.type.shape != shape:
        return None
    indices: list[Atom] = []
    for axis in range(x.type.ndim):
        if axis in axes:
            place = places[axes.index(axis)]
            indices.append(
                builder.apply(broadcast_in_dim, place, shape=shape, broadcast_dimensions=())
            )
        else:
            dimension = others.index(axis)
            numbers = builder.apply(iota, shape=shape, dimension=dimension, dtype=INT64)
            if begin[axis]:
                first = builder.apply(
                    broadcast_in_dim,
                    Const(np.int64(begin[axis])),
                    shape=shape,
                    broadcast_dimensions=(),
                )
                numbers = builder.apply(add, numbers, first)
            indices.append(numbers)
    return indices
