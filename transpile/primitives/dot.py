"""`dot_general`, the contraction of two operands over axes with batch axes: what matmul, dot,
tensordot and einsum become.

The result's axes are the batch, the free axes of x, the free axes of y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index, Shape
from transpile.ir.graph import Equation
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import Axis, Linear, Primitive, inverse, register
from transpile.ir.types import FLOAT32, ArrayType
from transpile.machine import Machine
from transpile.primitives.rules import apply, transposed
from transpile.trace.trace import bind, current_trace
from transpile.util.settings.product_precision import FULL, is_named, precision_in_effect

Axes = tuple[int, ...]
DimensionNumbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


def precision_asked(dtype: np.dtype[Any]) -> dict[str, str]:
    """The params of a product that is bound now for the precision that is asked for: none for that
    of the operands. Rules of primitives compute in that where they name none."""
    name = precision_in_effect() if dtype == FLOAT32 else FULL
    trace = current_trace()
    is_of_rule = trace is not None and trace.origin is not None
    return {} if name == FULL or (is_of_rule and not is_named()) else {"precision": name}


def bind_product(x: Any, y: Any, numbers: DimensionNumbers) -> Any:
    """The contraction of two operands in the precision that is asked for."""
    asked = precision_asked(x.dtype)
    return bind(dot_general, x, y, dimension_numbers=numbers, **asked)


def free_axes(rank: int, contracting: Axes, batch: Axes) -> Axes:
    """The axes of an operand that are neither contracted nor batched."""
    return tuple(a for a in range(rank) if a not in contracting and a not in batch)


def contraction_sizes(equation: Equation) -> tuple[Index, Index, Index]:
    """The rows and columns of a contraction's result, and the terms of an element."""
    x, y = equation.inputs
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    fx, fy = free_axes(x.type.ndim, cx, bx), free_axes(y.type.ndim, cy, by)
    return (
        product(x.type.shape[a] for a in fx),
        product(y.type.shape[a] for a in fy),
        product(x.type.shape[a] for a in cx),
    )


def is_product_of_matrices(equation: Equation, machine: Machine) -> bool:
    """True if a contraction is so large that a routine for products of matrices pays."""
    kind = equation.output.type.dtype.kind
    sizes = contraction_sizes(equation)
    if kind not in "fc" or (kind == "c" and not all(isinstance(size, int) for size in sizes)):
        return False  # the scratch memory of complex products grows with the sizes
    m, n, k = map(estimate, sizes)
    is_wide = min(m, n, k) >= machine.shortest_product_side
    # Of so few rows loops read the right operand for each anew; complex ones are packed in parts.
    is_low = m >= machine.fewest_product_rows and min(n, 2 * k) >= machine.widest_looped_product
    return (is_wide or (is_low and kind == "f")) and m * n * k >= machine.least_product_terms


def _dot_general_type(
    x: ArrayType, y: ArrayType, *, dimension_numbers: DimensionNumbers, precision: str = FULL
) -> ArrayType:
    (cx, cy), (bx, by) = dimension_numbers
    if x.dtype != y.dtype:
        raise TypeError(f"dot_general takes equal dtypes, not {x} and {y}")
    if [x.shape[a] for a in cx] != [y.shape[a] for a in cy] or [x.shape[a] for a in bx] != [
        y.shape[a] for a in by
    ]:
        raise TypeError(f"dot_general cannot contract {x} and {y} over {dimension_numbers}")
    shape: Shape = (
        *(x.shape[a] for a in bx),
        *(x.shape[a] for a in free_axes(x.ndim, cx, bx)),
        *(y.shape[a] for a in free_axes(y.ndim, cy, by)),
    )
    return ArrayType(shape, x.dtype)


def _dot_general(
    x: Any, y: Any, *, dimension_numbers: DimensionNumbers, precision: str = FULL
) -> Any:
    """As a batch of matrix products, for which NumPy calls its BLAS. `precision` allows others to
    round their operands."""
    (cx, cy), (bx, by) = dimension_numbers
    fx, fy = free_axes(x.ndim, cx, bx), free_axes(y.ndim, cy, by)
    batch = [x.shape[a] for a in bx]
    rows, columns = [x.shape[a] for a in fx], [y.shape[a] for a in fy]
    inner = math.prod(x.shape[a] for a in cx)
    left = np.transpose(x, (*bx, *fx, *cx)).reshape((*batch, math.prod(rows), inner))
    right = np.transpose(y, (*by, *cy, *fy)).reshape((*batch, inner, math.prod(columns)))
    product = np.matmul(left, right).reshape((*batch, *rows, *columns))
    return product.astype(x.dtype, copy=False)  # of bfloat16 NumPy's is a float32


