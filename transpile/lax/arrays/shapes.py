"""Functions of `lax` that make arrays and rearrange their axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Shape
from transpile.ir.indices.row_major import product
from transpile.ir.types import broadcast_shapes as numpys_broadcast_shapes
from transpile.lax.arrays.promotion import (
    Array,
    array,
    as_value,
    dtype_argument,
    dtype_of,
    ints,
    is_weak,
    of_dtype,
    public,
    shape_of,
    spelled,
)
from transpile.numpy.core.promotion import (
    broadcast_in_dim as broadcast_axes,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import (
    fill,
    is_empty,
    reshape_to,
    transpose_to,
    weaken,
)
from transpile.primitives import axes as primitives
from transpile.trace.trace import bind

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "collapse",
    "empty",
    "expand_dims",
    "full",
    "full_like",
    "iota",
    "reshape",
    "rev",
    "shape_as_value",
    "squeeze",
    "transpose",
]


def _like(result: Any, value: Any) -> Any:
    """The result, weak as a Python scalar where the operand is."""
    return weaken(result) if is_weak(value) else result


def _check_sizes(what: str, shape: Sequence[Any]) -> None:
    if any(isinstance(d, int) and d < 0 for d in shape):
        raise located(
            TypeError, f"{what} must have every element be nonnegative, got {spelled(shape)}."
        )


def sizes(shape: Any) -> Shape:
    """A shape, which a number may stand for."""
    if isinstance(shape, int | np.integer | Dim):
        return (shape if isinstance(shape, Dim) else int(shape),)
    return ints(shape)


# --------------------------------------------------------------------------------- made of nothing


@public
def iota(dtype: Any, size: int) -> Any:
    """The vector 0, 1, 2 ... of a size, in a dtype; raises TypeError for bools and for a negative
    size."""
    return _count(dtype_argument(dtype), sizes(size), 0)


@public
def broadcasted_iota(
    dtype: Any, shape: Sequence[int], dimension: int, *, out_sharding: Any = None
) -> Any:
    """An array of which each element is its index along one axis.

    Raises ValueError for an axis that the shape has not, TypeError for bools.
    """
    whole = sizes(shape)
    if not 0 <= dimension < len(whole):
        raise located(
            ValueError,
            f"iota dimension must be between 0 and len(shape), got dimension={dimension} for "
            f"shape={spelled(whole)}",
        )
    return _count(dtype_argument(dtype), whole, int(dimension))


def _count(dtype: np.dtype[Any], shape: Shape, dimension: int) -> Any:
    if dtype.kind == "b":
        raise located(
            TypeError,
            "iota does not accept dtype bool. Accepted dtypes are subtypes of integer, floating, "
            "complexfloating.",
        )
    _check_sizes("iota shape", shape)
    if is_empty(shape):
        return fill(0, shape, dtype)
    return bind(primitives.iota, shape=shape, dimension=dimension, dtype=dtype)


@public
def full(shape: Any, fill_value: Array, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of a shape of which every element is `fill_value`, a scalar; in its dtype by
    default.

    A size may be a runtime size. Raises TypeError for an array as `fill_value`.
    """
    return _filled(sizes(shape), fill_value, dtype)


def _filled(shape: Shape, fill_value: Any, dtype: Any) -> Any:
    value = as_value(fill_value, "full")
    if shape_of(value):
        raise located(
            TypeError,
            "full must be called with scalar fill_value, got fill_value.shape "
            f"{spelled(shape_of(value))}.",
        )
    _check_sizes("broadcast_in_dim shape", shape)
    weak = dtype is None and is_weak(value)
    value = of_dtype(value, dtype_of(value) if dtype is None else dtype_argument(dtype))
    filled = broadcast_axes(array(value, "full"), shape, ())
    return weaken(filled) if weak else filled


@public
def full_like(
    x: Any,
    fill_value: Array,
    dtype: Any = None,
    shape: Any = None,
    sharding: Any = None,
) -> Any:
    """An array of which every element is `fill_value`, in the shape and dtype of x, or in those
    that are given."""
    whole = shape_of(x) if shape is None else sizes(shape)
    weak = dtype is None and is_weak(x)
    filled = _filled(whole, fill_value, dtype_of(x) if dtype is None else dtype)
    return weaken(filled) if weak else filled


