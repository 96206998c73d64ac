"""The methods of ufuncs on traced arrays: reduce, accumulate, reduceat and outer.

Sums, products, extremes and logic have primitives; `folds` has how others combine elements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.graph import Const
from transpile.ir.indices.lengths import index_error
from transpile.ir.indices.requirements import is_at_most, require
from transpile.ir.indices.row_major import product
from transpile.ir.types import BOOL, INT64
from transpile.numpy.core.promotion import (
    NOTHING,
    Array,
    DType,
    as_array,
    axis_of,
    broadcast_in_dim,
    broadcast_to,
    cast,
    concatenate_along,
    convert,
    fill,
    in_numpys_words,
    reshape_to,
    slice_axis,
    strengthen,
    transpose_to,
    unsupported,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import (
    accumulator,
    is_given,
    keep_dimensions,
    max,
    min,
    prod,
    reduced_axes,
    sum,
)
from transpile.numpy.core.reductions import all as all_of
from transpile.numpy.core.reductions import any as any_of
from transpile.numpy.core.runtime_sizes import dimension_value, exact
from transpile.numpy.core.scans import scan
from transpile.numpy.core.ufuncs import call
from transpile.numpy.folds import (
    REORDERABLE,
    as_last,
    by_halves,
    chosen,
    combined,
    folded,
    in_loop,
    in_turn,
    require_elements,
    start_of,
)
from transpile.numpy.loops import scanned
from transpile.numpy.masks import mask_of, masked
from transpile.numpy.subscripts.take import take
from transpile.primitives import axes as views
from transpile.primitives import reductions as primitives
from transpile.primitives.indexing import FILL, gather
from transpile.trace.trace import bind
from transpile.trace.tracer import UFUNC_METHODS, Tracer

Pieces = list[tuple[int, int]]
# The runs, and lengths, of pieces whose reductions are written one after the other.
_MOST_RUNS, _MOST_LENGTHS = 64, 8
_SUMS: dict[Any, Any] = {np.add: sum, np.multiply: prod}
_EXTREMES: dict[Any, Any] = {np.maximum: max, np.minimum: min}
_LOGIC: dict[Any, Any] = {np.logical_and: all_of, np.logical_or: any_of}
_SCANS = {
    np.add: primitives.cumsum,
    np.multiply: primitives.cumprod,
    np.maximum: primitives.cummax,
    np.minimum: primitives.cummin,
    np.logical_and: primitives.cummin,
    np.logical_or: primitives.cummax,
}
# What NaNs take no part in, and what no other number is worse than.
_BESIDE_NANS: dict[Any, tuple[Any, float]] = {np.fmax: (max, -np.inf), np.fmin: (min, np.inf)}


# --------------------------------------------------------------------------------------- reduce


def _reduce(
    ufunc: Any,
    array: Array,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NOTHING,
    where: Any = True,
) -> Any:
    """The elements along axes combined by a ufunc of two operands, as `numpy.ufunc.reduce` does."""
    x = as_array(array)
    accumulated = accumulator(ufunc.reduce, x.dtype, dtype)
    axes = reduced_axes(axis, x.ndim)
    if ufunc in _SUMS:
        return _SUMS[ufunc](x, axes, accumulated, None, keepdims, initial, where)
    if ufunc in _EXTREMES:
        return _EXTREMES[ufunc](convert(x, accumulated), axes, None, keepdims, initial, where)
    if ufunc in _LOGIC:
        result = _LOGIC[ufunc](x, axes, None, keepdims, where=where)
        return call(ufunc, result, initial) if is_given(initial) else result
    x = convert(x, accumulated)
    fold = _beside_nans if ufunc in _BESIDE_NANS else folded
    result = fold(ufunc, x, axes, initial, where)
    return strengthen(keep_dimensions(result, x.shape, axes, keepdims))


def _beside_nans(ufunc: Any, x: Any, axes: tuple[int, ...], initial: Any, where: Any) -> Any:
    """The extreme of the elements that are no NaN, in one pass. Where all are, the other extreme of
    none is on the wrong side of it: the result is NaN, of complex numbers the first one, as their
    parts may differ."""
    mask, (extreme, worst) = mask_of(where), _BESIDE_NANS[ufunc]
    start = start_of(ufunc, x.dtype, initial, has_mask=mask is not None)
    if start is None:
        require_elements(ufunc, product(x.shape[a] for a in axes))
    if x.dtype.kind not in "fc":
        return extreme(x, axes, initial=initial, where=where)
    hidden = call(np.isnan, x)
    if mask is not None:
        hidden = call(np.logical_or, hidden, call(np.logical_not, broadcast_to(mask, x.shape)))

    def among(extreme: Any, worst: float) -> Any:
        number = complex(worst, worst) if x.dtype.kind == "c" else worst
        other = np.asarray(number, x.dtype)[()]
        numbers = chosen(hidden, other, x)
        return extreme(numbers, axes, initial=NOTHING if start is None else other)

    best = among(extreme, worst)
    nothing = np.asarray(np.nan, x.dtype)[()]
    if x.dtype.kind == "c":
        is_there = any_of(call(np.logical_not, hidden), axes)
        if start is None:
            first = functools.reduce(lambda x, axis: slice_axis(x, axis, 0, 1), axes, x)
            nothing = reshape_to(first, best.shape)
    else:
        opposite = among(*_BESIDE_NANS[np.fmin if ufunc is np.fmax else np.fmax])
        pair = (best, opposite) if ufunc is np.fmax else (opposite, best)
        is_there = call(np.greater_equal, *pair)
    result = chosen(is_there, best, nothing)
    return result if start is None else combined(ufunc, start, result, x.dtype)


# ----------------------------------------------------------------------------------- accumulate


def _accumulate(ufunc: Any, array: Array, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """The results of combining the elements along an axis up to each, as `numpy.ufunc.accumulate`
    does."""
    x = as_array(array)
    if x.ndim == 0:
        raise located(TypeError, "cannot accumulate on a scalar")
    accumulated = accumulator(ufunc.accumulate, x.dtype, dtype)
    number = axis_of(exact(axis), x.ndim)
    x = convert(x, accumulated)
    if ufunc in _SCANS and (accumulated != BOOL or ufunc not in _SUMS):
        return scan(_SCANS[ufunc], x, number)
    size = x.shape[number]
    if not isinstance(size, int):
        return _running(ufunc, x, number)
    if ufunc not in REORDERABLE:
        return _running_chain(ufunc, x, number, size)
    step = 1
    while step < size:  # each element is combined with that one step before: 1, 2, 4, ... of them
        early, late = slice_axis(x, number, 0, size - step), slice_axis(x, number, step, size)
        late = combined(ufunc, early, late, accumulated)
        x, step = concatenate_along([slice_axis(x, number, 0, step), late], number), 2 * step
    return strengthen(x)


def _running(ufunc: Any, x: Any, axis: int) -> Any:
    """The running results along an axis of a runtime size: a loop over it."""
    rows = transpose_to(x, [axis, *(a for a in range(x.ndim) if a != axis)])
    # Where there is no first element nothing reads it.
    start = bind(gather, rows, fill(0, (), INT64), axes=(0,), mode=FILL)

    def run(carry: list[Any], elements: list[Any]) -> list[Any]:
        (before, is_first), (value,) = carry, elements
        result = chosen(is_first, value, combined(ufunc, before, value, x.dtype))
        return [result, fill(False, (), BOOL), result]

    _, _, results = scanned(run, [start, fill(True, (), BOOL)], [rows], x.shape[axis])
    order = [*range(1, axis + 1), 0, *range(axis + 1, x.ndim)]
    return strengthen(transpose_to(results, order))


def _running_chain(ufunc: Any, x: Any, axis: int, size: int) -> Any:
    parts = [slice_axis(x, axis, 0, 1)] if size else [x]
    for k in range(1, size):
        parts.append(combined(ufunc, parts[-1], slice_axis(x, axis, k, k + 1), x.dtype))
    return strengthen(concatenate_along(parts, axis))


# ------------------------------------------------------------------------------------- reduceat


def _reduceat(
    ufunc: Any, array: Array, indices: Array, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Reductions of the segments between indices, as `numpy.ufunc.reduceat` does: slices for known
    indices, masks for traced ones."""
    x, segments = as_array(array), as_array(indices)
    if x.ndim == 0:
        raise located(TypeError, "cannot reduceat on a scalar")
    accumulated = accumulator(ufunc.reduce, x.dtype, dtype)
    number = axis_of(exact(axis), x.ndim)
    size = x.shape[number]
    if isinstance(segments, Tracer):
        return _reduceat_traced(ufunc, x, segments, number, accumulated)
    starts = cast(segments, INT64).tolist() if segments.size else []
    for start in starts:
        text = f"index {start} out-of-bounds in {ufunc.__name__}.reduceat [0, {size})"
        if start < 0 or is_at_most(size, start):
            raise located(IndexError, text)
        require(start + 1, size, f"numpy.{ufunc.__name__}.reduceat", index_error(text))
    ends = [*starts[1:], size][: len(starts)]
    pieces = [
        (a, 1 if isinstance(b, int) and b <= a else b - a)
        for a, b in zip(starts, ends, strict=True)
    ]
    if not pieces:
        return fill(0, (*x.shape[:number], 0, *x.shape[number + 1 :]), accumulated)
    if isinstance(size, int):
        return _of_pieces(ufunc, x, pieces, number, accumulated)
    *known, (first, length) = pieces  # only the last one may reach a runtime end
    last = _of_run(ufunc, x, (first, length, 1), number, accumulated)
    if not known:
        return last
    return concatenate_along([_of_pieces(ufunc, x, known, number, accumulated), last], number)


