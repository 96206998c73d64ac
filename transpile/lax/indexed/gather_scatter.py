"""gather and scatter in XLA's generality: slices at many indices, read or written.

An index is a row of the last axis of the indices: the start of a slice along the axes of
`start_index_map`. Here that becomes an array of indices for each axis along which slices do not
span all, for the primitives `gather` and `scatter`: axes that slices span whole stay slices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.graph import Const
from transpile.ir.types import INT64
from transpile.lax.arrays.enums import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from transpile.lax.arrays.promotion import Array, array, ints, of_dtype, public, same_dtypes
from transpile.lax.indexed.gather_checks import check_gather, check_scatter
from transpile.numpy.core.promotion import broadcast_in_dim, fill, is_empty, transpose_to
from transpile.numpy.core.promotion import error as located
from transpile.primitives import axes as axis_primitives
from transpile.primitives import elementwise
from transpile.primitives import indexing as primitives
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.trace import bind
from transpile.util.frozen_records import dataclass

__all__ = [
    "gather",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
]
CLIP, FILL = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
PROMISED = GatherScatterMode.PROMISE_IN_BOUNDS
Axes = tuple[int, ...]


@dataclass(frozen=True)
class Windows:
    """Slices of an operand, one for each index.

    operand     its shape
    batch       the shape of the indices without the last axis
    sizes       the size of a slice along each axis of the operand
    dropped     axes of the operand along which slices have size 1 and no axis
    together    pairs of an axis of the operand and the axis of the indices that goes with it
    start_axes  the axis of the operand for each component of an index
    """

    operand: Shape
    batch: Shape
    sizes: Shape
    dropped: Axes
    together: tuple[tuple[int, int], ...]
    start_axes: Axes

    @property
    def indexed(self) -> Axes:
        """The axes of the operand that need an array of indices: those along which slices begin
        somewhere and do not span all."""
        partial = [
            a for a, (n, d) in enumerate(zip(self.sizes, self.operand, strict=True)) if n != d
        ]
        also = [a for a, _ in self.together] + [a for a in self.dropped if a in self.start_axes]
        return tuple(sorted({*partial, *also, *self.dropped}))

    @property
    def window(self) -> Axes:
        """The axes of the operand that a slice has."""
        gone = {*self.dropped, *(a for a, _ in self.together)}
        return tuple(a for a in range(len(self.operand)) if a not in gone)

    @property
    def inner(self) -> Axes:
        """The axes of a slice that are indexed: they become axes of the arrays of indices."""
        return tuple(a for a in self.window if a in self.indexed)

    @property
    def layout(self) -> Axes:
        """The axes of the operand in the order in which the primitives have a slice's: those that
        are indexed, and after them the whole ones."""
        return (*self.inner, *(a for a in self.window if a not in self.inner))

    def starts(self, indices: Any) -> dict[int, Any]:
        """Where slices begin along each axis, as int64 arrays of the batch's shape."""
        starts = {}
        for component, axis in enumerate(self.start_axes):
            start = [0] * len(self.batch) + [component]
            limit = [*self.batch, component + 1]
            taken = bind(
                axis_primitives.slice_,
                indices,
                start=tuple(start),
                limit=tuple(limit),
                strides=(1,) * len(limit),
            )
            starts[axis] = _reshaped(taken, self.batch)
        return starts

    def highest(self, axis: int) -> Any:
        """The largest start of a slice along an axis."""
        return self.operand[axis] - self.sizes[axis]

    def inside(self, starts: dict[int, Any]) -> Any:
        """Which slices lie in the operand; None where they all do."""
        result = None
        for axis, start in starts.items():
            low = bind(elementwise.greater_equal, start, np.int64(0))
            high = bind(elementwise.less_equal, start, _number(self.highest(axis), self.batch))
            both = bind(elementwise.logical_and, low, high)
            result = both if result is None else bind(elementwise.logical_and, result, both)
        return result

    def clipped(self, starts: dict[int, Any]) -> dict[int, Any]:
        """The starts, moved so that slices lie in the operand."""
        moved = {}
        for axis, start in starts.items():
            high = _number(self.highest(axis), self.batch)
            above = bind(elementwise.maximum, start, np.int64(0))
            moved[axis] = bind(elementwise.minimum, above, high)
        return moved

    def arrays(self, starts: dict[int, Any]) -> list[Any]:
        """The arrays of indices for the indexed axes: of the batch's shape and, behind it, that of
        the inner axes."""
        shape = (*self.batch, *(self.sizes[a] for a in self.inner))
        together = dict(self.together)
        indices = []
        for axis in self.indexed:
            if axis in together:
                indices.append(_count(shape, together[axis]))
                continue
            total = None
            if axis in starts:
                total = broadcast_in_dim(starts[axis], shape, range(len(self.batch)))
            if axis in self.inner and self.sizes[axis] != 1:
                steps = _count(shape, len(self.batch) + self.inner.index(axis))
                total = steps if total is None else bind(elementwise.add, total, steps)
            indices.append(fill(0, shape, INT64) if total is None else total)
        return indices


