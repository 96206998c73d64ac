"""Functions that read elements by their indices: take, nonzero, compress, choose and their kin.

The length of a result may depend on values. `size=` gives another one, as in JAX: what is too much
is cut off, and what is missing at the end is `fill_value`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from transpile.ir.dims import Dim, floor_divide
from transpile.ir.indices.lengths import index_error
from transpile.ir.indices.requirements import is_at_most, may_be_0, require
from transpile.ir.indices.row_major import product
from transpile.ir.types import BOOL, INT64, broadcast_shapes
from transpile.numpy.core import elementwise
from transpile.numpy.core.extensions import accepts_more
from transpile.numpy.core.promotion import (
    Array,
    add_methods,
    as_array,
    as_operand,
    axis_of,
    broadcast_to,
    convert,
    fill,
    implements,
    refuse,
    reshape_to,
    result_dtype,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import is_of_scalar
from transpile.numpy.core.runtime_sizes import dimension_value, exact
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.joins import stack
from transpile.numpy.manipulation.shapes import ravel, shape_argument
from transpile.numpy.order.sets import length_of, numbered
from transpile.numpy.subscripts.advanced import in_range, positions_of
from transpile.numpy.subscripts.basic import get_item
from transpile.primitives import axes as primitives
from transpile.primitives.elementwise import copy
from transpile.primitives.indexing import CLIP, gather
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer, add_method
from transpile.util.interrupt_safety import THREAD


def traced(value: Any) -> Any:
    """An array as a traced value."""
    x = as_array(value)
    return x if isinstance(x, Tracer) else bind(copy, x)


def as_indices(value: Any, casting: Literal["safe", "same_kind"] = "same_kind") -> Any:
    """Integers as int64 indices, cast as NumPy casts them; TypeError for other dtypes."""
    x = as_array(value)
    if not isinstance(x, Tracer) and not hasattr(value, "dtype"):
        return x.astype(INT64)
    if not np.can_cast(x.dtype, INT64, casting) or x.dtype.kind not in "iub":
        raise located(
            TypeError,
            f"Cannot cast array data from {x.dtype!r} to {INT64!r} according to the rule 'safe'",
        )
    return convert(x, INT64)


_NOTHING_TO_TAKE = "cannot do a non-empty take from an empty axes."
_NOTHING_TO_UNRAVEL = "cannot unravel if shape has zero entries (is empty)."


def bounded(indices: Any, size: Any, mode: str) -> Any:
    """Indices in a mode of NumPy's: `raise` counts negative ones from the end; `clip`, `wrap`."""
    if mode not in ("raise", "clip", "wrap"):
        raise located(
            ValueError, f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')"
        )
    if mode == "clip":
        return within(indices, size)
    return np.remainder(indices, size) if mode == "wrap" else indices


def within(indices: Any, size: Any) -> Any:
    """The nearest indices of an axis of a known or a runtime size."""
    return np.clip(indices if isinstance(size, int) else traced(indices), 0, size - 1)


@implements(np.take)
def take_some(
    a: Array, indices: Array, axis: Any = None, out: Any = None, mode: str = "raise"
) -> Any:
    """The elements at indices along an axis, or of the flattened array.

    In the mode `raise` a known index out of range raises IndexError, and a traced one reads the
    nearest element. `clip` and `wrap` are NumPy's. An axis that turns out to have no elements is an
    IndexError, but in bodies of `fori_loop` and its kin, which may not run at all.
    """
    refuse("take", out=out)
    x, numbers = traced(a), as_indices(indices)
    size, counts = x.size, numbers.shape
    if axis is not None and not is_of_scalar(axis, x.ndim):
        number = axis_of(exact(axis), x.ndim)
        size, counts = x.shape[number], (*x.shape[:number], *counts, *x.shape[number + 1 :])
    _require_elements(size, counts, "numpy.take", index_error(_NOTHING_TO_TAKE))
    return take(x, numbers, axis, mode)


