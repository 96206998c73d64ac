"""Functions of `lax` that read and replace slices: static ones, whose bounds are known while
tracing, and dynamic ones, whose start is a value.

A dynamic slice has a static size: a start from which it would leave the array is clamped, so that
it lies inside. Negative starts count from the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.indices.requirements import require
from transpile.ir.types import INT64
from transpile.lax.arrays.promotion import (
    Array,
    array,
    as_value,
    dtype_of,
    ints,
    of_dtype,
    public,
    same_dtypes,
    shape_of,
    spelled,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import reshape_to
from transpile.primitives import axes as axis_primitives
from transpile.primitives import elementwise
from transpile.primitives import indexing as primitives
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer

__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "index_in_dim",
    "index_take",
    "slice",
    "slice_in_dim",
]

# ----------------------------------------------------------------------------------- static slices


@public
def slice(
    operand: Array,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """The elements from start up to, not including, limit along each axis, with a stride.

    All bounds are static, and none counts from the end. Raises TypeError for bounds outside the
    array and strides below 1.
    """
    x = array(operand, "slice")
    start, limit = ints(start_indices), ints(limit_indices)
    steps = (1,) * len(start) if strides is None else ints(strides)
    _check_slice(x.shape, start, limit, steps)
    whole = all(a == 0 and b == d for a, b, d in zip(start, limit, x.shape, strict=True))
    if whole and all(s == 1 for s in steps):
        return x
    return bind(axis_primitives.slice_, x, start=start, limit=limit, strides=steps)


def _check_slice(shape: Shape, start: Shape, limit: Shape, strides: tuple[int, ...]) -> None:
    for name, given in (("start_indices", start), ("limit_indices", limit), ("strides", strides)):
        if len(given) != len(shape):
            raise located(
                TypeError,
                f"slice {name} must have length equal to the number of dimensions of the operand, "
                f"got indices {spelled(given)} for operand shape {spelled(shape)}.",
            )
    if any(s <= 0 for s in strides):
        raise located(TypeError, f"slice strides must be positive, got {strides}")
    for name, given, limits in (("start_indices", start, limit), ("limit_indices", limit, shape)):
        if any(isinstance(a, int) and a < 0 for a in given):
            raise located(
                TypeError,
                f"slice {name} must be greater than or equal to zero, got {name} of "
                f"{spelled(given)}.",
            )
        if any(
            isinstance(a, int) and isinstance(b, int) and a > b
            for a, b in zip(given, limits, strict=True)
        ):
            what = "limit_indices" if limits is limit else "operand shape"
            raise located(
                TypeError,
                f"slice {name} must be less than or equal to {what}, got {name} {spelled(given)} "
                f"for {what} {spelled(limits)}.",
            )


@public
def slice_in_dim(
    operand: Array,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Any:
    """A static slice along one axis, in which negative bounds count from the end, and None is no
    bound.

    Raises IndexError for an axis, and TypeError for bounds, out of range.
    """
    x = array(operand, "slice")
    number = axis_of(axis, x.ndim)
    start, limit = list((0,) * x.ndim), list(x.shape)
    size = x.shape[number]

    def from_front(index: Any) -> Any:
        return index + size if isinstance(index, int) and index < 0 else index

    if start_index is not None:
        start[number] = from_front(start_index)
    if limit_index is not None:
        limit[number] = from_front(limit_index)
    steps = [1] * x.ndim
    steps[number] = int(stride)
    return slice(x, start, limit, steps)


def axis_of(axis: int, ndim: int) -> int:
    """The axis as 0 ... ndim - 1, or an IndexError."""
    number = int(axis)
    if not -ndim <= number < ndim:
        raise located(IndexError, f"axis {number} is out of bounds for array of dimension {ndim}")
    return number % ndim


@public
def index_in_dim(operand: Array, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The element at a static index along one axis, which stays with size 1 or is dropped; raises
    IndexError out of range."""
    x = array(operand, "slice")
    sliced, number = axis_of(axis, x.ndim), int(index)
    size = x.shape[sliced]
    if isinstance(size, int) and not -size <= number < size:
        raise located(
            IndexError, f"index {number} is out of bounds for axis {sliced} with size {size}"
        )
    number = number + size if number < 0 else number
    taken = slice_in_dim(x, number, number + 1, 1, sliced)
    return taken if keepdims else _without_axis(taken, sliced)


