"""The positions of extremes: argmax and argmin as plain reductions.

Two reductions vectorise; a loop that carries a value and its position does not. The second one
reads everything once more, so long rows are cut into blocks: the extreme of each, the first block
that has that of all, and the position in this block alone. In others it ends early
(`schedule/lanes/settled_searches.py`).

Of short rows of floats, and of all halves, integers in the order of the numbers are compared, with
NaNs above all others: lanes of integers are combined by a few instructions, and those of floats
that may be NaN one after the other. Short rows of integers of 8 and 16 bits are reduced once, of
numbers that have the element in front and the position behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index
from transpile.ir.graph import Atom, Const, Equation, Var
from transpile.ir.graph_rewrite import Builder
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.indices.row_major import product
from transpile.ir.types import INT16, INT32, INT64, is_half
from transpile.machine import Machine
from transpile.primitives import axes, elementwise, indexing, reductions
from transpile.primitives.elementwise import bits


def expand_arg_reduction(builder: Builder, equation: Equation) -> Var:
    """argmax: the least index of an element that is the maximum, or a NaN."""
    (x,) = equation.inputs
    axis: int = equation.params["axis"]
    is_max = equation.primitive is reductions.argmax
    if x.type.shape[axis] == 1:
        first = Const(np.int64(0))
        shape = equation.output.type.shape
        return builder.apply(axes.broadcast_in_dim, first, shape=shape, broadcast_dimensions=())
    if _has_keys(x, axis, builder.machine):
        x = x if is_max else builder.apply(elementwise.negative, x)
        x, is_max = builder.apply(bits.order_key, x), True
    if _fits_beside_position(x, axis, builder.machine):
        return _with_position(builder, x, axis, is_max)
    if _is_cut(x, axis, builder.machine):
        return _in_blocks(builder, x, axis, is_max)
    if _goes_by_parts(x, axis, builder.machine):
        return _first_true(builder, _complex_extremes(builder, x, axis, is_max), axis, INT64)
    return _position(builder, x, axis, _extreme(builder, x, axis, is_max))


def expand_complex_extreme(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    """The extremes of long rows of complex numbers: the elements at their positions, which are
    found in lanes. One after the other, each comparison waits for the one before."""
    (x,) = equation.inputs
    reduced, order = tuple(equation.params["axes"]), tuple(range(x.type.ndim))
    transposed = builder.producer(x, axes.transpose)
    if transposed is not None:  # compared in the order of memory, as NumPy does
        (x,), order = transposed.inputs, transposed.params["permutation"]
    kept = tuple(order[axis] for axis in range(x.type.ndim) if axis not in reduced)
    reduced = tuple(sorted(order[axis] for axis in reduced))
    if not reduced or not isinstance(x.type.size, int):
        return None
    if reduced != tuple(range(reduced[0], reduced[-1] + 1)):
        return None
    shape = x.type.shape
    outer, inner = product(shape[: reduced[0]]), product(shape[reduced[-1] + 1 :])
    row = product(shape[axis] for axis in reduced)
    x = builder.apply(axes.reshape, x, shape=(outer, row, inner))
    if not _goes_by_parts(x, 1, builder.machine):
        return None
    best = _complex_extreme(builder, x, equation.primitive is reductions.reduce_max)
    in_memory = tuple(sorted(kept))
    best = builder.apply(axes.reshape, best, shape=tuple(shape[axis] for axis in in_memory))
    if kept == in_memory:
        return [best]
    turn = tuple(in_memory.index(axis) for axis in kept)
    return [builder.apply(axes.transpose, best, permutation=turn)]


def _complex_extreme(builder: Builder, x: Atom, is_max: bool) -> Var:
    """The extremes along the middle axis, of long rows those of the extremes of blocks: a block
    stays in the cache while it is read again. The last one may begin in the one before."""
    outer, row, inner = x.type.shape
    size = builder.machine.block_of_parts
    if inner != 1 or row < 2 * size:
        return _extreme_by_parts(builder, x, is_max)
    count = row // size
    whole = _part(builder, x, 0, count * size)
    whole = builder.apply(axes.reshape, whole, shape=(outer * count, size, 1))
    best = _extreme_by_parts(builder, whole, is_max)
    best = builder.apply(axes.reshape, best, shape=(outer, count, 1))
    if row % size:
        last = _extreme_by_parts(builder, _part(builder, x, row - size, row), is_max)
        last = builder.apply(axes.reshape, last, shape=(outer, 1, 1))
        best = builder.apply(axes.concatenate, best, last, dimension=1)
    return _complex_extreme(builder, best, is_max)


def _extreme_by_parts(builder: Builder, x: Atom, is_max: bool) -> Var:
    """The elements along the middle axis at the positions of the extremes."""
    outer, row, inner = x.type.shape
    at = _first_true(builder, _complex_extremes(builder, x, 1, is_max), 1, INT64)
    for dimension, size in ((0, row), (1, inner)):  # the position in memory: row, then column
        if at.type.shape[dimension] > 1:
            begin = builder.apply(axes.iota, shape=(outer, inner), dimension=dimension, dtype=INT64)
            if dimension == 0:
                begin = builder.apply(elementwise.multiply, begin, _number(size))
            else:
                at = builder.apply(elementwise.multiply, at, _number(size))
            at = builder.apply(elementwise.add, at, begin)
    flat = builder.apply(axes.reshape, x, shape=(x.type.size,))
    at = builder.apply(axes.reshape, at, shape=(outer * inner,))
    return builder.apply(indexing.gather, flat, at, axes=(0,), mode=indexing.PROMISED)


def _has_keys(x: Atom, axis: int, machine: Machine) -> bool:
    """True for floats that are compared as integers: halves, and those of short rows."""
    dtype, row = x.type.dtype, x.type.shape[axis]
    is_row = product(x.type.shape[axis + 1 :]) == 1
    is_short = is_row and isinstance(row, int) and row <= machine.longest_row_of_keys
    return is_half(dtype) or (dtype.kind == "f" and is_short)


def _fits_beside_position(x: Atom, axis: int, machine: Machine) -> bool:
    """True for short rows of integers of 8 and 16 bits."""
    dtype, row = x.type.dtype, x.type.shape[axis]
    is_last = product(x.type.shape[axis + 1 :]) == 1
    is_short = isinstance(row, int) and row * dtype.itemsize <= machine.longest_row_of_keys
    return is_last and is_short and dtype.kind in "iu" and dtype.itemsize < INT32.itemsize


def _with_position(builder: Builder, x: Atom, axis: int, is_max: bool) -> Var:
    """One reduction, of numbers twice as wide: the element, and behind it how far it is from the
    end of the row. The largest of them has the first of the largest elements."""
    if not is_max:
        x = builder.apply(bits.invert, x)
    narrow, last = x.type.dtype, x.type.shape[axis] - 1
    dtype: np.dtype[Any] = np.dtype(f"{narrow.kind}{2 * narrow.itemsize}")
    shift = 1 << 8 * narrow.itemsize
    wide = builder.apply(elementwise.convert, x, dtype=dtype)
    wide = builder.apply(elementwise.multiply, wide, Const(dtype.type(shift)))
    position = builder.apply(axes.iota, shape=x.type.shape, dimension=axis, dtype=dtype)
    behind = builder.apply(elementwise.subtract, Const(dtype.type(last)), position)
    code = builder.apply(elementwise.add, wide, behind)
    best = builder.apply(reductions.reduce_max, code, axes=(axis,))
    behind = builder.apply(bits.bitwise_and, best, Const(dtype.type(shift - 1)))
    first = builder.apply(elementwise.subtract, Const(dtype.type(last)), behind)
    return builder.apply(elementwise.convert, first, dtype=INT64)


def _is_cut(x: Atom, axis: int, machine: Machine) -> bool:
    """True for rows of several blocks, and for such columns of narrow matrices, of numbers that are
    compared in lanes."""
    shape, row = x.type.shape, x.type.shape[axis]
    if not isinstance(row, int) or not all(isinstance(e, int) and e > 0 for e in shape):
        return False
    is_narrow = product(shape[axis + 1 :]) <= machine.widest_blocked_search
    return is_narrow and row >= 2 * _block(x, axis, machine) and x.type.dtype.kind in "biuf"


def _goes_by_parts(x: Atom, axis: int, machine: Machine) -> bool:
    """True for complex rows that fill vectors: in lanes they are compared by their parts."""
    row = x.type.shape[axis]
    is_complex = x.type.dtype.kind == "c"
    return is_complex and is_at_most(machine.shortest_row_of_parts, row)


def _block(x: Atom, axis: int, machine: Machine) -> int:
    """The length of blocks: shorter than the usual one in columns, and rows, of few of these."""
    length, is_row = x.type.shape[axis], product(x.type.shape[axis + 1 :]) == 1
    if not is_row:
        usual = machine.column_search_block
        return usual if is_at_most(machine.fewest_search_blocks * usual, length) else usual // 2
    assert isinstance(length, int)
    size, shortest = machine.search_block, machine.shortest_search_block
    if length < 2 * shortest:
        return shortest // 2
    while size > shortest and length < machine.fewest_row_blocks * size:
        size //= 2
    return size


def _extreme(builder: Builder, x: Atom, axis: int, is_max: bool) -> Var:
    reduce = reductions.reduce_max if is_max else reductions.reduce_min
    return builder.apply(reduce, x, axes=(axis,))


def _complex_extremes(builder: Builder, x: Atom, axis: int, is_max: bool) -> Var:
    """Where the extreme, or a NaN, stands: the extreme of the real parts, which are compared first
    and in lanes, and that of the imaginary parts beside it. A NaN is no other number's equal, so
    that where there is one nothing else is the extreme."""
    real, imag = (builder.apply(part, x) for part in elementwise.COMPLEX_PARTS)
    is_nan = builder.apply(elementwise.isnan, x)
    nan, worst = (Const(real.type.dtype.type(v)) for v in (np.nan, -np.inf if is_max else np.inf))
    among = builder.apply(elementwise.select, is_nan, nan, real)
    is_tie = _is_equal(builder, among, axis, _extreme(builder, among, axis, is_max))
    beside = builder.apply(elementwise.select, is_tie, imag, worst)
    is_last = _is_equal(builder, imag, axis, _extreme(builder, beside, axis, is_max))
    is_best = builder.apply(elementwise.logical_and, is_tie, is_last)
    return builder.apply(elementwise.logical_or, is_best, is_nan)


def _is_equal(builder: Builder, x: Atom, axis: int, best: Atom) -> Var:
    """Where the extreme along an axis stands."""
    kept = tuple(a for a in range(x.type.ndim) if a != axis)
    best_everywhere = builder.apply(
        axes.broadcast_in_dim, best, shape=x.type.shape, broadcast_dimensions=kept
    )
    return builder.apply(elementwise.equal, x, best_everywhere)


def _position(builder: Builder, x: Atom, axis: int, best: Atom) -> Var:
    """The least index along an axis at which the extreme, or a NaN, stands."""
    is_best = _is_equal(builder, x, axis, best)
    if x.type.dtype.kind in "fc":
        is_best = builder.apply(
            elementwise.logical_or, is_best, builder.apply(elementwise.isnan, x)
        )
    return _first_true(builder, is_best, axis, _position_dtype(x, axis))


def _first_true(builder: Builder, is_best: Atom, axis: int, dtype: np.dtype[Any]) -> Var:
    """The least index along an axis at which there is a True, as there is one."""
    shape = is_best.type.shape
    position = builder.apply(axes.iota, shape=shape, dimension=axis, dtype=dtype)
    sentinel = Const(dtype.type(np.iinfo(dtype).max))
    candidates = builder.apply(elementwise.select, is_best, position, sentinel)
    first = builder.apply(reductions.reduce_min, candidates, axes=(axis,))
    return builder.apply(elementwise.convert, first, dtype=INT64) if dtype != INT64 else first


def _position_dtype(x: Atom, axis: int) -> np.dtype[Any]:
    """That of positions in lanes: where it can be, as wide as the elements, so that a register has
    as many of both."""
    length = x.type.shape[axis]
    for dtype in (INT16, INT32):
        is_wide = x.type.dtype.itemsize <= dtype.itemsize
        if is_wide and isinstance(length, int) and length <= np.iinfo(dtype).max:
            return dtype
    return INT64


def _in_blocks(builder: Builder, x: Atom, axis: int, is_max: bool) -> Var:
    """The last block ends with the row, and may begin in the one before."""
    shape, length = x.type.shape, x.type.shape[axis]
    assert isinstance(length, int)
    size = _block(x, axis, builder.machine)
    outer, inner = product(shape[:axis]), product(shape[axis + 1 :])
    x = builder.apply(axes.reshape, x, shape=(outer, length, inner))
    count = length // size
    whole = _part(builder, x, 0, count * size)
    whole = builder.apply(axes.reshape, whole, shape=(outer, count, size, inner))
    best = _extreme(builder, whole, 2, is_max)
    if length % size:
        last = _extreme(builder, _part(builder, x, length - size, length), 1, is_max)
        last = builder.apply(axes.reshape, last, shape=(outer, 1, inner))
        best = builder.apply(axes.concatenate, best, last, dimension=1)
    extreme = _extreme(builder, best, 1, is_max)
    block = _position(builder, best, 1, extreme)
    begin = builder.apply(elementwise.multiply, block, _number(size))
    begin = builder.apply(elementwise.minimum, begin, _number(length - size))
    within = _position(builder, _blocks_from(builder, x, begin, size), 1, extreme)
    position = builder.apply(elementwise.add, begin, within)
    return builder.apply(axes.reshape, position, shape=(*shape[:axis], *shape[axis + 1 :]))


def _part(builder: Builder, x: Atom, start: Index, limit: Index) -> Var:
    """A part of the middle axis."""
    outer, _, inner = x.type.shape
    return builder.apply(
        axes.slice_, x, start=(0, start, 0), limit=(outer, limit, inner), strides=(1, 1, 1)
    )


def _blocks_from(builder: Builder, x: Atom, begin: Atom, size: int) -> Var:
    """Of each row along the middle axis the block that begins at an index of its own."""
    outer, length, inner = x.type.shape
    shape = (outer, size, inner)
    index: Atom = builder.apply(
        axes.broadcast_in_dim, begin, shape=shape, broadcast_dimensions=(0, 2)
    )
    # The position in memory: of the row's beginning, in the row, of the column.
    for dimension, stride in ((1, 1), (0, length)):
        if shape[dimension] > 1:
            offset = builder.apply(axes.iota, shape=shape, dimension=dimension, dtype=INT64)
            offset = builder.apply(elementwise.multiply, offset, _number(stride))
            index = builder.apply(elementwise.add, index, offset)
    if inner > 1:
        index = builder.apply(elementwise.multiply, index, _number(inner))
        column = builder.apply(axes.iota, shape=shape, dimension=2, dtype=INT64)
        index = builder.apply(elementwise.add, index, column)
    flat = builder.apply(axes.reshape, x, shape=(product(x.type.shape),))
    return builder.apply(indexing.gather, flat, index, axes=(0,), mode=indexing.PROMISED)


def _number(value: Index) -> Const:
    assert isinstance(value, int)
    return Const(np.int64(value))