def _require_elements(size: Any, counts: Sequence[Any], what: str, words: str) -> None:
    """Have the call end with an error of these words where an axis turns out to have no elements
    and the result, an array of this shape, has some; but in bodies of loops that are not Python's.
    """
    if not THREAD.traces:
        return
    inner = THREAD.traces[1:]
    is_body = any(trace.role not in ("forward", "backward") for trace in inner)
    if not may_be_0(size) or (is_body and not inner[-1].is_region):
        return
    open_counts = [count for count in counts if not is_at_most(1, count)]
    # A product of numbers that are 0 or 1, which is no more than 1.
    has_any = product([1 - floor_divide(1, count + 1) for count in open_counts])
    require(has_any, size, what, words)


def take(a: Array, indices: Array, axis: Any = None, mode: str = "raise") -> Any:
    """As `numpy.take`, of an axis that may have no elements where nobody reads the result."""
    x = traced(a)
    if axis is None or is_of_scalar(axis, x.ndim):
        x, axis = ravel(x), 0
    number = axis_of(exact(axis), x.ndim)
    numbers = as_indices(indices)
    if x.shape[number] == 0 and numbers.size:
        raise located(IndexError, _NOTHING_TO_TAKE)
    numbers = bounded(numbers, x.shape[number], mode)
    return get_item(x, (*[slice(None)] * number, numbers))


def along(
    x: Any, indices: Any, axis: Any, names: tuple[str, str] = ("arr", "indices")
) -> tuple[Any, list[Any]]:
    """An array, and for each of its axes the indices of the elements that indices along one axis
    select."""
    if axis is None:
        x, axis = ravel(x), 0
        if indices.ndim != 1:
            raise located(ValueError, "when axis=None, `indices` must have a single dimension.")
    number = axis_of(axis, x.ndim)
    if x.ndim != indices.ndim:
        raise located(ValueError, "`indices` and `arr` must have the same number of dimensions")
    if indices.dtype.kind not in "iu":
        raise located(IndexError, "`indices` must be an integer array")
    sides = [
        b if d == number or a == 1 else a
        for d, (a, b) in enumerate(zip(x.shape, indices.shape, strict=True))
    ]
    if any(b not in (1, side) for b, side in zip(indices.shape, sides, strict=True)):
        shapes = [[1] * d + [x.shape[d]] + [1] * (x.ndim - d - 1) for d in range(x.ndim)]
        shapes[number] = list(indices.shape)
        with_commas = " ".join(f"({','.join(map(str, s))}{',' * (len(s) == 1)})" for s in shapes)
        raise located(
            IndexError,
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            f"{with_commas} ",
        )
    shape = tuple(sides)
    own = traced(in_range(convert(indices, INT64), number, x.shape[number], None, shape))
    grid = [
        broadcast_to(own, shape)
        if d == number
        else fill(0, shape, INT64)
        if x.shape[d] == 1
        else bind(primitives.iota, shape=shape, dimension=d, dtype=INT64)
        for d in range(x.ndim)
    ]
    return x, grid


@implements(np.take_along_axis)
def take_along_axis(arr: Array, indices: Array, axis: Any = -1) -> Any:
    """The elements at indices along one axis, which broadcast with the array along the others; the
    inverse of `argsort`.

    A known index out of range, or one that is made of sizes, raises IndexError; another traced one
    reads the nearest element.
    """
    x, grid = along(traced(arr), as_array(indices), axis)
    return bind(gather, x, *grid, axes=tuple(range(x.ndim)), mode=CLIP)


# --------------------------------------------------------------------------- positions of truth


@accepts_more("size", "fill_value")
@implements(np.nonzero)
def nonzero(a: Array, *, size: Any = None, fill_value: Any = None) -> Any:
    """The indices of the elements that are not zero, in row-major order: an int64 vector for each
    axis.

    `size` gives another length than their number: fewer ones are filled with `fill_value`, 0 by
    default (one value, or one for each axis), more are cut off. Raises ValueError for a scalar.
    """
    x = traced(a)
    if x.ndim == 0:
        raise located(
            ValueError,
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead. If the context of this error is of the form `arr[nonzero(cond)]`, just use "
            "`arr[cond]`.",
        )
    mask = call(np.not_equal, x, 0) if x.dtype != BOOL else x
    count = length_of(size)
    if count is None:
        return tuple(positions_of(mask))
    mask = ravel(mask)
    flat = numbered(mask, count, x.size)
    missing = call(np.equal, flat, x.size)
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * x.ndim
    by_axis = unravelled(flat, x.shape)
    return tuple(
        elementwise.where(missing, 0 if f is None else f, indices)
        for f, indices in zip(fills, by_axis, strict=True)
    )