def _dot_jvp(tangents: Sequence[Any], _: Any, x: Any, y: Any, **params: Any) -> Any:
    parts = [
        apply("dot_general", *operands, **params)
        for t, operands in zip(tangents, ((tangents[0], y), (x, tangents[1])), strict=True)
        if t is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _dot_transpose(
    ct: Any, x: Any, y: Any, *, dimension_numbers: DimensionNumbers, **precision: str
) -> list[Any]:
    """The contraction of the cotangent with the other operand, over that one's free axes."""
    (cx, cy), (bx, by) = dimension_numbers
    batch = tuple(range(len(bx)))
    middle = ct.ndim - len(free_axes(_rank(y), cy, by))
    of_x, of_y = tuple(range(len(bx), middle)), tuple(range(middle, ct.ndim))
    if isinstance(x, Linear):
        return [_product_into(x.type, (ct, of_y, batch), y, cx, (cy, bx, by), precision), None]
    return [None, _product_into(y.type, (ct, of_x, batch), x, cy, (cx, by, bx), precision)]


def _rank(operand: Any) -> int:
    rank: int = operand.type.ndim if isinstance(operand, Linear) else operand.ndim
    return rank


def _product_into(
    kind: ArrayType,
    cotangent: tuple[Any, Axes, Axes],
    other: Any,
    contracted: Axes,
    numbers: tuple[Axes, Axes, Axes],
    precision: dict[str, str],
) -> Any:
    """The contraction of the cotangent (with its axes to contract and to batch) and the other
    operand, transposed to an operand's type.

    With its operands in one of the two orders it often needs no transposition.
    """
    ct, over, batch = cotangent
    other_contracted, own_batch, other_batch = numbers
    free = free_axes(other.ndim, other_contracted, other_batch)
    kept = free_axes(kind.ndim, contracted, own_batch)
    # The free axes of the other operand are its contracted axes, in its order.
    order = sorted(range(len(contracted)), key=other_contracted.__getitem__)
    rest = tuple(contracted[k] for k in order)
    if (*own_batch, *rest, *kept) == tuple(range(kind.ndim)):
        turned = ((free, over), (other_batch, batch))
        return apply("dot_general", other, ct, dimension_numbers=turned, **precision)
    straight = ((over, free), (batch, other_batch))
    product = apply("dot_general", ct, other, dimension_numbers=straight, **precision)
    axes = (*own_batch, *kept, *rest)
    return transposed(product, inverse(axes))


def _dot_batch(
    axis: Axis,
    batched: Sequence[bool],
    x: Any,
    y: Any,
    *,
    dimension_numbers: DimensionNumbers,
    **precision: str,
) -> tuple[Any, bool]:
    """If both are batched: one more batch axis. If one is: one more free axis of a single
    product."""
    (cx, cy), (bx, by) = (
        tuple(tuple(a + b for a in axes) for axes, b in zip(pair, batched, strict=True))
        for pair in dimension_numbers
    )
    if all(batched):
        numbers = ((cx, cy), ((0, *bx), (0, *by)))
        return apply("dot_general", x, y, dimension_numbers=numbers, **precision), True
    product = apply("dot_general", x, y, dimension_numbers=((cx, cy), (bx, by)), **precision)
    axis_of_batch = len(bx) if batched[0] else len(bx) + len(free_axes(x.ndim, cx, bx))
    rest = [a for a in range(product.ndim) if a != axis_of_batch]
    return transposed(product, (axis_of_batch, *rest)), True


dot_general = register(
    Primitive(
        "dot_general",
        "contract",
        _dot_general,
        _dot_general_type,
        jvp=_dot_jvp,
        transpose=_dot_transpose,
        batch=_dot_batch,
    )
)
