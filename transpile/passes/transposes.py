"""Transposes go to where they cost nothing: through what is computed element by element.

A value that is only wanted transposed is computed transposed. The transpose moves on to the
operands, until a broadcast, a count or a matrix product takes it in, or an input is read with its
subscripts exchanged. Jacobians in forward mode and mapped axes that do not stand in front end in
such transposes.
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.graph import Atom, Equation, Graph, Var
from transpile.passes.rewrite import Builder, rewrite
from transpile.primitives.axes import broadcast_in_dim, iota, pad, rev, slice_, transpose
from transpile.primitives.linalg import dot_general, free_axes

Permutation = tuple[int, ...]


def sink_transposes(graph: Graph) -> Graph:
    """Compute values in the order of axes in which all their readers want them."""
    layouts = _layouts(graph)
    if not layouts:
        return graph

    def rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
        if equation.primitive is transpose and builder.producer(equation.inputs[0], transpose):
            return [_ordered(builder, equation.inputs[0], equation.params["permutation"])]
        order = layouts.get(equation.outputs[0]) if len(equation.outputs) == 1 else None
        if order is None:
            return None
        moved = _moved(builder, equation, order)
        return [builder.apply(transpose, moved, permutation=_inverse(order))]

    return rewrite(graph, rule)


def _layouts(graph: Graph) -> dict[Var, Permutation]:
    """The values to compute transposed, and how."""
    wanted: dict[Var, set[Permutation]] = {}

    def want(atom: Atom, order: Permutation) -> None:
        if isinstance(atom, Var):
            wanted.setdefault(atom, set()).add(order)

    for atom in graph.outputs:
        want(atom, _identity(atom))
    layouts: dict[Var, Permutation] = {}
    for equation in reversed(graph.equations):
        orders = {o for v in equation.outputs for o in wanted.get(v, ())}
        order = next(iter(orders)) if len(orders) == 1 and len(equation.outputs) == 1 else None
        row = equation.primitive
        if row is transpose:
            permutation = equation.params["permutation"]
            for found in orders:
                want(equation.inputs[0], tuple(permutation[a] for a in found))
            continue
        if order is not None and order != _identity(equation.output) and _takes(equation, order):
            layouts[equation.output] = order
        else:
            order = None
        if row is dot_general or row is broadcast_in_dim:
            continue  # they read their operands in any order
        for atom in equation.inputs:
            if order is None or not atom.type.shape:
                want(atom, _identity(atom))
            else:
                want(atom, order)
    return layouts


def _identity(atom: Atom) -> Permutation:
    return tuple(range(atom.type.ndim))


def _inverse(order: Permutation) -> Permutation:
    return tuple(map(order.index, range(len(order))))


def _takes(equation: Equation, order: Permutation) -> bool:
    """Tell whether an equation can give its result in another order of axes for nothing."""
    row = equation.primitive
    if row is dot_general:
        return order == _exchanged(equation)
    return row.kind == "elementwise" or row in (broadcast_in_dim, iota, pad, rev, slice_)


def _exchanged(equation: Equation) -> Permutation:
    """The order of a product's axes when its operands are exchanged."""
    x, y = equation.inputs
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    batch, rows = len(bx), len(free_axes(x.type.ndim, cx, bx))
    columns = len(free_axes(y.type.ndim, cy, by))
    ends = batch + rows, batch + rows + columns
    return (*range(batch), *range(*ends), *range(batch, ends[0]))


def _moved(builder: Builder, equation: Equation, order: Permutation) -> Var:
    """The result of an equation with its axes in another order."""
    row, params = equation.primitive, dict(equation.params)
    if row is dot_general:
        (cx, cy), (bx, by) = params["dimension_numbers"]
        x, y = equation.inputs
        return builder.apply(dot_general, y, x, dimension_numbers=((cy, cx), (by, bx)))
    if row is broadcast_in_dim:
        shape, axes = params["shape"], params["broadcast_dimensions"]
        places = [order.index(a) for a in axes]
        inner = tuple(sorted(range(len(places)), key=places.__getitem__))
        x = _ordered(builder, equation.inputs[0], inner)
        return builder.apply(
            row,
            x,
            shape=tuple(shape[a] for a in order),
            broadcast_dimensions=tuple(sorted(places)),
        )
    if row is iota:
        params["shape"] = tuple(params["shape"][a] for a in order)
        params["dimension"] = order.index(params["dimension"])
    elif row is rev:
        params["dimensions"] = tuple(sorted(order.index(a) for a in params["dimensions"]))
    elif row in (pad, slice_):
        params = {name: tuple(value[a] for a in order) for name, value in params.items()}
    inputs = [_ordered(builder, a, order) if a.type.shape else a for a in equation.inputs]
    return builder.apply(row, *inputs, **params)


def _ordered(builder: Builder, atom: Atom, order: Permutation) -> Atom:
    """A value with its axes in another order: as it was computed, or transposed."""
    producer = builder.producer(atom, transpose)
    if producer is not None:
        inner = producer.inputs[0]
        order = tuple(producer.params["permutation"][a] for a in order)
        atom = inner
    if order == _identity(atom):
        return atom
    return builder.apply(transpose, atom, permutation=order)