def unravelled(flat: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices along each axis of the elements at row-major positions."""
    indices: list[Any] = []
    for extent in reversed(shape):
        divisor = np.maximum(dimension_value(extent), 1) if may_be_0(extent) else max(extent, 1)
        indices.insert(0, np.remainder(flat, divisor))
        flat = np.floor_divide(flat, divisor)
    return indices


@accepts_more("size", "fill_value")
@implements(np.flatnonzero)
def flatnonzero(a: Array, *, size: Any = None, fill_value: Any = None) -> Any:
    """The positions in the flattened array of the elements that are not zero; `size` gives another
    length, as for `nonzero`."""
    return nonzero(ravel(traced(a)), size=size, fill_value=fill_value)[0]


@accepts_more("size", "fill_value")
@implements(np.argwhere)
def argwhere(a: Array, *, size: Any = None, fill_value: Any = None) -> Any:
    """The indices of the elements that are not zero as the rows of an int64 matrix; `size` gives
    another number of rows, as for `nonzero`."""
    x = traced(a)
    if x.ndim == 0:
        count = length_of(size)
        return fill(0, (nonzero(ravel(x))[0].size if count is None else count, 0), INT64)
    return stack(nonzero(x, size=size, fill_value=fill_value), 1)


@accepts_more("size", "fill_value")
@implements(np.compress)
def compress(
    condition: Array,
    a: Array,
    axis: Any = None,
    out: Any = None,
    *,
    size: Any = None,
    fill_value: Any = 0,
) -> Any:
    """The slices along an axis, or elements of the flattened array, where a vector of conditions
    holds.

    `size` gives another number of slices: what is missing is `fill_value`. Of a traced condition
    what is behind the end of the axis counts for nothing, where NumPy raises IndexError for a True.
    Raises ValueError unless the condition is a vector.
    """
    refuse("compress", out=out)
    x, mask = traced(a), as_array(condition)
    if mask.ndim != 1:
        raise located(ValueError, "condition must be a 1-d array")
    if axis is None:
        x, axis = ravel(x), 0
    number = axis_of(exact(axis), x.ndim)
    before = (slice(None),) * number
    count = length_of(size)
    if not isinstance(mask, Tracer):
        if count is None:
            return take(x, np.flatnonzero(mask), number)
        mask = traced(mask)
    extent = x.shape[number]
    inside = min(extent, mask.shape[0])
    held = call(np.not_equal, mask, 0)[:inside]
    if count is None:
        return get_item(get_item(x, (*before, slice(0, inside))), (*before, held))
    positions = numbered(held, count, extent)
    return get_item(x, (*before, positions), "fill", 0 if fill_value is None else fill_value)


@accepts_more("size", "fill_value")
@implements(np.extract)
def extract(condition: Array, arr: Array, *, size: Any = None, fill_value: Any = 0) -> Any:
    """The elements where a condition of the same size holds, as a vector; `size` gives another
    length, as for `compress`."""
    mask = as_array(condition)
    if isinstance(mask, Tracer) or size is not None:
        return compress(ravel(mask), ravel(traced(arr)), size=size, fill_value=fill_value)
    return take(ravel(traced(arr)), np.flatnonzero(mask))


# --------------------------------------------------------------------------------------- choices


@implements(np.choose)
def choose(a: Array, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each element of an integer array the element of the choice of that number; all broadcast.

    In the mode `raise` a traced number out of range means the nearest choice. All choices are
    computed.
    """
    refuse("choose", out=out)
    number = as_indices(a, "safe")
    given = [as_operand(c) for c in choices]
    if not given:
        raise located(ValueError, "0-length sequence.")
    dtype = result_dtype(*given)
    options = [convert(as_array(c), dtype) for c in given]
    bounded_number = bounded(number, len(options), mode)
    result = options[-1]
    for k in range(len(options) - 2, -1, -1):
        nearest = call(np.less_equal, traced(bounded_number), k)
        result = elementwise.where(nearest, options[k], result)
    shape = broadcast_shapes((bounded_number.shape, *(o.shape for o in options)))
    return broadcast_to(convert(traced(result), dtype), shape)


@implements(np.piecewise)
def piecewise(x: Array, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """A function for each condition, evaluated on the whole array; the last condition that holds
    for an element decides, and 0 is for none.

    One function more than conditions is for the elements where none holds. NumPy calls each
    function with the elements of its condition alone; here they must accept all. Raises ValueError
    for another number of functions.
    """
    value = traced(x)
    is_one = np.isscalar(condlist) or getattr(condlist, "ndim", 1) == 0
    first = None if is_one else condlist[0]
    is_list = isinstance(first, list) or getattr(first, "ndim", 0) > 0
    listed = condlist if is_list or (first is not None and value.ndim == 0) else [condlist]
    conditions = [convert(traced(c), BOOL) for c in listed]
    count = len(conditions)
    if len(funclist) == count + 1:
        last = conditions[0]
        for condition in conditions[1:]:
            last = call(np.logical_or, last, condition)
        conditions.append(call(np.logical_not, last))
    elif len(funclist) != count:
        raise located(
            ValueError,
            f"with {count} condition(s), either {count} or {count + 1} functions are expected",
        )
    result = fill(0, value.shape, value.dtype)
    for condition, function in zip(conditions, funclist, strict=True):
        piece = function(value, *args, **kw) if callable(function) else function
        piece = convert(as_operand(piece), value.dtype)
        result = elementwise.where(condition, piece, result)
    return result


# --------------------------------------------------------------------------- indices from indices


@implements(np.unravel_index)
def unravel_index(indices: Array, shape: Any, order: str = "C") -> Any:
    """The indices along each axis of elements at positions of the flattened array; positions out of
    range are clipped, where NumPy raises ValueError, as this does for an array without elements."""
    flat = as_indices(indices)
    extents = shape_argument(shape)
    size = product(extents)
    if size == 0 and flat.size:
        raise located(ValueError, "index 0 is out of bounds for array with size 0")
    flat = within(flat, size if isinstance(size, Dim) else max(size, 1))
    if order == "F":
        return tuple(unravelled(flat, extents[::-1])[::-1])
    return tuple(unravelled(flat, extents))


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """The positions in the flattened array of elements at indices along each axis.

    In the mode `raise` indices out of range are clipped, where NumPy raises ValueError, as
    this does in every mode for an array without elements.
    """
    extents = shape_argument(dims)
    modes = mode if isinstance(mode, tuple) else (mode,) * len(extents)
    parts = [as_indices(i) for i in multi_index]
    if len(parts) != len(extents):
        raise located(
            ValueError,
            f"parameter multi_index must be a sequence of length {len(extents)}",
        )
    if 0 in extents and all(part.size for part in parts):
        raise located(ValueError, _NOTHING_TO_UNRAVEL)
    shape = broadcast_shapes([part.shape for part in parts])
    for extent in extents:
        _require_elements(extent, shape, "numpy.ravel_multi_index", _NOTHING_TO_UNRAVEL)
    triples = list(zip(parts, extents, modes, strict=True))
    flat: Any = np.int64(0)
    for part, extent, how in triples if order == "C" else triples[::-1]:
        inside = bounded(part, extent, "clip" if how == "raise" else how)
        flat = flat * extent + inside
    return flat


@implements(np.ix_)
def ix_(*args: Any) -> Any:
    """Vectors of indices shaped to select a product of them: the k-th along axis k, with size 1
    elsewhere.

    Masks become their indices. Raises ValueError for what is no vector.
    """
    grid = []
    for axis, value in enumerate(args):
        x = as_array(value)
        if x.ndim != 1:
            raise located(ValueError, "Cross index must be 1 dimensional")
        if x.dtype == BOOL and isinstance(x, Tracer):
            (x,) = positions_of(x)
        if not isinstance(x, Tracer):
            (x,) = (np.flatnonzero(x),) if x.dtype == BOOL else (x,)
        shape = [1] * len(args)
        shape[axis] = x.shape[0]
        grid.append(reshape_to(x, shape) if isinstance(x, Tracer) else x.reshape(shape))
    return tuple(grid)


add_methods(np.take, np.nonzero, np.choose)


def _compress_method(x: Tracer, condition: Array, axis: Any = None, out: Any = None) -> Any:
    """The slices along an axis where a condition holds; see `numpy.compress`."""
    return np.compress(condition, x, axis, out=out)


add_method("compress", _compress_method)
