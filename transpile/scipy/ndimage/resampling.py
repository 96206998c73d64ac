"""Images at coordinates between their elements: shifted, scaled, turned, or anywhere, with SciPy's
modes, by splines of the orders 0 to 5.

A mode maps a coordinate into the array first, and the indices of the coefficients around it
afterwards. Where each axis has coordinates of its own, the axes follow one after the other, with
known indices and weights. Otherwise an element is one sum over all coefficients around it.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.types import FLOAT64, INT32, INT64, kind_letter
from transpile.numpy.core.promotion import Array, as_array, convert, has_tracer
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import offset_of
from transpile.numpy.subscripts.advanced import iota_of
from transpile.numpy.subscripts.at import at
from transpile.scipy.ndimage.coordinates import mirrored, reflected, wrapped
from transpile.scipy.ndimage.edges import (
    as_stored,
    axis_of,
    for_each,
    image,
    known,
    output_dtype,
    wide,
)
from transpile.scipy.ndimage.splines import spline_filter1d, spline_weights
from transpile.scipy.sized_arrays import arange, unless_single
from transpile.scipy.special.operands import public
from transpile.trace.lengths import measured

__all__ = ["affine_transform", "map_coordinates", "rotate", "shift", "zoom"]

_MODES = (
    *("constant", "grid-constant", "grid-mirror", "grid-wrap", "mirror", "nearest", "reflect"),
    "wrap",
)
# How many elements are put around an image whose spline does not go on by itself.
_MARGIN = 12


class _Sampling(NamedTuple):
    """How an image is read: the order of splines, the mode, what lies outside, and the elements
    that were put around it."""

    order: int
    mode: str
    outside: Any
    margin: int


class _Axis(NamedTuple):
    """Along an axis: the indices around each coordinate, their weights, and whether each is in the
    array; None where all are."""

    indices: list[Any]
    weights: list[Any]
    is_inside: list[Any]
    # Whether the coordinate itself is in the array, which decides for the mode "constant".
    has_value: Any


@public
def map_coordinates(
    input: Array,
    coordinates: Array,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The array at coordinates, one array of them for each axis. Arguments are those of `zoom`.

    Raises RuntimeError for coordinates of another number of axes.
    """
    x, points = image(input), convert(as_array(coordinates), FLOAT64)
    if np.ndim(x) < 1 or np.ndim(points) < 2:
        raise located(RuntimeError, "input and output rank must be > 0")
    if np.shape(points)[0] != np.ndim(x):
        raise located(RuntimeError, "invalid shape for coordinate array")
    source, sampling = _source(x, order, mode, cval, prefilter)
    values = _anywhere(source, [points[k] for k in range(np.ndim(x))], sampling)
    return _as_output(values, output_dtype(output, x, kind_letter(x.dtype) == "c"))


def _source(
    x: Any, order: int, mode: str, cval: Any, prefilter: bool, count: int | None = None
) -> tuple[Any, _Sampling]:
    """The coefficients of the spline through an image, which is so many last axes of an array."""
    if order not in range(6):
        raise located(RuntimeError, "spline order not supported")
    if mode not in _MODES:
        raise located(RuntimeError, "boundary mode not supported")
    if not prefilter or order < 2:
        return x, _Sampling(order, mode, cval, 0)
    margin = _MARGIN if mode in ("nearest", "grid-constant") else 0
    axes = range(np.ndim(x))[-(count or np.ndim(x)) :]
    widths = [(margin, margin) if axis in axes else (0, 0) for axis in range(np.ndim(x))]
    if mode == "nearest":
        x = np.pad(x, widths, mode="edge")
    elif margin:
        x = np.pad(wide(x), widths, constant_values=cval)
    x = wide(x)
    for axis in axes:
        x = spline_filter1d(x, order, axis, x.dtype, mode)
    return x, _Sampling(order, mode, cval, margin)