def _without_axis(x: Any, axis: int) -> Any:
    return reshape_to(x, (*x.shape[:axis], *x.shape[axis + 1 :]))


# ---------------------------------------------------------------------------------- dynamic slices


def _starts(
    name: str, shape: Shape, start_indices: Any, negative: bool | Sequence[bool]
) -> list[Any]:
    """The starts of a slice as int64 scalars, negative ones counted from the end."""
    if isinstance(start_indices, Tracer | np.ndarray):
        count = start_indices.shape[0] if start_indices.ndim else 0
        given: list[Any] = [start_indices[k] for k in range(count)]
    else:
        given = list(start_indices)
    if len(given) != len(shape):
        raise located(
            ValueError,
            "Length of slice indices must match number of operand dimensions "
            f"({len(given)} vs {spelled(shape)})",
        )
    values = [as_value(v, name, k) for k, v in enumerate(given)]
    _check_starts(name, values)
    may_be = [negative] * len(values) if isinstance(negative, bool) else list(negative)
    return [_from_front(v, d, n) for v, d, n in zip(values, shape, may_be, strict=True)]


def _check_starts(name: str, values: Sequence[Any]) -> None:
    if any(shape_of(v) for v in values):
        listed = ", ".join(f"{dtype_of(v).name}[{','.join(map(str, shape_of(v)))}]" for v in values)
        raise located(
            TypeError,
            f"start_indices arguments to {name} must be scalars,  got indices ({listed})",
        )
    strong = {dtype_of(v) for v in values if type(v) is not int}
    if len(strong) > 1 or any(d.kind not in "iu" for d in strong):
        listed = ", ".join(dtype_of(v).name for v in values)
        raise located(
            TypeError,
            f"index arguments to {name} must be integers of the same type, got: {listed}",
        )


def _from_front(value: Any, size: Any, negative: bool) -> Any:
    """An index as an int64 scalar; a negative one is counted from the end where that is allowed."""
    if not isinstance(value, Tracer):
        number = int(value)
        if number >= 0:
            return np.int64(min(number, np.iinfo(INT64).max))
        if not negative:
            raise located(
                ValueError,
                f"Index {number} is out of bounds for dimension {size} if "
                "allow_negative_indices=False",
            )
        if isinstance(size, int):
            return np.int64(number + size)
    index = of_dtype(value, INT64)
    if not isinstance(value, Tracer):
        return np.add(index, _size(size))
    if negative and value.dtype.kind == "i":
        below = bind(elementwise.less, index, np.int64(0))
        index = bind(elementwise.select, below, bind(elementwise.add, index, _size(size)), index)
    return index


def _size(size: Any) -> Any:
    return np.int64(size) if isinstance(size, int) else of_dtype(as_value(size, "size"), INT64)


