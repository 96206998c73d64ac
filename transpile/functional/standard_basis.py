"""A linear graph at all unit vectors of its last input at once: what Jacobians are made of.

The unit vectors are a comparison of two counts, so that a compiled program holds no matrix of them.
Products with them are not computed as products: they pick elements of the other operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.graph import Atom, Const, Equation, Graph, Var
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import Axis
from transpile.ir.types import INT64
from transpile.primitives.dot import free_axes
from transpile.primitives.rules import apply, broadcast, reshaped, transposed
from transpile.trace.trace import the_trace
from transpile.transforms.batch import spread as batched_results
from transpile.transforms.closed import Environment, name_after
from transpile.transforms.closed import apply as apply_graph
from transpile.transforms.linearize import free_variables, partition


def at_unit_vectors(graph: Graph, values: Sequence[Any]) -> list[Any]:
    """The results of a graph that is linear in its last input, for each unit vector of that one, in
    row-major order along a new axis in front; `values` are the other inputs. In the trace under
    way.

    A scalar has one unit vector, and gets no axis. None stands for a result that is zero for all.
    """
    variable = graph.inputs[-1]
    kind = variable.type
    if not kind.shape:
        return apply_graph(graph, [*values, Const(np.ones((), kind.dtype))])
    size = product(kind.shape)
    known, linear = partition(graph, [variable])
    unit = apply("convert_element_type", _equal_counts((size,)), dtype=kind.dtype)
    environment = Environment(
        the_trace(), graph.inputs, [*values, reshaped(unit, (size, *kind.shape))]
    )
    for equation in known:
        inputs = [environment[a] for a in equation.inputs]
        environment.define(equation.outputs, environment.trace.copy(equation, inputs))
    depending = {variable, *(v for e in linear for v in e.outputs)}
    units: set[Atom] = {variable}
    rest: list[Equation] = []
    for equation in linear:
        blocks = _at_units(equation, environment, units, depending)
        if blocks is None:
            rest.append(equation)
        else:
            environment.define(equation.outputs, [blocks])
    return _batched(graph, rest, environment, depending, Axis(size))


def _batched(
    graph: Graph,
    equations: Sequence[Equation],
    environment: Environment,
    depending: set[Var],
    axis: Axis,
) -> list[Any]:
    """The results by these equations alone, the other values being there."""
    inputs = free_variables(equations, graph.outputs, ())
    remaining = replace(graph, inputs=inputs, equations=tuple(equations))
    results, flags = batched_results(
        remaining, axis, [environment[v] for v in inputs], [v in depending for v in inputs]
    )
    return [x if is_batched else None for x, is_batched in zip(results, flags, strict=True)]


def _at_units(
    equation: Equation, environment: Environment, units: set[Atom], depending: set[Var]
) -> Any:
    """The result of an equation for all unit vectors where it takes no computation, or None.

    `units` are the values that hold, example by example, the unit vectors of their shape.
    """
    name = equation.primitive.name
    if name == "reshape" and equation.inputs[0] in units:
        units.update(equation.outputs)
        unit = environment[equation.inputs[0]]
        return reshaped(unit, (unit.shape[0], *equation.output.type.shape))
    if name != "dot_general" or len(units.intersection(equation.inputs)) != 1:
        return None
    x, y = equation.inputs
    side = 0 if x in units else 1
    other = (y, x)[side]
    if other in depending:
        return None
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    numbers = ((cx, cy), (bx, by)) if side == 0 else ((cy, cx), (by, bx))
    with environment.trace.at(equation.source):
        picked = _picked((x, y)[side].type.shape, environment[other], numbers, side == 0)
        name_after(picked, equation.output.name)
    return picked


Numbers = tuple[tuple[Any, Any], tuple[Any, Any]]


def _picked(shape: Shape, y: Any, numbers: Numbers, is_first: bool) -> Any:
    """The products of all unit vectors of a shape with y.

    The unit vector at the index (b, f, c), by its batch, free and contracted axes, gives at
    (b', f', g), where g are the free axes of y, the element y[b, c, g] if (b', f') = (b, f), and
    else 0. With y first the result is at (b', g, f').
    """
    (cx, cy), (bx, by) = numbers
    fx, fy = free_axes(len(shape), cx, bx), free_axes(y.type.ndim, cy, by)
    batch, free = [shape[a] for a in bx], [shape[a] for a in fx]
    others = [y.type.shape[a] for a in fy]
    tail = [*batch, *free, *others] if is_first else [*batch, *others, *free]
    # The axes of the result before it is reshaped: those of the index, then the tail.
    full = (*shape, *tail)
    after = len(shape) + len(batch)
    first_free, first_other = after, after + len(free)
    if not is_first:
        first_free, first_other = after + len(others), after
    place_of = {a: bx[k] for k, a in enumerate(by)} | {a: cx[k] for k, a in enumerate(cy)}
    place_of |= {a: first_other + k for k, a in enumerate(fy)}
    order = sorted(place_of, key=place_of.__getitem__)
    picked = broadcast(transposed(y, order), full, [place_of[a] for a in order])
    if batch or free:
        again = [*range(len(shape), after), *range(first_free, first_free + len(free))]
        axes = [*bx, *fx, *again]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        same = transposed(_equal_counts((*batch, *free)), order)
        is_there = broadcast(same, full, [axes[k] for k in order])
        picked = np.where(is_there, picked, np.zeros((), y.type.dtype))
    return reshaped(picked, (product(shape), *tail))


def _equal_counts(shape: Shape) -> Any:
    """For each pair of indices of a shape, whether they are equal: an array of shape + shape."""
    size = product(shape)
    row, column = (apply("iota", shape=(size, size), dimension=d, dtype=INT64) for d in (0, 1))
    return reshaped(np.equal(row, column), (*shape, *shape))
