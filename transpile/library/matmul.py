"""Matrix products as a library sees them: sizes, and operands stepped through with strides.

A contraction of any axes becomes, for each batch index, one product of an (m, k) by a (k, n)
matrix. An operand that is a view (transposed, sliced, reshaped, broadcast) of a value in memory is
not copied as long as two strides describe it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from transpile.errors import InternalError
from transpile.ir.dims import Dim, Index, Shape, Symbol, product, recombine, row_major
from transpile.ir.graph import Atom, Equation
from transpile.machine import Machine
from transpile.primitives.dot import free_axes
from transpile.util.frozen_records import dataclass

Access = tuple[Atom, Sequence[Equation]]


@dataclass(frozen=True)
class Operand:
    """A matrix inside a buffer: the element (i, j) of batch b is at
    offset + sum(b * batch_strides) + i*row_stride + j*column_stride."""

    base: Atom
    offset: Index
    row_stride: Index
    column_stride: Index
    batch_strides: tuple[Index, ...]


@dataclass(frozen=True)
class Product:
    """For each batch index: the product of `operands[0]` (m, k) and `operands[1]` (k, n)."""

    m: int
    n: int
    k: int
    batch: Shape
    operands: tuple[Operand, Operand]


def as_product(equation: Equation, accesses: Sequence[Access]) -> Product:
    """The product that a contraction is; `accesses` gives each operand's base and the views on it,
    the last view first. An operand whose views no strides describe becomes its own base."""
    x, y = equation.inputs
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    fx, fy = free_axes(x.type.ndim, cx, bx), free_axes(y.type.ndim, cy, by)
    left = _operand(x, accesses[0], bx, fx, cx)
    right = _operand(y, accesses[1], by, cy, fy)
    return Product(
        _known(x, fx),
        _known(y, fy),
        _known(x, cx),
        tuple(x.type.shape[a] for a in bx),
        (left, right),
    )


def _known(atom: Atom, axes: Sequence[int]) -> int:
    """How many elements are along axes, which a library product knows."""
    size = product(atom.type.shape[a] for a in axes)
    if not isinstance(size, int):
        raise InternalError(f"a library product of {atom}, whose size is not known")
    return size


def _operand(
    atom: Atom, access: Access, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]
) -> Operand:
    for base, path in (access, (atom, ())):
        view = strides_in(atom, base, path)
        if view is None:
            continue
        offset, strides = view
        row = _joined(atom, strides, rows)
        column = _joined(atom, strides, columns)
        if row is not None and column is not None:
            return Operand(base, offset, row, column, tuple(strides[a] for a in batch))
    raise InternalError(
        f"{atom} has no matrix form: the pass canonicalize_dots should have made one"
    )


def strides_in(
    atom: Atom, base: Atom, path: Sequence[Equation]
) -> tuple[Index, list[Index]] | None:
    """The offset and the stride of each axis of `atom` inside `base`, or None."""
    symbols = [Symbol(f"a{axis}", 0, extent) for axis, extent in enumerate(atom.type.shape)]
    index: Shape = tuple(0 if s.extent == 1 else Dim.of(s) for s in symbols)
    for view in path:
        if view.primitive.index is None:
            return None
        index = view.primitive.index(index, view.inputs[0].type, **view.params)
    flat = recombine(row_major(index, base.type.shape))
    strides: list[Index] = [0] * len(symbols)
    if isinstance(flat, int):
        return flat, strides
    offset: Index = 0
    for monomial, coefficient in flat.terms:
        if not monomial:
            offset = coefficient
        elif len(monomial) == 1 and monomial[0] in symbols:
            strides[symbols.index(monomial[0])] = coefficient
        else:
            return None
    return offset, strides


def _joined(atom: Atom, strides: Sequence[Index], axes: Sequence[int]) -> Index | None:
    """The one stride that walks several axes in row-major order, or None."""
    wide = [a for a in axes if atom.type.shape[a] != 1]
    if not wide:
        return 1
    for outer, inner in pairwise(wide):
        if strides[outer] != strides[inner] * atom.type.shape[inner]:
            return None
    return strides[wide[-1]]


@dataclass(frozen=True)
class Stack:
    """Small products that one call makes: the last `axes` of the batch, `count` products whose
    operands are `steps` apart, of which `places` are made at a time."""

    axes: int
    count: int
    steps: tuple[Index, ...]
    places: int


def stacked(contraction: Product, machine: Machine) -> Stack:
    """The products of a batch that one call can make, where they are small: those along its last
    axes, as far as one step describes them."""
    size = contraction.m * contraction.n * contraction.k
    alone = Stack(0, 1, (0, 0), 1)
    if size > machine.most_stacked_terms:
        return alone
    axes, count, steps = 0, 1, alone.steps
    for axis in range(len(contraction.batch) - 1, -1, -1):
        extent = contraction.batch[axis]
        strides = tuple(o.batch_strides[axis] for o in contraction.operands)
        if not isinstance(extent, int):
            break
        if extent > 1 and count > 1 and strides != tuple(s * count for s in steps):
            break
        if extent > 1 and count == 1:
            steps = strides
        axes, count = axes + 1, count * extent
    if count == 1 or count * size < machine.least_stack_terms:
        return alone
    return Stack(axes, count, steps, min(count, machine.slots))