@public
def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array whose values do not matter: zeros, as a program has no undefined values."""
    return fill(0, sizes(shape), dtype_argument(dtype))


def shape_as_value(shape: Sequence[int]) -> Any:
    """A shape as an int32 vector."""
    return np.array(tuple(shape), np.int32)


# -------------------------------------------------------------------------------------- broadcasts


@public
def broadcast(operand: Array, sizes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """The array repeated along new axes of the given sizes in front."""
    value = as_value(operand, "broadcast_in_dim")
    inner = shape_of(value)
    whole = (*ints(sizes), *inner)
    _check_sizes("broadcast_in_dim shape", whole)
    axes = range(len(whole) - len(inner), len(whole))
    return _like(broadcast_axes(array(value, "broadcast"), whole, axes), value)


@public
def broadcast_in_dim(
    operand: Array,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Any:
    """The array broadcast to a larger shape, in which its axis k is axis broadcast_dimensions[k].

    Raises TypeError unless these increase and each size is 1 or that of the shape.
    """
    value = as_value(operand, "broadcast_in_dim")
    whole, axes = sizes(shape), ints(broadcast_dimensions)
    _check_broadcast(shape_of(value), whole, axes)
    return _like(broadcast_axes(array(value, "broadcast_in_dim"), whole, axes), value)


def _check_broadcast(inner: Shape, whole: Shape, axes: tuple[int, ...]) -> None:
    _check_sizes("broadcast_in_dim shape", whole)
    name = "broadcast_in_dim broadcast_dimensions must"
    if len(axes) != len(inner):
        raise located(
            TypeError,
            f"{name} have length equal to operand ndim; got broadcast_dimensions {axes} for "
            f"operand ndim {len(inner)}.",
        )
    if not all(0 <= a < len(whole) for a in axes):
        raise located(
            TypeError,
            f"{name} be a subset of output dimensions, got {axes} for operand ndim {len(inner)} "
            f"and shape {spelled(whole)}.",
        )
    if any(d not in (1, whole[a]) for a, d in zip(axes, inner, strict=True)):
        raise located(
            TypeError,
            "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their "
            "corresponding dimensions in the target broadcast shape; got operand of shape "
            f"{spelled(inner)}, target broadcast shape {spelled(whole)}, broadcast_dimensions "
            f"{axes} ",
        )
    if list(axes) != sorted(set(axes)):
        raise located(TypeError, f"{name} be strictly increasing; got broadcast_dimensions {axes}")


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """The shape that shapes broadcast to, axes aligned at the end; raises ValueError where they do
    not, TypeError for a negative length."""
    for shape in shapes:
        if any(isinstance(n, int) and n < 0 for n in shape):
            raise located(TypeError, f"shapes have no negative lengths; got {spelled(shape)}")

    def incompatible(_: str) -> Exception:
        listed = ", ".join(spelled(s) for s in shapes)
        return located(ValueError, f"Incompatible shapes for broadcasting: shapes=[{listed}]")

    return numpys_broadcast_shapes([tuple(s) for s in shapes], incompatible)


@public
def broadcast_like(arr: Array, like_arr: Array) -> Any:
    """The array broadcast to the shape of another one, axes aligned at the end; raises ValueError
    where it does not."""
    value = as_value(arr, "broadcast_like")
    inner, whole = shape_of(value), shape_of(as_value(like_arr, "broadcast_like"))
    skipped = len(whole) - len(inner)
    if skipped < 0 or any(d not in (1, w) for d, w in zip(inner, whole[skipped:], strict=True)):
        raise located(
            ValueError,
            f"Incompatible types for broadcasting: input type={_type(value)} and requested "
            f"type={dtype_of(value).name}[{','.join(map(str, whole))}]",
        )
    return _like(
        broadcast_axes(array(value, "broadcast_like"), whole, range(skipped, len(whole))), value
    )


def _type(value: Any) -> str:
    return f"{dtype_of(value).name}[{','.join(map(str, shape_of(value)))}]"


@public
def broadcast_to_rank(x: Array, rank: int) -> Any:
    """The array with axes of size 1 in front, up to `rank` axes."""
    value = as_value(x, "broadcast_to_rank")
    inner = shape_of(value)
    return _like(
        reshape_to(array(value, "broadcast_to_rank"), (*[1] * (rank - len(inner)), *inner)), value
    )


# ------------------------------------------------------------------------------------- new shapes


def axis_in(axis: Any, ndim: int) -> int:
    """The axis as 0 ... ndim - 1, or a ValueError in JAX's words."""
    number = int(axis)
    if not -ndim <= number < ndim:
        raise located(ValueError, f"axis {number} is out of bounds for array of dimension {ndim}")
    return number % ndim


