"""Functions of `lax` that join, split, repeat and pad arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.ir.dims import Shape
from transpile.ir.indices.requirements import may_be_0, require
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
from transpile.lax.arrays.shapes import axis_in
from transpile.numpy.core.promotion import broadcast_in_dim, reshape_to, slice_axis
from transpile.numpy.core.promotion import error as located
from transpile.primitives import axes as primitives
from transpile.trace.trace import bind

__all__ = ["concatenate", "pad", "split", "stack", "tile", "unstack"]


def _value(value: Any) -> Any:
    return array(value, "a function of lax")


@public
def concatenate(operands: Sequence[Array], dimension: int) -> Any:
    """Arrays of one dtype joined along an axis, which does not count from the end.

    Raises TypeError for dtypes or other sizes that differ, ValueError for no arrays.
    """
    if hasattr(operands, "shape"):  # an array: the arrays along its first axis
        operands = list(operands)
    if len(operands) == 0:
        raise located(ValueError, "concatenate requires a non-empty sequences of arrays")
    values = [as_value(v, "concatenate", k) for k, v in enumerate(operands)]
    dtype = same_dtypes("concatenate", values, "concatenate")
    _check_parts([shape_of(v) for v in values], dimension)
    parts = [_value(of_dtype(v, dtype)) for v in values]
    full_ones = [p for p in parts if p.shape[dimension] != 0] or parts[:1]
    if len(full_ones) == 1:
        return full_ones[0]
    return bind(primitives.concatenate, *full_ones, dimension=int(dimension))


def _check_parts(shapes: Sequence[Shape], dimension: int) -> None:
    listed = ", ".join(map(spelled, shapes))
    if len({len(s) for s in shapes}) > 1:
        raise located(
            TypeError,
            f"Cannot concatenate arrays with different numbers of dimensions: got {listed}.",
        )
    if not 0 <= dimension < len(shapes[0]):
        raise located(
            TypeError,
            f"concatenate dimension out of bounds: dimension {dimension} for shapes {listed}.",
        )
    rest = {(*s[:dimension], *s[dimension + 1 :]) for s in shapes}
    if len(rest) > 1:
        raise located(
            TypeError,
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one "
            f"being concatenated: concatenating along dimension {dimension} for shapes {listed}.",
        )


@public
def stack(operands: Sequence[Array], axis: int = 0) -> Any:
    """Arrays of one dtype and shape joined along a new axis; raises TypeError where they differ,
    ValueError for none."""
    values = [as_value(v, "stack", k) for k, v in enumerate(operands)]
    if not values:
        raise located(ValueError, "stack requires a non-empty sequences of arrays")
    dtype = same_dtypes("stack", values)
    shape = shape_of(values[0])
    if any(shape_of(v) != shape for v in values):
        listed = ", ".join(spelled(shape_of(v)) for v in values)
        raise located(TypeError, f"stack requires arrays of one shape, got {listed}.")
    number = axis_in(axis, len(shape) + 1)
    wide = (*shape[:number], 1, *shape[number:])
    parts = [reshape_to(_value(of_dtype(v, dtype)), wide) for v in values]
    return parts[0] if len(parts) == 1 else bind(primitives.concatenate, *parts, dimension=number)


@public
def unstack(x: Array, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis, which they lose, as a tuple."""
    value = _value(as_value(x, "unstack"))
    number = axis_in(axis, value.ndim)
    rest = (*value.shape[:number], *value.shape[number + 1 :])
    return tuple(
        reshape_to(slice_axis(value, number, k, k + 1), rest) for k in range(value.shape[number])
    )


@public
def split(operand: Array, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """The pieces of these sizes along an axis, as a list; raises ValueError unless they add up to
    its size."""
    value = _value(as_value(operand, "split"))
    number = axis_in(axis, value.ndim)
    parts = ints(sizes)
    if any(isinstance(s, int) and s < 0 for s in parts):
        raise located(ValueError, f"Sizes passed to split must be nonnegative, got {list(parts)}")
    total = sum(parts, start=0)
    if total != value.shape[number]:
        raise located(
            ValueError,
            f"Sum of sizes {total} must be equal to dimension {number} of the operand shape "
            f"{list(value.shape)}",
        )
    pieces, start = [], 0
    for size in parts:
        pieces.append(slice_axis(value, number, start, start + size))
        start = start + size
    return pieces


@public
def tile(operand: Array, reps: Sequence[int]) -> Any:
    """The array repeated along its axes; raises TypeError unless there is a number for each."""
    value = _value(as_value(operand, "tile"))
    counts = ints(reps)
    if len(counts) != value.ndim:
        raise located(
            TypeError,
            f"reps length must be equal to the ndim of x, got len(reps)={len(counts)} and "
            f"x.ndim={value.ndim}.",
        )
    pairs = [(n, d) for n, d in zip(counts, value.shape, strict=True)]
    wide = tuple(size for pair in pairs for size in pair)
    repeated = broadcast_in_dim(value, wide, range(1, 2 * value.ndim, 2))
    return reshape_to(repeated, tuple(n * d for n, d in pairs))


@public
def pad(
    operand: Array, padding_value: Array, padding_config: Sequence[tuple[int, int, int]]
) -> Any:
    """The array with a value around and between its elements: (before, after, between) for each
    axis.

    Negative numbers before and after remove elements. Raises ValueError for a negative number
    between and for more removed than there are, TypeError for dtypes that differ.
    """
    value, edge = as_value(operand, "pad", 0), as_value(padding_value, "pad", 1)
    config = tuple(ints(entry) for entry in padding_config)
    dtype = _pad_dtype(value, edge)
    shape = shape_of(value)
    if shape_of(edge):
        raise located(
            ValueError,
            "padding_value must be a scalar; got np.shape(padding_value)="
            f"{spelled(shape_of(edge))}",
        )
    if len(config) != len(shape):
        raise located(
            ValueError,
            "length of padding_config must equal the number of axes of operand, got padding_config "
            f"{config} for operand shape {spelled(shape)}",
        )
    if any(between < 0 for *_, between in config):
        raise located(
            ValueError,
            f"interior padding in padding_config must be nonnegative, got padding_config {config}",
        )
    for size, (*_, between) in zip(shape, config, strict=True):
        if between and may_be_0(size):
            require(1, size, "padding between n elements")
    result = tuple(
        low + high + (0 if d == 0 else (d - 1) * (between + 1) + 1)
        for d, (low, high, between) in zip(shape, config, strict=True)
    )
    if any(isinstance(d, int) and d < 0 for d in result):
        raise located(
            ValueError,
            f"Dimension size after padding is not at least 0, got result shape {spelled(result)}, "
            f"for padding_config {config} and operand shape {spelled(shape)}",
        )
    inner = _value(of_dtype(value, dtype))
    if all(entry == (0, 0, 0) for entry in config):
        return inner
    edge = of_dtype(edge, dtype)
    return bind(primitives.pad, inner, edge, padding=config)


def _pad_dtype(value: Any, edge: Any) -> Any:
    try:
        return same_dtypes("pad", [value, edge])
    except TypeError:
        raise located(
            TypeError,
            f"pad operand and padding_value must be same dtype: got {dtype_of(value).name} and "
            f"{dtype_of(edge).name}.",
        ) from None
