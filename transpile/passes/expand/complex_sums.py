"""Sums of complex numbers as one of real and one of imaginary parts, each in vector lanes.

So are products with vectors, as sums of elementwise products: an accumulator of complex numbers
keeps gcc out of lanes. Products of two matrices are the library's.
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.ir.graph import Atom, Equation
from transpile.ir.graph_rewrite import Builder
from transpile.ir.indices.row_major import product
from transpile.primitives import axes, elementwise, reductions
from transpile.primitives.dot import free_axes


def expand_complex_sum(builder: Builder, x: Atom, over: tuple[int, ...]) -> Atom:
    """The sum along axes as two real sums."""
    name, builder.name = builder.name, ""
    parts = [
        builder.apply(reductions.reduce_sum, builder.apply(part, x), axes=over)
        for part in elementwise.COMPLEX_PARTS
    ]
    builder.name = name
    return builder.apply(elementwise.make_complex, *parts)


def expand_complex_dot(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    """The contraction of an operand with one that has no axes but those of the first, as a sum
    along axes of the first; None for others."""
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    sides = [(equation.inputs[0], cx, bx), (equation.inputs[1], cy, by)]
    for (x, *of_x), (y, *of_y) in (sides, sides[::-1]):
        free = free_axes(y.type.ndim, *of_y)
        if of_x[0] and product(y.type.shape[a] for a in free) == 1:
            return [_sum_of_products(builder, equation, (x, *of_x), (y, *of_y))]
    return None


def _sum_of_products(
    builder: Builder,
    equation: Equation,
    of_x: tuple[Atom, Sequence[int], Sequence[int]],
    of_y: tuple[Atom, Sequence[int], Sequence[int]],
) -> Atom:
    """The sum of x times y, which has the axes of x that are contracted or of the batch."""
    (x, contracted, batch), (y, from_contracted, from_batch) = of_x, of_y
    at = dict(zip((*from_contracted, *from_batch), (*contracted, *batch), strict=True))
    order = sorted(at, key=at.__getitem__)
    free = free_axes(y.type.ndim, from_contracted, from_batch)
    y = builder.apply(axes.transpose, y, permutation=(*order, *free))
    y = builder.apply(axes.reshape, y, shape=y.type.shape[: len(order)])
    places = tuple(at[a] for a in order)
    y = builder.apply(axes.broadcast_in_dim, y, shape=x.type.shape, broadcast_dimensions=places)
    products = builder.apply(elementwise.multiply, x, y)
    total = expand_complex_sum(builder, products, tuple(sorted(contracted)))
    kept = [a for a in range(x.type.ndim) if a not in contracted]
    wanted = (*batch, *free_axes(x.type.ndim, contracted, batch))
    total = builder.apply(axes.transpose, total, permutation=tuple(map(kept.index, wanted)))
    return builder.apply(axes.reshape, total, shape=equation.output.type.shape)