def _of_pieces(ufunc: Any, x: Any, pieces: Pieces, axis: int, dtype: DType) -> Any:
    """The reduction of each piece (first, length) of an axis.

    Pieces of one length that follow each other are rows of a reshaped slice. Where there are more
    than a few such runs, those of each length are gathered; and where there are more lengths than a
    few, those of lengths up to a power of two, with the neutral element, if there is one, behind
    the shorter.
    """
    runs: list[tuple[int, int, int]] = []
    for first, length in pieces:
        before, known, count = runs[-1] if runs else (0, 0, 0)
        if known == length and before + known * count == first:
            runs[-1] = before, known, count + 1
        else:
            runs.append((first, length, 1))
    if len(runs) <= _MOST_RUNS:
        return concatenate_along([_of_run(ufunc, x, run, axis, dtype) for run in runs], axis)
    longest = {length: length for _, length in pieces}
    has_neutral = ufunc in _EXTREMES or (ufunc in REORDERABLE and ufunc.identity is not None)
    if len(longest) > _MOST_LENGTHS and has_neutral:
        longest = {length: 1 << (length - 1).bit_length() for length in longest}
    groups: dict[int, list[int]] = {}
    for number, (_, length) in enumerate(pieces):
        groups.setdefault(longest[length], []).append(number)
    table = np.array(pieces, INT64)
    parts = [_gathered(ufunc, x, table[g], n, axis, dtype) for n, g in groups.items()]
    back = np.argsort(np.concatenate([*groups.values()]))
    return take(concatenate_along(parts, axis), back, axis)


