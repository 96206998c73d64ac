"""Functions that join arrays, split them, and repeat their elements."""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.indices.lengths import lengths_of
from transpile.ir.types import FLOAT64, INT64
from transpile.numpy.core.extensions import accepts_more
from transpile.numpy.core.promotion import (
    Array,
    add_methods,
    as_array,
    as_operand,
    axis_of,
    broadcast_in_dim,
    broadcast_to,
    concatenate_along,
    convert,
    dtype_argument,
    implements,
    index_of,
    is_weak,
    refuse,
    reshape_to,
    result_dtype,
    slice_axis,
    strengthen,
    transpose_to,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import exact, extent_of, offset_of, with_equal_extents
from transpile.numpy.core.scans import added_at
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.shapes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    check_cast,
    ravel,
    shape_argument,
)
from transpile.primitives import axes as primitives
from transpile.primitives import reductions
from transpile.primitives.indexing import CLIP, gather, sliced
from transpile.trace.lengths import measured, none_of
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer

# Longer than any array, and far from where sums of counts overflow.
_TOO_LONG = 1 << 62

# --------------------------------------------------------------------------------- concatenate


@implements(np.concatenate, np.concat)
def concatenate(
    arrays: Sequence[Array],
    /,
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Any:
    """The arrays joined along an existing axis, in the dtype that they promote to; None flattens
    them first.

    Raises ValueError for no arrays, for scalars, and for shapes that differ in another axis,
    TypeError where `casting` does not allow the casts to `dtype`.
    """
    refuse("concatenate", out=out)
    given = [as_operand(a) for a in arrays]
    if not given:
        raise located(ValueError, "need at least one array to concatenate")
    promoted = result_dtype(*given) if dtype is None else dtype_argument(dtype)
    parts = [strengthen(p) for p in given]
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    if any(p.ndim == 0 for p in parts):
        raise located(ValueError, "zero-dimensional arrays cannot be concatenated")
    number = axis_of(exact(axis), parts[0].ndim)
    parts = _joinable(parts, number)
    for part in given:
        if not is_weak(part):
            check_cast(part.dtype, promoted, casting)
    return concatenate_along([_traced(convert(p, promoted)) for p in parts], number)


def _traced(x: Any) -> Any:
    """A constant as a traced value, so that a result is never a bare constant."""
    return x if isinstance(x, Tracer) else bind(primitives.reshape, x, shape=x.shape)


def _joinable(parts: Sequence[Any], axis: int) -> list[Any]:
    """The arrays with equal extents along the other axes."""
    first = parts[0]
    for number, part in enumerate(parts[1:], start=1):
        if part.ndim != first.ndim:
            raise located(
                ValueError,
                "all the input arrays must have same number of dimensions, but the "
                f"array at index 0 has {first.ndim} dimension(s) and the array at index {number} "
                f"has {part.ndim} dimension(s)",
            )

    def text(i: int, one: int, other: int) -> str:
        return (
            "all the input array dimensions except for the concatenation axis "
            f"must match exactly, but along dimension {i}, the array at index {one} has size "
            f"{parts[one].shape[i]} and the array at index {other} has size {parts[other].shape[i]}"
        )

    return _of_one_shape(parts, [i for i in range(first.ndim) if i != axis], text)


def _of_one_shape(
    parts: Sequence[Any], axes: Sequence[int], text: Callable[[int, int, int], str]
) -> list[Any]:
    """Arrays of one rank with equal extents along some axes: those that one of them knows, where
    the program finds others. `text` is of an error: of the axis, and the numbers of two arrays."""
    parts = list(parts)
    for i in axes:
        known = (k for k, part in enumerate(parts) if not lengths_of(part.shape[i]))
        first = next(known, 0)
        for number, part in enumerate(parts):
            words = text(i, *sorted((first, number)))
            matched = with_equal_extents(part, i, parts[first], i, words)
            if matched is None:
                raise located(ValueError, words)
            parts[number] = matched[0]
    return parts


@implements(np.stack)
def stack(
    arrays: Sequence[Array],
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Any:
    """Arrays of one shape joined along a new axis, in the dtype that they promote to.

    Raises ValueError for no arrays or for unequal shapes.
    """
    refuse("stack", out=out)
    parts = [as_array(a) for a in arrays]
    if not parts:
        raise located(ValueError, "need at least one array to stack")
    words = "all input arrays must have the same shape"
    if any(p.ndim != parts[0].ndim for p in parts):
        raise located(ValueError, words)
    parts = _of_one_shape(parts, range(parts[0].ndim), lambda *_: words)
    shape = parts[0].shape
    number = axis_of(axis, len(shape) + 1)
    raised = (*shape[:number], 1, *shape[number:])
    kept = [i for i in range(len(raised)) if i != number]
    return concatenate(
        [broadcast_in_dim(p, raised, kept) for p in parts], number, dtype=dtype, casting=casting
    )


def _several(result: Any) -> list[Any]:
    """The results of a function that gives one array for one argument, as a list."""
    return list(result) if isinstance(result, tuple) else [result]


@implements(np.vstack, getattr(np, "row_stack", None))  # deprecated since NumPy 2.0
def vstack(tup: Sequence[Array], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """The arrays joined along their first axis, vectors as rows of a matrix."""
    return concatenate(_several(atleast_2d(*tup)), 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Sequence[Array], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """The arrays joined along their second axis, vectors along their only one."""
    parts = _several(atleast_1d(*tup))
    axis = 0 if parts and parts[0].ndim == 1 else 1
    return concatenate(parts, axis, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Sequence[Array]) -> Any:
    """The arrays joined along their third axis, which vectors and matrices get with size 1."""
    return concatenate(_several(atleast_3d(*tup)), 2)


@implements(np.column_stack)
def column_stack(tup: Sequence[Array]) -> Any:
    """Vectors as the columns of a matrix, between matrices of as many rows."""
    parts = [as_array(a) for a in tup]
    return concatenate([reshape_to(p, (p.size, 1)) if p.ndim < 2 else p for p in parts], 1)


@implements(np.block)
def block(arrays: Any) -> Any:
    """An array assembled of nested lists of blocks: the innermost lists along the last axis, the
    next ones along the axis before it.

    Raises ValueError for empty lists and for lists of unequal depth.
    """
    depth, inner = 0, arrays
    while isinstance(inner, list) and inner:
        depth, inner = depth + 1, inner[0]
    leaves = _leaves(arrays)
    ndim = builtins.max(depth, *(as_array(leaf).ndim for leaf in leaves))
    return strengthen(_block(arrays, depth, ndim))


def _leaves(nested: Any) -> list[Any]:
    return (
        [leaf for part in nested for leaf in _leaves(part)]
        if isinstance(nested, list)
        else [nested]
    )


def _block(nested: Any, depth: int, ndim: int) -> Any:
    if isinstance(nested, list) != (depth > 0) or (depth and not nested):
        raise located(ValueError, "List depths are mismatched, or a list is empty")
    if depth == 0:
        x = as_array(nested)
        return reshape_to(x, (*[1] * (ndim - x.ndim), *x.shape))
    return concatenate([_block(part, depth - 1, ndim) for part in nested], ndim - depth)


@implements(np.append)
def append(arr: Array, values: Array, axis: Any = None) -> Any:
    """`values` joined behind `arr` along an axis; with axis=None both are flattened."""
    return concatenate([as_array(arr), as_array(values)], axis)


# --------------------------------------------------------------------------------------- split


@implements(np.array_split)
def array_split(ary: Array, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    """A list of pieces along an axis: so many of nearly equal size, or cut at the given indices.

    Indices and counts must be known while tracing. Raises ValueError for a count below 1.
    """
    x = as_array(ary)
    number = axis_of(axis, x.ndim)
    total = x.shape[number]
    if isinstance(indices_or_sections, list | tuple | np.ndarray):
        inner = [offset_of(i) for i in indices_or_sections]
        if any(isinstance(d, Dim) for d in (total, *inner)):
            before = (slice(None),) * number
            cuts = zip([0, *inner], [*inner, None], strict=True)
            return [x[(*before, slice(a, b))] for a, b in cuts]
        pairs = [
            slice(a, b).indices(total) for a, b in zip([0, *inner], [*inner, total], strict=True)
        ]
        return [slice_axis(x, number, a, builtins.max(a, b)) for a, b, _ in pairs]
    sections = index_of(indices_or_sections)
    if sections <= 0:
        raise located(ValueError, "number sections must be larger than 0.")
    sizes = [(total + sections - 1 - k) // sections for k in range(sections)]  # one more at first
    ends = [builtins.sum(sizes[: i + 1]) for i in range(sections)]
    return [slice_axis(x, number, end - size, end) for size, end in zip(sizes, ends, strict=True)]


@implements(np.split)
def split(ary: Array, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    """A list of pieces along an axis: so many of equal size, or cut at the given indices.

    Raises ValueError where the count does not divide the size.
    """
    x = as_array(ary)
    if not isinstance(indices_or_sections, list | tuple | np.ndarray):
        sections = index_of(indices_or_sections)
        if sections and x.shape[axis_of(axis, x.ndim)] % sections:
            raise located(ValueError, "array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


def _split_along(
    name: str, least: int, axis_for: Callable[[int], int], meaning: str
) -> Callable[..., Any]:
    def along(ary: Array, indices_or_sections: Any) -> list[Any]:
        x = as_array(ary)
        if x.ndim < least:
            raise located(ValueError, f"{name} only works on arrays of {least} or more dimensions")
        return split(x, indices_or_sections, axis_for(x.ndim))

    axes = "axis" if least == 1 else "axes"
    along.__name__ = along.__qualname__ = name
    along.__doc__ = f"""A list of pieces {meaning}; see `split`.

    Raises ValueError for fewer than {least} {axes}.
    """
    return along


hsplit = implements(np.hsplit)(
    _split_along(
        "hsplit", 1, lambda ndim: int(ndim > 1), "along the second axis, or a vector's only"
    )
)
vsplit = implements(np.vsplit)(
    _split_along("vsplit", 2, lambda ndim: 0, "along the first axis of at least two")
)
dsplit = implements(np.dsplit)(_split_along("dsplit", 3, lambda ndim: 2, "along the third axis"))


@implements(getattr(np, "unstack", None))  # since NumPy 2.1
def unstack(x: Array, /, *, axis: Any = 0) -> Any:
    """The slices along an axis, which they lose, as a tuple; the size of the axis must be known
    while tracing.

    Raises ValueError for a scalar.
    """
    x = as_array(x)
    if x.ndim == 0:
        raise located(ValueError, "Input array must be at least 1-d.")
    number = axis_of(axis, x.ndim)
    left = x.shape[:number] + x.shape[number + 1 :]
    return tuple(reshape_to(slice_axis(x, number, i, i + 1), left) for i in range(x.shape[number]))


# ---------------------------------------------------------------------------- roll, repeat, tile


@implements(np.roll)
def roll(a: Array, shift: Any, axis: Any = None) -> Any:
    """The elements shifted cyclically along axes, or along the flattened array; by a concatenation
    of two slices for each axis.

    Shifts may be traced: then it is a slice, at a traced index, of the array beside itself. Raises
    TypeError for traced shifts that are no integers.
    """
    x = as_array(a)
    if axis is None:
        return reshape_to(roll(ravel(x), shift, 0), x.shape)
    shifts = _shifts(shift)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    axes = [axis_of(i, x.ndim) for i in given]
    if isinstance(shift, Tracer) and shift.ndim and len(axes) == 1:
        return _rolled_by_value(x, [shift], axes[0]) if shifts else x
    count = builtins.max(len(shifts), len(axes))
    if len(shifts) not in (1, count) or len(axes) not in (1, count):
        raise located(ValueError, "shape mismatch: objects cannot be broadcast to a single shape")
    shifts, axes = [(s * count)[:count] if len(s) == 1 else s for s in (shifts, axes)]
    for i in dict.fromkeys(axes):
        along = [by for by, j in zip(shifts, axes, strict=True) if j == i]
        traced = [by for by in along if isinstance(by, Tracer)]
        x = _rolled(x, sum(by for by in along if not isinstance(by, Tracer)), i)
        x = _rolled_by_value(x, traced, i) if traced else x
    return x


def _shifts(shift: Any) -> list[Any]:
    """The shifts, one by one: numbers, sizes or traced scalars."""
    if isinstance(shift, Tracer):
        if shift.dtype.kind not in "iub":
            raise located(TypeError, f"shifts are integers, not {shift.dtype}")
        if shift.ndim > 1:
            raise located(ValueError, "'shift' and 'axis' should be scalars or 1D sequences")
        return list(shift) if shift.ndim else [shift]
    if isinstance(shift, tuple | list):
        return [one for s in shift for one in _shifts(s)]
    if isinstance(shift, np.ndarray) and shift.ndim == 1:
        return [index_of(s) for s in shift]
    return [offset_of(shift)]


def _rolled(x: Any, by: Any, axis: int) -> Any:
    size = x.shape[axis]
    begin = -by % size if size else 0
    if not begin:
        return x
    front, back = slice_axis(x, axis, begin, size), slice_axis(x, axis, 0, begin)
    return concatenate_along([front, back], axis)


def _rolled_by_value(x: Any, shifts: list[Any], axis: int) -> Any:
    """The array shifted along an axis by the sum of traced shifts."""
    size = x.shape[axis]
    if size == 0:
        return x
    by = convert(shifts[0], INT64)
    if len(shifts) > 1 or by.ndim:  # the sum may overflow, and that of remainders does not
        rests = (np.sum(call(np.remainder, convert(s, INT64), size)) for s in shifts)
        by = functools.reduce(operator.add, rests)
    begin = call(np.remainder, call(np.negative, by), size)
    starts = [begin if i == axis else np.int64(0) for i in range(x.ndim)]
    return sliced(concatenate_along([x, x], axis), starts, x.shape)


@accepts_more("total_repeat_length")
@implements(np.repeat)
def repeat(a: Array, repeats: Any, axis: Any = None, *, total_repeat_length: Any = None) -> Any:
    """Each element several times along an axis, or along the flattened array: a broadcast for one
    count, joined slices for a count for each element.

    Counts that are a traced array make a length that the program finds. `total_repeat_length`, as
    in JAX, is the size of the result: more is cut off, and what is missing is the last element.
    Raises ValueError for counts that are negative or do not broadcast, and for a length where there
    is no element.
    """
    x = as_array(a)
    if axis is None:
        x, axis = ravel(x), 0
    elif x.ndim == 0:
        x = ravel(x)
    number = axis_of(exact(axis), x.ndim)
    shape = x.shape
    if total_repeat_length is not None or isinstance(repeats, Tracer):
        return _repeat_by_value(x, as_array(repeats), number, total_repeat_length)
    counts = shape_argument(repeats)
    if len(counts) not in (1, shape[number]):
        raise located(
            ValueError,
            f"operands could not be broadcast together with shape ({shape[number]},) "
            f"({len(counts)},)",
        )
    if shape[number] == 0:
        return strengthen(x)
    if any(c < 0 for c in counts if isinstance(c, int)):
        raise located(ValueError, "repeats may not contain negative values.")
    if len(counts) == 1:
        wide = (*shape[: number + 1], counts[0], *shape[number + 1 :])
        kept = [i for i in range(len(wide)) if i != number + 1]
        merged = (*shape[:number], shape[number] * counts[0], *shape[number + 1 :])
        return strengthen(reshape_to(broadcast_in_dim(x, wide, kept), merged))
    pieces = [repeat(slice_axis(x, number, i, i + 1), c, number) for i, c in enumerate(counts)]
    return concatenate_along(pieces, number)


def _repeat_by_value(x: Any, repeats: Any, axis: int, length: Any) -> Any:
    """Counts that are values: an element of the result comes from the first input whose cumulative
    count exceeds its index. These are as many before it as counts end there or earlier."""
    size = x.shape[axis]
    if not np.can_cast(repeats.dtype, INT64, "safe"):
        raise located(
            TypeError,
            f"Cannot cast array data from {repeats.dtype!r} to {INT64!r} according to the rule "
            "'safe'",
        )
    if repeats.ndim > 1:
        raise located(ValueError, "object too deep for desired array")
    counts = broadcast_to(convert(repeats, INT64), (size,))
    total = _sum_of_counts(counts) if length is None else extent_of(length)
    if isinstance(size, int) and size == 0 and length is not None and total != 0:
        raise located(
            ValueError,
            f"repeat cannot give {total} elements, its total_repeat_length: there is nothing to "
            f"repeat along axis {axis}, which has size 0",
        )
    ends = bind(reductions.cumsum, counts, axis=0, reverse=False)
    ended = added_at(ends, None, total, INT64)
    chosen = bind(reductions.cumsum, ended, axis=0, reverse=False)
    repeated = bind(gather, x, chosen, axes=(axis,), mode=CLIP)
    return transpose_to(repeated, [*range(1, axis + 1), 0, *range(axis + 1, x.ndim)])


def _sum_of_counts(counts: Any) -> Any:
    """The length that counts make, which the program finds."""
    near = np.sum(convert(counts, FLOAT64))  # where the sum of integers overflows
    total = measured(np.where(near < _TOO_LONG, np.sum(counts), _TOO_LONG))
    none_of(call(np.less, counts, 0), "repeats may not contain negative values.")
    return total


@implements(np.tile)
def tile(A: Array, reps: Any) -> Any:
    """The whole array several times along each axis, by a broadcast and a reshape."""
    x = as_array(A)
    counts = shape_argument(+reps if type(reps) is bool else reps)
    ndim = builtins.max(x.ndim, len(counts))
    counts = (*[1] * (ndim - len(counts)), *counts)
    shape = (*[1] * (ndim - x.ndim), *x.shape)
    if all(c == 1 for c in counts):
        return strengthen(reshape_to(x, shape))
    wide = tuple(d for pair in zip(counts, shape, strict=True) for d in pair)
    kept = range(2 * (ndim - x.ndim) + 1, 2 * ndim, 2)
    total = tuple(c * d for c, d in zip(counts, shape, strict=True))
    return reshape_to(broadcast_in_dim(x, wide, kept), total)


add_methods(np.repeat)
