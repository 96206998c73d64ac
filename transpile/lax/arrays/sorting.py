"""Functions of `lax` that sort elements, and find the largest ones.

Sorts are stable, NaN comes last, and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.indices.requirements import require
from transpile.ir.types import INT64, kind_letter
from transpile.lax.arrays.promotion import Array, array, dtype_argument, of_dtype, public, spelled
from transpile.lax.arrays.shapes import axis_in
from transpile.numpy.core.promotion import broadcast_in_dim, fill, is_empty, slice_axis, strengthen
from transpile.numpy.core.promotion import error as located
from transpile.numpy.order.sorting import argsort_along, reverse, sort_along
from transpile.primitives import reductions
from transpile.primitives.sorting import along_axis
from transpile.trace.trace import bind

__all__ = [
    "approx_max_k",
    "approx_min_k",
    "argmax",
    "argmin",
    "sort",
    "sort_key_val",
    "top_k",
]
INT32 = np.dtype("int32")


@public
def sort(
    operand: Array | Sequence[Array],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Any:
    """An array sorted along an axis, or several of one shape in the order of the first `num_keys`
    of them.

    Of these the first is the most significant. Always stable. Raises TypeError for shapes that
    differ, ValueError for another number of keys.
    """
    if not isinstance(operand, list | tuple):
        x = array(operand, "sort")
        return sort_along(x, axis_in(dimension, x.ndim))
    values = [array(v, "sort", k) for k, v in enumerate(operand)]
    if not values:
        raise located(TypeError, "Sort requires at least one operand")
    if not 1 <= num_keys <= len(values):
        raise located(
            ValueError,
            f"num_keys={num_keys} must be between 1 and len(operand)={len(values)}",
        )
    if any(v.shape != values[0].shape for v in values):
        listed = " ".join(spelled(v.shape) for v in values)
        raise located(TypeError, f"Arguments to sort must have equal shapes, got: {listed}")
    axis = axis_in(dimension, values[0].ndim)
    if is_empty(values[0].shape):
        return tuple(map(strengthen, values))
    order = argsort_along(axis, *values[: int(num_keys)])
    return tuple(along_axis(v, order, axis) for v in values)


@public
def sort_key_val(
    keys: Array, values: Array, dimension: int = -1, is_stable: bool = True
) -> tuple[Any, Any]:
    """Keys sorted along an axis, and values in the same order; stable."""
    first, second = sort((keys, values), dimension=dimension, is_stable=is_stable, num_keys=1)
    return first, second


# ---------------------------------------------------------------------------------- the first ones


@public
def top_k(operand: Array, k: int, *, axis: int = -1) -> tuple[Any, Any]:
    """The k largest elements along an axis, in descending order, and their int32 indices.

    NaN is the largest, and of equal elements the first comes first. By a stable sort, by a maximum
    for k = 1. Raises ValueError for complex numbers and for k beyond the size.
    """
    x = array(operand, "top_k")
    if x.dtype.kind == "c":
        raise located(ValueError, "top_k is not compatible with complex inputs.")
    if k < 0:
        raise located(ValueError, f"k argument to top_k must be nonnegative, got {k}")
    number = axis_in(axis, x.ndim)
    size = x.shape[number]
    text = (
        f"k argument to top_k must be no larger than size along axis; got k={k} with "
        f"shape=[{', '.join(map(str, x.shape))}] and axis={number}"
    )
    if isinstance(size, int) and isinstance(k, int) and k > size:
        raise located(ValueError, text)
    require(k, size, "top_k", text)
    return _largest(x, k if isinstance(k, Dim) else int(k), number)


def _largest(x: Any, k: Any, axis: int) -> tuple[Any, Any]:
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    if is_empty(shape):
        return fill(0, shape, x.dtype), fill(0, shape, INT32)
    if k == 1:  # without a sort
        first = bind(reductions.argmax, x, axis=axis)
        order = broadcast_in_dim(first, shape, [a for a in range(x.ndim) if a != axis])
        return along_axis(x, order, axis), of_dtype(order, INT32)
    # Backwards twice: so the sort, which is stable, keeps equal elements in their order.
    backwards = reverse(argsort_along(axis, reverse(x, axis)), axis)
    order = np.subtract(x.shape[axis] - 1, slice_axis(backwards, axis, 0, k))
    return along_axis(x, order, axis), of_dtype(order, INT32)


def _approximate(
    name: str, operand: Any, k: int, axis: int, aggregate: bool, smallest: bool
) -> tuple[Any, Any]:
    x = array(operand, name)
    if kind_letter(x.dtype) != "f":
        raise located(ValueError, "operand must be a floating type")
    if not -x.ndim <= axis < x.ndim:
        raise located(IndexError, f"axis {axis} is out of bounds for array of dimension {x.ndim}")
    number = axis % x.ndim
    size = x.shape[number]
    if k < 0:
        raise located(ValueError, f"k must be non-negative, got {k}")
    if isinstance(size, int) and k > size:
        raise located(
            ValueError, f"k must be smaller than the size of reduction_dim {size}, got {k}"
        )
    count = int(k) if aggregate else size
    if not smallest:
        return _largest(x, count, number)
    order = slice_axis(argsort_along(number, x), number, 0, count)
    return along_axis(x, order, number), of_dtype(order, INT32)


@public
def approx_max_k(
    operand: Array,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The k largest elements along an axis, in descending order, and their int32 indices; exact,
    whatever `recall_target` asks for.

    With `aggregate_to_topk=False` all elements, sorted, as JAX gives them on a CPU. Raises
    ValueError for other dtypes than floats and k beyond the size.
    """
    return _approximate("approx_max_k", operand, k, reduction_dimension, aggregate_to_topk, False)


@public
def approx_min_k(
    operand: Array,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The k smallest elements along an axis, in ascending order, and their int32 indices; as
    `approx_max_k`."""
    return _approximate("approx_min_k", operand, k, reduction_dimension, aggregate_to_topk, True)


def _position(name: str, primitive: Any, operand: Any, axis: int, index_dtype: Any) -> Any:
    x = array(operand, name)
    wanted = dtype_argument(index_dtype)
    if wanted.kind not in "iu":
        raise located(TypeError, f"index_dtype must be an integer type, but got {wanted.name}")
    if x.dtype.kind == "c":
        raise located(
            TypeError,
            f"{name} does not accept dtype {x.dtype.name}. Accepted dtypes are subtypes of "
            "integer, floating, bool.",
        )
    if not 0 <= axis < x.ndim:
        raise located(ValueError, f"Invalid axis {axis} for operand shape {spelled(x.shape)}")
    if x.shape[axis] == 0:
        raise located(
            ValueError,
            "argmin and argmax require non-empty reduced dimension. "
            f"operand.shape={spelled(x.shape)} axis={axis}",
        )
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    index = fill(0, rest, INT64) if is_empty(rest) else bind(primitive, x, axis=int(axis))
    return of_dtype(index, wanted)


@public
def argmax(operand: Array, axis: int, index_dtype: Any) -> Any:
    """The index of the first maximum along an axis, in a dtype of integers; a NaN counts as the
    maximum.

    Raises TypeError for complex numbers, ValueError for an empty or negative axis.
    """
    return _position("argmax", reductions.argmax, operand, axis, index_dtype)


@public
def argmin(operand: Array, axis: int, index_dtype: Any) -> Any:
    """The index of the first minimum along an axis, in a dtype of integers; a NaN counts as the
    minimum.

    Raises TypeError for complex numbers, ValueError for an empty or negative axis.
    """
    return _position("argmin", reductions.argmin, operand, axis, index_dtype)
