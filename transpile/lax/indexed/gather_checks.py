"""What gather and scatter demand of shapes and dimension numbers, in JAX's words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from transpile.ir.dims import Shape
from transpile.lax.arrays.enums import GatherDimensionNumbers, ScatterDimensionNumbers
from transpile.numpy.core.promotion import error as located

Axes = tuple[int, ...]


def is_larger(size: Any, extent: Any) -> bool:
    """Tell whether a size is larger than another one for sure."""
    return isinstance(size, int) and isinstance(extent, int) and size > extent


def _fail(text: str) -> Exception:
    return located(TypeError, text)


def _check_sorted(op: str, name: str, axes: Axes) -> None:
    if any(b <= a for a, b in pairwise(axes)):
        if len(set(axes)) != len(axes):
            raise _fail(f"{name} in {op} op must not repeat; got: {axes}.")
        raise _fail(f"{name} in {op} op must be sorted; got {axes}")


def _check_in_range(op: str, name: str, axes: Axes, rank: int) -> None:
    wrong = [a for a in axes if not 0 <= a < rank]
    if wrong:
        raise _fail(f"Invalid {name} set in {op} op; valid range is [0, {rank}); got: {wrong[0]}.")


def _check_different(op: str, name: str, axes: Axes, other: str, others: Axes) -> None:
    if len(set(axes)) != len(axes):
        raise _fail(f"{name} in {op} op must not repeat; got: {axes}.")
    if set(axes) & set(others):
        raise _fail(f"{name} and {other} in {op} op must be disjoint; got: {axes} and {others}.")


def _rank_of_indices(indices: Shape) -> int:
    if not indices:
        raise _fail(
            "Scatter index leaf dimension must be within [0, rank(indices) + 1). rank(indices) is "
            "0 and scatter index leaf dimension is -1."
        )
    return len(indices) - 1


def check_gather(
    operand: Shape, indices: Shape, numbers: GatherDimensionNumbers, sizes: Shape
) -> None:
    """Raise a TypeError for dimension numbers that do not fit the shapes."""
    offset, collapsed, start_map, batching, index_batching = numbers
    last = _rank_of_indices(indices)
    _check_sorted("gather", "offset_dims", offset)
    for k, dim in enumerate(offset):
        limit = len(offset) + last
        if not 0 <= dim < limit:
            raise _fail(
                f"Offset dimension {k} in gather op is out of bounds; got {dim}, but should have "
                f"been in [0, {limit})"
            )
    if len(start_map) != indices[-1]:
        raise _fail(
            f"Gather op has {len(start_map)} elements in start_index_map and the bound of "
            f"dimension index_vector_dim={last} of indices is {indices[-1]}. These two numbers "
            "must be equal."
        )
    _check_in_range("gather", "start_index_map", start_map, len(operand))
    _check_different("gather", "start_index_map", start_map, "operand_batching_dims", batching)
    _check_sorted("gather", "collapsed_slice_dims", collapsed)
    _check_in_range("gather", "collapsed_slice_dims", collapsed, len(operand))
    _check_batching("gather", operand, indices, batching, index_batching)
    _check_different("gather", "collapsed_slice_dims", collapsed, "operand_batching_dims", batching)
    _check_sizes(operand, numbers, sizes)


def _check_sizes(operand: Shape, numbers: GatherDimensionNumbers, sizes: Shape) -> None:
    collapsed, batching = numbers.collapsed_slice_dims, numbers.operand_batching_dims
    if len(sizes) != len(operand):
        raise _fail(
            "Gather op must have one slice size for every input dimension; got: "
            f"len(slice_sizes)={len(sizes)}, input_shape.rank={len(operand)}"
        )
    if len(sizes) != len(numbers.offset_dims) + len(collapsed) + len(batching):
        raise _fail(
            "All components of the offset index in a gather op must either be a offset dimension "
            f"or explicitly collapsed/batching; got len(slice_sizes)={len(sizes)}, "
            f"output_slice_sizes={numbers.offset_dims}, collapsed_slice_dims={collapsed}, "
            f"operand_batching_dims={batching}."
        )
    for k, (size, extent) in enumerate(zip(sizes, operand, strict=True)):
        if isinstance(size, int) and (size < 0 or is_larger(size, extent)):
            raise _fail(
                f"Slice size at index {k} in gather op is out of range, must be within "
                f"[0, {extent} + 1), got {size}."
            )
    for word, axes in (("collapse", collapsed), ("batching", batching)):
        for k, axis in enumerate(axes):
            if sizes[axis] != 1 and not (word == "batching" and sizes[axis] == 0):
                raise _fail(
                    f"Gather op can only {word} slice dims with bound 1, but bound is "
                    f"{sizes[axis]} for index {axis} at position {k}."
                )


def _check_batching(
    op: str, operand: Shape, indices: Shape, batching: Axes, index_batching: Axes
) -> None:
    _check_sorted(op, "operand_batching_dims", batching)
    _check_in_range(op, "operand_batching_dims", batching, len(operand))
    _check_in_range(op, f"{_word(op)}_indices_batching_dims", index_batching, len(indices) - 1)
    if len(batching) != len(index_batching):
        raise _fail(
            f"{op.capitalize()} op requires equal numbers of operand_batching_dims and "
            f"{_word(op)}_indices_batching_dims, got {batching} and {index_batching}."
        )
    for a, b in zip(batching, index_batching, strict=True):
        if operand[a] != indices[b]:
            raise _fail(
                f"{op.capitalize()} op requires operand batching dimensions and indices batching "
                f"dimensions to have the same shape, got {_chosen(operand, batching)} and "
                f"{_chosen(indices, index_batching)}."
            )


def _word(op: str) -> str:
    return "start" if op == "gather" else "scatter"


def _chosen(shape: Sequence[Any], axes: Axes) -> list[Any]:
    return [shape[a] for a in axes]


def check_scatter(
    operand: Shape, indices: Shape, updates: Shape, numbers: ScatterDimensionNumbers
) -> None:
    """Raise a TypeError for dimension numbers that do not fit the shapes."""
    window, inserted, start_map, batching, index_batching = numbers
    last = _rank_of_indices(indices)
    rank = last + len(window)
    if len(updates) != rank:
        raise _fail(f"Updates tensor must be of rank {rank}; got {len(updates)}.")
    _check_sorted("scatter", "update_window_dims", window)
    _check_in_range("scatter", "update_window_dims", window, len(updates))
    _check_sorted("scatter", "inserted_window_dims", inserted)
    _check_in_range("scatter", "inserted_window_dims", inserted, len(operand))
    _check_batching("scatter", operand, indices, batching, index_batching)
    _check_different("scatter", "inserted_window_dims", inserted, "operand_batching_dims", batching)
    size = len(window) + len(inserted) + len(batching)
    if size != len(operand):
        raise _fail(
            f"Scatter op has window of size {size}; doesn't match operand of rank {len(operand)}."
        )
    if len(start_map) != indices[-1]:
        raise _fail(
            f"Scatter op has {len(start_map)} elements in scatter_dims_to_operand_dims and the "
            f"bound of dimension index_vector_dim={last} of indices is {indices[-1]}. These two "
            "numbers must be equal"
        )
    _check_in_range("scatter", "scatter_dims_to_operand_dims", start_map, len(operand))
    _check_different(
        "scatter", "scatter_dims_to_operand_dims", start_map, "operand_batching_dims", batching
    )
    _check_bounds(operand, indices, updates, numbers)


def _check_bounds(
    operand: Shape, indices: Shape, updates: Shape, numbers: ScatterDimensionNumbers
) -> None:
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    extents = [d for a, d in enumerate(operand) if a not in gone]
    for dim, extent in zip(numbers.update_window_dims, extents, strict=True):
        if is_larger(updates[dim], extent):
            raise _fail(
                "Bounds of the window dimensions of updates must not exceed the bounds of the "
                f"corresponding dimensions of operand. For dimension {dim}, updates bound is "
                f"{updates[dim]}, operand bound is {extent}."
            )
    rest = [d for d in range(len(updates)) if d not in numbers.update_window_dims]
    for dim, extent in zip(rest, indices[:-1], strict=True):
        if updates[dim] != extent:
            raise _fail(
                "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
                f"corresponding dimensions of scatter indices. For scatter dimension {dim}, "
                f"updates bound is {updates[dim]}, indices bound is {extent}."
            )