@public
def expand_dims(array: Array, dimensions: Sequence[int]) -> Any:
    """The array with axes of size 1 at these positions of the result; raises ValueError for
    repeated or missing ones."""
    value = as_value(array, "expand_dims")
    inner = shape_of(value)
    ndim = len(inner) + len(set(dimensions))
    positions = [axis_in(d, ndim) for d in dimensions]
    if len(set(positions)) != len(positions):
        raise located(ValueError, f"repeated axis in lax.expand_dims: {spelled(dimensions)}")
    rest = iter(range(ndim))
    axes = [a for a in rest if a not in positions]
    shape: list[Any] = [1] * ndim
    for axis, size in zip(axes, inner, strict=True):
        shape[axis] = size
    return _like(broadcast_axes(_value(value), tuple(shape), axes), value)


def _value(value: Any) -> Any:
    return array(value, "a function of lax")


@public
def squeeze(array: Array, dimensions: Sequence[int]) -> Any:
    """The array without these axes, which have size 1; raises ValueError for another size."""
    value = as_value(array, "squeeze")
    shape = shape_of(value)
    gone = [axis_in(d, len(shape)) for d in dimensions]
    if len(set(gone)) != len(gone):
        raise located(ValueError, f"dimensions are not unique: {spelled(sorted(gone))}")
    if any(shape[a] != 1 for a in gone):
        raise located(
            ValueError,
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={spelled(shape)} and dimensions={spelled(sorted(gone))}",
        )
    kept = [d for a, d in enumerate(shape) if a not in gone]
    return _like(reshape_to(_value(value), kept), value)


@public
def reshape(
    operand: Array,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """The elements, in row-major order, in another shape; with `dimensions` the axes are permuted
    first.

    No size may be -1, unlike NumPy's. Raises TypeError where the number of elements differs.
    """
    value = as_value(operand, "reshape")
    shape, wanted = shape_of(value), sizes(new_sizes)
    if any(isinstance(d, int) and d < 0 for d in wanted):
        raise located(TypeError, f"reshape new_sizes must all be positive, got {spelled(wanted)}.")
    order = tuple(range(len(shape))) if dimensions is None else ints(dimensions)
    if sorted(order) != list(range(len(shape))):
        raise located(
            TypeError,
            "reshape dimensions must be a permutation of operand dimensions, got dimensions "
            f"{order} for shape {spelled(shape)}.",
        )
    if product(shape) != product(wanted):
        raise located(
            TypeError,
            "reshape total size must be unchanged, got new_sizes "
            f"{spelled(wanted)} for shape {spelled(shape)}.",
        )
    return _like(reshape_to(transpose_to(_value(value), order), wanted), value)


@public
def collapse(operand: Array, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """The array with the axes from one up to, not including, another one merged."""
    value = as_value(operand, "collapse")
    shape = shape_of(value)
    first, last, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if last < first:
        raise located(
            ValueError,
            f"Invalid dimension range passed to collapse: {spelled(shape)}[{first}:{last}]",
        )
    return reshape_to(_value(value), (*shape[:first], product(shape[first:last]), *shape[last:]))


@public
def transpose(operand: Array, permutation: Sequence[int]) -> Any:
    """The array with its axes permuted: axis k of the result is axis permutation[k]; raises
    TypeError for no permutation."""
    value = as_value(operand, "transpose")
    order = ints(permutation)
    if sorted(order) != list(range(len(shape_of(value)))):
        raise located(
            TypeError,
            "transpose permutation isn't a permutation of operand dimensions, got permutation "
            f"{order} for operand shape {spelled(shape_of(value))}.",
        )
    return transpose_to(_value(value), order)


@public
def rev(operand: Array, dimensions: Sequence[int]) -> Any:
    """The array with the elements reversed along axes, which do not count from the end; raises
    TypeError for repeated ones."""
    value = as_value(operand, "rev")
    axes, ndim = ints(dimensions), len(shape_of(value))
    if len(set(axes)) != len(axes):
        raise located(TypeError, f"rev dimensions must be unique, got {axes}.")
    _check_sizes("rev dimensions", axes)
    if any(a >= ndim for a in axes):
        raise located(
            TypeError,
            f"rev dimensions must all be less than operand ndim, got dimensions {axes} for operand "
            f"ndim {ndim}.",
        )
    return bind(primitives.rev, _value(value), dimensions=axes) if axes else _value(value)
