"""`numpy.pad` in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.indices.requirements import extreme, is_at_most, require
from transpile.ir.types import INT64
from transpile.numpy.core.creation import linspace
from transpile.numpy.core.elementwise import where
from transpile.numpy.core.promotion import (
    Array,
    DType,
    as_array,
    axis_of,
    broadcast_in_dim,
    broadcast_to,
    cast,
    concatenate_along,
    convert,
    implements,
    index_of,
    slice_axis,
    strengthen,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import max, mean, min
from transpile.numpy.core.runtime_sizes import dimension_value, extent_of, smaller_of
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.joins import repeat
from transpile.numpy.manipulation.shapes import squeeze
from transpile.numpy.manipulation.transposes import flip
from transpile.numpy.mapping import apply_along_axis
from transpile.primitives import axes as primitives
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer

_ARGUMENTS = {
    "empty": set[str](),
    "edge": set[str](),
    "wrap": set[str](),
    "constant": {"constant_values"},
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
}


@implements(np.pad)
def pad(array: Array, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The array with elements added in front of and behind each axis, as NumPy's mode says:
    constant, edge, reflect, wrap, ...

    "empty" gives zeros. A function of the user's is traced with the padded vectors along each axis,
    which it changes in place or returns. Widths must be known while tracing. Raises ValueError for
    negative widths, for an unknown mode, and for arguments of another mode.
    """
    x = as_array(array)
    widths = _widths(pad_width, x.ndim)
    if callable(mode):
        return _pad_by_function(x, widths, mode, kwargs)
    if mode not in _ARGUMENTS:
        raise located(ValueError, f"mode '{mode}' is not supported")
    surplus = set(kwargs) - _ARGUMENTS[mode]
    if surplus:
        raise located(ValueError, f"unsupported keyword arguments for mode '{mode}': {surplus}")
    if mode in ("constant", "empty"):
        return _pad_constant(x, widths, kwargs.get("constant_values", 0))
    for axis, (low, high) in enumerate(widths):
        if low or high:
            text = f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            if x.shape[axis] == 0:
                raise located(ValueError, text)
            require(1, x.shape[axis], f"{mode!r} padding of an axis", text)
    if 0 in x.shape:
        return _pad_constant(x, widths, 0)
    (value,) = kwargs.values() or (None,)
    if mode in ("reflect", "symmetric"):
        for axis, (low, high) in enumerate(widths):
            x = _reflect(x, axis, (low, high), mode, value == "odd")
        return strengthen(x)
    pairs = _argument_pairs(mode, value, x.ndim)
    for axis, (low, high) in enumerate(widths):
        if low or high:
            before, after = _EXTENSIONS[mode](x, axis, (low, high), pairs[axis])
            x = concatenate_along([before, x, after], axis)
    return strengthen(x)


def _widths(given: Any, ndim: int) -> list[tuple[int, int]]:
    """How many elements go in front of and behind each axis."""
    if isinstance(given, dict):
        widths = [(0, 0)] * ndim
        for axis, width in given.items():
            low, high = width if isinstance(width, tuple) else (width, width)
            widths[axis_of(axis, ndim)] = (index_of(low), index_of(high))
        given = widths
    array = np.asarray(given)
    sizes = [w for w in array.flat if isinstance(w, Dim)] if array.dtype == object else []
    known = np.asarray([w for w in array.flat if not isinstance(w, Dim)]) if sizes else array
    if known.dtype.kind != "i" and known.size:
        raise located(TypeError, "`pad_width` must be of integral type.")
    if (known < 0).any():
        raise located(ValueError, "index can't contain negative values")
    for size in sizes:
        require(0, size, f"a padding of {size} elements")
    return _pairs(array, ndim)