def _of_run(ufunc: Any, x: Any, run: tuple[int, int, int], axis: int, dtype: DType) -> Any:
    """The reductions of pieces of one length that follow each other."""
    first, length, count = run
    piece = slice_axis(x, axis, first, first + length * count)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    rows = reshape_to(piece, (*before, count, length, *after))
    return reshape_to(_from_first(ufunc, rows, axis + 1, dtype), (*before, count, *after))


def _gathered(ufunc: Any, x: Any, table: Any, longest: int, axis: int, dtype: DType) -> Any:
    """The reductions of pieces of up to so many elements."""
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    shape = len(table), longest
    steps = bind(views.iota, shape=shape, dimension=1, dtype=INT64)
    starts, lengths = (broadcast_in_dim(table[:, k], shape, (0,)) for k in (0, 1))
    is_ragged = bool(np.any(table[:, 1] < longest))
    if is_ragged:
        inside = call(np.less, steps, lengths)
        if np.any(table[:, 0] + longest > x.shape[axis]):
            steps = call(np.minimum, steps, call(np.subtract, lengths, 1))
    rows = take(x, call(np.add, starts, steps), axis)
    if is_ragged:
        inside = broadcast_in_dim(inside, rows.shape, (axis, axis + 1))
        rows = masked(convert(rows, dtype), inside, _neutral(ufunc, dtype))
    return reshape_to(_from_first(ufunc, rows, axis + 1, dtype), (*before, len(table), *after))


