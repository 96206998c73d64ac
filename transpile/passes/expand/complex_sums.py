"""Sums of complex numbers as one of real and one of imaginary parts, each in vector lanes.

So are products with vectors, as sums of elementwise products: an accumulator of complex numbers
keeps gcc out of lanes. So are small products of matrices; large ones are the library's.
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.ir.graph import Atom, Equation
from transpile.ir.graph_rewrite import Builder
from transpile.ir.indices.requirements import is_at_most
from transpile.primitives import axes, elementwise, reductions
from transpile.primitives.dot import Axes, contraction_sizes, free_axes, is_product_of_matrices


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
    along axes of the first, and of matrices too small for a routine; None for others."""
    (x, y), ((cx, cy), (bx, by)) = equation.inputs, equation.params["dimension_numbers"]
    of_x, of_y = (x, cx, bx), (y, cy, by)
    rows, columns, terms = contraction_sizes(equation)
    if cx and columns == 1:
        return [_sum_of_products(builder, equation, of_x, of_y)]
    if cx and rows == 1:
        return [_sum_of_products(builder, equation, of_y, of_x)]
    machine = builder.machine
    is_written_out = is_at_most(terms, machine.longest_unrolled_contraction)
    is_wide = not is_at_most(rows * columns * terms, machine.least_product_terms)
    is_wide = is_wide and not is_at_most(columns, rows)  # each row reads the columns again
    if is_written_out or is_wide or is_product_of_matrices(equation, machine):
        return None
    return [_sum_of_matrices(builder, equation)]


def _sum_of_products(
    builder: Builder,
    equation: Equation,
    of_x: tuple[Atom, Axes, Axes],
    of_y: tuple[Atom, Axes, Axes],
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


def _sum_of_matrices(builder: Builder, equation: Equation) -> Atom:
    """The sum of products whose axes are the batch, rows, what is contracted, and columns."""
    x, y = equation.inputs
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    fx, fy = free_axes(x.type.ndim, cx, bx), free_axes(y.type.ndim, cy, by)
    ndim, first = len(bx) + len(fx) + len(cx) + len(fy), len(bx) + len(fx)
    extents = [x.type.shape[a] for a in (*bx, *fx, *cx)] + [y.type.shape[a] for a in fy]
    of_x, of_y = range(first + len(cx)), (*range(len(bx)), *range(first, ndim))
    factors = [
        builder.apply(
            axes.broadcast_in_dim,
            builder.apply(axes.transpose, z, permutation=order),
            shape=tuple(extents),
            broadcast_dimensions=tuple(places),
        )
        for z, order, places in ((x, (*bx, *fx, *cx), of_x), (y, (*by, *cy, *fy), of_y))
    ]
    products = builder.apply(elementwise.multiply, *factors)
    return expand_complex_sum(builder, products, tuple(range(first, first + len(cx))))