def _reshaped(x: Any, shape: Shape) -> Any:
    return x if tuple(x.shape) == shape else bind(axis_primitives.reshape, x, shape=shape)


def _count(shape: Shape, dimension: int) -> Any:
    if is_empty(shape):
        return fill(0, shape, INT64)
    return bind(axis_primitives.iota, shape=shape, dimension=dimension, dtype=INT64)


def _number(value: Any, shape: Shape) -> Any:
    """A size as an operand beside arrays of a shape."""
    if isinstance(value, int):
        return Const(np.int64(value))
    return broadcast_in_dim(array(value, "a size"), shape, ())


def _indices(value: Any, function: str) -> Any:
    """The indices as int64; a ValueError where they are no integers."""
    indices = array(value, function, 1)
    if indices.dtype.kind not in "iu":
        raise located(ValueError, "indices must have an integer type")
    if indices.dtype == np.uint64:  # what is too large for int64 is out of range
        top = np.uint64(np.iinfo(INT64).max)
        indices = bind(elementwise.minimum, indices, top)
    return of_dtype(indices, INT64)


# ------------------------------------------------------------------------------------------ gather


@public
def gather(
    operand: Array,
    start_indices: Array,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Any:
    """The slices of static sizes that start at the given indices, stacked.

    The axes `offset_dims` of the result are those of a slice without `collapsed_slice_dims` and
    `operand_batching_dims`; the others are those of the indices without the last, which holds the
    start of a slice. By default `mode` is `clip`: slices are moved into the array. In `fill` those
    outside are `fill_value`, by default NaN or the extreme integer. Raises TypeError for dimension
    numbers and sizes that do not fit, ValueError for indices that are no integers.
    """
    x, indices = array(operand, "gather"), _indices(start_indices, "gather")
    chosen = CLIP if mode is None else GatherScatterMode.from_any(mode)
    numbers = GatherDimensionNumbers(*map(ints, dimension_numbers))
    sizes = ints(slice_sizes)
    check_gather(x.shape, tuple(indices.shape), numbers, sizes)
    windows = Windows(
        x.shape,
        tuple(indices.shape[:-1]),
        sizes,
        numbers.collapsed_slice_dims,
        _together(numbers.operand_batching_dims, numbers.start_indices_batching_dims),
        numbers.start_index_map,
    )
    slices = _gathered(x, windows, indices, chosen, fill_value)
    return _with_offset_axes(slices, windows, numbers.offset_dims)


def _together(of_operand: Axes, of_indices: Axes) -> tuple[tuple[int, int], ...]:
    return tuple(zip(of_operand, of_indices, strict=True))


def _gathered(
    x: Any, windows: Windows, indices: Any, mode: GatherScatterMode, fill_value: Any
) -> Any:
    """The slices, their axes behind those of the batch in the order of `layout`."""
    starts = windows.starts(indices)
    is_filled = mode not in (CLIP, PROMISED)
    valid = windows.inside(starts) if is_filled else None
    if mode is not PROMISED:
        starts = windows.clipped(starts)
    arrays = windows.arrays(starts)
    shape = (*windows.batch, *(windows.sizes[a] for a in windows.layout))
    if not windows.indexed:
        slices = broadcast_in_dim(x, shape, range(len(windows.batch), len(shape)))
    elif is_empty(shape):
        slices = fill(0, shape, x.dtype)
    else:
        slices = bind(primitives.gather, x, *arrays, axes=windows.indexed, mode=primitives.PROMISED)
    if valid is None:
        return slices
    value = primitives.fill_value(x.dtype) if fill_value is None else fill_value
    edge = Const(np.asarray(value).astype(x.dtype))
    test = broadcast_in_dim(valid, shape, range(len(windows.batch)))
    return bind(elementwise.select, test, slices, edge)


def _with_offset_axes(slices: Any, windows: Windows, offset_dims: Axes) -> Any:
    """The result with a slice's axes, in the operand's order, at `offset_dims`."""
    rank = len(windows.batch)
    ndim = rank + len(windows.window)
    of_batch = iter(range(rank))
    of_slice = iter(rank + windows.layout.index(a) for a in windows.window)
    order = [next(of_slice) if k in offset_dims else next(of_batch) for k in range(ndim)]
    return transpose_to(slices, order)


# ----------------------------------------------------------------------------------------- scatter


def _scattering(
    name: str, combine: str, meaning: str, change: Callable[[Any], Any] | None = None
) -> Any:
    """A function that writes slices of updates into an array."""

    def function(
        operand: Array,
        scatter_indices: Array,
        updates: Array,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Any:
        x, new = array(operand, name), array(updates, name, 2)
        dtype = same_dtypes(name, [x, new])
        x, new = of_dtype(x, dtype), of_dtype(new, dtype)
        target = _Target(name, x, scatter_indices, tuple(new.shape), dimension_numbers, mode)
        return target.written(x, new if change is None else change(new), combine, unique_indices)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{meaning}; slices start at the given indices, and the array is copied.

    The axes `update_window_dims` of the updates are those of a slice, without
    `inserted_window_dims` and `operand_batching_dims`; the others are those of the indices without
    the last, which holds the start of a slice. Slices that do not lie in the array are dropped,
    unless `mode` is `clip`. `unique_indices` promises that no element is written twice, else the
    result is undefined. Raises TypeError for dtypes that differ and dimension numbers that do not
    fit, ValueError for indices that are no integers.
    """
    return public(function)


class _Target:
    """The slices that a scatter writes."""

    def __init__(
        self,
        name: str,
        x: Any,
        scatter_indices: Any,
        updates: Shape,
        dimension_numbers: ScatterDimensionNumbers,
        mode: Any,
    ) -> None:
        indices = _indices(scatter_indices, name)
        self.mode = GatherScatterMode.from_any(mode)
        self.numbers = ScatterDimensionNumbers(*map(ints, dimension_numbers))
        check_scatter(x.shape, tuple(indices.shape), updates, self.numbers)
        numbers = self.numbers
        gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        window = iter([updates[d] for d in sorted(numbers.update_window_dims)])
        sizes = tuple(1 if a in gone else next(window) for a in range(x.ndim))
        self.windows = Windows(
            x.shape,
            tuple(indices.shape[:-1]),
            sizes,
            numbers.inserted_window_dims,
            _together(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims),
            numbers.scatter_dims_to_operand_dims,
        )
        self.starts = self.windows.starts(indices)

    def arrays(self) -> tuple[list[Any], str]:
        """The arrays of indices, and the mode in which the primitive takes them."""
        windows, starts = self.windows, self.starts
        if self.mode is PROMISED or not starts:
            return windows.arrays(starts), primitives.PROMISED
        moved = windows.clipped(starts)
        if self.mode is CLIP:
            return windows.arrays(moved), primitives.PROMISED
        # A slice that is not in the array as a whole is dropped as a whole: by indices of -1.
        arrays = windows.arrays(moved)
        valid = windows.inside(starts)
        test = broadcast_in_dim(valid, tuple(arrays[0].shape), range(len(windows.batch)))
        arrays[0] = bind(elementwise.select, test, arrays[0], Const(np.int64(-1)))
        return arrays, primitives.FILL

    def ordered(self, updates: Any) -> Any:
        """The updates with the axes of the indices in front, then those of `layout`."""
        windows, dims = self.windows, sorted(self.numbers.update_window_dims)
        batch = [d for d in range(updates.ndim) if d not in dims]
        inside = [dims[windows.window.index(a)] for a in windows.layout]
        return transpose_to(updates, [*batch, *inside])

    def written(self, x: Any, updates: Any, combine: str, unique: bool) -> Any:
        """The array with the updates written to its slices."""
        if is_empty(tuple(updates.shape)) or is_empty(x.shape):
            return x
        new = self.ordered(updates)
        if not self.windows.indexed:  # each update is for the whole array
            return self._whole(x, new, combine)
        arrays, mode = self.arrays()
        return bind(
            primitives.scatter,
            x,
            new,
            *arrays,
            axes=self.windows.indexed,
            mode=mode,
            combine=combine,
            unique=bool(unique),
        )

    def _whole(self, x: Any, new: Any, combine: str) -> Any:
        """By a new axis of size 1 in front of the operand, at whose only index all updates are."""
        wide = bind(axis_primitives.reshape, x, shape=(1, *x.shape))
        nowhere = [fill(0, self.windows.batch, INT64)]
        if self.mode is FILL and self.starts:
            valid = self.windows.inside(self.starts)
            nowhere = [bind(elementwise.select, valid, nowhere[0], Const(np.int64(-1)))]
        params = {"axes": (0,), "mode": primitives.FILL, "combine": combine, "unique": False}
        written = bind(primitives.scatter, wide, new, *nowhere, **params)
        return bind(axis_primitives.reshape, written, shape=tuple(x.shape))

    def read(self, x: Any) -> Any:
        """The elements that are there, in the order of `ordered`; slices out of range moved in."""
        starts = self.windows.clipped(self.starts)
        arrays = self.windows.arrays(starts)
        return bind(
            primitives.gather, x, *arrays, axes=self.windows.indexed, mode=primitives.PROMISED
        )


scatter = _scattering(
    "scatter", "set", "The array with slices replaced, of several for one element by the last"
)
scatter_add = _scattering("scatter_add", "add", "The array with updates added to its slices")
scatter_sub = _scattering(
    "scatter_sub",
    "add",
    "The array with updates subtracted from its slices",
    lambda v: bind(elementwise.negative, v),
)
scatter_mul = _scattering(
    "scatter_mul", "multiply", "The array with its slices multiplied by updates"
)
scatter_min = _scattering(
    "scatter_min", "minimum", "The array with the minima of its slices and updates"
)
scatter_max = _scattering(
    "scatter_max", "maximum", "The array with the maxima of its slices and updates"
)


@public
def scatter_apply(
    operand: Array,
    scatter_indices: Array,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """The array with an elementwise function applied to the elements of slices of the shape of
    updates of `update_shape`; once to an element in several slices.

    The function is applied to the whole array, and its results are selected. Other arguments and
    errors as those of `scatter`.
    """
    x = array(operand, "scatter_apply")
    target = _Target(
        "scatter_apply", x, scatter_indices, ints(update_shape), dimension_numbers, mode
    )
    if is_empty(ints(update_shape)) or is_empty(x.shape):
        return x
    marked = target.written(
        fill(False, x.shape, np.dtype(bool)),
        fill(True, ints(update_shape), np.dtype(bool)),
        "set",
        False,
    )
    return bind(elementwise.select, marked, of_dtype(array(resolved(func)(x), "func"), x.dtype), x)
