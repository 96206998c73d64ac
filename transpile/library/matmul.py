"""Plan calls of the matrix product routine: a contraction as products of (m, k) by (k, n) matrices.

The leading batch axes are loops around the call; small products along the last ones are one batched
call. An operand that is a view (transposed, sliced, reshaped, broadcast) of a value in memory is
not copied if a row and a column stride describe it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from transpile.errors import InternalError
from transpile.intrinsics.products import ComplexMatmul, Matmul
from transpile.ir.calls import Call
from transpile.ir.dims import Dim, Index, Shape, Symbol
from transpile.ir.graph import Atom, Equation, Var
from transpile.ir.indices.estimates import estimate
from transpile.ir.types import FLOAT32, is_half
from transpile.library.plan import CallPlan, LoopedCall, Views, array, part
from transpile.machine import Machine
from transpile.primitives.dot import (
    contraction_sizes,
    dot_general,
    free_axes,
    is_product_of_matrices,
)
from transpile.primitives.elementwise import convert
from transpile.util.frozen_records import dataclass, replace


def is_library_product(equation: Equation, machine: Machine) -> bool:
    """True if a contraction is large enough for the matrix product routine."""
    return equation.primitive is dot_general and is_product_of_matrices(equation, machine)


def plan_product(equation: Equation, views: Views, machine: Machine) -> CallPlan:
    """The call for a large contraction, a product or a batch of small ones, in loops over the
    leading batch axes."""
    x, y = equation.inputs
    out = equation.output
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    m, n, k = contraction_sizes(equation)
    if machine.multiplies_halves:
        x, y = _as_halves(x, y, views)
    left = _operand(x, views, bx, free_axes(x.type.ndim, cx, bx), cx)
    right = _operand(y, views, by, cy, free_axes(y.type.ndim, cy, by))
    if machine.multiplies_halves:
        bases = _as_halves(left.base, right.base, views, in_memory=True)
        left, right = replace(left, base=bases[0]), replace(right, base=bases[1])
    batch = tuple(x.type.shape[a] for a in bx)
    is_complex = out.type.dtype.kind == "c"
    stack = _ALONE if is_complex else _stacked(batch, m * n * k, (left, right), machine)
    axes = batch[: len(batch) - stack.axes]
    loops = tuple(Symbol(f"b{axis}", 0, extent) for axis, extent in enumerate(axes))
    where: Shape = tuple(0 if s.extent == 1 else Dim.of(s) for s in loops)
    a, b = (
        array(
            name,
            matrix.base,
            sum((i * s for i, s in zip(where, matrix.batch_strides, strict=False)), matrix.offset),
            (matrix.row_stride, matrix.column_stride),
        )
        for name, matrix in (("a", left), ("b", right))
    )
    c = part("c", out, where, (n, 1))
    precision = equation.params.get("precision", "")
    one = Matmul(m, n, k, a, b, c, precision=precision)
    call: Call = one.batch(stack.count, stack.strides, stack.slots) if stack.count > 1 else one
    if is_complex:
        call = ComplexMatmul(estimate(m), estimate(n), estimate(k), a, b, c)
    reads = {"a": left.base, "b": right.base}
    return CallPlan(reads, {"c": out}, {}, (LoopedCall(loops, call),))


@dataclass(frozen=True)
class _Matrix:
    """A batch of matrices inside a value: the element (i, j) of batch index b is at
    offset + sum(b * batch_strides) + i*row_stride + j*column_stride."""

    base: Atom
    offset: Index
    row_stride: Index
    column_stride: Index
    batch_strides: Shape


def _operand(
    atom: Atom, views: Views, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]
) -> _Matrix:
    for view in views.of(atom):
        row = _joined(atom, view.strides, rows)
        column = _joined(atom, view.strides, columns)
        if row is not None and column is not None:
            leading = tuple(view.strides[a] for a in batch)
            return _Matrix(view.base, view.offset, row, column, leading)
    raise InternalError(
        f"{atom} has no matrix form: the pass canonicalize_dots should have made one"
    )


def _as_halves(x: Atom, y: Atom, views: Views, *, in_memory: bool = False) -> tuple[Atom, Atom]:
    """Two operands that are converted from one format of halves as these halves, which are views,
    or are `in_memory`; others as they are."""
    left, right = _half(x, views), _half(y, views)
    if left is None or right is None or left.type.dtype != right.type.dtype:
        return x, y
    if in_memory and (views.base(left)[0] is not left or views.base(right)[0] is not right):
        return x, y
    return left, right


def _half(atom: Atom, views: Views) -> Atom | None:
    """The halves that a value is converted from; None for others."""
    made = views.producers.get(atom) if isinstance(atom, Var) else None
    if made is None or made.primitive is not convert or made.output.type.dtype != FLOAT32:
        return None
    (half,) = made.inputs
    return half if is_half(half.type.dtype) else None


def _joined(atom: Atom, strides: Sequence[Index], axes: Sequence[int]) -> Index | None:
    """The stride that traverses several axes in row-major order, or None."""
    wide = [a for a in axes if atom.type.shape[a] != 1]
    if not wide:
        return 1
    for outer, inner in pairwise(wide):
        if strides[outer] != strides[inner] * atom.type.shape[inner]:
            return None
    return strides[wide[-1]]


@dataclass(frozen=True)
class _Stack:
    """The batch of a call: the last `axes` of the batch axes, `count` products whose operands are
    `strides` apart, computed by up to `slots` threads."""

    axes: int
    count: int
    strides: tuple[Index, ...]
    slots: int


_ALONE = _Stack(0, 1, (0, 0), 1)


def _stacked(batch: Shape, size: Index, operands: Sequence[_Matrix], machine: Machine) -> _Stack:
    """The batch of one call, if products are small: as many of the last batch axes as one stride of
    each operand describes."""
    if not isinstance(size, int) or size > machine.most_stacked_terms:
        return _ALONE
    axes, count, strides = 0, 1, _ALONE.strides
    for axis in range(len(batch) - 1, -1, -1):
        extent = batch[axis]
        along_axis = tuple(o.batch_strides[axis] for o in operands)
        if not isinstance(extent, int):
            break
        if extent > 1 and count > 1 and along_axis != tuple(s * count for s in strides):
            break
        if extent > 1 and count == 1:
            strides = along_axis
        axes, count = axes + 1, count * extent
    if count == 1 or count * size < machine.least_stack_terms:
        return _ALONE
    return _Stack(axes, count, strides, min(count, machine.slots))