def _from_first(ufunc: Any, x: Any, axis: int, dtype: DType) -> Any:
    """A reduction that starts from its first element, whatever identity the ufunc has."""
    if ufunc in _SCANS:
        return _reduce(ufunc, x, axis, dtype, keepdims=True)
    values = as_last(convert(x, dtype), (axis,))
    if not isinstance(values.shape[-1], int):
        result = in_loop(ufunc, values, None, None)
    elif ufunc in REORDERABLE:
        result = by_halves(ufunc, values)
    else:
        result = in_turn(ufunc, values, None, None)
    return keep_dimensions(result, x.shape, (axis,), True)


def _reduceat_traced(ufunc: Any, x: Any, segments: Any, axis: int, dtype: DType) -> Any:
    """For each index a reduction of all elements, masked to the segment."""
    start = _neutral(ufunc, dtype)
    size, count = x.shape[axis], segments.shape[0]
    segments = convert(segments, INT64)
    end = reshape_to(as_array(dimension_value(size)), (1,))
    ends = concatenate_along([slice_axis(segments, 0, 1, count), end], 0)
    ends = call(np.maximum, ends, call(np.add, segments, 1))
    steps = bind(views.iota, shape=(count, size), dimension=1, dtype=INT64)
    low, high = (broadcast_in_dim(v, (count, 1), (0,)) for v in (segments, ends))
    inside = call(np.logical_and, call(np.greater_equal, steps, low), call(np.less, steps, high))
    x = convert(transpose_to(x, [*(a for a in range(x.ndim) if a != axis), axis]), dtype)
    wide = (*x.shape[:-1], count, size)
    kept = [a for a in range(len(wide)) if a != len(wide) - 2]
    spread = masked(broadcast_in_dim(x, wide, kept), inside, start)
    result = _reduce(ufunc, spread, len(wide) - 1, dtype)
    order = list(range(result.ndim - 1))
    order.insert(axis, result.ndim - 1)
    return transpose_to(result, order)


def _neutral(ufunc: Any, dtype: DType) -> Any:
    """The neutral element of a ufunc."""
    if ufunc in _EXTREMES:
        constant: Const = primitives.identity(ufunc.__name__, dtype)
        return constant.value[()]
    start = start_of(ufunc, dtype, None, has_mask=False)
    if start is None:
        raise unsupported(
            f"numpy.{ufunc.__name__}.reduceat with traced indices is not supported: "
            f"numpy.{ufunc.__name__} has no identity"
        )
    return start


# ---------------------------------------------------------------------------------------- outer


def _outer(ufunc: Any, a: Array, b: Array, /, **kwargs: Any) -> Any:
    """The ufunc of all pairs of elements of two arrays."""
    x, y = as_array(a), as_array(b)
    shape = (*x.shape, *(1 for _ in y.shape))
    return call(ufunc, broadcast_in_dim(x, shape, range(x.ndim)), y, **kwargs)


def _worded(name: str, implementation: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose errors say what NumPy's method says."""

    def method(ufunc: Any, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if isinstance(out, tuple) and len(out) == 1:  # as NumPy hands it over
            kwargs["out"] = out[0]
        bound = functools.partial(implementation, ufunc)
        return in_numpys_words(getattr(ufunc, name), bound)(*args, **kwargs)

    return method


for _name, _method in (
    ("reduce", _reduce),
    ("accumulate", _accumulate),
    ("reduceat", _reduceat),
    ("outer", _outer),
):
    UFUNC_METHODS[_name] = _worded(_name, _method)