def _pairs(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """A (before, after) pair for each axis, by NumPy's broadcasting to (ndim, 2)."""
    try:
        spread = np.broadcast_to(np.asarray(value), (ndim, 2))
    except ValueError as problem:
        raise located(ValueError, str(problem)) from None
    return [(low, high) for low, high in spread.tolist()]


def _argument_pairs(mode: str, value: Any, ndim: int) -> list[tuple[Any, Any]]:
    if mode == "linear_ramp":
        return _value_pairs(0 if value is None else value, ndim)
    if value is None:
        return [(None, None)] * ndim
    pairs = _pairs(value, ndim)
    if any(length is not None and length < 0 for pair in pairs for length in pair):
        raise located(ValueError, "index can't contain negative values")
    return pairs


def _value_pairs(values: Any, ndim: int) -> list[tuple[Any, Any]]:
    """A pair of scalars, known or traced, for each axis."""
    array = as_array(values)
    if not isinstance(array, Tracer):
        return _pairs(array, ndim)
    wide = broadcast_to(array, (ndim, 2))
    return [(wide[k, 0], wide[k, 1]) for k in range(ndim)]


# -------------------------------------------------------------------------------------- constants


def _pad_constant(x: Any, widths: list[tuple[int, int]], values: Any) -> Any:
    given = as_array(values)
    if given.ndim == 0:
        if not any(map(any, widths)):
            return strengthen(x)
        padding = tuple((low, high, 0) for low, high in widths)
        return bind(primitives.pad, x, _filling(given, x.dtype), padding=padding)
    for axis, pair in enumerate(_value_pairs(values, x.ndim)):
        for side, value in enumerate(pair):
            one_side = [(0, 0, 0)] * x.ndim
            one_side[axis] = (widths[axis][0], 0, 0) if side == 0 else (0, widths[axis][1], 0)
            if any(map(any, one_side)):
                x = bind(primitives.pad, x, _filling(value, x.dtype), padding=tuple(one_side))
    return strengthen(x)


def _filling(value: Any, dtype: DType) -> Any:
    """A constant in the dtype of the array; OverflowError for an integer that is too large."""
    if isinstance(value, Tracer):
        return convert(value, dtype)
    return cast(np.asarray(value).item(), dtype)


def _pad_by_function(x: Any, widths: list[tuple[int, int]], function: Any, kwargs: Any) -> Any:
    """Vectors along each axis, padded with zeros, are handed to a function that changes them."""
    x = _pad_constant(x, widths, 0)
    for axis, pair in enumerate(widths):

        def changed(vector: Any, pair: tuple[int, int] = pair, axis: int = axis) -> Any:
            result = resolved(function)(vector, pair, axis, kwargs)
            return vector if result is None else result

        x = apply_along_axis(changed, axis, x)
    return x


# ------------------------------------------------------------------------- what is put on the ends

Widths = tuple[Any, Any]  # ints or runtime sizes
Pair = tuple[Any, Any]


def _edges(x: Any, axis: int) -> Pair:
    size = x.shape[axis]
    return slice_axis(x, axis, 0, 1), slice_axis(x, axis, size - 1, size)


def _repeated(pair: Pair, axis: int, widths: Widths) -> Pair:
    low, high = (repeat(v, w, axis) for v, w in zip(pair, widths, strict=True))
    return low, high


def _edge(x: Any, axis: int, widths: Widths, _: Pair) -> Pair:
    return _repeated(_edges(x, axis), axis, widths)


def _wrap(x: Any, axis: int, widths: Widths, _: Pair) -> Pair:
    """The array repeated periodically at both ends."""
    size = x.shape[axis]
    if isinstance(size, Dim):
        if not all(is_at_most(w, size) for w in widths):
            low, high = (
                _at(x, axis, call(np.remainder, t, dimension_value(size)))
                for t in _positions_outside(size, widths)
            )
            return low, high
        times = [1, 1]
    else:
        times = [-(-w // size) for w in widths]
    copies = [concatenate_along([x] * n, axis) if n > 1 else x for n in times]
    length = copies[0].shape[axis]
    low = slice_axis(copies[0], axis, length - widths[0], length)
    return low, slice_axis(copies[1], axis, 0, widths[1])


def _linear_ramp(x: Any, axis: int, widths: Widths, ends: Pair) -> Pair:
    """Straight lines from given values to the edges."""
    ramps = []
    for edge, width, end in zip(_edges(x, axis), widths, ends, strict=True):
        ramps.append(linspace(end, squeeze(edge, axis), width, False, dtype=x.dtype, axis=axis))
    return ramps[0], flip(ramps[1], axis)


def _statistic(function: Callable[..., Any]) -> Callable[[Any, int, Widths, Pair], Pair]:
    def of_the_ends(x: Any, axis: int, widths: Widths, lengths: Pair) -> Pair:
        size = x.shape[axis]
        taken = [size if n is None else smaller_of(extent_of(n), size) for n in lengths]
        if 0 in taken and function in (max, min):
            raise located(ValueError, "stat_length of 0 yields no value for padding")
        parts = (slice_axis(x, axis, 0, taken[0]), slice_axis(x, axis, size - taken[1], size))
        first, last = (_rounded(function(p, axis, keepdims=True), x.dtype) for p in parts)
        return _repeated((first, last), axis, widths)

    return of_the_ends


def _rounded(x: Any, dtype: Any) -> Any:
    """The value in a dtype, to the nearest integer where that is one of integers."""
    if dtype.kind in "iu" and x.dtype.kind not in "iub":
        x = call(np.rint, x)
    return convert(x, dtype)


_EXTENSIONS: dict[str, Callable[[Any, int, Widths, Pair], Pair]] = {
    "edge": _edge,
    "wrap": _wrap,
    "linear_ramp": _linear_ramp,
    "maximum": _statistic(max),
    "minimum": _statistic(min),
    "mean": _statistic(mean),
    "median": _statistic(lambda *args, **kwargs: np.median(*args, **kwargs)),
}


def _reflect(x: Any, axis: int, widths: Widths, mode: str, is_odd: bool) -> Any:
    """Mirror images at both ends, or for odd ones twice the edge less these, as often as needed.

    Each round mirrors a whole number of periods of what is there, so that the images go on.
    """
    low, high = widths
    original = x.shape[axis]
    if original == 1:
        first, last = _repeated(_edges(x, axis), axis, widths)
        return concatenate_along([first, x, last], axis)
    repeats_edge = mode == "symmetric"
    period = original if repeats_edge else original - 1
    if isinstance(original, Dim) and not all(is_at_most(w, period) for w in widths):
        return _reflect_shorter(x, axis, widths, period, is_odd)
    there = period  # of a runtime size, in one round
    while low or high:
        size = x.shape[axis]
        if isinstance(original, int):
            there = (size if repeats_edge else size - 1) // period * period
        skipped = 0 if repeats_edge else 1
        before, after = (extreme(there, w, -1) for w in (low, high))
        parts = [x]
        first, last = _edges(x, axis)
        if before:
            image = flip(slice_axis(x, axis, skipped, skipped + before), axis)
            parts.insert(0, _mirrored(image, first, is_odd))
        if after:
            stop = size - skipped
            image = flip(slice_axis(x, axis, stop - after, stop), axis)
            parts.append(_mirrored(image, last, is_odd))
        x = concatenate_along(parts, axis)
        low, high = low - before, high - after
    return x


def _reflect_shorter(x: Any, axis: int, widths: Widths, period: Index, is_odd: bool) -> Any:
    """The same of an axis that may be shorter than what is added, which goes back and forth.

    With two periods, there and back, an odd image has risen by twice the last element less the
    first.
    """
    size = dimension_value(x.shape[axis])
    both = call(np.maximum, dimension_value(2 * period), 1)
    first, last = _edges(x, axis)
    parts = [x]
    for side, place in enumerate(_positions_outside(x.shape[axis], widths)):
        there = call(np.remainder, place, both)
        goes_back = call(np.greater_equal, there, size)
        back = call(np.subtract, dimension_value(period + x.shape[axis] - 1), there)
        image = _at(x, axis, where(goes_back, back, there))
        if is_odd:
            shape = (there.shape[0], *[1] * (x.ndim - axis - 1))
            turned, rounds = (broadcast_in_dim(v, shape, (0,)) for v in (goes_back, place // both))
            image = where(turned, call(np.subtract, call(np.multiply, 2, last), image), image)
            rise = call(np.multiply, 2, call(np.subtract, last, first))
            image = convert(call(np.add, image, call(np.multiply, rounds, rise)), x.dtype)
        parts.insert(side * len(parts), image)
    return concatenate_along(parts, axis)


def _positions_outside(size: Index, widths: Widths) -> tuple[Any, Any]:
    """The positions of what is added in front of an axis and behind it, counted from its first."""
    low, high = (bind(primitives.iota, shape=(w,), dimension=0, dtype=INT64) for w in widths)
    return low - dimension_value(widths[0]), high + dimension_value(size)


def _at(x: Any, axis: int, positions: Any) -> Any:
    """The elements of an axis at positions, which are some of it."""
    return np.take(x, positions, axis, mode="clip")


def _mirrored(image: Any, edge: Any, is_odd: bool) -> Any:
    if not is_odd:
        return image
    twice = call(np.multiply, 2, edge)
    return convert(call(np.subtract, broadcast_to(twice, image.shape), image), image.dtype)