@public
def dynamic_slice(
    operand: Array,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """The slice of static sizes that starts at indices given by values, one for each axis.

    A start is clamped so that the slice lies in the array, after negative ones have been counted
    from the end. Raises TypeError for indices that are no integers of one dtype, and for sizes
    beyond the array; ValueError for another number of them.
    """
    x = array(operand, "dynamic_slice")
    starts = _starts("dynamic_slice", x.shape, start_indices, allow_negative_indices)
    sizes = ints(slice_sizes)
    if len(sizes) != x.ndim:
        raise located(
            ValueError,
            "Length of slice sizes must match number of operand dimensions "
            f"({len(sizes)} vs {spelled(x.shape)})",
        )
    _check_not_larger(
        sizes,
        x.shape,
        "slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
        f"{spelled(sizes)} for operand shape {spelled(x.shape)}.",
    )
    if any(isinstance(n, int) and n < 0 for n in sizes):
        raise located(
            TypeError,
            "slice slice_sizes must be greater than or equal to zero, got slice_sizes of "
            f"{spelled(sizes)}.",
        )
    return primitives.sliced(x, starts, sizes)


def _check_not_larger(sizes: Shape, shape: Shape, text: str) -> None:
    """Raise TypeError of this text where a part is larger than the array; of runtime sizes the call
    or the program refuses it."""
    for n, d in zip(sizes, shape, strict=True):
        if isinstance(n, int) and isinstance(d, int) and n > d:
            raise located(TypeError, text)
        require(n, d, "a part of an array", text)


def _one_start(index: Any, axis: int, ndim: int) -> list[Any]:
    starts: list[Any] = [0] * ndim
    starts[axis] = index
    return starts


@public
def dynamic_slice_in_dim(
    operand: Array,
    start_index: Array,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The slice of a static size along one axis that starts at an index given by a value; clamped
    as in `dynamic_slice`."""
    x = array(operand, "dynamic_slice")
    number = axis_of(axis, x.ndim)
    sizes = list(x.shape)
    sizes[number] = slice_size
    starts = _one_start(_scalar(start_index), number, x.ndim)
    return dynamic_slice(x, starts, sizes, allow_negative_indices=allow_negative_indices)


def _scalar(index: Any) -> Any:
    """An index, which may be an array of one element."""
    value = as_value(index, "dynamic_slice")
    return reshape_to(value, ()) if shape_of(value) == (1,) else value


@public
def dynamic_index_in_dim(
    operand: Array,
    index: Array,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The element along one axis at an index given by a value, clamped to the array; the axis stays
    with size 1 or is dropped."""
    x = array(operand, "dynamic_slice")
    number = axis_of(axis, x.ndim)
    taken = dynamic_slice_in_dim(x, index, 1, number, allow_negative_indices=allow_negative_indices)
    return taken if keepdims else _without_axis(taken, number)


@public
def dynamic_update_slice(
    operand: Array,
    update: Array,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """The array with the slice that starts at indices given by values replaced by `update`, a copy.

    Starts are clamped as in `dynamic_slice`. The copy is elided where the array is not needed
    afterwards, as in the carry of a loop. Raises TypeError for dtypes that differ and an update
    larger than the array.
    """
    x, new = as_value(operand, "dynamic_update_slice"), as_value(update, "dynamic_update_slice", 1)
    starts = _starts("dynamic_update_slice", shape_of(x), start_indices, allow_negative_indices)
    dtype = same_dtypes("dynamic_update_slice", [x, new])
    shape, sizes = shape_of(x), shape_of(new)
    shapes = f"got update shape {spelled(sizes)} for operand shape {spelled(shape)}."
    if len(sizes) != len(shape):
        raise located(
            TypeError, f"dynamic_update_slice update must have the same rank as operand, {shapes}"
        )
    text = f"dynamic_update_slice update shape must be smaller than operand shape, {shapes}"
    _check_not_larger(sizes, shape, text)
    values = (array(of_dtype(v, dtype), "dynamic_update_slice") for v in (x, new))
    return bind(primitives.dynamic_update_slice, *values, *starts)


@public
def dynamic_update_slice_in_dim(
    operand: Array,
    update: Array,
    start_index: Array,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The array with the slice along one axis that starts at an index given by a value replaced;
    see `dynamic_update_slice`."""
    x = array(operand, "dynamic_update_slice")
    number = axis_of(axis, x.ndim)
    starts = _one_start(_scalar(start_index), number, x.ndim)
    return dynamic_update_slice(x, update, starts, allow_negative_indices=allow_negative_indices)


@public
def dynamic_update_index_in_dim(
    operand: Array,
    update: Array,
    index: Array,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The array with the element along one axis at an index given by a value replaced; see
    `dynamic_update_slice`.

    In `update` that axis has size 1, or is missing.
    """
    x, new = array(operand, "dynamic_update_slice"), as_value(update, "dynamic_update_slice", 1)
    number = axis_of(axis, x.ndim)
    sizes = shape_of(new)
    if len(sizes) == x.ndim - 1:
        new = reshape_to(array(new, "dynamic_update_slice"), (*sizes[:number], 1, *sizes[number:]))
    return dynamic_update_slice_in_dim(
        x, new, index, number, allow_negative_indices=allow_negative_indices
    )


@public
def index_take(src: Array, idxs: Sequence[Array], axes: Sequence[int]) -> Any:
    """The elements at indices, one array of them for each of `axes`, whose axes come first in the
    result; negative indices count from the end, and others out of range wrap around."""
    x = array(src, "index_take")
    numbers = [axis_of(a, x.ndim) for a in axes]
    arrays = [array(v, "index_take", 1 + k) for k, v in enumerate(idxs)]
    wrapped = []
    for axis, index in zip(numbers, arrays, strict=True):
        wrapped.append(np.remainder(of_dtype(index, INT64), _size(x.shape[axis])))
    return bind(primitives.gather, x, *wrapped, axes=tuple(numbers), mode=primitives.PROMISED)
