"""An update of a slice of an array that is put back into the array is one of the array.

    v = x[:, 1:-1]; v[i] = y; x[:, 1:-1] = v   ->   x[i, 1 + j] = y[j]

`x[i, 1:-1] = y` in a loop is traced as the first, and the second is made where the array lies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS, NO_DEAD_CODE
from transpile.ir.dims import Shape
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
    where they are for places that the slice does not have."""
    part, values, *places = update.inputs
    axes = update.params["axes"]
    if any(part.type.shape[axis] != x.type.shape[axis] for axis in axes):
        return None
    counted = max((place.type.shape for place in places), key=len)
    if any(place.type.shape not in ((), counted) for place in places):
        return None
    # NumPy puts the axes of the places where they stand side by side, and in front else.
    others = [axis for axis in range(x.type.ndim) if axis not in axes]
    is_adjacent = axes == tuple(range(axes[0], axes[0] + len(axes)))
    before = [axis for axis in others if is_adjacent and axis < axes[0]]
    behind = [axis for axis in others if axis not in before]
    sizes = [[part.type.shape[axis] for axis in group] for group in (before, behind)]
    shape = (*sizes[0], *counted, *sizes[1])
    if values.type.shape != shape:
        return None
    own = tuple(range(len(before), len(before) + len(counted)))
    dimensions = dict(zip(behind, range(len(before) + len(counted), len(shape)), strict=True))
    dimensions |= {axis: number for number, axis in enumerate(before)}
    indices: list[Atom] = []
    for axis in range(x.type.ndim):
        if axis in axes:
            place = places[axes.index(axis)]
            along = own if place.type.shape else ()
            indices.append(_repeated(builder, place, shape, along))
            continue
        numbers = builder.apply(iota, shape=shape, dimension=dimensions[axis], dtype=INT64)
        if begin[axis]:
            first = _repeated(builder, Const(np.int64(begin[axis])), shape, ())
            numbers = builder.apply(add, numbers, first)
        indices.append(numbers)
    return indices


def _repeated(builder: Builder, atom: Atom, shape: Shape, along: tuple[int, ...]) -> Atom:
    return builder.apply(broadcast_in_dim, atom, shape=shape, broadcast_dimensions=along)