def _axis(coordinate: Any, size: int, sampling: _Sampling) -> _Axis:
    """What coordinates along an axis of a size are made of. All are floating-point numbers until
    they are in range."""
    order, mode, _, margin = sampling
    if margin:
        coordinate = coordinate + float(margin)
    has_value = None
    if mode == "constant":
        has_value = (coordinate >= 0) & (coordinate <= size - 1)
    # A spline of a higher order has its last elements again and again beyond them.
    in_range = _near if mode == "nearest" and order > 1 else _IN_RANGE[mode]
    mapped = in_range(coordinate, size)
    below = np.floor(mapped if order % 2 else mapped + 0.5)
    place = mapped - below if order % 2 else mapped + 0.5 - below
    indices, inside = [], []
    for k in range(order + 1):
        index = below + float(k - order // 2)
        is_in = (index >= 0) & (index < size) if mode == "grid-constant" else None
        indices.append(
            convert(
                _index(index, size, order, mode), INT32 if is_at_most(size, 2**31 - 1) else INT64
            )
        )
        inside.append(is_in)
    return _Axis(indices, spline_weights(place, order), inside, has_value)


def _index(index: Any, size: int, order: int, mode: str) -> Any:
    """The index of a coefficient around a coordinate in range, in the array."""
    if mode == "grid-wrap":
        return wrapped(index, size)
    if mode == "mirror" and order < 2:  # at most one beyond
        return np.maximum(np.where(index < size, index, 2 * size - 2 - index), 0)
    if order < 2 or mode in ("nearest", "grid-constant"):
        return np.clip(index, 0, size - 1)
    return (reflected if mode in ("reflect", "grid-mirror") else mirrored)(index, size)


def _kept(x: Any, size: int) -> Any:
    return np.clip(x, 0, size - 1)


def _near(x: Any, size: int) -> Any:
    return np.clip(x, -8, size + 7)


def _turned_at_elements(x: Any, size: int) -> Any:
    period = 2 * (size - 1)
    if period == 0:
        return 0 * x
    away = np.abs(x)
    away = away - period * np.floor(away / period)
    # As in SciPy the last element of the array itself is followed by half of another one.
    is_beyond = np.where(x < 0, away > size - 1, away >= size)
    return unless_single(size, np.where(is_beyond, period - away, away), 0.0)


def _turned_at_edges(x: Any, size: int) -> Any:
    inside = x - 2 * size * np.floor(x / (2 * size))
    return np.where(inside < size, inside, 2 * size - 1 - inside)


def _modulo_distance(x: Any, size: int) -> Any:
    period = size - 1
    if period == 0:
        return 0 * x
    low = x + period * (np.floor(-x / period) + 1)
    high = x - period * np.floor(x / period)
    return unless_single(size, np.where(x < 0, low, np.where(x > period, high, x)), 0.0)


def _modulo_size(x: Any, size: int) -> Any:
    return x - size * np.floor(x / size)


# By mode: coordinates in the array, or at most one element outside.
_IN_RANGE: Mapping[str, Callable[[Any, int], Any]] = {
    "constant": _kept,
    "grid-constant": _near,
    "grid-mirror": _turned_at_edges,
    "grid-wrap": _modulo_size,
    "mirror": _turned_at_elements,
    "nearest": _kept,
    "reflect": _turned_at_edges,
    "wrap": _modulo_distance,
}


def _anywhere(x: Any, coordinates: Sequence[Any], sampling: _Sampling) -> Any:
    """The image, as many last axes as there are coordinates, at coordinates that depend on all of
    them: reads of the flattened image."""
    lead = np.ndim(x) - len(coordinates)
    sizes = np.shape(x)[lead:]
    axes = [_axis(c, n, sampling) for c, n in zip(coordinates, sizes, strict=True)]
    flat, total = np.reshape(x, (*np.shape(x)[:lead], -1)), None
    for corner in itertools.product(range(sampling.order + 1), repeat=len(sizes)):
        index = axes[0].indices[corner[0]]
        for axis, k, size in zip(axes[1:], corner[1:], sizes[1:], strict=True):
            index = index * size + axis.indices[k]
        value = wide(at(flat)[(*(slice(None),) * lead, index)].get(mode="promise_in_bounds"))
        inside = [a.is_inside[k] for a, k in zip(axes, corner, strict=True)]
        if inside[0] is not None:
            value = np.where(functools.reduce(operator.and_, inside), value, sampling.outside)
        for axis, k in zip(axes, corner, strict=True):
            if not isinstance(axis.weights[k], float):
                value = value * axis.weights[k]
        total = value if total is None else total + value
    if axes[0].has_value is not None:
        has_value = functools.reduce(operator.and_, [a.has_value for a in axes])
        total = np.where(has_value, total, sampling.outside)
    return total


def _as_output(values: Any, dtype: Any) -> Any:
    """Values in the dtype of the result. Integers are rounded, halves away from 0; unsigned ones
    are limited to their range."""
    kind = kind_letter(dtype)
    if kind == "u":
        most = float(np.iinfo(dtype).max)
        return as_stored(np.minimum(np.where(values > 0, values + 0.5, 0.0), most), dtype)
    if kind == "i":
        return as_stored(np.where(values > 0, values + 0.5, values - 0.5), dtype)
    return as_stored(values, dtype)


def _by_axes(x: Any, coordinates: Sequence[Any], sampling: _Sampling) -> Any:
    """The image at coordinates of their own for each axis."""
    axes = [_axis(c, n, sampling) for c, n in zip(coordinates, np.shape(x), strict=True)]
    is_grid = sampling.mode == "grid-constant"
    result = wide(x)
    if is_grid:  # weights have the sum 1, so what lies outside is 0 then, and needs no sum
        result = result - sampling.outside
    for k, axis in enumerate(axes):
        lead, shape = (slice(None),) * k, (-1,) + (1,) * (len(axes) - 1 - k)
        total = None
        for index, weight, inside in zip(axis.indices, axis.weights, axis.is_inside, strict=True):
            value = at(result)[(*lead, index)].get(mode="promise_in_bounds")
            factor = weight if inside is None else weight * inside
            if not isinstance(factor, float):
                value = value * np.reshape(factor, shape)
            total = value if total is None else total + value
        result = total
    if is_grid:
        result = result + sampling.outside
    if axes[0].has_value is not None:
        masks = [
            np.reshape(a.has_value, (-1,) + (1,) * (len(axes) - 1 - k)) for k, a in enumerate(axes)
        ]
        result = np.where(functools.reduce(operator.and_, masks), result, sampling.outside)
    return result


@public
def shift(
    input: Array,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The array shifted by a number of elements, for all axes or one for each, which may be traced.
    Other arguments and errors are those of `zoom`."""
    x = image(input)
    steps = list(shift) if np.ndim(shift) else [shift] * np.ndim(x)
    if len(steps) != np.ndim(x):
        raise located(RuntimeError, "sequence argument must have length equal to input rank")
    source, sampling = _source(x, order, mode, cval, prefilter)
    coordinates = [1.0 * arange(n) - s for n, s in zip(np.shape(x), steps, strict=True)]
    values = _by_axes(source, coordinates, sampling)
    return _as_output(values, output_dtype(output, x, kind_letter(x.dtype) == "c"))


@public
def zoom(
    input: Array,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """The array with as many times the elements along each axis, a known factor for all axes or one
    for each, of the image between its first and last elements.

    order      of the spline: 0 for the nearest element, 1 for linear interpolation, up to 5
    mode       what lies outside: "constant", `cval`; "nearest", the last element; "mirror" and
               "reflect", the array backwards, about its last element or about its edge; "wrap", the
               array again, whose first element is its last; "grid-wrap", the array again;
               "grid-constant", `cval` after an element that is interpolated
    prefilter  False for an array of coefficients, as `spline_filter` gives them
    grid_mode  of the image between its edges, half an element further

    Sums are those of double precision; integers are rounded, halves away from 0. Raises
    RuntimeError for other orders and modes.
    """
    x = image(input)
    if np.ndim(x) < 1:
        raise located(RuntimeError, "input and output rank must be > 0")
    factors = for_each(known("zoom", zoom), np.ndim(x))
    dtype = output_dtype(output, x, kind_letter(x.dtype) == "c")
    sizes = [_scaled(n, float(f)) for n, f in zip(np.shape(x), factors, strict=True)]
    if all(f == 1 for f in factors) and prefilter:
        return as_stored(x, dtype)
    source, sampling = _source(x, order, mode, cval, prefilter)
    coordinates = []
    for old, new in zip(np.shape(x), sizes, strict=True):
        parts = new if grid_mode else new - 1
        step = (old if grid_mode else old - 1) / parts if parts != 0 else 1.0
        if isinstance(parts, Dim):
            step = np.where(np.equal(parts.as_value(), 0), 1.0, step)
        numbers = 1.0 * arange(new)
        coordinates.append((numbers + 0.5) * step - 0.5 if grid_mode else numbers * step)
    return _as_output(_by_axes(source, coordinates, sampling), dtype)


def _scaled(size: Index, factor: float) -> Index:
    """A size times a factor, rounded."""
    if not isinstance(size, Dim):
        return round(size * factor)
    if factor.is_integer():
        return size * int(factor)
    count = convert(np.rint(size.as_value() * factor), INT64)
    return measured(count, size * math.ceil(factor))


@public
def affine_transform(
    input: Array,
    matrix: Array,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The array at the coordinates `matrix @ index + offset` for each index of the result, whose
    shape is that of the array by default.

    A matrix may have the offset as another column, and a last row (0, ..., 0, 1); a vector is a
    diagonal matrix. Both may be traced. Other arguments are those of `zoom`. Raises
    RuntimeError for matrices of another shape.
    """
    x, ndim = image(input), np.ndim(input)
    turn = as_array(matrix)
    sizes: Any = np.shape(x) if output_shape is None else tuple(offset_of(n) for n in output_shape)
    if ndim < 1 or not sizes:
        raise located(RuntimeError, "input and output rank must be > 0")
    if np.ndim(turn) not in (1, 2) or not np.shape(turn)[0]:
        raise located(RuntimeError, "no proper affine matrix provided")
    if np.ndim(turn) == 2 and np.shape(turn) in ((ndim, ndim + 1), (ndim + 1, ndim + 1)):
        offset, turn = turn[:ndim, ndim], turn[:ndim, :ndim]
    if np.shape(turn)[0] != ndim:
        raise located(RuntimeError, "affine matrix has wrong number of rows")
    if np.ndim(turn) == 2 and np.shape(turn)[1] != len(sizes):
        raise located(RuntimeError, "affine matrix has wrong number of columns")
    offsets = [offset[k] for k in range(ndim)] if np.ndim(offset) else [offset] * ndim
    source, sampling = _source(x, order, mode, cval, prefilter)
    dtype = output_dtype(output, x, kind_letter(x.dtype) == "c")
    if np.ndim(turn) == 1:
        rows = [(1.0 * arange(sizes[k]) + offsets[k] / turn[k]) * turn[k] for k in range(ndim)]
        return _as_output(_by_axes(source, rows, sampling), dtype)
    numbers = _numbers(x, sizes)
    points = [
        functools.reduce(operator.add, [numbers[j] * turn[k, j] for j in range(len(sizes))], offset)
        for k, offset in enumerate(offsets)
    ]
    points = [np.broadcast_to(p, sizes) for p in points]
    return _as_output(_anywhere(source, points, sampling), dtype)


def _numbers(x: Any, sizes: Sequence[Any]) -> list[Any]:
    """The indices along each axis, each as an axis of its own: computed where they are used, not
    arrays that a program would have to store."""
    counts = [convert(iota_of(n) if has_tracer(x) else arange(n), FLOAT64) for n in sizes]
    return [
        np.reshape(c, [-1 if k == axis else 1 for k in range(len(sizes))])
        for axis, c in enumerate(counts)
    ]


@public
def rotate(
    input: Array,
    angle: Any,
    axes: Sequence[int] = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The array turned by an angle in degrees in the plane of two axes.

    With `reshape` the result is as large as the turned array, for which the angle has to be known;
    otherwise it has the array's shape. Other arguments and errors are those of `zoom`. Raises
    ValueError for arrays of less than two axes and for axes that are no plane.
    """
    x = image(input)
    if np.ndim(x) < 2:
        raise located(ValueError, "input array should be at least 2D")
    if len(axes) != 2:
        raise located(ValueError, "axes should contain exactly two values")
    plane = sorted(axis_of(a, np.ndim(x)) for a in axes)
    if plane[0] == plane[1]:
        raise located(ValueError, "invalid rotation plane specified")
    c, s = _of_degrees(known("angle", angle) if reshape else angle)
    sizes = [np.shape(x)[a] for a in plane]
    outer = sizes
    if reshape:
        outer = [_turned(sizes, (c, s)), _turned(sizes, (-s, c))]
    middle = [(n - 1) / 2 for n in outer]
    turned = (c * middle[0] + s * middle[1], -s * middle[0] + c * middle[1])
    offset = [(n - 1) / 2 - t for n, t in zip(sizes, turned, strict=True)]
    flat = np.moveaxis(x, plane, (-2, -1))
    dtype = output_dtype(output, x, kind_letter(x.dtype) == "c")
    numbers = _numbers(x, outer)
    points = [
        np.broadcast_to(offset[k] + numbers[0] * row[0] + numbers[1] * row[1], outer)
        for k, row in enumerate(((c, s), (-s, c)))
    ]
    source, sampling = _source(flat, order, mode, cval, prefilter, 2)
    return np.moveaxis(_as_output(_anywhere(source, points, sampling), dtype), (-2, -1), plane)


def _turned(sizes: Sequence[Any], row: tuple[float, float]) -> Index:
    """How long a turned plane is along an axis, of which a row of the turn's matrix is."""
    if not any(isinstance(n, Dim) for n in sizes):
        corners = np.array(row) @ [[0, 0, sizes[0], sizes[0]], [0, sizes[1], 0, sizes[1]]]
        return int(np.ptp(corners) + 0.5)
    first, second = map(abs, row)
    if first.is_integer() and second.is_integer():
        exact: Index = int(first) * sizes[0] + int(second) * sizes[1]
        return exact
    length = first * sizes[0] + second * sizes[1]
    count = convert(np.floor(length + 0.5), INT64)
    return measured(count, sizes[0] + sizes[1])


def _of_degrees(angle: Any) -> tuple[Any, Any]:
    """Cosine and sine of an angle in degrees. Of a known one they are exact for right angles."""
    if has_tracer(angle):
        return np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    turns, rest = divmod(float(angle), 90.0)
    c, s = float(np.cos(np.deg2rad(rest))), float(np.sin(np.deg2rad(rest)))
    return ((c, s), (-s, c), (-c, -s), (s, -c))[int(turns) % 4]
