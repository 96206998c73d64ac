"""Operations on floats that simpler ones do exactly: sums of integers, and rests by powers of two.

    reduce_sum(convert(x: uint8))  ->  convert(reduce_sum(x))
    fmod(x, 4.0)                   ->  copysign(x - trunc(x * 0.25) * 4.0, x)

A mean of bytes is a sum of floats in NumPy. As long as no sum of so many terms leaves the integers
that the float has all of, the order is free and the sum of integers is the same number, of which a
vector has several times as many lanes.

The quotient by a power of two is exact, and so is what its whole part leaves of the dividend: other
divisors take a division in wider numbers, and a test of how large the quotient is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transpile.ir.graph import Atom, Const, Equation
from transpile.ir.graph_rewrite import Builder
from transpile.ir.indices.row_major import product
from transpile.ir.types import INT32, INT64
from transpile.primitives import elementwise, reductions


def expand_sum_of_integers(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    """The sum of small integers that were converted to floats, as a sum of integers."""
    converted, over = equation.inputs[0], equation.params["axes"]
    inner = builder.producer(converted, elementwise.convert)
    if inner is None:
        return None
    x = inner.inputs[0]
    source, dtype = x.type.dtype, converted.type.dtype
    count = product(tuple(x.type.shape[axis] for axis in over))
    if source.kind not in "biu" or not isinstance(count, int):
        return None
    if source.itemsize >= INT32.itemsize:  # integers have no more lanes
        return None
    if count << 8 * source.itemsize > 1 << (np.finfo(dtype).nmant + 1):
        return None
    name, builder.name = builder.name, ""
    whole = builder.apply(elementwise.convert, x, dtype=INT64)
    total = builder.apply(reductions.reduce_sum, whole, axes=over)
    builder.name = name
    return [builder.apply(elementwise.convert, total, dtype=dtype)]


def expand_quotient(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    """fmod, remainder or floor_divide of floats by a constant power of two that is at least 1, of
    which no quotient overflows; None for others.

    Where the quotient underflows, its whole part is 0 all the same, but not what it is rounded down
    to. Infinite dividends have the rest NaN.
    """
    x, divisor = equation.inputs
    if not isinstance(divisor, Const) or not divisor.is_scalar:
        return None
    if x.type.shape != equation.output.type.shape:
        return None
    number, size = divisor.value, abs(divisor.value)
    if not 1 <= size < np.inf or np.frexp(size)[0] != 0.5:
        return None
    if number < 0 and equation.primitive is not elementwise.fmod:
        return None
    dtype = x.type.dtype
    zero, one, step = (Const(dtype.type(value)) for value in (0, 1, size))
    name, builder.name = builder.name, ""
    quotient = builder.apply(elementwise.multiply, x, Const(dtype.type(1 / size)))
    whole = builder.apply(elementwise.trunc, quotient)
    taken = builder.apply(elementwise.multiply, whole, step)
    rest = builder.apply(elementwise.subtract, x, taken)
    builder.name = name
    if equation.primitive is elementwise.fmod:
        return [builder.apply(elementwise.copysign, rest, x)]
    is_below = builder.apply(elementwise.less, rest, zero)
    if equation.primitive is elementwise.remainder:
        moved = builder.apply(elementwise.add, rest, step)
        return [builder.apply(elementwise.select, is_below, moved, rest)]
    nothing = builder.apply(elementwise.multiply, rest, zero)  # NaN where the rest is
    below = builder.apply(elementwise.select, is_below, one, nothing)
    return [builder.apply(elementwise.subtract, whole, below)]
